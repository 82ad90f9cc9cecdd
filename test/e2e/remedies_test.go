// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cases"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
)

// reconcile is the path of the annotation that makes a controller or an agent look at an object.
var reconcile = []string{"metadata", "annotations", "fleetdoctor.io/reconcile"}

// reportRemedies are the commands that the audit prints about a public report, and that write.
var reportRemedies = []struct {
	report string
	stage  int    // the one with the problem; the next one is after the remedy
	scope  string // of the audit, or a flag for the whole cluster
	code   string // of the finding
	object string // of the finding
	// commands are parts of the commands that are run, in order.
	commands []string
	// changed is the object that the last command changes, and the path and the value of the field; the value is
	// "gone" if it does not exist any more.
	changed *unstructured.Unstructured
	path    []string
	value   any
}{
	{"paused", 1, "gitrepo/shop", "FD613", "bundle.fleet.cattle.io fleet-local/shop-app",
		[]string{" repair "}, fleetObject("Bundle", "fleet-local", "shop-app"),
		[]string{"spec", "paused"}, false},
	{"values-from", 1, "gitrepo/shop", "FD604", deploymentOf("shop-app"), []string{" annotate bundledeployments"},
		fleetObject("BundleDeployment", "cluster-local", "shop-app"), reconcile, nil},
	{"target-namespace", 1, "gitrepo/shop", "FD604", deploymentOf("shop-app"), []string{" annotate bundledeployments"},
		fleetObject("BundleDeployment", "cluster-local", "shop-app"), reconcile, nil},
	{"immutable-job", 2, "gitrepo/shop", "FD604", deploymentOf("shop-app"),
		[]string{" annotate bundledeployments", " delete job.batch/migrate"},
		object("batch/v1", "Job", "shop", "migrate"), nil, "gone"},
	{"shard", 1, "--fail-on=warning", "FD610", "gitrepo.fleet.cattle.io fleet-local/shop", []string{" label gitrepo"},
		fleetObject("GitRepo", "fleet-local", "shop"), []string{"metadata", "labels", "fleet.cattle.io/shard-ref"},
		"gone"},
	{"secret-lost", 1, "gitrepo/shop", "FD610", "gitrepo.fleet.cattle.io fleet-local/shop", []string{" describe "}, nil,
		nil, nil},
	{"records-lost", 1, "gitrepo/shop", "FD602", deploymentOf("shop-app"), []string{" repair "},
		fleetObject("BundleDeployment", "cluster-local", "shop-app"), []string{"status", "appliedDeploymentID"}, ""},
	{"pending-upgrade", 1, "gitrepo/shop", "FD602", deploymentOf("shop-app"), []string{" repair "},
		fleetObject("BundleDeployment", "cluster-local", "shop-app"), []string{"status", "appliedDeploymentID"}, ""},
	{"rollout", 1, "gitrepo/shop", "FD604", deploymentOf("shop-app"), []string{" patch bundle.fleet"},
		fleetObject("Bundle", "fleet-local", "shop-app"), []string{"spec", "rolloutStrategy", "maxUnavailable"},
		int64(3)},
	{"drift", 2, "gitrepo/shop", "FD602", deploymentOf("shop-app"), []string{" repair "},
		fleetObject("BundleDeployment", "cluster-local", "shop-app"), []string{"status", "appliedDeploymentID"}, ""},
	{"renamed-path-refused", 1, "gitrepo/shop", "FD604", deploymentOf("shopx-new"), []string{" repair "},
		fleetObject("Bundle", "fleet-local", "shopx-new"), []string{"spec", "forceSyncGeneration"}, int64(1)},
	{"job-ttl", 1, "gitrepo/job-ttl", "FD101", "job shop/cleanup", []string{" repair "},
		object("batch/v1", "Job", "shop", "cleanup"), []string{"metadata", "labels", "app.kubernetes.io/managed-by"},
		"Helm"},
	{"kubevirt-field", 1, "gitrepo/kubevirt-field", "FD104", "kubevirt.kubevirt.io shop/kubevirt",
		[]string{" repair "}, object("kubevirt.io/v1", "KubeVirt", "shop", "kubevirt"),
		[]string{"spec", "configuration", "vmStateStorageClass"}, "vmstate-persistence"},
	{"content", 1, "gitrepo/shop", "FD601",
		"content.fleet.cattle.io s-91eda1b24f357174fe7a1ce5d6222f15cbc0abaa58a5a2c69d217796ca8af",
		[]string{" repair "}, fleetObject("Bundle", "fleet-local", "shop-app"), reconcile, nil},
}

func deploymentOf(name string) string {
	return "bundledeployment.fleet.cattle.io cluster-local/" + name
}

func fleetObject(kind, namespace, name string) *unstructured.Unstructured {
	return object("fleet.cattle.io/v1alpha1", kind, namespace, name)
}

// TestReportRemedies loads the cluster of a report onto a server, and runs the command that is printed, with kubectl,
// as it is printed. The command succeeds and changes what it says. Then the objects become those that Fleet left in the
// capture after the remedy, and the audit has the finding no more.
//
// No Fleet runs here. This proves that the command is right for a server, and that the finding ends with the state
// after the remedy. That Fleet reaches this state because of the command was seen when the state was captured.
func TestReportRemedies(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.WithFleetCRDs())
	for _, tc := range reportRemedies {
		t.Run(tc.report, func(t *testing.T) {
			stages, err := cases.Stages("../testdata/reports/" + tc.report + ".yaml")
			if err != nil {
				t.Fatal(err)
			}
			r := onReport(t, c)
			problem := loadable(t, stages[tc.stage-1])
			now := problem
			defer func() { r.become(now, nil) }()
			r.become(nil, problem)
			before := audit(t, r.kubeconfig, tc.scope)
			for _, text := range tc.commands {
				command := commandWith(before, tc.code, tc.object, text)
				if command == "" {
					t.Fatalf("%s of %s has no command with %q\n%s", tc.code, tc.object, text, before.stdout)
				}
				r.shell(command)
			}
			r.changed(tc.changed, tc.path, tc.value)
			if tc.stage < len(stages) {
				now = loadable(t, stages[tc.stage])
				r.become(problem, now)
			}
			after := audit(t, r.kubeconfig, tc.scope)
			if after.report == nil {
				t.Fatalf("no report: %s", after.stderr)
			}
			if slices.ContainsFunc(after.report.Findings, func(f report.Finding) bool {
				return f.Code == tc.code && f.Object.Key().String() == tc.object
			}) {
				t.Errorf("%s of %s is still found\n%s", tc.code, tc.object, after.stdout)
			}
		})
	}
}

// writing is a command that changes an object.
var writing = regexp.MustCompile(`kubectl .* (annotate|apply|delete|label|patch|repair) `)

// TestReportCommands runs each command that an audit of a report prints and that writes, on a server with the cluster
// of that report. Each of them succeeds.
func TestReportCommands(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../testdata/reports/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no reports: %v", err)
	}
	c, ran := cluster.Start(t, cluster.WithFleetCRDs()), 0
	for _, file := range files {
		stages, err := cases.Stages(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range stages {
			t.Run(fmt.Sprintf("%s-%d", strings.TrimSuffix(filepath.Base(file), ".yaml"), i+1), func(t *testing.T) {
				r := onReport(t, c)
				objects := loadable(t, s)
				defer r.become(objects, nil)
				r.become(nil, objects)
				found := audit(t, r.kubeconfig)
				if found.report == nil {
					t.Fatalf("no report: %s", found.stderr)
				}
				commands := map[string]bool{}
				for _, f := range found.report.Findings {
					for _, remedy := range f.Remedies {
						if writing.MatchString(remedy.Command) {
							commands[remedy.Command] = true
						}
					}
				}
				for _, command := range slices.Sorted(maps.Keys(commands)) {
					r.shell(command)
					ran++
				}
			})
		}
	}
	if ran < 30 {
		t.Errorf("only %d commands were run", ran)
	}
}

// reportServer is a server with the cluster of a report.
type reportServer struct{ *fleetServer }

func onReport(t *testing.T, c *cluster.Cluster) *reportServer {
	t.Helper()
	return &reportServer{&fleetServer{Cluster: c, t: t, kubeconfig: c.Kubeconfig(t)}}
}

// shell runs a command as a user does, who agrees to what it asks.
func (f *fleetServer) shell(command string) {
	f.t.Helper()
	path := f.t.TempDir()
	self, err := os.Executable()
	if err != nil {
		f.t.Fatal(err)
	}
	for name, program := range map[string]string{"kubectl": f.Kubectl(), "kubectl-fleetdoctor": self} {
		if err := os.Symlink(program, filepath.Join(path, name)); err != nil {
			f.t.Fatal(err)
		}
	}
	if strings.Contains(command, " fleetdoctor repair ") {
		command += " --yes"
	}
	shell := exec.CommandContext(f.t.Context(), "sh", "-c", command)
	shell.Dir = path // of the receipt
	shell.Env = append(os.Environ(), asProgram+"=true", "PATH="+path+string(filepath.ListSeparator)+os.Getenv("PATH"))
	out, err := shell.CombinedOutput()
	if f.t.Logf("%s\n%s", command, out); err != nil {
		f.t.Errorf("the command failed: %v", err)
	}
}

// changed checks a field after the command.
func (r *reportServer) changed(obj *unstructured.Unstructured, path []string, want any) {
	r.t.Helper()
	if obj == nil {
		return
	}
	live := obj.DeepCopy()
	err := r.Client().Get(r.t.Context(), client.ObjectKeyFromObject(obj), live)
	switch {
	case path == nil && apierrors.IsNotFound(err):
		return
	case path == nil || err != nil:
		r.t.Fatalf("reading %s %s: %v", obj.GetKind(), obj.GetName(), err)
	}
	got, found, err := unstructured.NestedFieldNoCopy(live.Object, path...)
	right := got == want
	switch want {
	case nil: // any value
		right = found
	case "gone":
		right = !found
	}
	if err != nil || !right {
		r.t.Errorf("%s of %s %s is %v (%t, %v), want %v", strings.Join(path, "."), obj.GetKind(), obj.GetName(), got,
			found, err, want)
	}
}

// become makes the objects of the server those of a capture, with their status.
func (r *reportServer) become(from, to map[string]*unstructured.Unstructured) {
	r.t.Helper()
	for key, obj := range from {
		if to[key] == nil {
			r.gone(obj)
		}
	}
	if len(to) == 0 {
		return
	}
	dir := r.t.TempDir()
	for i, key := range slices.Sorted(maps.Keys(to)) {
		obj := to[key]
		if obj.GetNamespace() != "" {
			r.Namespace(r.t, obj.GetNamespace())
		}
		if from != nil {
			r.gone(obj)
		}
		text, err := json.Marshal(obj)
		if err != nil {
			r.t.Fatal(err)
		}
		write(r.t, filepath.Join(dir, string(rune('a'+i/26))+string(rune('a'+i%26))+".json"), string(text), 0o600)
	}
	r.LoadSnapshot(r.t, dir)
}

// gone deletes an object. A kind that the server does not serve has none.
func (r *reportServer) gone(obj *unstructured.Unstructured) {
	r.t.Helper()
	if obj.GetKind() == "CustomResourceDefinition" {
		if err := r.undefine(r.t.Context(), obj.GetName()); err != nil {
			r.t.Fatal(err)
		}
		return
	}
	err := r.Client().Delete(r.t.Context(), obj.DeepCopy(), client.GracePeriodSeconds(0),
		client.PropagationPolicy("Background"))
	if client.IgnoreNotFound(err) != nil && !meta.IsNoMatchError(err) {
		r.t.Fatalf("deleting %s %s: %v", obj.GetKind(), obj.GetName(), err)
	}
}

var capturedTime = regexp.MustCompile(`20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ`)

// loadable are the objects of a stage that a server accepts. The newest time is now. Captures leave out what the server
// requires of the workloads of Fleet, and a server writes the selector of a Job itself.
func loadable(t *testing.T, s cases.Stage) map[string]*unstructured.Unstructured {
	t.Helper()
	text, err := json.Marshal(s.Documents)
	if err != nil {
		t.Fatal(err)
	}
	times := capturedTime.FindAllString(string(text), -1)
	newest, err := time.Parse(time.RFC3339, slices.Max(times))
	if err != nil {
		t.Fatal(err)
	}
	later := time.Now().UTC().Truncate(time.Second).Sub(newest)
	shifted := capturedTime.ReplaceAllStringFunc(string(text), func(at string) string {
		then, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		return then.Add(later).Format(time.RFC3339)
	})
	var documents []map[string]any
	if err := json.Unmarshal([]byte(shifted), &documents); err != nil {
		t.Fatal(err)
	}
	out := map[string]*unstructured.Unstructured{}
	for _, d := range documents {
		obj := &unstructured.Unstructured{Object: d}
		obj.SetFinalizers(nil) // nothing would remove them
		switch {
		case obj.GetKind() == "Namespace", obj.GetKind() == "Job" && d["spec"] == nil:
			continue // the server could not delete it, or cannot run it
		case obj.GetKind() == "Job":
			unstructured.RemoveNestedField(d, "spec", "selector")
			unstructured.RemoveNestedField(d, "spec", "template", "metadata")
		case obj.GetKind() == "Deployment" && strings.HasPrefix(obj.GetName(), "fleet-"):
			labels := map[string]string{"app": obj.GetName()}
			for _, path := range [][]string{{"spec", "selector", "matchLabels"},
				{"spec", "template", "metadata", "labels"}} {
				if err := unstructured.SetNestedStringMap(d, labels, path...); err != nil {
					t.Fatal(err)
				}
			}
		}
		out[obj.GetKind()+" "+obj.GetNamespace()+"/"+obj.GetName()] = obj
	}
	return out
}

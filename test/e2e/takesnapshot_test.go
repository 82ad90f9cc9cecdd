// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/values"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/layers"
)

// planted is in every value that must not be in a snapshot.
const planted = "planted"

// withSecrets is a manifest with values of a Secret in two objects.
const withSecrets = `
apiVersion: v1
kind: Secret
metadata: {name: smtp}
stringData: {password: planted-desired, same: planted-same}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {url: "smtp://user:planted-desired@mail", colour: blue}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: gone}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: old}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {ports: [{port: 80}]}
`

// plantSecrets makes a Fleet in which every state occurs, with values of Secrets in every place where Fleet and Helm
// write them.
func plantSecrets(f *fleetServer) {
	f.t.Helper()
	b := f.deploy("guestbook", withSecrets)
	old := f.get(object("v1", "ConfigMap", apps, "old"))
	b.upgrade(strings.Replace(withSecrets, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: old}\n", "", 1))
	f.ApplyYAML(f.t, "fleetagent", fmt.Sprintf(`
apiVersion: v1
kind: ConfigMap
metadata:
  name: old
  namespace: %s
  labels: {objectset.rio.cattle.io/hash: %s}
  annotations: {objectset.rio.cattle.io/id: %s}
`, apps, old.GetLabels()[fleet.HashLabel], old.GetAnnotations()[fleet.IDAnnotation]))
	f.merge("intruder", object("v1", "Secret", apps, "smtp"), `{"stringData":{"password":"planted-live"}}`)
	f.merge("editor", object("v1", "ConfigMap", apps, "settings"),
		`{"data":{"url":"smtp://user:planted-live@mail","colour":"red"}}`)
	f.merge("editor", object("v1", "Service", apps, "web"),
		`{"metadata":{"labels":{"objectset.rio.cattle.io/hash":null}}}`)
	f.remove(object("v1", "ConfigMap", apps, "gone"))
	f.ApplyYAML(f.t, "kubectl-create", `
apiVersion: v1
kind: Secret
metadata: {name: unrelated, namespace: `+apps+`}
stringData: {token: planted-unrelated}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: unrelated, namespace: `+apps+`}
data: {x: 'Bearer planted-unrelated'}
`)
	f.deploy("damaged", "{apiVersion: v1, kind: ConfigMap, metadata: {name: damaged}}")
	f.merge("editor", object("v1", "Secret", apps, "sh.helm.release.v1.damaged.v1"),
		`{"data":{"release":"`+base64.StdEncoding.EncodeToString([]byte("planted-damage"))+`"}}`)
	f.plantInStatus()
	f.plantValues("guestbook", `{"password":"planted-values"}`, "")
	f.plantValues("damaged", `{"password":"planted-other-values"}`, "another")
	f.plantContents()
}

func (f *fleetServer) plantInStatus() {
	f.t.Helper()
	encoded := base64.StdEncoding.EncodeToString([]byte("planted-desired"))
	patch, err := json.Marshal(`{"data":{"password":"` + encoded + `"}}`)
	if err != nil {
		f.t.Fatal(err)
	}
	status := fmt.Sprintf(`{"status":{
		"modifiedStatus":[{"apiVersion":"v1","kind":"Secret","namespace":%q,"name":"smtp","patch":%s}],
		"conditions":[{"type":"Ready","status":"False",
			"message":"secret.v1 %[1]s/smtp modified {\"password\":\"planted-desired\"}"}]}}`, apps, patch)
	deployment := object("fleet.cattle.io/v1alpha1", "BundleDeployment", clusterNamespace, "guestbook")
	f.merge("fleetagent", deployment, status, "status")
}

// plantValues writes the values Secret of a BundleDeployment and the hash of other, or of the same, values.
func (f *fleetServer) plantValues(name, text, other string) {
	f.t.Helper()
	bd := object("fleet.cattle.io/v1alpha1", "BundleDeployment", clusterNamespace, name)
	f.writeValues(bd, text)
	f.merge(controller, bd, `{"spec":{"valuesHash":"`+values.DeploymentHash([]byte(text+other), nil)+`"}}`)
}

// plantContents writes the files of the bundle guestbook, with a Secret that no release has.
func (f *fleetServer) plantContents() {
	f.t.Helper()
	file := strings.Replace(withSecrets, "{name: smtp}", "{name: later}", 1) +
		"---\n{apiVersion: v1, kind: Secret, metadata: {name: more}, stringData: {x: planted-later}}\n"
	resources := []any{map[string]any{"name": "all.yaml", "content": file}}
	text, err := json.Marshal(map[string]any{"resources": resources})
	if err != nil {
		f.t.Fatal(err)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(text); err != nil {
		f.t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		f.t.Fatal(err)
	}
	const id = "s-0000000000000000000000000000000000000000000000000000000000000"
	f.ApplyYAML(f.t, controller, fmt.Sprintf(
		"{apiVersion: fleet.cattle.io/v1alpha1, kind: Content, metadata: {name: %s}, content: %s}",
		id, base64.StdEncoding.EncodeToString(packed.Bytes())))
	f.removeAtEnd(object("fleet.cattle.io/v1alpha1", "Content", "", id))
	bundle, err := json.Marshal(map[string]any{"spec": map[string]any{"resources": resources,
		"helm": map[string]any{"values": map[string]any{"password": "planted-in-spec"}}}})
	if err != nil {
		f.t.Fatal(err)
	}
	f.merge(controller, object("fleet.cattle.io/v1alpha1", "Bundle", workspace, "guestbook"), string(bundle))
	f.merge(controller, object("fleet.cattle.io/v1alpha1", "BundleDeployment", clusterNamespace, "guestbook"),
		`{"spec":{"deploymentID":"`+id+`:1","stagedDeploymentID":"`+id+`:1"}}`)
	f.merge("fleetagent", object("fleet.cattle.io/v1alpha1", "BundleDeployment", clusterNamespace, "guestbook"),
		`{"status":{"appliedDeploymentID":"`+id+`:1"}}`, "status")
}

// commands matches the flags that name the source in suggested commands, and the placeholder for a captured cluster.
var commands = regexp.MustCompile(` --(kubeconfig|snapshot) [^ "\\]+| --(kube-)?context=<\|captured cluster\|>`)

// logins matches the credentials in an address: a snapshot masks the name of the user too.
var logins = regexp.MustCompile(`://[^@ "]+@`)

// sameButSource returns a printed document without its source and without the flags that name the source in commands.
func sameButSource(t *testing.T, r result) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal([]byte(logins.ReplaceAllString(commands.ReplaceAllString(r.stdout, ""), "://***@")),
		&out); err != nil {
		t.Fatalf("%v\n%s\n%s", err, r.stdout, r.stderr)
	}
	if source, ok := out["source"].(map[string]any); ok {
		// a live audit does not list the Namespace with the uid
		for _, key := range []string{"kind", "context", "server", "path", "clusterUID"} {
			delete(source, key)
		}
	}
	out["status"] = r.status
	return out
}

// TestTakeSnapshot compares reports of a cluster with those of its snapshot, and searches the snapshot for the values
// of Secrets.
func TestTakeSnapshot(t *testing.T) {
	f := newFleet(t, shared)
	plantSecrets(f)
	now := time.Now().Add(2 * time.Minute) // so that nothing is in progress
	env := cli.Environment{Now: func() time.Time { return now }}
	file := filepath.Join(t.TempDir(), "snapshot.tar.gz")
	if r := runWith(t.Context(), t, env, "snapshot", "--kubeconfig", f.kubeconfig, "-o", file); r.status != 0 ||
		r.stdout != "" {
		t.Fatalf("status %d: %s", r.status, r.stderr)
	}
	again := filepath.Join(t.TempDir(), "again.tar.gz")
	if r := runWith(t.Context(), t, env, "snapshot", "--snapshot", file, "-o", again); r.status != 0 {
		t.Fatalf("a snapshot of the snapshot: status %d: %s", r.status, r.stderr)
	}
	for _, args := range [][]string{
		{"audit"}, {"audit", "--diff", "-n", workspace}, {"audit", "bundle/guestbook", "-n", workspace},
		{"audit", "--status-only"},
		{"why", "bundle/guestbook", "-n", workspace}, {"agents"}, {"targets", "bundle/guestbook", "-n", workspace},
		{"owner", "configmap/settings", "-n", apps}, {"impact", "bundle/guestbook", "-n", workspace},
	} {
		args = append(args, "-o", "json")
		live := runWith(t.Context(), t, env, append(args, "--kubeconfig", f.kubeconfig)...)
		for name, path := range map[string]string{"the snapshot": file, "the snapshot of the snapshot": again} {
			captured := runWith(t.Context(), t, env, append(args, "--snapshot", path)...)
			if diff := cmp.Diff(sameButSource(t, live), sameButSource(t, captured)); diff != "" {
				t.Errorf("%q of %s (-cluster +snapshot):\n%s", args, name, diff)
			}
		}
	}
	live := auditWith(t, env, f.kubeconfig)
	expect(t, live, outcome{
		Status:      1,
		Deployments: map[string]string{"guestbook": "Modified", "damaged": "Unknown RecordUnreadable"},
		Objects: map[string]string{"secret apps/smtp": "Modified", "configmap apps/settings": "Modified",
			"configmap apps/gone": "Missing",
			"service apps/web":    "Unowned HashStripped", "configmap apps/old": "Orphaned"},
		Findings: outcomeOf(live).Findings,
		Gaps:     outcomeOf(live).Gaps,
	})
	for _, code := range []string{"FD101", "FD102", "FD104", "FD105", "FD403", "FD602", "FD701"} {
		if !strings.Contains(strings.Join(outcomeOf(live).Findings, "\n"), code) {
			t.Errorf("the cluster does not show %s", code)
		}
	}
	for _, path := range []string{file, again} {
		noPlanted(t, path)
	}
	readByKubectl(t, f, file)
}

// noPlanted searches every layer of a snapshot for the values.
func noPlanted(t *testing.T, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if found := layers.Find(data, planted); len(found) > 0 {
		t.Errorf("%s has values of Secrets:\n%s", filepath.Base(file), strings.Join(found, "\n"))
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the mode of the file is %v, error %v", info.Mode(), err)
	}
}

// readByKubectl unpacks a snapshot, and lets kubectl read its files: each is an object that kubectl finds on the
// cluster.
func readByKubectl(t *testing.T, f *fleetServer, file string) {
	t.Helper()
	dir := t.TempDir()
	files := unpacked(t, file, dir)
	if last := files[len(files)-1]; filepath.Base(last) != "MANIFEST" {
		t.Errorf("the last file is %s: a truncated archive must have no manifest", last)
	}
	// The names of Contents are hashes of data that may be secret: they are not those of the cluster.
	contents, err := filepath.Glob(filepath.Join(dir, "*", "contents.fleet.cattle.io"))
	if err != nil || len(contents) != 1 {
		t.Fatalf("the folders of Contents are %q, error %v", contents, err)
	}
	if err := os.RemoveAll(contents[0]); err != nil {
		t.Fatal(err)
	}
	objects := slices.DeleteFunc(files, func(name string) bool {
		return strings.Contains(name, "/contents.fleet.cattle.io/") || !strings.HasSuffix(name, ".json")
	})
	for _, args := range [][]string{{"get", "-o", "name"}, {"create", "--dry-run=client", "-o", "name"}} {
		cmd := exec.CommandContext(t.Context(), f.Kubectl(), append(args, "--kubeconfig", f.kubeconfig, "-R", "-f",
			dir)...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil || strings.Count(string(out), "\n") != len(objects) {
			t.Errorf("kubectl %s: %v: %d lines for %d objects\n%s", args[0], err, strings.Count(string(out), "\n"),
				len(objects), stderr.String())
		}
	}
}

// unpacked unpacks an archive into a folder and returns the names of its files in order.
func unpacked(t *testing.T, file, dir string) []string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, text, 0o600)); err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
	}
}

// captured audits a snapshot.
func captured(t *testing.T, file string) result {
	t.Helper()
	r := run(t.Context(), t, "audit", "--snapshot", file, "-o", "json")
	if r.stdout != "" {
		r.report = &report.Audit{}
		if err := json.Unmarshal([]byte(r.stdout), r.report); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

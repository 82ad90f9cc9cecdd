// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Target is one named object, such as gitrepo/guestbook, or every object of its kind if it has no name. Kind is the
// name of one of Fleet's kinds in lower case.
type Target struct{ Kind, Name string }

// The kinds of targets.
const (
	TargetGitRepo          = "gitrepo"
	TargetHelmOp           = "helmop"
	TargetBundle           = "bundle"
	TargetCluster          = "cluster"
	TargetBundleDeployment = "bundledeployment"
)

// TargetKind returns the kind of Fleet and its resource, such as "Bundle" and "bundles.fleet.cattle.io", for a word
// that kubectl accepts for it; "" for any other word, and for ClusterGroups, which are no targets.
func TargetKind(word string) (kind, resource string) {
	for _, k := range state.Subjects {
		name, group := strings.ToLower(k.Name), "."+v1alpha1.GroupVersion.Group
		names := append([]string{name, name + group, k.Resource, k.Resource + group}, k.ShortNames...)
		if k.Name != state.ClusterGroup && slices.Contains(names, strings.ToLower(word)) {
			return k.Name, k.Resource + group
		}
	}
	return "", ""
}

// String returns the target as the user types it.
func (t Target) String() string {
	if t.Name == "" {
		return t.Kind
	}
	return t.Kind + "/" + t.Name
}

func namesOf(targets []Target) []string {
	var out []string
	for _, t := range targets {
		out = append(out, t.String())
	}
	return out
}

func (t Target) is(kind string) bool { return t.Kind == strings.ToLower(kind) }

// Names reports whether the target is the bundle deployment, or one of its parents.
func (t Target) Names(d *directory.Deployment) bool {
	if t.is(state.BundleDeployment) {
		return t.Name == "" || d.Named(t.Name)
	}
	key := ""
	for kind, parent := range d.Parents() {
		if t.is(kind) {
			key = parent
		}
	}
	return key != "" && t.matches(key)
}

// matches reports whether the target's name is "namespace/name", or its end.
func (t Target) matches(key string) bool {
	return t.Name == "" || key == t.Name || strings.HasSuffix(key, "/"+t.Name)
}

// Copy is a Secret or ConfigMap that Fleet copies from the namespace of a Bundle to the release namespace of its
// deployment. Source: docs/fleet-behavior.md, 6.5.
type Copy struct {
	Deployment *BundleDeployment
	// Original is on the management cluster, Copied on the cluster of the deployment.
	Original, Copied object.Ref
	// Deployed is when the present deployment was complete.
	Deployed time.Time

	// Read is true if both were read and the original exists. Only then the other fields are known.
	Read bool
	// Exists is true if the copy exists, Equal if it has the same data.
	Exists, Equal bool
	// Changed is the last change of the original; zero if it is not known.
	Changed time.Time
}

// hasCopies reports whether the agent of a bundle deployment makes copies, and is not stopped by intention.
func hasCopies(d *BundleDeployment) bool {
	installed := d.BD != nil && d.Placed && d.Release.Name != ""
	if !installed || d.FromFiles() {
		return false
	}
	s := &d.BD.Spec
	return len(s.Options.DownstreamResources) > 0 && !s.Paused && !s.OffSchedule
}

// Copies returns the copies that deployments in scope should have. A deployment that is not complete, or not up to date
// by intention, has none.
func Copies(scope []*BundleDeployment) []Copy {
	var out []Copy
	for _, d := range scope {
		if !hasCopies(d) {
			continue
		}
		workspace, _, _ := strings.Cut(d.Bundle, "/")
		owner := state.DeploymentOwner(d.BD, nil)
		complete := !owner.Deleting && !owner.Waiting && !owner.Used.IsZero()
		if workspace == "" || !complete {
			continue
		}
		for _, r := range d.BD.Spec.Options.DownstreamResources {
			kind := map[string]string{"secret": "Secret", "configmap": "ConfigMap"}[strings.ToLower(r.Kind)]
			if kind == "" || r.Name == "" {
				continue
			}
			ref := object.Ref{APIVersion: "v1", Kind: kind, Namespace: workspace, Name: r.Name}
			c := Copy{Deployment: d, Original: ref, Copied: ref, Deployed: owner.Used}
			c.Copied.Namespace = d.Release.Namespace
			out = append(out, c)
		}
	}
	return out
}

// Absent observes a desired object of which no live object was listed. The list of its kind is nil if it was not read.
func Absent(o *desired.Object, l *List) Object {
	out := newObject(o)
	var coverage source.Coverage
	if l != nil {
		coverage = l.Coverage
	}
	if f, covered := coverage.Of(o.Namespace); !covered {
		out.State, out.Reason, out.Message = Unknown, string(f.Reason), f.Detail
		return out
	}
	out.State, out.TTLAfterFinished, out.Dependent = Missing, TTLAfterFinished(o), dependent(o)
	return out
}

// dependent returns "kind name" of the owner that the manifest of an object states; empty if it states none.
func dependent(o *desired.Object) string {
	var m struct {
		Metadata struct {
			Owners []struct {
				Kind string `json:"kind"`
				Name string `json:"name"`
			} `json:"ownerReferences"`
		} `json:"metadata"`
	}
	if object.Into(o.Raw, &m) != nil || len(m.Metadata.Owners) == 0 {
		return "" // a manifest that cannot be decoded sets no field
	}
	return m.Metadata.Owners[0].Kind + " " + m.Metadata.Owners[0].Name
}

// TTLAfterFinished returns spec.ttlSecondsAfterFinished of a Job's manifest; nil for any other object.
func TTLAfterFinished(o *desired.Object) *int64 {
	if o.Kind != "Job" || object.Group(o.APIVersion) != "batch" {
		return nil
	}
	var job struct {
		Spec struct {
			TTLSecondsAfterFinished *int64 `json:"ttlSecondsAfterFinished"`
		} `json:"spec"`
	}
	if object.Into(o.Raw, &job) != nil {
		return nil // a manifest that cannot be decoded sets no field
	}
	return job.Spec.TTLSecondsAfterFinished
}

// remaining are the conditions of a Namespace that name what keeps it from being deleted.
var remaining = []any{"NamespaceContentRemaining", "NamespaceFinalizersRemaining"}

// Deletion returns what keeps an object from being deleted, as a sentence; empty if nothing is stated, or if it is not
// being deleted.
func Deletion(content object.Content) string {
	if deleted, _, _ := unstructured.NestedFieldNoCopy(content, "metadata", "deletionTimestamp"); deleted == nil {
		return ""
	}
	var out []string
	if names, _, _ := unstructured.NestedStringSlice(content, "metadata", "finalizers"); len(names) > 0 {
		out = append(out, "it has the finalizers "+strings.Join(names, ", "))
	}
	conditions, _, _ := unstructured.NestedFieldNoCopy(content, "status", "conditions")
	all, _ := conditions.([]any)
	for _, c := range all {
		condition, _ := c.(map[string]any)
		message, _ := condition["message"].(string)
		if slices.Contains(remaining, condition["type"]) && condition["status"] == "True" && message != "" {
			out = append(out, message)
		}
	}
	return strings.Join(out, "; ")
}

// terminating are the words of an API server about a Namespace that is being deleted.
var terminating = regexp.MustCompile(`in namespace ([a-z0-9-]{1,63}) because it is being terminated`)

// Terminates returns the Namespace for whose deletion a deploy waits.
func (d *BundleDeployment) Terminates() (namespace string, ok bool) {
	if d.BD == nil {
		return "", false
	}
	m := terminating.FindStringSubmatch(v1alpha1.ConditionOf(d.BD.Status.Conditions, "Deployed").Message)
	if m == nil {
		return "", false
	}
	return m[1], true
}

// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Dependencies finds the bundle deployments that others depend on. Source: docs/fleet-behavior.md, 4.9.
type Dependencies struct {
	directory   *directory.Directory
	byNamespace map[string][]*directory.Deployment
}

// NewDependencies indexes the bundle deployments.
func NewDependencies(in *directory.Directory) *Dependencies {
	out := &Dependencies{directory: in, byNamespace: map[string][]*directory.Deployment{}}
	for _, d := range in.Deployments {
		if d.BD != nil {
			out.byNamespace[d.Namespace] = append(out.byNamespace[d.Namespace], d)
		}
	}
	return out
}

// Closure returns bundle deployments with all that they depend on, directly or not.
func (x *Dependencies) Closure(deployments []*directory.Deployment) []*directory.Deployment {
	out := slices.Clone(deployments)
	seen := map[object.DeploymentID]bool{}
	for _, d := range out {
		seen[d.ID()] = true
	}
	for i := 0; i < len(out); i++ {
		if out[i].BD == nil {
			continue
		}
		for _, ref := range out[i].BD.Spec.DependsOn {
			found, _ := x.Matching(out[i], ref)
			for _, d := range found {
				if !seen[d.ID()] {
					seen[d.ID()] = true
					out = append(out, d)
				}
			}
		}
	}
	return out
}

// Matching returns the bundle deployments in the same namespace that a dependency names; known is false if not all
// could be read.
func (x *Dependencies) Matching(d *directory.Deployment, ref v1alpha1.BundleRef) (found []*directory.Deployment,
	known bool) {
	if !x.directory.Read(state.BundleDeployment, d.Namespace) || ref.Name == "" && ref.Selector == nil {
		return nil, false
	}
	selector, err := selectorOf(ref, d.BD.Labels[fleet.BundleNamespaceLabel])
	if err != nil {
		return nil, false
	}
	found, _ = x.selected(d, selector, nil)
	return found, true
}

// selectorOf returns the selector of a dependency, as its agent makes it.
func selectorOf(ref v1alpha1.BundleRef, workspace string) (labels.Selector, error) {
	s := cmp.Or(ref.Selector, &metav1.LabelSelector{}).DeepCopy()
	if ref.Name != "" {
		s = metav1.AddLabelToSelector(s, fleet.BundleLabel, ref.Name)
		s = metav1.AddLabelToSelector(s, fleet.BundleNamespaceLabel, workspace)
	}
	return metav1.LabelSelectorAsSelector(s)
}

// selected returns the bundle deployments that a selector selects beside those of a bundle deployment, which may be
// one of them, and the names of the selected siblings that do not exist yet.
func (x *Dependencies) selected(d *directory.Deployment, selector labels.Selector,
	siblings []*directory.Deployment) (found []*directory.Deployment, later []string) {
	for _, b := range x.byNamespace[d.DeploymentNamespace()] {
		if selector.Matches(labels.Set(b.BD.Labels)) {
			found = append(found, b)
		}
	}
	for _, b := range siblings {
		switch isNew := b.BD == nil && b.IsOn(d.ClusterID); {
		case !isNew || !selector.Matches(labels.Set(b.BundleLabels())):
		case b.ID() == d.ID():
			found = append(found, b)
		default:
			later = append(later, b.Name)
		}
	}
	return found, later
}

// testsState is the first minor version of Fleet whose agent tests the state of a dependency, and not its condition
// Ready.
const testsState = 15

// waits begins the message of the condition Deployed if the agent found that a dependency is not ready.
const waits = "dependent bundle(s) are not ready"

// Blocks reports whether a dependency of a bundle deployment is not ready, by the rules of its agent. If the version of
// the agent is not known, and versions differ in the result, the agent must have reported that it waits for a
// dependency.
func Blocks(d, dependency *directory.Deployment, ref v1alpha1.BundleRef) bool {
	ready, known := readyFor(d, dependency, ref, fleet.ParseVersion)
	if !known {
		return SaysItWaits(d.BD)
	}
	return !ready
}

// readyFor reports whether a dependency is ready for the agent of a bundle deployment. known is false if that depends
// on the version of the agent, and the version is not known. parse reads the version.
func readyFor(d, dependency *directory.Deployment, ref v1alpha1.BundleRef,
	parse func(string) (fleet.Version, bool)) (ready, known bool) {
	byCondition := dependency.BD != nil &&
		v1alpha1.ConditionOf(dependency.BD.Status.Conditions, "Ready").Status == "True"
	var byState bool
	if dependency.ID() == d.ID() && d.FromFiles() { // with other contents
		byState = acceptedState(ref, fleet.WaitApplied)
	} else {
		byState = acceptedBy(ref, dependency.BD)
	}
	agent, known := parse(d.AgentVersion)
	switch {
	case byCondition == byState:
		return byState, true
	case agent.Before(testsState, 0):
		return byCondition, known
	}
	return byState, known
}

// SaysItWaits reports whether the agent reported last that a dependency is not ready.
func SaysItWaits(bd *v1alpha1.BundleDeployment) bool {
	c := v1alpha1.ConditionOf(bd.Status.Conditions, "Deployed")
	return len(bd.Spec.DependsOn) > 0 && c.Status == "False" && strings.HasPrefix(c.Message, waits)
}

// acceptedBy reports whether a dependency is in a state that is accepted. A state that this program does not know is
// compared as it is shown.
func acceptedBy(ref v1alpha1.BundleRef, bd *v1alpha1.BundleDeployment) bool {
	shown := fleet.ShownState(bd)
	return acceptedState(ref, fleet.StateOf(bd)) || shown.Rank() == 0 && acceptedState(ref, shown)
}

func acceptedState(ref v1alpha1.BundleRef, s fleet.BundleState) bool {
	if len(ref.AcceptedStates) == 0 {
		return s == fleet.Ready
	}
	return slices.Contains(ref.AcceptedStates, string(s))
}

// DependencyTest is what the agent finds when it tests the dependencies of a bundle deployment before a deploy.
type DependencyTest struct {
	// Refused is the agent's error; empty if it reports none. Absent is true if a dependency selects nothing.
	Refused string
	Absent  bool
	// Unknown is why the result is not known; empty if it is.
	Unknown string
	// Later are the names of the bundles of the same directory that are not deployed yet.
	Later []string
}

// Test returns what the agent of a bundle deployment finds. siblings are the bundles that are deployed together with
// it. Source: docs/fleet-behavior.md, 4.9.
func (x *Dependencies) Test(d *directory.Deployment, siblings []*directory.Deployment) DependencyTest {
	var out DependencyTest
	var notReady []string
	for i, ref := range d.DependsOn() {
		if ref.Name == "" && ref.Selector == nil {
			continue // the agent ignores it
		}
		namespace, workspace := d.DeploymentNamespace(), d.Workspace()
		if namespace == "" || workspace == "" || !x.directory.Read(state.BundleDeployment, namespace) {
			return DependencyTest{Unknown: fmt.Sprintf(
				"dependsOn[%d] selects BundleDeployments of its cluster, which could not all be read", i)}
		}
		selector, err := selectorOf(ref, workspace)
		if err != nil {
			return DependencyTest{Refused: err.Error()}
		}
		found, later := x.selected(d, selector, siblings)
		if len(found) == 0 && len(later) == 0 {
			return DependencyTest{Absent: true, Refused: fmt.Sprintf(
				"list bundledeployments: no bundles matching labels %s in namespace %s", selector, workspace)}
		}
		out.Later = append(out.Later, later...)
		for _, b := range found {
			switch ready, known := readyFor(d, b, ref, fleet.ParseBuild); {
			case !known:
				out.Unknown = fmt.Sprintf("whether bundle deployment %s meets dependsOn[%d] depends on the version "+
					"of the agent, which is not known", b.Key(), i)
			case !ready:
				notReady = append(notReady, b.Name)
			}
		}
	}
	if len(notReady) > 0 {
		return DependencyTest{Refused: fmt.Sprintf("%s: %v", waits, notReady)}
	}
	return out
}

// Deleting reports whether an object is being deleted.
func Deleting(o v1alpha1.Object) bool { return o.GetDeletionTimestamp() != nil }

// Parsed returns a time of a status; zero without one.
func Parsed(text string) time.Time {
	t, _ := time.Parse(time.RFC3339, text) // zero with an error
	return t
}

// Time returns a time as text, as in a status.
func Time(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// ConditionsOf returns the conditions of an object of Fleet.
func ConditionsOf(o v1alpha1.Object) []v1alpha1.Condition {
	switch o := o.(type) {
	case *v1alpha1.BundleDeployment:
		return o.Status.Conditions
	case *v1alpha1.Cluster:
		return o.Status.Conditions
	}
	if s := StatusOf(o); s != nil {
		return s.Conditions
	}
	return nil
}

// StatusOf returns the status of a Bundle, GitRepo, HelmOp or ClusterGroup; nil for other kinds.
func StatusOf(o v1alpha1.Object) *v1alpha1.Status {
	switch o := o.(type) {
	case *v1alpha1.Bundle:
		return &o.Status
	case *v1alpha1.GitRepo:
		return &o.Status.Status
	case *v1alpha1.HelmOp:
		return &o.Status
	case *v1alpha1.ClusterGroup:
		return &o.Status.Status
	}
	return nil
}

// Observed reports whether the controller has computed the targets of the present spec.
func Observed(b *v1alpha1.Bundle) bool {
	return b.Status.ObservedGeneration > 0 && b.Status.ObservedGeneration >= b.Generation
}

// summaryMessage begins the message of the condition Ready of a Bundle that was processed (docs/fleet-behavior.md,
// 5.5).
var summaryMessage = regexp.MustCompile(`^[A-Za-z]+\(\d+\) \[`)

// BundleError returns the message of the condition Ready of a Bundle that the controller could not process; ok is false
// without an error. The reason Error alone does not prove one: it may be left over. The message may quote values.
func BundleError(b *v1alpha1.Bundle) (message string, ok bool) {
	for _, c := range b.Status.Conditions {
		notReady := c.Type == "Ready" && c.Status != "True"
		failed := c.Reason == "Error" && !summaryMessage.MatchString(c.Message)
		if notReady && (failed || strings.Contains(c.Message, "targeting error")) {
			return c.Message, true
		}
	}
	return "", false
}

// Failed reports whether the controller could not process a Bundle.
func Failed(b *v1alpha1.Bundle) bool {
	_, failed := BundleError(b)
	return failed
}

// Contents reports whether the contents that are staged in a BundleDeployment are those of its Bundle; true if that is
// not known.
func Contents(b *v1alpha1.Bundle, bd *v1alpha1.BundleDeployment) bool {
	sum := b.Status.ResourcesSHA256Sum
	staged, _, _ := strings.Cut(bd.Spec.StagedDeploymentID, ":")
	if sum == "" || !Observed(b) || !strings.HasPrefix(staged, "s-") {
		return true
	}
	if bd.Spec.OCIContents || len(bd.Spec.HelmChartOptions) > 0 {
		return true
	}
	return staged == fleet.ManifestID(sum)
}

// Applied reports whether the agent has applied the current deployment id, and is at work on the bundle deployment.
func Applied(d *evaluate.BundleDeployment) bool {
	if d.BD == nil || d.FromFiles() || Deleting(d.BD) {
		return false
	}
	spec := &d.BD.Spec
	return !spec.Paused && !spec.OffSchedule && spec.DeploymentID == d.BD.Status.AppliedDeploymentID
}

// Corrects returns the correction of a bundle deployment that its agent should make now; nil if it should make none.
func Corrects(d *evaluate.BundleDeployment) *v1alpha1.CorrectDrift {
	if !Applied(d) || d.BD.Spec.CorrectDrift == nil || !d.BD.Spec.CorrectDrift.Enabled {
		return nil
	}
	if v1alpha1.ConditionOf(d.BD.Status.Conditions, "Installed").Status == "False" {
		return nil
	}
	return d.BD.Spec.CorrectDrift
}

// RepoOf returns the GitRepo or HelmOp of a Bundle. If it has the labels of both, it is of the GitRepo.
func RepoOf(b *v1alpha1.Bundle) (repo object.Ref, ok bool) {
	if name := b.Labels[fleet.RepoLabel]; name != "" {
		return Ref(state.GitRepo, b.Namespace, name), true
	}
	name := b.Labels[fleet.HelmOpLabel]
	return Ref(state.HelmOp, b.Namespace, name), name != ""
}

// Alike reports whether counts of objects are the same. Orphaned objects are not compared: Fleet compares with the
// previous revision only.
func Alike(x, y v1alpha1.ResourceCounts) bool {
	compared := func(c v1alpha1.ResourceCounts) [5]int {
		return [5]int{c.DesiredReady, c.Ready, c.Missing, c.Modified, c.NotReady}
	}
	return compared(x) == compared(y)
}

// Count returns a number with its noun.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// List returns up to three names, and the number of the others.
func List(names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// Ref returns the reference of one of Fleet's own objects.
func Ref(kind, namespace, name string) object.Ref {
	return object.Ref{APIVersion: v1alpha1.GroupVersion.String(), Kind: kind, Namespace: namespace, Name: name}
}

// RefOf returns the reference of the object of an aggregate.
func RefOf(a *evaluate.Aggregate) object.Ref {
	return Ref(a.Kind, a.Object.GetNamespace(), a.Object.GetName())
}

// Key returns "namespace/name" of an object.
func Key(o v1alpha1.Object) string { return o.GetNamespace() + "/" + o.GetName() }

// RefTo returns the reference of one of Fleet's own objects. The names of its types are those of the kinds.
func RefTo(o v1alpha1.Object) object.Ref {
	return Ref(reflect.TypeOf(o).Elem().Name(), o.GetNamespace(), o.GetName())
}

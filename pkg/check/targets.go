// SPDX-License-Identifier: Apache-2.0

package check

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// settling is the time in which the controller may not yet have created or deleted what belongs to a new object. It is short, because the status of a
// Bundle shows what the controller has processed.
const settling = 5 * time.Second

// joining is the time in which the controller may not yet have created the BundleDeployments of a new Cluster: it processes each Bundle again.
const joining = time.Minute

func key(o v1alpha1.Object) string { return o.GetNamespace() + "/" + o.GetName() }

func deleting(o v1alpha1.Object) bool { return o.GetDeletionTimestamp() != nil }

// young reports whether an object was created so recently that the controller may not have acted on it yet.
func (f *Facts) young(o v1alpha1.Object) bool {
	return f.newerThan(o, settling)
}

func (f *Facts) newerThan(o v1alpha1.Object, age time.Duration) bool {
	created := o.GetCreationTimestamp()
	return !created.IsZero() && f.Now().Sub(created.Time) < age
}

// observed reports whether the controller has computed the targets of the present spec.
func observed(b *v1alpha1.Bundle) bool {
	return b.Status.ObservedGeneration > 0 && b.Status.ObservedGeneration >= b.Generation
}

// summaryMessage begins the message of the condition Ready of a Bundle that was processed (docs/fleet-behavior.md, 5.5).
var summaryMessage = regexp.MustCompile(`^[A-Za-z]+\(\d+\) \[`)

// bundleError returns the message of the condition Ready of a Bundle that the controller could not process; ok is false without an error. The reason Error
// alone does not prove one: it may be left over. The message may quote values.
func bundleError(b *v1alpha1.Bundle) (message string, ok bool) {
	for _, c := range b.Status.Conditions {
		if c.Type == "Ready" && c.Status != "True" && (c.Reason == "Error" && !summaryMessage.MatchString(c.Message) || strings.Contains(c.Message, "targeting error")) {
			return c.Message, true
		}
	}
	return "", false
}

// bundlesInScope returns the bundles that are in scope, without those in deletion.
func (f *Facts) bundlesInScope() []*v1alpha1.Bundle {
	var out []*v1alpha1.Bundle
	for a := range f.Aggregates(state.Bundle) {
		if b, ok := a.Object.(*v1alpha1.Bundle); ok && !deleting(b) {
			out = append(out, b)
		}
	}
	return out
}

// candidates returns the bundles, without those in deletion, of which a deployment may be in scope.
func (f *Facts) candidates() []*v1alpha1.Bundle {
	ofCluster := slices.ContainsFunc(f.Scope.Targets, func(t evaluate.Target) bool {
		return t.Kind == evaluate.TargetCluster
	})
	var out []*v1alpha1.Bundle
	for _, b := range f.Desired.Bundles {
		if included := ofCluster || f.Includes(state.Bundle, b); included && !deleting(b) {
			out = append(out, b)
		}
	}
	return out
}

// deploymentInScope reports whether the deployment of a bundle to a cluster ("namespace/name") is in scope, or would be
// if it existed.
func (f *Facts) deploymentInScope(b *v1alpha1.Bundle, cluster string) bool {
	s := f.Scope
	if s.Selector != nil || s.Namespace != "" && s.Namespace != b.Namespace {
		return false
	}
	return f.Includes(state.Bundle, b) || s.Names(state.ClusterKind, cluster)
}

// uninstalls describes what the removal of a bundle deployment removes from its cluster.
func uninstalls(d *evaluate.BundleDeployment) string {
	keep := d.KeepResources || d.BD != nil && d.BD.Spec.Options.KeepResources
	switch {
	case d.BD != nil && d.BD.Status.Release == "":
		return "nothing is installed: removing it uninstalls nothing"
	case keep:
		return "it is deployed with keepResources: removing it keeps its objects on the cluster"
	case d.Problem != "" || len(d.Desired) == 0:
		return "removing it uninstalls release " + d.BD.Status.Release + "; its objects are not known here"
	}
	return "removing it uninstalls release " + d.BD.Status.Release + " with " + count(len(d.Desired), "object")
}

// related are a bundle and a cluster.
func related(b *v1alpha1.Bundle, c *v1alpha1.Cluster) []object.Ref {
	return []object.Ref{Ref(state.Bundle, b.Namespace, b.Name), Ref(state.ClusterKind, c.Namespace, c.Name)}
}

// read reports whether all objects of a kind in a namespace were read.
func (f *Facts) read(kind, namespace string) bool { return f.Desired.Read(kind, namespace) }

// clustersRead reports whether the Clusters were read completely, so that a namespace of BundleDeployments that none names has none.
func (f *Facts) clustersRead() bool { return f.read(state.ClusterKind, "") }

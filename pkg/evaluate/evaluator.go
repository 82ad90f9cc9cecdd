// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"encoding/json"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
)

// Options of an evaluation.
type Options struct {
	// Now is the time when the live objects were read; zero if it is not known.
	Now time.Time
	// Predict also records the data that adopting or deploying objects needs.
	Predict bool
	// Masked is true if values are masked in live objects and in releases.
	Masked bool
	// Memory has what was evaluated before; nil if nothing is to be remembered.
	Memory *Memory
}

// Evaluator evaluates the live objects of one cluster. It is immutable and safe for concurrent use.
type Evaluator struct {
	options Options
	cluster desired.OnCluster
	scope   []*desired.BundleDeployment
	// rules are the comparePatches of each bundle deployment in scope.
	rules map[object.DeploymentID][]compare.Rule
	// comparedWith is, for the Memory, what the objects of a bundle deployment are compared with beside their
	// manifests.
	comparedWith map[object.DeploymentID][]byte
	// kinds are the desired objects in scope by kind.
	kinds map[schema.GroupVersionKind][]*desired.Object
}

// New returns the Evaluator of a cluster for those of its bundle deployments that are in scope.
func New(cluster desired.OnCluster, scope []*desired.BundleDeployment, o Options) *Evaluator {
	e := &Evaluator{options: o, cluster: cluster, rules: map[object.DeploymentID][]compare.Rule{},
		comparedWith: map[object.DeploymentID][]byte{}, kinds: map[schema.GroupVersionKind][]*desired.Object{}}
	for _, d := range scope {
		if !d.IsOn(cluster.ID) {
			continue
		}
		e.scope = append(e.scope, d)
		e.rules[d.ID()] = d.ComparePatches()
		if o.Memory != nil {
			e.compares(d)
		}
		for _, o := range d.Desired {
			gvk := o.GroupVersionKind()
			e.kinds[gvk] = append(e.kinds[gvk], o)
		}
	}
	return e
}

// Kinds are the desired objects in scope by kind.
func (e *Evaluator) Kinds() map[schema.GroupVersionKind][]*desired.Object { return e.kinds }

// Hashes are the set hashes of the bundle deployments in scope.
func (e *Evaluator) Hashes() map[string]bool {
	out := map[string]bool{}
	for _, d := range e.scope {
		if d.Ownership.Hash != "" {
			out[d.Ownership.Hash] = true
		}
	}
	return out
}

// At returns the Evaluator for objects that are read at another time.
func (e *Evaluator) At(now time.Time) *Evaluator {
	out := *e
	out.options.Now = now
	return &out
}

// DropManifests drops the manifests of the objects that a list has as ready: they are not compared again.
func (e *Evaluator) DropManifests(l *List) {
	for i := range l.Objects {
		o := &l.Objects[i]
		if o.State != Ready {
			continue
		}
		d := e.cluster.Deployment(o.Deployment)
		d.DropManifest(d.Desired[o.index])
	}
}

// evaluates reports whether a desired object is evaluated from the list of a kind. The desired objects of a bundle
// deployment with a problem are not known; its record may still claim the object.
func (e *Evaluator) evaluates(o *desired.Object, kind schema.GroupVersionKind) bool {
	_, inScope := e.rules[o.Deployment]
	return inScope && e.cluster.Deployment(o.Deployment).Problem == "" && o.GroupVersionKind() == kind
}

// compares records what the objects of a bundle deployment are compared with, beside their manifests.
func (e *Evaluator) compares(d *desired.BundleDeployment) {
	with, err := json.Marshal(struct {
		Ownership ownership.Metadata
		Rules     []compare.Rule
		Ignored   []map[string]string
	}{d.Ownership, e.rules[d.ID()], ignored(d)})
	if err == nil {
		e.comparedWith[d.ID()] = with
	}
}

// ignored returns the conditions that the bundle ignores.
func ignored(d *desired.BundleDeployment) []map[string]string {
	if o := d.Options(); o.Ignore != nil {
		return o.Ignore.Conditions
	}
	return nil
}

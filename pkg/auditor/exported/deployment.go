// SPDX-License-Identifier: Apache-2.0

package exported

import (
	"cmp"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// deploymentKey identifies a bundle deployment. The namespace is that of its BundleDeployment, which identifies the
// cluster on the management cluster and on the cluster itself. on is the cluster or the auditor if the namespace is not
// known.
type deploymentKey struct{ namespace, name, on string }

func (k deploymentKey) compare(o deploymentKey) int {
	return cmp.Or(cmp.Compare(k.namespace, o.namespace), cmp.Compare(k.name, o.name), cmp.Compare(k.on, o.on))
}

// deployment is a bundle deployment as one auditor exports it.
type deployment struct {
	cluster, bundle, gitRepo string
	// state is empty if the auditor exports none.
	state    report.State
	reason   string
	counts   report.Counts
	counted  bool // the number of desired objects is known
	reported *report.Reported
	pending  bool
	objects  []report.Resource
	unnamed  int
}

// states are those of bundle deployments, the worst one first.
var states = []report.State{report.Unknown, report.ErrApplied, report.WaitApplied, report.NotReady, report.OutOfSync,
	report.Modified, report.Ready}

// add adds a series.
func (d *deployment) add(s series) {
	state := report.State(s.of("state"))
	switch s.name {
	case deploymentState:
		d.addState(state, s.of("reason"))
	case desiredObjects:
		d.counts.Desired, d.counted = s.value, true
	case objects:
		addCount(&d.counts, state, s.value)
	case reportedState:
		d.report().State = string(state)
	case reportedDesired:
		addDesired(d.report(), s.value)
	case reportedObjects:
		addReported(d.report(), state, s.value)
	case pending:
		d.pending = d.pending || s.value > 0
	case unnamedObjects:
		d.unnamed = s.value
	case objectState:
		d.objects = append(d.objects, report.Resource{Ref: refOf(s.labels), State: state})
	}
}

// addState sets the state. An auditor exports several states of two releases with the same labels; the worst one
// counts.
func (d *deployment) addState(s report.State, reason string) {
	if !slices.Contains(states, s) {
		s = report.Unknown
	}
	if d.state == "" || slices.Index(states, s) < slices.Index(states, d.state) {
		d.state, d.reason = s, reason
	}
}

// complete reports whether the numbers of objects are known, or the reason why they are not.
func (d *deployment) complete() bool {
	c := d.counts
	all := c.Ready + c.Missing + c.Unowned + c.Modified + c.NotReady + c.Unknown
	return d.reason != "" || d.counted && all == c.Desired
}

func (d *deployment) report() *report.Reported {
	if d.reported == nil {
		d.reported = &report.Reported{}
	}
	return d.reported
}

// evaluated reports whether the auditor reads the cluster of the bundle deployment.
func (d *deployment) evaluated() bool {
	return d.state != "" && d.reason != string(directory.ClusterNotRead)
}

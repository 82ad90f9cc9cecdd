// SPDX-License-Identifier: Apache-2.0

package exported

import (
	"cmp"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// deploymentKey identifies a bundle deployment. The namespace is that of its BundleDeployment, which identifies the
// cluster on the management cluster and on the cluster itself. on is the cluster or the auditor if the namespace is not
// known.
type deploymentKey struct{ namespace, name, on string }

func (k deploymentKey) compare(o deploymentKey) int {
	return cmp.Or(cmp.Compare(k.namespace, o.namespace), cmp.Compare(k.name, o.name), cmp.Compare(k.on, o.on))
}

// keyOf returns the key of the bundle deployment that labels name; the name is empty if they name none.
func (t *target) keyOf(l labels) deploymentKey {
	out := deploymentKey{namespace: l.of("bundledeployment_namespace"), name: l.of("name")}
	if out.namespace == "" {
		out.on = cmp.Or(l.key("cluster_namespace", "cluster_name"), t.name)
	}
	return out
}

// deployment is a bundle deployment as one auditor exports it.
type deployment struct {
	cluster, bundle, gitRepo string
	// state is empty if the auditor exports none.
	state    report.State
	reason   string
	counts   report.Counts
	reported *report.Reported
	pending  bool
	objects  []report.Resource
	unnamed  int
}

// states are those of bundle deployments, the worst one first.
var states = []report.State{report.Unknown, report.ErrApplied, report.WaitApplied, report.NotReady, report.OutOfSync,
	report.Modified, report.Ready}

// deployment returns the bundle deployment of a series.
func (t *target) deployment(s series) *deployment {
	k := t.keyOf(s.labels)
	d := t.deployments[k]
	if d == nil {
		d = &deployment{}
		t.deployments[k] = d
	}
	d.cluster = cmp.Or(d.cluster, s.key("cluster_namespace", "cluster_name"))
	d.bundle = cmp.Or(d.bundle, s.key("bundle_namespace", "bundle"))
	if repo := s.of("repo"); repo != "" {
		d.gitRepo = s.of("bundle_namespace") + "/" + repo
	}
	return d
}

// add adds a series.
func (d *deployment) add(s series) {
	state := report.State(s.of("state"))
	switch s.name {
	case deploymentState:
		d.addState(state, s.of("reason"))
	case desiredObjects:
		d.counts.Desired = s.value
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

// refOf returns the reference of the object that labels name. The version of its API is known only of the core group
// and of Fleet's.
func refOf(l labels) object.Ref {
	out := object.Ref{APIVersion: l.of("api_group") + "/", Kind: l.of("kind"), Namespace: l.of("object_namespace"),
		Name: l.of("object")}
	switch out.APIVersion {
	case "/":
		out.APIVersion = "v1"
	case v1alpha1.GroupVersion.Group + "/":
		out.APIVersion = v1alpha1.GroupVersion.String()
	}
	return out
}

// addCount adds a number of objects in a state.
func addCount(c *report.Counts, s report.State, n int) {
	of := map[report.State]*int{report.Ready: &c.Ready, report.Missing: &c.Missing, report.Unowned: &c.Unowned,
		report.Modified: &c.Modified, report.NotReady: &c.NotReady, report.Orphaned: &c.Orphaned,
		report.Unknown: &c.Unknown}[s]
	if of != nil {
		*of += n
	}
}

// addDesired sets the number of desired objects that Fleet reports. It reports this number only with all others, of
// which those that are 0 are not asked for.
func addDesired(r *report.Reported, n int) {
	r.DesiredReady = &n
	for _, x := range []**int{&r.Ready, &r.Missing, &r.Modified, &r.NotReady, &r.Orphaned} {
		if *x == nil {
			*x = new(int)
		}
	}
}

// addReported sets a number of objects that Fleet reports.
func addReported(r *report.Reported, s report.State, n int) {
	of := map[report.State]**int{report.Ready: &r.Ready, report.Missing: &r.Missing, report.Modified: &r.Modified,
		report.NotReady: &r.NotReady, report.Orphaned: &r.Orphaned}[s]
	if of != nil {
		*of = &n
	}
}

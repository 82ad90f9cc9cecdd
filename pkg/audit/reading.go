// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Reading is the data that was read, and the desired state that follows from it.
type Reading struct {
	// Reader reads Fleet's own objects. Clusters read the clusters of the Directory, in its order.
	*collect.Reader
	Clusters   []ReadCluster
	Management *state.Fleet
	// States are those of the clusters, with their release records.
	States    []*state.Cluster
	Directory *directory.Directory
	// Desired is nil before Resolve.
	Desired *desired.DesiredState
	Gaps    []source.Gap

	options Options
	// secrets are the Secrets in manifests, as JSON: their values must not be shown.
	secrets [][]byte
	notes   []string
}

// Read reads Fleet's objects and the state of the clusters.
func Read(ctx context.Context, src source.Source, o Options) (*Reading, error) {
	r, err := ReadFleet(ctx, src, o)
	if err != nil {
		return nil, err
	}
	if err := r.readState(ctx); err != nil {
		return nil, err
	}
	r.Gaps = append(r.Gaps, r.stateGaps(r.Directory.Deployments)...)
	return r, nil
}

// ReadFleet reads Fleet's objects.
func ReadFleet(ctx context.Context, src source.Source, o Options) (*Reading, error) {
	return readFleet(ctx, src, o, collect.Before{})
}

func readFleet(ctx context.Context, src source.Source, o Options, before collect.Before) (*Reading, error) {
	r := &Reading{options: o}
	var err error
	if r.Reader, err = collect.Open(ctx, src, &secret.Values{}, o.Progress); err != nil {
		return nil, err
	}
	r.Before = before
	if before.Secrets != nil {
		r.Secrets = before.Secrets
	}
	f, gaps, err := r.Fleet(ctx, o.Scope.Namespace)
	if err != nil {
		return nil, err
	}
	r.Gaps = slices.Concat(r.Description.Gaps, gaps)
	r.Management = f
	return r, nil
}

// readState reads the agents and the release records of the clusters, and finds the bundle deployments on them.
func (r *Reading) readState(ctx context.Context) error {
	if err := r.readClusters(ctx, r.Management); err != nil {
		return err
	}
	for _, c := range r.States {
		// A BundleDeployment of the management cluster may also quote those of a cluster that is dropped.
		r.secrets = append(r.secrets, c.Secrets()...)
	}
	r.notes = r.asVersion()
	r.dropRepeated()
	r.Directory = directory.Build(directory.Input{Fleet: r.Management, Clusters: r.States,
		StatedScope: r.options.AgentScope})
	r.dropReadGaps()
	r.Gaps = append(r.Gaps, collect.FleetGaps(r.Management, r.within)...)
	for i, c := range r.Directory.Clusters {
		r.Gaps = append(r.Gaps, r.Clusters[i].unidentified(r.Management, c)...)
	}
	return nil
}

// Resolve computes the desired state. It is called once.
func (r *Reading) Resolve(renderings []*desired.Rendering, removals []*desired.Removal) {
	r.resolve(renderings, removals, nil, nil)
}

// resolve is Resolve. The unchanged bundle deployments are taken from an earlier state.
func (r *Reading) resolve(renderings []*desired.Rendering, removals []*desired.Removal, before *desired.DesiredState,
	unchanged map[object.DeploymentID]bool) {
	r.Desired = desired.Resolve(desired.Input{
		Directory: r.Directory, Clusters: r.States, Renderings: renderings, Removals: removals,
		Before: before, Unchanged: unchanged,
	})
	r.secrets = append(r.secrets, r.Desired.Secrets()...)
}

// Found returns an error if there is nothing to audit.
func (r *Reading) Found() error {
	d := r.Directory
	leftovers := func(c *directory.Cluster) bool { return len(c.Leftovers) > 0 }
	if len(d.Deployments) > 0 || d.Any() || slices.ContainsFunc(d.Clusters, leftovers) {
		return nil
	}
	where := collect.PlaceText(r.Description)
	unread := slices.Concat(r.Gaps, r.stateGaps(nil))
	_, _, served := r.Kinds.Lookup(v1alpha1.Kind(state.BundleDeployment))
	switch {
	case len(unread) > 0:
		return collect.NothingRead(where, unread[0])
	case served && !r.Description.Partial():
		return nil // Fleet is installed and deploys nothing: the report is empty
	}
	return fmt.Errorf("%w: %s has neither BundleDeployments nor Helm releases of a Fleet agent", collect.ErrNoFleet,
		where)
}

// statedScope returns an error if every running agent contradicts the scope that the user states.
func (r *Reading) statedScope() error {
	if r.options.AgentScope == nil {
		return nil
	}
	stated := *r.options.AgentScope
	var hidden []string // the agents that do not show a scope
	var shown []directory.AgentScope
	for _, c := range r.Directory.Clusters {
		for _, agent := range c.Agents() {
			if s := c.Scopes[agent]; s.Evidence == directory.EvidenceRunning {
				shown = append(shown, s)
			} else {
				hidden = append(hidden, agent)
			}
		}
	}
	switch {
	case len(hidden) > 1:
		return fmt.Errorf("%w: no running workload shows the scope of the agents in namespaces %s", ErrScopeAmbiguous,
			strings.Join(hidden, ", "))
	case len(hidden) == 0 && len(shown) > 0 && !slices.ContainsFunc(shown, func(s directory.AgentScope) bool {
		return s.Scope == stated
	}):
		return fmt.Errorf("%w=%q: %s shows %s", ErrScopeContradicted, stated, shown[0].Source, shown[0])
	}
	return nil
}

// SettleDisputes counts live objects to choose between the scope that a spec declares and the one that releases state.
func (r *Reading) SettleDisputes(ctx context.Context) error {
	all := map[directory.DisputeKey]directory.Carriers{}
	var mu sync.Mutex // guards all
	if err := Each(ctx, r.Clusters, func(ctx context.Context, i int) error {
		carriers, err := r.Clusters[i].Carriers(ctx, r.Directory, r.States[i])
		mu.Lock()
		defer mu.Unlock()
		maps.Copy(all, carriers)
		return err
	}); err != nil {
		return err
	}
	r.Directory = r.Directory.Settle(all)
	return nil
}

// scope returns the bundle deployments that are audited, without those of files. Before find, they are all bundle
// deployments if the options have names.
func (r *Reading) scope() ([]*directory.Deployment, error) {
	if len(r.options.Names) > 0 {
		return r.Directory.Deployments, nil
	}
	return r.picked()
}

// picked returns the bundle deployments that are in the scope of the options.
func (r *Reading) picked() ([]*directory.Deployment, error) {
	pick := evaluate.Scope.Pick
	switch {
	case r.options.Pick != nil:
		pick = r.options.Pick
	case r.options.Parents:
		pick = evaluate.Scope.PickAny
	}
	picked, err := pick(r.options.Scope, r.Directory)
	return picked, collect.OrUnread(err, r.Description)
}

// find finds what the names of the options stand for, adds that to the targets, and returns the bundle deployments in
// scope. It must follow Resolve.
func (r *Reading) find(scope []object.DeploymentID) ([]*evaluate.Found, []object.DeploymentID, error) {
	if len(r.options.Names) == 0 {
		return nil, scope, nil
	}
	var all []*evaluate.Found
	targets := slices.Clone(r.options.Scope.Targets)
	for _, n := range r.options.Names {
		found, err := evaluate.Find(r.Desired, n, r.Kinds)
		if _, ambiguous := errors.AsType[*evaluate.AmbiguousError](err); ambiguous {
			return nil, nil, err
		}
		if err != nil {
			return nil, nil, collect.OrUnread(err, r.Description)
		}
		all, targets = append(all, found), append(targets, found.Targets...)
		r.notes = append(r.notes, found.String())
	}
	r.options.Scope.Targets = targets
	picked, err := r.picked()
	if err != nil {
		return nil, nil, err
	}
	scope = nil
	for _, d := range picked {
		scope = append(scope, d.ID())
	}
	return all, scope, nil
}

// asVersion replaces the versions of Fleet that were read by the one of the options, and returns a note about that.
func (r *Reading) asVersion() []string {
	v := r.options.AsVersion
	if v == "" {
		return nil
	}
	runs := map[string]bool{}
	if c := r.Management.ControllerVersion; c != "" {
		runs["controller "+c] = true
	}
	r.Management.ControllerVersion = v
	for _, c := range r.States {
		for namespace, w := range c.Workloads {
			runs["agent "+cmp.Or(w.Version, "of an unknown version")] = true
			w.Version = v
			c.Workloads[namespace] = w
		}
	}
	actual := cmp.Or(strings.Join(slices.Sorted(maps.Keys(runs)), ", "), "an unknown version")
	return []string{fmt.Sprintf("evaluated as if Fleet %s ran. What runs is: %s. The status that Fleet reports is "+
		"from the version that runs", v, actual)}
}

// OrUnread joins errors that objects were not found. They name the first gap of a damaged source, which may have lost
// the objects.
func (a *Audit) OrUnread(missing []error) error {
	return collect.OrUnread(evaluate.Join(missing), a.Source)
}

// stateGaps returns the gaps for the release records of all clusters that could not be read. For a part of the bundle
// deployments, it returns those that one of them may need; nil means everything.
func (r *Reading) stateGaps(scope []*directory.Deployment) []source.Gap {
	var out []source.Gap
	all := len(scope) == 0 || r.options.Scope.Whole() && r.options.Files == nil
	releases, unread := map[string]bool{}, all
	for _, d := range scope {
		releases[d.Release.Release()] = true
		unread = unread || d.Problem != ""
	}
	for i, c := range r.Directory.Clusters {
		var gaps []source.Gap
		if unread && !r.options.StatusOnly {
			gaps = recordGaps(r.Directory, c)
		}
		for _, u := range c.OverBound {
			if all || releases[u.Release()] {
				gaps = append(gaps, unreadableRecord(u, u.OverBound, "its objects are not known"))
			}
		}
		for _, u := range c.Unreadable {
			if u.OverBound == "" && unread {
				gaps = append(gaps, unreadableRecord(u, u.Damaged, "what it desires in its namespace is not known"))
			}
		}
		out = append(out, r.Clusters[i].Named(gaps)...)
	}
	return out
}

func unreadableRecord(r *state.Record, detail, effect string) source.Gap {
	return source.Gap{What: "release record " + r.Namespace + "/" + r.SecretName(),
		Reason: string(directory.RecordUnreadable), Detail: detail, Effect: effect}
}

// within returns the namespaces of one of Fleet's kinds that are in scope; nil if that may be all of them.
func (r *Reading) within(kind string) []string {
	if r.options.Files != nil && kind == state.BundleDeployment {
		out := []string{}
		for _, c := range r.Directory.Clusters {
			out = append(out, c.Watched()...)
		}
		return out
	}
	return r.Management.InWorkspace(kind, r.options.Scope.Namespace)
}

// recordGaps returns one gap for all release records that could not be read, instead of one for each bundle deployment.
func recordGaps(desired *directory.Directory, c *directory.Cluster) []source.Gap {
	records := c.State.Coverage.Records
	switch {
	case evaluate.NoRecordCaptured(desired):
		return []source.Gap{{What: "release records", Reason: string(source.NotInSnapshot),
			Detail: "the snapshot has none (Secrets of type " + release.SecretType + ")",
			Effect: "no object can be evaluated; only the status that Fleet reports is shown"}}
	case len(records.Failures()) > 0 && !c.State.Captured:
		return source.CoverageGaps("listing release records (Secrets)", records,
			"the bundle deployments that need these records have no result")
	}
	return nil
}

// bundlesOfFiles returns the bundles of the directories, and adds their deployments to the Directory.
func (r *Reading) bundlesOfFiles() ([]collect.Bundle, error) {
	if _, err := r.scope(); err != nil {
		return nil, err
	}
	var out []collect.Bundle
	var deployments []*directory.Deployment
	for _, l := range r.options.Files {
		found, err := r.ofFiles(l.Name)
		if err != nil {
			return nil, err
		}
		for _, d := range found {
			b := r.bundleOfFiles(d)
			out, deployments = append(out, b), append(deployments, b.Deployment)
		}
	}
	r.Directory = r.Directory.With(deployments)
	return out, nil
}

// ofFiles returns the bundle deployments of a bundle in a directory, by its name: those that exist, at most one on a
// cluster, or one that does not exist yet if only one cluster is read.
func (r *Reading) ofFiles(name string) ([]*directory.Deployment, error) {
	var found []*directory.Deployment
	on := map[object.ClusterID]bool{}
	for _, d := range r.Directory.Deployments {
		if d.Name != name || !d.Placed {
			continue
		}
		if on[d.ClusterID] {
			return nil, fmt.Errorf("bundle %s: several bundle deployments on this cluster have that name", name)
		}
		found, on[d.ClusterID] = append(found, d), true
	}
	switch clusters := r.Directory.Clusters; {
	case len(found) > 0:
		return found, nil
	case len(clusters) == 1:
		return []*directory.Deployment{directory.NewBundle(clusters[0], name)}, nil
	}
	return nil, fmt.Errorf("bundle %s: no bundle deployment has that name, and several clusters are read", name)
}

// bundleOfFiles returns the bundle of a directory to render for the cluster of a bundle deployment.
func (r *Reading) bundleOfFiles(d *directory.Deployment) collect.Bundle {
	i := slices.IndexFunc(r.options.Files, func(l *render.Local) bool { return l.Name == d.Name })
	l := r.options.Files[i]
	controller := r.controllerVersion(d)
	keyed := controller == nil || !controller.Before(16, 0)
	p := Place(r.Directory, l, d, keyed)
	refused, gaps := l.Validate(controller, r.Directory.ImageScan)
	if refused != "" {
		p.NoTarget, p.Elsewhere = "", nil // no Bundle is made
	}
	in := l.For(p.Cluster, p.Repo, p.Applied, keyed)
	in.Others = p.Others
	in.Gaps, in.Notes = slices.Concat(in.Gaps, p.Gaps, gaps), slices.Concat(in.Notes, p.Notes)
	fromFiles := *d
	fromFiles.Files = &directory.Files{Options: &in.Options, Workspace: p.Workspace(d), Labels: l.BundleLabels(),
		DependsOn: l.DependsOn, Paused: l.Paused, Refused: refused, NoTarget: p.NoTarget, Elsewhere: p.Elsewhere}
	out := r.bundle(&fromFiles)
	out.Files = &in
	return out
}

// controllerVersion returns the version of Fleet's controller; nil if it is not known. A development build beside an
// agent of a release can be one of the branch of that release.
func (r *Reading) controllerVersion(d *directory.Deployment) *fleet.Version {
	tag := r.Directory.ControllerVersion
	_, known := fleet.ParseVersion(tag)
	_, released := fleet.ParseVersion(d.AgentVersion)
	if v, ok := fleet.ParseBuild(tag); ok && (known || !released) {
		return &v
	}
	return nil
}

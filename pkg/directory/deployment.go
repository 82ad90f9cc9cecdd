// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Deployment is one bundle on one cluster, without its desired objects.
type Deployment struct {
	// Namespace and Name are those of the BundleDeployment. On a downstream cluster, only its release is known: then
	// the name is the bundle id and the namespace is empty.
	Namespace, Name string
	// BD is nil if only the release is known.
	BD *v1alpha1.BundleDeployment
	// Files are what the files of a bundle state that was read from files; nil for a bundle of the management cluster.
	Files *Files
	// ClusterID is the cluster that it is deployed to. Placed is false if the objects of that cluster are not read.
	ClusterID object.ClusterID
	Placed    bool
	// OnOtherCluster is true if it is deployed to a cluster that is not read. Otherwise, ClusterNotRead means only that
	// the cluster could not be determined.
	OnOtherCluster bool
	// Cluster, Bundle, GitRepo and HelmOp are "namespace/name"; empty if not known.
	Cluster, Bundle, GitRepo, HelmOp string
	// Agent is the namespace of its agent; empty if no agent is known to deploy it.
	Agent string
	// AgentVersion is the image tag of the agent that deploys the BundleDeployments of its cluster; empty if it is not
	// known.
	AgentVersion string

	// Release is the revision that Fleet's agent calls desired; its zero value means that there is none.
	Release release.Name
	// KeepResources and Commit are from the release record: whether an uninstall keeps the objects, and the Git commit
	// of the release.
	KeepResources bool
	Commit        string
	// Deployed is the time of the deployment in the release record; zero if it has none.
	Deployed time.Time
	// RecordProblems are problems of the records of the release: a revision that is pending, failed or missing. The
	// desired objects may still be known.
	RecordProblems []RecordProblem
	// RecordsTrusted is true if the records in the namespace of its release are trusted for objects of all namespaces.
	RecordsTrusted bool
	// Problem is the reason why the desired objects are not known; Detail is the same as a sentence.
	Problem Problem
	Detail  string

	// Ownership is the ownership metadata that its objects should have.
	Ownership ownership.Metadata
	// ReleaseOwnership is the ownership metadata in the manifest of its release; empty if there is no record, or no
	// object in it.
	ReleaseOwnership ownership.Metadata
	// Scope is the scope of its agent, from which Ownership is computed.
	Scope AgentScope
	// Dispute says that a Cluster's spec declares another scope, and no running agent shows which of the two is right;
	// empty if that is not so.
	Dispute string

	implied implied
}

// implied is what its cluster implies of a bundle deployment that does not state it: of a bundle that has no
// BundleDeployment yet, and of a release on a downstream cluster, which has no BundleDeployments.
type implied struct{ namespace, agent, cluster string }

// Files are what the files of a bundle state for one cluster, before it is rendered.
type Files struct {
	Options *v1alpha1.Options
	// Workspace is the namespace of its Bundle; empty if it is not known. Labels are those of the Bundle.
	Workspace string
	Labels    map[string]string
	DependsOn []v1alpha1.BundleRef
	// Paused is true if they pause the bundle.
	Paused bool
	// Refused is why fleet apply refuses the directory, in its words. NoTarget is why Fleet does not deploy the bundle
	// to the cluster. They are empty if it does, or if that is not known.
	Refused, NoTarget string
	// Elsewhere are the clusters ("namespace/name") that the bundle targets if there is a NoTarget.
	Elsewhere []string
}

// Problem is the reason why the desired objects of a bundle deployment are not known. The values are reasons of the
// state Unknown in the report.
type Problem string

// The problems; the zero value is none.
const (
	ClusterNotRead    Problem = "ClusterNotRead"   // the objects of its cluster are not read
	NoReleaseRecord   Problem = "NoReleaseRecord"  // nothing is installed, or the named revision is gone
	RecordUnreadable  Problem = "RecordUnreadable" // the record or its manifest is damaged
	RecordNotCaptured Problem = "NotInSnapshot"    // the snapshot does not have it
	RecordsForbidden  Problem = "Forbidden"        // reading the Secrets of the records is not allowed
	RecordsFailed     Problem = "ReadFailed"       // reading them failed
)

// RecordProblem is one problem of the records of a release.
type RecordProblem struct {
	Record release.Name
	Status string // Helm's, or "pruned", "damaged"
	Detail string
	// Reported is the error of Helm in the record, which may have values of Secrets.
	Reported string
	// Since is when Helm began with this revision; zero if it is not known.
	Since time.Time
	// Hooks are the hooks whose end Helm awaits while the revision is pending.
	Hooks []release.Hook
	// Predecessor is true if the revision before this one is recorded.
	Predecessor bool
}

// SameButStatus reports whether all is as in another Directory, except the BundleDeployment's status and metadata.
func (d *Deployment) SameButStatus(o *Deployment) bool {
	x, y := *d, *o
	x.BD, y.BD = nil, nil
	if d.BD == nil || o.BD == nil {
		return d.BD == o.BD && reflect.DeepEqual(x, y)
	}
	return reflect.DeepEqual(x, y) && (d.BD == o.BD || reflect.DeepEqual(d.BD.Spec, o.BD.Spec))
}

// ID identifies the bundle deployment.
func (d *Deployment) ID() object.DeploymentID {
	id := object.DeploymentID{Cluster: d.ClusterID, Namespace: d.Namespace, Name: d.Name}
	if d.BD == nil && d.Release.Revision > 0 {
		id.Release = d.Release.Release()
	}
	return id
}

// IsOn reports whether it is deployed to a cluster.
func (d *Deployment) IsOn(id object.ClusterID) bool { return d.Placed && d.ClusterID == id }

// Key is "namespace/name" of the BundleDeployment, or the bundle id if only the release is known.
func (d *Deployment) Key() string {
	if d.Namespace == "" {
		return d.Name
	}
	return d.Namespace + "/" + d.Name
}

// DeploymentNamespace is the namespace of its BundleDeployment, or that of the BundleDeployments of its cluster; empty
// if it is not known.
func (d *Deployment) DeploymentNamespace() string { return cmp.Or(d.Namespace, d.implied.namespace) }

// AgentNamespace is the namespace of the agent that deploys it, also before there is a BundleDeployment; empty if it is
// not known.
func (d *Deployment) AgentNamespace() string { return cmp.Or(d.Agent, d.implied.agent) }

// ClusterKey is the key of its Cluster, also before there is a BundleDeployment; empty if it is not known.
func (d *Deployment) ClusterKey() string { return cmp.Or(d.Cluster, d.implied.cluster) }

// DependsOn are the dependencies of its bundle.
func (d *Deployment) DependsOn() []v1alpha1.BundleRef {
	switch {
	case d.Files != nil:
		return d.Files.DependsOn
	case d.BD != nil:
		return d.BD.Spec.DependsOn
	}
	return nil
}

// BundleLabels are the labels of its bundle that its BundleDeployment has, or will have.
func (d *Deployment) BundleLabels() map[string]string {
	switch {
	case d.BD != nil:
		return d.BD.Labels
	case d.Files == nil: // only its release is known
		return nil
	}
	out := maps.Clone(d.Files.Labels)
	if out == nil {
		out = map[string]string{}
	}
	out[fleet.BundleLabel], out[fleet.BundleNamespaceLabel] = d.Name, d.Files.Workspace
	return out
}

// Workspace is the namespace of its bundle or, if only a release is known, the namespace of the release.
func (d *Deployment) Workspace() string {
	switch {
	case d.BD != nil:
		return d.BD.Labels[fleet.BundleNamespaceLabel]
	case d.Files != nil:
		return d.Files.Workspace
	}
	return d.Release.Namespace
}

// Named reports whether a name is that of the bundle deployment: its name alone, or after its namespace or its
// workspace.
func (d *Deployment) Named(name string) bool {
	return name == d.Name || name == d.Key() || name == d.Workspace()+"/"+d.Name
}

// Parents are the objects of Fleet that the bundle deployment is part of: "namespace/name" by kind, without unknown
// ones.
func (d *Deployment) Parents() map[string]string {
	out := map[string]string{
		state.Bundle: d.Bundle, state.GitRepo: d.GitRepo, state.HelmOp: d.HelmOp, state.ClusterKind: d.Cluster,
	}
	maps.DeleteFunc(out, func(_, key string) bool { return key == "" })
	return out
}

// Options are the options of the deployment. They are empty if only the release is known.
func (d *Deployment) Options() *v1alpha1.Options {
	switch {
	case d.Files != nil:
		return d.Files.Options
	case d.BD != nil:
		return &d.BD.Spec.Options
	}
	return &v1alpha1.Options{}
}

// ComparePatches are the rules of the bundle that exclude differences.
func (d *Deployment) ComparePatches() []v1alpha1.ComparePatch {
	if diff := d.Options().Diff; diff != nil {
		return diff.ComparePatches
	}
	return nil
}

// FromFiles reports whether the bundle was read from files.
func (d *Deployment) FromFiles() bool { return d.Files != nil }

// ValuesSecrets returns the Secrets on its cluster that its valuesFrom names, with their namespaces.
func (d *Deployment) ValuesSecrets() []v1alpha1.ValuesKey {
	o := d.Options()
	if o.Helm == nil {
		return nil
	}
	var out []v1alpha1.ValuesKey
	for _, from := range o.Helm.ValuesFrom {
		if ref := from.SecretKeyRef; ref != nil {
			namespace := cmp.Or(ref.Namespace, o.ReleaseNamespace())
			out = append(out, v1alpha1.ValuesKey{Name: ref.Name, Namespace: namespace, Key: ref.Key})
		}
	}
	return out
}

// Ref is the object that represents the bundle deployment in findings: its BundleDeployment, or the Secret with its
// release record, or, for a bundle that exists only in files, the Bundle that Fleet would create.
func (d *Deployment) Ref() object.Ref {
	ref := object.Ref{APIVersion: v1alpha1.GroupVersion.String(), Kind: state.BundleDeployment, Namespace: d.Namespace,
		Name: d.Name}
	switch {
	case d.BD != nil:
		return ref
	case d.Release.Revision > 0:
		return SecretRef(d.Release)
	}
	ref.Kind = state.Bundle
	return ref
}

// SecretRef identifies the Secret of a release record.
func SecretRef(n release.Name) object.Ref {
	return object.Ref{APIVersion: "v1", Kind: "Secret", Namespace: n.Namespace, Name: n.SecretName()}
}

// Evidence returns what confirms the record of its release, before any live object is seen. A BundleDeployment or files
// confirm the record of the release that they name. A BundleDeployment confirms nothing if it is in a namespace that
// Fleet did not make for a Cluster: who writes records there can write it too.
func (d *Deployment) Evidence() ownership.Evidence {
	if !d.knownByRelease() {
		return ownership.Evidence{Trusted: true}
	}
	return ownership.Evidence{Namespace: d.Release.Namespace, Release: d.Release.Release(),
		Trusted: d.RecordsTrusted}
}

// knownByRelease reports whether only the record of its release shows that it exists, or what its writer can write too.
func (d *Deployment) knownByRelease() bool {
	stated := d.Files != nil || d.BD != nil && fleet.IsClusterNamespace(d.BD.Namespace)
	return !stated && d.Placed && d.Release.Revision > 0
}

// AsOwner converts the bundle deployment for package ownership.
func (d *Deployment) AsOwner() ownership.Bundle {
	b := ownership.Bundle{Deployment: d.Key(), Bundle: d.Bundle, Desired: d.Ownership}
	if d.Release.Name != "" {
		b.Release = d.Release.Release()
	}
	return b
}

// Compare orders bundle deployments by namespace, name and release.
func (d *Deployment) Compare(o *Deployment) int {
	return cmp.Or(cmp.Compare(d.Namespace, o.Namespace), cmp.Compare(d.Name, o.Name),
		cmp.Compare(d.Release.Release(), o.Release.Release()))
}

// RecordsProblem returns the reason why release records of a namespace may be missing ("" for any namespace), as a
// reason and as a sentence. Both are empty if all were read.
func RecordsProblem(c *state.Cluster, namespace string) (Problem, string) {
	f, ok := c.Coverage.Records.Of(namespace)
	if ok {
		return "", ""
	}
	switch f.Reason {
	case source.Forbidden:
		return RecordsForbidden, "its release record may not be read (Secrets)"
	case source.NotInSnapshot, source.KindNotServed:
		return RecordNotCaptured, "its release record is not in the snapshot"
	}
	return RecordsFailed, fmt.Sprintf("reading its release record failed (%s)", f.Detail)
}

// addRecordProblems adds the problems of the named revision and of newer ones. latest are the newest records of all
// releases.
func (d *Deployment) addRecordProblems(history []*state.Record, latest map[string]*state.Record) {
	for _, rec := range history {
		if rec.Revision < d.Release.Revision {
			continue
		}
		if rec.Damaged != "" {
			// The other problems are reported together with their effect.
			if rec.Name != d.Release && rec.OverBound == "" {
				detail := fmt.Sprintf("revision %d: %s", rec.Revision, rec.Damaged)
				d.RecordProblems = append(d.RecordProblems, RecordProblem{Record: rec.Name, Status: "damaged",
					Detail: detail})
			}
			continue
		}
		what := notDeployed(rec)
		if what == "" {
			continue
		}
		isBefore := func(r *state.Record) bool { return r.Revision == rec.Revision-1 }
		d.RecordProblems = append(d.RecordProblems, RecordProblem{Record: rec.Name, Status: rec.Status,
			Detail:   fmt.Sprintf("revision %d is %s: %s", rec.Revision, rec.Status, what),
			Reported: rec.Description, Since: rec.Deployed, Predecessor: slices.ContainsFunc(history, isBefore),
			Hooks: running(rec)})
	}
	if last := latest[d.Release.Release()]; d.ByHand(last) {
		d.RecordProblems = append(d.RecordProblems, RecordProblem{Record: last.Name, Status: last.Status,
			Detail: fmt.Sprintf("revision %d is not one of Fleet: somebody deployed another chart with Helm",
				last.Revision), Since: last.Deployed})
	}
}

// running returns the hooks whose end Helm awaits while a revision is pending; none of any other.
func running(rec *state.Record) []release.Hook {
	var out []release.Hook
	for _, h := range rec.Hooks {
		if h.Events.During(rec.Status) && slices.Contains([]string{"Job", "Pod"}, h.Kind) {
			out = append(out, h)
		}
	}
	return out
}

// ByHand reports whether a revision after the one that Fleet's agent deployed last is not one of its own: it has no
// annotation of Fleet. A revision that is damaged is not known.
func (d *Deployment) ByHand(rec *state.Record) bool {
	if rec == nil || d.BD == nil || d.Release.Revision == 0 {
		return false
	}
	return rec.Revision > d.Release.Revision && rec.BundleID == "" && rec.Damaged == ""
}

// notDeployed says what is wrong with a revision according to its status; empty if nothing is.
func notDeployed(rec *state.Record) string {
	switch {
	case rec.Pending():
		return "Helm was interrupted, or is still at work"
	case rec.Status == release.StatusFailed:
		return "Helm failed"
	case rec.Status != release.StatusDeployed && rec.Status != release.StatusSuperseded:
		return "it is not a deployed release"
	}
	return ""
}

// SPDX-License-Identifier: Apache-2.0

// Package evaluate compares the desired state with live objects. The result is a state for each desired object, counts
// for each bundle deployment, and totals for the objects above. The package is a pure function: it receives the live
// objects one by one and does not keep them.
package evaluate

import (
	"slices"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// State is the state of an object or of a bundle deployment.
type State string

// The states. An object has the first state that applies, in the order Unknown, Missing, Unowned, Modified, NotReady,
// Ready. A bundle deployment may also be OutOfSync, WaitApplied or ErrApplied.
const (
	Unknown     State = "Unknown"
	Missing     State = "Missing"
	Unowned     State = "Unowned"
	Modified    State = "Modified"
	NotReady    State = "NotReady"
	Ready       State = "Ready"
	OutOfSync   State = "OutOfSync"
	WaitApplied State = "WaitApplied"
	ErrApplied  State = "ErrApplied"
)

// ScopeUnproven is the reason of the state Unknown for an object that has the set of its bundle with another scope than
// its release, if no running agent shows which of the two scopes is in use.
const ScopeUnproven = "ScopeUnproven"

// Counts count the objects of a bundle by their actual state:
// Desired = Ready + Missing + Unowned + Modified + NotReady + Unknown. Orphaned objects are not included in Desired.
type Counts struct {
	Desired  int `json:"desired"`
	Ready    int `json:"ready"`
	Missing  int `json:"missing"`
	Unowned  int `json:"unowned"`
	Modified int `json:"modified"`
	NotReady int `json:"notReady"`
	Orphaned int `json:"orphaned"`
	Unknown  int `json:"unknown"`
}

// Plus returns the field-wise sum.
func (c Counts) Plus(o Counts) Counts {
	return Counts{
		Desired: c.Desired + o.Desired, Ready: c.Ready + o.Ready, Missing: c.Missing + o.Missing, Unowned: c.Unowned +
			o.Unowned,
		Modified: c.Modified + o.Modified, NotReady: c.NotReady + o.NotReady, Orphaned: c.Orphaned + o.Orphaned,
		Unknown: c.Unknown + o.Unknown,
	}
}

func (c *Counts) add(s State) {
	c.Desired++
	switch s {
	case Missing:
		c.Missing++
	case Unowned:
		c.Unowned++
	case Modified:
		c.Modified++
	case NotReady:
		c.NotReady++
	case Ready:
		c.Ready++
	default:
		c.Unknown++
	}
}

// Object is the observation of one cell: a desired object of a bundle deployment, with its state.
type Object struct {
	object.Ref
	// Deployment is the bundle deployment that desires it.
	Deployment object.DeploymentID
	// Namespaced reports whether the kind has namespaces. Document and Alone are those of the release.Object.
	Namespaced bool
	Document   int
	Alone      bool
	State      State
	// Reason is the reason of the states Unowned and Unknown, a word; Message is a sentence.
	Reason, Message string
	// Metadata is the ownership metadata of the live object, where there is one.
	Metadata ownership.Metadata
	// IDMismatch is true if an owned object has another set id than its bundle. Fleet ignores that.
	IDMismatch bool
	// Owner is the present owner, if it is not the bundle.
	Owner       *Owner
	Differences []Difference
	// LastApplied is true if the object is as desired, but its last-applied annotation and the object have fields that
	// the bundle does not have: Fleet reports these as modified. Scaled is true if an autoscaler explains its number of
	// replicas.
	LastApplied, Scaled bool
	// Autoscaled is true if the number of replicas differs, and an autoscaler scales the object, or may do so.
	Autoscaled bool
	// NotReady is true if the object is not ready, also if its state is another one. Condition is the condition that is
	// not met.
	NotReady  bool
	Condition string
	// Ignorable are the pairs of an entry of ignore.conditions with which the custom resource would be ready; nil if
	// something else than one condition decides.
	Ignorable map[string]string
	// UID is the uid of an object that is not ready, and Stuck is why a pod of it does not run; nil if that was not
	// read.
	UID   string
	Stuck *state.Stuck
	// Deletion is what keeps an object from being deleted that is being deleted; see the function.
	Deletion string
	// LookAgain is the time at which the observation can change although the live object does not change; zero if there
	// is none.
	LookAgain time.Time
	// TTLAfterFinished is, for a missing Job, the spec.ttlSecondsAfterFinished of its manifest; nil if the manifest
	// does not set it.
	TTLAfterFinished *int64
	// Dependent is, for a missing object, "kind name" of the owner that its manifest states; empty if it states none.
	Dependent string
	// index is that of the desired object.
	index int
	// addedByOthers are the paths of the differences that another manager than Fleet's agent wrote last.
	addedByOthers map[string]bool
	// Live has the data that adopting the object needs; nil unless Options.Predict is set and there is a live object.
	Live *Live
	// Trial is what the server says about the next deploy, if Options.Predict is set.
	Trial Trial
}

// newObject returns the observation of a desired object without a state.
func newObject(o *desired.Object) Object {
	return Object{Ref: o.Ref, Deployment: o.Deployment, Namespaced: o.Namespaced, Document: o.Document,
		Alone: o.Alone, index: o.Index}
}

// KindNotServed is the reason of an object, and of a gap, of a kind that the cluster does not serve.
const KindNotServed = string(source.KindNotServed)

// NotServed reports whether the cluster does not serve the kind of the object.
func (o *Object) NotServed() bool { return o.Reason == KindNotServed }

// Cell identifies the cell.
func (o *Object) Cell() object.CellID {
	return object.CellID{Deployment: o.Deployment, Object: o.Key()}
}

// Owner is the present owner of an object, if it is not the bundle.
type Owner struct {
	SetID   string `json:"setID,omitempty" text:"name"`
	Hash    string `json:"hash,omitempty" text:"keep"`
	Release string `json:"release,omitempty" text:"name"` // "namespace/name"
	// BundleDeployment is "namespace/name" of the one on this cluster that the ownership metadata names; empty if no
	// bundle here has that set.
	BundleDeployment string `json:"bundleDeployment,omitempty" text:"name"`
}

// Live has the properties of a live object, except its ownership metadata.
type Live struct {
	UID, ResourceVersion string
	Deleting             bool
	// Controller is "Kind name" of the object that controls it.
	Controller string
	// Keep is true if Helm leaves it in place when its release is uninstalled.
	Keep bool
	// LastApplied are, for an unowned object, the paths of the fields that its last-applied annotation and the object
	// have, and the bundle does not have: Fleet reports them as modified.
	LastApplied []string
	// Excused are, for an unowned object, the paths of the fields that differ and that only the comparePatches of the
	// bundle ignore: Fleet does not report them, and the next deploy overwrites them.
	Excused []string
	// Fixed are the paths of the fields that differ and that an API server does not change in an object that exists.
	Fixed []string
	// Restored is when Fleet's agent, or this program, wrote an object that differs; zero if that is not recorded.
	Restored time.Time
	// Compared is true if the object was compared with all of its manifest, for an unowned object. Without that, no
	// difference proves nothing.
	Compared bool
}

// Difference is one field that differs. Manager, operation and time are set if the object's managedFields record them.
type Difference struct {
	Path string `json:"path" text:"path"`
	// Steps are the steps of the path, for layouts. A report that was read from a file has none. Pointer does not
	// follow from them: it has positions in the live list, and is checked with the other rules of the bundle.
	Steps   []Step `json:"-" text:"redact"`
	Desired Value  `json:"desired,omitzero" text:"redact"` // absent if the bundle does not state the field
	Live    Value  `json:"live,omitzero" text:"redact"`    // absent if the live object does not have the field
	// the value in the release record, if the bundle was rendered and states another one
	Release Value `json:"release,omitzero" text:"redact"`
	// Changed is true if the bundle was rendered, and the release record states something else in this field; Unchanged
	// if the record states the same. Both are false if the record does not have the object.
	Changed, Unchanged bool   `json:"-"`
	Manager            string `json:"manager,omitempty" text:"redact"`
	Operation          string `json:"operation,omitempty" text:"keep"`
	Subresource        string `json:"subresource,omitempty" text:"keep"`
	Time               string `json:"time,omitempty" text:"word"`
	// Owners are all managers that own the field, if there are several. Manager is the last of them.
	Owners []string `json:"owners,omitempty" text:"redact"`
	// AtAdmission is true if no manager is recorded for this value, although managers are recorded for others: an
	// admission webhook or the API server set it.
	AtAdmission bool `json:"atAdmission,omitempty"`
	// Pointer is the JSON pointer with which diff.comparePatches ignores exactly this field on this cluster. It is
	// absent if none does.
	Pointer string `json:"pointer,omitempty" text:"pointer"`
	// Note qualifies the difference: a different order, or the result of the server's dry run.
	Note string `json:"note,omitempty" text:"redact"`
}

// Who describes the writer of the live value and the time, if they are recorded.
func (d Difference) Who() string {
	switch {
	case d.AtAdmission:
		return "set at admission, or by the API server itself: no field manager wrote it"
	case d.Manager == "":
		return "who changed it is not recorded"
	}
	s := "last written by " + d.Manager
	if d.Subresource != "" {
		s += " through " + d.Subresource
	}
	if d.Operation != "" {
		s += " (" + d.Operation + ")"
	}
	if d.Time != "" {
		s += " at " + d.Time
	}
	return s
}

// Writers are the managers that own the field, if they are recorded.
func (d Difference) Writers() []string {
	if d.Manager != "" && len(d.Owners) == 0 {
		return []string{d.Manager}
	}
	return d.Owners
}

// ByAgent reports whether the live value is the last that Fleet's agent wrote.
func (d Difference) ByAgent() bool { return slices.Contains(d.Writers(), fleet.AgentManager) }

// ShowsValue reports whether a side of the difference is a value that is not masked.
func (d Difference) ShowsValue() bool {
	return slices.ContainsFunc([]Value{d.Desired, d.Live, d.Release}, func(v Value) bool {
		return !v.IsZero() && !v.Secret()
	})
}

// Undesired is a live object that has a hash and that no release desires.
type Undesired struct {
	object.Ref
	// Cluster is the cluster that it is on.
	Cluster  object.ClusterID
	Metadata ownership.Metadata
	// NoPrune is true if a label excludes the object from the orphaned objects of Fleet; Controlled is true if another
	// object controls it.
	NoPrune, Controlled bool
	Controller          string // "kind name" of the controlling object
}

// BundleDeployment is one bundle on one cluster with the state of its objects.
type BundleDeployment struct {
	*desired.BundleDeployment
	Objects []Object
	// Orphans are left over from earlier revisions.
	Orphans []Undesired
	Counts  Counts
	State   State
	// ServerSide is true if Helm applies its next deploy server-side.
	ServerSide bool
	// Evidence confirms the record of its release.
	Evidence ownership.Evidence
	// Terminating is what keeps the Namespace from being deleted for which its deploy waits; empty if that was not
	// read.
	Terminating string

	inOrder []*Object
}

// InOrder returns the objects, sorted once. It is not safe for concurrent use.
func (d *BundleDeployment) InOrder() []*Object {
	if len(d.inOrder) == len(d.Objects) {
		return d.inOrder
	}
	d.inOrder = make([]*Object, len(d.Objects)) // moving the objects would take longer than comparing them
	for i := range d.Objects {
		d.inOrder[i] = &d.Objects[i]
	}
	slices.SortFunc(d.inOrder, func(x, y *Object) int { return x.Compare(y.Ref) })
	return d.inOrder
}

// mayContradict reports whether live objects may contradict the release of a bundle deployment: no running agent shows
// its scope.
func mayContradict(d *desired.BundleDeployment) bool {
	return d.Scope.Evidence == directory.EvidenceReleases && d.ReleaseOwnership.Hash != "" && d.Dispute == ""
}

// contradict makes an object Unknown that has a set of its bundle with another scope.
func (o *Object) contradict(d *desired.BundleDeployment) {
	o.State, o.Reason, o.Owner, o.Differences = Unknown, ScopeUnproven, nil, nil
	o.Message = "it has set " + o.Metadata.SetID + ", and its release states set " + d.ReleaseOwnership.SetID +
		": no running agent shows which one it uses"
}

// otherScope reports whether an object has the set of its own bundle, made with another scope.
func otherScope(d *desired.BundleDeployment, o *Object) bool {
	_, ok := fleet.ScopeOfSet(o.Metadata.SetID, d.Name)
	return ok && o.Metadata.SetID != d.Ownership.SetID && o.Metadata.Hash == fleet.Hash(o.Metadata.SetID)
}

// IsOrphan reports whether an object that has the set of a bundle deployment was in an earlier revision. Fleet compares
// only with the previous revision, by kind and name. Where that revision is no longer recorded, Helm's own annotations
// prove that the object came with the release: a controller's child copies labels, it does not have the annotations of
// the release without an owner.
func IsOrphan(d *desired.BundleDeployment, u Undesired) bool {
	k := desired.KindName{Kind: u.Kind, Name: u.Name}
	if u.NoPrune || d.Problem != "" || d.Hooks[k] {
		return false
	}
	if d.Earlier[k] || d.EarlierKnown || u.Controlled {
		return d.Earlier[k]
	}
	return u.Metadata.ReleaseName != "" && u.Metadata.Release() == d.Release.Release()
}

// stateOf returns the actual state of a bundle deployment. It uses Fleet's order of precedence (docs/fleet-behavior.md,
// 4.3).
func stateOf(d *BundleDeployment) State {
	if d.BD != nil && d.BD.Spec.DeploymentID != d.BD.Status.AppliedDeploymentID &&
		d.Problem != directory.ClusterNotRead {
		if v1alpha1.ConditionOf(d.BD.Status.Conditions, "Deployed").Status == "False" {
			return ErrApplied
		}
		return WaitApplied
	}
	if d.Problem != "" {
		return Unknown
	}
	if slices.ContainsFunc(d.Objects, func(o Object) bool { return o.NotReady }) {
		return NotReady
	}
	c := d.Counts
	switch {
	case d.BD != nil && d.BD.Spec.DeploymentID != d.BD.Spec.StagedDeploymentID:
		return OutOfSync
	case c.Missing+c.Unowned+c.Modified+c.Orphaned > 0:
		return Modified
	case c.Unknown > 0:
		return Unknown
	}
	return Ready
}

// applyServerSide is the apply method in the record of a release that Helm applies server-side.
const applyServerSide = "ssa"

// helm4 is the first minor version of Fleet with Helm 4, which installs server-side.
const helm4 = 15

// serverSide reports whether Helm applies the next deploy server-side. Then a field that another manager owns is a
// conflict. An upgrade uses the method of the last deploy. An installation is server-side with Helm 4. Neither is
// server-side if an option makes Helm force or take over (docs/fleet-behavior.md, 1.6 and 1.7). If not all records
// could be read, it returns false.
func serverSide(d *desired.BundleDeployment, cluster *state.Cluster) bool {
	options := d.Options()
	if forces(options) {
		return false
	}
	_, recordsRead := cluster.Coverage.Records.Of(d.Ownership.ReleaseNamespace)
	switch last := cluster.Latest[d.Ownership.Release()]; {
	case last != nil:
		return last.ApplyMethod == applyServerSide && last.Status != release.StatusUninstalling
	case !recordsRead, options.Helm != nil && options.Helm.TakeOwnership:
		return false
	}
	agent, known := fleet.ParseVersion(d.AgentVersion)
	return !known || !agent.Before(helm4, 0)
}

// forces reports whether an option makes Helm force a deploy.
func forces(o *v1alpha1.Options) bool {
	if o.Helm != nil && o.Helm.Force {
		return true
	}
	return o.CorrectDrift != nil && o.CorrectDrift.Force
}

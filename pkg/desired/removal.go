// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Removal is a Helm release that the garbage collection of an agent uninstalls (docs/fleet-behavior.md, 1.6 and 1.9).
type Removal struct {
	// ClusterID is the cluster of the release.
	ClusterID object.ClusterID
	// Record is the newest record of the release, which decides, without its objects.
	Record *state.Record
	// Watched is the namespace of the BundleDeployments of the agent.
	Watched string
	// Expects is the BundleDeployment of the release, which expects another one; nil if it does not exist. Expected is
	// the release that it expects: "namespace/name".
	Expects  *v1alpha1.BundleDeployment
	Expected string
	// Converted is true if the BundleDeployment expects this release, but an agent of this version compares with the
	// name that is not converted.
	Converted bool
	// Cycle is the number of the agent's cycle, from 1, that removes the release at the earliest.
	Cycle int
	// BlockedBy is a release ("namespace/name") whose record the agent cannot remove: each of its cycles ends there. It
	// is empty without one.
	BlockedBy string
	// Losses are empty if the objects are not known.
	Losses
	// CustomResources are the number of objects of the CustomKinds that could be counted, by the name of the
	// definition.
	CustomResources map[string]int
}

// helm4List is the first minor version of Fleet whose garbage collection sees releases in every state. Before, it sees
// those that are deployed or failed (docs/fleet-behavior.md, 1.9).
const helm4List = 15

// Removals finds the releases that garbage collection uninstalls. A release counts only if all data that decides was
// read. It does not know yet which objects other releases desire too. clusters are the states from which the Directory
// was made.
func Removals(d *directory.Directory, clusters []*state.Cluster) []*Removal {
	var out []*Removal
	for i, c := range d.Clusters {
		collector := collector{Directory: d, cluster: c, state: clusters[i],
			known: map[object.DeploymentID]*directory.Deployment{}}
		out = append(out, collector.removals()...)
	}
	return out
}

// collector predicts the garbage collection on one cluster.
type collector struct {
	*directory.Directory
	cluster *directory.Cluster
	state   *state.Cluster
	// known are the deployments with a BundleDeployment, without their cluster.
	known map[object.DeploymentID]*directory.Deployment
}

func (c *collector) removals() []*Removal {
	collecting := map[string]bool{}
	for _, d := range c.Deployments {
		if d.BD != nil {
			c.known[object.DeploymentID{Namespace: d.Namespace, Name: d.Name}] = d
			collecting[d.Namespace] = collecting[d.Namespace] || !d.BD.Spec.Paused && !d.BD.Spec.OffSchedule
		}
	}
	agents := map[string][]*state.Record{}
	for _, history := range c.state.Histories() {
		rec := c.collected(history)
		if rec != nil && collecting[c.watched(rec)] {
			agents[rec.AgentNamespace] = append(agents[rec.AgentNamespace], rec)
		}
	}
	var out []*Removal
	for _, agent := range slices.Sorted(maps.Keys(agents)) {
		records := agents[agent]
		slices.SortFunc(records, byName)
		out = append(out, c.cycles(records)...)
	}
	return out
}

// byName is the order in which an agent goes through releases.
func byName(x, y *state.Record) int {
	return cmp.Or(cmp.Compare(x.Name.Name, y.Name.Name), cmp.Compare(x.Namespace, y.Namespace))
}

// watched is the namespace of the BundleDeployments of the agent that made a record; empty if it is not known.
func (c *collector) watched(rec *state.Record) string {
	watched, _ := c.cluster.Watches(rec.AgentNamespace)
	return watched
}

// cycles goes through the releases of one agent in the order of its garbage collection.
func (c *collector) cycles(records []*state.Record) []*Removal {
	var out []*Removal
	cycle, blockedBy := 1, ""
	for _, rec := range records {
		x := c.removal(rec, c.known[object.DeploymentID{Namespace: c.watched(rec), Name: rec.BundleID}])
		if x == nil {
			continue
		}
		x.Cycle, x.BlockedBy = cycle, blockedBy
		if x.Expects == nil { // the cycle ends after it
			cycle++
		}
		if !rec.KeepResources && !fleet.IsAgentBundle(rec.BundleID) {
			x.Losses = losses(c.cluster, rec)
			out = append(out, x)
			continue
		}
		// Only records are removed, and only those with the name of the bundle id.
		if x.Expects == nil && rec.Name.Name != rec.BundleID && blockedBy == "" {
			blockedBy = rec.Release()
		}
	}
	return out
}

// collected returns the record of a release that an agent's garbage collection sees; nil if it sees none, or if that is
// not known.
func (c *collector) collected(history []*state.Record) *state.Record {
	rec := history[len(history)-1]
	if rec.Damaged != "" || rec.OverBound != "" { // Helm may decode a record that this program does not
		return nil
	}
	if rec.BundleID == "" || rec.AgentNamespace == "" || !c.decided(rec) {
		return nil
	}
	switch rec.Status {
	case release.StatusDeployed, release.StatusFailed:
		return rec
	case release.StatusUninstalling, release.StatusSuperseded:
	default:
		if !rec.Pending() {
			return nil
		}
	}
	agent, parsed := fleet.ParseVersion(c.state.Workloads[rec.AgentNamespace].Version)
	if parsed && !agent.Before(helm4List, 0) {
		return rec
	}
	return nil
}

// decided reports whether everything was read that decides about a release: its newest record, the BundleDeployments
// of its agent, and whether the agent is installed.
func (c *collector) decided(rec *state.Record) bool {
	if last := c.state.Latest[rec.Release()]; last == nil || last.Revision != rec.Revision {
		return false
	}
	if _, all := c.state.Coverage.Records.Of(rec.Namespace); !all {
		return false
	}
	watched, known := c.cluster.Watches(rec.AgentNamespace)
	return known && c.Read(state.BundleDeployment, watched) && c.agentSeen(rec.AgentNamespace)
}

// agentSeen reports whether an agent is installed in a namespace: its workload exists, or it has reported to its
// Cluster. The Secret of an agent alone may be left over.
func (c *collector) agentSeen(namespace string) bool {
	if _, workload := c.state.Workloads[namespace]; workload {
		return true
	}
	watched, _ := c.cluster.Watches(namespace)
	return slices.ContainsFunc(c.Fleet.Clusters, func(o *v1alpha1.Cluster) bool {
		return watched != "" && o.Status.Namespace == watched && o.Status.Agent.Namespace == namespace
	})
}

// removal returns the removal of the release of a record; nil if it is not removed, or if that is not known. d is its
// bundle deployment, nil if the BundleDeployment does not exist.
func (c *collector) removal(rec *state.Record, d *directory.Deployment) *Removal {
	x := &Removal{ClusterID: c.cluster.ID, Record: rec.Identity(), Watched: c.watched(rec)}
	if d == nil {
		return x
	}
	if reflect.DeepEqual(d.BD.Spec.Options, v1alpha1.Options{}) {
		return nil // Fleet rarely writes empty options, so a capture may have left them out
	}
	x.Expects, x.Expected = d.BD, ExpectedRelease(d.BD, true)
	if unconverted := ExpectedRelease(d.BD, false); unconverted != x.Expected {
		agent, known := fleet.ParseVersion(c.state.Workloads[rec.AgentNamespace].Version)
		switch {
		case !known && (rec.Release() == x.Expected || rec.Release() == unconverted):
			return nil
		case known && agent.CollectsByBundleName():
			x.Converted = rec.Release() == x.Expected
			x.Expected = unconverted
		}
	}
	if rec.Release() == x.Expected || !x.Converted && appliedAs(d, rec) {
		return nil
	}
	return x
}

// appliedAs reports whether the agent states that it deployed the present options as this release. If the options then
// seem to name another release, a capture has left them out.
func appliedAs(d *directory.Deployment, rec *state.Record) bool {
	named, err := release.ParseName(d.BD.Status.Release)
	return err == nil && named.Release() == rec.Release() && d.BD.Spec.DeploymentID == d.BD.Status.AppliedDeploymentID
}

// ExpectedRelease returns the release ("namespace/name") that the garbage collection of an agent expects of a
// BundleDeployment. Agents before 0.15.6, and of 0.16.0, do not convert its name to a valid name for Helm
// (docs/fleet-behavior.md, 1.6).
func ExpectedRelease(bd *v1alpha1.BundleDeployment, converted bool) string {
	o := &bd.Spec.Options
	name := bd.Name
	switch {
	case o.Helm != nil && o.Helm.ReleaseName != "":
		name = o.Helm.ReleaseName
	case converted:
		name = fleet.HelmReleaseName(name)
	}
	return o.ReleaseNamespace() + "/" + name
}

// Losses are what the uninstall of a release deletes and keeps (docs/fleet-behavior.md, 1.11).
type Losses struct {
	// Deletes are the objects of the manifest that Helm deletes by their names, in the order of the manifest.
	Deletes []object.Ref
	// Kept are those that Helm leaves.
	Kept []KeptObject
	// CustomKinds are the kinds that the deleted CustomResourceDefinitions define, by the name of the definition.
	CustomKinds map[string]schema.GroupKind
	// StatefulSets are the deleted StatefulSets with volumeClaimTemplates.
	StatefulSets []StatefulSet
	// Shared are those of the deleted objects that other releases still desire.
	Shared []*Object
}

// KeptObject is an object that Helm leaves.
type KeptObject struct {
	object.Ref
	Reason KeepReason
}

// KeepReason is the reason why an object stays.
type KeepReason string

// The reasons.
const (
	KeptByPolicy KeepReason = "ResourcePolicy" // helm.sh/resource-policy is in the manifest
	KeptAsHook   KeepReason = "Hook"           // helm.sh/hook is in the manifest
	KeptByOption KeepReason = "KeepResources"  // nothing of the release is deleted
)

// StatefulSet is a StatefulSet with the names of its volumeClaimTemplates.
type StatefulSet struct {
	Namespace, Name string
	Templates       []string
	// DeletesClaims is true if the claims are deleted with it.
	DeletesClaims bool
}

// CRDKind is the kind of CustomResourceDefinitions.
const CRDKind = "CustomResourceDefinition"

// losses finds what the uninstall of the release of a record deletes. Helm deletes by name: it also deletes an object
// that another release has taken over.
func losses(c *directory.Cluster, rec *state.Record) Losses {
	deleted := map[object.Key]bool{}
	for _, o := range rec.Objects { // one of several objects with the same name is enough
		if one := newObject(o, rec.Namespace, c.State.Namespaced); keepReason(one) == "" {
			deleted[one.Key()] = true
		}
	}
	var out Losses
	for _, o := range objectsOf(c, rec) {
		if reason := keepReason(o); reason != "" && !deleted[o.Key()] {
			out.Kept = append(out.Kept, KeptObject{o.Ref, reason})
			continue
		}
		out.Deletes = append(out.Deletes, o.Ref)
		if gk, ok := definedKind(o); ok {
			if out.CustomKinds == nil {
				out.CustomKinds = map[string]schema.GroupKind{}
			}
			out.CustomKinds[o.Name] = gk
		}
		if s, ok := claimTemplates(o); ok {
			out.StatefulSets = append(out.StatefulSets, s)
		}
	}
	return out
}

// keepReason returns the reason why an uninstall leaves an object; empty if it deletes the object.
func keepReason(o *Object) KeepReason {
	m, err := object.ReadMeta(o.Raw)
	if err != nil {
		return ""
	}
	if _, hook := m.Metadata.Annotations[fleet.HookAnnotation]; hook {
		return KeptAsHook
	}
	if _, policy := m.Metadata.Annotations[fleet.ResourcePolicyAnnotation]; policy {
		return KeptByPolicy
	}
	return ""
}

// definedKind returns the kind that a CustomResourceDefinition defines.
func definedKind(o *Object) (schema.GroupKind, bool) {
	var crd struct {
		Spec struct {
			Group string `json:"group"`
			Names struct {
				Kind string `json:"kind"`
			} `json:"names"`
		} `json:"spec"`
	}
	if o.Kind != CRDKind || object.Into(o.Raw, &crd) != nil || crd.Spec.Names.Kind == "" {
		return schema.GroupKind{}, false
	}
	return schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind}, true
}

// claimTemplates returns the volumeClaimTemplates of a StatefulSet that has some.
func claimTemplates(o *Object) (StatefulSet, bool) {
	var set struct {
		Spec struct {
			VolumeClaimTemplates []struct {
				Metadata struct {
					Name string `json:"name"`
				} `json:"metadata"`
			} `json:"volumeClaimTemplates"`
			Retention struct {
				WhenDeleted string `json:"whenDeleted"`
			} `json:"persistentVolumeClaimRetentionPolicy"`
		} `json:"spec"`
	}
	isSet := o.Kind == "StatefulSet" && object.Group(o.APIVersion) == "apps"
	if !isSet || object.Into(o.Raw, &set) != nil || len(set.Spec.VolumeClaimTemplates) == 0 {
		return StatefulSet{}, false
	}
	out := StatefulSet{Namespace: o.Namespace, Name: o.Name, DeletesClaims: set.Spec.Retention.WhenDeleted == "Delete"}
	for _, t := range set.Spec.VolumeClaimTemplates {
		out.Templates = append(out.Templates, t.Metadata.Name)
	}
	return out, true
}

// objectsOf returns the distinct objects of a record.
func objectsOf(c *directory.Cluster, rec *state.Record) []*Object {
	out, _ := new(BundleDeployment).distinct(rec.Namespace, rec.Objects, c.State.Namespaced)
	return out
}

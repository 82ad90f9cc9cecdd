// SPDX-License-Identifier: Apache-2.0

package query

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// subject is an object with what is known about its owner. Its methods set the answer in the report.
type subject struct {
	desired.OnCluster
	*report.OwnedObject
	all  []*desired.BundleDeployment
	have ownership.Metadata
	// owner is the bundle deployment that has its hash; nil if none has it, or several.
	owner *desired.BundleDeployment
	// desired are the objects of the bundles that desire it, without those of release records that nothing confirms.
	desired  []*desired.Object
	deleting bool
	commands remedy.Commands
	// annotations are those of the object.
	annotations map[string]string
}

// answer sets who owns the object, as a value and as a sentence, and the next step. Fleet considers only the hash.
func (s *subject) answer() {
	switch {
	case s.have.Hash != "":
		s.bySet()
	case len(s.desired) > 0:
		s.ofClaimant(report.OwnerNotOwned)
	case s.Unknown != "" && s.have.ReleaseName != "":
		s.say(report.OwnerUnknown, "its annotations name Helm release %s; it is not known whether a bundle desires "+
			"it: %s", s.have.Release(), s.Unknown)
		s.auditAll()
	case s.Unknown != "":
		s.say(report.OwnerUnknown, "it is not known whether a bundle desires it: %s", s.Unknown)
		s.auditAll()
	case s.have.ReleaseName != "":
		s.byRelease()
	default:
		s.withoutMetadata()
	}
}

func (s *subject) say(result report.OwnerResult, format string, args ...any) {
	s.Result, s.Verdict = result, fmt.Sprintf(format, args...)
}

// bySet answers for an object that has a hash.
func (s *subject) bySet() {
	owner := ownership.Evaluate(s, ownership.Claim{Object: s.Key(), Have: s.have}).Owners[0]
	known := owner.Situation == ownership.KnownHash
	desiredByOwner := slices.ContainsFunc(s.desired, func(o *desired.Object) bool {
		return s.owner != nil && o.Deployment == s.owner.ID()
	})
	result, why := report.OwnerLostSet, "it has the hash of a set that no release on this cluster has"
	switch {
	case known && s.owner == nil: // several have it
		s.say(report.OwnerSharedSet, "it is of %s, and its Helm annotations name none of them", owner)
		s.auditAll()
		return
	case known && desiredByOwner:
		s.owned()
		return
	case known && s.owner.HasHook(s.Ref):
		s.hook(report.OwnerNotDesired, s.owner)
		return
	case known && len(s.desired) == 0 && !s.confirms(s.owner):
		s.say(report.OwnerUnknownSet, "it has the hash of %s, and nothing confirms its release record", owner)
		s.auditAll()
		return
	case known && len(s.desired) == 0 && s.owner.Problem != "":
		s.say(report.OwnerUnknown, "it has the hash of %s, and it is not known whether that desires it: %s", owner,
			s.owner.Detail)
		s.auditAll()
		return
	case known:
		result, why = report.OwnerNotDesired, "it has the hash of "+owner.String()+", which does not desire it"
	case owner.Situation == ownership.SystemSet:
		result, why = report.OwnerSystemSet, "no bundle owns it: it "+owner.Describe()
	case !s.SetsKnownIn(s.Namespace):
		result, why = report.OwnerUnknownSet,
			"it has the hash of a set that is not known here, and not every release record could be read"
	default:
		why = "no bundle owns it: " + why
	}
	if len(s.desired) > 0 {
		s.ofClaimant(result)
		return
	}
	s.say(result, "%s", why)
	switch {
	case known:
		s.audit(s.owner)
	case result != report.OwnerSystemSet:
		s.auditAll()
	}
}

// owned answers for an object that Fleet counts as one of the bundle deployment that has its hash, and that desires it.
func (s *subject) owned() {
	d := s.owner
	release := ""
	if d.Release.Name != "" {
		release = fmt.Sprintf(" (release %s, revision %d)", d.Release.Release(), d.Release.Revision)
	}
	s.say(report.OwnerOwned, "bundle %s owns it%s", d.Name, release)
	if other, found := s.otherOwner(d); found {
		s.Verdict += ", and it " + other.Describe()
		s.audit(d)
	}
}

// ofClaimant answers for an object that a bundle desires and does not own.
func (s *subject) ofClaimant(result report.OwnerResult) {
	d := s.Deployment(s.desired[0].Deployment)
	if other, found := s.otherOwner(d); found {
		s.say(result, "%s desires it, and does not own it: it %s", d.Name, other.Describe())
		s.audit(d)
		return
	}
	s.say(result, "no bundle owns it; %s desires it", d.Name)
	if refused := s.refused(s.desired[0]); len(refused) > 0 {
		s.Verdict += ", and adopt does not take it: " + strings.Join(refused, "; ")
		s.audit(d)
		return
	}
	s.step("adopt", s.commands.Assign(&d.Deployment, ""))
}

// confirms reports whether the release record of a bundle deployment counts for the object.
func (s *subject) confirms(d *desired.BundleDeployment) bool {
	evidence := d.Evidence()
	evidence.Add(s.Key(), s.have)
	return evidence.Confirms(s.Key())
}

// otherOwner returns the first other owner than a bundle that is on the cluster, or may be.
func (s *subject) otherOwner(d *desired.BundleDeployment) (ownership.Owner, bool) {
	others := s.Owners(&d.Deployment, s.Key(), s.have).Owners
	i := slices.IndexFunc(others, ownership.Owner.Exists)
	if i < 0 {
		return ownership.Owner{}, false
	}
	return others[i], true
}

// refused are the reasons for which adopt does not take the object, whoever owns it.
func (s *subject) refused(o *desired.Object) []string {
	d := evaluate.BundleDeployment{BundleDeployment: s.Deployment(o.Deployment)}
	live := &evaluate.Live{Deleting: s.deleting, Controller: s.Controller}
	return append(d.NeverAdopted(&evaluate.Object{Ref: s.Ref, Namespaced: o.Namespaced, Live: live}),
		d.AdoptUncertain()...)
}

// byRelease answers for an object that no bundle desires, and that has the Helm annotations of a release and no hash.
func (s *subject) byRelease() {
	name := s.have.Release()
	d := ofRelease(s.all, s.OnCluster, name)
	if d != nil && d.HasHook(s.Ref) {
		s.hook(report.OwnerHelmRelease, d)
		return
	}
	if d != nil {
		s.say(report.OwnerHelmRelease, "no bundle desires it; its annotations name Helm release %s of bundle %s", name,
			d.Name)
		return
	}
	switch s.Release(name, ownership.Bundle{}) {
	case ownership.Absent:
		s.say(report.OwnerHelmRelease, "no bundle owns it; its annotations name Helm release %s, which does not exist",
			name)
	case ownership.NotDecided:
		s.say(report.OwnerHelmRelease, "no bundle owns it; its annotations name Helm release %s: it is not known "+
			"whether that exists, because not every release record could be read", name)
	default:
		s.say(report.OwnerHelmRelease, "no bundle owns it: Helm release %s owns it", name)
	}
	s.unconfirmed()
}

// withoutMetadata answers for an object that no bundle desires, and that names no owner.
func (s *subject) withoutMetadata() {
	s.say(report.OwnerNone, "no bundle owns it, and no bundle that is installed on this cluster desires it")
	if kind, name, found := strings.Cut(s.Controller, " "); found {
		s.Verdict += "; " + s.Controller + " controls it"
		s.step("owner", s.commands.ShowOwner(kind, s.Namespace, name))
	}
	s.unconfirmed()
}

// unconfirmed adds that a release record claims the object that nothing confirms.
func (s *subject) unconfirmed() {
	if len(s.DesiredBy) > 0 {
		s.Verdict += "; nothing confirms the release record of " + s.DesiredBy[0].BundleDeployment + ", which has it"
		s.auditAll()
	}
}

func (s *subject) hook(result report.OwnerResult, d *desired.BundleDeployment) {
	s.say(result, "it is a hook in the release of bundle %s: Helm creates it for a deploy, and Fleet does not count it",
		d.Name)
}

func (s *subject) audit(d *desired.BundleDeployment) {
	s.step("audit", s.commands.ShowFindings(&d.Deployment))
}

func (s *subject) auditAll() {
	s.step("audit", remedy.Run(s.commands.Audit, "shows the findings about it, and what could not be read"))
}

func (s *subject) step(verb string, next remedy.Remedy) {
	s.Next = &report.NextStep{Verb: verb, Remedy: next}
}

// entries explains every label and annotation about the owner, labels first.
func (s *subject) entries(m *object.Meta) []report.MetadataEntry {
	var out []report.MetadataEntry
	for field, explain := range map[string]map[string]func(string) string{
		"label": {fleet.HashLabel: s.hash, fleet.ManagedByLabel: managedBy, fleet.PruneLabel: only("false",
			"Fleet never reports it as orphaned")},
		"annotation": {fleet.IDAnnotation: s.id, fleet.ReleaseNameAnnotation: s.release,
			fleet.ReleaseNamespaceAnnotation: releaseNamespace,
			fleet.ResourcePolicyAnnotation:   only("keep", "Helm keeps it when its release is uninstalled"),
			fleet.OwnerGVKAnnotation:         setOwner, fleet.OwnerNameAnnotation: setOwner,
			fleet.OwnerNamespaceAnnotation: setOwner},
	} {
		from := m.Metadata.Annotations
		if field == "label" {
			from = m.Metadata.Labels
		}
		for key, means := range explain {
			if value, ok := from[key]; ok {
				out = append(out, report.MetadataEntry{Field: field, Key: key, Value: value, Means: means(value)})
			}
		}
	}
	slices.SortFunc(out, func(a, b report.MetadataEntry) int {
		return cmp.Or(-cmp.Compare(a.Field, b.Field), cmp.Compare(a.Key, b.Key))
	})
	return out
}

// addWriters adds the last writer of each label and annotation, if the managedFields of the object could be read.
func (s *subject) addWriters(entries []report.MetadataEntry, o source.Object) {
	live, managedFields, err := o.Decode()
	if err != nil || len(managedFields) == 0 {
		return
	}
	managers, err := compare.ReadManagers(managedFields, live)
	if err != nil {
		return
	}
	for i, m := range entries {
		path, err := fieldpath.MakePath("metadata", m.Field+"s", m.Key)
		if err != nil {
			return
		}
		entries[i].Who = evaluate.Writer(compare.Difference{Path: path, Live: m.Value, LiveSet: true}, managers)
	}
}

func (s *subject) hash(value string) string {
	text := "hash of a set that is not known here"
	if s.owner != nil {
		text = fmt.Sprintf("hash of set %q: bundle deployment %s", s.owner.Ownership.SetID, s.owner.Key())
	}
	gvk, name, ns := s.annotations[fleet.OwnerGVKAnnotation], s.annotations[fleet.OwnerNameAnnotation],
		s.annotations[fleet.OwnerNamespaceAnnotation]
	switch id := s.have.SetID; {
	case id == "":
		return text
	case fleet.HashOf(id, gvk, name, ns) == value:
		return text + "; the id matches it"
	}
	return text + "; the id does not match it"
}

func (s *subject) id(value string) string {
	switch owner := s.OwnerOf(ownership.Metadata{SetID: value}); {
	case owner != nil:
		return "set of bundle deployment " + owner.Key()
	case fleet.IsFleetsOwnSet(value):
		return "set of Fleet itself"
	}
	return "set that no release here has" + s.asFarAsRead()
}

func (s *subject) release(string) string {
	name := s.have.Release()
	if !s.State.Releases[name] {
		return "Helm release " + name + ", which has no record here" + s.asFarAsRead()
	}
	if d := ofRelease(s.all, s.OnCluster, name); d != nil {
		return "Helm release " + name + ": bundle deployment " + d.Key()
	}
	return "Helm release " + name + ", which is not of a bundle deployment here"
}

// ofRelease returns the bundle deployment with a Helm release on a cluster; nil if there is none.
func ofRelease(all []*desired.BundleDeployment, c desired.OnCluster, release string) *desired.BundleDeployment {
	i := slices.IndexFunc(all, func(d *desired.BundleDeployment) bool {
		return d.IsOn(c.ID) && d.Release.Release() == release
	})
	if i < 0 {
		return nil
	}
	return all[i]
}

// asFarAsRead qualifies statements about absent records if not all records could be read.
func (s *subject) asFarAsRead() string {
	if s.SetsKnownIn(s.Namespace) {
		return ""
	}
	return ", as far as records could be read"
}

func releaseNamespace(string) string { return "the namespace of that release" }

func managedBy(value string) string {
	if value == fleet.ManagedByHelm {
		return "applied by Helm; charts set it themselves, and it names no release"
	}
	return "applied by " + value + ", according to the label"
}

// only explains a label or annotation of which one value has an effect.
func only(effective, effect string) func(string) string {
	return func(value string) string {
		if value == effective {
			return effect
		}
		return "no effect: only the value " + effective + " has one"
	}
}

func setOwner(string) string { return "its set has an owner: a controller applied it, not a bundle" }

// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
)

// The kinds of a Repair: of the verb adopt, and of the verb repair.
const (
	KindAdoptionPlan   = "AdoptionPlan"   // the plan; nothing was written
	KindAdoptionResult = "AdoptionResult" // the result of writing it
	KindRepairPlan     = "RepairPlan"
	KindRepairResult   = "RepairResult"
)

// Repair is a plan to repair objects, or to undo that, and its result. An adoption is a repair with only the step
// adopt.
type Repair struct {
	Head  `text:"keep"`
	Scope Scope `json:"scope" text:"keep"`
	// Undo is true if the plan restores the values of a receipt; then there is no policy.
	Undo   bool   `json:"undo,omitempty"`
	Policy string `json:"policy,omitempty" text:"keep"`
	// Codes limit the plan to the findings with these codes; without any, all findings are repaired.
	Codes []string `json:"codes,omitempty" text:"keep"`
	// Allowed are the kinds of steps that --allow permits.
	Allowed []string `json:"allowed,omitempty" text:"keep"`
	// TakeFrom are the owners from whom objects may be taken, as given by --dangerous-take-from.
	TakeFrom []string `json:"takeFrom,omitempty" text:"keep"`
	// Digest identifies the plan: sha256 of the objects to change with their changes and effects, of the notes, and of
	// the gaps.
	Digest  string        `json:"digest" text:"keep"`
	Summary RepairSummary `json:"summary"`
	// DryRun is client or server if nothing is stored.
	DryRun  string `json:"dryRun,omitempty" text:"keep"`
	Receipt string `json:"receipt,omitempty" text:"keep"` // the file with the previous values

	Objects []RepairedObject `json:"objects"`
	// Deployments are the counts before and after, for each bundle deployment with objects that were written.
	Deployments []RepairedDeployment `json:"bundleDeployments,omitempty" text:"keep"`
	Gaps        []Gap                `json:"gaps"`
	Notes       []string             `json:"notes,omitempty" text:"redact"`
}

// RepairSummary counts objects: Objects = Change + Refused + Unchanged. Of the objects to change, Done were written
// and Failed could not be written; the others were not tried.
type RepairSummary struct {
	Objects   int `json:"objects"`
	Change    int `json:"change"`
	Refused   int `json:"refused"`
	Unchanged int `json:"unchanged"`
	Done      int `json:"done"`
	Failed    int `json:"failed"`
}

// RepairStep is the kind of a step of a plan.
type RepairStep = remedy.StepKind

// The steps that ask controllers and agents of Fleet.
const (
	StepResume = remedy.StepResume
	StepDeploy = remedy.StepDeploy
)

// Action is what the plan does with an object.
type Action string

// The actions. Except for the last two, those of a repair are the steps.
const (
	ActionAdopt    Action = "Adopt"
	ActionCreate   Action = "Create"
	ActionRestore  Action = "Restore"
	ActionRecreate Action = "Recreate"
	ActionRemove   Action = "Remove"
	ActionResume   Action = "Resume"
	ActionDeploy   Action = "Deploy"
	ActionUnblock  Action = "Unblock"
	ActionRefuse   Action = "Refuse"
	ActionNone     Action = "None" // nothing to do
)

// RepairedObject is one object of a plan.
type RepairedObject struct {
	object.Ref `text:"name"`
	UID        string `json:"uid,omitempty" text:"keep"`
	// Cluster is the name of the cluster that it is on; empty if it is on the source.
	Cluster string `json:"cluster,omitempty" text:"name"`
	// Step is the step that the plan makes or refuses; Codes are those of the findings that it repairs.
	Step  RepairStep `json:"step,omitempty" text:"keep"`
	Codes []string   `json:"codes,omitempty" text:"keep"`
	// BundleDeployment is "namespace/name" of the one that desires the object, Release that of its release.
	BundleDeployment string `json:"bundleDeployment,omitempty" text:"name"`
	Release          string `json:"release,omitempty" text:"name"`
	// Reason is the reason of the state Unowned. PolicyRow is the row of the policy table that applied; Situation is
	// the same, with the older names NoMark and LivingRelease of NoMetadata and ExistingRelease.
	Reason    string `json:"reason,omitempty" text:"keep"`
	PolicyRow string `json:"policyRow,omitempty" text:"keep"`
	Situation string `json:"situation,omitempty" text:"keep"`
	// Owner is the present owner.
	Owner  *Owner `json:"owner,omitempty"`
	Action Action `json:"action" text:"keep"`
	// Refusals are the reasons of the action Refuse.
	Refusals []string    `json:"refusals,omitempty" text:"redact"`
	Changes  []KeyChange `json:"changes,omitempty" text:"keep"`
	// Effects are the consequences of the adoption, as sentences.
	Effects []string `json:"effects,omitempty" text:"redact"`
	// Overwrites are the fields that the next deploy of the release overwrites with the values of the bundle.
	Overwrites []Difference `json:"overwrites,omitempty"`
	// Restores are the fields that get their desired values, or that are removed.
	Restores []Difference `json:"restores,omitempty"`
	// Outcome is the result of the write.
	Outcome Outcome `json:"outcome,omitempty" text:"keep"`
	Message string  `json:"message,omitempty" text:"redact"`
}

// KeyChange is one label or annotation that changes. Old is null if it does not exist, New if it is removed.
type KeyChange struct {
	Field string  `json:"field"` // label or annotation
	Key   string  `json:"key"`
	Old   *string `json:"old" jsonschema:"nullable"`
	New   *string `json:"new" jsonschema:"nullable"`
}

// Outcome is the result of writing one object.
type Outcome string

// The outcomes.
const (
	OutcomeDone     Outcome = "Done"
	OutcomeChanged  Outcome = "Changed"  // changed since the plan: not written
	OutcomeFailed   Outcome = "Failed"   // the server refused the write, or did not answer
	OutcomeNotTried Outcome = "NotTried" // interrupted before the write
)

// RepairedDeployment has the counts of one bundle deployment before and after an adoption.
type RepairedDeployment struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Before    Counts `json:"before"`
	After     Counts `json:"after"`
	// Failed is what Fleet reports about the last deploy, if that failed: nothing is deployed before the next one, for
	// which the remedies ask.
	Failed   string   `json:"failed,omitempty" text:"redact"`
	Remedies []Remedy `json:"remedies,omitempty"`
}

// Redacted returns a complete copy of the document, with its summary, in which secrets are hidden.
func (a *Repair) Redacted(s *secret.Values) *Repair {
	out := redacted(s, a, nil)
	out.APIVersion = APIVersion
	complete(out)
	n := countBy(out.Objects, func(o RepairedObject) Action { return o.Action })
	tried := countBy(out.Objects, func(o RepairedObject) Outcome { return o.Outcome })
	refused, unchanged := n[ActionRefuse], n[ActionNone]
	out.Summary = RepairSummary{len(out.Objects), len(out.Objects) - refused - unchanged, refused, unchanged,
		tried[OutcomeDone], tried[OutcomeFailed] + tried[OutcomeChanged]}
	return out
}

// KindTargets is the kind of a Targets.
const KindTargets = "TargetsReport"

// Targets reports which clusters bundles are deployed to, and why.
type Targets struct {
	Head
	Bundles []TargetedBundle `json:"bundles"`
	Gaps    []Gap            `json:"gaps"`
	// Notes are information for the reader that is not a gap.
	Notes []string `json:"notes,omitempty"`
}

// TargetedBundle is a bundle with its targets, and the clusters in the namespaces that it reaches.
type TargetedBundle struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Mode is FirstMatch or AllMatches: how many of the customizations that match a cluster apply.
	Mode string `json:"mode"`
	// Error is why Fleet evaluates none of the targets.
	Error        string              `json:"error,omitempty"`
	Targets      []Target            `json:"targets"`
	Restrictions []string            `json:"restrictions,omitempty"`
	Clusters     []TargetedCluster   `json:"clusters"`
	Summary      TargetedClusterSums `json:"summary"`
}

// TargetedClusterSums count the clusters of a bundle by result.
type TargetedClusterSums struct {
	Expected int `json:"expected"`
	Excluded int `json:"excluded"`
	Blocked  int `json:"blocked"`
	Unknown  int `json:"unknown"`
}

// Target is one target of a bundle. A customization changes options and selects no cluster by itself.
type Target struct {
	Name          string `json:"name"`
	Customization bool   `json:"customization"`
	DoNotDeploy   bool   `json:"doNotDeploy"`
	Selects       string `json:"selects"` // its criteria as text
}

// TargetResult is whether a bundle is deployed to a cluster, according to its targets.
type TargetResult string

// The results.
const (
	TargetExpected TargetResult = "Expected"
	TargetExcluded TargetResult = "Excluded"
	TargetBlocked  TargetResult = "Blocked" // it is deployed once the cluster has a namespace for BundleDeployments
	TargetUnknown  TargetResult = "Unknown"
)

// TargetedCluster is the result for one bundle and one cluster.
type TargetedCluster struct {
	Cluster string       `json:"cluster"` // "namespace/name"
	Result  TargetResult `json:"result"`
	// Reason is a word, Message a sentence.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message"`
	// Target selects the cluster; Customizations are those whose options apply; DecidedBy excludes the cluster by
	// doNotDeploy.
	Target         string   `json:"target,omitempty"`
	Customizations []string `json:"customizations,omitempty"`
	DecidedBy      string   `json:"decidedBy,omitempty"`
	// Group is the group of the cluster for which the target matches; Groups are all its groups.
	Group  string   `json:"group,omitempty"`
	Groups []string `json:"groups,omitempty"`
	// BundleDeployment is "namespace/name" of the one that exists. Deployment says whether that is as expected.
	BundleDeployment string           `json:"bundleDeployment,omitempty"`
	Deployment       TargetDeployment `json:"deployment"`
	// Changes are what would change the result, a sentence each.
	Changes []string `json:"changes,omitempty"`
}

// TargetDeployment compares the result with the BundleDeployment on the cluster.
type TargetDeployment string

// The values.
const (
	DeploymentExists   TargetDeployment = "Exists"
	DeploymentAbsent   TargetDeployment = "Absent"   // expected, and it does not exist
	DeploymentPending  TargetDeployment = "Pending"  // expected, and Fleet still has to create it
	DeploymentLeftover TargetDeployment = "Leftover" // it exists, and is not expected
	DeploymentNone     TargetDeployment = "None"     // not expected, and it does not exist
	DeploymentUnread   TargetDeployment = "Unread"   // it is not known whether it exists
)

// Complete sets the fields that follow from the bundles. Call it once, after all bundles were added.
func (d *Targets) Complete() {
	complete(d)
	for i := range d.Bundles {
		n := countBy(d.Bundles[i].Clusters, func(c TargetedCluster) TargetResult { return c.Result })
		d.Bundles[i].Summary = TargetedClusterSums{n[TargetExpected], n[TargetExcluded], n[TargetBlocked],
			n[TargetUnknown]}
	}
}

// each returns a copy of a list with every element changed, and nil for nil.
func each[T any](list []T, change func(T) T) []T {
	out := slices.Clone(list)
	for i, x := range out {
		out[i] = change(x)
	}
	return out
}

// Texts returns a text for each element of a list, and nil for nil.
func Texts[T any](list []T, text func(T) string) []string {
	var out []string
	for _, x := range list {
		out = append(out, text(x))
	}
	return out
}

// Count is the number of elements of a list for which a function is true.
func Count[T any](list []T, is func(T) bool) int { return countBy(list, is)[true] }

// complete makes the lists of a document that are nil empty, so that JSON has [] and not null. A list that JSON omits
// if it is empty stays nil. document is a pointer.
func complete(document any) { completeLists(reflect.ValueOf(document)) }

func completeLists(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			completeLists(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			completeLists(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f, tag := v.Field(i), v.Type().Field(i).Tag.Get("json")
			omitted := tag == "" || tag == "-" || strings.Contains(tag, ",omit")
			if f.Kind() == reflect.Slice && f.IsNil() && !omitted {
				f.Set(reflect.MakeSlice(f.Type(), 0, 0))
			}
			completeLists(f)
		}
	}
}

// countBy counts the elements of a list by a key.
func countBy[T any, K comparable](list []T, key func(T) K) map[K]int {
	out := map[K]int{}
	for _, x := range list {
		out[key(x)]++
	}
	return out
}

// Plural writes a number with a noun.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// KindOwnership is the kind of an Ownership.
const KindOwnership = "OwnerReport"

// Ownership reports the owners of objects, with the evidence.
type Ownership struct {
	Head
	Objects []OwnedObject `json:"objects"`
	Gaps    []Gap         `json:"gaps"`
}

// OwnerResult is the result for the owner of an object.
type OwnerResult string

// The results.
const (
	OwnerOwned      OwnerResult = "Owned"      // Fleet counts it as an object of a bundle deployment that desires it
	OwnerNotDesired OwnerResult = "NotDesired" // it has the hash of a bundle deployment that does not desire it
	// several bundle deployments share its set, and its Helm annotations name none of their releases
	OwnerSharedSet OwnerResult = "SharedSet"
	OwnerSystemSet OwnerResult = "SystemSet" // Fleet itself or another program applies its set, not a bundle
	// its set is not known, and not every release record could be read, or nothing confirms the record that has it
	OwnerUnknownSet  OwnerResult = "UnknownSet"
	OwnerLostSet     OwnerResult = "LostSet"     // no release on the cluster has its set
	OwnerNotOwned    OwnerResult = "NotOwned"    // a bundle deployment desires it, and it has no hash
	OwnerHelmRelease OwnerResult = "HelmRelease" // no bundle desires it, and its Helm annotations name a release
	OwnerNone        OwnerResult = "NoOwner"     // no bundle desires it, and it names no owner
	OwnerUnknown     OwnerResult = "Unknown"     // no owner is known, and it is not known whether a bundle desires it
)

// OwnedObject is one object with its ownership metadata.
type OwnedObject struct {
	object.Ref
	UID    string      `json:"uid,omitempty"`
	Result OwnerResult `json:"result"`
	// Verdict is the answer as a sentence without its first capital and its full stop.
	Verdict string `json:"verdict"`
	// Next is the next step; absent if there is none.
	Next *NextStep `json:"next,omitempty"`
	// Unknown is the reason if it is not known which bundle desires the object; otherwise absent.
	Unknown string `json:"unknown,omitempty"`
	// Owner is the bundle that owns the object; absent if no bundle owns it.
	Owner *BundleOwner `json:"holder,omitempty"`
	// DesiredBy are the bundles that desire the object.
	DesiredBy []Claimant      `json:"desiredBy,omitempty"`
	Metadata  []MetadataEntry `json:"marks"`
	// Controller is "Kind name" of the object that controls it.
	Controller string `json:"controller,omitempty"`
}

// NextStep is a command of this program, with its verb.
type NextStep struct {
	Verb string `json:"verb"`
	Remedy
}

// BundleOwner is the bundle deployment that owns an object, with its parents.
type BundleOwner struct {
	BundleDeployment string `json:"bundleDeployment"`
	Bundle           string `json:"bundle,omitempty"`  // "namespace/name"
	GitRepo          string `json:"gitRepo,omitempty"` // "namespace/name"
	HelmOp           string `json:"helmOp,omitempty"`  // "namespace/name"
	Cluster          string `json:"cluster,omitempty"` // "namespace/name"
	Release          string `json:"release,omitempty"` // "namespace/name:revision"
	SetID            string `json:"setID,omitempty"`
	Commit           string `json:"commit,omitempty"`
}

// Claimant is a bundle that desires an object.
type Claimant struct {
	BundleDeployment string `json:"bundleDeployment"`
	// Reason is the reason of the state Unowned, or Unconfirmed; empty if the bundle owns the object.
	Reason string `json:"reason,omitempty"`
}

// MetadataEntry is one label or annotation about the owner of an object, with its meaning.
type MetadataEntry struct {
	Field string `json:"field"` // label or annotation
	Key   string `json:"key"`
	Value string `json:"value"`
	Means string `json:"means"`
	// Who is the writer and the time, if they are recorded.
	Who string `json:"who,omitempty"`
}

// Complete makes lists that are nil empty. Call it once, after all objects were added.
func (o *Ownership) Complete() { complete(o) }

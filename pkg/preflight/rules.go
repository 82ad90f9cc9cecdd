// SPDX-License-Identifier: Apache-2.0

package preflight

import "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"

// Rule is one kind of thing that a rollout may meet.
type Rule struct {
	Name string
	// Severity is Error for what is in the way. Verdict is what becomes of the rollout then; that of another severity leaves it as it is,
	// unless it is Unknown.
	Severity report.Severity
	Verdict  report.Verdict
	// Says describes it in the words of the documentation.
	Says string
}

// The rules.
var (
	notRendered = Rule{"NotRendered", report.Error, report.VerdictRefused,
		"the bundle cannot be rendered: Fleet's agent would not deploy any of it"}
	clusterScoped = Rule{"ClusterScoped", report.Error, report.VerdictRefused,
		"a cluster-scoped object of a bundle with a targetNamespace (`namespace` in the fleet.yaml): every deploy fails"}
	valuesMissing = Rule{"ValuesMissing", report.Error, report.VerdictRefused,
		"`valuesFrom` names a ConfigMap, a Secret or a key that is not on the cluster: every deploy fails until it is there"}
	recordTooLarge = Rule{"RecordTooLarge", report.Error, report.VerdictRefused,
		"the release record, which holds the chart and the rendered manifest, would be larger than a Secret may be (1 MiB): Helm cannot store it, and every deploy fails " +
			"(\"Too long\"). The size is an estimate: a warning where it is within 2 % of the limit"}
	invalidOwnership = Rule{"InvalidOwnership", report.Error, report.VerdictRefused,
		"nothing is installed yet, and an object exists without Helm's three keys of this release: Helm refuses the installation (\"invalid ownership metadata\") unless " +
			"`helm.takeOwnership` is set"}
	applyConflict = Rule{"ApplyConflict", report.Error, report.VerdictRefused,
		"Helm applies the release server-side, and another manager owns a field that it would change: the apply fails on the conflict, unless `helm.force` is set"}
	releaseInUse = Rule{"ReleaseInUse", report.Error, report.VerdictContested,
		"a release of that name is in that namespace already, of another bundle, another agent, or none of Fleet's: Fleet would upgrade it as its own"}
	releaseRenamed = Rule{"ReleaseRenamed", report.Error, report.VerdictContested,
		"the bundle is deployed as a release of another name or namespace: a second one is installed, and when Fleet's garbage collection uninstalls the first it deletes " +
			"what both have"}
	contested = Rule{"Contested", report.Error, report.VerdictContested,
		"another bundle of this cluster wants the object too: each deploy of one takes it from the other"}
	held = Rule{"Held", report.Error, report.VerdictContested,
		"somebody who is on this cluster holds the object: he loses it, or takes it back"}
	deletesWanted = Rule{"DeletesWanted", report.Error, report.VerdictContested,
		"the object is in the release and no more in the bundle, and another bundle wants it: Helm deletes it by its name all the same"}
	agentName = Rule{"AgentName", report.Error, report.VerdictContested,
		"the bundle's name begins with `fleet-agent`: it shares the set id of Fleet's agent, whoever made it"}
	garbageCollected = Rule{"GarbageCollected", report.Error, report.VerdictContested,
		"the agent is older than 0.15.6 or 0.16.1, which hold a release's name against the raw name of its bundle: where those differ (dots, capitals, more than 53 bytes) " +
			"it uninstalls what it has just installed. A warning where the agent's version is not known"}
	unknownObjects = Rule{"NothingRendered", report.Warning, report.VerdictUnknown,
		"what the bundle is made of could not be read: there is nothing to foretell it from"}
	partial = Rule{"PartlyRendered", report.Warning, report.VerdictUnknown,
		"something is missing to render the bundle as the agent would: what is foretold is not surely all"}
	recordsUnread = Rule{"RecordsUnread", report.Warning, report.VerdictUnknown,
		"the release records of the namespace could not be read: whether this installs or upgrades is not known"}
	objectUnread = Rule{"ObjectUnread", report.Warning, report.VerdictUnknown,
		"whether the object exists, and whose it is, could not be read"}
	takenOver = Rule{"TakenOver", report.Warning, report.VerdictOK,
		"an object that exists becomes the bundle's without a word, because this upgrades a release or `helm.takeOwnership` is set"}
	overwritten = Rule{"Overwritten", report.Warning, report.VerdictOK,
		"an object exists and differs from what the bundle states: the rollout overwrites the fields"}
	beingDeleted = Rule{"BeingDeleted", report.Warning, report.VerdictOK,
		"the object is being deleted: what is applied to it goes with it"}
	uninstalling = Rule{"Uninstalling", report.Warning, report.VerdictOK,
		"the release is recorded as uninstalling: Fleet uninstalls it first, which deletes its objects, and installs it anew"}
	deleted = Rule{"Deleted", report.Warning, report.VerdictOK,
		"the object is in the release and no more in the bundle: the rollout deletes it, unless it carries `helm.sh/resource-policy: keep`"}
	keptRecords = Rule{"KeptRecords", report.Info, report.VerdictOK,
		"the bundle has keepResources, and its release another name than the bundle: when the bundle goes, Fleet leaves the release's records behind"}
)

// Rules lists the rules, the worst first. The documentation is made from it.
func Rules() []Rule {
	return []Rule{notRendered, clusterScoped, valuesMissing, recordTooLarge, invalidOwnership, applyConflict, releaseInUse, releaseRenamed, contested, held,
		deletesWanted, agentName, garbageCollected, unknownObjects, partial, recordsUnread, objectUnread, takenOver, overwritten, beingDeleted,
		uninstalling, deleted, keptRecords}
}

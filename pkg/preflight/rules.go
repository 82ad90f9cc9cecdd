// SPDX-License-Identifier: Apache-2.0

package preflight

import "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"

// Rule is one kind of problem of a rollout.
type Rule struct {
	Name string
	// Severity is Error for a problem that prevents the rollout or its success. Verdict is the verdict of the rollout then. The verdict of
	// another severity has no effect, unless it is Unknown.
	Severity report.Severity
	Verdict  report.Verdict
	// Says describes the rule in the documentation.
	Says string
}

// The rules.
var (
	notRendered = Rule{"NotRendered", report.Error, report.VerdictRefused,
		"the bundle cannot be rendered: Fleet's agent would not deploy any of it"}
	clusterScoped = Rule{"ClusterScoped", report.Error, report.VerdictRefused,
		"a cluster-scoped object of a bundle with a targetNamespace (`namespace` in the fleet.yaml): every deploy fails"}
	valuesMissing = Rule{"ValuesMissing", report.Error, report.VerdictRefused,
		"`valuesFrom` names a ConfigMap, a Secret or a key that is not on the cluster: every deploy fails until it exists"}
	recordTooLarge = Rule{"RecordTooLarge", report.Error, report.VerdictRefused,
		"the release record, which holds the chart and the rendered manifest, would be larger than a Secret may be (1 MiB): Helm cannot store it, and every deploy fails " +
			"(\"Too long\"). The size is an estimate: a warning where it is within 2 % of the limit"}
	invalidOwnership = Rule{"InvalidOwnership", report.Error, report.VerdictRefused,
		"nothing is installed yet, and an object exists without Helm's label and annotations of this release: Helm refuses the installation (\"invalid ownership metadata\") unless " +
			"`helm.takeOwnership` is set"}
	applyConflict = Rule{"ApplyConflict", report.Error, report.VerdictRefused,
		"Helm applies the release server-side, and another manager owns a field that it would change: the apply fails on the conflict, unless `helm.force` is set"}
	releaseInUse = Rule{"ReleaseInUse", report.Error, report.VerdictContested,
		"a release of that name is in that namespace already, of another bundle, of another agent, or not of Fleet: Fleet would upgrade it"}
	releaseRenamed = Rule{"ReleaseRenamed", report.Error, report.VerdictContested,
		"the bundle is deployed as a release of another name or namespace: a second one is installed, and when Fleet's garbage collection uninstalls the first it deletes " +
			"the objects that both have"}
	contested = Rule{"Contested", report.Error, report.VerdictContested,
		"another bundle of this cluster desires the object too: each deploy of one takes it from the other"}
	held = Rule{"Held", report.Error, report.VerdictContested,
		"another owner, which is on this cluster, owns the object: it loses the object, or takes it back"}
	deletesWanted = Rule{"DeletesWanted", report.Error, report.VerdictContested,
		"the object is in the release and not in the bundle any more, and another bundle desires it: Helm deletes it by its name anyway"}
	agentName = Rule{"AgentName", report.Error, report.VerdictContested,
		"the bundle's name begins with `fleet-agent`: it shares the set id of Fleet's agent"}
	garbageCollected = Rule{"GarbageCollected", report.Error, report.VerdictContested,
		"agents older than 0.15.6, and 0.16.0, compare the name of a release with the raw name of its bundle: if they differ (dots, capitals, more than 53 bytes) " +
			"they uninstall what they have just installed. A warning if the agent's version is not known"}
	unknownObjects = Rule{"NothingRendered", report.Warning, report.VerdictUnknown,
		"the contents of the bundle could not be read: nothing can be predicted"}
	partial = Rule{"PartlyRendered", report.Warning, report.VerdictUnknown,
		"something is missing to render the bundle as the agent would: the prediction may be incomplete"}
	recordsUnread = Rule{"RecordsUnread", report.Warning, report.VerdictUnknown,
		"the release records of the namespace could not be read: whether this installs or upgrades is not known"}
	objectUnread = Rule{"ObjectUnread", report.Warning, report.VerdictUnknown,
		"the object could not be read: whether it exists, and its owner, are not known"}
	takenOver = Rule{"TakenOver", report.Warning, report.VerdictOK,
		"an object that exists will be taken over silently, because this upgrades a release or `helm.takeOwnership` is set"}
	overwritten = Rule{"Overwritten", report.Warning, report.VerdictOK,
		"an object exists and differs from the bundle: the rollout overwrites the fields"}
	beingDeleted = Rule{"BeingDeleted", report.Warning, report.VerdictOK,
		"the object is being deleted: the changes of the rollout are lost with it"}
	uninstalling = Rule{"Uninstalling", report.Warning, report.VerdictOK,
		"the release is recorded as uninstalling: Fleet uninstalls it first, which deletes its objects, and installs it anew"}
	deleted = Rule{"Deleted", report.Warning, report.VerdictOK,
		"the object is in the release and not in the bundle any more: the rollout deletes it, unless it has the annotation `helm.sh/resource-policy: keep`"}
	keptRecords = Rule{"KeptRecords", report.Info, report.VerdictOK,
		"the bundle has keepResources, and its release another name than the bundle: when the bundle is deleted, Fleet keeps the release's records"}
)

// Rules lists the rules, the most severe first. docs/preflight.md is made from it.
func Rules() []Rule {
	return []Rule{notRendered, clusterScoped, valuesMissing, recordTooLarge, invalidOwnership, applyConflict, releaseInUse, releaseRenamed, contested, held,
		deletesWanted, agentName, garbageCollected, unknownObjects, partial, recordsUnread, objectUnread, takenOver, overwritten, beingDeleted,
		uninstalling, deleted, keptRecords}
}

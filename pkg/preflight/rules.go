// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Rule is one kind of problem of a rollout.
type Rule struct {
	Name string
	// Severity is Error for a problem that prevents the rollout or its success. Verdict is then the result of the
	// rollout. With another severity it has no effect, unless it is Unknown.
	Severity report.Severity
	Verdict  report.Verdict
	// Description is for the documentation.
	Description string
}

// URL returns the address of the explanation of a rule, by its name.
func URL(rule string) string { return check.Pages + "preflight.md#" + strings.ToLower(rule) }

// The rules.
var (
	refusedByApply = Rule{"RefusedByApply", report.Error, report.VerdictRefused,
		"`fleet apply`, which the job of the GitRepo runs, refuses the directory of -f: its fleet.yaml or a values " +
			"file is not valid, an entry of `dependsOn` is not, or it has " +
			"`imageScans` and Fleet does not scan images. No Bundle changes"}
	noTarget = Rule{"NoTarget", report.Error, report.VerdictRefused,
		"the targets of the directory of -f, and of its GitRepo, select no cluster: Fleet deploys it nowhere"}
	dependencyAbsent = Rule{"DependencyAbsent", report.Error, report.VerdictRefused,
		"an entry of `dependsOn` selects no BundleDeployment of the cluster: every deploy fails until there is one " +
			"(ErrApplied)"}
	dependencyNotReady = Rule{"DependencyNotReady", report.Error, report.VerdictRefused,
		"a bundle of `dependsOn` is not ready, or not in one of its `acceptedStates`: the agent does not deploy until " +
			"it is (ErrApplied). Up to Fleet 0.14, the condition Ready of " +
			"its BundleDeployment counts, later its state"}
	dependencyUnknown = Rule{"DependencyUnknown", report.Warning, report.VerdictUnknown,
		"whether the bundles of `dependsOn` are ready is not known: their BundleDeployments, or the version of the " +
			"agent, could not be read"}
	dependencyLater = Rule{"DependencyLater", report.Info, report.VerdictOK,
		"a bundle of `dependsOn` is part of the same directory and is not deployed yet: the agent waits for it"}
	namespaceFirst = Rule{"NamespaceCreatedFirst", report.Error, report.VerdictRefused,
		"the bundle has its own release namespace as an object, and nothing is installed yet: Helm creates the " +
			"namespace without its ownership metadata, and then cannot create the " +
			"object (\"invalid ownership metadata\"). Up to Fleet 0.14, and later with `helm.force`, unless " +
			"`helm.takeOwnership` is set"}
	notRendered = Rule{"NotRendered", report.Error, report.VerdictRefused,
		"the bundle cannot be rendered: Fleet's agent would not deploy any of it"}
	clusterScoped = Rule{"ClusterScoped", report.Error, report.VerdictRefused,
		"a cluster-scoped object of a bundle with a targetNamespace (`namespace` in the fleet.yaml): every deploy fails"}
	valuesMissing = Rule{"ValuesMissing", report.Error, report.VerdictRefused,
		"`valuesFrom` names a ConfigMap, a Secret or a key that is not on the cluster: every deploy fails until it " +
			"exists"}
	recordTooLarge = Rule{"RecordTooLarge", report.Error, report.VerdictRefused,
		"the release record, which contains the chart and the rendered manifest, would be larger than the limit of a " +
			"Secret (1 MiB): Helm cannot store it, and every deploy fails " +
			"(\"Too long\"). The size is an estimate: a warning if it is within 2 % of the limit"}
	invalidOwnership = Rule{"InvalidOwnership", report.Error, report.VerdictRefused,
		"nothing is installed yet, and an object exists without Helm's label and annotations of this release: Helm " +
			"refuses the installation (\"invalid ownership metadata\") unless " +
			"`helm.takeOwnership` is set"}
	applyConflict = Rule{"ApplyConflict", report.Error, report.VerdictRefused,
		"Helm applies the release server-side, and another manager owns a field that it would change: the apply " +
			"fails on the conflict, unless `helm.force` is set"}
	releaseInUse = Rule{"ReleaseInUse", report.Error, report.VerdictContested,
		"a release with that name exists already in that namespace, of another bundle, of another agent, or not of " +
			"Fleet: Fleet would upgrade it"}
	releaseRenamed = Rule{"ReleaseRenamed", report.Error, report.VerdictContested,
		"the bundle is deployed as a release of another name or namespace: a second release is installed, and when " +
			"Fleet's garbage collection uninstalls the first it deletes " +
			"the objects that are in both"}
	contested = Rule{"Contested", report.Error, report.VerdictContested,
		"another bundle of this cluster desires the object too: each deploy of one takes it from the other"}
	existingOwner = Rule{"Held", report.Error, report.VerdictContested,
		"another owner, which is on this cluster, owns the object: it loses the object, or takes it over again"}
	deletesDesired = Rule{"DeletesWanted", report.Error, report.VerdictContested,
		"the object is in the release and no longer in the bundle, and another bundle desires it: Helm deletes it by " +
			"its name anyway"}
	agentName = Rule{"AgentName", report.Error, report.VerdictContested,
		"the bundle's name begins with `fleet-agent`: it shares the set id of Fleet's agent"}
	garbageCollected = Rule{"GarbageCollected", report.Error, report.VerdictContested,
		"agents older than 0.15.6, and 0.16.0, compare the name of a release with the raw name of its bundle: if " +
			"they differ (dots, capitals, more than 53 bytes) " +
			"they uninstall the release immediately after its installation. A warning if the agent's version is not " +
			"known"}
	unknownObjects = Rule{"NothingRendered", report.Warning, report.VerdictUnknown,
		"the contents of the bundle could not be read: nothing can be predicted"}
	partial = Rule{"PartlyRendered", report.Warning, report.VerdictUnknown,
		"something is missing to render the bundle as the agent would: the prediction may be incomplete"}
	recordsUnread = Rule{"RecordsUnread", report.Warning, report.VerdictUnknown,
		"the release records of the namespace could not be read: whether this installs or upgrades is not known"}
	objectUnread = Rule{"ObjectUnread", report.Warning, report.VerdictUnknown,
		"the object could not be read: whether it exists, and its owner, are not known"}
	takenOver = Rule{"TakenOver", report.Warning, report.VerdictOK,
		"an existing object will be taken over silently, because this upgrades a release or `helm.takeOwnership` is set"}
	overwritten = Rule{"Overwritten", report.Warning, report.VerdictOK,
		"an existing object differs from the bundle: the rollout overwrites the fields"}
	beingDeleted = Rule{"BeingDeleted", report.Warning, report.VerdictOK,
		"the object is being deleted: the changes of the rollout are lost with it"}
	uninstalling = Rule{"Uninstalling", report.Warning, report.VerdictOK,
		"the release is recorded as uninstalling: Fleet uninstalls it first, which deletes its objects, and then " +
			"installs it again"}
	deleted = Rule{"Deleted", report.Warning, report.VerdictOK,
		"the object is in the release and no longer in the bundle: the rollout deletes it, unless it has the " +
			"annotation `helm.sh/resource-policy: keep`"}
	keptRecords = Rule{"KeptRecords", report.Info, report.VerdictOK,
		"the bundle has keepResources, and its release does not have the name of the bundle: when the bundle is " +
			"deleted, Fleet keeps the records of the release"}
)

// Rules lists the rules, the most severe first. docs/preflight.md is made from it.
func Rules() []Rule {
	return []Rule{refusedByApply, noTarget, dependencyAbsent, dependencyNotReady, namespaceFirst, notRendered,
		clusterScoped, valuesMissing, recordTooLarge, invalidOwnership, applyConflict, releaseInUse, releaseRenamed,
		contested, existingOwner,
		deletesDesired, agentName, garbageCollected, unknownObjects, dependencyUnknown, partial, recordsUnread,
		objectUnread, takenOver, overwritten, beingDeleted,
		uninstalling, deleted, dependencyLater, keptRecords}
}

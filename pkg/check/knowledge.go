// SPDX-License-Identifier: Apache-2.0

package check

// Knowledge is what is known about a code in addition to its entry in the catalogue, for the verb explain and for docs/findings.md.
type Knowledge struct {
	// Evidence says which data the finding is based on.
	Evidence string
	// Remedy says how to proceed, with the effect of each step.
	Remedy string
	// Versions says which versions of Fleet behave so.
	Versions string
	// Issues are issues of Fleet, such as "rancher/fleet#5550".
	Issues []string
	// Sections are sections of docs/fleet-behavior.md.
	Sections []string
}

// Knowledge returns what is known about the code of a check.
func (c Check) Knowledge() Knowledge { return knowledge[c.Code] }

// Pages is the address of the directory docs/.
const Pages = "https://github.com/fleetdoctor/kubectl-fleetdoctor/blob/main/docs/"

const allVersions = "all from 0.10 on"

// knowledge is the knowledge by code. Its facts are those of docs/fleet-behavior.md.
var knowledge = map[string]Knowledge{
	"FD101": {
		Evidence: "The manifest of the release record has the object, and a complete list of its kind in its " +
			"namespace does not have it. Without a complete list, the object is Unknown.",
		Remedy: "Find out who deleted the object: the audit log of the API server records it. The finding has a " +
			"command that creates only this object, from the release record, with Helm and awk. Another command " +
			"deploys the whole bundle again on this cluster; `preflight` predicts whether Helm refuses that. " +
			"Without a command, Fleet creates the object with the next deploy of the bundle, or immediately if " +
			"correctDrift is enabled.",
		Versions: allVersions, Sections: []string{"3.1", "3.6"},
	},
	"FD102": {
		Evidence: "The label objectset.rio.cattle.io/hash of the live object is not the hash of the bundle's set. " +
			"The finding shows the present owner, the required labels and annotations, and the fields that differ " +
			"from the bundle.",
		Remedy: "`adopt` shows a plan with the present owner and the effects, and writes only the ownership " +
			"metadata. `owner` explains each label. If another bundle or release desires the object too, remove it " +
			"there first.",
		Versions: "all. In 0.10, an install with helm.takeOwnership does not write to custom resources that exist",
		Issues:   []string{"rancher/fleet#910", "rancher/fleet#2134", "rancher/fleet#3704"},
		Sections: []string{"1.2", "1.3", "1.7"},
	},
	"FD103": {
		Evidence: "The desired objects of two bundle deployments on one cluster have the same group, kind, " +
			"namespace and name. The ownership metadata shows the present owner.",
		Remedy: "Decide which bundle keeps the object, and remove it from all others. Helm deletes a removed object " +
			"by name, and does not check its owner. To keep the object, first deploy the other bundles with the " +
			"annotation helm.sh/resource-policy: keep on it.",
		Versions: allVersions, Sections: []string{"1.7", "1.11"},
	},
	"FD104": {
		Evidence: "Each field of the manifest is compared with the live object, after the defaults of the API " +
			"server and the comparePatches of the bundle. The managedFields of the object name the last manager of " +
			"a field and the time.",
		Remedy: "Restore: the finding has a command that writes only this object again, from the release record, " +
			"with Helm and awk. With correctDrift, Helm rolls the release back after each change. Accept: commit " +
			"the live value to Git, or add a comparePatch for the field to fleet.yaml.",
		Versions: "all. Some versions report a difference where the audit finds none: number of replicas that an " +
			"autoscaler set (before 0.15), an injected caBundle (before 0.15.6, 0.16.0), defaults of the API server " +
			"(0.15.0 to 0.15.2)",
		Issues: []string{"rancher/fleet#4029", "rancher/fleet#5020", "rancher/fleet#5368"}, Sections: []string{"3.2", "3.3", "3.6", "3.7"},
	},
	"FD105": {
		Evidence: "The object has the hash label of the bundle, a former revision of the release has it, and the " +
			"present manifest does not.",
		Remedy: "Delete the object if nothing uses it. Otherwise add it to a bundle again, or remove the ownership " +
			"metadata from it.",
		Versions: allVersions, Issues: []string{"rancher/fleet#1141", "rancher/fleet#1201"}, Sections: []string{"1.8", "3.5"},
	},
	"FD106": {
		Evidence: "The object has the hash label of a set, and all release records of the cluster were read: none " +
			"of them has this set.",
		Remedy: "`adopt` assigns the object to a bundle that desires it. If no bundle desires it, delete it, or " +
			"remove the ownership metadata from it.",
		Versions: allVersions, Sections: []string{"1.1", "1.8"},
	},
	"FD107": {
		Evidence: "The status of the live object, evaluated with the readiness rules of Fleet's agent. The finding " +
			"names the condition that decides.",
		Remedy: "`kubectl describe` the object and its Pods: this is a problem of the workload, not of Fleet. " +
			"ignore.conditions in fleet.yaml excludes a condition.",
		Versions: "all. 0.10 uses other rules for some kinds", Sections: []string{"4.1"},
	},
	"FD108": {
		Evidence: "The label objectset.rio.cattle.io/hash has the hash of the bundle's set, and the annotation " +
			"objectset.rio.cattle.io/id has another value or is missing.",
		Remedy:   "Nothing has to be done: neither Fleet nor Helm reads the annotation.",
		Versions: allVersions, Sections: []string{"1.2", "1.7"},
	},
	"FD109": {
		Evidence: "The object has the hash label of a bundle, no recorded revision has it, and it is no hook.",
		Remedy: "Nothing has to be done. If you can configure the operator that created the object, exclude the " +
			"labels objectset.rio.cattle.io/* from the labels that it copies.",
		Versions: allVersions, Issues: []string{"rancher/fleet#1141", "rancher/fleet#1201"}, Sections: []string{"1.3", "3.5"},
	},
	"FD110": {
		Evidence: "namespaceLabels and namespaceAnnotations of the BundleDeployment, compared with the live " +
			"Namespace of the release.",
		Remedy: "Set the labels or annotations by hand, which changes nothing else. Any deploy of the bundle writes " +
			"them too, except Pod Security labels in the versions below.",
		Versions: "all. 0.12.15+, 0.13.11+, 0.14.6+, 0.15.2+ and 0.16.0 to 0.16.1 do not write labels that begin " +
			"with pod-security.kubernetes.io/",
		Issues: []string{"rancher/fleet#5550", "rancher/fleet#5687"}, Sections: []string{"1.10"},
	},
	"FD111": {
		Evidence: "The manifest of the missing Job states ttlSecondsAfterFinished.",
		Remedy: "Nothing has to be done. To make Fleet report the bundle as ready, make the Job a Helm hook (hooks " +
			"are not counted), remove ttlSecondsAfterFinished, or add an operation `ignore` for it (0.12+).",
		Versions: allVersions, Sections: []string{"3.1", "3.3"},
	},
	"FD201": {
		Evidence: "status.resourceCounts of the BundleDeployment, its lists or its state, compared with its live " +
			"objects in Fleet's own terms.",
		Remedy: "Use the counts of the audit. The cause in the finding says what makes Fleet's counts wrong, and " +
			"whether they correct themselves (`explain CAUSE`).",
		Versions: "all. resourceCounts exist from 0.12 on; in 0.10 and 0.11 the lists are compared, or the state if " +
			"they may be truncated",
		Issues: []string{"rancher/fleet#3203", "rancher/fleet#3408"}, Sections: []string{"4.2", "4.5", "4.6"},
	},
	"FD202": {
		Evidence: "status.summary of the Bundle, compared with the states of its BundleDeployments.",
		Remedy: "Use the counts of the audit. If the difference stays, look at the log of fleet-controller: the " +
			"Bundle is probably not processed.",
		Versions: allVersions, Sections: []string{"4.4", "5.5"},
	},
	"FD203": {
		Evidence: "The counts in the status of the GitRepo or HelmOp, compared with the total of its BundleDeployments.",
		Remedy:   "Use the counts of the audit. The cause in the finding says whether they correct themselves.",
		Versions: "all. Before 0.12 the counts come from truncated lists",
		Issues:   []string{"rancher/fleet#3203", "rancher/fleet#3532"}, Sections: []string{"4.4", "4.6"},
	},
	"FD204": {
		Evidence: "readyClusters and desiredReadyClusters of the GitRepo or HelmOp, compared with the clusters that " +
			"its targets select.",
		Remedy: "Use the counts of the audit. FD301 and FD302 name the clusters with a bundle deployment too many " +
			"or too few.",
		Versions: "all. 0.10 reports the clusters of one bundle",
		Issues:   []string{"rancher/fleet#2995", "rancher/fleet#3008"}, Sections: []string{"4.4", "4.6"},
	},
	"FD205": {
		Evidence: "The counts in the status of the Cluster, compared with the total of the BundleDeployments in its " +
			"namespace.",
		Remedy: "Wait for the next heartbeat of the agent (15 minutes by default), or use the counts of the audit. " +
			"If the agent does not report, see FD502.",
		Versions: "all. Before 0.10.8 and from 0.11.0 to 0.11.2 a Cluster counts the objects that its GitRepos have " +
			"on all clusters",
		Issues: []string{"rancher/fleet#3102", "rancher/rancher#46916"}, Sections: []string{"4.4", "4.6"},
	},
	"FD206": {
		Evidence: "The counts in the status of the ClusterGroup, compared with the total of the Clusters that its " +
			"selector selects.",
		Remedy:   "Use the counts of the audit. If the difference stays, look at the log of fleet-controller.",
		Versions: allVersions, Sections: []string{"4.4"},
	},
	"FD207": {
		Evidence: "A list in the status of the BundleDeployment has ten entries, or incompleteState is true.",
		Remedy:   "Use the list of the audit, which is complete.",
		Versions: "incompleteState exists from 0.12 on; before, the lists end at ten entries without a sign",
		Issues:   []string{"rancher/fleet#3532"}, Sections: []string{"3.5"},
	},
	"FD208": {
		Evidence: "spec.paused, spec.offSchedule, or a status.appliedDeploymentID that is not spec.deploymentID.",
		Remedy: "Use the states of the audit. Resume the bundle or the cluster if the pause is over: the agent then " +
			"deploys what is pending.",
		Versions: "all. Schedules exist from 0.14 on", Sections: []string{"4.5"},
	},
	"FD209": {
		Evidence: "Two conditions, or a condition and a count, of the same status.",
		Remedy:   "Use the states of the audit, and upgrade Fleet if an issue below is fixed in a later version.",
		Versions: "all. Before 0.14.3, the Ready condition of a healthy object keeps the reason Error",
		Issues:   []string{"rancher/fleet#3954", "rancher/fleet#4578"}, Sections: []string{"4.6"},
	},
	"FD301": {
		Evidence: "The targets of the Bundle, evaluated for the cluster with the rules of the version of the " +
			"controller, and the BundleDeployment that exists nevertheless.",
		Remedy: "`targets` shows which target decides. If the bundle must leave the cluster, `impact` shows what " +
			"its removal deletes there; then delete the BundleDeployment. If it must stay, correct the targets " +
			"before Fleet processes the Bundle.",
		Versions: "all. Before 0.12.3, a later doNotDeploy leaves the BundleDeployment",
		Issues:   []string{"rancher/fleet#4688", "rancher/fleet#4940"}, Sections: []string{"5.2", "5.3", "5.5"},
	},
	"FD302": {
		Evidence: "The targets of the Bundle, evaluated for the cluster, and a complete list of BundleDeployments " +
			"without one for it.",
		Remedy: "`targets` shows which target matches. Look at the conditions of the Bundle and at the log of " +
			"fleet-controller: the controller creates the BundleDeployment when it processes the Bundle.",
		Versions: allVersions, Sections: []string{"5.4", "5.5"},
	},
	"FD303": {
		Evidence: "The labels of the BundleDeployment, or the annotations of the Namespace, name a Bundle or " +
			"Cluster that does not exist.",
		Remedy: "Restore the Bundle or the Cluster if it was deleted by mistake. Otherwise delete the " +
			"BundleDeployment: this uninstalls its release from the cluster if the agent still runs (`impact` shows " +
			"what is deleted).",
		Versions: allVersions, Sections: []string{"1.12", "4.7"},
	},
	"FD304": {
		Evidence: "The label fleet.cattle.io/repo-name or fleet.cattle.io/fleet-helm-name of the Bundle, and a " +
			"complete list of the GitRepos or HelmOps.",
		Remedy: "Restore the GitRepo or HelmOp if it was deleted by mistake. Otherwise delete the Bundle: this " +
			"uninstalls it from every cluster (`impact` shows what is deleted).",
		Versions: allVersions, Sections: []string{"1.12", "4.7"},
	},
	"FD305": {
		Evidence: "The targets of the Bundle, evaluated for each Cluster that they can reach.",
		Remedy: "`targets` shows for each cluster why no target matches. Correct the labels of the Clusters, the " +
			"ClusterGroup, or the targets.",
		Versions: allVersions, Sections: []string{"5.1", "5.2", "5.4"},
	},
	"FD306": {
		Evidence: "The condition Ready of the Bundle has the reason Error. The finding names the targeting error " +
			"that the audit finds in the targets. If it finds none, the finding quotes the message of the condition.",
		Remedy: "Add the missing label to the Cluster, or give the template a default value. The controller then " +
			"processes all clusters of the Bundle again.",
		Versions: allVersions, Issues: []string{"rancher/fleet#3190"}, Sections: []string{"2.5", "5.5"},
	},
	"FD401": {
		Evidence: "The hash of the values Secret, compared with spec.valuesHash of the BundleDeployment, and the " +
			"time of the last change of both.",
		Remedy:   "Wait a minute, then run the audit again. If the difference stays, the finding becomes FD402 or FD403.",
		Versions: "from 0.10.11, 0.11.6 and 0.12.1 on; waitingForValues from 0.14.4 on",
		Issues:   []string{"rancher/fleet#3528", "rancher/fleet#4962"}, Sections: []string{"6.2", "6.3", "6.4"},
	},
	"FD402": {
		Evidence: "spec.valuesHash of the BundleDeployment states values, and its namespace has no Secret with the " +
			"name of the BundleDeployment.",
		Remedy: "In one change of the spec of the BundleDeployment, set valuesHash and deploymentID to \"\" and " +
			"waitingForValues to true. Then change an annotation of the Bundle: the controller writes the Secret. " +
			"If the Secret of the Bundle is wrong too (FD404), repair the Secret of the Bundle first.",
		Versions: "from 0.10.11, 0.11.6 and 0.12.1 on, with other effects in each range of versions",
		Issues:   []string{"rancher/fleet#4599"}, Sections: []string{"6.2", "6.3"},
	},
	"FD403": {
		Evidence: "The SHA-256 of the values in the Secret, compared with spec.valuesHash of the BundleDeployment. " +
			"The values themselves are never shown.",
		Remedy: "As for FD402: discard the hash together with deploymentID, so that the controller writes the " +
			"Secret and the hash again. From 0.15.3 on, the controller discards the hash by itself.",
		Versions: "from 0.10.11, 0.11.6 and 0.12.1 on; repaired by the controller from 0.15.3 on",
		Issues:   []string{"rancher/fleet#4962", "rancher/fleet#4963"}, Sections: []string{"6.2", "6.3"},
	},
	"FD404": {
		Evidence: "The SHA-256 of the data of the Bundle's values Secret, compared with spec.valuesHash of the Bundle.",
		Remedy: "A new forceSyncGeneration of the GitRepo runs its job again, which writes the Bundle and the " +
			"Secret. It also deploys all bundles of the GitRepo again, on every cluster.",
		Versions: "from 0.10.11, 0.11.6 and 0.12.1 on", Issues: []string{"rancher/fleet#3528"}, Sections: []string{"6.1"},
	},
	"FD405": {
		Evidence: "The type, the owner references and the name of the Secret, and whether its BundleDeployment or " +
			"Bundle exists and states a hash.",
		Remedy: "Delete the Secret if nothing needs it: it has values of an earlier deploy. If its owner is wrong, " +
			"correct the owner reference. Otherwise Kubernetes deletes or keeps the Secret by mistake.",
		Versions: "from 0.10.11, 0.11.6 and 0.12.1 on", Sections: []string{"6.3", "6.4"},
	},
	"FD406": {
		Evidence: "Hashes of the data of the original on the management cluster and of the copy in the release namespace.",
		Remedy: "Deploy the bundle again, which writes the copies again. From 0.15 on, a change of the data of the " +
			"original has the same effect.",
		Versions: "from 0.14 on; in 0.14 a change of the original reaches the copy only with the next deploy",
		Sections: []string{"6.5"},
	},
	"FD501": {
		Evidence: "Each value that the controller recorded at the last import, compared with its present " +
			"configuration, the kubeconfig Secret and the spec of the Cluster.",
		Remedy: "Plan the restart of the controller: the agent is deleted, installed and registered again. If a " +
			"field changed by mistake, restore it before the restart. `agents` shows all Clusters.",
		Versions: "all. Before 0.13, each Cluster whose kubeconfig Secret has its own URL or CA is imported at every start",
		Issues:   []string{"rancher/fleet#3551", "rancher/fleet#3837"}, Sections: []string{"7.2", "7.3", "7.4", "7.5"},
	},
	"FD502": {
		Evidence: "status.agent.lastSeen of the Cluster, and the interval of the heartbeat (CHECKIN_INTERVAL).",
		Remedy: "Look at the Pod and the log of fleet-agent on the cluster: it may not run, not reach the " +
			"management cluster, or have invalid credentials.",
		Versions: allVersions, Sections: []string{"7.1", "7.6"},
	},
	"FD503": {
		Evidence: "status.agent.lastSeen is empty, and three intervals have passed since the Cluster was imported " +
			"or, if its agent registers itself, created.",
		Remedy: "Look at the Pod and the log of fleet-agent on the cluster, and compare the API server URL and CA " +
			"that the controller gave to it with those of the management cluster.",
		Versions: allVersions, Sections: []string{"7.1", "7.2"},
	},
	"FD504": {
		Evidence: "AGENT_SCOPE of the running agent, the set ids in its release records, the ownership metadata of " +
			"live objects, and spec.agentNamespace of the Cluster.",
		Remedy: "Start the agent: a running agent shows its scope. If it does not run, `--agent-scope` states it " +
			"for `audit` and `adopt`.",
		Versions: allVersions, Sections: []string{"1.1", "1.5"},
	},
	"FD601": {
		Evidence: "The Content that spec.deploymentID names does not exist, or its data does not have the checksum " +
			"in its name.",
		Remedy:   "Change an annotation of the Bundle: the controller processes the Bundle, and writes the Content again.",
		Versions: "all. Before 0.14.1, finalizers protect a Content; later, labels",
		Issues:   []string{"rancher/fleet#4472"}, Sections: []string{"2.1", "2.2"},
	},
	"FD602": {
		Evidence: "The release record that status.release of the BundleDeployment names, with its status and age. " +
			"For a failed revision, the finding quotes the error of Helm.",
		Remedy: "Pending: wait for the deploy, or let the agent roll back with the next deploy. Pruned or damaged: " +
			"deploy the bundle again, so that there is a new record. Pending without an earlier revision, before " +
			"0.13.10 and from 0.14.0 to 0.14.3: delete the record if no agent is at work on it.",
		Versions: "all. 0.13.10+, 0.14.4+ and 0.15 on resolve a pending first revision", Sections: []string{"1.7", "2.8"},
	},
	"FD603": {
		Evidence: "metadata.deletionTimestamp and metadata.finalizers of the object, and the objects that it waits for.",
		Remedy: "Look at the log of the Deployment that removes the finalizer (gitjob, helmops or " +
			"fleet-controller). Remove a finalizer by hand only if what its controller cleans up is gone.",
		Versions: "all. The finalizer of a Cluster exists from 0.14 on", Sections: []string{"1.12", "4.7"},
	},
	"FD604": {
		Evidence: "What the agent tests before it deploys, in its order: pause, schedule, values, dependencies, " +
			"contents, release record, and the condition Deployed or Installed.",
		Remedy: "The finding quotes the error of Fleet or Helm. `preflight` predicts whether the next deploy is " +
			"refused, and `why` shows the chain from the object to this root cause.",
		Versions: "all. Before 0.13.7 and from 0.14.0 to 0.14.1 the agent tries again with growing pauses",
		Sections: []string{"4.3", "4.9"},
	},
	"FD605": {
		Evidence: "status.lastPollingTriggered, the condition GitPolling, status.observedGeneration and " +
			"status.commit of the GitRepo, and the commits on its Bundles.",
		Remedy: "The finding quotes the error of the poll or of the Job. The log of gitjob has the details. If a " +
			"commit is on no Bundle, a new forceSyncGeneration starts a Job; it also deploys all bundles of the " +
			"GitRepo again.",
		Versions: "all. Before 0.15.1 a commit is forgotten if its Job cannot be created",
		Issues:   []string{"rancher/fleet#4948"}, Sections: []string{"4.8"},
	},
	"FD606": {
		Evidence: "A release record with the annotations of Fleet's agent, and no BundleDeployment of its bundle id.",
		Remedy: "If its objects are needed, `adopt` assigns them to another bundle. Then delete the Secrets of the " +
			"record, which keeps the objects; `helm uninstall` deletes the objects too.",
		Versions: allVersions, Sections: []string{"1.6", "1.8", "1.9"},
	},
	"FD607": {
		Evidence: "The gap that the report lists: the release record or the live objects of the bundle deployment " +
			"could not be read.",
		Remedy: "`audit --print-rbac` prints the role that an audit needs. For a snapshot, capture all Secrets of " +
			"type helm.sh/release.v1 with their data.",
		Versions: allVersions, Sections: []string{"2.8"},
	},
	"FD608": {
		Evidence: "The newest record of the release, all BundleDeployments of its agent, and the release name and " +
			"namespace that follow from the present options.",
		Remedy: "Scale the agent to zero to gain time, because a restart starts a cycle at once. Then restore the " +
			"Bundle with its former release name and namespace, or back up the objects. `impact` shows what an " +
			"uninstall deletes.",
		Versions: "all. Before 0.15.6 and in 0.16.0 also valid releases with dots or more than 53 characters in the " +
			"name; from 0.16.2 on the agent confirms the deletion first",
		Issues: []string{"rancher/fleet#5261", "rancher/fleet#5302", "rancher/fleet#5664"}, Sections: []string{"1.6", "1.9", "1.11"},
	},
	"FD609": {
		Evidence: "spec.correctDrift of the BundleDeployment, and a field whose managedFields prove that its value " +
			"is older than 15 minutes.",
		Remedy: "Look at the log of fleet-agent for a failed rollback. Restore the field by hand. If another field " +
			"manager owns the field, enable correctDrift.force: it deletes and creates objects that cannot be " +
			"changed.",
		Versions: "all. Before 0.16, enabling correctDrift has an effect only at the next change of an object",
		Issues:   []string{"rancher/fleet#1594", "rancher/fleet#4878", "rancher/fleet#4945"}, Sections: []string{"3.6"},
	},
	"FD701": {
		Evidence: "status.modifiedStatus[].patch of the BundleDeployment, and its copies in Bundle, GitRepo and " +
			"Cluster. The report names the keys, never the values.",
		Remedy: "Restore the Secret to the values of the bundle: Fleet then removes the patch from the status. Then " +
			"change the exposed passwords.",
		Versions: allVersions, Sections: []string{"3.2", "4.4"},
	},
	"FD702": {
		Evidence: "The comparePatches in the options of the bundle, applied to its desired objects by the rules of " +
			"the agent.",
		Remedy: "Correct the rule in fleet.yaml. Operations need the exact apiVersion, kind, namespace and name. If " +
			"one operation fails, no other operation on the same object takes effect.",
		Versions: "all. The operation `ignore` exists from 0.12 on; from 0.15 on its name is a pattern",
		Sections: []string{"3.3"},
	},
	"FD703": {
		Evidence: "The size of the Bundle as JSON.",
		Remedy: "Split the directory into several bundles, exclude files with .fleetignore, or store the contents " +
			"in an OCI registry.",
		Versions: allVersions, Sections: []string{"2.1", "2.2"},
	},
	"FD704": {
		Evidence: "The name of the bundle, its targets and restrictions, and its options.",
		Remedy: "Rename a bundle that begins with fleet-agent: the new name is a new bundle, so `impact` for the " +
			"old one first. Remove an empty overrideTargets. Move cluster-scoped objects to a bundle without " +
			"targetNamespace.",
		Versions: allVersions, Sections: []string{"1.1", "1.3", "5.1"},
	},
}

// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// states are the states of objects and of bundle deployments.
func states() []report.Topic {
	s := func(name report.State, what, why, remedy string, sections ...string) report.Topic {
		return report.Topic{Kind: report.TopicState, Name: string(name), What: what, Why: why, Remedy: remedy, Sections: sections}
	}
	return []report.Topic{
		s(report.Ready, "the object exists, the bundle owns it, it is as desired, and it is ready",
			"The readiness rules of Fleet's agent decide. A bundle deployment is Ready if all of its objects are Ready.", "", "4.1", "4.3"),
		s(report.NotReady, "the object exists, the bundle owns it and it is as desired, but its status is not ready",
			"The finding FD107 names the condition that decides. A failed installation makes a bundle deployment NotReady too.", "Look at the object: "+
				"`kubectl describe`.", "4.1", "4.3"),
		s(report.Modified, "a field that the bundle states has another value on the cluster, or is not set",
			"Fields that the bundle does not state are ignored, and so are those that a comparePatch of the bundle excludes. See FD104.",
			"`audit --diff` shows both values, and who wrote the field and when.", "3.2", "3.3"),
		s(report.Missing, "a desired object is not on the cluster", "The kind was read completely in the namespace. See FD101 and, for a Job, FD111. "+
			"If an object exists without the right hash, Fleet reports it as missing too; the audit calls it Unowned.", "See FD101.", "3.1", "3.5"),
		s(report.Unowned, "the object exists without the ownership metadata of the bundle",
			"Only the label objectset.rio.cattle.io/hash decides for Fleet, which reports the object as missing or as \"not owned by us\". The reason "+
				"says what it has instead. See FD102.",
			"`adopt` shows the present owner, and writes the ownership metadata.", "1.3", "1.7"),
		s(report.Orphaned, "the object was in an earlier revision of the bundle and is no longer desired", "It is not counted as desired. Nothing "+
			"deletes it. See FD105.",
			"Delete it if nothing uses it.", "1.8", "3.5"),
		s(report.Unknown, "the object, or what is desired, could not be read", "It counts neither as ready nor as missing. The reason says what is "+
			"not known.",
			"The gaps of the report say what to read in addition; `audit --print-rbac` prints the role that an audit needs.", "4.5"),
		s(report.OutOfSync, "the bundle deployment has a newer deployment that is staged and not yet released to this cluster",
			"A rollout has not reached the cluster, or the bundle or the cluster is paused.", "`why` shows the limit of the rollout, or what is "+
				"paused.", "4.3", "5.7"),
		s(report.WaitApplied, "the agent has not applied the current deployment yet", "The agent may be at work, silent, off schedule, or waiting for "+
			"values.",
			"`why` shows what it waits for.", "4.3", "4.9"),
		s(report.ErrApplied, "the agent could not apply the current deployment", "The finding FD604 quotes the error in "+
			"the condition Deployed. If a dependency is not ready, this state is reported too.",
			"`why` shows the root cause.", "4.3", "4.9"),
		s("Pending", "Fleet's word for a target of a Bundle without a BundleDeployment", "A rollout has not reached the cluster.", "`why` and "+
			"`targets` show the clusters.", "4.4", "5.5"),
	}
}

// reasons are the reasons of the states Unowned and Unknown.
func reasons() []report.Topic {
	r := func(name, what, remedy string, sections ...string) report.Topic {
		return report.Topic{Kind: report.TopicReason, Name: name, What: what, Remedy: remedy, Sections: sections}
	}
	const adopt = "`adopt` writes the ownership metadata."
	return []report.Topic{
		r(string(ownership.Unmarked), "Unowned: the object has no ownership metadata at all: something other than Fleet and Helm created "+
			"it", adopt, "1.3", "1.7"),
		r(string(ownership.HelmOnly), "Unowned: the object has Helm's annotations of the bundle's release, but neither id nor hash of a set. The "+
			"option helm.takeOwnership can have this effect",
			adopt, "1.7"),
		r(string(ownership.HashStripped), "Unowned: the object has the id of the bundle's set without the hash: somebody removed the label", adopt, "1.2"),
		r(string(ownership.ForeignOwner), "Unowned: the object has the hash or the id of another set, or Helm's annotations of another release",
			"`owner` shows the present owner. `adopt` takes the object only if that owner does not exist any more, or if --dangerous-take-from names "+
				"it.", "1.3", "1.7"),
		r(string(ownership.Inconsistent), "Unowned: the object has the id of the bundle's set, and the hash of another one", "`owner` shows both.", "1.2"),
		r(string(source.Forbidden), "Unknown: the user may not read it", "`audit --print-rbac` prints a role that permits it."),
		r(string(source.KindNotServed), "Unknown: the API server does not serve the kind in this version", "Install the CustomResourceDefinition, or "+
			"correct the apiVersion in the manifest.", "3.1"),
		r(string(source.ReadFailed), "Unknown: the API server answered with an error, did not answer, or the object could not be decoded", "Run the "+
			"audit again; the gap in the report has the error."),
		r(string(source.NotInSnapshot), "Unknown: the snapshot does not prove whether the object existed",
			"Capture the kind in all namespaces; "+check.Pages+"snapshots.md describes what a snapshot has to contain."),
		r(string(directory.NoReleaseRecord), "Unknown: nothing is installed, or the revision that the BundleDeployment names is not recorded any more",
			"See FD602. `--desired=bundle` takes the desired objects from the contents of the bundle instead.", "2.8"),
		r(string(directory.RecordUnreadable), "Unknown: the release record or its manifest is damaged", "See FD602. `--desired=bundle` takes the "+
			"desired objects from the contents of the bundle instead.", "2.8"),
		r(string(directory.ClusterNotRead), "Unknown: the bundle deployment is on a cluster that the audit does not read. The report shows what Fleet reports",
			"--cluster, --contexts, --via-rancher or --via-kubeconfig-secrets read it in the same audit."),
		r(evaluate.ScopeUnproven, "Unknown: the object has the set of its bundle with another scope than the release states, and no running agent "+
			"shows which scope is in use",
			"See FD504.", "1.5"),
		r(evaluate.ReleaseChanged, "Unknown: an upgrade of the release may have changed the object while the cluster was read", "Run the audit again "+
			"when the rollout has ended."),
	}
}

// causes are why a number in a status of Fleet is wrong.
func causes() []report.Topic {
	c := func(name check.Cause, what, remedy string, sections ...string) report.Topic {
		return report.Topic{Kind: report.TopicCause, Name: string(name), What: what, Remedy: remedy, Sections: sections}
	}
	return []report.Topic{
		c(check.Lag, "Fleet has not updated the status yet. This is also the cause if the times do not show how old the difference is", "Run the "+
			"audit again later.", "4.4", "4.5"),
		c(check.StaleAgent, "the agent has stopped reporting, or has never reported", "See FD502 and FD503.", "7.1"),
		c(check.Paused, "the bundle or the cluster is paused, and the agent does not update its status", "Resume it if the pause is over.", "4.5"),
		c(check.OffSchedule, "the bundle is outside its schedule, and the agent does not update its status", "Wait for the next window of the "+
			"schedule.", "4.5"),
		c(check.PendingRollout, "targets that the rollout has not reached are not counted", "`why` shows the limit of the rollout.", "5.5", "5.7"),
		c(check.Truncated, "the numbers come from lists that end at ten entries", "Upgrade Fleet to 0.12 or later.", "3.5", "4.6"),
		c(check.StickyIncomplete, "Fleet lists objects as Unknown, because it never resets incompleteState", "Nothing has to be done: use the list of "+
			"the audit.", "3.5"),
		c(check.LastApplied, "Fleet reports objects as modified because of fields that only an old last-applied annotation states",
			"Remove the annotation kubectl.kubernetes.io/last-applied-configuration from the objects.", "3.2"),
		c(check.KnownBug, "the version that runs has a known bug; the message names its issue", "Upgrade Fleet to a version with the correction.", "4.6"),
		c(check.Unexplained, "the times prove that this is no delay, and no other cause applies", "Look at the log of fleet-agent or "+
			"fleet-controller.", "4.4"),
	}
}

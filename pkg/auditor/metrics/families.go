// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

const prefix = "fleetdoctor_"

// Family is a metric: its name, the names of its labels, and what it means.
type Family struct {
	Name   string
	Labels []string
	Help   string
	// Bound says how many series there are.
	Bound string
}

// Histogram reports whether the metric is a histogram, which is neither a counter nor a gauge.
func (f Family) Histogram() bool { return f.Name == evaluationSeconds || f.Name == changeToMetric }

// Type is that of Prometheus, which the name states.
func (f Family) Type() prometheus.ValueType {
	if strings.HasSuffix(f.Name, "_total") {
		return prometheus.CounterValue
	}
	return prometheus.GaugeValue
}

// deploymentLabels name a bundle deployment. Fleet's own metrics have the same ones, except for
// bundledeployment_namespace: there, it is called namespace.
var deploymentLabels = []string{"bundledeployment_namespace", "name", "cluster_namespace", "cluster_name",
	"bundle_namespace", "bundle", "repo"}

// objectLabels name an object that a bundle deploys, or an object of Fleet.
var objectLabels = []string{"kind", "api_group", "object_namespace", "object"}

const (
	one           = "1"
	perCode       = "1 for each check"
	perDeployment = "1 for each bundle deployment"
	perFleet      = "1 for each GitRepo, Bundle and BundleDeployment"
)

// of returns the labels of a bundle deployment with others.
func of(others ...string) []string { return slices.Concat(deploymentLabels, others) }

// ofObject returns the labels of an object of a bundle deployment with others.
func ofObject(others ...string) []string {
	return slices.Concat(deploymentLabels, objectLabels, others)
}

// The metrics of bundle deployments and of their objects.
const (
	deploymentState    = prefix + "bundledeployment_state"
	reportedState      = prefix + "bundledeployment_reported_state"
	desiredObjects     = prefix + "bundledeployment_desired_objects"
	objects            = prefix + "bundledeployment_objects"
	reportedDesired    = prefix + "bundledeployment_reported_desired_objects"
	reportedObjects    = prefix + "bundledeployment_reported_objects"
	oldest             = prefix + "bundledeployment_oldest_timestamp_seconds"
	pending            = prefix + "bundledeployment_pending"
	blocked            = prefix + "bundledeployment_blocked"
	revisions          = prefix + "bundledeployment_revisions_total"
	vanished           = prefix + "bundledeployment_vanished_objects_total"
	uninstalled        = prefix + "bundledeployment_uninstalled_total"
	unnamedDeployments = prefix + "unnamed_bundledeployments"
	objectState        = prefix + "object_state"
	unnamedObjects     = prefix + "unnamed_objects"
	flapping           = prefix + "flapping_field_changes"
	findings           = prefix + "findings"
	finding            = prefix + "finding"
	unnamedFindings    = prefix + "unnamed_findings"
	oldestFinding      = prefix + "findings_oldest_timestamp_seconds"
	fleetSize          = prefix + "fleet_object_size_bytes"
	fleetWrites        = prefix + "fleet_object_writes_total"
	coverage           = prefix + "coverage_bundledeployments"
	gaps               = prefix + "auditor_gaps"
	leader             = prefix + "auditor_leader"
	synced             = prefix + "auditor_synced"
	lastEvaluation     = prefix + "auditor_last_evaluation_timestamp_seconds"
	stateAge           = prefix + "auditor_state_age_seconds"
	evaluationSeconds  = prefix + "auditor_evaluation_duration_seconds"
	changeToMetric     = prefix + "auditor_change_to_metric_seconds"
	queue              = prefix + "auditor_queue_length"
	watchRestarts      = prefix + "auditor_watch_restarts_total"
	build              = prefix + "auditor_build_info"
	namedPerDeployment = "at most 20 for each bundle deployment, 500 for the releases of a " +
		"namespace, and 5,000 in total"
	flappingPerDeployment = "at most 5 for each bundle deployment"
)

// Families lists all metrics in the order of the documentation.
func Families() []Family {
	return slices.Concat(ofDeployments, ofAggregates(), ofFleet)
}

// ofDeployments are the metrics of bundle deployments, of their objects, and of findings.
var ofDeployments = []Family{
	{deploymentState, of("state", "reason"), "1 for the actual state of a bundle deployment, with the reason if it " +
		"is Unknown.", perDeployment},
	{desiredObjects, of(), "Number of desired objects of a bundle deployment.", perDeployment},
	{objects, of("state"), "Number of objects of a bundle deployment by their actual state. Orphaned ones are not " +
		"desired. Without a result, there is no series.", "7 for each bundle deployment"},
	{oldest, of("state"), "When the object that has been longest in a state other than Ready was first seen in it.",
		"at most 6 for each bundle deployment"},
	{reportedState, of("state"), "1 for the state that Fleet reports of a bundle deployment.", perDeployment},
	{reportedDesired, of(), "Number of desired objects of a bundle deployment that Fleet reports.", perDeployment},
	{reportedObjects, of("state"), "Number of objects of a bundle deployment by the state that Fleet reports.",
		"5 for each bundle deployment"},
	{pending, of(), "1 if the controller requests another deployment than the agent has applied.", perDeployment},
	{blocked, of("blocker", "root"), "1 if a requested deployment is not applied and the reason is known: the first " +
		"reason and the root cause.", "at most " + perDeployment},
	{revisions, of(), "Number of new revisions of the Helm release.", perDeployment},
	{vanished, of(), "Number of desired objects that existed and are missing now, counted when they vanish.",
		perDeployment},
	{uninstalled, of("bundle_exists"), "Number of times that the Helm release vanished, by whether its Bundle " +
		"existed: true, false or unknown. It remains for an hour after the bundle deployment is gone.",
		"3 for each bundle deployment"},
	{unnamedDeployments, []string{"release_namespace"}, "Number of bundle deployments without series, of which only " +
		"the release is known, by its namespace. The series of at most 250 of them in a namespace are shown, and of " +
		"2,000 in total.", "1 for each namespace with too many"},
	{objectState, ofObject("state"), "1 for the state of an object that is not Ready.", namedPerDeployment},
	{unnamedObjects, of(), "Number of objects that are not Ready and have no series of " + objectState + ".",
		perDeployment},
	{flapping, ofObject("path", "manager", "reverted_by"), "Number of times in the last hour that a manager wrote " +
		"another value into a field which had the desired value again. reverted_by is release if the Helm release " +
		"got a new revision in between, and else unknown.", flappingPerDeployment},
	{findings, []string{"code", "severity"}, "Number of findings of a check.", perCode},
	{finding, ofObject("code", "severity"), "Number of findings of a check about an object. Only findings about a " +
		"bundle deployment have its labels.", "at most 20 for each check and bundle deployment, and " +
		"500 for each check"},
	{unnamedFindings, []string{"code"}, "Number of findings that have no series of " + finding + ".",
		"at most " + perCode},
	{oldestFinding, []string{"code"}, "When the oldest finding of a check was seen first.", "at most " + perCode},
}

// level is a kind of objects above the bundle deployments.
type level struct {
	kind, name string
	labels     []string // of its namespace and its name
}

var levels = []level{
	{"GitRepo", "gitrepo", []string{"workspace", "name"}},
	{"HelmOp", "helmop", []string{"workspace", "name"}},
	{"Bundle", "bundle", []string{"workspace", "name"}},
	{"Cluster", "cluster", []string{"cluster_namespace", "cluster_name"}},
	{"ClusterGroup", "cluster_group", []string{"workspace", "name"}},
}

// The ends of the names of the metrics of a level.
const (
	levelDesired          = "_desired_objects"
	levelObjects          = "_objects"
	levelDeployments      = "_bundledeployments"
	levelReady            = "_ready_bundledeployments"
	levelReportedDesired  = "_reported_desired_objects"
	levelReportedObjects  = "_reported_objects"
	levelReported         = "_reported_bundledeployments"
	levelReportedAreReady = "_reported_ready_bundledeployments"
)

// ofAggregates returns the metrics of each level. The actual ones exist only if all bundle deployments were read.
func ofAggregates() []Family {
	var out []Family
	for _, l := range levels {
		add := func(end, help string, number string, labels ...string) {
			out = append(out, Family{prefix + l.name + end, slices.Concat(l.labels, labels), help,
				number + " for each " + l.kind})
		}
		add(levelDesired, "Number of desired objects of a "+l.kind+".", one)
		add(levelObjects, "Number of objects of a "+l.kind+" by their actual state.", "7", "state")
		add(levelDeployments, "Number of bundle deployments of a "+l.kind+".", one)
		add(levelReady, "Number of bundle deployments of a "+l.kind+" that are actually ready.", one)
		if l.kind != "Bundle" { // the status of a Bundle has no numbers of objects
			add(levelReportedDesired, "Number of desired objects of a "+l.kind+" that Fleet reports.", one)
			add(levelReportedObjects, "Number of objects of a "+l.kind+" by the state that Fleet reports.", "5",
				"state")
		}
		add(levelReported, "Number of bundle deployments of a "+l.kind+" that Fleet reports.", one)
		add(levelReportedAreReady, "Number of ready bundle deployments of a "+l.kind+" that Fleet reports.", one)
	}
	return out
}

// ofFleet are the metrics of Fleet's objects, and of the auditor.
var ofFleet = []Family{
	{fleetSize, objectLabels, "Size of the JSON of an object of Fleet, without managedFields.", perFleet},
	{fleetWrites, objectLabels, "Number of times that an object of Fleet had another resourceVersion than in the " +
		"evaluation before. Several writes between two evaluations count once.", "1 for each object of Fleet"},
	{coverage, []string{"result"}, "Number of bundle deployments by how far they could be read: evaluated, unread, " +
		"unplaced, other_cluster.", "4"},
	{leader, nil, "1 if this replica writes Events, reports and the journal.", one},
	{synced, nil, "1 if everything was read that can be read.", one},
	{lastEvaluation, nil, "Time of the newest state.", one},
	{stateAge, nil, "Time for which the newest state may lack changes: since the first one that arrived and is not " +
		"in it, or since a watch is interrupted. Above 300, the state of all bundle deployments is Unknown.", one},
	{evaluationSeconds, nil, "Time for one evaluation.", "13"},
	{changeToMetric, nil, "Time from the arrival of a change to the metrics that show it.", "13"},
	{queue, nil, "Number of changes that arrived and are not evaluated yet.", one},
	{watchRestarts, nil, "Number of watches that broke and were started again.", one},
	{gaps, []string{"optional"}, "Number of things that could not be read, and of namespaces with " +
		unnamedDeployments + ". optional is true if no state of a desired " +
		"object needs them. If it is false, a lower number of findings does not mean that problems are solved.", "2"},
	{build, []string{"version"}, "1, with the version of the auditor.", one},
}

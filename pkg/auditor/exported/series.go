// SPDX-License-Identifier: Apache-2.0

// Package exported makes the report of an audit from the metrics that the auditors of many clusters export.
package exported

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/metrics"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
)

// prefix begins the name of each metric of an auditor.
const prefix = "fleetdoctor_"

// The metrics that are read, without the prefix. Those of the levels above the bundle deployments begin with the name
// of the level.
const (
	synced         = "auditor_synced"
	leader         = "auditor_leader"
	lastEvaluation = "auditor_last_evaluation_timestamp_seconds"
	auditorGaps    = "auditor_gaps"

	deploymentState = "bundledeployment_state"
	desiredObjects  = "bundledeployment_desired_objects"
	objects         = "bundledeployment_objects"
	reportedState   = "bundledeployment_reported_state"
	reportedDesired = "bundledeployment_reported_desired_objects"
	reportedObjects = "bundledeployment_reported_objects"
	pending         = "bundledeployment_pending"
	objectState     = "object_state"
	unnamedObjects  = "unnamed_objects"
	finding         = "finding"
	unnamedFindings = "unnamed_findings"
)

// Queries returns the expressions to ask for, the first one at the present time of the server, the others at the time
// of its series. match has label matchers of PromQL that select the auditors; empty for all.
func Queries(match string) []string {
	if match != "" {
		match = "," + match
	}
	of := func(name string) string { return fmt.Sprintf(`{__name__="%s%s"%s}`, prefix, name, match) }
	out := []string{of(synced), of(lastEvaluation), of(leader), of(auditorGaps), of(deploymentState), of(desiredObjects),
		of(reportedState), of(reportedDesired), of(pending)}
	for _, name := range []string{objects, reportedObjects, objectState, unnamedObjects, finding, unnamedFindings} {
		out = append(out, of(name)+" > 0") // most are 0
	}
	names := slices.Sorted(maps.Values(levels))
	return append(out, fmt.Sprintf(`{__name__=~"%s(%s)_.+"%s}`, prefix, strings.Join(names, "|"), match))
}

// labels returns the values of labels.
type labels model.Metric

// of returns the value of a label, which may be that of another program, for one line.
func (l labels) of(name string) string { return escape.Line(string(l[model.LabelName(name)])) }

// key is "namespace/name" of two labels; the name alone without a namespace.
func (l labels) key(namespace, name string) string {
	return strings.TrimPrefix(l.of(namespace)+"/"+l.of(name), "/")
}

// series is one series of an auditor. Its value is a whole number.
type series struct {
	labels
	name  string // without the prefix
	value int
}

// target is one replica of an auditor, as it was scraped.
type target struct {
	// name has its labels for people. site has those that all replicas of an auditor share.
	name, site string
	synced     bool
	leads      bool
	evaluated  time.Time // zero if that is not known
	gaps       int

	deployments map[deploymentKey]*deployment
	aggregates  map[aggregateKey]*aggregate
	findings    []series
	// unnamed are the numbers of findings without a series, by their code.
	unnamed map[string]int
}

// maxAge is how old the last evaluation of an auditor may be. An auditor evaluates each minute, and less often only if
// an evaluation takes more than half a second.
const maxAge = 15 * time.Minute

// usable reports whether the state that the auditor exports is the present one.
func (t *target) usable(now time.Time) bool { return t.synced && now.Sub(t.evaluated) <= maxAge }

// own are the labels of the metrics. The others are those of the scrape.
var own = func() map[model.LabelName]bool {
	out := map[model.LabelName]bool{model.MetricNameLabel: true}
	for _, f := range metrics.Families() {
		for _, l := range f.Labels {
			out[model.LabelName(l)] = true
		}
	}
	return out
}()

// ofReplica matches the names of labels that differ between the replicas of one auditor.
var ofReplica = regexp.MustCompile(`pod|instance|node|replica`)

// scraped returns the labels of the scrape of a series.
func scraped(m model.Metric) (name, site string) {
	all, shared := model.Metric{}, model.Metric{}
	for l, v := range m {
		if own[l] {
			continue
		}
		all[l] = v
		if !ofReplica.MatchString(string(l)) {
			shared[l] = v
		}
	}
	return escape.Line(all.String()), escape.Line(shared.String())
}

// targetsOf returns the auditors that exported the series, in the order of their names.
func targetsOf(all model.Vector) ([]*target, error) {
	of := map[string]*target{}
	for _, s := range all {
		name, site := scraped(s.Metric)
		t := of[name]
		if t == nil {
			t = &target{name: name, site: site, synced: true, deployments: map[deploymentKey]*deployment{},
				aggregates: map[aggregateKey]*aggregate{}, unnamed: map[string]int{}}
			of[name] = t
		}
		metric := strings.TrimPrefix(string(s.Metric[model.MetricNameLabel]), prefix)
		if metric == lastEvaluation {
			t.evaluatedAt(float64(s.Value))
			continue
		}
		value := float64(s.Value)
		if value < 0 || value > math.MaxInt32 || value != math.Trunc(value) {
			return nil, fmt.Errorf("%s has the value %v, which is not a number of objects: another program exports it",
				escape.Line(s.Metric.String()), s.Value)
		}
		t.add(series{labels(s.Metric), metric, int(value)})
	}
	return slices.SortedFunc(maps.Values(of), func(x, y *target) int { return cmp.Compare(x.name, y.name) }), nil
}

// farFuture is a time in seconds that no clock shows.
const farFuture = 1e11

// evaluatedAt sets the time of the last evaluation. Of several, the earliest one counts.
func (t *target) evaluatedAt(seconds float64) {
	if !(seconds > 0 && seconds < farFuture) { // also NaN
		return
	}
	at := time.UnixMilli(int64(seconds * 1000)).UTC()
	if t.evaluated.IsZero() || at.Before(t.evaluated) {
		t.evaluated = at
	}
}

// add adds a series.
func (t *target) add(s series) {
	switch s.name {
	case synced:
		t.synced = t.synced && s.value == 1
	case leader:
		t.leads = s.value == 1
	case auditorGaps:
		t.gaps = max(t.gaps, s.value)
	case finding:
		t.findings = append(t.findings, s)
	case unnamedFindings:
		t.unnamed[s.of("code")] += s.value
	case objectState, unnamedObjects:
		t.deployment(s).add(s)
	default:
		if strings.HasPrefix(s.name, "bundledeployment_") {
			t.deployment(s).add(s)
			return
		}
		t.addToLevel(s)
	}
}

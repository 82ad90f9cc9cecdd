// SPDX-License-Identifier: Apache-2.0

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
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// target is one replica of an auditor, as it was scraped.
type target struct {
	// name has its labels for people. site has those that all replicas of an auditor share.
	name, site string
	synced     bool
	leads      bool
	evaluated  time.Time // zero if that is not known
	// gaps are the numbers of things that the auditor could not read, by whether no result needs them.
	gaps map[bool]int

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
func (t *target) usable(now time.Time) bool { return t.synced && now.Sub(t.evaluated).Abs() <= maxAge }

// manages reports whether the auditor is that of a management cluster.
func (t *target) manages() bool { return len(t.aggregates) > 0 }

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
				aggregates: map[aggregateKey]*aggregate{}, unnamed: map[string]int{}, gaps: map[bool]int{}}
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
		t.gaps[s.of("optional") == "true"] += s.value
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

// keyOf returns the key of the bundle deployment that labels name; the name is empty if they name none.
func (t *target) keyOf(l labels) deploymentKey {
	out := deploymentKey{namespace: l.of("bundledeployment_namespace"), name: l.of("name")}
	if out.namespace == "" {
		out.on = cmp.Or(l.key("cluster_namespace", "cluster_name"), t.name)
	}
	return out
}

// deployment returns the bundle deployment of a series.
func (t *target) deployment(s series) *deployment {
	k := t.keyOf(s.labels)
	d := t.deployments[k]
	if d == nil {
		d = &deployment{}
		t.deployments[k] = d
	}
	d.cluster = cmp.Or(d.cluster, s.key("cluster_namespace", "cluster_name"))
	d.bundle = cmp.Or(d.bundle, s.key("bundle_namespace", "bundle"))
	if repo := s.of("repo"); repo != "" {
		d.gitRepo = s.of("bundle_namespace") + "/" + repo
	}
	return d
}

// addToLevel adds a series of an object above the bundle deployments.
func (t *target) addToLevel(s series) {
	k, number := aggregateKey{}, ""
	for kind, level := range levels {
		// a longer name is that of another level: cluster_group
		if rest, ok := strings.CutPrefix(s.name, level+"_"); ok && (number == "" || len(rest) < len(number)) {
			k.kind, number = kind, rest
		}
	}
	if number == "" {
		return
	}
	k.namespace, k.name = s.of("workspace"), s.of("name")
	if k.kind == state.ClusterKind {
		k.namespace, k.name = s.of("cluster_namespace"), s.of("cluster_name")
	}
	a := t.aggregates[k]
	if a == nil {
		a = &aggregate{}
		t.aggregates[k] = a
	}
	if of, ok := strings.CutPrefix(number, "reported_"); ok {
		a.addReported(of, s)
		return
	}
	a.addActual(number, s)
}

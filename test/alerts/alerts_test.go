// SPDX-License-Identifier: Apache-2.0

// Package alerts checks the rules and the dashboards of the auditor against the metrics that it exports.
package alerts

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	sigsyaml "sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/metrics"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
)

const auditor = "../../manifests/auditor/"

// rule is an alert or a recording rule of Prometheus.
type rule struct {
	Alert         string            `json:"alert"`
	Record        string            `json:"record"`
	Expr          string            `json:"expr"`
	For           string            `json:"for"`
	KeepFiringFor string            `json:"keep_firing_for"`
	Labels        map[string]string `json:"labels"`
	Annotations   map[string]string `json:"annotations"`
}

func rules(t *testing.T) []rule {
	t.Helper()
	raw, err := os.ReadFile(auditor + "alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Name  string `json:"name"`
			Rules []rule `json:"rules"`
		} `json:"groups"`
	}
	if err := sigsyaml.UnmarshalStrict(raw, &file); err != nil {
		t.Fatal(err)
	}
	var out []rule
	for _, g := range file.Groups {
		out = append(out, g.Rules...)
	}
	return out
}

var (
	word      = regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*`)
	selector  = regexp.MustCompile(`(fleetdoctor_\w+)(?:\{([^}]*)\})?`)
	matcher   = regexp.MustCompile(`(\w+)\s*(?:=~|!~|!=|=)\s*"`)
	grouping  = regexp.MustCompile(`\b(?:by|without|on|ignoring|group_left)\s*\(([^)]*)\)`)
	quoted    = regexp.MustCompile(`"[^"]*"`)
	labelUsed = regexp.MustCompile(`\$labels\.(\w+)`)
)

// ofScrape are the labels that Prometheus adds.
var ofScrape = []string{"instance", "pod", "job", "namespace", "le"}

// exported returns the labels of the metrics by the names of their series.
func exported() map[string][]string {
	out := map[string][]string{}
	for _, f := range metrics.Families() {
		if !f.Histogram() {
			out[f.Name] = f.Labels
			continue
		}
		for _, end := range []string{"_bucket", "_count", "_sum"} {
			out[f.Name+end] = append([]string{"le"}, f.Labels...)
		}
	}
	return out
}

// checkQuery checks that a query names only metrics and labels that exist, and returns the labels of its metrics.
func checkQuery(t *testing.T, where, query string, recorded map[string]bool) []string {
	t.Helper()
	known, labels := exported(), slices.Clone(ofScrape)
	found := false
	for _, name := range word.FindAllString(quoted.ReplaceAllString(query, `""`), -1) {
		if strings.HasPrefix(name, "fleetdoctor:") {
			found = true
			if !recorded[name] {
				t.Errorf("%s: no rule records %s", where, name)
			}
			labels = append(labels, metrics.Families()[0].Labels...)
		}
	}
	for _, m := range selector.FindAllStringSubmatch(query, -1) {
		found = true
		own, exists := known[m[1]]
		if !exists {
			t.Errorf("%s: %s is no metric of the auditor", where, m[1])
			continue
		}
		labels = append(labels, own...)
		for _, l := range matcher.FindAllStringSubmatch(m[2], -1) {
			if !slices.Contains(own, l[1]) && !slices.Contains(ofScrape, l[1]) {
				t.Errorf("%s: %s has no label %s", where, m[1], l[1])
			}
		}
	}
	if !found {
		t.Errorf("%s: %q has no metric of the auditor", where, query)
	}
	for _, m := range grouping.FindAllStringSubmatch(query, -1) {
		for _, l := range word.FindAllString(m[1], -1) {
			if !slices.Contains(labels, l) {
				t.Errorf("%s: no metric in %q has the label %s", where, query, l)
			}
		}
	}
	return labels
}

func recorded(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, r := range rules(t) {
		out[r.Record] = r.Record != ""
	}
	return out
}

// joinsReplicas matches the queries that have one result for all replicas of an auditor.
var joinsReplicas = regexp.MustCompile(`absent\(|(max|min) without \(instance, pod`)

// TestRules checks what an alert must have, and that rules name only metrics and labels that exist.
func TestRules(t *testing.T) {
	alerts := 0
	for _, r := range rules(t) {
		labels := checkQuery(t, r.Alert+r.Record, r.Expr, recorded(t))
		if r.Alert == "" {
			continue
		}
		alerts++
		if r.For == "" || !slices.Contains([]string{"info", "warning", "critical"}, r.Labels["severity"]) {
			t.Errorf("%s has the for %q and the labels %v", r.Alert, r.For, r.Labels)
		}
		text := r.Annotations["summary"] + r.Annotations["description"]
		if r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
			t.Errorf("%s has the annotations %v", r.Alert, r.Annotations)
		}
		for _, m := range labelUsed.FindAllStringSubmatch(text, -1) {
			if !slices.Contains(labels, m[1]) {
				t.Errorf("%s: no metric in %q has the label %s", r.Alert, r.Expr, m[1])
			}
		}
		if !joinsReplicas.MatchString(r.Expr) {
			t.Errorf("%s fires once for each replica: %s", r.Alert, r.Expr)
		}
		checkRunbook(t, r)
	}
	if alerts < 10 {
		t.Errorf("%d alerts", alerts)
	}
}

// runbooks are the parts of the documentation that runbooks of alerts about the auditor itself name, and the headings
// there.
var runbooks = map[string]string{"metrics.md": "# Metrics of the auditor",
	"auditor.md#when-something-fails": "## When something fails"}

// checkRunbook checks that the runbook of an alert is the page of a finding that exists, or one of the runbooks.
func checkRunbook(t *testing.T, r rule) {
	t.Helper()
	url := r.Annotations["runbook_url"]
	if heading, ok := runbooks[strings.TrimPrefix(url, check.Pages)]; ok {
		page, _, _ := strings.Cut(strings.TrimPrefix(url, check.Pages), "#")
		if raw, err := os.ReadFile("../../docs/" + page); err != nil || !strings.Contains(string(raw), heading+"\n") {
			t.Errorf("%s has the runbook %s, which has no heading %q: %v", r.Alert, url, heading, err)
		}
		return
	}
	if !slices.ContainsFunc(check.Catalogue(), func(c check.Check) bool { return url == check.URL(c.Code) }) {
		t.Errorf("%s has the runbook %q", r.Alert, url)
	}
	for _, m := range regexp.MustCompile(`FD\d+`).FindAllString(r.Expr, -1) {
		if !slices.ContainsFunc(check.Catalogue(), func(c check.Check) bool { return m == c.Code }) {
			t.Errorf("%s: there is no finding %s", r.Alert, m)
		}
	}
}

// TestTested checks that each rule has a test for promtool.
func TestTested(t *testing.T) {
	raw, err := os.ReadFile("rules.test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rules(t) {
		if r.Alert != "" && !strings.Contains(string(raw), "name: "+r.Alert+"\n") {
			t.Errorf("rules.test.yaml has no test of %s", r.Alert)
		}
	}
	for _, name := range []string{"actual", "reported"} {
		if !strings.Contains(string(raw), "fleetdoctor:cluster_ready_ratio:"+name) {
			t.Errorf("rules.test.yaml has no test of the %s ratio", name)
		}
	}
}

// dashboard has the fields of a dashboard of Grafana that are checked.
type dashboard struct {
	Title         string  `json:"title"`
	UID           string  `json:"uid"`
	SchemaVersion int     `json:"schemaVersion"`
	Panels        []panel `json:"panels"`
	Templating    struct {
		List []struct {
			Name  string `json:"name"`
			Type  string `json:"type"`
			Query any    `json:"query"`
		} `json:"list"`
	} `json:"templating"`
}

type panel struct {
	ID      int    `json:"id"`
	Title   string `json:"title"`
	Type    string `json:"type"`
	GridPos struct {
		H, W, X, Y int
	} `json:"gridPos"`
	Targets []struct {
		Expr         string `json:"expr"`
		LegendFormat string `json:"legendFormat"`
	} `json:"targets"`
}

var (
	legend   = regexp.MustCompile(`\{\{\s*(\w+)\s*\}\}`)
	variable = regexp.MustCompile(`\$(\w+)`)
	ofValues = regexp.MustCompile(`label_values\((.*),\s*(\w+)\)`)
)

// TestDashboards checks that the dashboards query only metrics and labels that exist, and that the legends name labels
// that the result has.
func TestDashboards(t *testing.T) {
	paths, err := filepath.Glob(auditor + "dashboards/*.json")
	if err != nil || len(paths) != 3 {
		t.Fatal(paths, err)
	}
	uids := map[string]bool{}
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var d dashboard
		if err := json.Unmarshal(raw, &d); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if d.Title == "" || d.SchemaVersion == 0 || len(d.Panels) == 0 || uids[d.UID] {
			t.Errorf("%s has the title %q, the uid %q and %d panels", path, d.Title, d.UID, len(d.Panels))
		}
		uids[d.UID] = true
		d.check(t, filepath.Base(path))
	}
}

func (d *dashboard) check(t *testing.T, name string) {
	t.Helper()
	variables := []string{"datasource", "__rate_interval", "__interval"}
	for _, v := range d.Templating.List {
		variables = append(variables, v.Name)
		query, _ := v.Query.(map[string]any)
		text, _ := query["query"].(string)
		if v.Type != "query" {
			continue
		}
		m := ofValues.FindStringSubmatch(text)
		if m == nil {
			t.Errorf("%s: the variable %s has the query %q", name, v.Name, text)
			continue
		}
		if labels := checkQuery(t, name+": variable "+v.Name, m[1], recorded(t)); !slices.Contains(labels, m[2]) {
			t.Errorf("%s: the variable %s has the values of a label that does not exist", name, v.Name)
		}
	}
	seen := map[int]bool{}
	for _, p := range d.Panels {
		where := name + ": " + p.Title
		if seen[p.ID] || p.Title == "" || p.GridPos.W == 0 || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("%s has the id %d and the position %+v", where, p.ID, p.GridPos)
		}
		seen[p.ID] = true
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("%s has no query", where)
		}
		for _, target := range p.Targets {
			labels := checkQuery(t, where, target.Expr, recorded(t))
			for _, m := range legend.FindAllStringSubmatch(target.LegendFormat, -1) {
				if !slices.Contains(labels, m[1]) {
					t.Errorf("%s: the legend names %s", where, m[1])
				}
			}
			for _, m := range variable.FindAllStringSubmatch(target.Expr, -1) {
				if !slices.Contains(variables, m[1]) {
					t.Errorf("%s: there is no variable %s", where, m[1])
				}
			}
		}
	}
}

// neverRecorded are metrics that the recordings of test/e2e do not have: these need more than 500 findings of a check,
// or more than 250 releases of a namespace.
var neverRecorded = []string{"fleetdoctor_unnamed_findings", "fleetdoctor_unnamed_bundledeployments"}

// TestRecordings checks that the recordings of test/e2e, with which test/prometheus tests the rules and dashboards,
// have all metrics of the auditor and no others.
func TestRecordings(t *testing.T) {
	paths, err := filepath.Glob("../e2e/testdata/*.prom")
	if err != nil || len(paths) != 4 {
		t.Fatal(paths, err)
	}
	found := map[string]bool{}
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^# TYPE (\S+) `).FindAllStringSubmatch(string(raw), -1) {
			found[m[1]] = true
		}
	}
	for _, f := range metrics.Families() {
		if found[f.Name] == slices.Contains(neverRecorded, f.Name) {
			t.Errorf("%s is recorded: %t", f.Name, found[f.Name])
		}
		delete(found, f.Name)
	}
	if len(found) > 0 {
		t.Errorf("these recorded metrics do not exist: %v", found)
	}
}

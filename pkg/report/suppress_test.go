// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"
	"testing"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

func TestParseIgnoreFileRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want []string // parts of the message
	}{
		"no YAML":         {"ignore: [", []string{"f.yaml:"}},
		"no YAML, line 3": {"ignore:\n- code: FD104\n   reason: x", []string{"f.yaml:3: "}},
		"no map": {"- a",
			[]string{"f.yaml:1: the ignore file has no field: it must have the field \"ignore\""}},
		"text": {"FD104", []string{"f.yaml:1: the ignore file has no field"}},
		"an unknown section": {"ignored: []",
			[]string{`f.yaml:1: unknown field "ignored" of the ignore file: expected ignore`}},
		"no list": {"ignore: {}", []string{"f.yaml:1: ignore: expected a list"}},
		"an unknown field": {"ignore:\n- code: FD104\n  resaon: x", []string{`f.yaml:3: unknown field "resaon"`,
			"reason"}},
		"a field twice":   {"ignore:\n- code: FD104\n  code: FD101\n  reason: x", []string{"f.yaml:3: "}},
		"no code":         {"ignore:\n- reason: x", []string{"f.yaml:2: ", "no code"}},
		"no reason":       {"ignore:\n- code: FD104", []string{"f.yaml:2: ", "no reason"}},
		"an empty reason": {"ignore:\n- code: FD104\n  reason: ''", []string{"f.yaml:3: reason: "}},
		"an unknown code": {"ignore:\n- code: FD999\n  reason: x", []string{`f.yaml:2: code: "FD999" is not known`}},
		"a code of a list": {"ignore:\n- code:\n  - FD104\n  - FD99\n  reason: x",
			[]string{`f.yaml:4: code: "FD99" is not known`}},
		"the code of Unread": {"ignore:\n- code: FD607\n  reason: x",
			[]string{"f.yaml:2: code: FD607 cannot be ignored"}},
		"a bad pattern": {"ignore:\n- code: FD104\n  object: {name: 'a['}\n  reason: x",
			[]string{`f.yaml:3: object.name: invalid pattern "a["`}},
		"a bad date": {"ignore:\n- code: FD104\n  reason: x\n  expires: 31.12.2026",
			[]string{`f.yaml:4: expires: invalid date "31.12.2026"`}},
		"no date": {"ignore:\n- code: FD104\n  reason: x\n  expires:",
			[]string{"f.yaml:4: expires: expected a text"}},
		"no object": {"ignore:\n- code: FD104\n  object: configmap/x\n  reason: x",
			[]string{"f.yaml:3: object: expected a map", "kind, namespace, name"}},
		"no entry": {"ignore:\n-", []string{"f.yaml:2: the entry: expected a map", "code"}},
		"an alias": {"x: &x [FD104]\nignore: *x", []string{`f.yaml:1: unknown field "x"`,
			"f.yaml:2: ignore: expected a list"}},
		"several documents": {"ignore: []\n---\nignore: []", []string{"f.yaml: ", "several"}},
		"a bad document":    {"ignore: []\n---\nignore: [", []string{"f.yaml:3: "}},
		"all at once":       {"ignore:\n- code: FD1\n- code: FD2", []string{"f.yaml:2: ", "f.yaml:3: "}},
	} {
		_, err := ParseIgnoreFile("f.yaml", []byte(tc.text))
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		for _, s := range tc.want {
			if !strings.Contains(err.Error(), s) {
				t.Errorf("%s: %q is not in %q", name, s, err)
			}
		}
	}
	for _, text := range []string{"", "# only a comment\n", "ignore:\n", "ignore: []"} {
		if f, err := ParseIgnoreFile("f.yaml", []byte(text)); err != nil || len(f.entries) != 0 {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// finding returns a finding from "CODE KIND NAMESPACE/NAME on CLUSTER".
func finding(s string) Finding {
	w := strings.Fields(s)
	namespace, name, _ := strings.Cut(w[2], "/")
	f := Finding{Code: w[0], Severity: Warning, Object: object.Ref{APIVersion: "v1", Kind: w[1],
		Namespace: namespace, Name: name}, Message: w[2] + " differs"}
	if len(w) > 4 {
		f.Cluster, f.Bundle, f.BundleDeployment = w[4], "fleet/web", strings.ReplaceAll(w[4], "/", "-")+"/web"
	}
	f.ID = FindingID(&f, f.Cluster, f.BundleDeployment, map[string]int{})
	return f
}

func suppressAudit(findings ...string) *Audit {
	a := &Audit{APIVersion: APIVersion, Kind: Kind}
	for _, s := range findings {
		f := finding(s)
		a.Findings = append(a.Findings, f)
		if f.BundleDeployment != "" {
			namespace, name, _ := strings.Cut(f.BundleDeployment, "/")
			a.BundleDeployments = append(a.BundleDeployments, BundleDeployment{Namespace: namespace, Name: name,
				Cluster: f.Cluster, Bundle: f.Bundle,
				State: Modified, Counts: Counts{Desired: 1, Modified: 1}})
		}
	}
	return a.WithFindings(a.Findings)
}

func ids(a *Audit) string {
	var out []string
	for _, f := range a.Findings {
		out = append(out, f.Code+" "+f.Object.Name+" "+f.Cluster)
	}
	return strings.Join(out, "; ")
}

func TestIgnore(t *testing.T) {
	a := suppressAudit("FD104 Secret shop/smtp on fleet/one", "FD104 Secret shop/smtp on fleet/two",
		"FD101 ConfigMap shop/theme on fleet/one", "FD102 ClusterRole /reader on fleet/one",
		"FD205 Cluster fleet/one")
	const all = "smtp fleet/one; FD104 smtp fleet/two; FD101 theme fleet/one; FD102 reader fleet/one; FD205 one "
	for name, tc := range map[string]struct{ entry, want string }{
		"a code": {"code: FD101",
			"FD104 smtp fleet/one; FD104 smtp fleet/two; FD102 reader fleet/one; FD205 one "},
		"a code in lower case": {"code: fd101",
			"FD104 smtp fleet/one; FD104 smtp fleet/two; FD102 reader fleet/one; FD205 one "},
		"several codes": {"code: [FD101, FD104, FD205]", "FD102 reader fleet/one"},
		"a kind in any case": {"code: FD104, object: {kind: secret}",
			"FD101 theme fleet/one; FD102 reader fleet/one; FD205 one "},
		"another kind": {"code: FD104, object: {kind: ConfigMap}", "FD104 " + all},
		"a pattern of a name": {"code: FD104, object: {name: s*p}",
			"FD101 theme fleet/one; FD102 reader fleet/one; FD205 one "},
		"one of two clusters": {"code: FD104, cluster: fleet/two",
			"FD104 smtp fleet/one; FD101 theme fleet/one; FD102 reader fleet/one; FD205 one "},
		"a cluster by its name": {"code: FD104, cluster: 'o?e'",
			"FD104 smtp fleet/two; FD101 theme fleet/one; FD102 reader fleet/one; FD205 one "},
		"a bundle": {"code: [FD104, FD205], bundle: '*/web'",
			"FD101 theme fleet/one; FD102 reader fleet/one; FD205 one "},
		"a namespace, but it has 0": {"code: FD102, object: {namespace: '*'}", "FD104 " + all},
		"a star crosses no slash":   {"code: FD104, cluster: 'f*one/*'", "FD104 " + all},
	} {
		f, err := ParseIgnoreFile("f.yaml", []byte("ignore: [{reason: r, "+tc.entry+"}]"))
		if err != nil {
			t.Fatal(err)
		}
		got := f.Apply(a, time.Now())
		if ids(got) != tc.want {
			t.Errorf("%s: %s, want %s", name, ids(got), tc.want)
		}
		if n := len(a.Findings) - len(got.Findings); got.Summary.Ignored != n || len(got.Ignored) != n ||
			got.Summary.Findings.Warning != len(got.Findings) {
			t.Errorf("%s: summary %+v, %d ignored", name, got.Summary, len(got.Ignored))
		}
		if unused := len(got.Notes) == 1; unused != (got.Summary.Ignored == 0) {
			t.Errorf("%s: notes %q", name, got.Notes)
		}
	}
	if len(a.Findings) != 5 || a.Ignored != nil || a.Notes != nil {
		t.Error("the report was changed")
	}
}

// TestUnread checks that the finding that shows that a deployment has no result stays: FD602 reports the damaged record
// of a deployment.
func TestUnread(t *testing.T) {
	a := suppressAudit("FD602 BundleDeployment c/x on fleet/one", "FD602 BundleDeployment c/y on fleet/two")
	a.BundleDeployments[0].Reason = "RecordUnreadable"
	f, err := ParseIgnoreFile("f.yaml", []byte("ignore: [{code: FD602, reason: r}]"))
	if err != nil {
		t.Fatal(err)
	}
	if s := ids(f.Apply(a, time.Now())); s != "FD602 x fleet/one" {
		t.Error(s)
	}
	if notes := f.Apply(a, time.Now()).Notes; len(notes) != 1 || !strings.Contains(notes[0], "line 1 (FD602)") ||
		!strings.Contains(notes[0], "not ignored") {
		t.Errorf("notes %q", notes)
	}
}

func TestExpiry(t *testing.T) {
	f, err := ParseIgnoreFile("f.yaml",
		[]byte("ignore:\n- {code: FD104, reason: r, expires: 2026-03-01}\n- {code: FD104, reason: s}"))
	if err != nil {
		t.Fatal(err)
	}
	a := suppressAudit("FD104 Secret shop/smtp on fleet/one")
	for when, want := range map[string]struct {
		reason string
		notes  int
	}{"2026-03-01T23:59:59Z": {"r", 0}, "2026-03-02T00:00:00Z": {"s", 1}, "2026-03-01T23:00:00-02:00": {"s", 1}} {
		now, err := time.Parse(time.RFC3339, when)
		if err != nil {
			t.Fatal(err)
		}
		got := f.Apply(a, now)
		if len(got.Ignored) != 1 || got.Ignored[0].Reason != want.reason || len(got.Notes) != want.notes {
			t.Errorf("%s: %+v %q", when, got.Ignored, got.Notes)
		}
	}
	a.Scope.Targets = []string{"bundle/x"}
	unused, err := ParseIgnoreFile("f.yaml", []byte("ignore: [{code: FD101, reason: r}]"))
	if err != nil || unused.Apply(a, time.Now()).Notes != nil {
		t.Errorf("an audit of a part of the bundles lists unused entries: %v", err)
	}
}

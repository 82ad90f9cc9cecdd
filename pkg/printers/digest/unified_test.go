// SPDX-License-Identifier: Apache-2.0

package digest_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// texts are values and keys that YAML could read as something else.
var texts = []string{
	"", " ", "a", "a b", " a", "a ", "a: b", "a:", "a #b", "#a", "- a", "-", "--a", "---", "...", "1", "1.5", "0x1f",
	"1e3", "true", "yes", "n", "null", "~", "<<", "=", "*a", "&a", "!a",
	"%a", "@a", "`a", "|", ">", "[a]", "{a}", "a'b", `a"b`, `a\b`, `'"`, "2001-01-01", "12:30:45", "größe 見る 🔑",
	"?", "? a", ",", "a\tb", "\t",
	"\n", "\n\n", "a\n", "a\n\n", "\na", "\n\na\n", "a\nb", "a\nb\n", " a\nb\n", "a\n b\n", "  \n a\n",
	"a\n\n\nb", "a\r\nb\r\n", "a\n\rb", "\ta\nb", "a\n\tb\n", "a \nb\t\n", "# a\nb", "a\n---\nb",
	"\x1b[31ma\nb\u202e\n", "\u0085\u2028\ufeff", "\u2028\na", " \u0000\n \n", "\U000e0001\n\U0001f511",
	`a\` + "\nb", `"` + "\r\n" + `'`,
}

func name(s string) report.Step { return report.Step{Name: s} }

// different is a difference between two values.
func different(desired, live any, steps ...report.Step) report.Difference {
	return report.Difference{Steps: steps, Desired: evaluate.Plain(desired), Live: evaluate.Plain(live)}
}

// documents are the two sides of a text that differs.
func documents(desired, live string) (bundle, cluster digest.Document) {
	fields := digest.NewFields([]report.Difference{{Path: "text", Desired: evaluate.Plain(desired),
		Live: evaluate.Plain(live)}})
	return fields.Document(digest.Bundle), fields.Document(digest.Cluster)
}

// TestDocument checks that the documents are YAML of the values, in lines that can be printed.
func TestDocument(t *testing.T) {
	for _, s := range texts {
		for _, other := range []string{"x", "x\n", "x \n", "x\r\n"} {
			object := map[string]any{"k " + s: s, "b": []any{map[string]any{"c": s, "d": s}}}
			for _, v := range []any{s, []any{s, "b", []any{s}}, object} {
				diffs := []report.Difference{
					different(v, other, name("spec"), name(s)),
					different(int64(1), nil, name("spec"), name("next")),
				}
				check(t, diffs, map[string]any{"spec": map[string]any{s: v, "next": 1.0}},
					map[string]any{"spec": map[string]any{s: other, "next": nil}})
			}
		}
	}
}

func check(t *testing.T, diffs []report.Difference, bundle, cluster any) {
	t.Helper()
	fields := digest.NewFields(diffs)
	for side, want := range map[string]any{
		fields.Document(digest.Bundle).String():  bundle,
		fields.Document(digest.Cluster).String(): cluster,
	} {
		var got any
		if err := yaml.Unmarshal([]byte(side), &got); err != nil {
			t.Errorf("%v in:\n%s", err, side)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("another value (-want +got):\n%s\nin %q", diff, side)
		}
		if strings.ContainsFunc(side, func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) }) {
			t.Errorf("a character that acts on a terminal: %q", side)
		}
	}
}

// TestSteps checks the YAML of each kind of step.
func TestSteps(t *testing.T) {
	first, second := 0, 1
	ports := []report.Step{name("spec"), name("ports"), {Key: map[string]any{"port": int64(443), "protocol": "TCP"}}}
	host := []report.Step{name("spec"), name("rules"), {Index: &second}, name("host")}
	diffs := []report.Difference{
		{Steps: []report.Step{name("metadata"), name("finalizers"), {Member: "a/b"}}, Desired: evaluate.Plain("a/b")},
		different("tls", int64(8443), append(ports[:3:3], name("targetPort"))...),
		{
			Steps:   append(ports[:2:2], report.Step{Key: map[string]any{"port": int64(80)}}),
			Desired: evaluate.Plain(map[string]any{"port": int64(80), "name": "http"}),
		},
		different("a", "b", host...),
		{Steps: append(host, name("below")), Path: ".spec.rules[1].host.below", Live: evaluate.Plain(true)},
		{
			Steps:   []report.Step{name("spec"), name("egress"), {Index: &first}, name("to")},
			Desired: evaluate.Plain([]any{map[string]any{}}),
		},
		{Path: ".data.nginx.conf", Desired: evaluate.Secret("x"), Live: evaluate.Masked("***2")}, // read from a file
	}
	got := digest.NewFields(diffs).Document(digest.Bundle).String()
	want := `metadata:
  finalizers:
  - a/b
spec:
  ports:
  - port: 443
    protocol: TCP
    targetPort: tls
  - name: http
    port: 80
  rules:
  # [1]
  - host: a
  egress:
  # [0]
  - to:
    - {}
.data.nginx.conf: "***"
`
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	check(t, diffs, decoded(t, want), decoded(t, `
metadata: {finalizers: null}
spec:
  ports: [{port: 443, protocol: TCP, targetPort: 8443}]
  rules: [{host: b}]
  egress: [{}]
.spec.rules[1].host.below: true
.data.nginx.conf: "***2"`))
}

func decoded(t *testing.T, document string) any {
	t.Helper()
	var out any
	if err := yaml.Unmarshal([]byte(document), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestDiff checks that hunks turn one document into the other.
func TestDiff(t *testing.T) {
	long := make([]string, 500)
	for i := range long {
		long[i] = fmt.Sprintf("line %d", i)
	}
	changed := func(at ...int) string {
		lines := append([]string{}, long...)
		for _, i := range at {
			lines[i] = "changed"
		}
		return strings.Join(lines, "\n")
	}
	every := make([]int, 0, len(long))
	for i := 0; i < len(long); i += 2 {
		every = append(every, i)
	}
	for about, tc := range map[string]struct {
		from, to string
		hunks    int
	}{
		"equal":            {changed(), changed(), 0},
		"one line":         {changed(), changed(30), 1},
		"two places":       {changed(), changed(30, 60), 2},
		"near places":      {changed(), changed(30, 36), 1},
		"every other line": {changed(), changed(every...), 1},
		"the end":          {changed(), changed() + "\nmore", 1},
		"all":              {"a\nb", "c\nd\ne", 1},
	} {
		from, to := documents(tc.from, tc.to)
		hunks := digest.Diff(from, to)
		if len(hunks) != tc.hunks {
			t.Errorf("%s: %d hunks, want %d", about, len(hunks), tc.hunks)
		}
		if got := applied(t, from, hunks); got != to.String() {
			t.Errorf("%s: the hunks do not lead to the other document:\n%s", about, got)
		}
	}
}

// applied applies hunks to a document, as patch does.
func applied(t *testing.T, from digest.Document, hunks []digest.Hunk) string {
	t.Helper()
	var out strings.Builder
	at := 0
	for _, h := range hunks {
		var first int
		if _, err := fmt.Sscanf(h.Range, "-%d", &first); err != nil {
			t.Fatal(err)
		}
		for ; at < first-1; at++ {
			out.WriteString(from[at].Text + "\n")
		}
		for _, c := range h.Changes {
			if c.Sign != '+' {
				if from[at].Text != c.Text {
					t.Fatalf("line %d is %q, and not %q", at, from[at].Text, c.Text)
				}
				at++
			}
			if c.Sign != '-' {
				out.WriteString(c.Text + "\n")
			}
		}
	}
	return out.String() + from[at:].String()
}

// TestEmptySides checks the ranges of documents without lines.
func TestEmptySides(t *testing.T) {
	added := digest.NewFields([]report.Difference{{Path: "a", Live: evaluate.Plain("b")}})
	hunks := digest.Diff(added.Document(digest.Bundle), added.Document(digest.Cluster))
	if len(hunks) != 1 || hunks[0].Range != "-0,0 +1" {
		t.Errorf("added: %+v", hunks)
	}
	hunks = digest.Diff(added.Document(digest.Cluster), added.Document(digest.Bundle))
	if len(hunks) != 1 || hunks[0].Range != "-1 +0,0" {
		t.Errorf("removed: %+v", hunks)
	}
}

// TestCut checks that a long line keeps its beginning and what differs, and that the numbers of lines are right.
func TestCut(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for at := range 1000 {
		other := long[:at] + "HERE" + long[at:]
		hunks, shortened, dropped := digest.Cut(digest.Diff(documents(long, other)))
		if shortened != 2 || dropped != 0 || len(hunks) != 1 || len(hunks[0].Changes) != 2 {
			t.Fatalf("%d lines shortened, %d dropped: %v", shortened, dropped, hunks)
		}
		for _, c := range hunks[0].Changes {
			if n := len([]rune(c.Text)); n > digest.MaxWidth {
				t.Errorf("at %d: %d characters: %c%s", at, n, c.Sign, c.Text)
			}
			if !strings.HasPrefix(c.Text, "text: ") || strings.Contains(c.Text, "HERE") != (c.Sign == '+') {
				t.Errorf("at %d: without its beginning, or what differs: %c%s", at, c.Sign, c.Text)
			}
		}
	}
}

// TestCutLines checks that a text of which every line differs shows both sides, and that the numbers of lines are
// right.
func TestCutLines(t *testing.T) {
	diff := func(desired, live string) (hunks []digest.Hunk) {
		return digest.Diff(documents(desired, live))
	}
	hunks, shortened, dropped := digest.Cut(diff(strings.Repeat("a\n", 300), strings.Repeat("b\n", 300)))
	shown := map[rune]int{}
	for _, c := range hunks[0].Changes {
		shown[c.Sign]++
	}
	want := map[rune]int{' ': 1, '-': digest.MaxRun, '+': digest.MaxRun, digest.Omitted: 2}
	if !maps.Equal(shown, want) {
		t.Errorf("lines %v, want %v", shown, want)
	}
	if shortened != 0 || dropped != 600-2*digest.MaxRun {
		t.Errorf("%d lines shortened, %d dropped", shortened, dropped)
	}
	var desired, live strings.Builder // many changes of one line
	for i := range 200 {
		fmt.Fprintf(&desired, "line %d\n", i)
		fmt.Fprintf(&live, "line %d\n", i+i%10/9*1000)
	}
	all := diff(desired.String(), live.String())
	total, kept := 0, 0
	for _, h := range all {
		total += len(h.Changes)
	}
	hunks, _, dropped = digest.Cut(all)
	for _, h := range hunks {
		kept += len(h.Changes)
	}
	if kept != digest.MaxLines || dropped != total-kept {
		t.Errorf("%d of %d lines are shown, %d dropped", kept, total, dropped)
	}
}

// TestInvalidUTF8 checks that different bytes are different lines.
func TestInvalidUTF8(t *testing.T) {
	hunks := digest.Diff(documents("same\na\xff\n", "same\na\xfe\n"))
	got, err := json.Marshal(hunks[0].Changes)
	const want = `[{"Sign":32,"Text":"text: \"same\\n\\"},{"Sign":45,"Text":"  a\\xff\\n\""},` +
		`{"Sign":43,"Text":"  a\\xfe\\n\""}]`
	if err != nil || string(got) != want {
		t.Errorf("%s, want %s, error %v", got, want, err)
	}
}

func FuzzDocument(f *testing.F) {
	for _, s := range texts {
		f.Add(s, "x\n")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		a, b = strings.ToValidUTF8(a, ""), strings.ToValidUTF8(b, "")
		diffs := []report.Difference{different(a, b, name("data"), name("k"))}
		check(t, diffs, map[string]any{"data": map[string]any{"k": a}}, map[string]any{"data": map[string]any{"k": b}})
		fields := digest.NewFields(diffs)
		from, to := fields.Document(digest.Bundle), fields.Document(digest.Cluster)
		if got := applied(t, from, digest.Diff(from, to)); got != to.String() {
			t.Errorf("%q and %q: the hunks lead to %q", a, b, got)
		}
	})
}

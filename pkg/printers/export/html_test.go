// SPDX-License-Identifier: Apache-2.0

package export_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	xhtml "golang.org/x/net/html"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/export"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/golden"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/reports"
)

func htmlWritten(t *testing.T, a *report.Audit) string {
	t.Helper()
	var b bytes.Buffer
	if err := export.WriteHTML(&b, a); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// parsed parses a document with a parser of the HTML standard.
func parsed(t *testing.T, document string) []*xhtml.Node {
	t.Helper()
	top, err := xhtml.Parse(strings.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	return slices.Collect(top.Descendants())
}

func attribute(n *xhtml.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// text is the visible text of a document, with single blanks.
func text(nodes []*xhtml.Node) string {
	var b strings.Builder
	for _, n := range nodes {
		if n.Type == xhtml.TextNode && n.Parent.Data != "style" && n.Parent.Data != "script" {
			b.WriteString(n.Data + " ")
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

var inline = regexp.MustCompile(`(?s)<(style|script)>.*?</(?:style|script)>`)

func TestGolden(t *testing.T) {
	for name, a := range map[string]*report.Audit{"sick": reports.Sample(t, "sick"),
		"clean": reports.Sample(t, "clean"), "full": reports.Full()} {
		out := htmlWritten(t, a)
		if again := htmlWritten(t, a); again != out {
			t.Errorf("%s: the second document has other bytes", name)
		}
		_, body, _ := strings.Cut(inline.ReplaceAllString(out, "<$1/>"), "<title>") // without the hashes
		golden.Compare(t, name+".html", body)
	}
}

// TestPolicy checks that the content security policy permits the style and the script of the document, and nothing
// else.
func TestPolicy(t *testing.T) {
	want := map[string]string{}
	policy := ""
	for _, n := range parsed(t, htmlWritten(t, reports.Full())) {
		switch {
		case n.Data == "style" || n.Data == "script":
			sum := sha256.Sum256([]byte(n.FirstChild.Data))
			want[n.Data+"-src"] = "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
		case n.Data == "meta" && attribute(n, "http-equiv") == "Content-Security-Policy":
			policy = attribute(n, "content")
		}
	}
	for _, directive := range []string{"default-src 'none'", "style-src " + want["style-src"], "script-src " +
		want["script-src"], "base-uri 'none'", "form-action 'none'"} {
		if !slices.Contains(strings.Split(policy, "; "), directive) {
			t.Errorf("the policy %q has no %q", policy, directive)
		}
	}
	if n := strings.Count(policy, ";"); n != 4 {
		t.Errorf("the policy has %d directives, want 5: %s", n+1, policy)
	}
}

// TestHTMLHostile checks that texts of the cluster become neither elements nor attributes.
func TestHTMLHostile(t *testing.T) {
	const evil = "\"'><script>alert(1)</script></title></style></svg><img src=x onerror=alert(1)><a " +
		"href=javascript:alert(1)>{{.}}`${x}` \u202e\u2066\x00\x1b[31m"
	shape := func(nodes []*xhtml.Node) []string {
		var out []string
		for _, n := range nodes {
			if n.Type == xhtml.ElementNode {
				out = append(out, n.Data)
			}
		}
		return out
	}
	plain, hostile := parsed(t, htmlWritten(t, reports.Hostile(reports.Full(), " evil"))),
		parsed(t, htmlWritten(t, reports.Hostile(reports.Full(), evil)))
	if !slices.Equal(shape(plain), shape(hostile)) {
		t.Error("hostile texts change the elements of the document")
	}
	for _, n := range hostile {
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "src" || a.Key == "href" &&
				!strings.HasPrefix(a.Val, "#") && !strings.HasPrefix(a.Val, "https://example.com/") {
				t.Errorf("<%s> has the attribute %s=%q", n.Data, a.Key, a.Val)
			}
		}
	}
	if shown := text(hostile); strings.ContainsAny(shown, "\u202e\u2066\x00\x1b") ||
		!strings.Contains(shown, "<script>alert(1)</script>") {
		t.Error("the hostile text is not shown as text without control characters")
	}
}

// TestURL checks that a remedy links only to a web page.
func TestURL(t *testing.T) {
	a := reports.Full()
	a.Findings[0].Remedies = []report.Remedy{{Text: "x", URL: "javascript:alert(1)"}}
	for _, n := range parsed(t, htmlWritten(t, a)) {
		if href := attribute(n, "href"); strings.HasPrefix(href, "javascript:") {
			t.Errorf("a link to %q", href)
		}
	}
}

// TestNothingIsLost checks that the document has every part of a report.
func TestNothingIsLost(t *testing.T) {
	a := reports.Full()
	shown := text(parsed(t, htmlWritten(t, a)))
	var want []string
	for _, f := range a.Findings {
		want = append(want, f.Code, f.Message)
		want = append(append(want, f.Evidence...), f.Clusters...)
		for _, r := range f.Remedies {
			want = append(want, r.Text, r.Command)
		}
		if len(f.Remedies) == 0 {
			want = append(want, f.Remediation)
		}
	}
	for _, g := range a.Gaps {
		want = append(want, g.What, g.Why(), g.Effect)
	}
	for _, bd := range a.BundleDeployments {
		want = append(want, bd.Name, bd.Cluster, string(bd.State), bd.Reason)
		for _, r := range bd.Resources {
			want = append(want, r.Key().String(), r.Reason, r.Message)
			for _, d := range r.Differences {
				want = append(want, d.Path, d.Who(), d.Note)
			}
		}
	}
	for _, x := range a.Ignored {
		want = append(want, x.Object.Key().String(), x.Reason, x.Expires)
	}
	for _, w := range append(want, a.Notes...) {
		if !strings.Contains(shown, w) {
			t.Errorf("the document has no %q", w)
		}
	}
}

var more = regexp.MustCompile(`… and ([0-9]+) more \(`)

// TestLarge checks that the document of 300 bundles on 50 clusters is small, and that each finding and each bundle
// deployment that is not ready is in it once, or is counted.
func TestLarge(t *testing.T) {
	for _, a := range []*report.Audit{reports.Fleet(300, 50, 50), reports.Fleet(20, 50, 2), reports.Many(20_000)} {
		out := htmlWritten(t, a)
		if n := len(out); n > 3<<20 {
			t.Errorf("%d bytes", n)
		}
		ids, items, counted := map[string]int{}, 0, 0
		for _, n := range parsed(t, out) {
			class := strings.Fields(attribute(n, "class"))
			if slices.Contains(class, "finding") {
				ids[attribute(n, "id")]++
			}
			if n.Data == "span" && slices.Contains(class, "state") {
				items++
			}
			if n.Type == xhtml.TextNode && n.Parent.Data != "script" {
				for _, found := range more.FindAllStringSubmatch(n.Data, -1) {
					i, err := strconv.Atoi(found[1])
					if err != nil {
						t.Fatal(err)
					}
					counted += i
				}
			}
		}
		notReady := 0
		for i := range a.BundleDeployments {
			if digest.ShownState(&a.BundleDeployments[i]) != report.Ready {
				notReady++
			}
		}
		if len(ids)+items+counted != len(a.Findings)+notReady {
			t.Errorf("%d findings and %d bundle deployments are shown, %d are counted; the report has %d and %d",
				len(ids),
				items, counted, len(a.Findings), notReady)
		}
	}
}

// TestUnknown checks that nothing that was not read is shown as good.
func TestUnknown(t *testing.T) {
	unread := report.BundleDeployment{Namespace: "a", Name: "b", Cluster: "x/y", State: report.Unknown,
		Reason: "ClusterNotRead"}
	ready := report.BundleDeployment{Namespace: "a", Name: "c", Cluster: "x/y", State: report.Ready,
		Counts: report.Counts{Desired: 1, Ready: 1}}
	cluster := func(all, well int, c report.Counts) []report.Aggregate {
		return []report.Aggregate{{Namespace: "x", Name: "y", Actual: &report.Actual{BundleDeployments: all,
			ReadyBundleDeployments: well, Counts: c}}}
	}
	for name, a := range map[string]*report.Audit{
		"nothing":   {},
		"a gap":     {BundleDeployments: []report.BundleDeployment{ready}, Gaps: []report.Gap{{What: "x"}}},
		"no result": {BundleDeployments: []report.BundleDeployment{unread}, Clusters: cluster(1, 0, report.Counts{})},
		"one of two": {BundleDeployments: []report.BundleDeployment{ready, unread},
			Clusters: cluster(2, 1, ready.Counts),
			Summary:  report.Summary{Counts: ready.Counts}},
	} {
		for _, n := range parsed(t, htmlWritten(t, a)) {
			class := strings.Fields(attribute(n, "class"))
			clusterRow := slices.Contains(class, "level-good") &&
				strings.Contains(text(slices.Collect(n.Descendants())), "x/y") && n.Parent.Parent.Data == "table" &&
				slices.Contains(strings.Fields(attribute(n.Parent.Parent, "class")), "fractions")
			if slices.Contains(class, "verdict") && slices.Contains(class, "good") || clusterRow {
				t.Errorf("%s: shown as good: <%s class=%q>", name, n.Data, class)
			}
		}
	}
}

// TestReported checks that bundles that Fleet reports as ready do not look as if their clusters had been read.
func TestReported(t *testing.T) {
	a := &report.Audit{}
	for range digest.MaxDetailed + 1 {
		a.BundleDeployments = append(a.BundleDeployments, report.BundleDeployment{Namespace: "a", Name: "b",
			Bundle: "x/b", Cluster: "x/y", State: report.Unknown, Reason: "ClusterNotRead",
			Reported: &report.Reported{State: "Ready"}})
	}
	shown := text(parsed(t, htmlWritten(t, a)))
	if !strings.Contains(shown, "1 cluster was not read: the states there are") {
		t.Error("the document does not say that the cluster was not read")
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("no space") }

func TestWriteFails(t *testing.T) {
	if err := export.WriteHTML(failing{}, reports.Full()); err == nil {
		t.Error("no error for a failed write")
	}
}

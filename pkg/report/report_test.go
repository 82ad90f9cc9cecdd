// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

func ref(kind, namespace, name string) object.Ref {
	return object.Ref{APIVersion: "v1", Kind: kind, Namespace: namespace, Name: name}
}

// unsorted returns a result and findings, with all lists that a report sorts in random order.
func unsorted(r *rand.Rand) (*evaluate.Result, []check.Finding) {
	out := &evaluate.Result{Desired: &desired.State{Directory: &directory.Directory{Fleet: &state.Fleet{}}},
		Tree: evaluate.Tree{}}
	var findings []check.Finding
	meta := func(ns, name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: ns, Name: name} }
	for _, ns := range []string{"b", "a"} {
		for _, name := range []string{"two", "one"} {
			for kind, o := range map[string]v1alpha1.Object{
				state.GitRepo:      &v1alpha1.GitRepo{ObjectMeta: meta(ns, name)},
				state.HelmOp:       &v1alpha1.HelmOp{ObjectMeta: meta(ns, name)},
				state.Bundle:       &v1alpha1.Bundle{ObjectMeta: meta(ns, name)},
				state.ClusterKind:  &v1alpha1.Cluster{ObjectMeta: meta(ns, name)},
				state.ClusterGroup: &v1alpha1.ClusterGroup{ObjectMeta: meta(ns, name)},
			} {
				out.Tree[kind] = append(out.Tree[kind], &evaluate.Aggregate{Kind: kind, Object: o, Complete: true,
					InScope: true})
			}
			of := &desired.BundleDeployment{Deployment: directory.Deployment{Namespace: ns, Name: name}}
			d := &evaluate.BundleDeployment{BundleDeployment: of,
				Counts: evaluate.Counts{Desired: 3, Ready: 1, Modified: 2}}
			for _, kind := range []string{"Service", "ConfigMap"} {
				d.Objects = append(d.Objects, evaluate.Object{Ref: ref(kind, ns, name),
					State: evaluate.Modified,
					Differences: []evaluate.Difference{{Path: ".data.a", Desired: evaluate.Secret("value-" + kind),
						Live: evaluate.Secret("value-" + ns)}}})
				findings = append(findings,
					check.Finding{Code: "FD104", Severity: check.Warning, BundleDeployment: ns + "/" + name,
						Object: ref(kind, ns, name), Message: "m"},
					check.Finding{Code: "FD101", Severity: check.Error, BundleDeployment: ns + "/" + name,
						Object: ref(kind, ns, name), Message: "m"},
					check.Finding{Code: "FD101", Severity: check.Error, BundleDeployment: ns + "/" + name,
						Object: ref(kind, ns, name), Message: "l"})
			}
			cluster := ref("Cluster", ns, name)
			findings = append(findings, check.Finding{Code: "FD205", Severity: check.Warning, Object: cluster},
				check.Finding{Code: "FD109", Severity: check.Info, Object: cluster}, check.Finding{Code: "FD109",
					Severity: check.Info, Object: cluster, Message: "again"})
			out.Deployments = append(out.Deployments, d)
			out.Gaps = append(out.Gaps, source.Gap{What: ns, Reason: name}, source.Gap{What: ns, Reason: name})
		}
	}
	shuffle(r, findings)
	shuffle(r, out.Deployments)
	shuffle(r, out.Gaps)
	for _, l := range out.Tree {
		shuffle(r, l)
	}
	for _, d := range out.Deployments {
		shuffle(r, d.Objects)
	}
	return out, findings
}

func shuffle[T any](r *rand.Rand, l []T) {
	r.Shuffle(len(l), func(i, j int) { l[i], l[j] = l[j], l[i] })
}

// TestNewAudit checks that a result in any order gives the same report, byte for byte, including the masks of secrets.
func TestNewAudit(t *testing.T) {
	var first string
	for seed := range uint64(20) {
		result, findings := unsorted(rand.New(rand.NewPCG(seed, 1)))
		a := NewAudit(result, findings, "").Redacted(&secret.Values{})
		raw, err := json.MarshalIndent(a, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		if first == "" {
			first = string(raw)
		}
		if diff := cmp.Diff(first, string(raw)); diff != "" {
			t.Fatalf("another order gives another report (-first +seed %d):\n%s", seed, diff)
		}
		want := Summary{BundleDeployments: 4, Counts: Counts{Desired: 12, Ready: 4, Modified: 8},
			Findings: FindingCounts{Error: 16, Warning: 12, Info: 8}}
		if diff := cmp.Diff(want, a.Summary); diff != "" {
			t.Errorf("summary (-want +got):\n%s", diff)
		}
		if len(a.Gaps) != 4 {
			t.Errorf("%d gaps, want each once", len(a.Gaps))
		}
		if diff := cmp.Diff([]string{"FD109", "FD205"}, a.Clusters[0].Findings); diff != "" {
			t.Errorf("findings of a cluster (-want +got):\n%s", diff)
		}
	}
}

// TestEmpty checks that required lists are present if they are empty, because programs read them.
func TestEmpty(t *testing.T) {
	nothing := &desired.State{Directory: &directory.Directory{Fleet: &state.Fleet{}}}
	raw, err := json.Marshal(NewAudit(&evaluate.Result{Desired: nothing}, nil, "").
		Redacted(&secret.Values{}))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"apiVersion":"fleetdoctor.io/v1alpha1"`, `"kind":"AuditReport"`,
		`"bundleDeployments":[]`, `"findings":[]`, `"gaps":[]`} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("no %s in %s", want, raw)
		}
	}
}

// TestRedactedCopies checks that Redacted does not change its receiver.
func TestRedactedCopies(t *testing.T) {
	const planted = "invented-secret-value"
	var secrets secret.Values
	secrets.AddPlain(planted)
	a := &Audit{Findings: []Finding{{Message: planted, Evidence: []string{planted}}}, Gaps: []Gap{{What: planted}},
		Notes: []string{planted},
		BundleDeployments: []BundleDeployment{{Resources: []Resource{{Message: planted,
			Differences: []Difference{{Path: ".a", Live: evaluate.Plain(planted)}}}}}}}
	before, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	a.Redacted(&secrets)
	if after, err := json.Marshal(a); err != nil || string(after) != string(before) {
		t.Errorf("the document became %s, error %v", after, err)
	}
}

// TestValue checks how a value is printed. A secret is never printed, even before the report is redacted, and by no
// verb of fmt.
func TestValue(t *testing.T) {
	const planted = "invented-secret-value"
	v := evaluate.Secret(planted)
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		if s := fmt.Sprintf(format, v); strings.Contains(s, planted) {
			t.Errorf("%s shows it: %s", format, s)
		}
		if s := fmt.Sprintf(format, Difference{Path: ".a", Desired: v}); strings.Contains(s, planted) {
			t.Errorf("%s shows it in a difference: %s", format, s)
		}
	}
	raw, err := json.Marshal(Difference{Path: ".a", Desired: v, Live: evaluate.Plain(map[string]any{"a": int64(1)})})
	if err != nil || string(raw) != `{"path":".a","desired":"***","live":{"a":1}}` {
		t.Errorf("JSON %s, error %v", raw, err)
	}
	var back Difference
	if err := json.Unmarshal(raw, &back); err != nil || back.Desired.Shown() != "***" || back.Live.IsZero() {
		t.Errorf("read back %+v, error %v", back, err)
	}
	raw, err = json.Marshal(Difference{Path: ".a", Desired: evaluate.Plain(nil)})
	if err != nil || string(raw) != `{"path":".a","desired":null}` {
		t.Errorf("a value that is null: %s, error %v", raw, err)
	}
	if !(Value{}).IsZero() || evaluate.Plain(nil).IsZero() || evaluate.Plain("").IsZero() {
		t.Error("no value and an empty value are the same")
	}
	if !evaluate.Plain("a").Equal(evaluate.Plain("a")) || evaluate.Plain("a").Equal(evaluate.Plain("b")) ||
		evaluate.Plain("***").Equal(v) || (Value{}).Equal(evaluate.Plain(nil)) {
		t.Error("values are compared wrongly")
	}
}

// TestSecrets checks the encodings in which a value is hidden inside other text.
func TestSecrets(t *testing.T) {
	const value = `p@ss"w\rd/<&>~?~?ü` // its two alphabets of base64 differ, and it needs padding
	quoted, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	b := []byte(value)
	for form, s := range map[string]string{
		"as it is": value, "base64": base64.StdEncoding.EncodeToString(b),
		"base64 without padding":          base64.RawStdEncoding.EncodeToString(b),
		"base64 for URLs":                 base64.URLEncoding.EncodeToString(b),
		"base64 for URLs without padding": base64.RawURLEncoding.EncodeToString(b),
		"as JSON":                         string(quoted[1 : len(quoted)-1]),
		"as JSON, HTML not escaped":       `p@ss\"w\\rd/<&>~?~?ü`,
		"twice":                           value + value, "at the end of a word": "user:" + value,
	} {
		for name, add := range map[string]func(*secret.Values){
			"in the clear": func(x *secret.Values) { x.AddPlain(value) },
			"as stored": func(x *secret.Values) {
				x.AddSecret(map[string]any{"data": map[string]any{"key": base64.StdEncoding.EncodeToString(b)}})
			},
		} {
			var secrets secret.Values
			add(&secrets)
			a := hidden(&secrets, "before "+s+" after")
			if strings.Contains(a, s) || !strings.Contains(a, "before ") || !strings.Contains(a, " after") {
				t.Errorf("%s, added %s: %q", form, name, a)
			}
		}
	}
}

// TestSecretsTrimmed checks that a value that ends with a newline, such as that of `echo x | base64`, is also hidden
// without the newline.
func TestSecretsTrimmed(t *testing.T) {
	var secrets secret.Values
	value := base64.StdEncoding.EncodeToString([]byte("hunter22\n"))
	secrets.AddSecret(map[string]any{"data": map[string]any{"key": value}})
	if got := hidden(&secrets, "login with hunter22 was refused"); strings.Contains(got, "hunter22") {
		t.Errorf("%q", got)
	}
}

// TestSecretsShort checks that values of a few letters are not hidden in text, because they are frequent words.
func TestSecretsShort(t *testing.T) {
	var secrets secret.Values
	for _, s := range []string{"", "1", "true", "admin"} {
		secrets.AddPlain(s)
		secrets.AddSecret(map[string]any{"data": map[string]any{"key": base64.StdEncoding.EncodeToString([]byte(s))}})
	}
	if got := hidden(&secrets, "admin is true 1"); got != "admin is true 1" {
		t.Errorf("%q", got)
	}
}

// hidden returns a text of a finding in a redacted report.
func hidden(s *secret.Values, text string) string {
	a := &Audit{Findings: []Finding{{Evidence: []string{text}}}}
	return a.Redacted(s).Findings[0].Evidence[0]
}

// TestHidden checks that secrets are hidden in each text of a report that can quote the cluster.
func TestHidden(t *testing.T) {
	const planted = "invented-secret-value"
	var secrets secret.Values
	secrets.AddPlain(planted)
	a := &Audit{
		BundleDeployments: []BundleDeployment{{Resources: []Resource{{Message: planted, Differences: []Difference{
			{Path: ".a", Desired: evaluate.Plain(planted),
				Live: evaluate.Plain(map[string]any{planted: []any{planted, int64(1), nil}}), Note: planted,
				Manager: planted}}}}}},
		Findings: []Finding{{Message: planted, Evidence: []string{planted}, Remediation: planted,
			Remedies: []Remedy{{Text: planted, Command: planted}}}},
		Gaps:  []Gap{{What: planted, Reason: planted, Effect: planted}},
		Notes: []string{planted},
	}
	raw, err := json.MarshalIndent(a.Redacted(&secrets), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(string(raw), "\n") {
		if strings.Contains(line, planted) {
			t.Errorf("not hidden: %s", strings.TrimSpace(line))
		}
	}
}

func TestWho(t *testing.T) {
	for _, tc := range []struct {
		in   Difference
		want string
	}{
		{Difference{}, "who changed it is not recorded"},
		{Difference{AtAdmission: true}, "set at admission, or by the API server itself: no field manager wrote it"},
		{Difference{Manager: "kubectl"}, "last written by kubectl"},
		{Difference{Manager: "kubectl", Operation: "Update", Subresource: "scale", Time: "2026-01-02T03:04:05Z"},
			"last written by kubectl through scale (Update) at 2026-01-02T03:04:05Z"},
	} {
		if got := tc.in.Who(); got != tc.want {
			t.Errorf("%+v: %q, want %q", tc.in, got, tc.want)
		}
	}
}

// TestUnstatedSecrets checks that the value of a Secret that no bundle states does not hide text of the program itself,
// and that it is hidden in values, messages and paths that quote it.
func TestUnstatedSecrets(t *testing.T) {
	const planted = "invented-secret-value"
	build := func() *Audit {
		return &Audit{
			BundleDeployments: []BundleDeployment{{Namespace: "c", Name: "bbb", Release: "web/bbb:1",
				Resources: []Resource{
					{Ref: object.Ref{Kind: "ConfigMap", Namespace: "web", Name: "cfg"}, Message: "the value is " +
						planted,
						Differences: []Difference{
							{Path: ".data.a", Live: evaluate.Plain(planted), Time: "2026-01-01T00:00:00Z"},
							{Path: ".data." + planted, Manager: planted}}}}}},
			Findings: []Finding{
				{Code: "FD101", Message: "configmap web/gone is not on the cluster",
					Evidence:    []string{"it is in the manifest of release web/bbb:1"},
					Remediation: "deploy the bundle again"},
				{Code: "FD104", Object: object.Ref{Kind: "ConfigMap", Namespace: "web", Name: "cfg"},
					Message: "configmap web/cfg differs in .data.a, .data." + planted, Evidence: []string{planted}}}}
	}
	data := map[string]any{"real": planted}
	for _, v := range []string{"is not on the cluster", "differs in", "configmap web/gone", "release web/bbb:1",
		".data.a", "2026-01-01T00:00:00Z", "again"} {
		data[v] = v
	}
	var secrets secret.Values
	a := build()
	var quotes secret.Quotes
	a.Texts(quotes.Add)
	secrets.AddQuoted(map[string]any{"stringData": data}, &quotes, nil, false)
	a = a.Redacted(&secrets)
	raw, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(raw), planted) {
		t.Errorf("the value is shown: %s", raw)
	}
	var only secret.Values
	only.AddPlain(planted)
	clean := build().Redacted(&only)
	if diff := cmp.Diff(clean.Findings, a.Findings); diff != "" {
		t.Errorf("a Secret that no bundle states hides text (-want +got):\n%s", diff)
	}
	if got := a.BundleDeployments[0].Resources[0].Differences[0]; got.Path != ".data.a" ||
		got.Time != "2026-01-01T00:00:00Z" {
		t.Errorf("difference %+v", got)
	}
}

// TestSecretsEscaped checks that a value is hidden in the escapes of other programs.
func TestSecretsEscaped(t *testing.T) {
	var secrets secret.Values
	secrets.AddPlain(`p4ss/W0rd+x&y<z>q's!(e)*`)
	for name, text := range map[string]string{
		"Python":            `p4ss/W0rd%2Bx%26y%3Cz%3Eq%27s%21%28e%29%2A`,
		"JavaScript":        `p4ss%2FW0rd%2Bx%26y%3Cz%3Eq's!(e)*`,
		"hexadecimal":       `p4ss/W0rd+x&amp;y&lt;z&gt;q&#x27;s!(e)*`,
		"with a zero":       `p4ss/W0rd+x&amp;y&lt;z&gt;q&#039;s!(e)*`,
		"beside a percent":  `100% of p4ss/W0rd%2Bx%26y%3Cz%3Eq%27s%21%28e%29%2A`,
		"numbers only":      `p4ss&#47;W0rd&#43;x&#38;y&#60;z&#62;q&#39;s&#33;(e)*`,
		"in a longer text ": `postgres://u:p4ss/W0rd%2Bx%26y%3Cz%3Eq%27s%21%28e%29%2A@db/x`,
	} {
		if got := hidden(&secrets, text); strings.Contains(got, "p4ss") {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := hidden(&secrets, "100%25 &amp; clean"); got != "100%25 &amp; clean" {
		t.Errorf("a text without the value: %q", got)
	}
}

// TestPointerRedacted checks that a map key which is the value of a Secret is not shown in a pointer, in which it can
// be escaped.
func TestPointerRedacted(t *testing.T) {
	var secrets secret.Values
	secrets.AddPlain("hunter/2~x")
	a := &Audit{BundleDeployments: []BundleDeployment{{Resources: []Resource{{Differences: []Difference{
		{Path: ".data.hunter/2~x", Pointer: "/data/hunter~12~0x"}, {Path: ".data[0]",
			Pointer: "/data/hunter~12~0x"}, {Path: ".data.a/b", Pointer: "/data/a~1b"}}}}}}}
	var got []string
	for _, d := range a.Redacted(&secrets).BundleDeployments[0].Resources[0].Differences {
		got = append(got, d.Pointer)
	}
	if diff := cmp.Diff([]string{"", "", "/data/a~1b"}, got); diff != "" {
		t.Errorf("pointers (-want +got):\n%s", diff)
	}
}

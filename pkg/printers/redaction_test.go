// SPDX-License-Identifier: Apache-2.0

package printers_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cases"
)

// A doc is one object, as decoded JSON.
type doc = map[string]any

// place is the only place in which the cluster stores a value. With several places, redaction because of one place
// could hide a leak of another.
type place int

const (
	manifestStringData place = iota
	manifestData
	liveData
	missingSecret // in the manifest, and not on the cluster
	unownedSecret // on the cluster, without ownership metadata
	lastApplied   // in the annotation that kubectl left on a live Secret
	earlierRevision
	laterRevision  // of a failed revision: its objects are not desired
	hookSecret     // a hook of the release, which is not in its manifest
	unknownRelease // in a manifest with another, damaged document
	otherBundle    // live, of a bundle that may be out of scope
	noBundle       // live, not owned by a bundle
	otherCopy      // in an annotation that another tool left on a live Secret
	registryLogin  // within .dockerconfigjson
	registryAuth   // within its auth
	helmValues     // one of the values in the values Secret of a BundleDeployment
	places
)

func (p place) String() string {
	return [...]string{"manifest stringData", "manifest data", "live data", "missing Secret", "unowned Secret",
		"last-applied annotation", "earlier revision",
		"later revision", "hook", "damaged manifest", "other bundle's Secret", "Secret without a bundle",
		"other tool's annotation", "registry login", "registry auth", "Helm values"}[p]
}

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func document(apiVersion, kind, name string, more doc) doc {
	o := doc{"apiVersion": apiVersion, "kind": kind, "metadata": doc{"name": name, "namespace": "web"}}
	for k, v := range more {
		o[k] = v
	}
	return o
}

// owned adds the ownership metadata of the bundle.
func owned(o doc) doc {
	m := ownership.Desired("default-guestbook", "guestbook", "web")
	meta, _ := o["metadata"].(doc)
	meta["labels"] = doc{fleet.HashLabel: m.Hash}
	annotations, _ := meta["annotations"].(doc)
	if annotations == nil {
		annotations = doc{}
	}
	annotations[fleet.IDAnnotation] = m.SetID
	meta["annotations"] = annotations
	return o
}

func annotated(o doc, value string) doc {
	return annotatedBy("kubectl.kubernetes.io/last-applied-configuration", o, value)
}

func annotatedBy(key string, o doc, value string) doc {
	meta, _ := o["metadata"].(doc)
	meta["annotations"] = doc{key: value}
	return o
}

func record(t *testing.T, revision int, status string, objects ...doc) doc {
	t.Helper()
	return recordOf(t, "guestbook", revision, status, nil, objects...)
}

// recordOf is the Secret with a release record of a bundle. The status may be followed by ": " and a description. A
// nil object is a document that is not valid YAML.
func recordOf(t *testing.T, bundle string, revision int, status string, hook doc, objects ...doc) doc {
	t.Helper()
	status, description, _ := strings.Cut(status, ": ")
	var manifest strings.Builder
	for _, o := range objects {
		if len(o) == 0 {
			manifest.WriteString("---\n[\n")
			continue
		}
		document, err := escape.EncodeYAML(o)
		if err != nil {
			t.Fatal(err)
		}
		manifest.WriteString("---\n" + string(document))
	}
	hooks := []any{}
	if hook != nil {
		document, err := escape.EncodeYAML(hook)
		if err != nil {
			t.Fatal(err)
		}
		hooks = append(hooks, doc{"kind": "Secret", "name": "hook", "manifest": string(document)})
	}
	raw, err := json.Marshal(doc{"name": bundle, "namespace": "web", "version": revision, "info": doc{"status": status,
		"description": description}, "hooks": hooks,
		"chart": doc{"metadata": doc{"annotations": doc{fleet.BundleIDAnnotation: bundle,
			fleet.AgentNamespaceAnnotation: "system"}}},
		"manifest": manifest.String()})
	if err != nil {
		t.Fatal(err)
	}
	name := release.Name{Namespace: "web", Name: bundle, Revision: revision}.SecretName()
	return document("v1", "Secret", name, doc{"type": release.SecretType,
		"data": doc{release.DataKey: b64(b64(string(raw)))}})
}

// cluster is a captured cluster that stores a value in one place and shows it in others: in fields and conditions of
// objects other than Secrets, and in Fleet's statuses.
func cluster(t *testing.T, value string, in place) []doc {
	t.Helper()
	at := func(p place, v string) string {
		if p == in {
			return v
		}
		return "something else"
	}
	plain := strings.ToValidUTF8(value, "\uFFFD")
	secret := func(name string, more doc) doc { return document("v1", "Secret", name, more) }
	applied, err := json.Marshal(doc{"data": doc{"k": b64(at(lastApplied, value))},
		"stringData": doc{"k": strings.ToValidUTF8(at(lastApplied, value), "")}})
	if err != nil {
		t.Fatal(err)
	}
	quoted, err := json.Marshal(plain)
	if err != nil {
		t.Fatal(err)
	}
	shown := doc{"plain": "user:" + plain + "@host", "std": b64(value),
		"raw":     base64.RawStdEncoding.EncodeToString([]byte(value)),
		"url":     base64.URLEncoding.EncodeToString([]byte(value)),
		"rawURL":  base64.RawURLEncoding.EncodeToString([]byte(value)),
		"trimmed": strings.TrimSpace(plain), "json": `{"password":` + string(quoted) + `}`,
		"unescaped": `{"password":` + unescaped(t, plain) + `}`,
		"hex":       hex.EncodeToString([]byte(value)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(value))),
		"query": "https://host/?p=" + url.QueryEscape(value),
		"path":  url.PathEscape(value), "html": "<p>" + html.EscapeString(value) + "</p>",
		"folded": strings.Join(strings.Fields(plain), " "),
		"joined": strings.ReplaceAll(plain, "\n", ""), "go": strconv.Quote(value), "basic": b64("user:" + value +
			"@host"), "basic1": b64("u:" + value), "basic2": b64("us" + value + "x")}
	stated := doc{}
	var words []string
	for _, k := range slices.Sorted(maps.Keys(shown)) {
		stated[k] = "x"
		words = append(words, k+"="+fmt.Sprint(shown[k]))
	}
	patch := fmt.Sprintf(`{"data":{"k":%q}}`, b64(value))
	entry := []any{doc{"apiVersion": "v1", "kind": "Secret", "namespace": "web", "name": "stated", "patch": patch}}
	bd := document("fleet.cattle.io/v1alpha1", "BundleDeployment", "guestbook",
		doc{"spec": doc{"deploymentID": "id-1", "stagedDeploymentID": "id-1"},
			"status": doc{"appliedDeploymentID": "id-1", "release": "web/guestbook:2", "modifiedStatus": entry,
				"conditions": []any{doc{"type": "Ready", "status": "False",
					"message": "secret.v1 web/stated modified " +
						patch}}}})
	login, err := json.Marshal(doc{"auths": doc{"registry.example.com": doc{"username": "somebody",
		"password": plainOf(at(registryLogin, value)),
		"auth":     b64("somebody:" + at(registryAuth, value))}}})
	if err != nil {
		t.Fatal(err)
	}
	helm, err := json.Marshal(doc{"database": doc{"password": strings.ToValidUTF8(at(helmValues, value), "")}})
	if err != nil {
		t.Fatal(err)
	}
	return append(reportedErrors(words), []doc{
		bd,
		secret("refused", doc{"type": "fleet.cattle.io/bundle-deployment/v1alpha1",
			"data": doc{"values": b64(string(helm)),
				"stagedValues": b64(string(helm))}}),
		document("fleet.cattle.io/v1alpha1", "BundleDeployment", "other",
			doc{"spec": doc{"deploymentID": "id-1", "stagedDeploymentID": "id-1"},
				"status": doc{"appliedDeploymentID": "id-1", "release": "web/other:1"}}),
		document("fleet.cattle.io/v1alpha1", "BundleDeployment", "damaged",
			doc{"spec": doc{"deploymentID": "id-1", "stagedDeploymentID": "id-1"},
				"status": doc{"appliedDeploymentID": "id-1", "release": "web/damaged:1"}}),
		recordOf(t, "other", 1, "deployed", secret("hook", doc{"data": doc{"k": b64(at(hookSecret, value))}}),
			secret("others", doc{"data": doc{"k": b64("stated")}})),
		recordOf(t, "damaged", 1, "deployed", nil, doc{},
			secret("damaged", doc{"data": doc{"k": b64(at(unknownRelease, value))}})),
		record(t, 3, "failed: Upgrade failed: "+strings.Join(words, " "), secret("later",
			doc{"data": doc{"k": b64(at(laterRevision, value))}})),
		secret("others", doc{"data": doc{"k": b64(at(otherBundle, value))}}),
		secret("no-bundle", doc{"data": doc{"k": b64(at(noBundle, value))}}),
		secret("pull", doc{"type": "kubernetes.io/dockerconfigjson",
			"data": doc{".dockerconfigjson": b64(string(login))}}),
		owned(annotatedBy("example.com/original", secret("copied", doc{"data": doc{"k": b64("stated")}}),
			`{"data":{"k":"`+b64(at(otherCopy, value))+`"}}`)),
		document("fleet.cattle.io/v1alpha1", "Bundle", "guestbook",
			doc{"status": doc{"summary": doc{"nonReadyResources": []any{doc{"modifiedStatus": entry}}}}}),
		secret(fleet.AgentName, doc{"data": doc{fleet.AgentSecretNamespaceKey: b64("web")}}),
		record(t, 1, "superseded", secret("gone", doc{"data": doc{"k": b64(at(earlierRevision, value))}})),
		record(t, 2, "deployed",
			secret("stated", doc{"stringData": doc{"k": strings.ToValidUTF8(at(manifestStringData, value), "")}}),
			secret("coded", doc{"data": doc{"k": b64(at(manifestData, value))}}),
			secret("live", doc{"data": doc{"k": b64("stated")}}),
			secret("missing", doc{"data": doc{"k": b64(at(missingSecret, value))}}),
			secret("unowned", doc{"data": doc{"k": b64("stated")}}),
			annotated(secret("annotated", doc{"data": doc{"k": b64("stated")}}), "{}"),
			annotatedBy("example.com/original", secret("copied", doc{"data": doc{"k": b64("stated")}}), "x"),
			document("v1", "Pod", "keyed", doc{"spec": doc{"containers": []any{doc{"name": "c", "image": "i",
				"env": []any{doc{"name": plain, "value": "x"}}}}}}),
			doc{"apiVersion": "v1", "kind": "ConfigMap", "metadata": doc{"namespace": "web", "name": "set",
				"finalizers": []any{plain}}},
			document("v1", "ConfigMap", "keys", doc{"data": doc{plain: "x"}}),
			document("v1", "ConfigMap", "copy", doc{"data": stated}),
			document("example.com/v1", "Shop", "fields", doc{"spec": doc{"list": []any{"x"}, "map": stated}}),
			document("example.com/v1", "Shop", "condition", nil)),
		owned(secret("stated", doc{"data": doc{"k": b64("changed")}})),
		owned(secret("coded", doc{"data": doc{}})),
		owned(secret("live", doc{"data": doc{"k": b64(at(liveData, value))}})),
		secret("unowned", doc{"data": doc{"k": b64(at(unownedSecret, value))}}),
		owned(annotated(secret("annotated", doc{"data": doc{"k": b64("stated")}}), string(applied))),
		owned(document("v1", "ConfigMap", "copy", doc{"data": shown})),
		owned(document("example.com/v1", "Shop", "fields",
			doc{"spec": doc{"list": []any{doc{"in": plain}}, "map": shown}})),
		owned(document("example.com/v1", "Shop", "condition", doc{"status": doc{"conditions": []any{
			doc{"type": "Ready", "status": "False", "reason": "Refused", "message": strings.Join(words, " ") +
				" was refused; " + plain}}}})),
		owned(document("v1", "Pod", "keyed", doc{"spec": doc{"containers": []any{doc{"name": "c", "image": "i",
			"env": []any{doc{"name": "other", "value": "x"}}}}}})),
		owned(doc{"apiVersion": "v1", "kind": "ConfigMap", "metadata": doc{"namespace": "web", "name": "set",
			"finalizers": []any{"other"}}}),
		owned(document("v1", "ConfigMap", "keys", nil)),
		{"apiVersion": "v1", "kind": "SecretList", "items": []any{}},
	}...)
}

// reportedErrors are objects of Fleet with errors that quote a value: each in the form of one of the words, then in
// all forms.
func reportedErrors(words []string) []doc {
	var out []doc
	for i, w := range append(words, strings.Join(words, "\n")) {
		said := func(kind string) []any {
			return []any{doc{"type": kind, "status": "False", "reason": "Error",
				"lastUpdateTime": "2026-01-02T01:00:00Z",
				"message":        "not installed: " + w}}
		}
		name := fmt.Sprintf("refused-%d", i)
		out = append(out, [...]doc{
			document("fleet.cattle.io/v1alpha1", "BundleDeployment", name, doc{"spec": doc{"deploymentID": "id-1",
				"stagedDeploymentID": "id-1"},
				"status": doc{"appliedDeploymentID": "id-1", "conditions": said("Installed")}}),
			document("fleet.cattle.io/v1alpha1", "GitRepo", name, doc{"spec": doc{"repo": "a"},
				"status": doc{"conditions": said("GitPolling")}}),
			document("fleet.cattle.io/v1alpha1", "Bundle", name, doc{"status": doc{"conditions": said("Ready")}}),
		}[i%3])
	}
	return append(out, doc{"apiVersion": "fleet.cattle.io/v1alpha1", "kind": "ClusterGroup",
		"metadata": doc{"name": "clock", "namespace": "web", "creationTimestamp": "2026-01-02T04:00:00Z"}})
}

// plainOf is a value as it is in a text.
func plainOf(value string) string { return strings.ToValidUTF8(value, "\uFFFD") }

// unescaped is a JSON string without escapes for HTML.
func unescaped(t *testing.T, s string) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func auditOf(t *testing.T, docs []doc, targets ...evaluate.Target) *report.Audit {
	t.Helper()
	var b bytes.Buffer
	for _, d := range docs {
		if err := json.NewEncoder(&b).Encode(d); err != nil {
			t.Fatal(err)
		}
	}
	s, err := snapshot.Open(t.Context(), []string{"-"}, &b)
	if err != nil {
		t.Fatal(err)
	}
	got, err := audit.Run(t.Context(), s, audit.Options{Commands: cases.Commands,
		Scope: evaluate.Scope{Targets: targets}})
	if err != nil {
		t.Fatal(err)
	}
	return got.Report()
}

// explainedOf are the explanations of the bundles with errors, in the formats of kubectl.
func explainedOf(t *testing.T, docs []doc) map[string]string {
	t.Helper()
	var b bytes.Buffer
	var targets []evaluate.Target
	for _, d := range docs {
		if err := json.NewEncoder(&b).Encode(d); err != nil {
			t.Fatal(err)
		}
		meta, _ := d["metadata"].(doc)
		if name, _ := meta["name"].(string); d["kind"] == "Bundle" || d["kind"] == "GitRepo" || strings.HasPrefix(name,
			"refused-") {
			targets = append(targets, evaluate.Target{Kind: strings.ToLower(fmt.Sprint(d["kind"])), Name: "web/" +
				name})
		}
	}
	s, err := snapshot.Open(t.Context(), []string{"-"}, &b)
	if err != nil {
		t.Fatal(err)
	}
	explained := whyOf(t, s, targets...)
	out := map[string]string{}
	for _, format := range formats {
		out[format] = shown(t, format, printers.Why(explained, printers.Options{}))
	}
	return out
}

// decoded is an output without escapes, which could hide a value: the output itself and, for JSON and YAML, each of its
// strings.
func decoded(t *testing.T, format, out string) []string {
	t.Helper()
	texts := []string{out, strings.Join(strings.Fields(out), " ")} // a line may break at a blank of the value
	if format != "json" && format != "yaml" {
		return texts
	}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			texts = append(texts, v)
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for k, e := range v {
				texts = append(texts, k)
				walk(e)
			}
		}
	}
	walk(decode(t, out))
	return texts
}

// forms are the encodings of a value.
func forms(t *testing.T, value string) map[string]string {
	t.Helper()
	trimmed := strings.TrimSpace(value)
	out := map[string]string{
		"unchanged": value, "trimmed": trimmed, "with single blanks": strings.Join(strings.Fields(value), " "),
		"base64":          strings.TrimRight(b64(value), "="),
		"base64 for URLs": strings.TrimRight(base64.URLEncoding.EncodeToString([]byte(value)), "="),
		"hex":             hex.EncodeToString([]byte(value)),
		"upper-case hex":  strings.ToUpper(hex.EncodeToString([]byte(value))),
		"in a query":      url.QueryEscape(value),
		"in a path":       url.PathEscape(value), "in HTML": html.EscapeString(value),
		"without line ends": strings.ReplaceAll(value, "\n", ""),
	}
	// at each offset in a group of base64, without the characters that also depend on adjacent bytes
	for _, before := range []string{"user:", "u:", "us"} {
		text := strings.TrimRight(b64(before+value), "=")
		first := (8*len(before) + 5) / 6
		out["base64 behind "+before] = text[first : len(text)-1]
	}
	if utf8.ValidString(trimmed) {
		quoted, err := json.Marshal(trimmed)
		if err != nil {
			t.Fatal(err)
		}
		out["as JSON"] = string(quoted[1 : len(quoted)-1])
		plain := unescaped(t, trimmed)
		out["as JSON, HTML not escaped"] = plain[1 : len(plain)-1]
	}
	return out
}

// leak returns the form in which an output contains a value, or "".
func leak(t *testing.T, format, out, value string) string {
	t.Helper()
	texts := decoded(t, format, out)
	for form, s := range forms(t, value) {
		if len(s) >= 6 && slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, s) }) {
			return form
		}
	}
	return ""
}

// FuzzRedaction checks that no format of the report contains the value of a Secret, for every place that stores or
// shows it, and that the same objects in any order give the same bytes.
func FuzzRedaction(f *testing.F) {
	for i, value := range []string{"hunter22", "correct horse battery", "p@ss\"w\\rd/<&>", "tab\tnew\nline",
		"newline-at-the-end\n", " blanks around ",
		"üñïçødé-✓-\U0001F511", "ff\xff\xfe\xfd binary",
		"-----BEGIN PRIVATE KEY-----\nMIIE\nvQIB\n-----END PRIVATE KEY-----\n", "aaaaaaaa", "[1,2,3]",
		"$(reboot)%s%d",
		"\u2028\u2029\x7f\x1b[31m", "subjects?_d=~~~", "\"quoted\"", "***1***2"} {
		for p := range places {
			if p <= earlierRevision || i%4 == 0 { // the other places redact a value in the same way
				f.Add(value, int(p))
			}
		}
	}
	baseline := map[place]map[string]string{}
	f.Fuzz(func(t *testing.T, value string, where int) {
		in := place(((where % int(places)) + int(places)) % int(places))
		if len(strings.TrimSpace(value)) < 6 || len(value) > 1<<12 {
			return // short texts occur in every report
		}
		if (in == manifestStringData || in == lastApplied || in == registryLogin || in == helmValues) &&
			!utf8.ValidString(value) {
			return // such a place stores only valid UTF-8
		}
		if baseline[in] == nil {
			baseline[in] = printed(t, auditOf(t, cluster(t, "q7x9z-of-nothing-k3v8", in)))
		}
		docs := cluster(t, value, in)
		out := printed(t, auditOf(t, docs))
		narrow := printed(t, auditOf(t, docs, evaluate.Target{Kind: evaluate.TargetBundleDeployment,
			Name: "web/guestbook"}))
		for _, format := range slices.Concat(formats, templates, slices.Collect(maps.Keys(ofAudits))) {
			if leak(t, format, baseline[in][format], value) != "" {
				return // the report contains this text without the Secret
			}
		}
		for _, format := range slices.Concat(formats, templates, slices.Collect(maps.Keys(ofAudits))) {
			if form := leak(t, format, out[format], value); form != "" {
				t.Errorf("%s: the value is in -o %s, %s", in, format, form)
			}
			if form := leak(t, format, narrow[format], value); form != "" {
				t.Errorf("%s: with a scope, the value is in -o %s, %s", in, format, form)
			}
		}
		explained := explainedOf(t, docs)
		for format, text := range explained {
			if form := leak(t, format, text, value); form != "" {
				t.Errorf("%s: the value is in why -o %s, %s", in, format, form)
			}
		}
		for _, text := range []string{out["json"], explained["json"]} {
			if !strings.Contains(text, "not installed: ") {
				t.Errorf("%s: no error is quoted", in)
			}
		}
		slices.Reverse(docs)
		for format, again := range printed(t, auditOf(t, docs)) {
			if again != out[format] {
				t.Errorf("%s: -o %s depends on the order of the objects", in, format)
			}
		}
	})
}

// SPDX-License-Identifier: Apache-2.0

package secret_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"html"
	"io"
	"net/url"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/layers"
)

const plain = "planted pass/word-1+2"

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// secret returns a Secret with values.
func secretOf(values ...string) map[string]any {
	data := map[string]any{}
	for i, v := range values {
		data[fmt.Sprint("key", i)] = encoded(v)
	}
	return map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"namespace": "apps",
		"name": "web"}, "data": data}
}

// maskerOf returns a Masker that knows the values of a Secret.
func maskerOf(values ...string) *secret.Masker {
	m := secret.NewMasker([]byte("key"))
	m.Learn(secretOf(values...), false)
	return m
}

func keyOf(kind, name string) object.Key {
	return object.Key{Kind: kind, Namespace: "apps", Name: name}
}

// masked masks an object, given as JSON, with a Masker that knows values.
func masked(t *testing.T, raw string, values ...string) string {
	t.Helper()
	content, ok := secret.DecodeJSON([]byte(raw))
	if !ok {
		t.Fatalf("no JSON object: %s", raw)
	}
	maskerOf(values...).Object(keyOf("ConfigMap", "x")).Mask(content)
	out, err := secret.EncodeJSON(content)
	must(t, err)
	return string(out)
}

func packed(t *testing.T, text string, pack func(io.Writer) io.WriteCloser) string {
	t.Helper()
	var b bytes.Buffer
	w := pack(&b)
	_, err := w.Write([]byte(text))
	must(t, err)
	must(t, w.Close())
	return b.String()
}

func wide(text string) string {
	var out strings.Builder
	for _, c := range utf16.Encode([]rune(text)) {
		out.WriteByte(byte(c))
		out.WriteByte(byte(c >> 8))
	}
	return out.String()
}

// TestEncodings checks that no text has a value in an encoding.
func TestEncodings(t *testing.T) {
	wrapped := encoded("user:" + plain + strings.Repeat(" more", 20))
	for name, text := range map[string]string{
		"plain":               "user " + plain + " host",
		"base64":              encoded(plain),
		"base64 after text":   "x" + encoded("user:"+plain),
		"base64 twice":        encoded(encoded(plain)),
		"base64 for URLs":     base64.URLEncoding.EncodeToString([]byte("??>" + plain)),
		"base64, wrapped":     wrapped[:20] + "\n" + wrapped[20:64] + "\n  " + wrapped[64:],
		"JSON":                fmt.Sprintf("%q", plain+"\""),
		"JSON in JSON":        fmt.Sprintf("%q", fmt.Sprintf("%q", "a\n"+plain)),
		"hexadecimal escapes": `\x70\x6canted pass/word-1+2`,
		"Unicode escapes":     "\\u0070lanted pass\\/word-1+2",
		"YAML escapes":        `\U00000070\x6canted pass/word-1+2`,
		"octal escapes":       `\160\0154anted pass/word-1+2`,
		"lines in YAML":       "planted\\ pass/\\\n  word-1+2",
		"JSON of octal":       fmt.Sprintf("%q", `\160lanted pass/word-1+2`),
		"a query":             "?p=" + url.QueryEscape(plain),
		"a path":              url.PathEscape(plain),
		"a page":              strings.ReplaceAll(html.EscapeString(plain), "-", "&#45;"),
		"base32":              base32.StdEncoding.EncodeToString([]byte(plain)),
		"hexadecimal":         "0x" + hex.EncodeToString([]byte(plain)),
		"UTF-16":              encoded(wide(plain)),
		"gzip":                encoded(packed(t, plain, func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) })),
		"gzip of nothing": encoded(packed(t, strings.Repeat("x", 1<<20), func(w io.Writer) io.WriteCloser {
			return gzip.NewWriter(w)
		})),
		"zlib": encoded(packed(t, strings.Repeat(plain, 2)+wrapped, func(w io.Writer) io.WriteCloser {
			return zlib.NewWriter(w)
		})),
	} {
		got := maskerOf(plain).Object(keyOf("ConfigMap", "x")).Text(text)
		if !strings.Contains(got, "hmac_") || len(layers.Find([]byte(got), plain)) > 0 || len(text) > 40 &&
			strings.Contains(got, text[len(text)/2:]) {
			t.Errorf("%s: %s became %s", name, text, got)
		}
	}
	text := "level=info image=registry.example.com/web@sha256:" + strings.Repeat("0123456789abcdef", 4)
	if got := maskerOf(plain).Object(keyOf("ConfigMap", "x")).Text(text); got != text {
		t.Errorf("a text without a value became %s", got)
	}
}

// TestAddresses checks that no credentials of an address remain, whether a Secret has them or not.
func TestAddresses(t *testing.T) {
	for _, login := range []string{"user:planted", "user:pl$anted", "user:planted(x)", "user:{planted}",
		"user:<planted>", "user:plan/planted",
		"user:masked-planted", "planted-token", "planted-token:x-oauth-basic", "user:p@planted", "planted"} {
		text := "cannot clone https://" + login + "@git.example.com/a.git: no"
		got := maskerOf("x").Object(keyOf("ConfigMap", "x")).Text(text)
		if strings.Contains(got, "planted") || !strings.HasSuffix(got, "@git.example.com/a.git: no") {
			t.Errorf("%s became %s", text, got)
		}
	}
	for _, text := range []string{"ssh://git@git.example.com/a", "https://git.example.com/a/@b",
		"oci://registry.example.com:5000/a@sha256:12", "a@b"} {
		if got := maskerOf("x").Object(keyOf("ConfigMap", "x")).Text(text); got != text {
			t.Errorf("%s became %s", text, got)
		}
	}
}

// TestParts checks that parts of values are known, which other objects may have alone.
func TestParts(t *testing.T) {
	for name, v := range map[string]string{
		"an address":           "postgres://user:planted-part@db/x",
		"a file of settings":   "level = info\npassword = planted-part\n",
		"keys of settings":     "spring.datasource.api-keys: planted-part",
		"YAML":                 "a:\n  tls.key: planted-part\n",
		"a variable in YAML":   "extraEnv:\n- name: DB_PASSWORD\n  value: planted-part\n",
		"a list in YAML":       "tokens: [planted-part]\n",
		"JSON":                 `{"credentials":{"x":"planted-part"}}`,
		"environment":          "# settings\nexport A_DSN='planted-part'\nB=2\n",
		"a registry":           `{"auths":{"registry.example.com":{"auth":"` + encoded("user:planted-part") + `"}}}`,
		"a line of a key":      "-----BEGIN PRIVATE KEY-----\nplanted-part\nx\n-----END PRIVATE KEY-----\n",
		"the value, with ends": " planted-part\n",
	} {
		v = strings.ReplaceAll(v, "planted-part", "planted-part-of-a-key")
		got := maskerOf(v).Object(keyOf("ConfigMap", "x")).Text("it has planted-part-of-a-key in it")
		if strings.Contains(got, "planted") || !strings.HasPrefix(got, "it has hmac_") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestHelmValues checks that each of the Helm values in a Secret is known. A word is only one between other characters.
func TestHelmValues(t *testing.T) {
	m := secret.NewMasker([]byte("key"))
	m.Learn(secretOf("dbline: herbst-nebel-laub\npolicy: Ignore\nmemory: 1500Mi\nlist: [{x: planted value}]\n"), true)
	o := m.Object(keyOf("ConfigMap", "x"))
	for text, masked := range map[string]bool{"herbst-nebel-laub": true, "x=planted value": true, "(Ignore)": true,
		"preferredDuringSchedulingIgnoredDuringExecution": false, "1500Mi": false} {
		if got := o.Text(text); strings.Contains(got, "hmac_") != masked {
			t.Errorf("%s became %s", text, got)
		}
	}
}

// TestKeys checks that equal values have equal masks in one object only, and other masks with another key.
func TestKeys(t *testing.T) {
	m, other := maskerOf(plain), secret.NewMasker([]byte("other key"))
	one := m.Object(keyOf("Secret", "one"))
	if one.Token(plain) != m.Object(keyOf("Secret", "one")).Token(plain) {
		t.Error("equal values of one object have different masks")
	}
	for name, o := range map[string]*secret.ObjectMask{"another object": m.Object(keyOf("Secret", "two")),
		"another kind": m.Object(keyOf("ConfigMap", "one")), "another key": other.Object(keyOf("Secret", "one"))} {
		if o.Token(plain) == one.Token(plain) {
			t.Errorf("%s has the same mask", name)
		}
	}
	same := maskerOf(plain)
	same.Same = true
	if same.Object(keyOf("Secret", "one")).Token(plain) != same.Object(keyOf("ConfigMap", "two")).Token(plain) {
		t.Error("equal values have different masks, although the same were asked for")
	}
	if first, second := m.Sum("a", "x"), m.Sum("a", "x"); first != second || first == m.Sum("b", "x") ||
		first == m.Sum("a", "y") {
		t.Error("a sum does not depend on the purpose and the text alone")
	}
}

// TestPlaces checks places of an object in which a value was not found once.
func TestPlaces(t *testing.T) {
	const v, number, word, short = "planted-password-1", "8675309123", "plantedword", "pin77"
	hash := strings.Repeat("0123abcd", 8)
	everywhere := `{"type":"planted-password-1","status":"planted-password-1","phase":"planted-password-1",` +
		`"state":"planted-password-1",` +
		`"reason":"planted-password-1","release":"planted-password-1","commit":"planted-password-1",` +
		`"time":"planted-password-1"}`
	for name, raw := range map[string]string{
		"data of a Secret": `{"apiVersion":"v1","kind":"Secret","data":{"a":"` + encoded(v) +
			`"},"stringData":{"pin":"pin77"}}`,
		"data that is no base64": `{"apiVersion":"v1","kind":"Secret","data":{"a":"planted-password-1"}}`,
		"a number in a custom resource": `{"apiVersion":"example.com/v1","kind":"Thing","spec":{"pin":8675309123,` +
			`"pins":[8675309123]}}`,
		"a number in a status":      `{"apiVersion":"example.com/v1","kind":"Thing","status":{"pin":8675309123}}`,
		"a number in an annotation": `{"metadata":{"annotations":{"x":"{\"pin\":8675309123}"}}}`,
		"fields with names of states": `{"apiVersion":"example.com/v1","kind":"Thing","spec":` + everywhere +
			`,"status":` + everywhere + `}`,
		"the same, of Kubernetes": `{"apiVersion":"apps/v1","kind":"Deployment","spec":` + everywhere + `}`,
		"a word in a custom resource": `{"apiVersion":"example.com/v1","kind":"Thing","spec":{` +
			`"state":"plantedword"}}`,
		"a key": `{"apiVersion":"example.com/v1","kind":"Thing","spec":{` +
			`"planted-password-1":{}}}`,
		"a key of an annotation": `{"metadata":{"annotations":{"example.com/planted-password-1":"x"}}}`,
		"a key in managedFields": `{"metadata":{"managedFields":[{"fieldsV1":{"f:data":{` +
			`"f:planted-password-1":{}}}}]}}`,
		"an element in managedFields": `{"metadata":{"managedFields":[{"fieldsV1":{"f:x":{` +
			`"v:\"planted-password-1\"":{}}}}]}}`,
		"two objects in an annotation": `{"metadata":{"annotations":{` +
			`"x":"{\"a\":1}{\"p\":\"planted-password-1\"}"}}}`,
		"a key twice in an annotation": `{"metadata":{"annotations":{` +
			`"x":"{\"a\":\"planted-password-1\",\"a\":1}"}}}`,
		"a copy in an annotation of a Secret": `{"apiVersion":"v1","kind":"Secret","metadata":{"annotations":{` +
			`"x":"{\"kind\":\"Secret\",\"data\":{\"pin\":\"` + encoded(short) + `\"}}"}}}`,
		"two copies in an annotation": `{"apiVersion":"v1","kind":"Secret","metadata":{"annotations":{` +
			`"x":"{\"kind\":\"Secret\"}{\"data\":{\"pin\":\"pin77\"}}"}}}`,
		"an embedded Secret": `{"apiVersion":"example.com/v1","kind":"Thing","spec":{"template":{` +
			`"kind":"Secret","stringData":{"pin":"pin77"}}}}`,
		"a patch in Fleet's status": `{"apiVersion":"fleet.cattle.io/v1alpha1","kind":"BundleDeployment","status":{` +
			`"modifiedStatus":[{"kind":"Secret",` +
			`"patch":"{\"data\":{\"pin\":\"` + encoded(short) + `\"}}"}]}}`,
		"a message with a patch": `{"apiVersion":"fleet.cattle.io/v1alpha1","kind":"BundleDeployment","status":{` +
			`"conditions":[{"type":"Ready",` +
			`"message":"secret.v1 apps/web modified {\"data\":{\"pin\":\"` + encoded(short) +
			`\"}}; secret.v1 apps/b modified {\"data\":{\"pin\":\"` + encoded(short) + `"}]}}`,
		"messages with a patch": `{"apiVersion":"fleet.cattle.io/v1alpha1","kind":"BundleDeployment","status":{` +
			`"nonReadyStatus":[{` +
			`"summary":{"message":["secret.v1 apps/web modified {\"stringData\":{\"pin\":\"pin77\"}}"]}}]}}`,
		"files of a Bundle": `{"apiVersion":"fleet.cattle.io/v1alpha1","kind":"Bundle","spec":{` +
			`"resources":[{"content":"pin77"}]}}`,
		"values of a Bundle": `{"apiVersion":"fleet.cattle.io/v1alpha1","kind":"Bundle","spec":{` +
			`"targets":[{"helm":{"values":{"x":["pin77"]}}}]}}`,
		"a field that Fleet has not": `{"apiVersion":"fleet.cattle.io/v1alpha1","kind":"Bundle","values":{` +
			`"x":"pin77"}}`,
		"the files of a Content": `{"apiVersion":"fleet.cattle.io/v1alpha1","kind":"Content","content":"pin77"}`,
		"the hash of a Secret in a pod": `{"apiVersion":"apps/v1","kind":"Deployment","spec":{"template":{` +
			`"metadata":{"annotations":{"checksum/config":"DIGEST"}}}}}`,
		"variables of an agent": `{"apiVersion":"fleet.cattle.io/v1alpha1","kind":"Cluster","spec":{` +
			`"agentEnvVars":[{"name":"A","value":"pin77"}]}}`,
		"a member that the API lacks": `{"apiVersion":"v1","kind":"ConfigMap","extra":"planted-password-1"}`,
	} {
		raw = strings.ReplaceAll(raw, "DIGEST", hash)
		if len(layers.Find([]byte(raw), v, number, word, short, encoded(short), hash)) == 0 {
			t.Errorf("%s: there is no value before it is masked", name)
		}
		out := masked(t, raw, v, number, word, short)
		if found := layers.Find([]byte(out), v, number, word, short, encoded(short), hash); len(found) > 0 {
			t.Errorf("%s: %q\n%s", name, found, out)
		}
	}
}

// TestFieldsStay checks values of Secrets that are no secret where they are: labels and their selectors, times, names
// of fields, states, numbers of Kubernetes, and Fleet's references.
func TestFieldsStay(t *testing.T) {
	values := []string{"staging-2", "24h0m0s", "2026-01-02T03:04:05Z", "replicas", "app.yaml", "apps.example.com",
		"Progressing",
		"604800", "3f786850e387550fdab836ed7e6dc881de23001b", "apps/web:1", "Ready"}
	for _, raw := range []string{
		`{"apiVersion":"batch/v1","kind":"Job","metadata":{"creationTimestamp":"2026-01-02T03:04:05Z"},"spec":{` +
			`"ttlSecondsAfterFinished":604800}}`,
		`{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"generation":604800},"status":{"conditions":[{` +
			`"type":"Progressing"}],"observedGeneration":604800}}`,
		`{"apiVersion":"fleet.cattle.io/v1alpha1","kind":"BundleDeployment","spec":{"deploymentID":"s-1:2"},` +
			`"status":{"release":"apps/web:1"}}`,
		`{"apiVersion":"fleet.cattle.io/v1alpha1","kind":"GitRepo","spec":{"files":{"app.yaml":"x"},` +
			`"pollingInterval":"24h0m0s","replicas":"x",` +
			`"targets":[{"clusterSelector":{"matchExpressions":[{"key":"env","values":["staging-2"]}],` +
			`"matchLabels":{"env":"staging-2"}}}]},` +
			`"status":{"commit":"3f786850e387550fdab836ed7e6dc881de23001b"}}`,
		`{"apiVersion":"fleet.cattle.io/v1alpha1","kind":"Cluster","metadata":{"labels":{"apps.example.com/x":"y",` +
			`"env":"staging-2"}}}`,
	} {
		if diff := cmp.Diff(raw, masked(t, raw, values...)); diff != "" {
			t.Errorf("(-before +after):\n%s", diff)
		}
	}
	m := secret.NewMasker([]byte("key"))
	m.Name("web-account")
	m.Learn(secretOf("web-account"), false)
	if got := m.Object(keyOf("Pod", "x")).Text("web-account"); got != "web-account" {
		t.Errorf("the name of an object became %s", got)
	}
}

// TestMaskedBefore checks a value that looks like a replacement: on a cluster it is a value, in a capture it is not
// compared.
func TestMaskedBefore(t *testing.T) {
	for _, partial := range []bool{false, true} {
		m := secret.NewMasker([]byte("key"))
		m.Partial = partial
		m.Learn(secretOf("my-masked-password", "xxxxxxxx", "REDACTED"), false)
		o := m.Object(keyOf("Secret", "web"))
		if stated := secret.Masked([]byte(o.Token("REDACTED"))); stated != partial {
			t.Errorf("partial %t: it counts as masked before: %t", partial, stated)
		}
		if got := o.Text("u:my-masked-password"); strings.Contains(got, "password") {
			t.Errorf("partial %t: %s", partial, got)
		}
		if kept := o.Text("REDACTED") == "REDACTED"; kept != partial {
			t.Errorf("partial %t: the replacement is kept: %t", partial, kept)
		}
	}
}

// TestCertificatesStay checks that certificates remain outside of Secrets, and no private key beside them.
func TestCertificatesStay(t *testing.T) {
	const key = "aW52ZW50ZWQta2V5LWluLWEtdGVzdA=="
	const certificate = "-----BEGIN CERTIFICATE-----\naW52ZW50ZWQtY2VydGlmaWNhdGU=\n-----END CERTIFICATE-----\n"
	const both = certificate + "-----BEGIN EC PRIVATE KEY-----\n" + key + "\n-----END EC PRIVATE KEY-----\n"
	kubeconfig := "clusters:\n- cluster: {certificate-authority-data: " + encoded(certificate) +
		"}\nusers:\n- user: {token: " + plain + "}\n"
	m := maskerOf(certificate, both, kubeconfig)
	o := m.Object(keyOf("ConfigMap", "controller"))
	for _, text := range []string{certificate, `{"ca":"` + encoded(certificate) + `"}`} {
		if got := o.Text(text); got != text {
			t.Errorf("%s became %s", text, got)
		}
	}
	for _, text := range []string{both, encoded(both), key} {
		if got := o.Text(text); strings.Contains(got, key) || strings.Contains(got, encoded(both)) {
			t.Errorf("%s became %s", text, got)
		}
	}
}

// FuzzText compares the index with a search for each value.
func FuzzText(f *testing.F) {
	f.Add("abcdefgh", "abcdef", "xabcdefghx abcdef")
	f.Add("planted-1", "planted-12", "planted-12planted-1")
	f.Fuzz(func(t *testing.T, one, two, text string) {
		m := maskerOf(one, two)
		o := m.Object(keyOf("ConfigMap", "x"))
		got := o.Text(text)
		for _, v := range []string{one, two} {
			v = strings.TrimSpace(v)
			if learned := len(v) >= secret.MinLength && o.Text(v) != v; learned && strings.Contains(got, v) {
				t.Errorf("%q became %q, which has %q", text, got, v)
			}
		}
	})
}

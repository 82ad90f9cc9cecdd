// SPDX-License-Identifier: Apache-2.0

package mask_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/redact"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/snapshot/mask"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/layers"
)

// Values that must not be in a snapshot. All begin with "planted", so that one search finds them in every layer.
const (
	plain    = "planted-password-1"
	short    = "pin77"
	other    = "planted-password-2"
	inBundle = "planted-in-a-bundle"
	inHook   = "planted-in-a-hook"
	inChart  = "planted-in-a-chart"
	inConfig = "planted-in-values"
	lineOne  = "plantedMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7"
	lineTwo  = "plantedVJTUt9Us8cKjMzEfYyjiWA4R4ypbHqGC0H0+tG3hGbN3MYHa"
	hashed   = "$apr1$planted7Y$x3K9vQ2pLm8Zr4TbN6wE1."
	loose    = "plantedQ7w3Er9Ty2Ui8Op4As6"
	private  = "-----BEGIN PRIVATE KEY-----\n" + lineOne + "\n" + lineTwo + "\n-----END PRIVATE KEY-----\n"
)

func b64(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

func gz(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(text))
	must(t, err)
	must(t, w.Close())
	return b.String()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// obj returns the JSON of an object with more members.
func obj(t *testing.T, apiVersion, kind, namespace, name string, members map[string]any) []byte {
	t.Helper()
	o := map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"namespace": namespace, "name": name}}
	for key, v := range members {
		o[key] = v
	}
	out, err := json.Marshal(o)
	must(t, err)
	return out
}

// withMetadata returns an object with another member of its metadata.
func withMetadata(t *testing.T, raw []byte, key string, v any) []byte {
	t.Helper()
	var o map[string]any
	must(t, json.Unmarshal(raw, &o))
	meta, ok := o["metadata"].(map[string]any)
	if !ok {
		t.Fatalf("no metadata: %s", raw)
	}
	meta[key] = v
	out, err := json.Marshal(o)
	must(t, err)
	return out
}

const secretManifest = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: web\nstringData:\n  password: " + plain + "\n"

// record returns the Secret of a release record.
func record(t *testing.T, manifest string) []byte {
	t.Helper()
	text, err := json.Marshal(map[string]any{"name": "web", "namespace": "apps", "version": 1, "manifest": manifest, "apply_method": "ssa",
		"info": map[string]any{"status": "deployed", "notes": "the password is " + plain, "description": "failed: " + plain},
		"chart": map[string]any{"metadata": map[string]any{"name": "web", "annotations": map[string]any{"fleet.cattle.io/bundle-id": "web"}},
			"templates": []any{map[string]any{"name": "templates/a.yaml", "data": b64(inChart)}}, "values": map[string]any{"x": inChart}},
		"config": map[string]any{"image": "registry.example.com/" + inConfig, "password": inConfig + "-2"},
		"hooks": []any{map[string]any{"name": "hook", "kind": "Secret", "path": "web/templates/a.yaml", "events": []any{"pre-delete"},
			"manifest": "apiVersion: v1\nkind: Secret\nmetadata: {name: hook}\ndata: {password: " + b64(inHook) + "}\n"}},
	})
	must(t, err)
	return obj(t, "v1", "Secret", "apps", "sh.helm.release.v1.web.v1", map[string]any{"type": release.SecretType,
		"data": map[string]any{"release": b64(b64(gz(t, string(text))))}})
}

// objects are objects with values of Secrets.
func objects(t *testing.T) map[string][]byte {
	t.Helper()
	template := "{{ if .Values.on }}\napiVersion: v1\nkind: Secret\nmetadata:\n  name: {{ .Release.Name }}\nstringData:\n  key: " + inBundle + "-1\n  computed: {{ .Values.password }}\n" +
		"  file: |\n    " + inBundle + "-2\ndata:\n  coded: " + b64(inBundle+"-3") + "\n{{ end }}\n"
	resources := []any{
		map[string]any{"name": "all.yaml", "content": secretManifest + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {url: 'x:" + plain + "@y'}\n"},
		map[string]any{"name": "templates/a.yaml", "content": b64(gz(t, template)), "encoding": "base64+gz"},
		map[string]any{"name": "values.yaml", "content": "password: " + inBundle + "-4\nimage: registry.example.com/web\n"},
		map[string]any{"name": "chart.tgz", "content": b64(gz(t, "kind: Secret\n"+inBundle)), "encoding": "base64"},
	}
	content, err := json.Marshal(map[string]any{"resources": resources})
	must(t, err)
	patch := `{"data":{"password":"` + b64(plain) + `"},"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"data\":{\"x\":\"` + b64(other) + `\"}}"}}}`
	status := map[string]any{"conditions": []any{map[string]any{"type": "Ready", "message": `cannot patch "web" with "` + plain + `"`},
		map[string]any{"type": "Monitored", "message": `secret.v1 apps/web modified {"data":{"pin":"` + b64(short) + `"}}; secret.v1 apps/b modified {"data":{"pin":"` + b64(short)}},
		"modifiedStatus": []any{map[string]any{"apiVersion": "v1", "kind": "Secret", "name": "web", "patch": patch},
			map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "patch": `{"data":{"url":"` + plain + `"}}`}}}
	secret := obj(t, "v1", "Secret", "apps", "web", map[string]any{"type": "Opaque", "data": map[string]any{"password": b64(plain), "pin": b64(short),
		"key": b64(private), "padded": b64(other + "\n"), "name": b64("web-account")}})
	secret = withMetadata(t, secret, "annotations", map[string]any{"kubectl.kubernetes.io/last-applied-configuration": string(secret), "copy": secretManifest})
	return map[string][]byte{
		"Secret": secret,
		"registry": obj(t, "v1", "Secret", "apps", "registry", map[string]any{"type": "kubernetes.io/dockerconfigjson", "data": map[string]any{
			".dockerconfigjson": b64(`{"auths":{"registry.example.com":{"username":"planted-user","password":"planted-login","auth":"` + b64("planted-user:planted-login") + `"}}}`)}}),
		"login": obj(t, "v1", "ConfigMap", "apps", "login", map[string]any{"data": map[string]any{"netrc": "login planted-user password planted-login"}}),
		"values": obj(t, "v1", "Secret", "fleet-local", "web", map[string]any{"type": "fleet.cattle.io/bundle-values/v1alpha1",
			"data": map[string]any{"values.yaml": b64(`{"db":{"password":"` + inConfig + `-3","image":"registry.example.com/web"}}`)}}),
		"env": obj(t, "apps/v1", "Deployment", "apps", "web", map[string]any{"spec": map[string]any{"image": "registry.example.com/web", "env": []any{
			map[string]any{"name": "A", "value": inConfig + "-3"}, map[string]any{"name": "B", "value": "postgres://u:" + plain + "@db"}}}}),
		"record": record(t, secretManifest),
		"files": obj(t, "v1", "Secret", "apps", "files", map[string]any{"data": map[string]any{"htpasswd": b64("admin:" + hashed + "\nguest:{SHA}x\n"),
			".env": b64("# settings\nexport A_DSN='planted-in-env-1'\nB=planted-in-env-2\n"), "app.conf": b64("server {\n  use " + loose + ";\n}\n")}}),
		"parts": obj(t, "v1", "ConfigMap", "apps", "parts", map[string]any{"data": map[string]any{"hash": "x " + hashed, "one": "planted-in-env-1", "two": "b=planted-in-env-2", "word": "<" + loose + ">",
			"address": "amqp://u:planted-in-no-secret@mq/", "escaped": "https://u:" + url.QueryEscape("planted/in no secret") + "@h", "x-" + plain: "y"}}),
		"keys": withMetadata(t, obj(t, "example.com/v1", "Thing", "apps", "x", map[string]any{"spec": map[string]any{"users": map[string]any{plain: map[string]any{loose: "a"}}}}),
			"annotations", map[string]any{"example.com/" + plain: "y"}),
		"ConfigMap": obj(t, "v1", "ConfigMap", "apps", "a", map[string]any{"data": map[string]any{
			"url": "u:" + url.QueryEscape(other+"/"+plain) + "@", "embedded": b64("user:" + plain), "again": b64(plain), "json": `{"a":"` + plain + `"}`,
			"key": "  tls: |\n    " + strings.ReplaceAll(private, "\n", "\n    "), "packed": b64(gz(t, "x "+plain))},
			"binaryData": map[string]any{"x": b64("\x00\x01" + plain)}}),
		"Bundle": obj(t, "fleet.cattle.io/v1alpha1", "Bundle", "fleet-local", "web", map[string]any{"spec": map[string]any{"resources": resources,
			"helm":    map[string]any{"values": map[string]any{"adminPassword": inConfig + "-4", "replicas": 2}},
			"targets": []any{map[string]any{"helm": map[string]any{"values": map[string]any{"token": inConfig + "-5"}}}}}, "status": map[string]any{
			"summary": map[string]any{"nonReadyResources": []any{map[string]any{"message": plain, "modifiedStatus": status["modifiedStatus"]}}}}}),
		"BundleDeployment": obj(t, "fleet.cattle.io/v1alpha1", "BundleDeployment", "cluster-a", "web", map[string]any{"status": status,
			"spec": map[string]any{"deploymentID": "s-1:2", "options": map[string]any{"helm": map[string]any{"values": map[string]any{"password": plain}}}}}),
		"Content": obj(t, "fleet.cattle.io/v1alpha1", "Content", "", "s-1", map[string]any{"content": b64(gz(t, string(content)))}),
	}
}

// masked learns and masks all objects.
func masked(t *testing.T, all map[string][]byte, names ...string) (*mask.Masker, map[string][]byte) {
	t.Helper()
	m := mask.New([]byte("key"))
	for _, name := range names {
		m.Name(name)
	}
	for _, raw := range all {
		must(t, m.Learn(raw))
	}
	must(t, m.Ready())
	out := map[string][]byte{}
	for name, raw := range all {
		text, err := m.Mask(raw)
		must(t, err)
		out[name] = text
	}
	return m, out
}

// TestNoValueRemains checks every layer of every object.
func TestNoValueRemains(t *testing.T) {
	all := objects(t)
	_, out := masked(t, all)
	for name, raw := range all {
		if len(layers.Find(raw, "planted", lineTwo, short)) == 0 {
			t.Errorf("%s has no value before it is masked", name)
		}
		if found := layers.Find(out[name], "planted", short); len(found) > 0 {
			t.Errorf("%s: %q\n%s", name, found, out[name])
		}
	}
}

// TestNoValueRemainsIn checks forms of an object in which a value was not found once. VALUE and NUMBER are values of Secrets that are no names.
func TestNoValueRemainsIn(t *testing.T) {
	const number, word = "8675309123", "plantedword"
	fill := strings.NewReplacer("VALUE", plain, "NUMBER", number, "SHORT", short)
	annotated := func(text string) []byte {
		return withMetadata(t, obj(t, "v1", "ConfigMap", "apps", "x", nil), "annotations", map[string]any{"example.com/x": fill.Replace(text)})
	}
	ofSecret := func(text string) []byte {
		return withMetadata(t, obj(t, "v1", "Secret", "apps", "x", nil), "annotations", map[string]any{"example.com/x": fill.Replace(text)})
	}
	thing := func(members map[string]any) []byte { return obj(t, "example.com/v1", "Thing", "apps", "x", members) }
	everywhere := map[string]any{}
	for _, key := range []string{"type", "status", "phase", "state", "reason", "release", "commit", "time", "operation", "manager", "deploymentID", "valuesHash", "lastUpdateTime"} {
		everywhere[key] = plain
	}
	for name, raw := range map[string][]byte{
		"a number in a custom resource":                 thing(map[string]any{"spec": map[string]any{"pin": json.Number(number), "pins": []any{json.Number(number)}}}),
		"a number in the status of a custom resource":   thing(map[string]any{"status": map[string]any{"pin": json.Number(number)}}),
		"a number in an annotation":                     annotated(`{"pin":NUMBER}`),
		"a number in a list in an annotation":           annotated(`[{"pin":NUMBER}]`),
		"a number in Helm values":                       obj(t, "fleet.cattle.io/v1alpha1", "Bundle", "fleet", "x", map[string]any{"spec": map[string]any{"helm": map[string]any{"values": map[string]any{"n": json.Number(number)}}}}),
		"a number in a ConfigMap that the API rejects":  obj(t, "v1", "ConfigMap", "apps", "x", map[string]any{"data": map[string]any{"n": json.Number(number)}}),
		"fields with names of states":                   thing(map[string]any{"spec": everywhere, "status": everywhere}),
		"top-level fields with names of states":         thing(everywhere),
		"fields with names of states, of Kubernetes":    obj(t, "apps/v1", "Deployment", "apps", "x", map[string]any{"spec": everywhere, "status": plain}),
		"metadata that the API lacks":                   withMetadata(t, thing(nil), "state", plain),
		"a word in a field of a custom resource":        thing(map[string]any{"spec": map[string]any{"state": word}}),
		"the type of a Secret":                          obj(t, "v1", "Secret", "apps", "x", map[string]any{"type": plain}),
		"a key of a Secret":                             obj(t, "v1", "Secret", "apps", "x", map[string]any{"data": map[string]any{plain: b64("x")}}),
		"a key of a Secret in managedFields":            withMetadata(t, obj(t, "v1", "Secret", "apps", "x", nil), "managedFields", []any{map[string]any{"fieldsV1": map[string]any{"f:data": map[string]any{"f:" + plain: map[string]any{}}}}}),
		"two JSON objects in an annotation":             annotated(`{"level":"info"}` + "\n" + `{"password":"VALUE"}`),
		"a key that occurs twice in an annotation":      annotated(`{"a":"VALUE","a":"b"}`),
		"two JSON objects in an annotation of a Secret": ofSecret(`{"kind":"Secret"}{"data":{"pin":"SHORT"}}`),
		"a key that occurs twice in a copy of a Secret": ofSecret(`{"stringData":{"pin":"SHORT","pin":""}}`),
		"a member of a ConfigMap that the API lacks":    obj(t, "v1", "ConfigMap", "apps", "x", map[string]any{"extra": plain}),
	} {
		if len(layers.Find(raw, plain, number, short, word)) == 0 {
			t.Errorf("%s: there is no value before it is masked", name)
		}
		_, out := masked(t, map[string][]byte{"x": raw, "Secret": obj(t, "v1", "Secret", "apps", "web",
			map[string]any{"data": map[string]any{"password": b64(plain), "number": b64(number), "pin": b64(short), "word": b64(word)}})})
		if found := layers.Find(out["x"], plain, number, short, word); len(found) > 0 {
			t.Errorf("%s: %q\n%s", name, found, out["x"])
		}
	}
}

// at returns the text at a path in JSON.
func at(t *testing.T, raw []byte, path ...string) string {
	t.Helper()
	var v any
	must(t, json.Unmarshal(raw, &v))
	for _, key := range path {
		switch o := v.(type) {
		case map[string]any:
			v = o[key]
		case []any:
			var i int
			_, err := fmt.Sscan(key, &i)
			must(t, err)
			v = o[i]
		}
	}
	text, ok := v.(string)
	if !ok {
		t.Fatalf("%q is %T in %s", path, v, raw)
	}
	return text
}

func decoded(t *testing.T, text string) string {
	t.Helper()
	out, err := base64.StdEncoding.DecodeString(text)
	must(t, err)
	return string(out)
}

// TestEqualValuesStayEqual checks that the same value has the same replacement in every place, so that comparisons keep their results.
func TestEqualValuesStayEqual(t *testing.T) {
	_, out := masked(t, objects(t), "web-account")
	token := decoded(t, at(t, out["Secret"], "data", "password"))
	if !strings.HasPrefix(token, "hmac_") {
		t.Fatalf("the password is %q", token)
	}
	rec, err := release.Decode([]byte(decoded(t, at(t, out["record"], "data", "release"))))
	must(t, err)
	desired, err := rec.Objects()
	must(t, err)
	if rec.BundleID != "web" || rec.Status != release.StatusDeployed || rec.ApplyMethod != "ssa" || len(rec.Hooks) != 1 || !rec.Hooks[0].Events.PreDelete {
		t.Errorf("the record is %+v", rec)
	}
	var patch struct{ Data map[string][]byte }
	must(t, json.Unmarshal([]byte(at(t, out["BundleDeployment"], "status", "modifiedStatus", "0", "patch")), &patch))
	for where, got := range map[string]string{
		"the manifest of the record": at(t, desired[0].Raw, "stringData", "password"),
		"the patch of Fleet":         string(patch.Data["password"]),
		"the values":                 at(t, out["BundleDeployment"], "spec", "options", "helm", "values", "password"),
		"base64 in a ConfigMap":      decoded(t, at(t, out["ConfigMap"], "data", "again")),
		"JSON in a ConfigMap":        at(t, []byte(at(t, out["ConfigMap"], "data", "json")), "a"),
	} {
		if got != token {
			t.Errorf("%s: %q, want %q", where, got, token)
		}
	}
	if got := at(t, out["env"], "spec", "env", "1", "value"); got != "postgres://u:"+token+"@db" {
		t.Errorf("the text around a value changed: %q", got)
	}
	if got := decoded(t, at(t, out["Secret"], "data", "padded")); got == token || !strings.HasSuffix(got, "\n") {
		t.Errorf("another value is %q", got)
	}
}

// TestNamesStay checks what is not masked.
func TestNamesStay(t *testing.T) {
	_, out := masked(t, objects(t), "web-account")
	for name, got := range map[string]string{
		"registry.example.com/web": at(t, out["env"], "spec", "image"),
		"s-1:2":                    at(t, out["BundleDeployment"], "spec", "deploymentID"),
		"Opaque":                   at(t, out["Secret"], "type"),
	} {
		if got != name {
			t.Errorf("%q, want %q", got, name)
		}
	}
	if got := at(t, out["parts"], "data", "address"); !strings.HasPrefix(got, "amqp://u:hmac_") || !strings.HasSuffix(got, "@mq/") {
		t.Errorf("an address with a password became %q", got)
	}
	account := obj(t, "v1", "Pod", "apps", "web", map[string]any{"spec": map[string]any{"serviceAccountName": "web-account"}})
	all := objects(t)
	all["Pod"] = account
	if _, out := masked(t, all, "web-account"); at(t, out["Pod"], "spec", "serviceAccountName") != "web-account" {
		t.Error("the name of an object is masked, because a Secret has it as a value")
	}
}

// TestKeysDiffer checks that two snapshots have different replacements: nobody can compare a guess with the replacement.
func TestKeysDiffer(t *testing.T) {
	raw := objects(t)["Secret"]
	seen := map[string]bool{}
	for _, key := range []string{"one", "two"} {
		m := mask.New([]byte(key))
		must(t, m.Learn(raw))
		must(t, m.Ready())
		out, err := m.Mask(raw)
		must(t, err)
		seen[at(t, out, "data", "password")] = true
	}
	if len(seen) != 2 {
		t.Error("the replacement does not depend on the key")
	}
}

// TestUnmasked checks the results that are computed before objects are masked.
func TestUnmasked(t *testing.T) {
	all := objects(t)
	all["damaged record"] = obj(t, "v1", "Secret", "apps", "sh.helm.release.v1.web.v2", map[string]any{"type": release.SecretType, "data": map[string]any{"release": b64(plain)}})
	all["broken manifest"] = withMetadata(t, record(t, "a: [\n"+plain), "name", "sh.helm.release.v1.web.v3")
	all["damaged content"] = obj(t, "fleet.cattle.io/v1alpha1", "Content", "", "s-2", map[string]any{"content": b64(gz(t, plain)), "sha256sum": "0"})
	m, out := masked(t, all)
	for name, raw := range out {
		if found := layers.Find(raw, "planted"); len(found) > 0 {
			t.Errorf("%s: %q", name, found)
		}
	}
	u := &m.Unmasked
	if r, _ := u.Record("apps", "sh.helm.release.v1.web.v2"); r.Damaged == "" {
		t.Error("a damaged record is not stated")
	}
	if r, _ := u.Record("apps", "sh.helm.release.v1.web.v3"); r.Manifest == "" || r.Damaged != "" {
		t.Errorf("a manifest that is not valid: %+v", r)
	}
	if c, _ := u.Content("s-2"); c.Damaged == "" {
		t.Errorf("a damaged Content: %+v", c)
	}
	if c, _ := u.Content("s-1"); c.Limit == "" || c.Damaged != "" {
		t.Errorf("a Content with a file that was left out: %+v", c)
	}
	if b, _ := u.Bundle("fleet-local", "web"); b.Size != len(all["Bundle"]) {
		t.Errorf("the Bundle has %d bytes, stated are %d", len(all["Bundle"]), b.Size)
	}
	text, err := json.Marshal(u)
	must(t, err)
	if found := layers.Find(text, "planted"); len(found) > 0 {
		t.Errorf("the results have values: %q", found)
	}
}

// TestDenseRecord checks that a record with many similar objects is not denser than an audit accepts.
func TestDenseRecord(t *testing.T) {
	manifest := strings.Repeat("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", 2000)
	_, out := masked(t, map[string][]byte{"record": record(t, manifest)})
	value := decoded(t, at(t, out["record"], "data", "release"))
	if unpacked := release.UnpackedSize([]byte(value)); unpacked > 20*len(value) {
		t.Errorf("%d bytes unpack to %d", len(value), unpacked)
	}
	rec, err := release.Decode([]byte(value))
	must(t, err)
	if objects, err := rec.Objects(); err != nil || len(objects) != 2000 {
		t.Errorf("%d objects, error %v", len(objects), err)
	}
}

// TestDocumentsStay checks that each object stays in the document with its number, which commands name.
func TestDocumentsStay(t *testing.T) {
	const configMap = "{apiVersion: v1, kind: ConfigMap, metadata: {name: %s}}"
	item := func(name string) string { return fmt.Sprintf(configMap, name) }
	manifest := "---\n# empty\n---\n" + item("first") + "\n---\n{apiVersion: v1, kind: List, " +
		"items: [" + item("one") + ", " +
		item("two") + "]}\n---\n" + secretManifest + "---\n" + item("last") + "\n"
	places := func(rec *release.Record) (out []release.Object) {
		objects, err := rec.Objects()
		must(t, err)
		for _, o := range objects {
			out = append(out, release.Object{Ref: o.Ref, Document: o.Document, Alone: o.Alone})
		}
		return out
	}
	_, out := masked(t, map[string][]byte{"record": record(t, manifest)})
	got, err := release.Decode([]byte(decoded(t, at(t, out["record"], "data", "release"))))
	must(t, err)
	if diff := cmp.Diff(places(&release.Record{Manifest: manifest}), places(got)); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}

// TestMaskedBefore checks a value that looks like a replacement: on a cluster it is a value, in a capture it is not compared.
func TestMaskedBefore(t *testing.T) {
	raw := obj(t, "v1", "Secret", "apps", "web", map[string]any{"data": map[string]any{"a": b64("my-masked-password"), "b": b64("xxxxxxxx"), "c": b64("REDACTED")}})
	text := obj(t, "v1", "ConfigMap", "apps", "web", map[string]any{"data": map[string]any{"a": "u:my-masked-password", "b": "REDACTED"}})
	for _, partial := range []bool{false, true} {
		m := mask.New([]byte("key"))
		m.Partial = partial
		must(t, m.Learn(raw))
		must(t, m.Ready())
		out, err := m.Mask(raw)
		must(t, err)
		other, err := m.Mask(text)
		must(t, err)
		if found := layers.Find(append(out, other...), "my-masked-password", "xxxxxxxx"); len(found) > 0 {
			t.Errorf("partial %t: %q", partial, found)
		}
		if stated := redact.Masked([]byte(decoded(t, at(t, out, "data", "c")))); stated != partial {
			t.Errorf("partial %t: it counts as masked before: %t", partial, stated)
		}
		if kept := at(t, other, "data", "b") == "REDACTED"; kept != partial {
			t.Errorf("partial %t: %s", partial, other)
		}
	}
}

// TestTemplate checks that a template keeps what it computes.
func TestTemplate(t *testing.T) {
	_, out := masked(t, objects(t))
	text := decoded(t, at(t, out["Bundle"], "spec", "resources", "1", "content"))
	z, err := gzip.NewReader(strings.NewReader(text))
	must(t, err)
	plain, err := io.ReadAll(z)
	must(t, err)
	for _, want := range []string{"{{ if .Values.on }}", "computed: {{ .Values.password }}", "name: {{ .Release.Name }}", "{{ end }}"} {
		if !strings.Contains(string(plain), want) {
			t.Errorf("%q is not in\n%s", want, plain)
		}
	}
}

// TestCertificatesStay checks that certificates remain outside of Secrets, and no private key beside them.
func TestCertificatesStay(t *testing.T) {
	const key = "aW52ZW50ZWQta2V5LWluLWEtdGVzdA=="
	const certificate = "-----BEGIN CERTIFICATE-----\naW52ZW50ZWQtY2VydGlmaWNhdGU=\nb2YtdGhpcy10ZXN0LW9ubHktMTI=\n-----END CERTIFICATE-----\n"
	const both = certificate + "-----BEGIN EC PRIVATE KEY-----\n" + key + "\n-----END EC PRIVATE KEY-----\n"
	kubeconfig := "clusters:\n- cluster: {certificate-authority-data: " + b64(certificate) + "}\nusers:\n- user: {token: " + plain + "}\n"
	config := `{"apiServerCA":"` + b64(certificate) + `","broken":"` + b64(certificate) + `x","key":"` + b64(both) + `"}`
	_, out := masked(t, map[string][]byte{
		"Secret": obj(t, "v1", "Secret", "apps", "web", map[string]any{"data": map[string]any{"ca.crt": b64(certificate), "value": b64(kubeconfig), "tls.pem": b64(both)}}),
		"config": obj(t, "v1", "ConfigMap", "apps", "controller", map[string]any{"data": map[string]any{"config": config, "pem": certificate, "key": both}}),
	})
	if got := at(t, out["config"], "data", "pem"); got != certificate {
		t.Errorf("the certificate became %q", got)
	}
	if text := string(out["config"]); !strings.Contains(text, b64(certificate)+`\",`) || strings.Contains(text, key) || strings.Contains(text, b64(both)) {
		t.Errorf("the ConfigMap became %s", text)
	}
	if text := string(out["Secret"]); strings.Contains(text, b64(certificate)) {
		t.Errorf("the Secret became %s", text)
	}
}

// TestFieldsStay checks values of Secrets that are no secret where they are: labels and their selectors, times, names of fields, states, numbers of
// Kubernetes, and Fleet's references.
func TestFieldsStay(t *testing.T) {
	selector := map[string]any{"matchLabels": map[string]any{"env": "staging-2"}, "matchExpressions": []any{map[string]any{"key": "env", "operator": "In", "values": []any{"staging-2"}}}}
	all := map[string][]byte{
		"Secret": obj(t, "v1", "Secret", "apps", "web", map[string]any{"data": map[string]any{"env": b64("staging-2"), "ttl": b64("24h0m0s"), "expiry": b64("2026-01-02T03:04:05Z"), "field": b64("replicas"),
			"file": b64("app.yaml"), "domain": b64("apps.example.com"), "day": b64("2026-01-02"), "word": b64("Progressing"), "week": b64("604800"),
			"commit": b64("3f786850e387550fdab836ed7e6dc881de23001b"), "release": b64("apps/web:1")}}),
		"Job": withMetadata(t, obj(t, "batch/v1", "Job", "apps", "web", map[string]any{"spec": map[string]any{"ttlSecondsAfterFinished": json.Number("604800")}}),
			"creationTimestamp", "2026-01-02T03:04:05Z"),
		"Thing": withMetadata(t, obj(t, "example.com/v1", "Thing", "apps", "x", map[string]any{"status": map[string]any{"observedGeneration": json.Number("604800"),
			"conditions": []any{map[string]any{"type": "Progressing", "lastTransitionTime": "2026-01-02T03:04:05Z"}}}}), "generation", json.Number("604800")),
		"BundleDeployment": obj(t, "fleet.cattle.io/v1alpha1", "BundleDeployment", "fleet", "web", map[string]any{"status": map[string]any{"release": "apps/web:1"}}),
		"GitRepo": obj(t, "fleet.cattle.io/v1alpha1", "GitRepo", "fleet", "web", map[string]any{"spec": map[string]any{"pollingInterval": "24h0m0s", "replicas": "x",
			"targets": []any{map[string]any{"clusterSelector": selector}}, "files": map[string]any{"app.yaml": "x"}}, "status": map[string]any{"lastPollingTriggered": "2026-01-02T03:04:05Z",
			"commit": "3f786850e387550fdab836ed7e6dc881de23001b"}}),
	}
	all["Cluster"] = withMetadata(t, obj(t, "fleet.cattle.io/v1alpha1", "Cluster", "fleet", "one", nil), "labels", map[string]any{"env": "staging-2", "apps.example.com/x": "y"})
	_, out := masked(t, all)
	for _, name := range []string{"GitRepo", "Cluster", "Job", "Thing", "BundleDeployment"} {
		var want, got any
		must(t, json.Unmarshal(all[name], &want))
		must(t, json.Unmarshal(out[name], &got))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-before +after):\n%s", name, diff)
		}
	}
	if text := string(out["Secret"]); strings.Contains(text, b64("staging-2")) || strings.Contains(text, b64("24h0m0s")) {
		t.Errorf("the Secret is not masked: %s", text)
	}
}

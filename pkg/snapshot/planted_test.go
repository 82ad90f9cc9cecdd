// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/snapshot"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/layers"
)

// planting plants values, each in another place of a cluster.
type planting struct {
	t       *testing.T
	number  int
	objects []map[string]any
}

const seed = "pl4nted"

// value returns a value that is planted nowhere else.
func (p *planting) value() string {
	p.number++
	return fmt.Sprintf("%s-%03d-S3cr3t", seed, p.number)
}

// fill replaces each VALUE by a value of its own.
func (p *planting) fill(text string) string {
	for strings.Contains(text, "VALUE") {
		text = strings.Replace(text, "VALUE", p.value(), 1)
	}
	return text
}

func (p *planting) add(text string) {
	p.t.Helper()
	var o map[string]any
	must(p.t, json.Unmarshal([]byte(p.fill(text)), &o))
	p.objects = append(p.objects, o)
}

func inBase64(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(text))
	must(t, err)
	must(t, w.Close())
	return b.String()
}

// archived returns a compressed archive with one file, as the files of a chart.
func archived(t *testing.T, name, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	must(t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(text))}))
	_, err := w.Write([]byte(text))
	must(t, err)
	must(t, w.Close())
	return gzipped(t, b.String())
}

// templates are files of bundles with a value of a Secret.
var templates = []string{
	"stringData: # comment\n  a: VALUE", "stringData: {a: VALUE, b: VALUE}",
	`{"kind":"Secret","stringData":{"a":"VALUE"}}`,
	`"stringData":` + "\n  \"a\": VALUE", `a: {{ "VALUE" | b64enc }}`, `a: {{ .Values.x | default "VALUE" }}`,
	"{{- $x := \"VALUE\" }}",
	"# the password is VALUE", "apiVersion: v1\nkind: SecretList\nitems:\n- stringData: {a: VALUE}",
	"metadata: {name: x}\ndata: {a: VALUE}",
	"secretGenerator:\n- literals: [a=VALUE]", `- {op: add, path: /data/a, value: VALUE}`,
	"stringData:\n  a: |\n    VALUE\n    VALUE",
	"stringData:\n  a: >-\n    one\n    VALUE", "kind: ConfigMap\ndata: {x: 'VALUE'}",
	"env: [{name: PASSWORD, value: VALUE}]", "VALUE",
}

// helmKeys are keys of Helm values.
var helmKeys = []string{"password", "tokens", "passwords", "apiKeys", "tls.key", "extraEnv", "x", "auth", "user",
	"connection", "license", "pin", "salt"}

// addresses have a credential that is in no Secret.
var addresses = []string{"https://user:VALUE@git.example.com/a", "https://user:VALUE%40git.example.com/a",
	"https://user%253AVALUE%2540git.example.com/a", "user:VALUE@git.example.com:a/b",
	"https://git.example.com/a?access_token=VALUE", "https://git.example.com/a#token=VALUE",
	"git::ssh://user:VALUE@[::1]/a?ref=main", "https://git.example.com/?to=https%3A%2F%2Fuser%3AVALUE%40h"}

// repositories plants addresses in all fields of Fleet's objects that a snapshot has.
func (p *planting) repositories() {
	for i, address := range addresses {
		status := `"status":{"apiServerURL":"` + address + `","conditions":[{"type":"Ready","status":"False",` +
			`"message":"failed to clone '` + address + `': 401"}]}}`
		for kind, spec := range map[string]string{
			"GitRepo": `"repo":"` + address + `"`,
			"HelmOp":  `"helm":{"repo":"` + address + `","chart":"` + address + `"}`,
			"Bundle":  `"helm":{"repo":"` + address + `","chart":"` + address + `"}`,
			"Cluster": `"privateRepoURL":"` + address + `"`,
			"BundleDeployment": `"deploymentID":"s-0:1","options":{"helm":{"repo":"` + address + `","chart":"` +
				address + `"}}`,
		} {
			applied, err := json.Marshal(`{"kind":"` + kind + `","spec":{` + spec + `}}`)
			must(p.t, err)
			p.add(fmt.Sprintf(`{"apiVersion":"fleet.cattle.io/v1alpha1","kind":%q,"metadata":{`+
				`"namespace":"fleet-local","name":"address-%d","annotations":{"fleet.cattle.io/note":%q,`+
				`"kubectl.kubernetes.io/last-applied-configuration":%s}},"spec":{%s},%s`,
				kind, i, address, applied, spec, status))
		}
	}
}

// bundles plants values in the payloads of Fleet's objects.
func (p *planting) bundles() {
	resource := func(name, content, encoding string) map[string]any {
		return map[string]any{"name": name, "content": content, "encoding": encoding}
	}
	var resources []any
	for i, template := range templates {
		resources = append(resources, resource(fmt.Sprintf("templates/%d.yaml", i), p.fill(template), ""),
			resource(fmt.Sprintf("raw/%d.yaml", i), inBase64(gzipped(p.t, p.fill(template))), "base64+gz"))
	}
	resources = append(resources, resource("values-of-production.yaml", p.fill("a: VALUE\nb: [VALUE]"), ""),
		resource("chart.tgz", inBase64(archived(p.t, "chart/values.yaml", p.fill("a: VALUE"))), "base64"),
		resource("charts.tgz", inBase64(archived(p.t, "chart.tgz", archived(p.t, "values.yaml", p.fill("a: VALUE")))),
			"base64"),
		resource("hex", hex.EncodeToString([]byte(p.value())), ""), resource("base32",
			base32.StdEncoding.EncodeToString([]byte(p.value())), ""))
	content, err := json.Marshal(map[string]any{"resources": resources})
	must(p.t, err)
	values := func() map[string]any {
		out := map[string]any{}
		for _, key := range helmKeys {
			out[key] = []any{map[string]any{"name": "PASSWORD", "value": p.value()}}
		}
		return out
	}
	meta := func(namespace, name string) map[string]any {
		return map[string]any{"namespace": namespace, "name": name,
			"annotations": map[string]any{"example.com/note": p.value(),
				"objectset.rio.cattle.io/applied": inBase64(gzipped(p.t, p.fill(`{"data":{"a":"VALUE"}}`)))}}
	}
	of := func(kind string, meta, spec map[string]any) map[string]any {
		return map[string]any{"apiVersion": "fleet.cattle.io/v1alpha1", "kind": kind, "metadata": meta, "spec": spec}
	}
	id := "s-" + strings.Repeat("0", 61)
	p.objects = append(p.objects,
		of("Bundle", meta("fleet-local", "planted"), map[string]any{"resources": resources,
			"helm": map[string]any{"values": values()},
			"targets": []any{map[string]any{"name": "x", "helm": map[string]any{"values": values(),
				"templateValues": map[string]any{"a": p.value()}}}}}),
		of("BundleDeployment", meta("cluster-planted", "planted"), map[string]any{"deploymentID": id + ":1",
			"options": map[string]any{"helm": map[string]any{"values": values(),
				"templateValues": map[string]any{"a": p.value()}}},
			"stagedOptions":    map[string]any{"helm": map[string]any{"values": values()}},
			"helmChartOptions": map[string]any{"password": p.value()}}),
		of("HelmOp", meta("fleet-local", "planted-op"), map[string]any{"helm": map[string]any{"values": values()},
			"unknown": p.value()}),
		of("GitRepo", meta("fleet-local", "planted-repo"),
			map[string]any{"repo": p.fill("https://user:VALUE@git.example.com/a"), "caBundle": p.value(),
				"bundles": []any{map[string]any{"base": p.value()}}}),
		of("Cluster", meta("fleet-local", "planted-cluster"), map[string]any{"templateValues": values(),
			"agentEnvVars": []any{map[string]any{"name": "HTTPS_PROXY", "value": p.value()}}}),
		of("ClusterRegistration", meta("fleet-local", "planted-request"), map[string]any{"clientRandom": p.value()}),
		of("ImageScan", meta("fleet-local", "planted-scan"), map[string]any{"image": p.value()}))
	p.objects = append(p.objects, map[string]any{"apiVersion": "fleet.cattle.io/v1alpha1", "kind": "Content",
		"metadata": map[string]any{"name": id}, "content": inBase64(gzipped(p.t, string(content)))})
}

// others plants values in objects that no bundle desires.
func (p *planting) others() {
	annotations := `"annotations":{"note":"VALUE","kubectl.kubernetes.io/last-applied-configuration":"{\"data\":` +
		`{\"x\":\"VALUE\"}}",` +
		`"objectset.rio.cattle.io/applied":"` + inBase64(gzipped(p.t, p.fill(`{"data":{"a":"VALUE"}}`))) + `"}`
	pod := `"template":{"spec":{"containers":[{"name":"c","image":"registry.example.com/a:1","args":[` +
		`"--token=VALUE"],` +
		`"env":[{"name":"PASSWORD","value":"VALUE"}]}],"initContainers":[{"name":"i","env":[{"name":"A",` +
		`"value":"VALUE"}]}]}}`
	for _, text := range []string{
		`{"apiVersion":"v1","kind":"Secret","metadata":{"namespace":"default","name":"one",` + annotations +
			`},"type":"Opaque",` +
			`"data":{"a":"` + inBase64(p.value()) + `","b":"` + inBase64("1234") + `","key-VALUE":""}}`,
		`{"apiVersion":"v1","kind":"Secret","metadata":{"namespace":"default","name":"registry"},` +
			`"type":"kubernetes.io/dockerconfigjson","data":{".dockerconfigjson":"` +
			inBase64(p.fill(`{"auths":{"VALUE.example.com":{"auth":"VALUE","password":"VALUE"}}}`)) + `"}}`,
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"default","name":"one",` + annotations +
			`},"data":{"a":"VALUE","VALUE":"x"},` +
			`"binaryData":{"a":"` + inBase64(gzipped(p.t, p.value())) + `"}}`,
		`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"default","name":"one",` + annotations +
			`,"managedFields":[{"manager":"m",` +
			`"operation":"Update","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:VALUE":{}}}}]},"spec":{` +
			`"replicas":1,` + pod + `}}`,
		`{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"namespace":"default","name":"one"},"spec":{` + pod +
			`}}`,
		`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"default",` + annotations + `}}`,
		`{"apiVersion":"v1","kind":"Service","metadata":{"namespace":"default","name":"one",` + annotations +
			`},"spec":{"externalName":"VALUE"}}`,
		`{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"one"},"spec":{"csi":{"volumeAttributes":{` +
			`"password":"VALUE"}}}}`,
		`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{` +
			`"name":"things.example.com"},` +
			`"spec":{"group":"example.com","names":{"kind":"Thing","plural":"things"},"scope":"Namespaced",` +
			`"versions":[{"name":"v1","schema":{"d":"VALUE"}}]}}`,
		`{"apiVersion":"v1","kind":"Secret","metadata":{"namespace":"cattle-fleet-system","name":"fleet-agent"},` +
			`"data":{"token":"` + inBase64(p.value()) + `"}}`,
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"cattle-system","name":"fleet-controller"},` +
			`"data":{"config":` +
			`"{\"apiServerURL\":\"https://user:VALUE@a.example.com\",\"password\":\"VALUE\"}","other":"VALUE"}}`,
	} {
		p.add(text)
	}
}

// records plants values in release records: two revisions of a release of Fleet, and one that is not Fleet's.
func (p *planting) records() {
	const manifest = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {a: VALUE}\n---\n" +
		"apiVersion: v1\nkind: SecretList\nitems:\n- {metadata: {name: b}, apiVersion: v1, kind: Secret, data: {a: " +
		"VALUE}}\n"
	const configMap = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: VALUE}\n"
	for i, fleets := range []bool{true, true, false} {
		name, status, annotations := "planted", "superseded", map[string]any{"note": p.value()}
		text := manifest + configMap // in the manifest of the deployed revision, the data of a ConfigMap is compared
		if i == 1 {
			status, text = "deployed", manifest
		}
		if fleets {
			annotations["fleet.cattle.io/bundle-id"] = "planted"
		} else {
			name, status = "foreign", "deployed"
		}
		raw, err := json.Marshal(map[string]any{"name": name, "namespace": "default", "version": i + 1,
			"manifest": p.fill(text),
			"info": map[string]any{"status": status, "notes": p.value(), "description": "Upgrade complete: " +
				p.value()},
			"config": map[string]any{"password": p.value(), "list": []any{p.value()}},
			"labels": map[string]any{"x": p.value()},
			"hooks": []any{map[string]any{"name": "hook", "kind": "Secret", "path": "x/templates/a.yaml",
				"manifest": p.fill(manifest)}},
			"chart": map[string]any{"metadata": map[string]any{"name": "x", "description": p.value(),
				"annotations": annotations},
				"values": map[string]any{"a": p.value()}, "schema": inBase64(p.value()), "lock": p.value(),
				"templates": []any{map[string]any{"name": "templates/" + p.value(), "data": inBase64(p.value())}},
				"files":     []any{map[string]any{"name": "x", "data": inBase64(p.value())}}}})
		must(p.t, err)
		p.objects = append(p.objects, map[string]any{"apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1",
			"metadata": map[string]any{"namespace": "default", "name": fmt.Sprintf("sh.helm.release.v1.%s.v%d", name,
				i+1),
				"labels":      map[string]any{"owner": "helm", "name": name},
				"annotations": map[string]any{"note": p.value()}},
			"data": map[string]any{"release": inBase64(inBase64(gzipped(p.t, string(raw))))}})
	}
}

// TestPlanted plants values in every place of a cluster that an audit does not compare. A snapshot has none of them, in
// no encoding, because it does not have the place.
func TestPlanted(t *testing.T) {
	p := &planting{t: t}
	p.repositories()
	p.bundles()
	p.others()
	p.records()
	if p.number < 200 {
		t.Errorf("only %d values are planted", p.number)
	}
	dir := t.TempDir()
	must(t, os.CopyFS(dir, os.DirFS(testdata+"sick")))
	byKind := map[string][]any{}
	for _, o := range p.objects {
		kind := fmt.Sprint(o["apiVersion"], o["kind"])
		byKind[kind] = append(byKind[kind], o)
	}
	for _, objects := range byKind {
		raw, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": objects})
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("planted-%d.json", len(raw))), raw, 0o600))
	}
	src := live{open(t, dir)}
	forms := []string{seed, strings.ToUpper(seed), hex.EncodeToString([]byte(seed)),
		base32.StdEncoding.EncodeToString([]byte(seed))[:10]}
	_, content := taken(t, src)
	if found := layers.Find(content, forms...); len(found) > 0 {
		t.Errorf("%d values are in the snapshot:\n%s", len(found), strings.Join(found, "\n"))
	}
	_, content = takenWith(t, src, snapshot.Options{Bundles: true})
	if found := layers.Find(content, forms...); len(found) == 0 {
		t.Error("no value is in the snapshot with bundles: the search finds nothing")
	}
}

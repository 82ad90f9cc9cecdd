// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// vault is a namespace with objects that templates look up.
const vault = "vault"

// chartDirectory is a bundle named "guestbook" with a chart.
func chartDirectory(t *testing.T, templates map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{
		"fleet.yaml": "name: guestbook\ndefaultNamespace: " + apps + "\n",
		"Chart.yaml": "apiVersion: v2\nname: guestbook\nversion: 1.0.0\n",
	}
	for name, content := range templates {
		files["templates/"+name] = content
	}
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestLookups compares the answers to lookups with those that Helm gets from the API server when it installs the
// release: the objects that preflight renders do not differ from those that Helm wrote.
func TestLookups(t *testing.T) {
	f := newFleet(t, shared)
	f.namespace(vault)
	f.ApplyYAML(t, "kubectl", `
{apiVersion: v1, kind: Secret, metadata: {name: b, namespace: vault}, stringData: {password: planted-value}}
---
{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: vault}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: seen, namespace: vault, annotations: {text: "<&>"}}
data: {"true": "1.0", empty: ""}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: vault}
spec:
  replicas: 3
  selector: {matchLabels: {a: b}}
  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}
`)
	lookups := map[string]string{
		"object":               `lookup "v1" "ConfigMap" "vault" "seen" | toJson`,
		"absent":               `lookup "v1" "ConfigMap" "vault" "absent" | toJson`,
		"absent-namespace":     `lookup "v1" "ConfigMap" "nowhere" "seen" | toJson`,
		"without-namespace":    `lookup "v1" "ConfigMap" "" "seen" | toJson`,
		"secret":               `dig "data" "password" "" (lookup "v1" "Secret" "vault" "b") | b64dec | sha256sum`,
		"number":               `dig "spec" "replicas" 0 (lookup "apps/v1" "Deployment" "vault" "web") | printf "%d"`,
		"list":                 `omit (lookup "v1" "Secret" "vault" "") "metadata" | toJson | sha256sum`,
		"list-all":             `(lookup "apps/v1" "Deployment" "" "").items | toJson`,
		"list-nothing":         `omit (lookup "v1" "Service" "nowhere" "") "metadata" | toJson`,
		"cluster-scoped":       `lookup "v1" "Namespace" "" "vault" | toJson`,
		"cluster-scoped-in":    `lookup "v1" "Namespace" "elsewhere" "vault" | toJson`,
		"cluster-scoped-list":  `(lookup "scheduling.k8s.io/v1" "PriorityClass" "elsewhere" "").items | toJson`,
		"unknown-kind":         `lookup "v1" "Nonsense" "vault" "a" | toJson`,
		"list-of-unknown-kind": `(lookup "v1" "Nonsense" "vault" "").items | toJson`,
		"strange-name":         `lookup "v1" "ConfigMap" "vault" "a,metadata.namespace=b" | toJson`,
	}
	template := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: answers}\ndata:\n"
	for _, name := range slices.Sorted(maps.Keys(lookups)) {
		template += "  " + name + ": {{ " + lookups[name] + " | quote }}\n"
	}
	templates := map[string]string{"all.yaml": template}
	b := f.bundle("guestbook", "")
	b.options.Templates = templates
	b.deploy()
	answers, _ := f.get(configMap("answers")).Object["data"].(map[string]any)
	all, _ := answers["list-all"].(string)
	if !strings.Contains(all, `"replicas":3`) || answers["number"] != "3" || answers["absent"] != "{}" {
		t.Fatalf("Helm's own answers are not the expected ones: %v", answers)
	}
	status, r := f.preflight("-f", chartDirectory(t, templates))
	expectRollout(t, status, r, 0, report.VerdictOK)
	if r.Counts.Keep != 1 {
		t.Errorf("counts %+v", r.Counts)
	}

	for name, lookup := range map[string]string{
		"unable to get apiresource": `lookup "nowhere.example.com/v1" "Thing" "" "a"`,
		"invalid namespace":         `lookup "v1" "Secret" "vault/../kube-system" "a"`,
		"invalid resource name":     `lookup "v1" "Secret" "vault" "../a"`,
	} {
		refused := map[string]string{"all.yaml": "a: {{ " + lookup + " | toJson | quote }}\n"}
		b.options.Templates = refused
		_, err := f.Upgrade(t.Context(), b.options)
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: Helm's own error is %v", lookup, err)
		}
		status, r := f.preflight("-f", chartDirectory(t, refused))
		expectRollout(t, status, r, 1, report.VerdictRefused, "NotRendered")
		expectContains(t, "the message", r.Items[0].Message, name)
	}
}

// readers are the rights to read what the bundles of these tests deploy, except Secrets.
var readers = []grant{
	rule("", "configmaps", "list"),
	rule("fleet.cattle.io", "bundledeployments,bundles,gitrepos,helmops,clusters,clustergroups", "list"),
	rule("apps", "deployments,statefulsets", "list"),
}

// reusedPassword is a chart that keeps the password of an earlier installation, as Bitnami's charts do. It also writes
// the password into a ConfigMap.
var reusedPassword = map[string]string{"all.yaml": `
{{- $old := lookup "v1" "Secret" "vault" "db" }}
{{- $password := dig "data" "password" (randAlphaNum 20 | b64enc) $old | b64dec }}
apiVersion: v1
kind: Secret
metadata: {name: db}
data: {password: {{ $password | b64enc }}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {address: "postgres://app:{{ $password }}@db"}
`}

// TestLookupAdopt follows preflight to adopt and to the installation by Helm, for a chart that looks up a password. The
// password is in no output.
func TestLookupAdopt(t *testing.T) {
	const password = "planted-Passw0rd+x/y"
	f := newFleet(t, shared)
	f.namespace(vault)
	f.ApplyYAML(t, "kubectl", `
{apiVersion: v1, kind: Secret, metadata: {name: db, namespace: vault}, stringData: {password: `+password+`}}
---
{apiVersion: v1, kind: Secret, metadata: {name: db, namespace: apps}, stringData: {password: `+password+`}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: apps}
data: {address: "postgres://app:earlier@db"}
`)
	dir := chartDirectory(t, reusedPassword)
	expectHidden := func(r result) result {
		t.Helper()
		for _, text := range []string{password, base64.StdEncoding.EncodeToString([]byte(password))} {
			if strings.Contains(r.stdout+r.stderr, text) {
				t.Errorf("the password is in the output:\n%s%s", r.stdout, r.stderr)
			}
		}
		return r
	}
	verb := func(kubeconfig, verb string, args ...string) result {
		t.Helper()
		args = append([]string{verb, "--kubeconfig", kubeconfig, "-f", dir}, args...)
		return expectHidden(run(t.Context(), t, args...))
	}

	// A user who may not read the Secret gets the gap. Helm's refusal is not predicted, because the release records are
	// Secrets too.
	listSecrets := rule("", "secrets", "list")
	user := f.user("without-vault",
		append(slices.Clone(readers), listSecrets.in(apps), listSecrets.in(agentNamespace))...)
	const gap = "a template looks up secret vault/db, which could not be read (Forbidden: "
	blind := verb(user, "preflight", "-o", "json")
	expectContains(t, "preflight without rights", blind.stdout, gap,
		"reading it needs the right to list secrets in namespace vault")
	if blind.status != 3 || strings.Contains(blind.stdout, "fleetdoctor adopt ") {
		t.Errorf("preflight without rights: status %d, or it recommends adopt:\n%s", blind.status, blind.stdout)
	}
	before := f.getAll(object("v1", "Secret", apps, "db"), configMap("settings"))
	refused := verb(user, "adopt", "--yes", "-o", "json")
	expectContains(t, "adopt without rights", refused.stdout, gap)
	if refused.status != 1 {
		t.Errorf("adopt without rights: status %d\n%s%s", refused.status, refused.stdout, refused.stderr)
	}
	f.expectUnchanged(before...)

	for _, args := range [][]string{{}, {"-o", "json"}, {"-o", "wide"}, {"--diff"}, {"-o", "yaml"}} {
		got := verb(f.kubeconfig, "preflight", args...)
		if got.status != 1 || strings.Contains(got.stdout, "looks up") {
			t.Errorf("preflight %v: status %d\n%s", args, got.status, got.stdout)
		}
	}
	var document report.Preflight
	if err := json.Unmarshal([]byte(verb(f.kubeconfig, "preflight", "-o", "json").stdout), &document); err != nil {
		t.Fatal(err)
	}
	r := document.BundleDeployments[0]
	expectRollout(t, 1, r, 1, report.VerdictRefused, "InvalidOwnership configmap apps/settings",
		"InvalidOwnership secret apps/db", "ServerRefuses configmap apps/settings")
	expectContains(t, "the remediation", r.Items[1].Remediation, "fleetdoctor adopt ")
	verb(f.kubeconfig, "adopt", "--dry-run", "--diff")
	if got := verb(f.kubeconfig, "audit", "--diff"); !strings.Contains(got.stdout, "***") {
		t.Errorf("the audit shows no hidden value:\n%s", got.stdout)
	}
	verb(f.kubeconfig, "audit", "-o", "json")

	a := f.adopt("-f", dir, "--yes")
	expectHidden(a.result)
	expectAdoption(t, a, 0, map[string]string{"secret apps/db": "Adopt NoMark Done", settings: "Adopt NoMark Done"})
	receipt, err := os.ReadFile(a.receipt)
	if err != nil || strings.Contains(string(receipt), password) {
		t.Errorf("the receipt has the password, or was not read: %v", err)
	}
	f.merge("kubectl", configMap("settings"), `{"data":null}`) // otherwise Helm has the conflict that preflight reports
	b := f.bundle("guestbook", "")
	b.options.Templates = reusedPassword
	b.deploy()
	if got := expectHidden(f.audit("--server-check", "never")); got.status != 0 {
		t.Errorf("after the installation: status %d\n%s", got.status, got.stdout)
	}
	status, r := f.preflight("-f", dir)
	expectRollout(t, status, r, 0, report.VerdictOK)
}

// TestLookupForbidden checks that preflight recommends adopt only if adopt does not refuse: here a lookup is not
// allowed.
func TestLookupForbidden(t *testing.T) {
	f := newFleet(t, shared)
	f.namespace(vault)
	f.ApplyYAML(t, "kubectl", `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: apps}
data: {found: maybe, twice: maybe}
`)
	dir := chartDirectory(t, map[string]string{"all.yaml": `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data:
  found: "{{ empty (lookup "v1" "Service" "vault" "db") }}"
  twice: "{{ empty (lookup "v1" "Service" "vault" "db") }}"
`})
	const why = `the desired objects of its bundle are not certain: a template looks up service vault/db, ` +
		`which could not be read (Forbidden: services "db" is forbidden: User "without-services" cannot list ` +
		`resource "services" in API group "" in the namespace "vault"); ` +
		`reading it needs the right to list services in namespace vault`
	limited := *f
	limited.kubeconfig = f.user("without-services", append(slices.Clone(readers), rule("", "secrets", "list"))...)
	status, r := limited.preflight("-f", dir)
	expectRollout(t, status, r, 1, report.VerdictRefused, "InvalidOwnership configmap apps/settings", "PartlyRendered",
		"NotAsked")
	if got := r.Items[0].Remediation; got != "adopt would refuse it now: "+why {
		t.Errorf("the remediation is %q", got)
	}
	a := limited.adopt("-f", dir, "--yes")
	expectAdoption(t, a, 1, map[string]string{settings: "Refuse NoMark"})
	if got := a.object(t, settings).Refusals; !slices.Equal(got, []string{why}) {
		t.Errorf("adopt refuses because of %q", got)
	}

	f.ApplyYAML(t, "kubectl",
		"{apiVersion: v1, kind: Service, metadata: {name: db, namespace: vault}, spec: {ports: [{port: 1}]}}")
	f.grant("without-services", rule("", "services", "list").in(vault))
	status, r = limited.preflight("-f", dir)
	expectRollout(t, status, r, 1, report.VerdictRefused, "ApplyConflict configmap apps/settings",
		"InvalidOwnership configmap apps/settings", "NotAsked")
}

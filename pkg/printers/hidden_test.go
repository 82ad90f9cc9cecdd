// SPDX-License-Identifier: Apache-2.0

package printers_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
)

// TestPathsAreHidden checks that a path hides the values that identify the elements of a list.
func TestPathsAreHidden(t *testing.T) {
	var paths []string
	for _, r := range auditOf(t, cluster(t, "hunter22-of-nothing", noBundle)).BundleDeployments[1].Resources {
		for _, d := range r.Differences {
			if r.Name == "keyed" || r.Name == "set" || r.Name == "keys" {
				paths = append(paths, r.Name+d.Path)
			}
		}
	}
	if want := []string{"keys.data.***", `set.metadata.finalizers[="***"]`,
		`keyed.spec.containers[name="c"].env[name="***"]`}; !slices.Equal(want, paths) {
		t.Errorf("paths %q, want %q", paths, want)
	}
}

// TestShortValues checks that an annotation of a Secret shows none of its values, even short ones. Other text may
// contain short values.
func TestShortValues(t *testing.T) {
	secret := func(name, annotation string, stated string) doc {
		return annotatedBy("example.com/note", document("v1", "Secret", name, doc{"data": doc{"pin": b64(stated)}}),
			annotation)
	}
	docs := []doc{
		document("fleet.cattle.io/v1alpha1", "BundleDeployment", "guestbook",
			doc{"spec": doc{"deploymentID": "id-1", "stagedDeploymentID": "id-1"},
				"status": doc{"appliedDeploymentID": "id-1", "release": "web/guestbook:1"}}),
		document("v1", "Secret", fleet.AgentName, doc{"data": doc{fleet.AgentSecretNamespaceKey: b64("web")}}),
		record(t, 1, "deployed", secret("alone", "x", "4711"), secret("within", "x", "4711"),
			secret("stored", "x", "4711"), secret("ended", "x", "4711"), secret("joined", "x", "4711"),
			secret("other", "x", "4711")),
		owned(secret("alone", "4711", "4711")),
		owned(secret("within", `{"pin": "4711"}`, "4711")),
		owned(secret("stored", b64("4711"), "4711")),
		owned(secret("ended", "pin is 4711.", "4711")),
		owned(secret("joined", "user@4711/x", "4711")),
		owned(secret("other", "since 2026", "4711")),
	}
	for _, r := range auditOf(t, docs).BundleDeployments[0].Resources {
		if len(r.Differences) != 1 || strings.HasPrefix(r.Differences[0].Live.String(), "***") == (r.Name == "other") {
			t.Errorf("%s: %v", r.Name, r.Differences)
		}
	}
}

// TestWordsStay checks a Secret without a bundle, with a word of the report as value. The report still shows the word.
func TestWordsStay(t *testing.T) {
	docs := cluster(t, "hunter22-of-nothing", noBundle)
	before := printed(t, auditOf(t, docs))
	words := document("v1", "Secret", "words", doc{"type": "kubernetes.io/service-account-token",
		"data": doc{"project": b64("default"), "type": b64("cluster"),
			"kind": b64("configmap"), "namespace": b64("listed")}})
	after := printed(t, auditOf(t, append(docs, words)))
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the report changed (-without +with the words):\n%s", diff)
	}
}

// TestOrdinals checks that equal values of Secrets have the same mask within one report, and different values have
// different masks.
func TestOrdinals(t *testing.T) {
	secret := func(name, a, b string) doc {
		return document("v1", "Secret", name, doc{"data": doc{"a": b64(a), "b": b64(b)}})
	}
	docs := []doc{
		document("fleet.cattle.io/v1alpha1", "BundleDeployment", "guestbook",
			doc{"spec": doc{"deploymentID": "id-1", "stagedDeploymentID": "id-1"},
				"status": doc{"appliedDeploymentID": "id-1", "release": "web/guestbook:1"}}),
		document("v1", "Secret", fleet.AgentName, doc{"data": doc{fleet.AgentSecretNamespaceKey: b64("web")}}),
		record(t, 1, "deployed", secret("one", "value-one", "value-two"), secret("two", "value-one", "value-three")),
		owned(secret("one", "value-two", "value-three")),
		owned(secret("two", "value-two", "x")),
	}
	got := auditOf(t, docs)
	var values []string
	for _, r := range got.BundleDeployments[0].Resources {
		for _, d := range r.Differences {
			values = append(values, r.Name+d.Path+" "+d.Desired.String()+" "+d.Live.String())
		}
	}
	want := []string{"one.data.a ***1 ***2", "one.data.b ***2 ***3", "two.data.a ***1 ***2", "two.data.b ***3 ***4"}
	if !slices.Equal(want, values) {
		t.Errorf("values %q, want %q", values, want)
	}
}

// TestNamesStay checks that a Secret with the name of an object as value, such as the name of a database, does not hide
// the name in the report: a command needs its namespace.
func TestNamesStay(t *testing.T) {
	docs := []doc{
		document("fleet.cattle.io/v1alpha1", "BundleDeployment", "guestbook",
			doc{"spec": doc{"deploymentID": "id-1", "stagedDeploymentID": "id-1"},
				"status": doc{"appliedDeploymentID": "id-1", "release": "web/guestbook:1"}}),
		document("v1", "Secret", fleet.AgentName, doc{"data": doc{fleet.AgentSecretNamespaceKey: b64("web")}}),
		record(t, 1, "deployed", document("v1", "Secret", "database",
			doc{"data": doc{"user": b64("guestbook"), "host": b64("frontend")}}),
			document("v1", "ConfigMap", "frontend", doc{"data": doc{"a": "1"}})),
		owned(document("v1", "Secret", "database", doc{"data": doc{"user": b64("guestbook"),
			"host": b64("frontend")}})),
		owned(document("v1", "ConfigMap", "frontend", doc{"data": doc{"a": "2"}})),
	}
	for _, f := range auditOf(t, docs).Findings {
		if !strings.Contains(f.Message, "configmap web/frontend") || !strings.Contains(f.Remediation,
			"bundledeployment/web/guestbook") {
			t.Errorf("%s: %s → %s", f.Code, f.Message, f.Remediation)
		}
	}
}

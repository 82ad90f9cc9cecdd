// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/base64"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	named "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/record"
)

// alone is a manifest with one of the guestbook's three objects.
const alone = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {app: guestbook}}
data: {colour: blue, size: large}
`

// TestWebhookAccountChanges upgrades with another service account under deny, and removes objects of the previous
// revision.
func TestWebhookAccountChanges(t *testing.T) {
	f := newFleet(t, shared)
	b := f.bundle("guestbook", guestbook)
	b.options.ServiceAccount, b.options.User = "before", account(agentNamespace, "before")
	b.deploy()
	h := f.serveWebhook("default", "--guard-default=deny")
	b.options.ServiceAccount, b.options.User = "after", account(agentNamespace, "after")
	// the index has the new account as soon as the record is stored
	b.options.Recorded = func() { h.awaitObjectsInCallback(4) }
	b.upgrade(alone)
	expect(t, f.audit(), outcome{Status: 0, Deployments: map[string]string{"guestbook": "Ready"}})
}

// TestWebhookUninstalledByHand checks that deny stops another user who uninstalls the release with Helm, and does
// not stop Fleet.
func TestWebhookUninstalledByHand(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("guestbook", guestbook)
	h := f.serveWebhook("default", "--guard-default=deny")
	b.options.User = "mallory"
	if err := f.Uninstall(b.options); err == nil {
		t.Errorf("another user uninstalled the release: %v", err)
	}
	for _, obj := range []*unstructured.Unstructured{configMap("settings"), configMap("texts")} {
		f.get(obj)
	}
	if denied := h.requestCount("guard", "denied", "Deleted"); denied != 3 {
		t.Errorf("%d deletions were denied, want 3", denied)
	}
	b.options.User = account(agentNamespace, "fleet-agent")
	if err := f.Uninstall(b.options); err != nil {
		t.Errorf("uninstalling as Fleet: %v", err)
	}
}

// TestWebhookForgedClaim creates a record in a tenant's namespace that claims a bundle's object for an agent
// there. Fleet can still change the object, and the tenant's agent cannot.
func TestWebhookForgedClaim(t *testing.T) {
	f := newFleet(t, shared)
	f.deploy("guestbook", guestbook)
	f.namespace("tenant")
	h := f.serveWebhook("default", "--guard-default=deny")
	f.createRecord(record.Record{Bundle: "guestbook", Namespace: "tenant", AgentNamespace: "tenant",
		Objects: []named.Ref{{APIVersion: "v1", Kind: "ConfigMap", Namespace: apps, Name: "settings"}}})
	h.awaitObjects(4)
	for name, may := range map[string]bool{account(agentNamespace, "fleet-agent"): true,
		account("tenant", "fleet-agent"): false} {
		err := f.clientAs(name).Delete(t.Context(), configMap("settings"), client.DryRunAll)
		if (err == nil) != may {
			t.Errorf("%s: error %v, allowed %t", name, err, may)
		}
		if err != nil {
			expectContains(t, "the refusal", err.Error(), "bundle guestbook", "2/3")
		}
	}
}

// createRecord creates the Secret of a release record.
func (f *fleetServer) createRecord(r record.Record) {
	f.t.Helper()
	secret := object("v1", "Secret", r.Namespace, "sh.helm.release.v1."+r.Bundle+".v1")
	secret.Object["type"] = "helm.sh/release.v1"
	secret.Object["data"] = map[string]any{"release": base64.StdEncoding.EncodeToString(r.Value())}
	f.Apply(f.t, "tenant", secret)
}

// TestWebhookForgedRelease creates a record in a tenant's namespace that states the set of a removed bundle, and two
// objects of another namespace that have the hash or the id of this set. The record neither stamps nor denies under
// deny, until an administrator trusts the namespace.
func TestWebhookForgedRelease(t *testing.T) {
	f := newFleet(t, shared)
	f.namespace(apps)
	f.namespace("tenant")
	set := ownership.Desired("default-gone", "gone", "tenant")
	kept, copied := configMap("kept"), configMap("copied")
	f.Apply(t, "test", kept, copied)
	both, id := ownership.Metadata{Hash: set.Hash, SetID: set.SetID}.Values(),
		ownership.Metadata{SetID: set.SetID}.Values()
	f.setOwnershipAsAdopt(both, kept)
	f.setOwnershipAsAdopt(id, copied)
	h := f.serveWebhook("default", "--guard-default=deny")
	var claimed []named.Ref
	for _, o := range []*unstructured.Unstructured{kept, copied} {
		claimed = append(claimed, named.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: apps, Name: o.GetName()})
	}
	f.createRecord(record.Record{Bundle: "gone", Namespace: "tenant", AgentNamespace: "tenant", Objects: claimed})
	h.awaitObjects(2)

	admin := f.clientAs("")
	touch := func() string {
		admin.must("writing", admin.patch(copied, `{"data":{"touched":"yes"}}`, client.DryRunAll))
		return admin.takeWarnings()
	}
	strip := func() error { return admin.patchOwnership(kept, noOwnership(), client.DryRunAll) }
	expectContains(t, "the warning of a write", touch(), "fleetdoctor/Unconfirmed: configmap apps/copied",
		"bundle gone", "namespace tenant", "label namespace kube-system records.fleetdoctor.io/tenant=trusted")
	admin.must("removing the metadata", strip())
	expectContains(t, "the warning of the removal", admin.takeWarnings(), "fleetdoctor/Unconfirmed",
		"fleetdoctor/Stripped", "fleetdoctor/OwnerInDoubt")
	admin.must("deleting", admin.Delete(t.Context(), kept.DeepCopy(), client.DryRunAll))
	expectContains(t, "the warning of the deletion", admin.takeWarnings(), "fleetdoctor/Deleted",
		"fleetdoctor/OwnerInDoubt")
	f.expectOwnership(id, copied)

	f.labelNamespace("tenant", map[string]string{"records.fleetdoctor.io/tenant": "trusted"})
	expectContains(t, "the warning with a label of the tenant", touch(), "fleetdoctor/Unconfirmed")
	f.labelNamespace("kube-system", map[string]string{"records.fleetdoctor.io/tenant": "trusted"})
	poll.True(t, "a denial in a trusted namespace", func() bool { return strip() != nil })
	admin.takeWarnings() // of the attempts before the webhook saw the label
	if got := touch(); got != "" {
		t.Errorf("a write in a trusted namespace: warnings %s", got)
	}
	admin.must("writing", admin.patch(copied, `{"data":{"touched":"yes"}}`))
	f.expectOwnership(set.Values(), copied)
}

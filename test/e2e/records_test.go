// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestRecords changes the release records of a bundle, from which the desired objects are read.
func TestRecords(t *testing.T) {
	const finding = "FD602 bundledeployment.fleet.cattle.io " + clusterNamespace + "/guestbook"
	for name, test := range map[string]struct {
		change   func(*bundle)
		want     outcome
		contains []string // words in the only finding
	}{
		"deleted": {
			change: func(b *bundle) { b.remove(b.record(1)) },
			want: outcome{Deployments: map[string]string{"guestbook": "Unknown NoReleaseRecord"},
				Findings: []string{finding}},
			contains: []string{"revision 1", "no longer recorded", "empty bundle"},
		},
		"pruned, with a newer record": { // Fleet uses the revision in the status
			change: func(b *bundle) {
				b.UpgradeRelease(b.t, b.options)
				b.remove(b.record(1))
			},
			want: outcome{Deployments: map[string]string{"guestbook": "Unknown NoReleaseRecord"},
				Findings: []string{finding}},
			contains: []string{"revision 1"},
		},
		"a newer one is pending": {
			change:   func(b *bundle) { b.writeRecord(2, "pending-upgrade", time.Hour) },
			want:     outcome{Deployments: map[string]string{"guestbook": "Ready"}, Findings: []string{finding}},
			contains: []string{"revision 2 is pending-upgrade"},
		},
		"a newer one is being deployed": {
			change: func(b *bundle) { b.writeRecord(2, "pending-upgrade", 0) },
			want:   outcome{Deployments: map[string]string{"guestbook": "Ready"}},
		},
		"a newer one failed": {
			change:   func(b *bundle) { b.writeRecord(2, "failed", 0) },
			want:     outcome{Deployments: map[string]string{"guestbook": "Ready"}, Findings: []string{finding}},
			contains: []string{"revision 2 is failed"},
		},
		"damaged": {
			change: func(b *bundle) {
				b.merge("kubectl", b.record(1),
					`{"data":{"release":"`+base64.StdEncoding.EncodeToString([]byte("H4sI not a record"))+`"}}`)
			},
			want: outcome{Status: 3, Deployments: map[string]string{"guestbook": "Unknown RecordUnreadable"},
				Findings: []string{finding}},
			contains: []string{"damaged"},
		},
		"emptied": {
			change: func(b *bundle) { b.merge("kubectl", b.record(1), `{"data":{"release":null}}`) },
			want: outcome{Status: 3, Deployments: map[string]string{"guestbook": "Unknown RecordUnreadable"},
				Findings: []string{finding}},
			contains: []string{"damaged"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, shared)
			b := f.deploy("guestbook", guestbook)
			test.change(b)
			if test.want.Status == 0 && len(test.want.Findings) > 0 {
				test.want.Status = 1
			}
			r := f.audit()
			expect(t, r, test.want)
			if !t.Failed() && len(test.contains) > 0 {
				expectContains(t, "the finding", r.report.Findings[0].Message, test.contains...)
			}
		})
	}
}

// TestNothingInstalled audits a BundleDeployment without a status. Its objects exist from an earlier release: they
// are neither abandoned nor orphaned.
func TestNothingInstalled(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("guestbook", guestbook)
	b.remove(b.record(1))
	f.merge(controller, object("fleet.cattle.io/v1alpha1", "BundleDeployment", clusterNamespace, "guestbook"),
		`{"status":{"release":null,"appliedDeploymentID":null,"resourceCounts":null}}`, "status")
	r := f.audit()
	const about = " bundledeployment.fleet.cattle.io " + clusterNamespace + "/guestbook"
	want := outcome{Status: 1, Deployments: map[string]string{"guestbook": "WaitApplied NoReleaseRecord"},
		Findings: []string{"FD208" + about, "FD607" + about}}
	expect(t, r, want)
}

// TestSecretValuesHidden changes a Secret: the report names the field and shows neither value.
func TestSecretValuesHidden(t *testing.T) {
	f := newFleet(t, shared)
	const desired, changed = "invented-password-1", "invented-password-2"
	f.deploy("guestbook", "{apiVersion: v1, kind: Secret, metadata: {name: smtp}, stringData: {password: "+desired+"}}")
	f.merge("intruder", object("v1", "Secret", apps, "smtp"), `{"stringData":{"password":"`+changed+`"}}`)
	for _, output := range []string{"json", "yaml", "table", "wide", "name"} {
		r := run(t.Context(), t, "audit", "--kubeconfig", f.kubeconfig, "--diff", "-o", output)
		if r.status != 1 {
			t.Errorf("-o %s: status %d, want 1\n%s", output, r.status, r.stderr)
		}
		for _, value := range []string{desired, changed} {
			for _, form := range []string{value, base64.StdEncoding.EncodeToString([]byte(value))} {
				if strings.Contains(r.stdout+r.stderr, form) {
					t.Errorf("-o %s prints a Secret's value", output)
				}
			}
		}
	}
	r := f.audit()
	expect(t, r, outcome{
		Status:      1,
		Deployments: map[string]string{"guestbook": "Modified"},
		Objects:     map[string]string{"secret apps/smtp": "Modified"},
		Findings:    []string{"FD104 secret apps/smtp"},
	})
	if diffs := r.resource(t, "guestbook", "secret apps/smtp").Differences; len(diffs) != 1 ||
		diffs[0].Manager != "intruder" {
		t.Errorf("differences: %+v, want one by the manager intruder", diffs)
	}
}

// writeRecord copies the record of revision 1 to another revision with another status and age, as an interrupted Helm
// leaves it.
func (b *bundle) writeRecord(revision int, status string, age time.Duration) {
	b.t.Helper()
	data, _, err := unstructured.NestedString(b.get(b.record(1)).Object, "data", "release")
	if err != nil {
		b.t.Fatal(err)
	}
	var record map[string]any
	if err := unpack(data, &record); err != nil {
		b.t.Fatalf("unpacking a record: %v", err)
	}
	record["version"] = revision
	info, ok := record["info"].(map[string]any)
	if !ok {
		b.t.Fatalf("the record has no info: %v", record["info"])
	}
	info["status"], info["last_deployed"] = status, time.Now().Add(-age).Format(time.RFC3339)
	packed, err := pack(record)
	if err != nil {
		b.t.Fatalf("packing a record: %v", err)
	}
	b.ApplyYAML(b.t, "helm", fmt.Sprintf("{apiVersion: v1, kind: Secret, type: helm.sh/release.v1, metadata: {name: "+
		"%s, namespace: %s, "+
		"labels: {owner: helm, name: %s, status: %s, version: %q}}, data: {release: %s}}",
		b.record(revision).GetName(), b.options.Namespace, b.name, status, fmt.Sprint(revision), packed))
}

// unpack decodes the data of a record: base64 of base64 of gzip of JSON (docs/fleet-behavior.md, 2.8).
func unpack(data string, into any) error {
	once, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return err
	}
	z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(once)))
	if err != nil {
		return err
	}
	return json.NewDecoder(z).Decode(into)
}

func pack(record any) (string, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if err := json.NewEncoder(z).Encode(record); err != nil {
		return "", err
	}
	if err := z.Close(); err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString(b.Bytes()))), nil
}

// removeRecords deletes every record of a bundle's release.
func (f *fleetServer) removeRecords(b *bundle) {
	f.t.Helper()
	err := f.Client().DeleteAllOf(f.t.Context(), object("v1", "Secret", "", ""),
		client.InNamespace(b.options.Namespace), client.MatchingLabels{"owner": "helm", "name": b.name})
	if err != nil {
		f.t.Fatalf("deleting the records of %s: %v", b.name, err)
	}
}

// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

// TestRecordOverBound checks small Secrets with records that unpack to a manifest over the limit. The audit allocates
// little for them. A gap names each record and the limit. Their deployments have no result, and the other deployment
// has one.
func TestRecordOverBound(t *testing.T) {
	c := readCase(t, casesDir+"/ready.yaml")
	c.capture.Documents = append(c.capture.Documents, map[string]any{"apiVersion": "v1", "kind": "Secret",
		"metadata": map[string]any{"name": "fleet-agent", "namespace": "elsewhere"}}) // the agent that the records name
	for _, name := range []string{"bomb", "bomb-2", "bomb-3"} {
		c.capture.Documents = append(c.capture.Documents, packedRecord(t, release.Name{Namespace: "tenant", Name: name,
			Revision: 1},
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n"+strings.Repeat("- a\n", 1<<19)))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := c.run(t)
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	const mostAllocated = 1 << 30 // to parse one of these manifests completely takes 2.5 GiB
	if n := after.TotalAlloc - before.TotalAlloc; n > mostAllocated {
		t.Errorf("%d MiB were allocated, want at most %d", n>>20, mostAllocated>>20)
	}
	gaps := map[string]string{}
	for _, g := range got.Gaps {
		gaps[g.What] = g.Why()
	}
	for _, secret := range []string{"tenant/sh.helm.release.v1.bomb.v1", "tenant/sh.helm.release.v1.bomb-2.v1",
		"tenant/sh.helm.release.v1.bomb-3.v1"} {
		if reason := gaps["release record "+secret]; !strings.HasPrefix(reason, "RecordUnreadable: ") ||
			!strings.HasSuffix(reason, "1 MiB to parse") {
			t.Errorf("record %s: gap %q", secret, reason)
		}
	}
	ready, unknown := 0, 0
	for _, d := range got.BundleDeployments {
		switch {
		case d.State == "Ready" && d.Counts.Ready > 0:
			ready++
		case d.Reason == "RecordUnreadable" && d.Counts.Desired == 0:
			unknown++
		}
	}
	if ready != 1 || unknown != 3 || len(got.BundleDeployments) != 4 {
		t.Errorf("%d of %d deployments are ready and %d unreadable, want 1 of 4 and 3", ready,
			len(got.BundleDeployments), unknown)
	}
}

// TestDenseRecords checks small records with thousands of objects. If those of a namespace cost more than its limit,
// none of their manifests is read: a gap names each of them, and its deployment has no result. A record of another
// namespace is read.
func TestDenseRecords(t *testing.T) {
	c := readCase(t, casesDir+"/ready.yaml")
	c.capture.Documents = append(c.capture.Documents, map[string]any{"apiVersion": "v1", "kind": "Secret",
		"metadata": map[string]any{"name": "fleet-agent", "namespace": "elsewhere"}}) // the agent that the records name
	const each = 6000
	var manifest strings.Builder
	for i := range each {
		fmt.Fprintf(&manifest, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a%d, namespace: kube-system}\n",
			i)
	}
	for _, name := range []release.Name{{Namespace: "tenant", Name: "a", Revision: 1},
		{Namespace: "tenant", Name: "b", Revision: 1}, {Namespace: "tenant", Name: "c", Revision: 1},
		{Namespace: "other", Name: "d", Revision: 1}} {
		c.capture.Documents = append(c.capture.Documents, packedRecord(t, name, manifest.String()))
	}
	got, err := c.run(t)
	if err != nil {
		t.Fatal(err)
	}
	gaps := 0
	for _, g := range got.Gaps {
		if strings.HasPrefix(g.What, "release record tenant/") && strings.Contains(g.Why(), "exceed 16 MiB") {
			gaps++
		}
	}
	results := map[string]string{}
	for _, d := range got.BundleDeployments {
		results[d.Name] = fmt.Sprintf("%s %s %d", d.State, d.Reason, d.Counts.Desired)
	}
	const unread = "Unknown RecordUnreadable 0"
	want := map[string]string{"a": unread, "b": unread, "c": unread, "d": fmt.Sprintf("Unknown  %d", each)}
	for name, result := range want {
		if results[name] != result {
			t.Errorf("%s is %q, want %q", name, results[name], result)
		}
	}
	if gaps != 3 || len(got.BundleDeployments) != 5 {
		t.Errorf("%d gaps and %d bundle deployments, want 3 and 5", gaps, len(got.BundleDeployments))
	}
}

// TestDamagedRecordOverBound checks a damaged record that unpacks to more than the limit and states a small size at its
// end: the gap names the limit.
func TestDamagedRecordOverBound(t *testing.T) {
	var b bytes.Buffer
	// two members; the last one states its size
	for _, content := range []string{"{]" + strings.Repeat(" ", 70<<20), strings.Repeat(" ", 8<<10)} {
		z := gzip.NewWriter(&b)
		_, err := z.Write([]byte(content))
		if err := errors.Join(err, z.Close()); err != nil {
			t.Fatal(err)
		}
	}
	c := readCase(t, casesDir+"/ready.yaml")
	name := release.Name{Namespace: "tenant", Name: "bomb", Revision: 1}
	c.capture.Documents = append(c.capture.Documents, compressedSecret(name, b.Bytes()))
	got, err := c.run(t)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range got.Gaps {
		if strings.HasSuffix(g.What, name.SecretName()) && strings.Contains(g.Why(), "100 times its size") {
			return
		}
	}
	t.Errorf("no gap names the limit: %+v", got.Gaps)
}

// packedRecord returns a Secret with a release record of another agent, in Helm's encoding.
func packedRecord(t *testing.T, n release.Name, manifest string) map[string]any {
	t.Helper()
	document, err := json.Marshal(map[string]any{
		"name": n.Name, "namespace": n.Namespace, "version": n.Revision,
		"info": map[string]any{"status": release.StatusDeployed},
		"chart": map[string]any{"metadata": map[string]any{"annotations": map[string]string{
			"fleet.cattle.io/bundle-id": n.Name, "fleet.cattle.io/agent-namespace": "elsewhere"}}},
		"manifest": manifest,
	})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	_, err = z.Write(document)
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return compressedSecret(n, b.Bytes())
}

// compressedSecret is the Secret with a compressed release record. Helm encodes the record, and JSON the value of a
// Secret.
func compressedSecret(n release.Name, compressed []byte) map[string]any {
	record := base64.StdEncoding.EncodeToString(compressed)
	return map[string]any{
		"apiVersion": "v1",
		"kind":       "Secret",
		"type":       release.SecretType,
		"metadata":   map[string]any{"name": n.SecretName(), "namespace": n.Namespace},
		"data":       map[string]any{release.DataKey: base64.StdEncoding.EncodeToString([]byte(record))},
	}
}

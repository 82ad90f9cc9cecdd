// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// remove removes an object.
func (m *redeployed) remove(gvk schema.GroupVersionKind, namespace, name string) {
	delete(m.objects[gvk], object.Key{Group: gvk.Group, Kind: gvk.Kind, Namespace: namespace, Name: name})
}

// TestRenew checks that a renewed evaluation has the result of an evaluation of everything, and after which changes
// there is none.
func TestRenew(t *testing.T) {
	core := schema.GroupVersion{Version: "v1"}
	fleetKind := schema.GroupVersion{Group: "fleet.cattle.io", Version: "v1alpha1"}.WithKind
	changed := func(m *redeployed) { m.deploy(t, "b", 5, 2) }
	for what, tc := range map[string]struct {
		before func(m *redeployed)
		change func(m *redeployed)
		more   bool
	}{
		"nothing":           {change: func(*redeployed) {}},
		"a release":         {change: changed},
		"two releases":      {change: func(m *redeployed) { changed(m); m.deploy(t, "c", 5, 2) }},
		"one revision more": {change: func(m *redeployed) { changed(m); m.deploy(t, "b", 5, 3) }},
		"an object less":    {change: func(m *redeployed) { m.deploy(t, "b", 4, 2) }},
		"an object more":    {change: func(m *redeployed) { m.deploy(t, "b", 6, 2) }},
		"a kind less": {change: func(m *redeployed) {
			for _, name := range []string{"a", "b", "c"} {
				m.deploy(t, name, 1, 2)
			}
		}, more: true},
		"a new bundle":       {change: func(m *redeployed) { m.deploy(t, "d", 5, 1) }, more: true},
		"the Bundle is gone": {change: func(m *redeployed) { m.remove(fleetKind("Bundle"), localWorkspace, "b") }},
		"the record is gone": {change: func(m *redeployed) {
			m.remove(core.WithKind("Secret"), "b", "sh.helm.release.v1.b.v1")
		}, more: true},
		"the Cluster's agent":  {change: func(m *redeployed) { m.cluster(t, "elsewhere", 3, 15) }, more: true},
		"the Cluster's totals": {change: func(m *redeployed) { m.cluster(t, agentNamespace, 2, 11) }},
		"a missing object": {change: func(m *redeployed) {
			changed(m)
			m.remove(core.WithKind("ConfigMap"), "b", "object-000")
		}},
		"only the status": {change: func(m *redeployed) {
			bd := m.read(t, fleetKind("BundleDeployment"), localNamespace, "b")
			status, _ := bd["status"].(fields)
			status["ready"], status["display"] = false, fields{"state": "NotReady"}
			m.set(t, bd)
		}},
		"comparePatches": {change: func(m *redeployed) {
			bd := m.read(t, fleetKind("BundleDeployment"), localNamespace, "b")
			spec, _ := bd["spec"].(fields)
			patch := fields{"apiVersion": "v1", "kind": "ConfigMap", "jsonPointers": []any{"/data/level"}}
			spec["options"] = fields{"diff": fields{"comparePatches": []any{patch}}}
			m.set(t, bd)
		}},
		"beside a removal": {before: func(m *redeployed) {
			bd := m.read(t, fleetKind("BundleDeployment"), localNamespace, "c")
			bd["spec"] = fields{"deploymentID": "s-c:2", "options": fields{"defaultNamespace": "elsewhere"}}
			m.set(t, bd)
		}, change: changed},
		"a removal": {change: func(m *redeployed) {
			m.remove(fleetKind("BundleDeployment"), localNamespace, "c")
		}, more: true},
		"beside a leftover release": {before: func(m *redeployed) {
			m.remove(fleetKind("BundleDeployment"), localNamespace, "c")
		}, change: changed},
		"a pending revision": {change: func(m *redeployed) {
			bd := m.read(t, fleetKind("BundleDeployment"), localNamespace, "b")
			changed(m)
			m.set(t, bd)
		}},
	} {
		t.Run(what, func(t *testing.T) {
			m := newRedeployed(t, 3, 15)
			for _, name := range []string{"a", "b", "c"} {
				m.deploy(t, name, 5, 1)
			}
			if tc.before != nil {
				tc.before(m)
			}
			o := audit.Options{Memory: audit.NewMemory(), Pause: func(context.Context) error { return nil }}
			standing, err := audit.Start(t.Context(), m, o)
			if err != nil {
				t.Fatal(err)
			}
			now := time.Now()
			if _, err := standing.Audit(t.Context(), now, nil); err != nil {
				t.Fatal(err)
			}
			tc.change(m)
			renewed, err := standing.Renew(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if (renewed == nil) != tc.more {
				t.Fatalf("renewed %t, want %t", renewed != nil, !tc.more)
			}
			if tc.more {
				return
			}
			o.Memory = audit.NewMemory()
			everything, err := audit.Start(t.Context(), m, o)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(reportAt(t, everything, now), reportAt(t, renewed, now)); diff != "" {
				t.Error("everything (-), renewed (+):\n", diff)
			}
		})
	}
}

// interrupted is a cluster whose list of ConfigMaps ends early.
type interrupted struct{ source.Source }

var errInterrupted = errors.New("a list was interrupted")

// List implements source.Source.
func (i interrupted) List(ctx context.Context, q source.Query, yield func(source.Object) error) (source.Coverage,
	error) {
	if q.Kind.Kind == "ConfigMap" {
		return source.Coverage{}, errInterrupted
	}
	return i.Source.List(ctx, q, yield)
}

// TestStartFails checks that an evaluation that fails leaves nothing that could be continued.
func TestStartFails(t *testing.T) {
	m := newRedeployed(t, 1, 5)
	m.deploy(t, "a", 5, 1)
	o := audit.Options{Memory: audit.NewMemory(), Pause: func(context.Context) error { return nil }}
	standing, err := audit.Start(t.Context(), interrupted{m}, o)
	if standing != nil || !errors.Is(err, errInterrupted) {
		t.Errorf("a Standing: %t, error %v", standing != nil, err)
	}
}

// reportAt returns the report at a time, as JSON.
func reportAt(t *testing.T, s *audit.Standing, now time.Time) string {
	t.Helper()
	a, err := s.Audit(t.Context(), now, nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := json.MarshalIndent(a.Report(), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// read returns an object.
func (m *redeployed) read(tb testing.TB, gvk schema.GroupVersionKind, namespace, name string) fields {
	tb.Helper()
	var out fields
	key := object.Key{Group: gvk.Group, Kind: gvk.Kind, Namespace: namespace, Name: name}
	if err := json.Unmarshal(m.objects[gvk][key].raw, &out); err != nil {
		tb.Fatal(err)
	}
	return out
}

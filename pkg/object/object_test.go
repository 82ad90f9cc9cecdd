// SPDX-License-Identifier: Apache-2.0

package object

import (
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
)

func TestKey(t *testing.T) {
	for _, tc := range []struct {
		ref  Ref
		want string
	}{
		{Ref{"v1", "ConfigMap", "default", "a"}, "configmap default/a"},
		{Ref{"apps/v1", "Deployment", "default", "a"}, "deployment default/a"},
		{Ref{"rbac.authorization.k8s.io/v1", "ClusterRole", "", "a"}, "clusterrole a"},
	} {
		if got := tc.ref.Key().String(); got != tc.want {
			t.Errorf("%v: got %q, want %q", tc.ref, got, tc.want)
		}
	}
	a, b := Ref{"apps/v1", "Deployment", "a", "x"}, Ref{"apps/v1beta1", "Deployment", "a", "x"}
	if a.Key() != b.Key() || a.Compare(b) >= 0 {
		t.Errorf("two versions of one object: keys %v and %v, order %d", a.Key(), b.Key(), a.Compare(b))
	}
}

func TestDecode(t *testing.T) {
	raw := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","managedFields":[{"manager":"m"}],
		"annotations":{"managedFields":"a key of that name"}},
		"spec":{"metadata":{"managedFields":"not the object's own"},
			"n":9007199254740993,"f":1.5,"l":[1,true,null,"s",{}],"e":[]}}`
	got, managed, err := Decode([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	want := Content{"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": Content{"name": "a", "annotations": Content{"managedFields": "a key of that name"}},
		"spec": Content{"metadata": Content{"managedFields": "not the object's own"}, "n": int64(9007199254740993),
			"f": 1.5,
			"l": []any{int64(1), true, nil, "s", Content{}}, "e": []any{}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("content (-want +got):\n%s", diff)
	}
	if string(managed) != `[{"manager":"m"}]` {
		t.Errorf("managed fields: %s", managed)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for name, raw := range map[string]string{
		"no object":     `[1]`,
		"truncated":     `{"a":{"b":`,
		"too deep":      strings.Repeat(`{"a":`, 200_000),
		"deep in lists": strings.Repeat(`[`, 200_000),
	} {
		if _, _, err := Decode([]byte(raw)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestReadMeta(t *testing.T) {
	m, err := ReadMeta([]byte(`{"kind":"Secret","apiVersion":"v1","data":{"a":"eA=="},` +
		`"metadata":{"name":"s","namespace":"n","labels":{"l":"v"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if m.Ref() != (Ref{"v1", "Secret", "n", "s"}) || m.Metadata.Labels["l"] != "v" {
		t.Errorf("got %+v", m)
	}
}

func TestOwners(t *testing.T) {
	const pod, set = `{"kind":"Pod","name":"p","controller":false,"blockOwnerDeletion":true}`,
		`{"kind":"ReplicaSet","name":"r","controller":true}`
	for owners, want := range map[string]Owners{
		`null`:                           nil,
		`[]`:                             nil,
		`[` + pod + `]`:                  {{Kind: "Pod", Name: "p"}},
		`[` + pod + `,{}]`:               {{Kind: "Pod", Name: "p"}},
		`[null,` + pod + `,` + set + `]`: {{Kind: "ReplicaSet", Name: "r", Controller: true}},
		`[` + set + `,` + pod + `]`:      {{Kind: "ReplicaSet", Name: "r", Controller: true}},
	} {
		m, err := ReadMeta([]byte(`{"metadata":{"ownerReferences":` + owners + `,"name":"n"}}`))
		if err != nil {
			t.Errorf("%s: %v", owners, err)
			continue
		}
		if diff := cmp.Diff(want, m.Metadata.OwnerReferences); diff != "" || m.Metadata.Name != "n" {
			t.Errorf("%s, of %q (-want +got):\n%s", owners, m.Metadata.Name, diff)
		}
	}
	for _, owners := range []string{`{}`, `"x"`, `[1]`, `[{"name":1}]`, `[{}`, `[{},`} {
		if m, err := ReadMeta([]byte(`{"metadata":{"ownerReferences":` + owners + `}}`)); err == nil {
			t.Errorf("%s: no error, and %+v", owners, m)
		}
	}
}

// TestManyOwners checks that ReadMeta allocates no memory for owners that it does not return.
func TestManyOwners(t *testing.T) {
	raw := []byte(`{"metadata":{"ownerReferences":[{}` + strings.Repeat(`,{}`, 1<<20) + `]}}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := ReadMeta(raw)
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20 {
		t.Errorf("%d bytes for %d", took, len(raw))
	}
}

func TestClusterScoped(t *testing.T) {
	for kind, want := range map[string]bool{"Namespace": true, "ClusterRole.rbac.authorization.k8s.io": true,
		"Content.fleet.cattle.io": true,
		"ConfigMap":               false, "Role.rbac.authorization.k8s.io": false, "Namespace.example.com": false,
		"Bundle.fleet.cattle.io": false} {
		if got := ClusterScoped(schema.ParseGroupKind(kind)); got != want {
			t.Errorf("%s: cluster-scoped %t, want %t", kind, got, want)
		}
	}
	for group, kinds := range ClusterScopedKinds {
		if len(sets.New(kinds...)) != len(kinds) {
			t.Errorf("a kind of group %q is listed twice: %v", group, kinds)
		}
	}
}

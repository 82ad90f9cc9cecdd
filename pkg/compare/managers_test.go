// SPDX-License-Identifier: Apache-2.0

package compare_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// TestManagersOfCells checks the manager of the difference in cells with managedFields: it is the manager that made the
// change, not the manager that applied the object before.
func TestManagersOfCells(t *testing.T) {
	kinds := map[string]bool{}
	cells, _ := readCells(t)
	for _, c := range cells {
		if c.ManagedFields == nil {
			continue
		}
		desired, ref := decode(t, c.Desired)
		live, _ := decode(t, c.Live)
		managers, err := compare.ReadManagers(c.ManagedFields, live)
		if err != nil {
			t.Fatalf("%s, %s: %v", c.Manifest, c.Name, err)
		}
		diffs := compare.Objects(desired, live, ref.GroupVersionKind())
		for _, d := range diffs {
			if !d.LiveSet {
				continue
			}
			if m := managers.Of(d); m == nil || m.Name != "somebody" {
				t.Errorf("%s, %s: %s was written by %v", c.Manifest, c.Name, d.Path, m)
			}
			kinds[ref.Kind] = true
		}
	}
	if len(kinds) < 40 {
		t.Errorf("only %d kinds have cells with managedFields", len(kinds))
	}
}

// TestManagers checks each form in which the API server records a field. The entries have the manager, the hour of its
// write, and its fields.
func TestManagers(t *testing.T) {
	const args = `f:spec: {f:template: {f:spec: {f:containers: {'k:{"name":"c"}': {.: {}, f:name: {}, f:args: {}}}}}}`
	for _, c := range []struct {
		name, kind, desired, live string
		entries                   []string
		want                      string
	}{
		{"a field", configMap, `data: {a: x}`, `data: {a: z}`, []string{"helm 1 f:data: {f:b: {}}",
			"jane 2 f:data: {f:a: {}}"}, "jane 2"},
		{"no manager", configMap, `data: {a: x}`, `data: {a: z}`, []string{"helm 1 f:data: {f:b: {}}"}, ""},
		{"a removed field has no manager", configMap, `data: {a: x}`, `data: {b: z}`,
			[]string{"helm 1 f:data: {f:a: {}, f:b: {}}"}, ""},
		{"several managers agree: the last", configMap, `data: {a: x}`, `data: {a: z}`,
			[]string{"jane 3 f:data: {f:a: {}}", "joe 2 f:data: {f:a: {}}"}, "jane 3"},
		{"a map owned as a whole", configMap, `data: {a: x}`, `data: {a: z}`, []string{"jane 2 f:data: {}"}, "jane 2"},
		{"the field itself before the whole", configMap, `data: {a: x}`, `data: {a: z}`,
			[]string{"joe 3 f:data: {}", "jane 2 f:data: {f:a: {}}"}, "jane 2"},
		{"keys with dots and slashes", configMap, `metadata: {labels: {a.b/c: x}}`, `metadata: {labels: {a.b/c: z}}`,
			[]string{"jane 2 f:metadata: {f:labels: {f:a.b/c: {}}}"}, "jane 2"},

		{"an element by its key", deployment, pod(`tty: true`), pod(`tty: false`),
			[]string{`jane 2 f:spec: {f:template: {f:spec: {f:containers: {'k:{"name":"c"}': {f:tty: {}}}}}}`},
			"jane 2"},
		{"an element by several keys", service, `spec: {ports: [{port: 80, targetPort: 1}]}`,
			`spec: {ports: [{port: 80, protocol: TCP, targetPort: 2}]}`,
			[]string{`jane 2 f:spec: {f:ports: {'k:{"port":80,"protocol":"TCP"}': {f:targetPort: {}}}}`}, "jane 2"},
		{"a key itself", service, `spec: {ports: [{port: 80, protocol: TCP}]}`,
			`spec: {ports: [{port: 80, protocol: UDP}]}`,
			[]string{`jane 2 f:spec: {f:ports: {'k:{"port":80,"protocol":"UDP"}': {.: {}, f:port: {},` +
				` f:protocol: {}}}}`}, "jane 2"},
		{"a key itself, of an unknown element", service,
			`spec: {ports: [{port: 80, protocol: TCP}, {port: 80, protocol: SCTP}]}`,
			`spec: {ports: [{port: 80, protocol: UDP}, {port: 80, protocol: SCTP}]}`,
			[]string{`jane 2 f:spec: {f:ports: {'k:{"port":80,"protocol":"UDP"}': {.: {}},` +
				` 'k:{"port":80,"protocol":"SCTP"}': {.: {}}}}`}, ""},
		{"a list without keys", deployment, pod(`args: [x]`), pod(`args: [z]`), []string{"jane 2 " + args}, "jane 2"},
		{"the length of a list without keys", deployment, pod(`args: [x]`), pod(`args: [x, z]`),
			[]string{"jane 2 " + args}, "jane 2"},
		{"the order of a list without keys", deployment, pod(`args: [x, z]`), pod(`args: [z, x]`),
			[]string{"jane 2 " + args}, "jane 2"},
		{"a field in a list without keys", "networking.k8s.io/v1 NetworkPolicy",
			`spec: {egress: [{ports: [{port: 1}]}]}`,
			`spec: {egress: [{ports: [{port: 2, protocol: TCP}]}]}`, []string{"jane 2 f:spec: {f:egress: {}}"},
			"jane 2"},
		{"a list with keys in which this package uses indexes", custom, `spec: {l: [{name: a, v: 1}]}`,
			`spec: {l: [{name: a, v: 2}]}`,
			[]string{`jane 2 f:spec: {f:l: {'k:{"name":"a"}': {.: {}, f:v: {}}}}`}, "jane 2"},
		{"an index", custom, `spec: {l: [{v: 1}]}`, `spec: {l: [{v: 2}]}`,
			[]string{"jane 2 f:spec: {f:l: {'i:0': {f:v: {}}}}"}, "jane 2"},
		{"a value of a set", custom, `spec: {l: [x]}`, `spec: {l: [z]}`, []string{`helm 3 f:spec: {f:l: {'v:"w"': {}}}`,
			`jane 2 f:spec: {f:l: {'v:"z"': {}}}`}, "jane 2"},

		{"the order of keyed elements is not recorded", deployment, pod(`env: [{name: A}, {name: B}]`),
			pod(`env: [{name: B}, {name: A}]`),
			[]string{`helm 1 f:spec: {f:template: {f:spec: {f:containers: {'k:{"name":"c"}': {f:env: {` +
				`'k:{"name":"A"}': {.: {}}, 'k:{"name":"B"}': {.: {}}}}}}}}`}, ""},
		{"removed elements are not recorded", custom, `spec: {l: [{name: a}, {name: b}]}`,
			`spec: {l: [{name: a, v: 1}]}`,
			[]string{`helm 1 f:spec: {f:l: {'k:{"name":"a"}': {.: {}, f:name: {}}}}`}, ""},
		{"added elements are recorded", custom, `spec: {l: [{name: a}]}`, `spec: {l: [{name: a}, {name: b}]}`,
			[]string{`helm 3 f:spec: {f:l: {'k:{"name":"a"}': {.: {}, f:name: {}}}}`,
				`jane 2 f:spec: {f:l: {'k:{"name":"b"}': {.: {}, f:name: {}}}}`}, "jane 2"},
		{"no entries", configMap, `data: {a: x}`, `data: {a: z}`, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			live := parse(t, c.live)
			managers, err := compare.ReadManagers(managedFields(t, c.entries), live)
			if err != nil {
				t.Fatal(err)
			}
			apiVersion, kind := split(c.kind)
			diffs := compare.Objects(parse(t, c.desired), live, object.Ref{APIVersion: apiVersion,
				Kind: kind}.GroupVersionKind())
			if len(diffs) != 1 {
				t.Fatalf("%d differences: %v", len(diffs), paths(diffs))
			}
			got := ""
			if m := managers.Of(diffs[0]); m != nil {
				got = fmt.Sprint(m.Name, " ", m.Time.Hour())
			}
			if got != c.want {
				t.Errorf("%s was written by %q, want %q", diffs[0].Path, got, c.want)
			}
		})
	}
}

// TestUnclaimed checks that a value is unclaimed only if managedFields would certainly record its writer.
func TestUnclaimed(t *testing.T) {
	for _, c := range []struct {
		name, kind, desired, live string
		entries                   []string
		want                      bool
	}{
		{"no manager", configMap, `data: {a: x}`, `data: {a: z}`, []string{"helm 1 f:data: {f:b: {}}"}, true},
		{"a label", configMap, `metadata: {labels: {a.b/c: x}}`, `metadata: {labels: {a.b/c: z}}`,
			[]string{"helm 1 f:data: {f:b: {}}"}, true},
		{"a field with a manager", configMap, `data: {a: x}`, `data: {a: z}`, []string{"jane 2 f:data: {f:a: {}}"},
			false},
		{"a field of a map with a manager", configMap, `data: {a: x}`, `data: {a: z}`, []string{"jane 2 f:data: {}"},
			false},
		{"a removed field", configMap, `data: {a: x}`, `data: {b: z}`, []string{"helm 1 f:data: {f:b: {}}"}, false},
		{"no entries", configMap, `data: {a: x}`, `data: {a: z}`, nil, false},
		{"another order", custom, `spec: {l: [{name: a}, {name: b}]}`, `spec: {l: [{name: b}, {name: a}]}`,
			[]string{"helm 1 f:data: {}"}, false},
		{"a field within a list", deployment, pod(`tty: true`), pod(`tty: false`), []string{"helm 1 f:data: {}"},
			false},
	} {
		t.Run(c.name, func(t *testing.T) {
			live := parse(t, c.live)
			managers, err := compare.ReadManagers(managedFields(t, c.entries), live)
			if err != nil {
				t.Fatal(err)
			}
			apiVersion, kind := split(c.kind)
			for _, d := range compare.Objects(parse(t, c.desired), live, object.Ref{APIVersion: apiVersion,
				Kind: kind}.GroupVersionKind()) {
				if got := managers.Unclaimed(d); got != c.want {
					t.Errorf("%s: unclaimed is %t", d.Path, got)
				}
			}
		})
	}
}

func managedFields(t *testing.T, entries []string) []byte {
	t.Helper()
	if entries == nil {
		return nil
	}
	var doc strings.Builder
	for _, e := range entries {
		part := strings.SplitN(e, " ", 3)
		fmt.Fprintf(&doc, "- {manager: %s, operation: Update, time: '2026-01-01T0%s:00:00Z', fieldsV1: {%s}}\n",
			part[0], part[1], part[2])
	}
	raw, err := yaml.YAMLToJSON([]byte(doc.String()))
	if err != nil {
		t.Fatalf("%s: %v", doc.String(), err)
	}
	return raw
}

func TestManagerCarriesAll(t *testing.T) {
	live := parse(t, `spec: {replicas: 3}`)
	managers, err := compare.ReadManagers([]byte(`[
		{"manager":"scaler","operation":"Update","subresource":"scale","time":"2026-01-01T02:00:00+02:00",
			"fieldsV1":{"f:spec":{"f:replicas":{}}}},
		{"manager":"without fields"}]`), live)
	if err != nil {
		t.Fatal(err)
	}
	gvk := object.Ref{APIVersion: "apps/v1", Kind: "Deployment"}.GroupVersionKind()
	got := managers.Of(compare.Objects(parse(t, `spec: {replicas: 1}`), live, gvk)[0])
	want := &compare.Manager{
		Name:        "scaler",
		Operation:   "Update",
		Subresource: "scale",
		Time:        time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("manager (-want +got):\n%s", diff)
	}
}

func TestReadManagersRefuses(t *testing.T) {
	for name, raw := range map[string]string{
		"no list":           `{"manager":"a"}`,
		"no fields":         `[{"manager":"a","fieldsV1":"x"}]`,
		"an unreadable key": `[{"manager":"a","fieldsV1":{"k:{":{}}}]`,
	} {
		if _, err := compare.ReadManagers([]byte(raw), nil); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

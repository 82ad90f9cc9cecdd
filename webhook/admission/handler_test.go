// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/record"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/index"
)

var eleven = ownership.Desired("default-eleven", "eleven", "web")

// bench is the configuration of the handlers, which a test can change, and what they reported.
type bench struct {
	Options
	index      *index.Index
	namespaces namespaces
	ready      bool
	stale      bool
	outcomes   []Outcome
	events     []string
}

type namespaces map[string]map[string]string

func (n namespaces) Labels(name string) map[string]string { return n[name] }

func (b *bench) RateLimited(o corev1.ObjectReference, message string) {
	b.events = append(b.events, fmt.Sprintf("%s %s/%s %s: %s", o.Kind, o.Namespace, o.Name, o.UID, message))
}

// setUp makes an index with bundle eleven, which desires eleven ConfigMaps in namespace web.
func setUp(tb testing.TB) *bench {
	tb.Helper()
	r := index.New()
	e, err := desired.ReadRevision(record.Record{Bundle: "eleven", Objects: record.ConfigMaps("web", 11)}.Value())
	if err != nil {
		tb.Fatal(err)
	}
	r.Set(e)
	now := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	b := &bench{index: r, namespaces: namespaces{"web": {}}, ready: true}
	b.Options = Options{Index: r, Namespaces: b.namespaces, Ready: func() bool { return b.ready },
		Live: func(string) bool { return !b.stale }, GuardDefault: GuardWarn,
		RateLimiter: NewRateLimiter(func() time.Time { return now }), Events: b, Log: logr.Discard(),
		Observe: func(o Outcome) { b.outcomes = append(b.outcomes, o) }}
	return b
}

// configMap returns the JSON of ConfigMap web/object-0. metadata is additional JSON of its metadata.
func configMap(metadata string) []byte {
	return []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"object-0","namespace":"web","uid":"u-0"` +
		metadata + `},"data":{"a":"1"}}`)
}

// metadataJSON returns ownership metadata as JSON for configMap.
func metadataJSON(m ownership.Metadata) string {
	labels, annotations := map[string]string{}, map[string]string{}
	for _, k := range ownership.Keys() {
		if v, ok := m.Values()[k.Name]; ok && k.Label {
			labels[k.Name] = v
		} else if ok {
			annotations[k.Name] = v
		}
	}
	l, err := json.Marshal(labels)
	if err != nil {
		return ""
	}
	a, err := json.Marshal(annotations)
	if err != nil {
		return ""
	}
	return fmt.Sprintf(`,"labels":%s,"annotations":%s`, l, a)
}

func helmOnlyJSON() string {
	m := eleven
	m.Hash, m.SetID = "", ""
	return metadataJSON(m)
}

// request returns a request about ConfigMap web/object-0. before and after may be nil.
func request(op admissionv1.Operation, before, after []byte) admission.Request {
	return admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{UID: "r", Operation: op, Namespace: "web",
		Name:     "object-0",
		Kind:     metav1.GroupVersionKind{Version: "v1", Kind: "ConfigMap"},
		UserInfo: authenticationv1.UserInfo{Username: "alice"},
		Object:   runtime.RawExtension{Raw: after}, OldObject: runtime.RawExtension{Raw: before}}}
}

// summary returns an answer in one line: its annotations, "forbidden" if it denies the request, and the number of keys
// that it writes.
func summary(r admission.Response) string {
	a := r.AuditAnnotations
	out := a["decision"] + " " + a["reason"] + " " + a["bundle"]
	if !r.Allowed {
		out += " forbidden"
	}
	return strings.TrimSpace(fmt.Sprintf("%s %d", strings.TrimSpace(out), len(r.Patches)))
}

func TestMutating(t *testing.T) {
	for _, tc := range []struct {
		name          string
		before, after []byte
		change        func(*bench, *admission.Request)
		exact         bool
		want          string
		warnings      []string
	}{
		{name: "Helm annotations, created", after: configMap(helmOnlyJSON()), want: "stamped Adopted eleven 2"},
		{name: "Helm annotations, updated", before: configMap(""), after: configMap(helmOnlyJSON()),
			want: "stamped Adopted eleven 2"},
		{name: "removed", before: configMap(metadataJSON(eleven)), after: configMap(""),
			want:     "stamped Restored eleven 2",
			warnings: []string{"Stripped eleven will be at most 10/11", "Restored"}},
		{name: "owned", after: configMap(metadataJSON(eleven)), want: "passed Owned eleven 0"},
		{name: "no metadata", after: configMap(""), want: "passed Unmarked eleven 0"},
		{name: "no metadata, exact", after: configMap(""), exact: true, want: "stamped Exact eleven 2"},
		{name: "null maps, exact", after: configMap(`,"labels":null,"annotations":null`), exact: true,
			want: "stamped Exact eleven 2"},
		{name: "empty maps, exact", after: configMap(`,"labels":{},"annotations":{}`), exact: true,
			want: "stamped Exact eleven 5"},
		{name: "not desired", after: configMap(helmOnlyJSON()),
			change: func(_ *bench, r *admission.Request) { r.Name = "x" }, want: "passed NotWanted 0"},
		{name: "a foreign owner", after: configMap(`,"annotations":{"meta.helm.sh/release-name":"eleven",` +
			`"meta.helm.sh/release-namespace":"web","objectset.rio.cattle.io/id":"cattle"}`),
			want: "warned Foreign eleven 0", warnings: []string{"Foreign bundle eleven"}},
		{name: "not ready", after: configMap(helmOnlyJSON()),
			change: func(b *bench, _ *admission.Request) { b.ready = false }, want: "passed NotReady 0"},
		{name: "invalid JSON", after: []byte(`{"metadata": invalid`), want: "passed Undecodable 0"},
		{name: "labels are not a map", after: configMap(`,"labels":7`), want: "passed Undecodable 0"},
		{name: "no object", want: "passed Undecodable 0"},
		{name: "a subresource", after: configMap(helmOnlyJSON()),
			change: func(_ *bench, r *admission.Request) { r.SubResource = "status" }, want: "passed Unasked 0"},
		{name: "a deletion", before: configMap(metadataJSON(eleven)),
			change: func(_ *bench, r *admission.Request) { r.Operation = admissionv1.Delete },
			want:   "passed Unasked 0"},
		{name: "an undo", before: configMap(metadataJSON(eleven)), after: configMap(""), want: "passed Ignored 0",
			change: func(_ *bench, r *admission.Request) {
				r.Options.Raw = []byte(`{"kind":"PatchOptions","fieldManager":"fleetdoctor-adopt"}`)
			}},
		{name: "an ignored namespace", after: configMap(helmOnlyJSON()), want: "passed Ignored 0",
			change: func(b *bench, _ *admission.Request) { b.namespaces["web"]["fleetdoctor.io/ignore"] = "true" }},
		{name: "an unknown namespace", after: configMap(helmOnlyJSON()), want: "stamped Adopted eleven 2",
			change: func(b *bench, _ *admission.Request) { delete(b.namespaces, "web") }},
		{name: "removed in the mode deny", before: configMap(metadataJSON(eleven)), after: configMap(""),
			want:   "denied Stripped eleven forbidden 0",
			change: func(b *bench, _ *admission.Request) { b.namespaces["web"]["fleetdoctor.io/guard"] = "deny" }},
		{name: "removed by Fleet", before: configMap(metadataJSON(eleven)), after: configMap(""),
			want: "stamped Restored eleven 2",
			change: func(b *bench, r *admission.Request) {
				b.namespaces["web"]["fleetdoctor.io/guard"] = "deny"
				r.UserInfo.Username = "system:serviceaccount:cattle-fleet-system:fleet-agent"
			}},
		{name: "removed in the mode off", before: configMap(metadataJSON(eleven)), after: configMap(""),
			want:   "stamped Restored eleven 2",
			change: func(b *bench, _ *admission.Request) { b.namespaces["web"]["fleetdoctor.io/guard"] = "off" }},
		{name: "a panic", after: configMap(helmOnlyJSON()),
			change: func(b *bench, _ *admission.Request) { b.Namespaces = nil }, want: "passed Failed 0"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := setUp(t)
			op := admissionv1.Create
			if tc.before != nil {
				op = admissionv1.Update
			}
			req := request(op, tc.before, tc.after)
			if tc.change != nil {
				tc.change(b, &req)
			}
			handler := Mutating(b.Options)
			if tc.exact {
				handler = MutatingExact(b.Options)
			}
			got := handler.Handle(t.Context(), req)
			if diff := cmp.Diff(tc.want, summary(got)); diff != "" {
				t.Errorf("answer (-want +got):\n%s%v", diff, got.Result)
			}
			checkWarnings(t, tc.warnings, got.Warnings)
			if len(b.outcomes) != 1 || !strings.HasPrefix(tc.want,
				string(b.outcomes[0].Decision)+" "+string(b.outcomes[0].Reason)) {
				t.Errorf("observed %+v", b.outcomes)
			}
			if len(got.Patches) > 0 {
				req.Object.Raw = patched(t, tc.after, got)
				if again := handler.Handle(t.Context(), req); len(again.Patches) > 0 {
					t.Errorf("a second call writes %v", again.Patches)
				}
			}
		})
	}
}

// checkWarnings compares warnings. An expected warning is a code and an optional part of the sentence.
func checkWarnings(t *testing.T, want, got []string) {
	t.Helper()
	if len(want) != len(got) {
		t.Fatalf("warnings %q, want %q", got, want)
	}
	for i := range want {
		code, part, _ := strings.Cut(want[i], " ")
		if w := ParseWarning(got[i]); w.Code != WarningCode(code) || !strings.Contains(w.Message, part) {
			t.Errorf("warning %q, want %q", got[i], want[i])
		}
	}
}

// patched applies the patch of an answer, and checks that the object has the five keys and is otherwise unchanged.
func patched(tb testing.TB, object []byte, r admission.Response) []byte {
	tb.Helper()
	raw, err := json.Marshal(r.Patches)
	if err != nil {
		tb.Fatal(err)
	}
	patch, err := jsonpatch.DecodePatch(raw)
	if err != nil {
		tb.Fatal(err)
	}
	out, err := patch.Apply(object)
	if err != nil {
		tb.Fatalf("applying %s: %v", raw, err)
	}
	if got := keysIn(tb, out); !cmp.Equal(got, eleven.Values()) {
		tb.Errorf("keys (-want +got):\n%s", cmp.Diff(eleven.Values(), got))
	}
	if diff := cmp.Diff(withoutKeys(tb, object), withoutKeys(tb, out)); diff != "" {
		tb.Errorf("the rest (-before +after):\n%s", diff)
	}
	return out
}

type metadata struct {
	Metadata struct {
		Labels, Annotations map[string]string
	}
}

func keysIn(tb testing.TB, object []byte) map[string]string {
	tb.Helper()
	var m metadata
	if err := json.Unmarshal(object, &m); err != nil {
		tb.Fatal(err)
	}
	return ownership.MetadataOf(m.Metadata.Labels, m.Metadata.Annotations).Values()
}

// withoutKeys returns an object without the five keys and without empty maps.
func withoutKeys(tb testing.TB, object []byte) map[string]any {
	tb.Helper()
	var all map[string]any
	if err := json.Unmarshal(object, &all); err != nil {
		tb.Fatal(err)
	}
	meta, _ := all["metadata"].(map[string]any)
	for _, field := range []string{"labels", "annotations"} {
		values, _ := meta[field].(map[string]any)
		for _, k := range ownership.Keys() {
			delete(values, k.Name)
		}
		if len(values) == 0 {
			delete(meta, field)
		}
	}
	return all
}

func TestValidating(t *testing.T) {
	clusterRole := func(labels string) []byte {
		return []byte(`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole",
			"metadata":{"name":"viewer","labels":{"objectset.rio.cattle.io/hash":"` + eleven.Hash + `"` + labels + `},
			"annotations":{"meta.helm.sh/release-name":"eleven","meta.helm.sh/release-namespace":"web"}}}`)
	}
	for _, tc := range []struct {
		name          string
		before, after []byte
		namespace     map[string]string
		fallback      GuardMode
		want          string
		warnings      []string
	}{
		{name: "deleted", before: configMap(metadataJSON(eleven)), want: "warned Deleted eleven 0",
			warnings: []string{"Deleted eleven will be at most 10/11"}},
		{name: "deleted with a collection", before: configMap(metadataJSON(eleven)), want: "warned Deleted eleven 0",
			warnings: []string{"Deleted eleven will be at most 10/11"}},
		{name: "deleted in the mode deny", before: configMap(metadataJSON(eleven)),
			namespace: map[string]string{GuardLabel: "deny"}, want: "denied Deleted eleven forbidden 0"},
		{name: "deleted in the mode off", before: configMap(metadataJSON(eleven)),
			namespace: map[string]string{GuardLabel: "off"}, want: "passed Deleted eleven 0"},
		{name: "denied by default", before: configMap(metadataJSON(eleven)), fallback: GuardDeny,
			want: "denied Deleted eleven forbidden 0"},
		{name: "an invalid mode", before: configMap(metadataJSON(eleven)),
			namespace: map[string]string{GuardLabel: "denny"}, want: "warned Deleted eleven 0",
			warnings: []string{"Deleted 10/11", `InvalidGuardMode "denny" is none of [off warn deny]`}},
		{name: "changed", before: configMap(metadataJSON(eleven)),
			after: configMap(`,"labels":{"objectset.rio.cattle.io/hash":"x"}`), want: "warned Stripped eleven 0",
			warnings: []string{"Stripped changes label objectset.rio.cattle.io/hash"}},
		{name: "an ignored namespace", before: configMap(metadataJSON(eleven)),
			namespace: map[string]string{"fleetdoctor.io/ignore": "true"}, want: "passed Ignored eleven 0"},
		{name: "not owned", before: configMap(""), want: "passed NotOwned 0"},
		{name: "invalid JSON", before: []byte("invalid"), want: "passed Undecodable 0"},
		{name: "cluster-scoped", before: clusterRole(""), want: "warned Deleted eleven 0",
			warnings: []string{"Deleted clusterrole viewer"}},
		{name: "cluster-scoped, denied by its own label", before: clusterRole(`,"fleetdoctor.io/guard":"deny"`),
			want: "denied Deleted eleven forbidden 0"},
		{name: "cluster-scoped, denied by a label that the request removes",
			before: clusterRole(`,"fleetdoctor.io/guard":"deny"`),
			after:  []byte(`{"metadata":{"name":"viewer"}}`), want: "denied Stripped eleven forbidden 0"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := setUp(t)
			all := record.ConfigMaps("web", 10)
			viewer := all[0]
			viewer.APIVersion, viewer.Kind, viewer.Namespace, viewer.Name = "rbac.authorization.k8s.io/v1",
				"ClusterRole", "", "viewer"
			e, err := desired.ReadRevision(record.Record{Bundle: "eleven", Objects: append(all, viewer)}.Value())
			if err != nil {
				t.Fatal(err)
			}
			r := index.New()
			r.Set(e)
			b.Index = r
			for k, v := range tc.namespace {
				b.namespaces["web"][k] = v
			}
			if tc.fallback != "" {
				b.GuardDefault = tc.fallback
			}
			op := admissionv1.Delete
			if tc.after != nil {
				op = admissionv1.Update
			}
			req := request(op, tc.before, tc.after)
			if tc.name == "deleted with a collection" {
				req.Name = ""
			}
			if strings.Contains(string(tc.before), "ClusterRole") {
				req.Kind, req.Namespace, req.Name = metav1.GroupVersionKind{Group: "rbac.authorization.k8s.io",
					Version: "v1", Kind: "ClusterRole"}, "", "viewer"
			}
			got := Validating(b.Options).Handle(t.Context(), req)
			if diff := cmp.Diff(tc.want, summary(got)); diff != "" {
				t.Errorf("answer (-want +got):\n%s%v", diff, got.Result)
			}
			if !got.Allowed && (!strings.Contains(got.Result.Message, "eleven will be at most 10/11") ||
				!strings.Contains(got.Result.Message, "fleetdoctor.io/ignore=true first")) {
				t.Errorf("denied without a consequence or a remedy: %s", got.Result.Message)
			}
			checkWarnings(t, tc.warnings, got.Warnings)
		})
	}
}

// TestRateLimitOfHandler repeats an update of an object that lost its ownership metadata each time.
func TestRateLimitOfHandler(t *testing.T) {
	b := setUp(t)
	handler := Mutating(b.Options)
	update := request(admissionv1.Update, configMap(helmOnlyJSON()), configMap(helmOnlyJSON()))
	dry := update
	yes := true
	dry.DryRun = &yes
	for range 200 {
		if got := summary(handler.Handle(t.Context(), dry)); got != "stamped Adopted eleven 2" {
			t.Fatalf("a dry run: %s", got)
		}
	}
	for i := 1; i <= 100; i++ {
		got := handler.Handle(t.Context(), update)
		want := "stamped Adopted eleven 2"
		if i > 60 {
			want = "warned Braked eleven 0"
			checkWarnings(t, []string{"RateLimited 1h0m0s"}, got.Warnings)
		}
		if summary(got) != want {
			t.Fatalf("update %d: %s, want %s", i, summary(got), want)
		}
	}
	if got := summary(handler.Handle(t.Context(), dry)); got != "warned Braked eleven 0" {
		t.Errorf("a dry run for a paused object: %s", got)
	}
	if len(b.events) != 1 || !strings.HasPrefix(b.events[0], "ConfigMap web/object-0 u-0: ") {
		t.Errorf("events: %q", b.events)
	}
	// An operator writes without the labels, but the stored object always has them: these stamps do not count.
	for range 1000 {
		req := request(admissionv1.Update, configMap(metadataJSON(eleven)), configMap(""))
		if got := summary(handler.Handle(t.Context(), req)); got != "stamped Restored eleven 2" {
			t.Fatalf("the write of an operator: %s", got)
		}
	}
}

// TestNamespace sends a request about a Namespace. Such a request has the name of the object as its namespace too.
func TestNamespace(t *testing.T) {
	b := setUp(t)
	ref := record.ConfigMaps("", 1)[0]
	ref.Kind, ref.Name = "Namespace", "shop"
	e, err := desired.ReadRevision(record.Record{Bundle: "eleven",
		Objects: append(record.ConfigMaps("web", 10), ref)}.Value())
	if err != nil {
		t.Fatal(err)
	}
	r := index.New()
	r.Set(e)
	b.Index = r
	req := request(admissionv1.Create, nil, []byte(`{"metadata":{"name":"shop"`+helmOnlyJSON()+`}}`))
	req.Kind.Kind, req.Namespace, req.Name = "Namespace", "shop", "shop"
	if got := summary(Mutating(b.Options).Handle(t.Context(), req)); got != "stamped Adopted eleven 2" {
		t.Error(got)
	}
}

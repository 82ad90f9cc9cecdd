// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

// readManifests reads the objects as they would be read from a release record.
func (b *bundle) readManifests() error {
	res := b.result
	read := func(file, manifest string) ([]release.Object, error) {
		r := release.Record{Name: release.Name{Namespace: res.ReleaseNamespace, Name: res.ReleaseName, Revision: max(b.in.Revision, 1)}, Manifest: manifest}
		objs, err := r.Objects()
		if err != nil {
			return nil, b.in.fail(file, "an object has no plain text for its kind, its name or its namespace")
		}
		return objs, nil
	}
	var err error
	if res.Objects, err = read("", b.files.manifest); err != nil {
		return err
	}
	for _, hook := range b.files.hooks {
		objs, err := read("", hook)
		if err != nil {
			return err
		}
		res.Hooks = append(res.Hooks, objs...)
	}
	for _, crd := range b.files.crds {
		objs, err := read(crd.Filename, string(crd.File.Data))
		if err != nil {
			return err
		}
		res.CRDs = append(res.CRDs, objs...)
	}
	return nil
}

// scopes returns what is known of kinds: by the caller, by the CRDs among the objects, and by the table of built-in kinds.
func (p *postRenderer) scopes(objs []*unstructured.Unstructured) func(schema.GroupKind) (scoped, known bool) {
	own := map[schema.GroupKind]bool{}
	for _, o := range objs {
		if o.GetKind() != crdKind {
			continue
		}
		group, _, _ := unstructured.NestedString(o.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(o.Object, "spec", "names", "kind")
		scope, _, _ := unstructured.NestedString(o.Object, "spec", "scope")
		own[schema.GroupKind{Group: group, Kind: kind}] = scope == "Cluster"
	}
	return func(gk schema.GroupKind) (scoped, known bool) {
		if scoped, known := p.b.in.ClusterScoped[gk.String()]; known {
			return scoped, true
		}
		if scoped, known := own[gk]; known {
			return scoped, true
		}
		if object.ClusterScoped(gk) {
			return true, true
		}
		return false, len(scheme.Scheme.VersionsForGroupKind(gk)) > 0
	}
}

// compareRenderings finds what differs between two renderings of the same input.
func compareRenderings(first, second []release.Object) ([]Unstable, error) {
	rest := map[object.Ref][]release.Object{} // of the second, those with one name in their order
	for _, o := range second {
		rest[o.Ref] = append(rest[o.Ref], o)
	}
	var out []Unstable
	for _, a := range first {
		same := rest[a.Ref]
		if len(same) == 0 {
			out = append(out, Unstable{Object: a.Ref, Pointers: []string{""}})
			continue
		}
		rest[a.Ref] = same[1:]
		pointers, err := differing(a.Raw, same[0].Raw)
		if err != nil {
			return nil, err
		}
		if len(pointers) > 0 {
			if a.GroupVersionKind() == secretKind {
				pointers = folded(pointers)
			}
			out = append(out, Unstable{Object: a.Ref, Pointers: pointers})
		}
	}
	// What is only in the second would be there next time; it has to be named as well.
	for ref, objs := range rest {
		for range objs {
			out = append(out, Unstable{Object: ref, Pointers: []string{""}})
		}
	}
	slices.SortStableFunc(out, func(a, b Unstable) int { return cmp.Or(a.Object.Compare(b.Object), len(a.Pointers)-len(b.Pointers)) })
	return out, nil
}

var secretKind = corev1.SchemeGroupVersion.WithKind("Secret")

// folded points into the data of a Secret for what its stringData states: that is where the API server puts it, and where it is compared.
func folded(pointers []string) []string {
	for i, p := range pointers {
		if rest, ok := strings.CutPrefix(p, "/stringData"); ok && (rest == "" || rest[0] == '/') {
			pointers[i] = "/data" + rest
		}
	}
	slices.Sort(pointers)
	return slices.Compact(pointers)
}

func differing(a, b []byte) ([]string, error) {
	if string(a) == string(b) {
		return nil, nil
	}
	x, _, err := object.Decode(a)
	if err != nil {
		return nil, err
	}
	y, _, err := object.Decode(b)
	if err != nil {
		return nil, err
	}
	return pointers("", x, y, nil), nil
}

// pointers names the smallest parts that differ: a list as a whole where its length does.
func pointers(at string, a, b any, into []string) []string {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok {
			return append(into, at)
		}
		both := sortedKeys(x)
		for k := range y {
			if _, ok := x[k]; !ok {
				both = append(both, k)
			}
		}
		slices.Sort(both)
		for _, k := range both {
			path := at + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(k)
			l, inX := x[k]
			r, inY := y[k]
			if inX && inY {
				into = pointers(path, l, r, into)
			} else {
				into = append(into, path)
			}
		}
		return into
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return append(into, at)
		}
		for i := range x {
			into = pointers(at+"/"+strconv.Itoa(i), x[i], y[i], into)
		}
		return into
	}
	if !reflect.DeepEqual(a, b) {
		into = append(into, at)
	}
	return into
}

// String writes the object and the pointers for a message.
func (u Unstable) String() string {
	return fmt.Sprintf("%s: %s", u.Object.Key(), strings.Join(u.Pointers, ", "))
}

// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"cmp"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

// readManifests reads the objects in the same way as from a release record.
func (b *bundle) readManifests() error {
	res := b.result
	read := func(into *[]release.Object, file, manifest string) error {
		r := release.Record{Name: release.Name{Namespace: res.ReleaseNamespace, Name: res.ReleaseName,
			Revision: b.in.Revision}, Manifest: manifest}
		objs, err := r.Objects()
		if err != nil {
			return b.in.fail(file, "the kind, name or namespace of an object is not a string")
		}
		*into = append(*into, objs...)
		return nil
	}
	err := read(&res.Objects, "", b.manifest)
	for _, hook := range b.hooks {
		err = cmp.Or(err, read(&res.Hooks, "", hook.Manifest))
	}
	for _, crd := range b.chart.CRDObjects() {
		err = cmp.Or(err, read(&res.CRDs, crd.Filename, string(crd.File.Data)))
	}
	return err
}

// compareRenderings returns the differences between two renderings of the same input.
func compareRenderings(first, second []release.Object) ([]Unstable, error) {
	rest := map[object.Ref][]release.Object{} // objects of the second rendering with the same name, in their order
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
		differing, err := differences(a.Raw, same[0].Raw)
		if err != nil {
			return nil, err
		}
		if len(differing) > 0 {
			if a.GroupVersionKind() == secretKind {
				differing = inData(differing)
			}
			out = append(out, Unstable{Object: a.Ref, Pointers: differing})
		}
	}
	for ref, objs := range rest { // objects that only the second rendering has
		for range objs {
			out = append(out, Unstable{Object: ref, Pointers: []string{""}})
		}
	}
	slices.SortStableFunc(out, func(a, b Unstable) int {
		return cmp.Or(a.Object.Compare(b.Object), len(a.Pointers)-len(b.Pointers))
	})
	return out, nil
}

var secretKind = corev1.SchemeGroupVersion.WithKind("Secret")

// inData changes the pointers of a Secret into stringData to pointers into data: the API server moves the values there.
func inData(pointers []string) []string {
	for i, p := range pointers {
		if rest, ok := strings.CutPrefix(p, "/stringData"); ok && (rest == "" || rest[0] == '/') {
			pointers[i] = "/data" + rest
		}
	}
	slices.Sort(pointers)
	return slices.Compact(pointers)
}

// differences returns pointers to the fields that differ between two objects.
func differences(a, b []byte) ([]string, error) {
	if bytes.Equal(a, b) {
		return nil, nil
	}
	x, _, errX := object.Decode(a)
	y, _, errY := object.Decode(b)
	return pointers("", x, y), errors.Join(errX, errY)
}

// pointers returns pointers to the smallest parts of two values that differ. Lists of different lengths differ as a
// whole.
func pointers(at string, a, b any) (out []string) {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok {
			return []string{at}
		}
		both := maps.Clone(x)
		maps.Copy(both, y)
		for _, k := range slices.Sorted(maps.Keys(both)) {
			path := at + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(k)
			l, inX := x[k]
			if r, inY := y[k]; inX != inY {
				out = append(out, path)
			} else {
				out = append(out, pointers(path, l, r)...)
			}
		}
		return out
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return []string{at}
		}
		for i := range x {
			out = append(out, pointers(at+"/"+strconv.Itoa(i), x[i], y[i])...)
		}
		return out
	}
	if !reflect.DeepEqual(a, b) {
		out = append(out, at)
	}
	return out
}

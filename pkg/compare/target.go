// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"errors"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// Target is a desired object for a live object: where the two differ, it has the desired values only in the fields that
// are restored, and the live values in all others.
type Target struct {
	ref           object.Ref
	rules         []Rule
	desired, live object.Content
	restores      []string
	// Content is what to apply to the live object.
	Content object.Content
}

// NewTarget returns the Target for the paths of differences that Objects finds after the rules.
func NewTarget(rules []Rule, ref object.Ref, desired, live object.Content, restores []string) (*Target, error) {
	gvk := ref.GroupVersionKind()
	t := &Target{ref: ref, rules: rules, desired: desired, live: live, restores: restores}
	t.Content = runtime.DeepCopyJSON(normalised(gvk.GroupKind(), desired))
	delete(t.Content, "status")
	kept := Objects(desired, live, gvk)
	for _, d := range slices.Backward(kept) { // an element that is removed moves those behind it
		if slices.Contains(restores, d.Path.String()) {
			continue
		}
		if err := set(t.Content, d.Path, d.Live, d.LiveSet); err != nil {
			return nil, err
		}
		if !d.LiveSet {
			t.removeEmptied(d.Path)
		}
	}
	differ, err := t.differ(t.Content, live)
	if err != nil || !slices.Equal(differ, slices.Sorted(slices.Values(restores))) {
		return nil, ErrNotExact
	}
	return t, nil
}

// removeEmptied removes the maps that are empty now because a field was removed, and that the live object does not
// have.
func (t *Target) removeEmptied(path fieldpath.Path) {
	for n := len(path) - 1; n > 0; n-- {
		now, _ := reach(t.Content, path[:n])
		fields, isMap := now.(map[string]any)
		if _, isLive := reach(t.live, path[:n]); !isMap || len(fields) > 0 || isLive {
			return
		}
		if err := set(t.Content, path[:n], nil, false); err != nil {
			return
		}
	}
}

// differ returns the sorted paths in which two states of the object differ after the rules.
func (t *Target) differ(desired, live object.Content) ([]string, error) {
	var out []string
	found, err := t.differences(desired, live)
	for _, d := range found {
		out = append(out, d.Path.String())
	}
	slices.Sort(out)
	return out, err
}

func (t *Target) differences(desired, live object.Content) ([]Difference, error) {
	if Applies(t.rules, t.ref) {
		d, dErr := ApplyDesired(t.rules, t.ref, desired)
		l, lErr := Apply(t.rules, t.ref, live)
		if err := errors.Join(dErr, lErr); err != nil {
			return nil, err
		}
		desired, live = d, l
	}
	return Objects(desired, live, t.ref.GroupVersionKind()), nil
}

// Merged returns the live object after a merge of the Content, as Helm merges it when it does not apply server-side.
func (t *Target) Merged() (object.Content, error) {
	out, err := mergedInto(typeOf(t.ref.GroupVersionKind()), t.Content, t.live)
	if err != nil {
		return nil, err
	}
	return t.Finished(out)
}

// Finished returns a changed live object without the fields that the desired object does not state, and that count as
// differences. The error is ErrNotExact if another difference is left.
func (t *Target) Finished(changed object.Content) (object.Content, error) {
	left, err := t.left(changed)
	if err != nil || len(left) == 0 {
		return changed, err
	}
	out, err := mergedInto(typeOf(t.ref.GroupVersionKind()), t.Content, changed)
	if err != nil {
		return nil, err
	}
	if left, err = t.left(out); err != nil {
		return nil, err
	}
	for _, d := range slices.Backward(left) {
		if d.DesiredSet {
			continue
		}
		if err := set(out, d.Path, nil, false); err != nil {
			return nil, err
		}
	}
	if left, err = t.left(out); err == nil && len(left) > 0 {
		err = ErrNotExact
	}
	return out, err
}

// left returns the differences of a changed live object that are to be restored. Those that are new count too. A rule
// with an operation that fails for the desired object, or for the live one, may leave some that Content does not have.
func (t *Target) left(changed object.Content) ([]Difference, error) {
	out, err := t.differences(t.Content, changed)
	if err != nil || !Applies(t.rules, t.ref) {
		return out, err
	}
	still, err := t.differences(t.desired, changed)
	for _, d := range still {
		is := func(x Difference) bool { return x.Path.Equals(d.Path) }
		if slices.Contains(t.restores, d.Path.String()) && !slices.ContainsFunc(out, is) {
			out = append(out, d)
		}
	}
	return out, err
}

// Restored reports whether a changed live object has no difference in the restored fields any more.
func (t *Target) Restored(changed object.Content) bool {
	left, err := t.left(changed)
	return err == nil && len(left) == 0
}

// Beyond returns the paths, without the elements of lists, in which two states of the object differ and that are not
// restored.
func (t *Target) Beyond(from, to object.Content) []string {
	var out []string
	changedPaths("", Stored(from), Stored(to), func(path string) {
		if !slices.Contains(out, path) && !slices.ContainsFunc(t.restores, func(restored string) bool {
			return overlap(path, elements.ReplaceAllString(restored, ""))
		}) {
			out = append(out, path)
		}
	})
	return out
}

// elements are the selectors of elements of lists in a path.
var elements = regexp.MustCompile(`\[[^]]*\]`)

// overlap reports whether one path leads to the other, or into it.
func overlap(a, b string) bool { return within(a, []string{b}) || within(b, []string{a}) }

// changedPaths yields the paths in which two values differ.
func changedPaths(at string, a, b any, yield func(path string)) {
	if x, ok := a.(map[string]any); ok {
		if y, ok := b.(map[string]any); ok {
			for _, name := range sortedKeys(x) {
				changedPaths(at+"."+name, x[name], y[name], yield)
			}
			for _, name := range sortedKeys(y) {
				if _, both := x[name]; !both {
					yield(at + "." + name)
				}
			}
			return
		}
	}
	x, xOK := a.([]any)
	y, yOK := b.([]any)
	if xOK && yOK && len(x) == len(y) {
		for i := range x {
			changedPaths(at, x[i], y[i], yield)
		}
		return
	}
	if !reflect.DeepEqual(a, b) {
		yield(at)
	}
}

// Live returns the live values of the fields that are restored, by path; a field that is not set has none.
func (t *Target) Live() map[string]any {
	out := map[string]any{}
	differ, _ := t.differences(t.Content, t.live) // NewTarget found them
	for _, d := range differ {
		if d.LiveSet {
			out[d.Path.String()] = d.Live
		}
	}
	return out
}

// fixed are fields of a kind, with all that is in them, which an API server does not change in an object that exists.
type fixed struct {
	paths, except []string
	// once is true if a field that is not set can be set, and an empty value keeps the one that it has.
	once bool
	// in reports whether it does not change them in this live object; nil if it never does.
	in func(live map[string]any) bool
}

// fixedFields are the fixed fields of built-in kinds. A test compares them with a real API server.
var fixedFields = map[schema.GroupKind][]fixed{
	{Kind: "ConfigMap"}: {{paths: []string{".data", ".binaryData", ".immutable"}, in: immutable}},
	{Kind: "Secret"}:    {{paths: []string{".data", ".immutable"}, in: immutable}, {paths: []string{".type"}}},
	{Kind: "Service"}:   {{paths: []string{".spec.clusterIP", ".spec.clusterIPs"}, once: true}},
	{Kind: "PersistentVolumeClaim"}: {{paths: []string{".spec"}, once: true,
		except: []string{".spec.resources.requests", ".spec.volumeAttributesClassName"}}},
	{Group: "apps", Kind: "DaemonSet"}:  selectors,
	{Group: "apps", Kind: "Deployment"}: selectors,
	{Group: "apps", Kind: "ReplicaSet"}: selectors,
	{Group: "apps", Kind: "StatefulSet"}: {{paths: []string{".spec"},
		except: []string{".spec.replicas", ".spec.ordinals", ".spec.template", ".spec.updateStrategy",
			".spec.revisionHistoryLimit", ".spec.persistentVolumeClaimRetentionPolicy", ".spec.minReadySeconds"}}},
	{Group: "batch", Kind: "Job"}: {
		{paths: []string{".spec.selector", ".spec.completionMode", ".spec.podFailurePolicy",
			".spec.backoffLimitPerIndex"}},
		{paths: []string{".spec.template"}, in: func(live map[string]any) bool {
			return !isTrue(live, "spec", "suspend")
		}},
		{paths: []string{".spec.completions"}, in: func(live map[string]any) bool {
			return at(live, "spec", "completionMode") != "Indexed"
		}}},
	{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}:        roleRefs,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"}: roleRefs,
	{Group: "storage.k8s.io", Kind: "StorageClass"}: {{paths: []string{".provisioner", ".parameters", ".reclaimPolicy",
		".volumeBindingMode"}}},
	{Group: "scheduling.k8s.io", Kind: "PriorityClass"}: {{paths: []string{".value", ".preemptionPolicy"}}},
	{Group: "networking.k8s.io", Kind: "IngressClass"}:  {{paths: []string{".spec.controller"}}},
}

var (
	selectors = []fixed{{paths: []string{".spec.selector"}}}
	roleRefs  = []fixed{{paths: []string{".roleRef"}}}
)

// Fixed reports whether an API server refuses to change the field of a difference to the desired value, because the
// object exists. It is false for kinds and fields of which that is not known.
func Fixed(kind schema.GroupKind, d Difference, live map[string]any) bool {
	if !d.DesiredSet {
		return false
	}
	return slices.ContainsFunc(fixedFields[kind], func(f fixed) bool {
		switch {
		case f.once && (!d.LiveSet || d.Desired == ""), f.in != nil && !f.in(live):
			return false
		}
		path := d.Path.String()
		return within(path, f.paths) && !within(path, f.except)
	})
}

// within reports whether a path leads to one of the fields, or into it.
func within(path string, fields []string) bool {
	return slices.ContainsFunc(fields, func(field string) bool {
		rest, ok := strings.CutPrefix(path, field)
		return ok && (rest == "" || strings.ContainsAny(rest[:1], ".["))
	})
}

func immutable(live map[string]any) bool { return isTrue(live, "immutable") }

func isTrue(content map[string]any, path ...string) bool { return at(content, path...) == true }

// at returns the value of a field; nil if it is not set.
func at(content map[string]any, path ...string) any {
	var v any = content
	for _, name := range path {
		v = valueAt(v, name)
	}
	return v
}

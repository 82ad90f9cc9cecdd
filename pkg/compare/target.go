// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// ErrNotExact is returned if an object cannot be changed in exactly some fields.
var ErrNotExact = errors.New("its fields cannot be restored one by one: a rule of the bundle ignores a part of a list")

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
	}
	differ, err := t.differ(t.Content, live)
	if err != nil || !slices.Equal(differ, slices.Sorted(slices.Values(restores))) {
		return nil, ErrNotExact
	}
	return t, nil
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
	desired, dErr := json.Marshal(withoutNull(t.Content))
	live, lErr := json.Marshal(t.live)
	if err := errors.Join(dErr, lErr); err != nil {
		return nil, err
	}
	merged, err := merge(typeOf(t.ref.GroupVersionKind()), desired, live)
	if err != nil {
		return nil, err
	}
	out, _, err := object.Decode(merged)
	if err != nil {
		return nil, err
	}
	return t.Finished(out)
}

// merge merges the changes between two JSON objects into the second. typ is the type of a built-in kind, nil for any
// other kind.
func merge(typ reflect.Type, desired, live []byte) ([]byte, error) {
	if typ == nil {
		patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(desired, desired, live)
		if err != nil {
			return nil, err
		}
		return jsonpatch.MergePatch(live, patch)
	}
	like := reflect.New(typ).Interface()
	meta, err := strategicpatch.NewPatchMetaFromStruct(like)
	if err != nil {
		return nil, err
	}
	patch, err := strategicpatch.CreateThreeWayMergePatch(desired, desired, live, meta, true)
	if err != nil {
		return nil, err
	}
	return strategicpatch.StrategicMergePatch(live, patch, like)
}

// Finished returns a changed live object without the fields that the desired object does not state, and that count as
// differences. The error is ErrNotExact if another difference is left.
func (t *Target) Finished(changed object.Content) (object.Content, error) {
	left, err := t.left(changed)
	if err != nil || len(left) == 0 {
		return changed, err
	}
	out := runtime.DeepCopyJSON(changed)
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

// left returns the differences of a changed live object that are to be restored. Those that are new count too.
func (t *Target) left(changed object.Content) ([]Difference, error) {
	return t.differences(t.Content, changed)
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

// volatile are the fields of metadata that a server sets at each write.
var volatile = []string{"managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "selfLink"}

// MergePatch returns the JSON merge patch that changes one state of an object into another one. It ignores what a
// server sets, and the status.
func MergePatch(from, to object.Content) ([]byte, error) {
	a, aErr := json.Marshal(Stored(from))
	b, bErr := json.Marshal(Stored(to))
	if err := errors.Join(aErr, bErr); err != nil {
		return nil, err
	}
	return jsonpatch.CreateMergePatch(a, b)
}

// HasMerged reports whether a JSON merge patch changes nothing in an object.
func HasMerged(content object.Content, patch []byte) bool {
	before, err := json.Marshal(Stored(content))
	if err != nil {
		return false
	}
	after, err := jsonpatch.MergePatch(before, patch)
	return err == nil && jsonpatch.Equal(before, after)
}

// Stored returns an object without its status and what a server sets.
func Stored(content object.Content) object.Content {
	out := make(object.Content, len(content))
	for name, v := range content {
		if name != "status" {
			out[name] = v
		}
	}
	if m, ok := out["metadata"].(map[string]any); ok {
		kept := make(map[string]any, len(m))
		for name, v := range m {
			if !slices.Contains(volatile, name) {
				kept[name] = v
			}
		}
		out["metadata"] = kept
	}
	return out
}

// withoutNull returns a value without the fields that are null: in a merge they would remove what is there.
func withoutNull(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, member := range v {
			if member != nil {
				out[name] = withoutNull(member)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = withoutNull(v[i])
		}
		return out
	}
	return v
}

// set sets the value at a path, or removes it.
func set(content map[string]any, path fieldpath.Path, to any, is bool) error {
	_, err := changed(content, path, to, is)
	return err
}

// changed returns a value in which the value at a path is set or removed. Maps are changed in place.
func changed(v any, path fieldpath.Path, to any, is bool) (any, error) {
	if len(path) == 0 {
		return to, nil
	}
	if name := path[0].FieldName; name != nil {
		return changedField(v, *name, path[1:], to, is)
	}
	list, _ := v.([]any)
	i := indexOf(list, path[0])
	switch last := len(path) == 1; {
	case i < 0 && last && is:
		return append(list, to), nil
	case i < 0:
		return nil, fmt.Errorf("%w: %s", ErrNotExact, path)
	case last && !is:
		return slices.Delete(list, i, i+1), nil
	}
	member, err := changed(list[i], path[1:], to, is)
	if err == nil {
		list[i] = member
	}
	return list, err
}

func changedField(v any, name string, rest fieldpath.Path, to any, is bool) (any, error) {
	fields, ok := v.(map[string]any)
	if !ok {
		if v != nil || !is {
			return nil, ErrNotExact
		}
		fields = map[string]any{}
	}
	if len(rest) == 0 && !is {
		delete(fields, name)
		return fields, nil
	}
	member, err := changed(fields[name], rest, to, is)
	if err == nil {
		fields[name] = member
	}
	return fields, err
}

// indexOf returns the index of an element of a list; -1 if the list does not have it.
func indexOf(list []any, e fieldpath.PathElement) int {
	switch {
	case e.Index != nil:
		if *e.Index < len(list) {
			return *e.Index
		}
	case e.Value != nil:
		return slices.IndexFunc(list, func(v any) bool {
			return value.Equals(value.NewValueInterface(v), *e.Value)
		})
	case e.Key != nil:
		return slices.IndexFunc(list, func(v any) bool {
			fields, _ := v.(map[string]any)
			return !slices.ContainsFunc(*e.Key, func(k value.Field) bool {
				is, stated := fields[k.Name] // a key has the defaults of what is not stated
				return stated && !value.Equals(value.NewValueInterface(is), k.Value)
			})
		})
	}
	return -1
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

// Inverse returns the JSON merge patch that undoes another one on an object.
func Inverse(content object.Content, patch []byte) ([]byte, error) {
	before, err := json.Marshal(Stored(content))
	if err != nil {
		return nil, err
	}
	after, err := jsonpatch.MergePatch(before, patch)
	if err != nil {
		return nil, err
	}
	return jsonpatch.CreateMergePatch(after, before)
}

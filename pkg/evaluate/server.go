// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"maps"
	"reflect"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/health"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// Answer is the server's answer for one object: the object before and after a dry run that applies its manifest.
type Answer struct {
	Before, After object.Content
	// Refusal is a sentence that says why the server does not confirm the result; empty if it does.
	Refusal string
}

// Questions returns the objects for which the server makes a dry run: those that differ or, with all, every live object. An object that differs
// is not modified if applying its manifest changes nothing.
func Questions(deployments []*BundleDeployment, all bool) []*Object {
	var out []*Object
	for _, d := range deployments {
		for i := range d.Objects {
			o := &d.Objects[i]
			if o.State == Modified || all && (o.State == Ready || o.State == NotReady) {
				out = append(out, o)
			}
		}
	}
	return out
}

// answered sets the state of an object from the server's answer, with the rules of the bundle. scaledAway says that an autoscaler explains its
// number of replicas.
func (e *Evaluator) answered(o *Object, a Answer, scaledAway bool) {
	if a.Refusal != "" {
		o.note(a.Refusal)
		return
	}
	before, after := applied(e.rules[o.Deployment], o.Ref, a.Before, a.After)
	if o.State != Modified { // the server was asked about every object
		o.compareDryRun(before, after, scaledAway)
		return
	}
	paths := slices.DeleteFunc(changed(before, after), func(path string) bool { return path == replicasPath && scaledAway })
	if len(paths) > 0 {
		o.note("confirmed by the server: applying the manifest would change it")
		return
	}
	o.Differences = nil
	o.setReadiness(health.Evaluate(a.Before, ignored(o.Deployment), e.options.Now))
}

// compareDryRun finds drift in an object without differences. It compares the objects before and after the dry run with the usual rules, because
// applying a manifest also removes values that other managers may add.
func (o *Object) compareDryRun(before, after object.Content, scaledAway bool) {
	value := valuesOf(o.Ref, after, before)
	for _, d := range compare.Objects(after, before, o.GroupVersionKind()) {
		if d.Path.String() == replicasPath && scaledAway {
			continue
		}
		diff := difference(d, &compare.Managers{}, value)
		diff.Note = "applying the manifest would change it"
		o.Differences = append(o.Differences, diff)
	}
	if len(o.Differences) > 0 {
		o.State = Modified
	}
}

func (o *Object) note(text string) {
	if o.Message == "" || o.State == Modified {
		o.Message = text
	}
}

// bookkeeping are the metadata fields that every write changes.
var bookkeeping = []string{"managedFields", "resourceVersion", "generation"}

// changed returns the paths of the fields, to a depth of two, in which two states of an object differ.
func changed(before, after object.Content) []string {
	strip := func(c object.Content) object.Content {
		c = maps.Clone(c)
		meta, _ := c["metadata"].(map[string]any)
		meta = maps.Clone(meta)
		for _, name := range bookkeeping {
			delete(meta, name)
		}
		c["metadata"] = meta
		delete(c, "status")
		return c
	}
	before, after = strip(before), strip(after)
	var out []string
	for _, top := range keysOf(before, after) {
		b, bOK := before[top].(map[string]any)
		a, aOK := after[top].(map[string]any)
		if !bOK || !aOK {
			if !reflect.DeepEqual(before[top], after[top]) {
				out = append(out, "."+top)
			}
			continue
		}
		for _, name := range keysOf(b, a) {
			if !reflect.DeepEqual(b[name], a[name]) {
				out = append(out, "."+top+"."+name)
			}
		}
	}
	return out
}

// keysOf returns the sorted keys of two maps.
func keysOf(a, b map[string]any) []string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"maps"
	"reflect"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/health"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/resolve"
)

// Answer is the server's answer for one object: what applying its manifest would change, or why the server does not
// confirm that.
type Answer struct {
	refusal string
	// paths are the top-level fields that would change, differences those that a comparison finds in an object that
	// does not differ otherwise.
	paths       []string
	differences []Difference
	readiness   health.Readiness
}

// Refusal is the answer of a server that does not confirm, as a sentence.
func Refusal(text string) Answer { return Answer{refusal: text} }

// Answer compares the object before and after a dry run that applies its manifest. It keeps neither.
func (e *Evaluator) Answer(q Question, before, after object.Content) Answer {
	o, d := q.Object, q.Desired.Deployment
	out := Answer{readiness: health.Evaluate(before, ignored(d), e.options.Now)}
	before, after = applied(compare.Apply, e.rules[d.ID()], o.Ref, before, after)
	if o.State == Modified {
		out.paths = changed(before, after)
		return out
	}
	// Every live object is asked about. The usual rules decide, because applying a manifest also removes values that
	// other managers may add.
	value := valuesOf(o.Ref, after, before)
	for _, d := range compare.Objects(after, before, o.GroupVersionKind()) {
		diff := difference(d, &compare.Managers{}, value)
		diff.Note = "applying the manifest would change it"
		out.differences = append(out.differences, diff)
	}
	return out
}

// Question is an object for which the server makes a dry run.
type Question struct {
	*Object
	Desired *resolve.Object
}

// Questions returns the objects for which the server makes a dry run: those that differ or, with all, every live
// object. An object that differs is not modified if applying its manifest changes nothing.
func Questions(deployments []*BundleDeployment, all bool) []Question {
	var out []Question
	for _, d := range deployments {
		for i := range d.Objects {
			o := &d.Objects[i]
			unmodified := o.State == Ready || o.State == NotReady
			if o.State == Modified || all && unmodified {
				out = append(out, Question{o, d.Desired[o.index]})
			}
		}
	}
	return out
}

// answered updates the state of an object with the answer of the server. It ignores the changes that the bundle or an
// autoscaler explains. scaledAway says that an autoscaler explains its number of replicas.
func (o *Object) answered(a Answer, scaledAway bool) {
	matters := func(path string) bool { return path != replicasPath || !scaledAway }
	switch {
	case a.refusal != "":
		o.note(a.refusal)
	case o.State != Modified:
		for _, d := range a.differences {
			if matters(d.Path) {
				o.Differences = append(o.Differences, d)
			}
		}
		if len(o.Differences) > 0 {
			o.State = Modified
		}
	case slices.ContainsFunc(a.paths, matters):
		o.note("confirmed by the server: applying the manifest would change it")
	default:
		// Applying a manifest keeps what other managers added, for example an element of a list. Fleet compares the
		// values, and reports it.
		o.Differences = slices.DeleteFunc(slices.Clone(o.Differences), func(d Difference) bool {
			return !o.addedByOthers[d.Path]
		})
		if len(o.Differences) > 0 {
			o.note("applying the manifest would keep what another manager added")
			return
		}
		o.Differences = nil
		o.setReadiness(a.readiness)
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

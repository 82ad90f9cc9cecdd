// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/health"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
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
	// trial is about the next deploy; the other fields are then empty.
	trial Trial
}

// Refusal is the answer of a server that does not confirm, as a sentence.
func Refusal(text string) Answer { return Answer{refusal: text} }

// Answer compares the object before and after a dry run that applies its manifest. It keeps neither.
func (e *Evaluator) Answer(q Question, before, after object.Content) Answer {
	o, d := q.Object, e.cluster.Deployment(q.Desired.Deployment)
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
	Desired *desired.Object
	// deploys is the bundle deployment for a question about its next deploy; nil for one about a difference.
	deploys *BundleDeployment
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
				out = append(out, Question{Object: o, Desired: d.Desired[o.index]})
			}
		}
	}
	return out
}

// Trials returns the objects that the next deploy creates or changes. The server makes a dry run of each.
func Trials(deployments []*BundleDeployment) []Question {
	var out []Question
	for _, d := range deployments {
		for i := range d.Objects {
			o := &d.Objects[i]
			generated := strings.HasSuffix(o.Name, "-") // it has no name: every deploy fails before that
			desired := d.Desired[o.index]
			if !generated && desired.Raw != nil && d.writes(o, desired) {
				out = append(out, Question{Object: o, Desired: desired, deploys: d})
			}
		}
	}
	return out
}

// writes reports whether the next deploy writes an object. A field that its kind does not have is no difference, but
// the manifest is another one.
func (d *BundleDeployment) writes(o *Object, desired *desired.Object) bool {
	if o.State == Missing || o.State == Unowned || len(o.Differences) > 0 {
		return true
	}
	recorded, known := d.Recorded[o.Key()]
	return known && o.State != Unknown && !bytes.Equal(recorded, desired.Raw)
}

// Deploys reports whether the question is about the next deploy of the object.
func (q Question) Deploys() bool { return q.deploys != nil }

// Apply returns the options with which the agent's Helm writes the object. The patch of a Helm that does not apply
// server-side has only what differs; the manifest, merged into the live object, has the same result, except for what
// the bundle does not have any more.
func (q Question) Apply() source.Apply {
	out := source.Apply{Manager: fleet.AgentManager, As: q.deploys.Account.User()}
	switch {
	case q.deploys.ServerSide:
	case q.State == Missing:
		out.Method = source.Create
	case q.Custom():
		out.Method = source.Merge
	default:
		out.Method = source.StrategicMerge
	}
	return out
}

// Manifest returns the manifest that the agent's Helm applies, as JSON.
func (q Question) Manifest() ([]byte, error) {
	content, _, err := object.Decode(q.Desired.Raw)
	if err == nil {
		err = q.deploys.Ownership.Mark(content)
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(content)
}

// Tried is the answer that has a trial.
func Tried(t Trial) Answer { return Answer{trial: t} }

// answered updates the state of an object with the answer of the server. It ignores the changes that the bundle or an
// autoscaler explains. scaledAway says that an autoscaler explains its number of replicas.
func (o *Object) answered(a Answer, scaledAway bool) {
	matters := func(path string) bool { return path != replicasPath || !scaledAway }
	switch {
	case a.trial != Trial{}:
		o.Trial = a.trial
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

// changed returns the sorted paths of the fields, to a depth of two, in which two states of an object differ.
func changed(before, after object.Content) []string {
	b, a := fields(before), fields(after)
	for path, v := range b {
		if other, ok := a[path]; ok && reflect.DeepEqual(v, other) {
			delete(a, path)
		} else {
			a[path] = nil
		}
	}
	return slices.Sorted(maps.Keys(a))
}

// fields returns the fields of an object by their path, to a depth of two, without its status, bookkeeping and null.
func fields(c object.Content) map[string]any {
	out := map[string]any{}
	for top, v := range c {
		if top == "status" {
			continue
		}
		members, _ := v.(map[string]any)
		for name, v := range members {
			if top != "metadata" || !slices.Contains(bookkeeping, name) {
				out["."+top+"."+name] = v
			}
		}
		if len(members) == 0 {
			out["."+top] = v
		}
	}
	maps.DeleteFunc(out, func(_ string, v any) bool { return v == nil })
	return out
}

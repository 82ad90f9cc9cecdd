// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/view"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

const (
	// eventInterval is the least time between two Events of an object.
	eventInterval = time.Minute
	// maxEvents is the number of Events that wait to be written.
	maxEvents = 1000
	// maxBatch is the number of Events that are written in a second.
	maxBatch = 20
	// maxAttempts is how often an Event is tried.
	maxAttempts = 3
)

// message is what an Event tells about an object.
type message struct {
	regarding object.Ref
	// related is the bundle deployment of an object; zero if it is not on this cluster.
	related object.Ref
	// reason is a word: the state.
	reason  string
	warning bool
	note    string
	// of is the bundle deployment that the message is about, changed its objects that changed; nil for other messages.
	deployment *view.Deployment
	changed    []string
	// attempts is how often writing it failed.
	attempts int
}

// text is the note of the Event.
func (m *message) text() string {
	if m.deployment != nil {
		return note(ofDeployment(m.deployment, m.changed))
	}
	return note(m.note)
}

// told is what was told about an object last.
type told struct {
	when   time.Time
	reason string
}

// plan decides which Events are written, and when.
type plan struct {
	// waiting are the messages in the order in which they are written, at most one for each object. index has their
	// places.
	waiting []message
	index   map[object.Ref]int
	told    map[object.Ref]told
	// dropped is the number of messages that were not written, because too many waited.
	dropped int
}

// add adds the changes of a step.
func (p *plan) add(s *view.Step) {
	for i := range s.Uninstalled {
		u := &s.Uninstalled[i]
		p.put(message{regarding: about(u), reason: "Uninstalled", warning: true, note: ofUninstall(u)})
	}
	// Those of the bundle deployments come first: they still tell what happened if the others are dropped.
	for i := range s.Transitions {
		t := &s.Transitions[i]
		if d := t.Deployment; tells(t) && d.Exists {
			ref := t.Ref.Value()
			p.put(message{regarding: refOf(d), reason: string(d.State), warning: d.State != report.Ready, deployment: d,
				changed: []string{ref.Key().String() + " " + string(t.After.State)}})
		}
	}
	for i := range s.Transitions {
		if t := &s.Transitions[i]; tells(t) {
			p.put(message{regarding: t.Ref.Value(), related: refOf(t.Deployment), reason: string(t.After.State),
				warning: t.After.State != report.Ready, note: ofObject(t.Deployment, t.After)})
		}
	}
}

// tells reports whether a change of state is told. That an object could not be read is no change of the object,
// and that a Job expired is none that matters.
func tells(t *view.Transition) bool {
	if t.After.Expired() {
		return false
	}
	switch t.After.State {
	case "", report.Unknown:
		return false
	case report.Ready:
		return t.Known.State != "" && t.Known.State != report.Ready
	}
	return t.Known.State != t.After.State
}

// refOf is the reference of a BundleDeployment; zero if it is not on this cluster.
func refOf(d *view.Deployment) object.Ref {
	if !d.Exists {
		return object.Ref{}
	}
	return object.Ref{APIVersion: v1alpha1.GroupVersion.String(), Kind: state.BundleDeployment, Namespace: d.Namespace,
		Name: d.Name}
}

// about is the object that the Event of an uninstalled release is about: the nearest one that exists, or the Secret
// with the record that existed.
func about(u *view.Uninstalled) object.Ref {
	switch {
	case u.BundleDeployment == view.Present && u.Last.Exists:
		return refOf(u.Last)
	case u.Bundle == view.Present:
		namespace, name := view.Split(u.Last.Bundle)
		return object.Ref{APIVersion: v1alpha1.GroupVersion.String(), Kind: state.Bundle, Namespace: namespace,
			Name: name}
	}
	namespace, name := view.Split(u.Name)
	return object.Ref{APIVersion: "v1", Kind: "Secret", Namespace: namespace,
		Name: release.Name{Namespace: namespace, Name: name, Revision: u.Revision}.SecretName()}
}

// put adds a message. It replaces one about the same object.
func (p *plan) put(m message) {
	if i, waits := p.index[m.regarding]; waits {
		m.changed = append(p.waiting[i].changed, m.changed...)
		p.waiting[i] = m
		return
	}
	if len(p.waiting) >= maxEvents {
		p.dropped++
		return
	}
	p.index[m.regarding] = len(p.waiting)
	p.waiting = append(p.waiting, m)
}

// due removes and returns messages that may be written at a time, at most maxBatch. An object that has again the
// state that was told last is not told.
func (p *plan) due(now time.Time) []message {
	waiting := p.waiting
	p.waiting, p.index = nil, map[object.Ref]int{}
	var out []message
	for _, m := range waiting {
		last, known := p.told[m.regarding]
		same := known && m.deployment == nil && last.reason == m.reason
		switch {
		case known && now.Sub(last.when) < eventInterval, len(out) == maxBatch:
			p.put(m)
		case !same:
			out = append(out, m)
		}
	}
	for ref, x := range p.told {
		if _, waits := p.index[ref]; !waits && now.Sub(x.when) >= eventInterval {
			delete(p.told, ref)
		}
	}
	for _, m := range out {
		p.told[m.regarding] = told{now, m.reason}
	}
	return out
}

// failed adds a message that could not be written again.
func (p *plan) failed(m message) {
	if m.attempts++; m.attempts >= maxAttempts {
		p.dropped++
		return
	}
	delete(p.told, m.regarding)
	if _, newer := p.index[m.regarding]; !newer {
		p.put(m)
	}
}

// SPDX-License-Identifier: Apache-2.0

package admit

import (
	"fmt"
	"slices"
	"strings"

	jsonpatch "gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/brake"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/guard"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/stamp"
)

// stamper answers the requests of the mutating webhooks.
type stamper struct {
	Options
	exact bool
}

func (s stamper) answer(req admission.Request, again bool) answer {
	key := keyOf(&req)
	switch {
	case req.Operation != admissionv1.Create && req.Operation != admissionv1.Update || req.SubResource != "":
		return pass(unasked, desired.Release{})
	case key.Name == "" || len(s.Registry.Lookup(key)) == 0: // most are not: nothing of them is decoded
		return pass(string(stamp.NotWanted), desired.Release{})
	}
	before, after, err := objects(&req)
	if err != nil || after == nil || after.Metadata.Name != key.Name {
		return pass(undecodable, desired.Release{}) // a patch that does not apply would fail the request, whatever the failurePolicy
	}
	labels := s.Namespaces.Labels(key.Namespace)
	d := stamp.Decide(s.Registry, stamp.Request{Key: key, Manager: manager(&req), Old: before, New: after, Exact: s.exact,
		Ignored: labels[stamp.IgnoreLabel] == "true", Stale: !s.Live("")})
	a := pass(string(d.Reason), d.Release)
	if d.Warning != "" {
		a.Response, a.decision = a.WithWarnings(d.Warning), Warned
	}
	switch {
	case len(d.Set) == 0:
		return a
	case d.Over && !again: // whose marks they are may be known in a moment
		a.unsure = true
		return a
	}
	var told []string
	if d.Reason == stamp.Restored {
		// The guard would not see it: it is called when the marks are back.
		g := guardian{s.Options}.judge(&req, key, s.Registry.Lookup(key), labels, before, after)
		switch {
		case g.decision == Denied, g.unsure && !again:
			return g
		case g.reason == string(guard.Fleet) && d.Over: // Fleet gives it to another of its sets
			return pass(string(stamp.Foreign), d.Release)
		case g.decision == Warned:
			told = slices.Concat(g.Warnings, []string{"the marks of " + key.String() + " were put back"})
		}
	}
	if d.Lost {
		if message := s.hold(&req, key, before); message != "" {
			a.Response, a.decision, a.reason = a.WithWarnings(message), Warned, braked
			return a
		}
	}
	a.Response, a.decision = a.WithWarnings(told...), Stamped
	a.Patches = patch(after, d.Set)
	return a
}

// hold counts a stamp of an object that had lost its marks, except in a dry run. The message is not empty where it is one too many.
func (s stamper) hold(req *admission.Request, key object.Key, before *object.Meta) string {
	var held, first bool
	if dryRun(&req.AdmissionRequest) {
		held = s.Brake.Held(key)
	} else {
		held, first = s.Brake.Count(key)
	}
	if !held {
		return ""
	}
	message := fmt.Sprintf("%s loses its marks as often as they are put back: it is left alone for %s; who takes them away says `kubectl fleetdoctor owner`", key, brake.Hold)
	if first {
		s.Log.Info("an object is left alone: it loses its marks as often as they are put back", "object", key.String(), "for", brake.Hold.String())
		s.Events.Braked(reference(req, key, before), message)
	}
	return message
}

// patch writes the keys into an object, and nothing else. A map that is not there is made, as RFC 6902 has no way to add into nothing.
func patch(m *object.Meta, set ownership.Stamps) []jsonpatch.JsonPatchOperation {
	var out []jsonpatch.JsonPatchOperation
	for _, field := range []struct {
		label bool
		path  string
		have  map[string]string
	}{{true, "/metadata/labels", m.Metadata.Labels}, {false, "/metadata/annotations", m.Metadata.Annotations}} {
		values := map[string]string{}
		for _, k := range ownership.Keys() {
			v, ok := set[k.Name]
			if !ok || k.Label != field.label {
				continue
			}
			values[k.Name] = v
			if field.have != nil { // "add" replaces what is there
				out = append(out, jsonpatch.NewOperation("add", field.path+"/"+strings.ReplaceAll(k.Name, "/", "~1"), v))
			}
		}
		if field.have == nil && len(values) > 0 {
			out = append(out, jsonpatch.NewOperation("add", field.path, values))
		}
	}
	return out
}

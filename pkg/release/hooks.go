// SPDX-License-Identifier: Apache-2.0

package release

import (
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Hook is an object that Helm applies in addition to the manifest. It is never a desired object, but since Helm 4 it
// has Fleet's hash label.
type Hook struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Manifest is the hook as YAML. It is kept only for Secrets, because their values must be hidden.
	Manifest string `json:"manifest"`
	// Events are those on which Helm runs it. DeletePolicies decide when Helm deletes it.
	Events         HookEvents   `json:"events"`
	DeletePolicies HookDeletion `json:"delete_policies"`
}

// HookEvents are the events on which a hook runs.
type HookEvents struct {
	PreInstall, PostInstall, PreUpgrade, PostUpgrade, PreDelete, PostDelete bool
}

// During reports whether the hook runs while a revision has one of the states pending-install and pending-upgrade.
func (e HookEvents) During(status string) bool {
	switch status {
	case "pending-install":
		return e.PreInstall || e.PostInstall
	case "pending-upgrade":
		return e.PreUpgrade || e.PostUpgrade
	}
	return false
}

// events are the events by the names of Helm.
func (e *HookEvents) events() map[string]*bool {
	return map[string]*bool{"pre-install": &e.PreInstall, "post-install": &e.PostInstall, "pre-upgrade": &e.PreUpgrade,
		"post-upgrade": &e.PostUpgrade, "pre-delete": &e.PreDelete, "post-delete": &e.PostDelete}
}

// Names returns the names of the events, sorted.
func (e HookEvents) Names() []string {
	var out []string
	for name, on := range e.events() {
		if *on {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom. It ignores other events, because a record may have millions.
func (e *HookEvents) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*e = HookEvents{}
	return eachIn(d, words(d, e.events()))
}

// HookDeletion is when Helm deletes a hook. Without a policy, it deletes an old one before it creates the hook again.
type HookDeletion struct{ Succeeded, Failed bool }

// UnmarshalJSONFrom implements json.UnmarshalerFrom. It ignores other policies.
func (h *HookDeletion) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*h = HookDeletion{}
	return eachIn(d, words(d, map[string]*bool{"hook-succeeded": &h.Succeeded, "hook-failed": &h.Failed}))
}

// words returns a function that reads a value, and sets the boolean of that word.
func words(d *jsontext.Decoder, known map[string]*bool) func() error {
	return func() error {
		if d.PeekKind() != jsontext.KindString {
			return d.SkipValue()
		}
		word, err := d.ReadToken()
		if err != nil {
			return err
		}
		if found := known[word.String()]; found != nil {
			*found = true
		}
		return nil
	}
}

type hooks []renderedHook

// renderedHook is a hook and its template.
type renderedHook struct {
	Hook
	// Path is the path of the template. It begins with the name of the chart: "guestbook/templates/migrate.yaml".
	Path string `json:"path"`
}

// maxHooks limits the hooks of a record. A hook may have three bytes in the record and needs more memory.
const maxHooks = 20_000

var errManyHooks error = &BoundError{"it has more than 20,000 hooks"}

// UnmarshalJSONFrom implements json.UnmarshalerFrom. It returns an error for too many hooks.
func (h *hooks) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*h = (*h)[:0] // the last value of a duplicate key is used
	return eachIn(d, func() error {
		if len(*h) == maxHooks {
			return errManyHooks
		}
		var hook renderedHook
		if err := json.UnmarshalDecode(d, &hook); err != nil {
			return err
		}
		if len(hook.Kind) > maxField || len(hook.Name) > maxField {
			return errLongFields
		}
		if hook.Kind != secretKind {
			hook.Manifest = ""
		}
		*h = append(*h, hook)
		return nil
	})
}

const secretKind = "Secret"

// SPDX-License-Identifier: Apache-2.0

package release

import "github.com/go-json-experiment/json/jsontext"

// HookEvents are the events of a hook that an uninstall has.
type HookEvents struct{ PreDelete, PostDelete bool }

// UnmarshalJSONFrom implements json.UnmarshalerFrom. It ignores other events, because a record may have millions.
func (e *HookEvents) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*e = HookEvents{}
	return eachIn(d, words(d, map[string]*bool{"pre-delete": &e.PreDelete, "post-delete": &e.PostDelete}))
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

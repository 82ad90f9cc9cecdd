// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"regexp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// hidden replaces plain hashes in a text.
func (t *taking) hidden(text string) string {
	if t.options.Bundles {
		return text
	}
	return contentID.ReplaceAllStringFunc(text, func(id string) string {
		parts := contentID.FindStringSubmatch(id)
		out := "s-" + t.masker.Sum("content", parts[1])[:len(parts[1])]
		if parts[2] != "" {
			out += ":" + t.masker.Sum("options", parts[2])
		}
		return out
	})
}

// hiddenSum replaces the checksum of a Content, of which its name is made.
func (t *taking) hiddenSum(sum string) string {
	const inName = 61
	if t.options.Bundles || len(sum) < inName {
		return sum
	}
	return t.masker.Sum("content", sum[:inName])
}

// hiddenValues replaces the hash of the values in a Secret.
func (t *taking) hiddenValues(key state.ValuesKey, hash string) string {
	if hash == "" || t.options.Bundles {
		return hash
	}
	return t.masker.Sum("values "+source.ValuesName(key.Type, key.Namespace, key.Name), hash)
}

// hideIDs replaces plain hashes in JSON by keyed ones. Equal hashes stay equal, because objects refer to them.
func (t *taking) hideIDs(raw []byte) []byte {
	if t.options.Bundles { // who has the data needs no guess, and the names must be those of the data
		return raw
	}
	return contentID.ReplaceAllFunc(raw, func(id []byte) []byte { return []byte(t.hidden(string(id))) })
}

// contentID matches the name of a Content, and the hash of the options of a deployment after it. Both are plain hashes
// of data that may be secret: who guesses the data could check the guess.
var contentID = regexp.MustCompile(`\bs-([0-9a-f]{61})(:[0-9a-f]{64})?\b`)

func put[V any](into *map[string]V, key string, v V) {
	if *into == nil {
		*into = map[string]V{}
	}
	(*into)[key] = v
}

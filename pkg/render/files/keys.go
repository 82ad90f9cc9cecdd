// SPDX-License-Identifier: Apache-2.0

package files

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/agnivade/levenshtein"
	"go.yaml.in/yaml/v3"
)

// keys are the keys of a map that Fleet reads. A key with nil may have any value.
type keys map[string]keys

// knownKeys are the keys of a fleet.yaml. Each version of Fleet ignores the keys of other versions, as it ignores all
// unknown keys.
var knownKeys = sync.OnceValue(func() keys {
	known := keysOf(reflect.TypeFor[FleetYAML]())
	known["annotations"] = nil // read with name and labels as metadata
	return known
})

// keysOf returns the keys of a struct, of what a pointer points to, and of the entries of a list; nil for other types.
func keysOf(t reflect.Type) keys {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return nil
	}
	out := keys{}
	for _, field := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
			out[name] = keysOf(field.Type)
		}
	}
	return out
}

// unknownKeys returns a note for each key of a fleet.yaml that Fleet ignores, with the line.
func unknownKeys(file string, root *yaml.Node) []string {
	var out []string
	walk(root, "", knownKeys(), func(path string, n *yaml.Node, meant string) {
		note := fmt.Sprintf("%s, line %d: Fleet does not know the key %s and ignores it", file, n.Line, path)
		if meant != "" {
			note += ": it knows " + meant
		}
		out = append(out, note)
	})
	return out
}

// walk reports the unknown keys of a map, of the maps in it and of those in its lists. Fleet ignores the case of keys.
func walk(n *yaml.Node, path string, known keys, report func(path string, n *yaml.Node, meant string)) {
	if n.Kind == yaml.SequenceNode {
		for i, entry := range n.Content {
			walk(entry, fmt.Sprintf("%s[%d]", path, i), known, report)
		}
		return
	}
	for key, value := range pairs(n) {
		at := strings.TrimPrefix(path+"."+key.Value, ".")
		found := key.Tag == "!!merge"
		for name, below := range known {
			if strings.EqualFold(name, key.Value) {
				if found = true; below != nil {
					walk(value, at, below, report)
				}
			}
		}
		if !found {
			report(at, key, nearest(key.Value, known))
		}
	}
}

// mostEdits is the number of letters in which a key may differ from the one that was meant.
const mostEdits = 2

// nearest returns the known key that differs in a few letters from one that is not known; empty without one.
func nearest(word string, known keys) string {
	for _, name := range slices.Sorted(maps.Keys(known)) {
		edits := levenshtein.ComputeDistance(strings.ToLower(word), strings.ToLower(name))
		if edits <= mostEdits && edits < len(name) {
			return name
		}
	}
	return ""
}

// lineOfField returns the line of a field, given by its path in an error of encoding/json: "helm.chart". It returns 0
// if the field is not found.
func lineOfField(n *yaml.Node, path string) int {
	name, rest, _ := strings.Cut(path, ".")
	for key, value := range pairs(n) {
		if strings.EqualFold(key.Value, name) {
			return max(key.Line, lineOfField(value, rest))
		}
	}
	return 0
}

// pairs yields the keys and values of a map, and nothing for other nodes.
func pairs(n *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(key, value *yaml.Node) bool) {
		for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i], n.Content[i+1]) {
				return
			}
		}
	}
}

// linesOfList returns the lines of the entries of a list, given by its key; nil if it is not found.
func linesOfList(n *yaml.Node, name string) []int {
	for key, value := range pairs(n) {
		if strings.EqualFold(key.Value, name) {
			var out []int
			for _, entry := range value.Content {
				out = append(out, entry.Line)
			}
			return out
		}
	}
	return nil
}

// SPDX-License-Identifier: Apache-2.0

package files

import (
	_ "embed" // keys.yaml
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/agnivade/levenshtein"
	"go.yaml.in/yaml/v3"
)

// keys are the keys of a map that Fleet reads. A key with nil may have any value.
type keys map[string]keys

//go:embed keys.yaml
var keysFile []byte

// knownKeys has the keys of a fleet.yaml and those of its targets. A test proves that the file is valid.
var knownKeys = sync.OnceValue(func() (known struct{ Bundle, Target keys }) {
	_ = yaml.Unmarshal(keysFile, &known)
	return known
})

// unknownKeys returns a note for each key of a fleet.yaml that Fleet ignores, with the line.
func unknownKeys(file string, root *yaml.Node) []string {
	var out []string
	report := func(path string, n *yaml.Node, meant string) {
		note := fmt.Sprintf("%s, line %d: Fleet does not know the key %s and ignores it", file, n.Line, path)
		if meant != "" {
			note += ": it knows " + meant
		}
		out = append(out, note)
	}
	walk(root, "", knownKeys().Bundle, report)
	for key, value := range pairs(root) {
		if strings.EqualFold(key.Value, "targetCustomizations") || strings.EqualFold(key.Value, "targets") {
			for i, target := range value.Content {
				walk(target, fmt.Sprintf("%s[%d].", key.Value, i), knownKeys().Target, report)
			}
		}
	}
	return out
}

// walk reports the unknown keys of a map and of the maps in it. Fleet ignores the case of keys.
func walk(n *yaml.Node, path string, known keys, report func(path string, n *yaml.Node, meant string)) {
	for key, value := range pairs(n) {
		found := key.Tag == "!!merge"
		for name, below := range known {
			if strings.EqualFold(name, key.Value) {
				if found = true; below != nil {
					walk(value, path+key.Value+".", below, report)
				}
			}
		}
		if !found {
			report(path+key.Value, key, nearest(key.Value, known))
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

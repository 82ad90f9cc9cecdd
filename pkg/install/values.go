// SPDX-License-Identifier: Apache-2.0

package install

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Given reports whether the command line has a flag.
type Given func(flag string) bool

// Values returns the values of the next revision: the given ones of v, a pointer to a struct, and the others as the
// installed release has them. A value that is neither given nor installed is that of the chart. kept describes the
// installed ones that differ from those of the chart, by the flags of this program. Helm's own reuse of values would
// also merge a given map with the installed one, and keep values that the chart no longer has.
func (h *Helm) Values(v any, isGiven Given) (values map[string]any, kept []string, err error) {
	c, err := h.chart.load()
	if err != nil {
		return nil, nil, err
	}
	values, err = GivenValues(v, isGiven)
	if err != nil || !h.Installed() {
		return values, nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(h.Last.Config)) {
		value, flag := h.Last.Config[name], flagOf(name)
		standard, isKnown := c.Values[name]
		text := strings.Trim(fmt.Sprint(value), "[]")
		switch {
		case !isKnown:
			kept = append(kept, "--"+flag+" was removed (before: "+text+")")
		case !isGiven(flag):
			values[name] = value
			if text != strings.Trim(fmt.Sprint(standard), "[]") {
				kept = append(kept, "--"+flag+": kept "+text)
			}
		}
	}
	return values, kept, nil
}

// GivenValues returns the given values of v, a pointer to a struct. A zero value is not in it: it is that of the chart.
func GivenValues(v any, isGiven Given) (map[string]any, error) {
	values, err := encode(v)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(values, func(name string, _ any) bool { return !isGiven(flagOf(name)) })
	return values, nil
}

// capital matches the beginning of a further word in the name of a value.
var capital = regexp.MustCompile(`([a-z])([A-Z])`)

// flagOf returns the name of the flag of a value.
func flagOf(value string) string { return strings.ToLower(capital.ReplaceAllString(value, "$1-$2")) }

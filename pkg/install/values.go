// SPDX-License-Identifier: Apache-2.0

package install

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
)

// Given reports whether the command line has a flag.
type Given func(flag string) bool

// Values returns the values of the next revision: the given ones of v, a pointer to a struct, and the others as the
// installed release has them. A value that is neither given nor installed is that of the chart. Helm's own reuse of
// values would also merge a given map with the installed one, and keep values that the chart no longer has.
func (h *Helm) Values(v any, isGiven Given) (map[string]any, error) {
	c, err := h.chart.load()
	if err != nil {
		return nil, err
	}
	values, err := GivenValues(v, isGiven)
	if err != nil || !h.Installed() {
		return values, err
	}
	for name, value := range h.Last.Config {
		_, isKnown := c.Values[name]
		if isKnown && !isGiven(flagOf(name)) {
			values[name] = value
		}
	}
	return values, nil
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

// Changes describes the values of the next revision, by the flags of this program: those that differ from those of the
// last one, those that are kept although they are neither given nor those of the chart, and those that the chart no
// longer has.
func (h *Helm) Changes(values map[string]any, isGiven Given) ([]string, error) {
	if h.Last == nil {
		return nil, nil
	}
	c, err := h.chart.load()
	if err != nil {
		return nil, err
	}
	before, err := textsOf(h.Last.Chart, h.Last.Config)
	if err != nil {
		return nil, err
	}
	after, err := textsOf(c, values)
	if err != nil {
		return nil, err
	}
	defaults, err := textsOf(c, nil)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(after)) {
		flag, now := flagOf(name), shorten(after[name])
		switch {
		case before[name] != after[name]:
			out = append(out, fmt.Sprintf("--%s: now %s (before: %s)", flag, now, shorten(before[name])))
		case after[name] != defaults[name] && !isGiven(flag):
			out = append(out, fmt.Sprintf("--%s: kept %s", flag, now))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, known := after[name]; !known {
			out = append(out, fmt.Sprintf("--%s was removed (before: %s)", flagOf(name), shorten(before[name])))
		}
	}
	return out, nil
}

// capital matches the beginning of a further word in the name of a value.
var capital = regexp.MustCompile(`([a-z])([A-Z])`)

// flagOf returns the name of the flag of a value.
func flagOf(value string) string { return strings.ToLower(capital.ReplaceAllString(value, "$1-$2")) }

// textsOf returns all values of a release as text.
func textsOf(c *chart.Chart, set map[string]any) (map[string]string, error) {
	all, err := util.CoalesceValues(c, set)
	if err != nil {
		return nil, fmt.Errorf("reading the values of the release: %w", err)
	}
	out := map[string]string{}
	for name, value := range all {
		out[name] = valueText(name, value)
	}
	return out, nil
}

// valueText describes a value. An empty list is one without restriction.
func valueText(name string, value any) string {
	text := strings.Trim(fmt.Sprint(value), "[]")
	switch v := value.(type) {
	case []any:
		return cmp.Or(text, "all")
	case map[string]any:
		if len(v) == 0 {
			return "none"
		}
	}
	if name == "image" {
		return cmp.Or(text, "that of the chart")
	}
	return cmp.Or(text, "none")
}

// shorten shortens the description of a value, such as a list of rules.
func shorten(text string) string {
	const longest = 60
	if len(text) <= longest {
		return text
	}
	return text[:longest] + "…"
}

// SPDX-License-Identifier: Apache-2.0

// Package config reads the file with the user's defaults for flags. docs/config.md describes it.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// variable is the environment variable that names another file; empty means none.
const variable = "FLEETDOCTOR_CONFIG"

// Path returns the path of the user's file; "" for none. It is the same on every operating system. A file that the
// variable names must exist, the default need not.
func Path() string {
	if named, set := os.LookupEnv(variable); set {
		return named
	}
	dir := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) { // as its specification requires
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		dir = filepath.Join(home, ".config")
	}
	path := filepath.Join(dir, "fleetdoctor", "config.yaml")
	if _, err := os.Stat(path); err != nil { // also if the user has no home, or one of another user
		return ""
	}
	return path
}

// field is a field of the file, and the flag that it is the default of.
type field struct {
	name, flag string
	// builtIn is the default of the flag itself. A flag of the same name with another one has another meaning: -o of
	// snapshot names a file, --cluster of most verbs is kubectl's.
	builtIn string
	// allowed are the values; nil for any text.
	allowed []string
	// list is true for a list of values.
	list bool
	// file is true for the path of a file, named for NAME=KUBECONFIG.
	file, named bool
	// unless are flags that replace the default, beside the flag itself. ofTables are flags that only tables have: they
	// replace a default that is not one of tables.
	unless, ofTables []string
}

const group = "clusters"

var (
	boolean = []string{"true", "false"}
	tables  = []string{"table", "wide"}
	// selections are flags that select other clusters, or exclude reading them.
	selections = []string{"snapshot", "context", "kubeconfig", "cluster", "contexts", "cluster-snapshot", "via-rancher",
		"via-kubeconfig-secrets", "status-only", "filename"}
)

var fields = []field{
	{name: "output", flag: "output", builtIn: "table", allowed: []string{"table", "wide", "json", "yaml", "name"},
		unless: []string{"template"}, ofTables: []string{"by", "summary", "watch"}},
	{name: "color", flag: "color", builtIn: "auto", allowed: []string{"auto", "always", "never"}},
	{name: "noPager", flag: "no-pager", builtIn: "false", allowed: boolean},
	{name: "ignoreFile", flag: "ignore-file", builtIn: ".fleetdoctor.yaml", file: true},
	{name: group + ".cluster", flag: "cluster", builtIn: "[]", list: true, named: true, unless: selections},
	{name: group + ".contexts", flag: "contexts", builtIn: "[]", list: true, unless: selections},
	{name: group + ".viaRancher", flag: "via-rancher", builtIn: "false", allowed: boolean, unless: selections},
	{name: group + ".viaKubeconfigSecrets", flag: "via-kubeconfig-secrets", builtIn: "false", allowed: boolean,
		unless: selections},
}

// names are the fields at the top or in the group.
func names(prefix string) []string {
	var out []string
	for _, f := range fields {
		if name, in := strings.CutPrefix(f.name, prefix); in {
			name, _, _ = strings.Cut(name, ".")
			out = append(out, name)
		}
	}
	return slices.Compact(out)
}

// setting is a field with its values.
type setting struct {
	field
	values []string
}

// parse reads the fields of a file. The error names the line.
func parse(path string, content io.Reader) ([]setting, error) {
	var root yaml.Node
	decoder := yaml.NewDecoder(content)
	switch err := decoder.Decode(&root); {
	case errors.Is(err, io.EOF): // empty, or only comments
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%s: %s", path, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if decoder.Decode(&yaml.Node{}) == nil {
		return nil, fmt.Errorf("%s: it has several YAML documents: join them", path)
	}
	p := parser{path: path, seen: map[string]bool{}}
	err := p.fields("", root.Content[0])
	return p.out, err
}

type parser struct {
	path string
	out  []setting
	seen map[string]bool
}

func (p *parser) fail(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("%s:%d: "+format, slices.Concat([]any{p.path, n.Line}, args)...)
}

// fields reads the fields of a map. prefix is that of their names.
func (p *parser) fields(prefix string, n *yaml.Node) error {
	allowed := strings.Join(names(prefix), ", ")
	if n.Kind != yaml.MappingNode {
		return p.fail(n, "%s: expected a map with the fields %s", cmp.Or(strings.TrimSuffix(prefix, "."), "the file"),
			allowed)
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		name := prefix + key.Value
		if p.seen[name] {
			return p.fail(key, "the field %s is stated twice", name)
		}
		p.seen[name] = true
		if name == group {
			if err := p.fields(group+".", value); err != nil {
				return err
			}
			continue
		}
		at := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
		if at < 0 {
			return p.fail(key, "unknown field %q: must be one of %s", name, allowed)
		}
		if err := p.setting(fields[at], value); err != nil {
			return err
		}
	}
	return nil
}

// setting reads the values of a field.
func (p *parser) setting(f field, n *yaml.Node) error {
	list := []*yaml.Node{n}
	if f.list {
		if n.Kind != yaml.SequenceNode {
			return p.fail(n, "%s: expected a list", f.name)
		}
		list = n.Content
	}
	s := setting{field: f}
	for _, item := range list {
		value, err := p.value(f, item)
		if err != nil {
			return err
		}
		s.values = append(s.values, value)
	}
	p.out = append(p.out, s)
	return nil
}

// value reads one value.
func (p *parser) value(f field, n *yaml.Node) (string, error) {
	wanted, text := "a text", n.Kind == yaml.ScalarNode && n.Tag != "!!null"
	if f.allowed != nil {
		wanted, text = "one of "+strings.Join(f.allowed, ", "), slices.Contains(f.allowed, n.Value)
	}
	name, path, cut := strings.Cut(n.Value, "=")
	switch {
	case !text:
		return "", p.fail(n, "%s: invalid value %q: must be %s", f.name, n.Value, wanted)
	case f.file:
		return p.absolute(n.Value)
	case f.named && !cut: // kubectl's meaning of the flag
		return "", p.fail(n, "%s: invalid value %q: must be NAME=KUBECONFIG[#CONTEXT]", f.name, n.Value)
	case f.named:
		path, err := p.absolute(path)
		return name + "=" + path, err
	}
	return n.Value, nil
}

// absolute returns the path of a file: a relative one begins at the directory of the configuration file, and ~ is the
// home of the user.
func (p *parser) absolute(path string) (string, error) {
	if rest, in := strings.CutPrefix(path, "~/"); in {
		home, err := os.UserHomeDir()
		return filepath.Join(home, rest), err
	}
	if path == "" || filepath.IsAbs(path) {
		return path, nil
	}
	return filepath.Join(filepath.Dir(p.path), path), nil
}

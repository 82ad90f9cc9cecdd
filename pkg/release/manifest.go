// SPDX-License-Identifier: Apache-2.0

package release

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// Object is an object of a manifest: its identity, and its JSON.
type Object struct {
	object.Ref
	Raw []byte
	// Document is the number of separator lines in the manifest up to the object. Alone is true if the document has no
	// other object.
	Document int
	Alone    bool
}

// separator begins each document except the first. The rest of its line is part of the document.
const separator = "\n---"

// documents splits a manifest at the same positions as Helm. A document keeps its last line feed, which is part of the
// object if the document ends with a block scalar.
func documents(manifest string) iter.Seq[string] {
	return func(yield func(string) bool) {
		rest, separated := strings.CutPrefix(manifest, separator[1:])
		for {
			if separated {
				rest = strings.TrimLeft(rest, " \t") // YAML does not allow a tab there
			}
			i := strings.Index(rest, separator)
			if i < 0 {
				yield(rest)
				return
			}
			if !yield(rest[:i+1]) {
				return
			}
			rest, separated = rest[i+len(separator):], true
		}
	}
}

// Objects reads the objects of the manifest in their order. It flattens Lists and, as Fleet does, ignores documents
// without apiVersion or kind. An object without a name has its generateName as name. Namespaces are those in the
// manifest. Errors contain the number of the document, from 1, and never quote it. They wrap a *BoundError for a
// manifest that exceeds a limit, and ErrNoManifest for a record that lost its manifest.
func (r *Record) Objects() (out []Object, err error) {
	if err = ErrNoManifest; !r.ManifestLost {
		out, err = r.read(objectLimits)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the manifest of release %s: %w", r.Name, err)
	}
	return out, nil
}

// ObjectMetadata is Objects for callers that need only the metadata. Raw of an object in the usual form has only
// apiVersion, kind and metadata. A record without a manifest has no objects. Errors contain neither the name of the
// release nor its contents.
func (r *Record) ObjectMetadata() ([]Object, error) {
	out, err := r.read(metadataLimits)
	if err != nil {
		return nil, fmt.Errorf("reading the manifest: %w", err)
	}
	return out, nil
}

// read reads the objects of the manifest.
func (r *Record) read(within limits) ([]Object, error) {
	var out []Object
	d := reader{limits: within}
	i, separators := 0, -1
	if strings.HasPrefix(r.Manifest, separator[1:]) {
		separators = 0
	}
	for doc := range documents(r.Manifest) {
		separators++
		if strings.TrimSpace(doc) == "" {
			continue
		}
		if i++; i > maxDocuments {
			return nil, errManyDocuments
		}
		raw, err := d.json(doc)
		if err != nil && BoundOf(err) == "" {
			err = errors.New("it is not valid YAML") // the error of the library may quote the document
		}
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", i, err)
		}
		first := len(out)
		if out, err = appendObjects(out, raw, 0); err != nil {
			return nil, fmt.Errorf("document %d: %w", i, err)
		}
		for n := first; n < len(out); n++ {
			out[n].Document, out[n].Alone = separators, len(out) == first+1
		}
		if len(out) > maxObjects {
			return nil, errManyObjects
		}
	}
	return out, nil
}

// maxListDepth limits Lists in Lists.
const maxListDepth = 8

// appendObjects appends the objects of a document, given as JSON. depth is the number of Lists around it.
func appendObjects(out []Object, raw []byte, depth int) ([]Object, error) {
	if string(raw) == "null" {
		return out, nil // comments only
	}
	o, err := object.ReadHead(raw)
	if err != nil {
		return nil, errors.New("it is not a Kubernetes object")
	}
	if o.APIVersion == "" || o.Kind == "" {
		return out, nil
	}
	if strings.HasSuffix(o.Kind, "List") && o.Items != nil && depth < maxListDepth {
		for _, item := range o.Items {
			if out, err = appendObjects(out, item, depth+1); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	name := cmp.Or(o.Metadata.Name, o.Metadata.GenerateName)
	ref := object.Ref{APIVersion: o.APIVersion, Kind: o.Kind, Namespace: o.Metadata.Namespace, Name: name}
	return append(out, Object{Ref: ref, Raw: raw}), nil
}

// maxSecret limits the size, in bytes, of a document that Secrets reads. A Secret has at most 1 MiB, and base64 adds a
// third.
const maxSecret = 3 << 19

// Secrets reads the Secrets among the hooks of the record and, if all is set, in its manifest. Their values must not be
// shown, even if the objects of the revision are not needed or could not be read. It ignores documents that cannot be
// read or exceed the limits of Objects.
func (r *Record) Secrets(all bool) []Object {
	var out []Object
	d := reader{limits: objectLimits}
	read := func(manifest string) {
		for doc := range documents(manifest) {
			if !strings.Contains(doc, secretKind) || len(doc) > maxSecret {
				continue
			}
			raw, err := d.json(doc)
			if err != nil {
				continue
			}
			if found, err := appendObjects(nil, raw, 0); err == nil {
				out = append(out, found...)
			}
		}
	}
	for _, h := range r.Hooks {
		read(h.Manifest)
	}
	if all {
		read(r.Manifest)
	}
	return slices.DeleteFunc(out, func(o Object) bool {
		return o.Kind != secretKind || object.Group(o.APIVersion) != ""
	})
}

// Part is how much of the manifest of a record is read.
type Part int

// The parts.
const (
	// Nothing is none of the manifest and of the hooks.
	Nothing Part = iota
	// MetadataOnly is the metadata of all objects of the manifest; see Record.ObjectMetadata.
	MetadataOnly
	// Whole are all objects of the manifest, and the Secrets of the hooks.
	Whole
)

// Contents is a release record without the text of its manifest and hooks, and the objects that were read from them.
type Contents struct {
	Record
	Part Part
	// Objects are those of the manifest; nil if Part does not have them or if they could not be read.
	Objects []Object
	// Secrets are the Secrets of the hooks, and those of the manifest if they are not among Objects.
	Secrets []Object
	// Problem is the reason why the manifest could not be read. It wraps a *BoundError if a limit is exceeded.
	Problem error
}

// Read reads the release record in the value of a Secret, if it decompresses to at most `size` bytes. part decides, by
// the decoded record, how much of its manifest is read. Errors are those of DecodeSized.
func Read(value []byte, size int, part func(*Record) Part) (*Contents, error) {
	r, err := DecodeSized(value, size)
	if err != nil {
		return nil, err
	}
	out := &Contents{Record: *r, Part: part(r)}
	switch out.Part {
	case MetadataOnly:
		out.Objects, out.Problem = r.ObjectMetadata()
	case Whole:
		out.Objects, out.Problem = r.Objects()
		out.Secrets = r.Secrets(out.Objects == nil)
	}
	out.Manifest = ""
	for i := range out.Hooks {
		out.Hooks[i].Manifest = ""
	}
	return out, nil
}

// json converts a document to JSON. Errors are of type *BoundError, or errors of the library, which may quote the
// document.
func (r *reader) json(doc string) ([]byte, error) {
	bytes, nodes := r.bytes, r.nodes
	raw, err := r.usual(doc)
	if !errors.Is(err, errUnusual) {
		return raw, err
	}
	weight, aliased := mostNodes(doc), strings.Contains(doc, "&") && strings.Contains(doc, "*")
	if aliased {
		weight *= nestedNode // the document is parsed a second time, to measure it
	}
	r.bytes, r.nodes = bytes+len(doc), nodes+weight
	switch {
	case r.bytes > maxParsed:
		return nil, errLargeManifest
	case len(doc) > maxDocument:
		return nil, errLargeDocument
	case r.nodes > r.maxNodes:
		return nil, r.tooMany
	}
	if aliased {
		if err := expansion(doc); err != nil {
			return nil, err
		}
	}
	return sigsyaml.YAMLToJSON([]byte(doc))
}

// nestedNode is the number of nodes of a bracket or of the dash of a sequence. The library needs several times as
// long for deeply nested nodes.
const nestedNode = 4

// mostNodes returns an upper bound of the nodes in a document: one of these characters begins, ends or separates each
// node.
func mostNodes(doc string) int {
	n := 2
	for i := range len(doc) {
		switch doc[i] {
		case '\n', '\r', ',', ':':
			n++
		case '[', '{':
			n += nestedNode
		case '-', '?':
			if i+1 == len(doc) || strings.IndexByte(" \t\r\n", doc[i+1]) >= 0 {
				n += nestedNode
			}
		}
	}
	return n
}

// expansion returns an error for a document with aliases that expand to more than the limits of a manifest. The library
// limits how often it follows an alias, but not the length of the repeated text.
func expansion(doc string) error {
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(doc), &root); err != nil {
		return err
	}
	if size := (expander{}).size(&root); size.bytes > maxParsed || size.nodes > maxNodes {
		return errExpands
	}
	return nil
}

// expander has the sizes of nodes with expanded aliases, so that each node is measured once.
type expander map[*yaml.Node]size

type size struct{ bytes, nodes int }

func (x expander) size(n *yaml.Node) size {
	if known, ok := x[n]; ok {
		return known
	}
	x[n] = size{bytes: maxParsed + 1} // until it is measured, because an anchor may contain itself
	total := size{bytes: len(n.Value) + 1, nodes: 1}
	if n.Kind == yaml.AliasNode {
		total = x.size(n.Alias)
	}
	for _, each := range n.Content {
		part := x.size(each)
		total.bytes = min(total.bytes+part.bytes, maxParsed+1) // so that no sum overflows
		total.nodes = min(total.nodes+part.nodes, maxNodes+1)
	}
	x[n] = total
	return total
}

// SPDX-License-Identifier: Apache-2.0

package release

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"strings"

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

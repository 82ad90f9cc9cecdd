// SPDX-License-Identifier: Apache-2.0

package release

import (
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// Object is one object of a manifest: who it is, and its JSON.
type Object struct {
	object.Ref
	Raw []byte
}

// separator begins each document but the first, and what stands behind it in its line is of that document.
const separator = "\n---"

// documents parts a manifest where Helm does. It leaves a document its last newline, which a block scalar at its end keeps in the API too.
func documents(manifest string) iter.Seq[string] {
	return func(yield func(string) bool) {
		rest, ruled := strings.CutPrefix(manifest, separator[1:])
		for {
			if ruled {
				rest = strings.TrimLeft(rest, " \t") // a tab would be no YAML
			}
			i := strings.Index(rest, separator)
			if i < 0 {
				yield(rest)
				return
			}
			if !yield(rest[:i+1]) {
				return
			}
			rest, ruled = rest[i+len(separator):], true
		}
	}
}

// Objects reads the manifest's objects in their order. Lists are flattened; documents without apiVersion or kind are passed over, as
// Fleet does; an object of only a generateName is named by that. Namespaces stay as stated. Errors name the document by its number,
// beginning with 1, and never quote it; of a manifest beyond a bound they wrap a *BoundError, of one that is not in the record ErrNoManifest.
func (r *Record) Objects() ([]Object, error) {
	if r.ManifestLost {
		return nil, fmt.Errorf("reading the manifest of release %s: %w", r.Name, ErrNoManifest)
	}
	out, err := r.read(objectLimits)
	if err != nil {
		return nil, fmt.Errorf("reading the manifest of release %s: %w", r.Name, err)
	}
	return out, nil
}

// Heads is Objects without the parts of an object that are not its identity or metadata, which costs less memory: of an object as Fleet's
// agent writes it, Raw has only apiVersion, kind and metadata. Of a record without manifest it returns no objects. Errors name neither the
// release nor its content.
func (r *Record) Heads() ([]Object, error) {
	out, err := r.read(metadataLimits)
	if err != nil {
		return nil, fmt.Errorf("reading the manifest: %w", err)
	}
	return out, nil
}

// read reads the objects of the manifest within limits.
func (r *Record) read(within limits) ([]Object, error) {
	var out []Object
	d := reader{limits: within}
	i := 0
	for doc := range documents(r.Manifest) {
		if strings.TrimSpace(doc) == "" {
			continue
		}
		if i++; i > maxDocuments {
			return nil, errManyDocuments
		}
		raw, err := d.json(doc)
		var bound *BoundError
		switch {
		case errors.As(err, &bound):
			return nil, fmt.Errorf("document %d: %w", i, err)
		case err != nil:
			return nil, fmt.Errorf("document %d is no YAML", i)
		}
		if out, err = appendObjects(out, raw, 0); err != nil {
			return nil, fmt.Errorf("document %d: %w", i, err)
		}
		if len(out) > maxObjects {
			return nil, errManyObjects
		}
	}
	return out, nil
}

// maxListDepth bounds Lists within Lists.
const maxListDepth = 8

func appendObjects(out []Object, raw []byte, depth int) ([]Object, error) {
	if string(raw) == "null" {
		return out, nil // comments only
	}
	var head struct {
		APIVersion string           `json:"apiVersion"`
		Kind       string           `json:"kind"`
		Items      []jsontext.Value `json:"items"`
		Metadata   struct {
			Name         string `json:"name"`
			GenerateName string `json:"generateName"`
			Namespace    string `json:"namespace"`
		} `json:"metadata"`
	}
	if err := object.Into(raw, &head); err != nil {
		return nil, fmt.Errorf("it is no Kubernetes object")
	}
	if head.APIVersion == "" || head.Kind == "" {
		return out, nil
	}
	if strings.HasSuffix(head.Kind, "List") && head.Items != nil && depth < maxListDepth {
		for _, item := range head.Items {
			var err error
			if out, err = appendObjects(out, item, depth+1); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	name := head.Metadata.Name
	if name == "" {
		name = head.Metadata.GenerateName
	}
	ref := object.Ref{APIVersion: head.APIVersion, Kind: head.Kind, Namespace: head.Metadata.Namespace, Name: name}
	return append(out, Object{Ref: ref, Raw: raw}), nil
}

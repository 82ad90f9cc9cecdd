// SPDX-License-Identifier: Apache-2.0

package release

import (
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// rawDir is the directory of a chart for manifests that are not templates. Fleet's agent creates it.
const rawDir = "raw-yaml/"

// templateNames are the templates of a chart that may render to an object.
type templateNames []string

// manifestFiles are the files of a chart that are manifests and not templates.
type manifestFiles struct {
	raw  []string
	crds int // the files with CustomResourceDefinitions, at most maxTemplates
}

// crdsDir is the directory of a chart for the definitions that Helm creates once and never deletes.
const crdsDir = "crds/"

// maxTemplates limits the names of templates and files that are kept.
const maxTemplates = 1000

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (t *templateNames) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	return fileNames(d, (*[]string)(t), func(name string) bool {
		base := path.Base(name)
		return !strings.HasPrefix(base, "_") && base != "NOTES.txt"
	})
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (m *manifestFiles) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	m.crds = 0
	return fileNames(d, &m.raw, func(name string) bool {
		if isCRDs(name) {
			m.crds = min(m.crds+1, maxTemplates)
		}
		return strings.HasPrefix(name, rawDir)
	})
}

// isCRDs reports whether Helm reads CustomResourceDefinitions from a file.
func isCRDs(name string) bool {
	return strings.HasPrefix(name, crdsDir) && slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name))
}

// fileNames reads the names of the files in a list for which counts returns true, without their contents.
func fileNames(d *jsontext.Decoder, into *[]string, counts func(name string) bool) error {
	*into = nil
	return eachIn(d, func() error {
		var file struct {
			Name string `json:"name"`
		}
		if err := json.UnmarshalDecode(d, &file); err != nil {
			return err
		}
		if counts(file.Name) && len(*into) <= maxTemplates {
			*into = append(*into, file.Name[:min(len(file.Name), maxField)])
		}
		return nil
	})
}

// eachIn reads a list, or null for an empty list. each reads one element.
func eachIn(d *jsontext.Decoder, each func() error) error {
	switch d.PeekKind() {
	case jsontext.KindNull:
		return d.SkipValue()
	case jsontext.KindBeginArray:
		return object.Elements(d, each)
	}
	return errors.New("it is not a list")
}

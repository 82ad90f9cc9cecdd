// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	sigsyaml "sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render"
)

// caseContents are the files of a bundle as the management cluster stores them (docs/fleet-behavior.md, 2.1 to
// 2.3): in a Content that is named after them. The deploymentID of a BundleDeployment contains that name.
type caseContents struct {
	Kind string `json:"kind"`
	// Of is the "namespace/name" of the BundleDeployment; Applied states that its agent has applied these files.
	Of      string `json:"of"`
	Applied bool   `json:"applied"`
	// Files has the content of each file by its path in the bundle.
	Files map[string]string `json:"files"`
	// Encoding of the files: empty, or base64+gz.
	Encoding string `json:"encoding"`
	// Stored is content (the default), or damaged: cut, sum (a wrong sha256sum), other (not a manifest document), or
	// missing.
	Stored string `json:"stored"`
	// Bundle, if not empty, is the "namespace/name" of a Bundle with the same files in its spec.
	Bundle string `json:"bundle"`
}

// caseValues are the values of a BundleDeployment in the Secret in which newer versions of Fleet store them
// (docs/fleet-behavior.md, 6.2).
type caseValues struct {
	Kind   string         `json:"kind"`
	Of     string         `json:"of"`
	Values map[string]any `json:"values"`
	// Stored is secret (the default), other (values that do not match the valuesHash), or missing.
	Stored string `json:"stored"`
}

// later is a document that changes another document anywhere in the file.
type later func(*Capture) error

func (c *caseContents) write(capture *Capture) error {
	var resources []v1alpha1.BundleResource
	for _, name := range slices.Sorted(maps.Keys(c.Files)) {
		r := v1alpha1.BundleResource{Name: name, Content: c.Files[name], Encoding: c.Encoding}
		if c.Encoding != "" {
			r.Content = base64.StdEncoding.EncodeToString(packed([]byte(r.Content)))
		}
		resources = append(resources, r)
	}
	id, err := render.ManifestID(resources)
	if err != nil {
		return err
	}
	if err := c.name(capture, id+":1"); err != nil {
		return err
	}
	if c.Bundle != "" {
		b, err := capture.named("Bundle", c.Bundle)
		if err != nil {
			return err
		}
		child(b, "spec")["resources"] = resources
	}
	capture.kinds["fleet.cattle.io/v1alpha1/Content"] = true
	if c.Stored == "missing" {
		return nil
	}
	var document bytes.Buffer
	if err := json.NewEncoder(&document).Encode(struct {
		Resources []v1alpha1.BundleResource `json:"resources,omitempty"`
	}{resources}); err != nil {
		return err
	}
	content, sum := packed(document.Bytes()), fmt.Sprintf("%x", sha256.Sum256(document.Bytes()))
	switch c.Stored {
	case "cut":
		content = content[:len(content)/2]
	case "sum":
		sum = hex.EncodeToString(make([]byte, sha256.Size))
	case "other":
		content, sum = packed([]byte("not a manifest document")), ""
	}
	capture.Documents = append(capture.Documents, map[string]any{"apiVersion": v1alpha1.GroupVersion.String(),
		"kind":     "Content",
		"metadata": map[string]any{"name": id}, "content": base64.StdEncoding.EncodeToString(content),
		"sha256sum": sum})
	return nil
}

// name sets the deploymentID of the BundleDeployment, unless it states another one.
func (c *caseContents) name(capture *Capture, id string) error {
	bd, err := capture.named("BundleDeployment", c.Of)
	if err != nil {
		return err
	}
	spec := child(bd, "spec")
	for _, key := range []string{"deploymentID", "stagedDeploymentID"} {
		if spec[key] == nil {
			spec[key] = id
		}
	}
	if c.Applied {
		child(bd, "status")["appliedDeploymentID"] = id
	}
	return nil
}

func (v *caseValues) write(capture *Capture) error {
	bd, err := capture.named("BundleDeployment", v.Of)
	if err != nil {
		return err
	}
	values, err := json.Marshal(v.Values)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(slices.Concat(values, values)) // "values" and "stagedValues", one after the other
	child(bd, "spec")["valuesHash"] = hex.EncodeToString(sum[:])
	capture.kinds["v1/Secret"] = true
	if v.Stored == "missing" {
		return nil
	}
	if v.Stored == "other" {
		values = []byte(`{"other":"invented-other-value"}`)
	}
	stored := base64.StdEncoding.EncodeToString(values)
	meta, ok := bd["metadata"].(map[string]any)
	if !ok {
		return errors.New("the BundleDeployment has no metadata")
	}
	capture.Documents = append(capture.Documents, map[string]any{"apiVersion": "v1", "kind": "Secret",
		"type":     "fleet.cattle.io/bundle-deployment/v1alpha1",
		"metadata": map[string]any{"name": meta["name"], "namespace": meta["namespace"]},
		"data":     map[string]any{"values": stored, "stagedValues": stored}})
	return nil
}

// named finds a captured Fleet object by its "namespace/name".
func (c *Capture) named(kind, key string) (map[string]any, error) {
	for _, d := range c.Documents {
		meta, ok := d["metadata"].(map[string]any)
		if ok && d["kind"] == kind && fmt.Sprint(meta["namespace"], "/", meta["name"]) == key {
			return d, nil
		}
	}
	return nil, fmt.Errorf("no %s %q in the file", kind, key)
}

func packed(b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, writeErr := w.Write(b)
	if err := errors.Join(writeErr, w.Close()); err != nil {
		return nil // writing to a buffer does not fail
	}
	return out.Bytes()
}

// readLater decodes the kinds of document that change another document; ok is false for other kinds.
func readLater(kind string, doc []byte) (write later, ok bool, err error) {
	switch kind {
	case "Contents":
		c := &caseContents{}
		err = sigsyaml.UnmarshalStrict(doc, c)
		return c.write, true, err
	case "Values":
		v := &caseValues{}
		err = sigsyaml.UnmarshalStrict(doc, v)
		return v.write, true, err
	}
	return nil, false, nil
}

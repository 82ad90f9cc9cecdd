// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// Manifest returns the desired object with the ownership metadata that Fleet and Helm write into it. Its manifest must
// have been kept.
func (d *BundleDeployment) Manifest(o *Object) (object.Content, error) {
	content, _, err := object.Decode(d.Desired[o.index].Raw)
	if err == nil {
		err = d.Ownership.Mark(content)
	}
	if metadata, ok := content["metadata"].(map[string]any); ok && o.Namespaced {
		metadata["namespace"] = o.Namespace
	}
	return content, err
}

// Rules are the rules with which a desired object is compared.
func (d *BundleDeployment) Rules(o *Object) []compare.Rule {
	desired := d.Desired[o.index]
	return stable(d.ComparePatches(), desired)
}

// Order is the position of a desired object in the manifest: Helm writes the objects in this order.
func (o *Object) Order() int { return o.index }

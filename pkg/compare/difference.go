// SPDX-License-Identifier: Apache-2.0

package compare

import "sigs.k8s.io/structured-merge-diff/v6/fieldpath"

// Difference is one field that differs. Its path always leads to a leaf.
type Difference struct {
	Path fieldpath.Path
	// Desired and Live are the two values, as decoded JSON. A missing value is nil, and its flag is false.
	Desired, Live       any
	DesiredSet, LiveSet bool
	// Order is true if both values are lists with the same elements in another order.
	Order bool
}

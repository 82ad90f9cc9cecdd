// SPDX-License-Identifier: Apache-2.0

package ownership

// Marks, MarksOf and Wanted are the names that the webhook still uses.
type Marks = Metadata

// MarksOf is MetadataOf.
func MarksOf(labels, annotations map[string]string) Marks { return MetadataOf(labels, annotations) }

// Wanted is Desired.
func Wanted(setID, releaseName, releaseNamespace string) Marks {
	return Desired(setID, releaseName, releaseNamespace)
}

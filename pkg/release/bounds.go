// SPDX-License-Identifier: Apache-2.0

package release

import (
	"errors"
	"math"
)

// These are the limits of Objects and ObjectMetadata. Everybody who may create Secrets in a namespace can write a
// record. It has at most 1 MiB compressed.
const (
	// maxDocument limits the size, in bytes, of a document that the library parses. The library may need two hundred
	// times that size.
	maxDocument = 1 << 20
	// maxMetadata limits the size, in bytes, of the metadata of an object as JSON.
	maxMetadata = 2 << 20
	// maxParsed limits the parsed part of a manifest, in bytes. A manifest that fits into a Secret together with its
	// chart usually has at most 4 MiB.
	maxParsed = 8 << 20
	// maxNodes limits the parsed YAML nodes of a manifest. The library needs about 250 bytes for each.
	maxNodes = 500_000
	// maxMetadataNodes is maxNodes for ObjectMetadata. The metadata of an object from Fleet's agent has about twenty
	// nodes.
	maxMetadataNodes = 400_000
	// maxDocuments limits the documents of a manifest. Some documents are not objects.
	maxDocuments = 40_000
	// maxObjects limits the objects of a manifest.
	maxObjects = 20_000
)

// BoundError is returned for a record that exceeds a limit of this package. Its text contains the limit and does not
// quote the record.
type BoundError struct{ bound string }

// Error implements error.
func (e *BoundError) Error() string { return e.bound }

// BoundOf returns the limit that an error says is exceeded; empty for another error.
func BoundOf(err error) string {
	if bound, ok := errors.AsType[*BoundError](err); ok {
		return bound.bound
	}
	return ""
}

var (
	errLargeDocument     error = &BoundError{"it has more than 1 MiB to parse"}
	errLargeManifest     error = &BoundError{"it has more than 8 MiB to parse"}
	errLargeMetadata     error = &BoundError{"the metadata of an object is larger than 2 MiB"}
	errManyNodes         error = &BoundError{"it has more than 500,000 YAML nodes"}
	errManyMetadataNodes error = &BoundError{"the metadata of its objects has more than 400,000 YAML nodes"}
	errManyDocuments     error = &BoundError{"it has more than 40,000 documents"}
	errExpands           error = &BoundError{"its YAML aliases expand to more than 8 MiB or 500,000 nodes"}
	errManyObjects       error = &BoundError{"it has more than 20,000 objects"}
)

// limits are the limits of Objects or of ObjectMetadata.
type limits struct {
	// metadata means that only apiVersion, kind, metadata and items of a document in the usual form are kept.
	metadata bool
	// maxJSON limits the JSON of a document in the usual form, in bytes.
	maxJSON int
	// maxNodes limits the nodes of the manifest. tooMany is the error for more nodes.
	maxNodes int
	tooMany  error
}

var (
	objectLimits   = limits{false, math.MaxInt, maxNodes, errManyNodes}
	metadataLimits = limits{true, maxMetadata, maxMetadataNodes, errManyMetadataNodes}
)

// perLine is the number of nodes of a line: a key and its value. All lines of a scalar count as one line.
const perLine = 2

// maxField limits the length, in bytes, of each name that is kept. No name in Kubernetes and no annotation of Fleet
// is longer.
const maxField = 1 << 10

var errLongFields error = &BoundError{"a name in it is longer than 1 KiB"}

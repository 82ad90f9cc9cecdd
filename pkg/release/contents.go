// SPDX-License-Identifier: Apache-2.0

package release

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

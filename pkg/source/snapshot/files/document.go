// SPDX-License-Identifier: Apache-2.0

package files

import "fmt"

// Document is one document of a file, as compact JSON. Its items are separate from its other members, because the kind
// of a List often comes after its items, and because the items of a List of 200 MB must not be in memory twice.
type Document struct {
	File string // the name of the file without folders
	Path string // the displayed name of the file
	// Body has the members without the items. It is empty if they could not be read.
	Body   []byte
	Items  []Item
	Listed bool // it has a list of items, which may be empty
	// Damaged is true if a part of it could not be read, which is a gap already.
	Damaged bool
	// Last is true if it is YAML and the file ends with it: it may be truncated without being damaged. Torn is true if
	// its last line has no end, Open if it ends with its items.
	Last, Torn, Open bool

	number, line int // of the document in the file, and of its first line, from 1
}

// Item is an item of a List.
type Item struct {
	Raw  []byte
	line int
}

// Place is the place of the document.
func (d *Document) Place() string { return d.place(d.line) }

// ItemPlace is the place of the item with an index.
func (d *Document) ItemPlace(i int) string {
	return fmt.Sprintf("%s, item %d", d.place(d.Items[i].line), i+1)
}

// place is the place of a line of the document.
func (d *Document) place(line int) string {
	s := fmt.Sprintf("%s, line %d", d.Path, line)
	if d.number > 1 {
		s += fmt.Sprintf(" (document %d)", d.number)
	}
	return s
}

// file is a file, or an entry of an archive, that is being read.
type file struct {
	name     string // displayed name
	base     string // name without folders
	explicit bool   // it is the argument itself
	inner    bool   // it is from an archive
	number   int    // of the last document
	found    bool   // it has objects
	others   bool   // it has other content
}

// document returns the next document of the file.
func (f *file) document(line int) *Document {
	f.number++
	return &Document{File: f.base, Path: f.name, number: f.number, line: line}
}

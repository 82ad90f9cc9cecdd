// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"io"
	"slices"
	"sort"
)

// lineReader is a stream that knows the lines and columns of what was last read of it, bounds one document, and takes bytes back.
// It forgets the lines before a document, so that a file of a million lines costs no more than one of its documents.
type lineReader struct {
	r       io.Reader
	left    int64  // of the document
	pending []byte // taken back
	offset  int64
	lines   int     // before that line
	begin   int64   // of the line in which the document begins
	starts  []int64 // of the lines that begin after it
}

// maxStarts bounds the lines of one document that are remembered. Errors are near the end of what was read.
const maxStarts = 1 << 20

func (l *lineReader) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errTooLarge
	}
	p = p[:min(int64(len(p)), l.left)]
	var n int
	var err error
	if len(l.pending) > 0 {
		n = copy(p, l.pending)
		l.pending = l.pending[n:]
	} else {
		n, err = l.r.Read(p)
	}
	for i := 0; i < n; i++ {
		next := bytes.IndexByte(p[i:n], '\n')
		if next < 0 {
			break
		}
		i += next
		l.starts = append(l.starts, l.offset+int64(i)+1)
	}
	l.offset += int64(n)
	l.left -= int64(n)
	if n := len(l.starts); n > maxStarts {
		l.forget(n - maxStarts/2)
	}
	return n, err
}

// forget forgets the first n known lines.
func (l *lineReader) forget(n int) {
	if n > 0 {
		l.lines += n
		l.begin = l.starts[n-1]
		l.starts = slices.Delete(l.starts, 0, n)
	}
}

// unread takes back the last bytes that were read.
func (l *lineReader) unread(b []byte) {
	l.pending = slices.Concat(b, l.pending)
	l.offset -= int64(len(b))
	l.starts = l.starts[:l.after(l.offset)]
}

// startDocument begins a document at the offset, which may have so many bytes, and forgets the lines before it.
func (l *lineReader) startDocument(offset, limit int64) {
	l.left = limit
	l.forget(l.after(offset))
}

// after is how many of the known lines begin at or before the offset.
func (l *lineReader) after(offset int64) int {
	return sort.Search(len(l.starts), func(i int) bool { return l.starts[i] > offset })
}

// position is the line and the column, in bytes, from 1, of an offset in the document.
func (l *lineReader) position(offset int64) (line, column int) {
	n := l.after(offset)
	begin := l.begin
	if n > 0 {
		begin = l.starts[n-1]
	}
	return 1 + l.lines + n, int(max(offset-begin, 0)) + 1
}

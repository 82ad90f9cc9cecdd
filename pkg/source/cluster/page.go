// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/transport"
)

// lister reads the objects of one kind.
type lister struct {
	*Cluster
	query    source.Query
	kind     source.Kind
	kinds    *source.Kinds
	yield    func(source.Object) error
	yieldErr error               // ends the list
	seen     map[uint64]struct{} // hashes of the objects that were yielded
	seed     maphash.Seed
	pages    int // read so far, in all namespaces
}

// freeRepeats is how many objects of one page may be repeated beyond those that were read before the page. Only a
// faulty server repeats an object within a page.
const freeRepeats = 1000

// readPage yields the items of a page as they arrive, and returns the metadata of the list.
func (l *lister) readPage(a *answer) (list metav1.ListMeta, err error) {
	if a.PeekKind() != '{' {
		_, err := a.ReadToken()
		if err == nil {
			return list, errors.New("it is not a JSON object")
		}
		return list, fmt.Errorf("it is not a JSON object: %w", err)
	}
	err = object.Members(a.Decoder, func(name jsontext.Value) error {
		switch string(name) {
		case `"apiVersion"`:
			return a.value(&a.apiVersion)
		case `"kind"`:
			return a.value(&a.kind)
		case `"metadata"`:
			return a.value(&list)
		case `"items"`:
			a.listed = true
			return l.items(a)
		}
		return a.SkipValue()
	})
	if err == nil {
		err = l.check(a)
	}
	return list, err
}

// items yields the items of a list one by one.
func (l *lister) items(a *answer) error {
	if a.PeekKind() == 'n' { // null: an empty list
		return a.SkipValue()
	}
	if err := l.checkStart(a); err != nil {
		return err
	}
	repeats := len(l.seen) + freeRepeats
	return object.Elements(a.Decoder, func() error {
		item, err := a.next()
		if err != nil {
			return err
		}
		fresh, err := l.fresh(a, item)
		switch {
		case err != nil:
			return err
		case !fresh && repeats == 0:
			return endless("a page repeats the same objects")
		case !fresh:
			repeats--
			return nil
		}
		if err := l.yield(source.Object{Item: item, Kind: l.kind.GroupVersionKind}); err != nil {
			l.yieldErr = err
			return &finalError{err.Error()}
		}
		return nil
	})
}

// fresh reports whether an object has not been yielded yet, and remembers the object. It compares hashes of 64 bits,
// which are unlikely to be equal for two of 100,000 objects.
func (l *lister) fresh(a *answer, item object.Item) (bool, error) {
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Metadata   struct {
			Name      string `json:"name"`
			Namespace string `json:"namespace"`
		} `json:"metadata"`
	}
	if meta := item.Meta; meta != nil {
		head.APIVersion, head.Kind = meta.APIVersion, meta.Kind
		head.Metadata.Name, head.Metadata.Namespace = meta.Metadata.Name, meta.Metadata.Namespace
	} else if err := object.Into(item.Raw, &head); err != nil {
		return false, err
	}
	if err := l.checkItem(a, head.APIVersion, head.Kind); err != nil {
		return false, err
	}
	h := maphash.String(l.seed, head.Metadata.Namespace+"/"+head.Metadata.Name)
	if _, seen := l.seen[h]; seen {
		return false, nil
	}
	if len(l.seen) == l.options.MaxObjects {
		return false, endless("it has more than %d objects", len(l.seen))
	}
	l.seen[h] = struct{}{}
	return true, nil
}

// partialMetadata is the kind of all objects of an answer with metadata only.
var partialMetadata = metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata")

// check compares a complete list with the request.
func (l *lister) check(a *answer) error {
	switch {
	case a.apiVersion+a.kind != "" && !l.requested(a, true):
		return l.otherKind(a.apiVersion, a.kind)
	case !a.listed: // the answer of a proxy must not count as an empty cluster
		return errors.New("it is not a list")
	case a.kind == "" || a.apiVersion == "":
		return l.otherKind(a.apiVersion, a.kind)
	}
	return nil
}

// checkStart compares the members before the items of a list with the request, so that no item of another list is used.
// API servers write the kind of a list of custom resources after the items. Each of these items states its own kind.
func (l *lister) checkStart(a *answer) error {
	ok := a.kind != ""
	switch {
	case ok && a.apiVersion != "":
		ok = l.requested(a, true)
	case a.apiVersion != "":
		ok = a.apiVersion == l.kind.GroupVersion().String() || l.query.MetadataOnly &&
			a.apiVersion == partialMetadata.GroupVersion().String()
	}
	if !ok {
		return l.otherKind(a.apiVersion, a.kind)
	}
	return nil
}

// checkItem compares an item with the request. An item need not state its kind if the list has stated its own.
func (l *lister) checkItem(a *answer, apiVersion, kind string) error {
	if apiVersion == "" && kind == "" {
		if l.requested(a, false) {
			return nil
		}
		return l.otherKind(a.apiVersion, a.kind)
	}
	got := schema.FromAPIVersionAndKind(apiVersion, kind)
	if got == l.kind.GroupVersionKind || l.query.MetadataOnly && got == partialMetadata {
		return nil
	}
	return l.otherKind(apiVersion, kind)
}

// requested reports whether a list has the requested kind, as far as the list has stated it. A CustomResourceDefinition
// can set any name for its list kind. Such a name is accepted if the items state their own kind and no other kind has a
// list of that name.
func (l *lister) requested(a *answer, itemsStateKind bool) bool {
	got := schema.FromAPIVersionAndKind(a.apiVersion, a.kind)
	listOf := func(gvk schema.GroupVersionKind) schema.GroupVersionKind {
		return gvk.GroupVersion().WithKind(gvk.Kind + "List")
	}
	switch {
	case got == listOf(l.kind.GroupVersionKind), l.query.MetadataOnly && got == listOf(partialMetadata):
		return true
	case !itemsStateKind || got.GroupVersion() != l.kind.GroupVersion() || !strings.Contains(got.Group, "."):
		return false
	}
	_, _, other := l.kinds.Lookup(got.GroupVersion().WithKind(strings.TrimSuffix(got.Kind, "List")))
	return !other
}

func (l *lister) otherKind(apiVersion, kind string) error {
	got := "no kind"
	if kind != "" {
		got = fmt.Sprintf("the kind %q of %q", kind, apiVersion)
	}
	return &finalError{fmt.Sprintf("the answer has %s; the request was for %sList of %s", got, l.kind.Kind,
		l.kind.GroupVersion())}
}

// maxObject is the limit of one object of a list, and of all other data of a page, in bytes. etcd accepts objects of
// 1.5 MiB.
const maxObject = 16 << 20

// answer is a list that is being read, with the kind that it has stated so far.
type answer struct {
	*jsontext.Decoder
	input            *limitedReader
	objects          object.ItemReader
	apiVersion, kind string
	listed           bool // it has items
}

func newAnswer(body io.Reader) *answer {
	in := &limitedReader{reader: body, left: maxObject}
	return &answer{Decoder: jsontext.NewDecoder(in, jsontext.AllowDuplicateNames(true),
		jsontext.AllowInvalidUTF8(true)), input: in}
}

// next reads one object of at most maxObject bytes.
func (a *answer) next() (object.Item, error) {
	a.input.left = maxObject
	return a.objects.Read(a.Decoder)
}

// value decodes the next value.
func (a *answer) value(into any) error {
	raw, err := a.ReadValue()
	if err != nil {
		return err
	}
	return object.Into(raw, into)
}

// limitedReader limits the buffer of the decoder, which grows to the longest value. Unlike io.LimitReader, it returns
// an error at the limit.
type limitedReader struct {
	reader io.Reader
	left   int
}

// Read implements io.Reader.
func (r *limitedReader) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, &transport.SizeError{Most: maxObject}
	}
	n, err := r.reader.Read(p[:min(len(p), r.left)])
	r.left -= n
	return n, err
}

// finalError is an error of an answer that a second request would return again.
type finalError struct{ text string }

func (e *finalError) Error() string { return e.text }

// endless is the error of a list that has no end.
func endless(format string, args ...any) error {
	return &finalError{"reading of the list stopped: " + fmt.Sprintf(format, args...)}
}

// unreadError is an error of an answer that a second request may not have.
type unreadError struct{ err error }

func (e *unreadError) Error() string { return "the answer could not be read: " + e.err.Error() }

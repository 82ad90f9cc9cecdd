// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/transport"
)

// maxObject bounds, in bytes, one object of a list, and all that a page states besides its objects. etcd takes objects of 1.5 MiB.
const maxObject = 16 << 20

// answer is a list that is being read, and what it has stated of itself so far.
type answer struct {
	*jsontext.Decoder
	meter            *meter
	apiVersion, kind string
	listed           bool
}

func newAnswer(body io.Reader) *answer {
	m := &meter{reader: body, left: maxObject}
	return &answer{Decoder: jsontext.NewDecoder(m, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)), meter: m}
}

// next reads one object, which may have maxObject bytes.
func (a *answer) next() (jsontext.Value, error) {
	a.meter.left = maxObject
	return a.ReadValue()
}

// meter reads until nothing is left of what was allowed. It keeps the decoder's buffer, which grows to the longest value, within a bound.
type meter struct {
	reader io.Reader
	left   int
}

// Read implements io.Reader.
func (m *meter) Read(p []byte) (int, error) {
	if m.left <= 0 {
		return 0, &transport.SizeError{Most: maxObject}
	}
	n, err := m.reader.Read(p[:min(len(p), m.left)])
	m.left -= n
	return n, err
}

// text reads a value that is a string; anything else is "".
func text(a *answer) (string, error) {
	v, err := a.ReadValue()
	if err != nil || v.Kind() != '"' {
		return "", err
	}
	unquoted, err := jsontext.AppendUnquote(nil, v)
	return string(unquoted), err
}

// otherKindError says that an answer is of another kind than what was asked for.
type otherKindError struct{ got, want string }

func (e *otherKindError) Error() string {
	return fmt.Sprintf("the answer is of another kind: %s; %s was asked for", e.got, e.want)
}

// endlessError says that a list was given up because it came to no end.
type endlessError struct{ why string }

func (e *endlessError) Error() string { return "the list was given up: " + e.why }

// cutError says that an answer began well and then broke off.
type cutError struct{ err error }

func (e *cutError) Error() string { return "the answer broke off: " + e.err.Error() }

// final says whether the same request would end the same way again.
func final(err error) bool {
	var stop *yieldError
	var other *otherKindError
	var endless *endlessError
	var size *transport.SizeError
	return errors.As(err, &stop) || errors.As(err, &other) || errors.As(err, &endless) || errors.As(err, &size)
}

// broken makes a cutError of what an answer ended with, unless it is final.
func broken(err error) error {
	if final(err) {
		return err
	}
	return &cutError{err}
}

// partialMetadata is what objects are, whatever their kind, of which the metadata alone were asked for.
var partialMetadata = metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata")

// check compares a complete list with the request.
func (l *lister) check(a *answer) error {
	switch {
	case a.apiVersion+a.kind != "" && !l.asked(a, true):
		return l.otherKind(a.apiVersion, a.kind)
	case !a.listed: // an answer of a proxy must not count as an empty cluster
		return &cutError{errors.New("it is no list")}
	case a.kind == "" || a.apiVersion == "":
		return l.otherKind(a.apiVersion, a.kind)
	}
	return nil
}

// checkStart compares the fields before the items of a list with the request, so that no item of another list is used. API
// servers write the kind of a list of custom resources after the items; each of those states its own kind.
func (l *lister) checkStart(a *answer) error {
	ok := true
	switch {
	case a.kind != "" && a.apiVersion != "":
		ok = l.asked(a, true)
	case a.apiVersion != "":
		ok = a.apiVersion == l.kind.GroupVersion().String() || l.query.MetadataOnly && a.apiVersion == partialMetadata.GroupVersion().String()
	case a.kind == "":
		ok = false
	}
	if !ok {
		return l.otherKind(a.apiVersion, a.kind)
	}
	return nil
}

// checkItem compares an item with the request. An item need not state its kind if the list has stated its own.
func (l *lister) checkItem(a *answer, apiVersion, kind string) error {
	if apiVersion == "" && kind == "" {
		if l.asked(a, false) {
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

// asked says whether a list is of the kind that was asked for, as far as it has stated it. The definition of a custom resource may name its
// lists as it likes: such a name is taken where own says that the items have stated their kind, and no other kind has lists of that name.
func (l *lister) asked(a *answer, own bool) bool {
	got := schema.FromAPIVersionAndKind(a.apiVersion, a.kind)
	of := func(gvk schema.GroupVersionKind) schema.GroupVersionKind {
		return gvk.GroupVersion().WithKind(gvk.Kind + "List")
	}
	switch {
	case got == of(l.kind.GroupVersionKind), l.query.MetadataOnly && got == of(partialMetadata):
		return true
	case !own || got.GroupVersion() != l.kind.GroupVersion() || !strings.Contains(got.Group, "."):
		return false
	}
	_, _, other := l.kinds.Lookup(got.GroupVersion().WithKind(strings.TrimSuffix(got.Kind, "List")))
	return !other
}

func (l *lister) otherKind(apiVersion, kind string) error {
	want := l.kind.GroupVersionKind
	got := "one that does not state its kind"
	if kind != "" {
		got = fmt.Sprintf("%q of %q", kind, apiVersion)
	}
	return &otherKindError{got: got, want: fmt.Sprintf("%sList of %s", want.Kind, want.GroupVersion())}
}

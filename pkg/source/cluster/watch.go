// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// Page reads one page of a list: the objects of one namespace, or of all namespaces (""). o states the page and the
// resource version. It returns the metadata of the list. The error is that of the server.
func (c *Cluster) Page(ctx context.Context, q source.Query, namespace string, o metav1.ListOptions,
	yield func(source.Object) error) (metav1.ListMeta, error) {
	l, err := c.reading(ctx, q, yield)
	if err != nil {
		return metav1.ListMeta{}, err
	}
	return l.page(ctx, namespace, o)
}

// Watch opens a watch of the objects that a query selects in one namespace, or in all namespaces (""). o states where
// it begins. It does not count as one of the concurrent requests, because it has no end.
func (c *Cluster) Watch(ctx context.Context, q source.Query, namespace string, o metav1.ListOptions) (*Watch, error) {
	l, err := c.reading(ctx, q, nil)
	if err != nil {
		return nil, err
	}
	accept := acceptAll
	if q.MetadataOnly {
		accept = acceptMetadataOfOne
	}
	o.Watch = true
	body, err := l.request(namespace, o).SetHeader("Accept", accept).Stream(ctx)
	if err != nil {
		return nil, shortened(err)
	}
	return &Watch{lister: l, answer: newAnswer(body), body: body}, nil
}

// reading returns a lister of a kind. The error states why the kind cannot be read.
func (c *Cluster) reading(ctx context.Context, q source.Query, yield func(source.Object) error) (*lister, error) {
	kinds, err := c.Kinds(ctx)
	if err != nil {
		return nil, err
	}
	kind, f, ok := kinds.Lookup(q.Kind)
	if !ok {
		return nil, &FailureError{f}
	}
	return c.lister(q, kind, kinds, yield), nil
}

// Watch is an open watch.
type Watch struct {
	lister *lister
	answer *answer
	body   io.Closer
}

// Next waits for the next event. The object is valid until the next call. Of an event of type Error, it is a Status; of
// a Bookmark, it has only metadata. The error is io.EOF if the server ends the watch.
func (w *Watch) Next() (watch.EventType, source.Object, error) {
	out := source.Object{Kind: w.lister.kind.GroupVersionKind}
	var eventType watch.EventType
	w.answer.input.left = maxObject
	err := object.Members(w.answer.Decoder, func(name jsontext.Value) (err error) {
		switch string(name) {
		case `"type"`:
			return w.answer.value(&eventType)
		case `"object"`:
			out.Item, err = w.answer.next()
			return err
		}
		return w.answer.SkipValue()
	})
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.ErrUnexpectedEOF // the connection was closed, as client-go knows it
	}
	if err == nil && eventType != watch.Error && out.Meta != nil {
		err = w.lister.checkItem(w.answer, out.Meta.APIVersion, out.Meta.Kind)
	}
	return eventType, out, err
}

// Close ends the watch.
func (w *Watch) Close() { _ = w.body.Close() }

// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"hash/maphash"
	"io"

	"github.com/go-json-experiment/json/jsontext"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/transport"
)

const (
	acceptAll      = "application/json"
	acceptMetadata = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
	// acceptMeta requests the metadata of one object.
	acceptMeta = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
	// maxRestarts is how often one list is restarted after its resource version expired or the connection broke.
	maxRestarts = 5
	// maxRepeated is how many consecutive pages of one list may have no new object.
	maxRepeated = 100
	// maxTrailer is how many bytes of an answer are read after its document.
	maxTrailer = 4 << 10
)

// List implements source.Source. It reads page by page. If the resource version of the list expires (410), List
// continues with the token in the answer, or restarts the list if the answer has no token. It yields each object once.
func (c *Cluster) List(ctx context.Context, q source.Query, yield func(source.Object) error) (source.Coverage, error) {
	l, err := c.reading(ctx, q, yield)
	if unread, ok := errors.AsType[*FailureError](err); ok {
		return source.NotCovered(unread.Failure), nil
	}
	if err != nil {
		return source.Coverage{}, err
	}
	return source.CoverageOf(q, l.kind.Namespaced, func(ns string) (*source.Failure, error) { return l.read(ctx, ns) })
}

// read reads all pages of one namespace, or of all namespaces (""). The failure is the reason why not all of them could
// be read. The error is that of yield or of the context. Requests that fail because the context ended return many
// different errors.
func (l *lister) read(ctx context.Context, namespace string) (*source.Failure, error) {
	err := l.readPages(ctx, namespace)
	switch {
	case err == nil:
		return nil, nil
	case l.yieldErr != nil:
		return nil, l.yieldErr
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return failure(err), nil
}

func (l *lister) readPages(ctx context.Context, namespace string) error {
	token, restarts, pages := "", 0, 0
	// repeated counts consecutive pages without a new object. After a restart, the list may repeat each page that was
	// read before.
	repeated, tokens := -l.pages, map[string]struct{}{}
	for {
		known := len(l.seen)
		page, err := l.page(ctx, namespace, metav1.ListOptions{Limit: int64(l.options.PageSize), Continue: token})
		if err != nil {
			if restarts == maxRestarts || !restartable(ctx, err) {
				return err
			}
			restarts++
			if apierrors.IsResourceExpired(err) {
				token = ""
				if status, ok := errors.AsType[*apierrors.StatusError](err); ok {
					token = status.ErrStatus.Continue // "" if the server does not offer to continue
				}
				// the new list may have the tokens of the expired one
				repeated, tokens = -l.pages, map[string]struct{}{}
			}
			continue
		}
		next := page.Continue
		if next == "" {
			return nil
		}
		l.pages++
		pages++
		repeated++
		if len(l.seen) > known {
			repeated = min(repeated, 0)
		}
		if _, again := tokens[next]; again {
			return endless("the server sent the same continue token twice")
		}
		if pages == l.options.MaxPages {
			return endless("it has more than %d pages", pages)
		}
		if repeated >= maxRepeated {
			return endless("%d consecutive pages have no new object", maxRepeated)
		}
		tokens[next] = struct{}{}
		token = next
	}
}

// restartable reports whether the same list may succeed if it is requested again. client-go has already waited for a
// Retry-After.
func restartable(ctx context.Context, err error) bool {
	_, unread := errors.AsType[*unreadError](err)
	return ctx.Err() == nil && (unread || apierrors.IsResourceExpired(err))
}

// page reads one page and returns the metadata of the list.
func (l *lister) page(ctx context.Context, namespace string, o metav1.ListOptions) (metav1.ListMeta, error) {
	if err := l.slots.Acquire(ctx, 1); err != nil {
		return metav1.ListMeta{}, err
	}
	defer l.slots.Release(1)
	accept := acceptAll
	if l.query.MetadataOnly {
		accept = acceptMetadata
	}
	body, err := l.request(namespace, o).SetHeader("Accept", accept).Stream(ctx)
	if err != nil {
		return metav1.ListMeta{}, shortened(err)
	}
	defer func() { _ = body.Close() }()
	list, err := l.readPage(newAnswer(body))
	if err == nil {
		// The rest is the end of a line. If it is not read, the connection cannot be used again.
		_, _ = io.CopyN(io.Discard, body, maxTrailer)
		return list, nil
	}
	if !conclusive(err) {
		err = &unreadError{err}
	}
	return metav1.ListMeta{}, err
}

// conclusive reports whether the answer to another request would have the same error.
func conclusive(err error) bool {
	_, final := errors.AsType[*finalError](err)
	_, large := errors.AsType[*transport.SizeError](err)
	_, late := errors.AsType[*transport.TimeoutError](err)
	return final || large || late
}

// request returns a request for a list, or for a watch.
func (l *lister) request(namespace string, o metav1.ListOptions) *rest.Request {
	o.LabelSelector, o.FieldSelector = l.query.LabelSelector, l.query.FieldSelector
	return at(l.client.Get(), l.kind, namespace).VersionedParams(&o, metav1.ParameterCodec)
}

// at sets the path of a request to the objects of a kind. Like its method Name, it refuses a name of a server that
// would change the path, such as "../x".
func at(r *rest.Request, k source.Kind, namespace string) *rest.Request {
	return r.AbsPath(groupVersionPath(k.GroupVersion())).
		NamespaceIfScoped(namespace, namespace != "").Resource(k.Resource)
}

func groupVersionPath(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "/api/" + gv.Version
	}
	return "/apis/" + gv.String()
}

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
		accept = acceptMeta
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
	return &lister{Cluster: c, query: q, kind: kind, kinds: kinds, yield: yield, seen: map[uint64]struct{}{},
		seed: maphash.MakeSeed()}, nil
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

// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

const (
	acceptAll      = "application/json"
	acceptMetadata = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
	// maxRestarts bounds how often one list is begun again because its snapshot expired or the connection broke.
	maxRestarts = 5
	// maxBarren bounds how many pages in a row of one list may have no new object.
	maxBarren = 100
	// maxRest bounds, in bytes, what is read of an answer after its document.
	maxRest = 4 << 10
)

// List implements source.Source. It pages; a list that expires while it is paged (410) goes on with the token that the answer carries, or
// else from the start, paged again. What was yielded before is not yielded twice.
func (c *Cluster) List(ctx context.Context, q source.Query, yield func(source.Object) error) (source.Coverage, error) {
	kinds, err := c.Kinds(ctx)
	if err != nil {
		return source.Coverage{}, err
	}
	kind, f, ok := kinds.Lookup(q.Kind)
	if !ok {
		return source.NotCovered(f), nil
	}
	l := lister{Cluster: c, query: q, kind: kind, kinds: kinds, yield: yield, seen: map[uint64]struct{}{}, seed: maphash.MakeSeed()}
	if len(q.Namespaces) > 0 && kind.Namespaced {
		return l.each(ctx, source.NotCovered(source.Failure{}), q.Namespaces)
	}
	err = l.all(ctx, "")
	var stop *yieldError
	switch {
	case err == nil:
		return source.Covered(), nil
	case errors.As(err, &stop):
		return source.Coverage{}, stop.err
	case ended(ctx):
		return source.Coverage{}, context.Cause(ctx)
	}
	coverage := source.NotCovered(failure(err))
	if apierrors.IsForbidden(err) && kind.Namespaced {
		return l.each(ctx, coverage, q.Fallback)
	}
	return coverage, nil
}

// yieldError carries an error of the caller's through.
type yieldError struct{ err error }

func (e *yieldError) Error() string { return e.err.Error() }

// lister reads one kind.
type lister struct {
	*Cluster
	query source.Query
	kind  source.Kind
	kinds *source.Kinds
	yield func(source.Object) error
	seen  map[uint64]struct{}
	seed  maphash.Seed
	pages int // that were read, of all namespaces
}

// each reads namespace by namespace.
func (l *lister) each(ctx context.Context, coverage source.Coverage, namespaces []string) (source.Coverage, error) {
	for _, ns := range namespaces {
		err := l.all(ctx, ns)
		var stop *yieldError
		switch {
		case err == nil:
			coverage = coverage.With(ns, nil)
		case errors.As(err, &stop):
			return coverage, stop.err
		case ended(ctx):
			return coverage, context.Cause(ctx)
		default:
			f := failure(err)
			coverage = coverage.With(ns, &f)
		}
	}
	return coverage, nil
}

// all reads every page.
func (l *lister) all(ctx context.Context, namespace string) error {
	token, restarts := "", 0
	w := l.newWalk()
	for {
		known := len(l.seen)
		next, err := l.page(ctx, namespace, token)
		switch {
		case err == nil && next == "":
			return nil
		case err == nil:
			l.pages++
			if err := w.page(next, len(l.seen) > known, l.options.MaxPages); err != nil {
				return err
			}
			token = next
			continue
		case restarts == maxRestarts || !l.restartable(ctx, err):
			return err
		}
		restarts++
		if apierrors.IsResourceExpired(err) {
			token = continuation(err)
			w.restart(l.pages)
		}
	}
}

// walk is what is known of the pages of one list, to tell a list that comes to no end.
type walk struct {
	pages  int
	barren int // pages in a row without a new object; below 0, as many more are allowed
	tokens map[string]struct{}
}

// newWalk begins a list. Pages that were read of another one may have had its objects already.
func (l *lister) newWalk() *walk {
	w := &walk{}
	w.restart(l.pages)
	return w
}

// restart begins the list again, after pages that had its objects already. A newer state may have the tokens of the older one.
func (w *walk) restart(pages int) {
	w.barren, w.tokens = -pages, map[string]struct{}{}
}

// page takes note of a page, and of the token of the next.
func (w *walk) page(next string, news bool, most int) error {
	w.pages++
	w.barren++
	if news {
		w.barren = min(w.barren, 0)
	}
	_, again := w.tokens[next]
	w.tokens[next] = struct{}{}
	switch {
	case again:
		return &endlessError{"the server gave the same continue token twice"}
	case w.pages == most:
		return &endlessError{fmt.Sprintf("it has more than %d pages", w.pages)}
	case w.barren >= maxBarren:
		return &endlessError{fmt.Sprintf("%d pages in a row have no new object", maxBarren)}
	}
	return nil
}

// restartable says whether the same list may succeed when asked again. The client has already waited for answers with Retry-After.
func (l *lister) restartable(ctx context.Context, err error) bool {
	var cut *cutError
	return ctx.Err() == nil && !final(err) && (apierrors.IsResourceExpired(err) || errors.As(err, &cut))
}

// continuation returns the token by which the server offers to go on with a newer state, "" where it offers none.
func continuation(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Continue
	}
	return ""
}

// page reads one page and returns the token of the next.
func (l *lister) page(ctx context.Context, namespace, token string) (next string, err error) {
	release, err := l.acquire(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	accept := acceptAll
	if l.query.MetadataOnly {
		accept = acceptMetadata
	}
	req := l.client.Get().AbsPath(path(l.kind, namespace)).SetHeader("Accept", accept).Param("limit", strconv.Itoa(l.options.PageSize))
	for name, value := range map[string]string{"continue": token, "labelSelector": l.query.LabelSelector, "fieldSelector": l.query.FieldSelector} {
		if value != "" {
			req = req.Param(name, value)
		}
	}
	body, err := req.Stream(ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = body.Close() }()
	next, err = l.items(newAnswer(body))
	if err == nil {
		// What is left is a line's end. Unread, it would cost the connection, and the next page a handshake.
		_, _ = io.CopyN(io.Discard, body, maxRest)
	}
	return next, err
}

// items passes on the items of a list as they arrive.
func (l *lister) items(a *answer) (next string, err error) {
	switch t, err := a.ReadToken(); {
	case err != nil:
		return "", broken(fmt.Errorf("it is not a JSON object: %w", err))
	case t.Kind() != '{':
		return "", broken(errors.New("it is not a JSON object"))
	}
	for a.PeekKind() != '}' {
		name, err := a.ReadToken()
		if err != nil {
			return "", broken(err)
		}
		switch name.String() {
		case "apiVersion":
			a.apiVersion, err = text(a)
		case "kind":
			a.kind, err = text(a)
		case "metadata":
			next, err = continueToken(a)
		case "items":
			a.listed = true
			err = l.item(a)
		default:
			err = a.SkipValue()
		}
		if err != nil {
			return "", broken(err)
		}
	}
	return next, l.check(a)
}

func continueToken(a *answer) (string, error) {
	v, err := a.ReadValue()
	if err != nil {
		return "", err
	}
	var m struct {
		Continue string `json:"continue"`
	}
	err = object.Into(v, &m)
	return m.Continue, err
}

// item passes on the items of a list, one by one.
func (l *lister) item(a *answer) error {
	if a.PeekKind() == 'n' { // null: a list of none
		return a.SkipValue()
	}
	if err := l.checkStart(a); err != nil {
		return err
	}
	if _, err := a.ReadToken(); err != nil {
		return err
	}
	for a.PeekKind() != ']' {
		raw, err := a.next()
		if err != nil {
			return err
		}
		meta, fresh, err := l.fresh(a, raw)
		if err != nil {
			return err
		}
		if !fresh {
			continue
		}
		if err := l.yield(source.Object{Raw: raw, Kind: l.kind.GroupVersionKind, Meta: meta}); err != nil {
			return &yieldError{err}
		}
	}
	_, err := a.ReadToken()
	return err
}

// fresh says whether an object has not been yielded yet, and takes note of it. Hashes stand for names: of a hundred thousand objects two
// would have to collide in 64 bits. It returns the metadata, which it has to read, or nil if only the name could be read.
func (l *lister) fresh(a *answer, raw []byte) (*object.Meta, bool, error) {
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Metadata   struct {
			Name      string `json:"name"`
			Namespace string `json:"namespace"`
		} `json:"metadata"`
	}
	meta, err := object.ReadMeta(raw)
	if err == nil {
		head.APIVersion, head.Kind = meta.APIVersion, meta.Kind
		head.Metadata.Name, head.Metadata.Namespace = meta.Metadata.Name, meta.Metadata.Namespace
	} else if err := object.Into(raw, &head); err != nil {
		return nil, false, err
	}
	if err := l.checkItem(a, head.APIVersion, head.Kind); err != nil {
		return nil, false, err
	}
	h := maphash.String(l.seed, head.Metadata.Namespace+"/"+head.Metadata.Name)
	if _, seen := l.seen[h]; seen {
		return meta, false, nil
	}
	if len(l.seen) == l.options.MaxObjects {
		return nil, false, &endlessError{fmt.Sprintf("it has more than %d objects", len(l.seen))}
	}
	l.seen[h] = struct{}{}
	return meta, true, nil
}

// path is the API's path of a kind's objects.
func path(k source.Kind, namespace string) string {
	p := groupVersionPath(k.GroupVersion())
	if namespace != "" {
		p += "/namespaces/" + namespace
	}
	return p + "/" + k.Resource
}

func groupVersionPath(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "/api/" + gv.Version
	}
	return "/apis/" + gv.String()
}

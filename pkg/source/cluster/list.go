// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
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
	l := lister{Cluster: c, query: q, kind: kind, yield: yield, seen: map[uint64]struct{}{}, seed: maphash.MakeSeed()}
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
	yield func(source.Object) error
	seen  map[uint64]struct{}
	seed  maphash.Seed
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
	for {
		next, err := l.page(ctx, namespace, token)
		switch {
		case err == nil && next == "":
			return nil
		case err == nil:
			token = next
			continue
		case restarts == maxRestarts || !l.restartable(ctx, err):
			return err
		}
		restarts++
		if apierrors.IsResourceExpired(err) {
			token = continuation(err)
		}
	}
}

// restartable says whether the same list may succeed when asked again. Answers that ask for patience were waited for already.
func (l *lister) restartable(ctx context.Context, err error) bool {
	var stop *yieldError
	var cut *cutError
	return ctx.Err() == nil && !errors.As(err, &stop) && (apierrors.IsResourceExpired(err) || errors.As(err, &cut))
}

// continuation returns the token by which the server offers to go on with a newer state, "" where it offers none.
func continuation(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Continue
	}
	return ""
}

// cutError says that an answer began well and then broke off.
type cutError struct{ err error }

func (e *cutError) Error() string { return "the answer broke off: " + e.err.Error() }

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
	next, err = l.items(jsontext.NewDecoder(body, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)))
	if err == nil {
		// What is left is a line's end. Unread, it would cost the connection, and the next page a handshake.
		_, _ = io.CopyN(io.Discard, body, maxRest)
	}
	return next, err
}

// items passes on the items of a list as they arrive.
func (l *lister) items(dec *jsontext.Decoder) (next string, err error) {
	switch t, err := dec.ReadToken(); {
	case err != nil:
		return "", &cutError{fmt.Errorf("it is no JSON object: %w", err)}
	case t.Kind() != '{':
		return "", &cutError{errors.New("it is no JSON object")}
	}
	listed := false
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return "", &cutError{err}
		}
		switch name.String() {
		case "metadata":
			next, err = continueToken(dec)
		case "items":
			listed = true
			err = l.item(dec)
		default:
			err = dec.SkipValue()
		}
		var stop *yieldError
		switch {
		case errors.As(err, &stop):
			return "", err
		case err != nil:
			return "", &cutError{err}
		}
	}
	if !listed { // what a proxy says in the server's place must not pass for an empty cluster
		return "", &cutError{errors.New("it is no list")}
	}
	return next, nil
}

func continueToken(dec *jsontext.Decoder) (string, error) {
	v, err := dec.ReadValue()
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
func (l *lister) item(dec *jsontext.Decoder) error {
	if dec.PeekKind() == 'n' { // null: a list of none
		return dec.SkipValue()
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() != ']' {
		raw, err := dec.ReadValue()
		if err != nil {
			return err
		}
		meta, fresh, err := l.fresh(raw)
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
	_, err := dec.ReadToken()
	return err
}

// fresh says whether an object has not been yielded yet, and takes note of it. Hashes stand for names: of a hundred thousand objects two
// would have to collide in 64 bits. It returns the metadata, which it has to read, or nil where they are legible only as far as the name.
func (l *lister) fresh(raw []byte) (*object.Meta, bool, error) {
	var name struct {
		Metadata struct {
			Name      string `json:"name"`
			Namespace string `json:"namespace"`
		} `json:"metadata"`
	}
	meta, err := object.ReadMeta(raw)
	if err == nil {
		name.Metadata.Name, name.Metadata.Namespace = meta.Metadata.Name, meta.Metadata.Namespace
	} else if err := object.Into(raw, &name); err != nil {
		return nil, false, err
	}
	h := maphash.String(l.seed, name.Metadata.Namespace+"/"+name.Metadata.Name)
	_, seen := l.seen[h]
	l.seen[h] = struct{}{}
	return meta, !seen, nil
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

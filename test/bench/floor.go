// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/cluster"
)

// floor is the lower bound of the time of an audit: the time of its requests alone, with the same connection,
// concurrency and headers. The bodies are read, decompressed and discarded. It sends all requests at once; an
// audit cannot, because the first responses decide about later requests.
type floor struct {
	client *http.Client
	host   string
	lists  []*list
	slots  chan struct{}
}

// newFloor creates a floor for the lists of an audit. All runs share one client, so that the connection is open.
func newFloor(config *rest.Config, lists []*list) (*floor, error) {
	config = rest.CopyConfig(config)
	for _, l := range lists {
		// As in client-go, the transport requests gzip and decompresses, unless it is disabled.
		config.DisableCompression = !l.gzip
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("preparing the connection to the server: %w", err)
	}
	return &floor{client: client, host: strings.TrimSuffix(config.Host, "/"), lists: lists,
		slots: make(chan struct{}, cluster.DefaultConcurrency)}, nil
}

// run reads everything once and returns the elapsed time.
func (f *floor) run(ctx context.Context) (time.Duration, error) {
	// The connection may have been closed since the last run.
	if _, _, err := f.page(ctx, &list{uri: "/version", accept: "application/json"}, ""); err != nil {
		return 0, err
	}
	start := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	for _, l := range f.lists {
		group.Go(func() error { return f.read(ctx, l) })
	}
	err := group.Wait()
	return time.Since(start), err
}

// read reads all pages of one list and stores their size.
func (f *floor) read(ctx context.Context, l *list) error {
	pages, token := 0, ""
	l.Bytes = 0
	for {
		next, n, err := f.page(ctx, l, token)
		if err != nil {
			return fmt.Errorf("reading %s: %w", l.uri, err)
		}
		l.Bytes += n
		if pages++; next == "" {
			break
		}
		token = next
	}
	if pages != l.Pages {
		return fmt.Errorf("reading %s: got %d pages, the audit read %d", l.uri, pages, l.Pages)
	}
	return nil
}

// page reads one page, and returns the token of the next page and the size of this one.
func (f *floor) page(ctx context.Context, l *list, token string) (string, int64, error) {
	f.slots <- struct{}{}
	defer func() { <-f.slots }()
	uri := f.host + l.uri
	if token != "" {
		uri += "&continue=" + token
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, uri, nil)
	if err != nil {
		return "", 0, err
	}
	req.Header.Set("Accept", l.accept)
	resp, err := f.client.Do(req)
	if err != nil {
		return "", 0, err
	}
	defer func() { _ = resp.Body.Close() }() // it was read to its end, or another error is returned
	if resp.StatusCode != http.StatusOK {
		return "", 0, errors.New(resp.Status)
	}
	e := &ends{}
	n, err := io.Copy(e, resp.Body)
	return e.continueToken(), n, err
}

// endSize is larger than the part before the items in any list of a built-in kind, and than the part after the items in
// any list of custom resources.
const endSize = 2 << 10

// ends keeps the first and the last bytes of what is written to it.
type ends struct{ head, tail []byte }

// Write implements io.Writer.
func (e *ends) Write(p []byte) (int, error) {
	e.head = append(e.head, p[:min(len(p), endSize-len(e.head))]...)
	last := p[max(0, len(p)-endSize):]
	keep := min(len(e.tail), endSize-len(last))
	e.tail = append(e.tail[:0], append(e.tail[len(e.tail)-keep:len(e.tail):len(e.tail)], last...)...)
	return len(p), nil
}

var (
	continueField = regexp.MustCompile(`"continue":"([^"]+)"`)
	// lastMember is the metadata of a list of custom resources, whose members are in alphabetical order.
	lastMember = regexp.MustCompile(`"metadata":\{[^{}]*\}\}\s*$`)
)

// continueToken returns the token of a list, which is before the items or after them.
func (e *ends) continueToken() string {
	before, _, _ := bytes.Cut(e.head, []byte(`"items":`))
	for _, metadata := range [][]byte{before, lastMember.Find(e.tail)} {
		if m := continueField.FindSubmatch(metadata); m != nil {
			return string(m[1])
		}
	}
	return ""
}

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

// floor is the time that no audit can go below: that of its requests alone, with the same connection, concurrency and headers, the bodies
// read, decompressed and thrown away. It asks for everything at once, which an audit cannot: it has to know what to look for.
type floor struct {
	client *http.Client
	host   string
	lists  []*list
	slots  chan struct{}
}

// newFloor makes a floor of the lists of an audit. Its one client is used for every run, so that the connection is warm.
func newFloor(config *rest.Config, lists []*list) (*floor, error) {
	config = rest.CopyConfig(config)
	for _, l := range lists {
		// As client-go does it: the transport itself asks for gzip, unless told not to, and takes it off.
		config.DisableCompression = !l.gzip
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("preparing the connection to the server: %w", err)
	}
	return &floor{client: client, host: strings.TrimSuffix(config.Host, "/"), lists: lists,
		slots: make(chan struct{}, cluster.DefaultConcurrency)}, nil
}

// run reads everything once and returns how long it took.
func (f *floor) run(ctx context.Context) (time.Duration, error) {
	// The connection may have been given up since the last run.
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

// read reads all pages of one list and notes their size.
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
		return fmt.Errorf("reading %s: it has %d pages, the audit read %d", l.uri, pages, l.Pages)
	}
	return nil
}

// page reads one page, and returns the token of the next and the size of this one.
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
	defer func() { _ = resp.Body.Close() }() // it was read to its end, or another error is on its way
	if resp.StatusCode != http.StatusOK {
		return "", 0, errors.New(resp.Status)
	}
	head := make([]byte, headSize)
	n, err := io.ReadFull(resp.Body, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", 0, err
	}
	rest, err := io.Copy(io.Discard, resp.Body)
	return continueToken(head[:n]), int64(n) + rest, err
}

// headSize is more than any list of a built-in kind has before its items. Lists of custom resources have the token behind them: where one
// has several pages the floor would not be that of the audit, and run ends with an error.
const headSize = 2 << 10

var continueField = regexp.MustCompile(`"continue":"([^"]+)"`)

func continueToken(head []byte) string {
	head, _, _ = bytes.Cut(head, []byte(`"items":`))
	if m := continueField.FindSubmatch(head); m != nil {
		return string(m[1])
	}
	return ""
}

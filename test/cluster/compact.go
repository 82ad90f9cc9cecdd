// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
)

// Compact removes every revision but the latest from etcd, so that a list that was started before and is continued
// afterwards returns 410 Gone if anything has changed. The server must run with WithAPIServerFlag("watch-cache",
// "false"), because the watch cache keeps compacted revisions.
func (c *Cluster) Compact(tb testing.TB) {
	tb.Helper()
	var latest struct{ Header struct{ Revision string } }
	if err := c.etcd(tb.Context(), "/v3/kv/range", map[string]any{"key": []byte{0}}, &latest); err != nil {
		tb.Fatalf("asking etcd for its revision: %v", err)
	}
	request := map[string]any{"revision": latest.Header.Revision, "physical": true}
	if err := c.etcd(tb.Context(), "/v3/kv/compaction", request, &struct{}{}); err != nil {
		tb.Fatalf("compacting etcd: %v", err)
	}
}

// etcd calls etcd through its JSON gateway; two requests do not justify a client module.
func (c *Cluster) etcd(ctx context.Context, path string, request, answer any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	url := c.env.ControlPlane.Etcd.URL.JoinPath(path).String()
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(post)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("posting to %s: %s", path, response.Status)
	}
	return json.NewDecoder(response.Body).Decode(answer)
}

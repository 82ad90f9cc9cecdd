// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
)

// TestExpired compacts etcd between the first and the second page of a list.
func TestExpired(t *testing.T) {
	t.Parallel()
	// the watch cache would keep compacted revisions
	c := cluster.Start(t, cluster.WithFleetCRDs(), cluster.WithAPIServerFlag("watch-cache", "false"))
	f := newFleet(t, c)
	const first, last = "{apiVersion: v1, kind: ConfigMap, metadata: {name: aa-first}}",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: zz-last}}"
	f.deploy("guestbook", first+"\n---\n"+last)
	var group errgroup.Group
	group.SetLimit(16)
	for i := range 700 { // a page holds 500
		filler := configMap(fmt.Sprintf("filler-%d", i))
		group.Go(func() error { return c.Client().Create(t.Context(), filler) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	p := f.proxy()
	var once sync.Once
	p.onRequest(func(r *http.Request) {
		if r.URL.Path == "/api/v1/configmaps" && r.URL.Query().Has("continue") {
			once.Do(func() {
				f.Namespace(t, "later") // the revision of the list is no longer the latest
				c.Compact(t)
			})
		}
	})
	expect(t, f.audit("--kubeconfig", p.kubeconfig, "--require-complete"),
		outcome{Deployments: map[string]string{"guestbook": "Ready"}})

	var got []string
	tokens := map[string]bool{}
	for _, r := range p.seen() {
		if r.url.Path == "/api/v1/configmaps" && !r.url.Query().Has("fieldSelector") {
			got = append(got, fmt.Sprintf("%d limit=%s", r.status, r.url.Query().Get("limit")))
			tokens[r.url.Query().Get("continue")] = true
		}
	}
	if diff := cmp.Diff([]string{"200 limit=500", "410 limit=500", "200 limit=500"}, got); diff != "" {
		t.Errorf("the list (-want +got):\n%s", diff)
	}
	if len(tokens) != 3 { // none, the expired token, and the one that the server returned instead
		t.Errorf("%d tokens, want 3: %s", len(tokens), strings.Join(p.requestLines(), "\n"))
	}
}

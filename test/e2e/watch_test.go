// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
)

// TestWatch changes a cluster between the rounds of a watch. Its lines show each change, and the exit status is that of
// the last round.
func TestWatch(t *testing.T) {
	for name, args := range map[string][]string{"audit": {"audit", "--code=FD101"},
		"tree": {"audit", "-o", "tree", "bundle/guestbook"}} {
		t.Run(name, func(t *testing.T) { testWatch(t, args) })
	}
}

func testWatch(t *testing.T, args []string) {
	t.Helper()
	f := newFleet(t, shared)
	f.deploy("guestbook", theme)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	rounds := 0
	env := cli.Environment{Wait: func(ctx context.Context, d time.Duration) error {
		if d != 30*time.Second {
			t.Errorf("it waits %s", d)
		}
		switch rounds++; rounds {
		case 1:
			f.remove(configMap("theme"))
		case 3:
			cancel()
		}
		return ctx.Err()
	}}
	got := runWith(ctx, t, env, append(args, "--kubeconfig", f.kubeconfig, "--watch")...)
	if got.status != 1 || got.stderr != "" {
		t.Errorf("status %d: %s", got.status, got.stderr)
	}
	line := regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ (.*)$`)
	var lines []string
	for s := range strings.Lines(got.stdout) {
		m := line.FindStringSubmatch(strings.TrimSuffix(s, "\n"))
		if m == nil {
			t.Fatalf("a line without time: %q", s)
		}
		if strings.HasPrefix(m[1], "finding FD2") {
			continue // the status of Fleet, which --code hides in an audit
		}
		lines = append(lines, regexp.MustCompile(`FD101-[0-9a-f]+`).ReplaceAllString(m[1], "FD101-ID"))
	}
	want := []string{
		"audit: objects ready: 1/1, bundle deployments: 1, without a result: 0, errors: 0, warnings: 0, not read: 0",
		"bundledeployment " + clusterNamespace + "/guestbook Ready -> Modified",
		"finding FD101-ID error: configmap apps/theme is not on the cluster",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
)

func TestScope(t *testing.T) {
	repo := engine.Target{Kind: engine.TargetGitRepo, Name: "guestbook"}
	for _, tc := range []struct {
		args []string
		want []engine.Target // nil where it is refused
	}{
		{[]string{"gitrepo/guestbook"}, []engine.Target{repo}},
		{[]string{"gitrepos/guestbook"}, []engine.Target{repo}},
		{[]string{"GitRepo/guestbook"}, []engine.Target{repo}},
		{[]string{"gitrepos.fleet.cattle.io/guestbook"}, []engine.Target{repo}},
		{[]string{"gitrepo", "guestbook"}, []engine.Target{repo}},
		{[]string{"gitrepo/fleet-local/guestbook"}, []engine.Target{{Kind: engine.TargetGitRepo, Name: "fleet-local/guestbook"}}},
		{[]string{"gitrepo", "guestbook", "bd/a", "cluster", "b"}, []engine.Target{repo,
			{Kind: engine.TargetBundleDeployment, Name: "a"}, {Kind: engine.TargetCluster, Name: "b"}}},
		{[]string{"helmop/nginx", "bundle/b"}, []engine.Target{{Kind: engine.TargetHelmOp, Name: "nginx"}, {Kind: engine.TargetBundle, Name: "b"}}},
		{[]string{"guestbook"}, nil},
		{[]string{"gitrepo"}, nil},
		{[]string{"gitrepo/"}, nil},
		{[]string{"/guestbook"}, nil},
		{[]string{"gitrepo", ""}, nil},
		{[]string{"pod/a"}, nil},
		{[]string{"gitrepo/guestbook", "more"}, nil},
		{[]string{""}, nil},
	} {
		o := &options{config: genericclioptions.NewConfigFlags(true)}
		got, err := o.scope(tc.args)
		if (err == nil) != (tc.want != nil) {
			t.Errorf("%q: error %v", tc.args, err)
			continue
		}
		if diff := cmp.Diff(tc.want, got.Targets); err == nil && diff != "" {
			t.Errorf("%q (-want +got):\n%s", tc.args, diff)
		}
	}
}

// TestProgress holds that nothing is said of what is done within a second, that a line is not rewritten all the time, and that it goes.
func TestProgress(t *testing.T) {
	var out bytes.Buffer
	clock := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	p := &progress{out: &out, now: func() time.Time { return clock }, start: clock}
	for _, step := range []struct {
		after time.Duration
		want  string
	}{
		{500 * time.Millisecond, ""},
		{499 * time.Millisecond, ""},
		{time.Millisecond, "\r\x1b[Kreading (7 objects)"},
		{50 * time.Millisecond, ""},
		{50 * time.Millisecond, "\r\x1b[Kreading (7 objects)"},
	} {
		clock = clock.Add(step.after)
		out.Reset()
		p.tell(engine.Progress{Doing: "reading", Objects: 7})
		if out.String() != step.want {
			t.Errorf("after %v: %q, want %q", clock.Sub(p.start), out.String(), step.want)
		}
	}
	out.Reset()
	if p.clear(); out.String() != "\r\x1b[K" {
		t.Errorf("at the end: %q", out.String())
	}
	out.Reset()
	silent := newProgress(&out, func() time.Time { return clock }) // a buffer is no terminal
	clock = clock.Add(time.Hour)
	silent.tell(engine.Progress{})
	if silent.clear(); out.Len() > 0 {
		t.Errorf("where there is no terminal: %q", out.String())
	}
}

// TestPrintRBAC holds that the printed role lists and does nothing else, and has the kinds of the capture.
func TestPrintRBAC(t *testing.T) {
	for args, kinds := range map[string][]string{
		"--snapshot ../../../test/testdata/sick --print-rbac": {" configmaps", " secrets", "apps deployments", "fleet.cattle.io bundledeployments", "rbac.authorization.k8s.io clusterroles"},
		"--kubeconfig not-there --print-rbac":                 {" secrets", "apps statefulsets", "networking.k8s.io ingresses"},
	} {
		var out bytes.Buffer
		c := NewCommand(Environment{Streams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out}, Now: time.Now, Name: "kubectl fleetdoctor"})
		c.SetArgs(strings.Fields(args))
		if err := c.ExecuteContext(t.Context()); err != nil {
			t.Fatalf("%s: %v", args, err)
		}
		var role rbacv1.ClusterRole
		if err := yaml.UnmarshalStrict(out.Bytes(), &role); err != nil || role.Kind != "ClusterRole" || role.Name == "" {
			t.Fatalf("%s: no ClusterRole: %v\n%s", args, err, out.String())
		}
		var got []string
		for _, r := range role.Rules {
			if !slices.Equal(r.Verbs, []string{"list"}) || len(r.APIGroups) != 1 || slices.Contains(r.Resources, "*") {
				t.Errorf("%s: the rule %+v does more than list", args, r)
			}
			for _, resource := range r.Resources {
				got = append(got, r.APIGroups[0]+" "+resource)
			}
		}
		for _, k := range kinds {
			if !slices.Contains(got, k) {
				t.Errorf("%s: the role has no %q: %q", args, k, got)
			}
		}
	}
}

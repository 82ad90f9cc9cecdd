// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// execute runs the verb, and returns what it prints.
func execute(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	c := NewCommand(cli.Environment{Streams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out,
		ErrOut: &out}, Now: time.Now, Name: "kubectl fleetdoctor"})
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(args)
	err := c.ExecuteContext(t.Context())
	return out.String(), err
}

// TestPrintRBAC checks that the printed role has only the verb list, and the kinds of the capture.
func TestPrintRBAC(t *testing.T) {
	for args, kinds := range map[string][]string{
		"--snapshot ../../../test/testdata/sick --print-rbac": {" configmaps", " secrets", "apps deployments",
			"fleet.cattle.io bundledeployments", "rbac.authorization.k8s.io clusterroles"},
		"--kubeconfig not-there --print-rbac": {" secrets", "apps statefulsets",
			"networking.k8s.io ingresses"},
	} {
		out, err := execute(t, strings.Fields(args)...)
		if err != nil {
			t.Fatalf("%s: %v", args, err)
		}
		var role rbacv1.ClusterRole
		if err := yaml.UnmarshalStrict([]byte(out), &role); err != nil || role.Kind != "ClusterRole" ||
			role.Name == "" {
			t.Fatalf("%s: no ClusterRole: %v\n%s", args, err, out)
		}
		if !strings.Contains(out, "--require-complete") {
			t.Errorf("%s: it does not describe the limits of the role:\n%s", args, out)
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

// TestForbidden checks that what Fleet reports decides the exit status if nothing may be read, except under
// --require-complete.
func TestForbidden(t *testing.T) {
	withhold := func(reason source.Reason) error { return &evaluate.NoResultError{Reason: string(reason)} }
	unread, notReady := report.Finding{Code: "FD607", Severity: report.Warning},
		report.Finding{Code: "FD611", Severity: report.Warning}
	for _, test := range []struct {
		err      error
		failOn   string
		complete bool
		findings []report.Finding
		want     bool
	}{
		{withhold(source.Forbidden), "warning", false, []report.Finding{unread, notReady}, true},
		{withhold(source.Forbidden), "info", false, []report.Finding{unread, notReady}, true},
		{withhold(source.Forbidden), "error", false, []report.Finding{unread, notReady}, false},
		{withhold(source.Forbidden), "none", false, []report.Finding{unread, notReady}, false},
		{withhold(source.Forbidden), "warning", false, []report.Finding{unread}, false},
		{withhold(source.Forbidden), "warning", true, []report.Finding{unread, notReady}, false},
		{withhold(source.ReadFailed), "warning", false, []report.Finding{unread, notReady}, false},
	} {
		o := &options{failOn: cli.NewEnum(test.failOn, "none", "info", "warning", "error"),
			requireComplete: test.complete}
		if got := o.reported(test.err, &report.Audit{Findings: test.findings}); got != test.want {
			t.Errorf("%+v: got %v", test, got)
		}
	}
}

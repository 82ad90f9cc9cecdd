// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cases"
)

// failing is a Renderer that always returns an error.
type failing struct{ err error }

func (f failing) Render(context.Context, render.Input, render.Cluster) (*render.Result, error) {
	return nil, f.err
}

// TestRenderer checks the effect of each error of a Renderer. An exceeded limit is a gap, not a refusal by Fleet's
// agent. If the process does not start, the audit fails.
func TestRenderer(t *testing.T) {
	c := readCase(t, casesDir+"/desired-never-deployed.yaml")
	find := func(err error) (*audit.Audit, error) {
		return audit.Run(t.Context(), c.open(t), audit.Options{Desired: audit.DesiredAuto, Commands: cases.Commands,
			Renderer: failing{err}})
	}
	found, err := find(&render.LimitError{Bundle: "guestbook", Limit: "10s of processor time"})
	if err != nil {
		t.Fatal(err)
	}
	d := found.Deployments[0]
	if d.Problem != directory.NoReleaseRecord || !strings.HasSuffix(d.Detail,
		"it could not be rendered: it exceeded 10s of processor time") || d.Rendering.Refused != "" ||
		len(d.Rendering.Unresolved) != 1 {
		t.Errorf("problem %s, %q, refused %q, unresolved %q", d.Problem, d.Detail, d.Rendering.Refused,
			d.Rendering.Unresolved)
	}
	if gaps := found.Report().Gaps; len(gaps) != 1 || gaps[0].What != "rendering bundle guestbook" ||
		gaps[0].Why() != "NotResolved: it could not be rendered: it exceeded 10s of processor time" {
		t.Errorf("gaps %+v", gaps)
	}
	if found, err = find(&render.Error{Bundle: "guestbook", Reason: "on purpose"}); err != nil ||
		found.Deployments[0].Rendering.Refused != "on purpose" {
		t.Errorf("refused: error %v", err)
	}
	noProcess := errors.New("no process")
	if _, err := find(noProcess); !errors.Is(err, noProcess) {
		t.Errorf("without a process: error %v", err)
	}
}

// TestRendererLimitOfInstalled checks that a bundle has no result if its contents are requested and cannot be rendered.
// Its release record does not replace the contents.
func TestRendererLimitOfInstalled(t *testing.T) {
	c := readCase(t, casesDir+"/ready.yaml")
	found, err := audit.Run(t.Context(), c.open(t), audit.Options{Desired: audit.DesiredBundle,
		Commands: cases.Commands,
		Renderer: failing{&render.LimitError{Bundle: "guestbook", Limit: "10s of processor time"}}})
	if err != nil {
		t.Fatal(err)
	}
	if n := found.Coverage(); n.Evaluated != 0 || n.Unread != 1 || found.NoResult() == nil {
		t.Errorf("results %+v, error %v", n, found.NoResult())
	}
	got := found.Report()
	d := got.BundleDeployments[0]
	if d.Counts.Desired != 0 || d.DesiredFrom != "" {
		t.Errorf("%d objects desired, from %q", d.Counts.Desired, d.DesiredFrom)
	}
	var codes []string
	for _, f := range got.Findings {
		codes = append(codes, f.Code)
	}
	if !slices.Contains(codes, "FD607") || slices.Contains(codes, "FD105") {
		t.Errorf("findings %q", codes)
	}
	if len(got.Gaps) == 0 || !strings.HasSuffix(got.Gaps[0].Effect, "it has no result") {
		t.Errorf("gaps %+v", got.Gaps)
	}
}

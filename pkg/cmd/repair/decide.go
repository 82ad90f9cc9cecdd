// SPDX-License-Identifier: Apache-2.0

package repair

import (
	"context"
	"fmt"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/output"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/repair"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// notApplied returns the error of a plan that was not applied.
func notApplied(why, hint string) error {
	return &cli.Error{Status: cli.ExitFound, Err: fmt.Errorf("not applied: %s", why), Hint: hint}
}

// decide prints the plan if it must be reviewed, and returns whether to apply it. If not, the error has the exit
// status.
func (s *session) decide(ctx context.Context) (bool, error) {
	writes, digest := s.count(repair.Item.Writes), s.document.Digest
	decided := s.yes || s.confirm != ""
	onlyResult := !s.ForPeople() && s.dryRun.String() == dryRunServer // a program expects one document
	review, anotherPlan := !decided && !onlyResult, s.confirm != "" && s.confirm != digest
	nothingWritten := writes == 0 || s.dryRun.String() == dryRunClient
	if review || anotherPlan || nothingWritten {
		if err := s.print(ctx, s.planKind()); err != nil {
			return false, err
		}
	}
	switch {
	case s.confirm != "" && s.confirm != digest:
		return false, notApplied(fmt.Sprintf("the confirmed plan has the digest %s, the present plan has %s", s.confirm,
			digest),
			"Review the plan above: the cluster has changed.")
	case writes == 0, s.dryRun.String() == dryRunClient:
		return false, s.refusals()
	case decided, s.dryRun.String() == dryRunServer:
		return true, nil
	case s.Captured():
		return false, &cli.Error{Status: cli.ExitFound, Shown: true}
	case !s.ForPeople() || !output.IsTerminal(s.Streams.In):
		return false, notApplied("this is only the plan",
			"--confirm="+digest+" applies exactly this plan, --yes applies a new plan without a review.")
	}
	return s.ask(ctx, writes)
}

// refusals returns the error with the exit status of a plan without objects to write.
func (s *session) refusals() error {
	if slices.ContainsFunc(s.items, func(i repair.Item) bool { return i.Action == report.ActionRefuse }) {
		return &cli.Error{Status: cli.ExitFound, Shown: true}
	}
	return nil
}

// ask asks on the terminal whether to apply the plan.
func (s *session) ask(ctx context.Context, writes int) (bool, error) {
	action := "Repair"
	switch {
	case s.undo != "":
		action = "Restore"
	case s.adopt:
		action = "Adopt"
	}
	yes, err := output.Ask(ctx, s.Streams, fmt.Sprintf("%s %s?", action, report.Plural(writes, "object")))
	switch {
	case err != nil:
		return false, s.interrupted("nothing was written")
	case !yes:
		return false, notApplied("nothing was written", "")
	}
	return true, nil
}

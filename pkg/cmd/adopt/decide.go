// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"context"
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/adopt"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/origin"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// notApplied ends with 1 and has said why, if that is to be said.
func notApplied(why, hint string) error {
	if why == "" {
		return &exit.Error{Status: exit.Found, Shown: true}
	}
	return &exit.Error{Status: exit.Found, Err: fmt.Errorf("not applied: %s", why), Hint: hint}
}

// decide shows the plan where somebody is to look at it, and says whether it is to be applied. Where it is not, the error is the status.
func (s *session) decide(ctx context.Context) (bool, error) {
	writes, digest := s.count(adopt.Item.Writes), adopt.Digest(s.items)
	decided := s.yes || s.confirm != ""
	instead := s.machine() && s.dryRun.String() == dryRunServer // the result is shown: two documents are none
	if !decided && !instead || writes == 0 || s.dryRun.String() == dryRunClient || s.confirm != "" && s.confirm != digest {
		if err := s.print(ctx, report.KindAdoptionPlan); err != nil {
			return false, err
		}
	}
	switch {
	case s.confirm != "" && s.confirm != digest:
		return false, notApplied(fmt.Sprintf("the plan that was confirmed has digest %s, what would be done now has %s", s.confirm, digest),
			"Look at the plan above; the cluster has changed since.")
	case writes == 0, s.dryRun.String() == dryRunClient:
		return false, s.refusals()
	case decided, s.dryRun.String() == dryRunServer:
		return true, nil
	case s.Captured():
		return false, notApplied("", "")
	case s.machine() || !origin.IsTerminal(s.Streams.In):
		return false, notApplied("this is only the plan", "--confirm="+digest+" applies just this one, --yes whatever it has come to.")
	}
	return s.ask(ctx, writes)
}

// machine says whether a program reads the output: it is not asked.
func (s *session) machine() bool {
	return s.output.String() == "json" || s.output.String() == "yaml" || s.output.String() == "name"
}

// refusals is the status of a plan of which nothing is left to be applied.
func (s *session) refusals() error {
	if s.count(refused) > 0 {
		return notApplied("", "")
	}
	return nil
}

// ask asks on the terminal.
func (s *session) ask(ctx context.Context, writes int) (bool, error) {
	verb := "Adopt"
	if s.undo != "" {
		verb = "Restore"
	}
	yes, err := origin.Ask(ctx, s.Streams, fmt.Sprintf("%s %s?", verb, objects(writes)))
	switch {
	case err != nil:
		return false, s.interrupted("nothing was written")
	case !yes:
		return false, notApplied("nothing was written", "")
	}
	return true, nil
}

func objects(n int) string {
	if n == 1 {
		return "1 object"
	}
	return fmt.Sprintf("%d objects", n)
}

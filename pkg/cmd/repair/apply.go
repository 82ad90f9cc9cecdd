// SPDX-License-Identifier: Apache-2.0

package repair

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/preflight"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/repair"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// apply writes the plan, and prints the result.
func (s *session) apply(ctx context.Context) error {
	dry := s.dryRun.String() == dryRunServer
	record := func(int) error { return nil }
	if s.undo == "" && !dry {
		r, err := s.createReceipt(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = r.Close() }() // the previous values were synced before the first write
		record = func(i int) error { return r.Settled(i, s.items[i]) }
	}
	finish, release := s.Interruption.Hold(ctx)
	defer release()
	progress := s.StartProgress()
	defer progress.Clear()
	done := 0
	err := repair.Apply(ctx, finish, s.clients(dry), s.items, func(i int) error {
		done++
		progress.Show("writing", done)
		return record(i)
	})
	if !dry && ctx.Err() == nil {
		s.evaluateAgain(ctx)
	}
	progress.Clear()
	if printErr := s.print(context.WithoutCancel(ctx), s.resultKind()); printErr != nil {
		return errors.Join(err, printErr)
	}
	return s.status(ctx, err)
}

// status returns the error with the exit status: 3 if a write failed or could not be recorded, or after an
// interruption, 1 if objects were refused.
func (s *session) status(ctx context.Context, err error) error {
	unanswered := s.count(func(i repair.Item) bool { return i.Unanswered })
	switch {
	case unanswered > 0 && s.dryRun.String() != dryRunServer:
		return s.interrupted(fmt.Sprintf("the server did not answer the write of %s, which may be stored; the other "+
			"objects were not tried", report.Plural(unanswered, "object")), s.resume())
	case err != nil && ctx.Err() != nil:
		return s.interrupted("the pending writes were completed, the other objects were not tried", s.resume())
	case err != nil:
		return cli.Failure(err, s.resume())
	case slices.ContainsFunc(s.items, func(i repair.Item) bool {
		return i.Outcome == report.OutcomeFailed || i.Outcome == report.OutcomeChanged
	}):
		return &cli.Error{Status: cli.ExitFailed, Shown: true}
	}
	return s.refusals()
}

// resume explains how to continue after an interruption.
func (s *session) resume() string {
	if s.undo != "" {
		return "Run the same command again to continue."
	}
	return fmt.Sprintf("%s %s restores the previous values; run %s again to continue.", s.undoCommand(),
		escape.Shell(s.document.Receipt), s.name())
}

// createReceipt creates the receipt and syncs it to disk. Nothing is written to the cluster before.
func (s *session) createReceipt(ctx context.Context) (*repair.Receipt, error) {
	uid, err := s.clusterUID(ctx) // --undo refuses a receipt without it
	if err != nil {
		return nil, fmt.Errorf("writing the receipt: %w", err)
	}
	now := s.Now().UTC()
	h := repair.Header{TakenAt: now.Format(time.RFC3339), Version: s.Version, Server: s.document.Source.Server,
		ClusterUID: uid, Digest: s.document.Digest}
	others, err := s.otherClusters(ctx)
	if err != nil {
		return nil, fmt.Errorf("writing the receipt: %w", err)
	}
	base := "fleetdoctor-" + s.name() + "-" + now.Format("20060102-150405")
	path := cmp.Or(s.receipt, base+".jsonl")
	r, err := repair.CreateReceipt(path, h, s.items, others)
	for n := 2; s.receipt == "" && errors.Is(err, fs.ErrExist); n++ { // another run started in this second
		path = fmt.Sprintf("%s-%d.jsonl", base, n)
		r, err = repair.CreateReceipt(path, h, s.items, others)
	}
	if err != nil {
		return nil, cli.Failure(err, "Nothing was changed on the cluster. --receipt names another file.")
	}
	s.document.Receipt = path
	if s.ForPeople() {
		fmt.Fprintf(s.Streams.ErrOut, "Recording the previous values in %s\n", escape.Line(path))
	}
	return r, nil
}

// evaluateAgain evaluates the bundle deployments whose objects were written. If that fails, the result is printed
// without their counts.
func (s *session) evaluateAgain(ctx context.Context) {
	written, deployed := map[string]bool{}, map[string]bool{}
	for _, i := range s.items {
		removed := i.Action == report.ActionRemove && i.Kind == "BundleDeployment"
		if i.Outcome == report.OutcomeDone && !removed {
			written[i.BundleDeployment] = true
			deployed[i.BundleDeployment] = deployed[i.BundleDeployment] || i.Action == report.ActionDeploy
		}
	}
	if len(written) == 0 || s.found == nil {
		return
	}
	var scope []object.DeploymentID
	counts := map[object.DeploymentID]report.Counts{}
	for _, d := range s.found.Deployments {
		if written[d.Key()] {
			scope = append(scope, d.ID())
			counts[d.ID()] = d.Counts
		}
	}
	now, err := s.found.Again(ctx, scope)
	if err != nil {
		s.document.Notes = append(s.document.Notes, "the bundles could not be read again: "+err.Error())
		return
	}
	in := s.found.Input()
	for _, d := range now {
		before, after := counts[d.ID()], d.Counts
		after.Orphaned = before.Orphaned // orphans are not read again
		if n := after.Unknown - before.Unknown; n > 0 {
			s.document.Notes = append(s.document.Notes,
				fmt.Sprintf("%s of bundle deployment %s could not be read again, and count as not ready",
					report.Plural(n, "object"), d.Key()))
		}
		out := report.RepairedDeployment{Namespace: d.Namespace, Name: d.Name, Before: before, After: after}
		switch condition := preflight.FailedDeploy(d); {
		case condition == "", s.undo != "":
		case deployed[d.Key()]:
			out.Failed = "its agent has been asked to deploy it again"
		default:
			out.Failed = "the last deploy failed" + in.Facts.SaidOf(&d.Deployment, condition)
			out.Remedies = []report.Remedy{in.RetryNow(d, condition)}
		}
		s.document.Deployments = append(s.document.Deployments, out)
	}
}

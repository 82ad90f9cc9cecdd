// SPDX-License-Identifier: Apache-2.0

// Package compare is the verb compare.
package compare

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/flags"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/query"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/scope"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/comparison"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// NewCommand returns the verb.
func NewCommand(env verb.Environment) *cobra.Command {
	o := &options{Options: query.New(env)}
	c := &cobra.Command{Use: "compare BEFORE [AFTER]", Short: "Show what got better and worse between two audits"}
	o.Setup(c, o, scope.NamespaceUsage)
	o.AddRowsFlag(c, report.Comparison{}, "findings")
	c.Flags().Var(&o.asVersion, flags.AsVersionFlag,
		"Compare a snapshot with itself, evaluated for this version of Fleet")
	return c
}

// Run implements verb.Options.
func (o *options) Run(ctx context.Context) error {
	before, err := o.open(ctx, o.before)
	if err != nil {
		return err
	}
	result, err := o.compare(ctx, before)
	if err != nil {
		return o.explain(err)
	}
	if err := o.Print(ctx, printers.Comparison(result, o.Document)); err != nil {
		return err
	}
	return status(result)
}

// compare reads the other side and compares.
func (o *options) compare(ctx context.Context, before *side) (*report.Comparison, error) {
	if v := o.asVersion.String(); v != "" {
		return o.versions(ctx, before, v)
	}
	first, err := o.audit(ctx, before, "")
	if err != nil {
		return nil, err
	}
	before.source = nil // release the snapshot
	after := &side{}
	if o.after != "" {
		after, err = o.open(ctx, o.after)
	}
	if err != nil {
		return nil, err
	}
	second, err := o.audit(ctx, after, "")
	if err != nil {
		return nil, err
	}
	if err := comparison.Comparable(first, second); err != nil {
		return nil, err
	}
	out := comparison.Compare(first, second, o.Version)
	out.Notes = append(out.Notes, comparison.ClusterNotes(first, second)...)
	return out, nil
}

// versions compares a snapshot with itself under another version of Fleet.
func (o *options) versions(ctx context.Context, of *side, version string) (*report.Comparison, error) {
	if of.report != nil {
		return nil, exit.UsageError(fmt.Errorf("--%s requires a snapshot, and %s is a report: the objects that were "+
			"evaluated are not in it", flags.AsVersionFlag, o.before))
	}
	first, err := o.audit(ctx, of, "")
	if err != nil {
		return nil, err
	}
	second, err := o.audit(ctx, of, version)
	if err != nil {
		return nil, err
	}
	out := comparison.Compare(first, second, o.Version)
	out.After.AsVersion = version
	out.After.Source.FleetVersions = first.Source.FleetVersions
	return out, nil
}

// explain adds the next step to an error.
func (o *options) explain(err error) error {
	if errors.Is(err, comparison.ErrNotComparable) {
		return exit.Failure(err, "Make both audits of one cluster, with the same arguments.")
	}
	return o.Explain(err)
}

// status returns the error with the exit status of a comparison.
func status(c *report.Comparison) error {
	s := c.Summary
	switch {
	case s.BundleDeployments.Worse+s.Findings.Worse+s.Resources.Worse > 0:
		return &exit.Error{Status: exit.Found, Shown: true}
	case !s.Complete:
		return exit.Failure(errors.New("it is not known whether something got worse: one of the audits could not "+
			"read everything"),
			"The section NOT KNOWN lists what that is about.")
	}
	return nil
}

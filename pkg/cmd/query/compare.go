// SPDX-License-Identifier: Apache-2.0

package query

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// NewCompare returns the verb.
func NewCompare(env cli.Environment) *cobra.Command {
	o := &compareVerb{Options: New(env)}
	c := &cobra.Command{Use: "compare BEFORE [AFTER]", Short: "Show what got better and worse between two audits"}
	o.Setup(c, o, input.NamespaceUsage)
	o.AddRowsFlag(c, report.Comparison{}, "findings")
	c.Flags().Var(&o.asVersion, cli.AsVersionFlag,
		"Compare a snapshot with itself, evaluated for this version of Fleet")
	return c
}

// Run implements cli.Options.
func (o *compareVerb) Run(ctx context.Context) error {
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
func (o *compareVerb) compare(ctx context.Context, before *side) (*report.Comparison, error) {
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
	if err := report.Comparable(first, second); err != nil {
		return nil, err
	}
	out := report.Compare(first, second, o.Version)
	out.Notes = append(out.Notes, report.ClusterNotes(first, second)...)
	return out, nil
}

// versions compares a snapshot with itself under another version of Fleet.
func (o *compareVerb) versions(ctx context.Context, of *side, version string) (*report.Comparison, error) {
	if of.report != nil {
		return nil, cli.UsageError(fmt.Errorf("--%s requires a snapshot, and %s is a report: the objects that were "+
			"evaluated are not in it", cli.AsVersionFlag, o.before))
	}
	first, err := o.audit(ctx, of, "")
	if err != nil {
		return nil, err
	}
	second, err := o.audit(ctx, of, version)
	if err != nil {
		return nil, err
	}
	out := report.Compare(first, second, o.Version)
	out.After.AsVersion = version
	out.After.Source.FleetVersions = first.Source.FleetVersions
	return out, nil
}

// explain adds the next step to an error.
func (o *compareVerb) explain(err error) error {
	if errors.Is(err, report.ErrNotComparable) {
		return cli.Failure(err, "Make both audits of one cluster, with the same arguments.")
	}
	return o.Explain(err)
}

// status returns the error with the exit status of a comparison.
func status(c *report.Comparison) error {
	s := c.Summary
	switch {
	case s.BundleDeployments.Worse+s.Findings.Worse+s.Resources.Worse > 0:
		return &cli.Error{Status: cli.ExitFound, Shown: true}
	case !s.Complete:
		return cli.Failure(errors.New("it is not known whether something got worse: one of the audits could not "+
			"read everything"),
			"The section NOT KNOWN lists what that is about.")
	}
	return nil
}

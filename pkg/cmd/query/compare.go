// SPDX-License-Identifier: Apache-2.0

package query

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"

	"github.com/spf13/cobra"

	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot"
)

// side is one of the two sides: a report, a snapshot, or neither for the current cluster.
type side struct {
	report *report.Audit
	source source.Source
	path   string // of the snapshot
}

// nameFile is the next step after an error of reading an argument.
const nameFile = "Name a snapshot, or a report of audit -o json."

// sniffed is the number of bytes by which a report is recognized.
const sniffed = 4 << 10

// reportHead matches the beginning of a report in JSON or YAML.
var reportHead = regexp.MustCompile(`^\s*\{?\s*"?apiVersion"?:\s*"?fleetdoctor\.io/`)

// open opens an argument. A pipe can only be read once, so its beginning decides what it is.
func (o *compareVerb) open(ctx context.Context, name string) (*side, error) {
	in, stat := o.Streams.In, os.ModeNamedPipe
	if name != "-" {
		info, err := os.Stat(name)
		if err != nil {
			return nil, cli.Failure(fmt.Errorf("opening %s: %w", name, err), nameFile)
		}
		stat = info.Mode()
		if !stat.IsDir() {
			f, err := os.Open(name)
			if err != nil {
				return nil, cli.Failure(err, nameFile)
			}
			defer func() { _ = f.Close() }() // it was only read
			in = f
		}
	}
	if !stat.IsDir() {
		buffered := bufio.NewReaderSize(in, sniffed)
		if head, _ := buffered.Peek(sniffed); reportHead.Match(head) { // the next read returns the error
			return readReport(name, buffered)
		}
		in = buffered
	}
	defer o.progress("reading the snapshot " + name).Clear()
	paths := []string{name}
	if !stat.IsDir() && !stat.IsRegular() {
		paths = []string{"-"}
	}
	s, err := snapshot.Open(ctx, paths, in)
	if err != nil {
		return nil, o.ExplainSnapshot(name, err, nameFile)
	}
	return &side{source: s, path: name}, nil
}

func readReport(name string, in io.Reader) (*side, error) {
	content, err := input.ReadLimited(name, in, report.MaxReport)
	if err != nil {
		return nil, &cli.Error{Status: cli.ExitFailed, Err: err}
	}
	a, err := report.DecodeAudit(name, content)
	if err != nil {
		return nil, cli.Failure(err, "audit -o json > REPORT makes a report that can be compared.")
	}
	return &side{report: a}, nil
}

// audit returns the report of a side, evaluated for a version of Fleet; empty for those that run.
func (o *compareVerb) audit(ctx context.Context, s *side, version string) (*report.Audit, error) {
	if s.report != nil {
		return s.report, nil
	}
	run := func(src source.Source, in *input.Reading) (*report.Audit, error) {
		how := o.Audit(in)
		how.Scope, how.AsVersion = evaluate.Scope{Namespace: *o.Config.Namespace}, version
		found, err := engine.Run(ctx, src, how)
		if err != nil {
			return nil, err
		}
		out := found.Report()
		if out.Source.ClusterUID == "" {
			out.Source.ClusterUID, _, err = source.ClusterUID(ctx, src)
		}
		return out, err
	}
	if s.source != nil {
		in := o.progress("evaluating")
		defer in.Clear()
		out, err := run(s.source, in)
		return out, o.ExplainSnapshot(s.path, err, nameFile)
	}
	var out *report.Audit
	err := o.Read(ctx, func(in *input.Reading) (err error) {
		out, err = run(in.Source, in)
		return err
	})
	return out, err
}

// compareVerb are what the verb runs with.
type compareVerb struct {
	*Options
	asVersion     cli.FleetVersion
	before, after string // after is empty for the current cluster
}

// Complete implements cli.Options.
func (o *compareVerb) Complete(args []string) error {
	switch len(args) {
	case 1:
		o.before = args[0]
	case 2:
		o.before, o.after = args[0], args[1]
	default:
		return errors.New("one or two arguments are required: snapshots or reports")
	}
	return nil
}

// Validate implements cli.Options.
func (o *compareVerb) Validate() error {
	switch {
	case o.asVersion.String() != "" && (o.after != "" || o.Captured()):
		return errors.New("--" + cli.AsVersionFlag + " takes one snapshot: it is compared with itself")
	case o.after != "" && o.Captured():
		return errors.New("AFTER and --snapshot are mutually exclusive")
	case o.before == "-" && o.after == "-":
		return errors.New("standard input can only be read once")
	}
	return nil
}

// progress shows what is being read.
func (o *compareVerb) progress(doing string) *input.Reading {
	r := &input.Reading{Progress: o.StartProgress()}
	r.Show(doing, 0)
	return r
}

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
	version := o.asVersion.String()
	if version != "" && before.report != nil {
		return nil, cli.UsageError(fmt.Errorf("--%s requires a snapshot, and %s is a report: the objects that were "+
			"evaluated are not in it", cli.AsVersionFlag, o.before))
	}
	first, err := o.audit(ctx, before, "")
	if err != nil {
		return nil, err
	}
	after := before // with --as-version, the snapshot is compared with itself
	if version == "" {
		before.source = nil // release the snapshot
		after = &side{}
	}
	if o.after != "" {
		after, err = o.open(ctx, o.after)
	}
	if err != nil {
		return nil, err
	}
	second, err := o.audit(ctx, after, version)
	if err != nil {
		return nil, err
	}
	if err := report.Comparable(first, second); version == "" && err != nil {
		return nil, err
	}
	out := report.Compare(first, second, o.Version)
	if version != "" {
		out.After.AsVersion, out.After.Source.FleetVersions = version, first.Source.FleetVersions
		return out, nil
	}
	out.Notes = append(out.Notes, report.ClusterNotes(first, second)...)
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

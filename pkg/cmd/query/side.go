// SPDX-License-Identifier: Apache-2.0

package query

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"regexp"

	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
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

// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/output"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/query"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// NewVersion returns the verb.
func NewVersion(env cli.Environment) *cobra.Command {
	o := &versionOptions{Flags: input.New(env), print: output.NewPrintFlags()}
	c := &cobra.Command{Use: "version", Short: "Show the versions of this program, of Kubernetes and of Fleet",
		Args: cli.NoCommand, ValidArgsFunction: cobra.NoFileCompletions, RunE: cli.RunE(o)}
	o.AddFlags(c.Flags(), "Has no effect: the versions are those of the cluster")
	o.print.AddFlags(c)
	c.Flags().BoolVar(&o.client, "client", false, "Show only the version of this program; read no cluster")
	return c
}

// versionOptions are the flags, and what the verb runs with.
type versionOptions struct {
	*input.Flags
	print  *output.PrintFlags
	show   output.Printer
	client bool
}

// Complete implements cli.Options.
func (o *versionOptions) Complete([]string) error {
	var err error
	o.show, err = o.print.ToPrinter()
	return err
}

// Validate implements cli.Options.
func (o *versionOptions) Validate() error {
	if o.client && o.Captured() {
		return errors.New("--client and --snapshot are mutually exclusive: the first reads nothing")
	}
	return nil
}

// Run implements cli.Options. The version of this program is also printed if the cluster could not be read.
func (o *versionOptions) Run(ctx context.Context) error {
	v := &report.Version{APIVersion: report.APIVersion, Kind: report.KindVersion, Client: client(o.Environment),
		Gaps: []report.Gap{}}
	var failed error
	if !o.client {
		failed = o.Read(ctx, func(in *input.Reading) error {
			found, gaps, err := query.Versions(ctx, in.Source, query.AgentsOptions{Progress: in.Report})
			if err == nil {
				v.Source, v.Gaps = &found, gaps
			}
			return err
		})
		if cli.ExitStatus(failed) == cli.ExitUsage {
			return failed
		}
	}
	document := printers.Version(v, printers.Options{Width: output.Width(o.Streams.Out)})
	if err := o.show.Print(ctx, o.Streams.Out, document); err != nil {
		return err
	}
	return failed
}

// client is the version of this program. The commit is that of the environment or, for a build by the go command, the
// one that this command records.
func client(env cli.Environment) report.ClientVersion {
	out := report.ClientVersion{Version: env.Version, GitCommit: env.Commit, GoVersion: runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if built, ok := debug.ReadBuildInfo(); ok && out.GitCommit == "" {
		for _, s := range built.Settings {
			if s.Key == "vcs.revision" {
				out.GitCommit = s.Value
			}
		}
	}
	return out
}

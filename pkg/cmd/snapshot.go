// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/output"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/snapshot"
	format "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot"
)

// snapshotOptions are the flags of the verb.
type snapshotOptions struct {
	*input.Flags
	output          string
	requireComplete bool
	withBundles     bool
	sameMasks       bool
	stream          bool // output is a pipe or a device, which cannot be replaced by a file
	command         *cobra.Command
}

// NewSnapshot returns the verb.
func NewSnapshot(env cli.Environment) *cobra.Command {
	o := &snapshotOptions{Flags: input.New(env)}
	c := &cobra.Command{Use: "snapshot [-o FILE.tar.gz]",
		Short: "Write what an audit reads to an archive, with the values of Secrets masked",
		Args:  cobra.ArbitraryArgs, RunE: cli.RunE(o)}
	o.command = c
	o.AddFlags(c.Flags(), "Workspace that is read too if listing all namespaces is forbidden")
	c.Flags().StringVarP(&o.output, "output", "o", "",
		"File to write, or - for standard output (default fleetdoctor-snapshot-TIME.tar.gz)")
	c.Flags().BoolVar(&o.withBundles, "with-bundles", false,
		"Also write the files and Helm values of bundles, and the data of all ConfigMaps: they may contain passwords")
	c.Flags().BoolVar(&o.sameMasks, "same-masks", false,
		"Give equal values equal masks in the whole archive: who can write objects to the cluster can then check "+
			"guesses")
	c.Flags().BoolVar(&o.requireComplete, "require-complete", false,
		"Write no archive and exit with status 3 if anything could not be read")
	return c
}

// Complete implements cli.Options.
func (o *snapshotOptions) Complete(args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("unknown argument %q: a snapshot has the whole cluster; name the file with -o FILE", args[0])
	}
	if o.output == "" {
		o.output = "fleetdoctor-snapshot-" + o.Now().UTC().Format("20060102T150405Z") + ".tar.gz"
	}
	return nil
}

// Validate implements cli.Options. It finds a wrong file before the cluster is read, which may take minutes.
func (o *snapshotOptions) Validate() error {
	if o.output == "-" && output.IsTerminal(o.Streams.Out) {
		return errors.New("-o - writes a compressed archive, which a terminal cannot show: name a file with -o FILE, " +
			"or redirect the output")
	}
	if name, _, _ := strings.Cut(o.output, "="); slices.Contains(formats(o.command.Root()), name) {
		return fmt.Errorf("-o names a file, but %q is an output format of other verbs: use -o %s.tar.gz, or -o ./%s "+
			"for a file of that name", o.output, name, o.output)
	}
	if err := o.validateFile(); err != nil {
		return err
	}
	if (o.stream || o.output == "-") && o.requireComplete {
		return fmt.Errorf("-o %s and --require-complete are mutually exclusive: what was written to a stream cannot "+
			"be withdrawn", o.output)
	}
	return nil
}

// validateFile finds out what a file is that exists.
func (o *snapshotOptions) validateFile() error {
	if o.output == "-" {
		return nil
	}
	if info, err := os.Stat(o.output); err == nil {
		o.stream = !info.Mode().IsRegular()
		if info.IsDir() {
			return fmt.Errorf("-o %s is a directory: name a file in it", o.output)
		}
	} else if _, err := os.Readlink(o.output); err == nil { // os.Rename would replace it
		return fmt.Errorf("-o %s is a link that leads to no file: name a file, or remove the link", o.output)
	}
	return nil
}

// Run implements cli.Options.
func (o *snapshotOptions) Run(ctx context.Context) error {
	var m *format.Manifest
	if err := o.Read(ctx, func(in *input.Reading) (err error) {
		take := func(out io.Writer) error {
			m, err = engine.Take(ctx, in.Source, out, engine.Options{Namespace: *o.Config.Namespace,
				Bundles: o.withBundles, SameMasks: o.sameMasks, Version: o.Version, Renderer: o.Renderer,
				Pause:    o.Pause,
				Progress: in.Report})
			return err
		}
		if o.output == "-" {
			return o.failed(take(o.Streams.Out), "/dev/stdout")
		}
		return o.write(ctx, func(out io.Writer) error {
			if err := take(out); err != nil || !o.requireComplete || len(m.Gaps) == 0 {
				return err
			}
			return cli.Failure(fmt.Errorf("taking a snapshot: %s: %s", m.Gaps[0].What, m.Gaps[0].Why()),
				"--require-complete refuses a snapshot that lacks anything. Without it, the snapshot states what it "+
					"lacks.")
		})
	}); err != nil {
		return err
	}
	o.summary(m)
	return nil
}

// write writes the file with a function. It appears under its name when it is complete, and replaces an earlier one.
func (o *snapshotOptions) write(ctx context.Context, take func(io.Writer) error) (err error) {
	if o.stream {
		return o.writeStream(take)
	}
	name := o.output
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target // a link remains one
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*.partial") // only the user can read it
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return o.failed(err, e.Path)
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if err := take(f); err != nil {
		_ = f.Close() // the first error is the one to show
		return o.failed(err, f.Name())
	}
	if err := errors.Join(f.Sync(), f.Close(), ctx.Err()); err != nil {
		return o.failed(err, f.Name())
	}
	return o.failed(os.Rename(f.Name(), name), f.Name())
}

// writeStream writes to a pipe or a device.
func (o *snapshotOptions) writeStream(take func(io.Writer) error) error {
	f, err := os.OpenFile(o.output, os.O_WRONLY, 0)
	if err != nil {
		return o.failed(err, o.output)
	}
	return o.failed(errors.Join(take(f), f.Close()), o.output)
}

// failed names the file that the user named in an error of the written file, which may have a temporary name.
func (o *snapshotOptions) failed(err error, written string) error {
	var cause error
	if e, ok := errors.AsType[*fs.PathError](err); ok && e.Path == written {
		cause = e.Err
	} else if e, ok := errors.AsType[*os.LinkError](err); ok {
		cause = e.Err
	}
	if cause == nil {
		return err
	}
	return cli.Failure(fmt.Errorf("writing %s: %w", o.target(), cause), "-o FILE names another file.")
}

// target names what is written.
func (o *snapshotOptions) target() string {
	if o.output == "-" {
		return "standard output"
	}
	return o.output
}

// formats returns the output formats of all verbs. In a script that is written for another verb, -o names one of them.
func formats(c *cobra.Command) []string {
	var out []string
	if complete, ok := c.GetFlagCompletionFunc("output"); ok {
		out, _ = complete(c, nil, "")
	}
	for _, verb := range c.Commands() {
		out = append(out, formats(verb)...)
	}
	return out
}

// summary writes what the archive has, and what it lacks, to standard error: standard output may be the archive.
func (o *snapshotOptions) summary(m *format.Manifest) {
	out := escape.TextWriter(o.Streams.ErrOut)
	objects := 0
	for _, c := range m.Captured {
		objects += c.Objects
	}
	fmt.Fprintf(out, "wrote %d objects to %s; the values of Secrets are masked in %d of them\n", objects, o.target(),
		m.Masked.Objects)
	if m.Bundles {
		fmt.Fprintln(out, "warning: it has the files and Helm values of bundles and the data of ConfigMaps as they "+
			"are: they may contain passwords")
	}
	for _, g := range m.Gaps {
		fmt.Fprintf(out, "gap: %s: %s: %s\n", g.What, g.Why(), g.Effect)
	}
	if !m.Complete {
		fmt.Fprintln(out, "note: the source is a capture, which may lack objects without stating it")
	}
}

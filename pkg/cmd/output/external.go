// SPDX-License-Identifier: Apache-2.0

package output

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// variable is the environment variable of kubectl diff that names another program, with arguments.
const variable = "KUBECTL_EXTERNAL_DIFF"

// late is how long the output of a program that was ended is awaited.
const late = 100 * time.Millisecond

// external passes objects to the program of the user.
type external struct {
	command string
	objects []modified
}

// modified is an object with fields that differ. The cluster is empty if the verb evaluates only one.
type modified struct {
	cluster     string
	ref         object.Ref
	differences []report.Difference
}

func (e *external) add(cluster string, ref object.Ref, differences []report.Difference) {
	e.objects = append(e.objects, modified{cluster, ref, differences})
}

func (e *external) run(ctx context.Context, env cli.Environment) (err error) {
	dir, err := os.MkdirTemp("", "fleetdoctor-diff-") // only the user can read it
	if err != nil {
		return fmt.Errorf("making a directory for %s: %w", variable, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	from, to := filepath.Join(dir, "bundle"), filepath.Join(dir, "cluster")
	for side, value := range map[string]digest.Side{from: digest.Bundle, to: digest.Cluster} {
		if err := e.write(side, value); err != nil {
			return fmt.Errorf("writing the files for %s: %w", variable, err)
		}
	}
	program, arguments, ignored := parse(e.command)
	for _, a := range ignored {
		fmt.Fprintf(escape.TextWriter(env.Streams.ErrOut),
			"%s: the argument %q is ignored, as kubectl diff does: it has other characters than letters, digits, - "+
				"and =\n", variable, a)
	}
	// Like kubectl, this runs what the user configured.
	c := exec.CommandContext(ctx, program, append([]string{from, to}, arguments...)...) // #nosec G204
	c.Stdout, c.Stderr, c.WaitDelay = env.OutFile(), env.Streams.ErrOut, late
	err = c.Run()
	if e, ended := errors.AsType[*exec.ExitError](err); err == nil || ended && e.ExitCode() == 1 {
		return nil
	}
	return fmt.Errorf("running %q of %s: %w", program, variable, err)
}

// parse splits the value of the variable as kubectl diff does: at blanks. It ignores arguments with other characters
// than letters, digits, - and =.
func parse(command string) (program string, arguments, ignored []string) {
	words := strings.Split(command, " ")
	for _, a := range words[1:] {
		switch {
		case argument.MatchString(a):
			arguments = append(arguments, a)
		case a != "":
			ignored = append(ignored, a)
		}
	}
	return words[0], arguments, ignored
}

var argument = regexp.MustCompile(`^[a-zA-Z0-9-=]+$`)

// write writes the files of one side.
func (e *external) write(dir string, side digest.Side) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	clusters := map[string]bool{}
	for _, o := range e.objects {
		clusters[o.cluster] = true
	}
	taken := map[string]int{}
	for _, o := range e.objects {
		name := o.fileName(len(clusters) > 1)
		if taken[name]++; taken[name] > 1 {
			name += fmt.Sprintf("-%d", taken[name])
		}
		document := digest.NewFields(append(identity(o.ref), o.differences...)).Document(side)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(document.String()), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// identity returns fields that identify an object, with the same value on both sides.
func identity(r object.Ref) []report.Difference {
	var out []report.Difference
	for _, f := range []struct {
		value string
		steps []report.Step
	}{
		{r.APIVersion, []report.Step{{Name: "apiVersion"}}},
		{r.Kind, []report.Step{{Name: "kind"}}},
		{r.Name, []report.Step{{Name: "metadata"}, {Name: "name"}}},
		{r.Namespace, []report.Step{{Name: "metadata"}, {Name: "namespace"}}},
	} {
		if v := evaluate.Plain(f.value); f.value != "" {
			out = append(out, report.Difference{Steps: f.steps, Desired: v, Live: v})
		}
	}
	return out
}

// maxName is the greatest length of the name of a file, with room for a number.
const maxName = 200

// fileName is the name that kubectl diff gives to a file, without characters that act on a path.
func (o *modified) fileName(withCluster bool) string {
	gv, err := schema.ParseGroupVersion(o.ref.APIVersion)
	if err != nil {
		gv.Version = o.ref.APIVersion
	}
	var parts []string
	if withCluster {
		parts = append(parts, cmp.Or(o.cluster, "unknown"))
	}
	if gv.Group != "" {
		parts = append(parts, gv.Group)
	}
	parts = append(parts, gv.Version, o.ref.Kind, o.ref.Namespace, o.ref.Name)
	name := strings.TrimLeft(special.ReplaceAllString(strings.Join(parts, "."), "_"), ".")
	return name[:min(len(name), maxName)]
}

// special are characters with a meaning in a path, in a shell or on a terminal.
var special = regexp.MustCompile(`[^a-zA-Z0-9._-]`)

// DiffFlags mirror the flags.
type DiffFlags struct {
	diff, full bool
	external   external
}

// AddFlags adds the flags. usage is the usage of --diff.
func (f *DiffFlags) AddFlags(fs *pflag.FlagSet, usage string) {
	fs.BoolVar(&f.diff, "diff", false, usage+". "+variable+" names another program for it, as for kubectl diff")
	fs.BoolVar(&f.full, "full", false, "Show long lines and long values of --diff in full")
}

// Validate refuses a combination of flags without an effect.
func (f *DiffFlags) Validate() error {
	if f.full && !f.diff {
		return errors.New("--full requires --diff: it shows its values in full")
	}
	return nil
}

// Set sets the options of a printed document. If it is for people, and the user has a program for differences, the
// document leaves the values to it; Run then starts it.
func (f *DiffFlags) Set(o *printers.Options, forPeople bool) {
	o.Diff, o.Full = f.diff, f.full
	if command := os.Getenv(variable); f.diff && forPeople && command != "" {
		f.external = external{command: command}
		o.ExternalDiff = f.external.add
	}
}

// Run starts the program of the user, if Set selected it and the document has differences. As for kubectl diff, the
// program gets two directories with one file for each object, and its exit status is 0 or 1. The directories are
// removed before Run returns, also after an interruption.
func (f *DiffFlags) Run(ctx context.Context, env cli.Environment) error {
	program := f.external
	f.external.objects = nil // another document may follow
	if len(program.objects) == 0 {
		return nil
	}
	_, release := env.Interruption.Hold(ctx) // the process must not end before the files are removed
	defer release()
	if err := program.run(ctx, env); err != nil {
		if ctx.Err() != nil {
			fmt.Fprintln(env.Streams.ErrOut, "interrupted: the output may be incomplete")
			return &cli.Error{Status: cli.ExitFailed, Err: ctx.Err(), Shown: true}
		}
		return cli.Failure(err,
			variable+" must name a program that compares two directories, and exits with 0 or 1. Without it, "+
				"--diff prints a unified diff.")
	}
	return nil
}

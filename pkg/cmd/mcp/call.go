// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/pflag"
	"golang.org/x/sync/semaphore"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
)

// maxCalls is the number of calls that run at the same time. Each may hold the data of a cluster.
const maxCalls = 2

// Main runs a command line of the program in an environment, and returns the exit status. args are without the name of
// the program.
type Main func(ctx context.Context, args []string, env cli.Environment) int

// caller runs the verbs of tools.
type caller struct {
	*input.Flags                // of the server
	given        *pflag.FlagSet // all flags of the server
	main         Main
	running      *semaphore.Weighted // one for each call
}

// arguments are those of a call, by their names. They are valid for the schema of the tool.
type arguments map[string]any

// texts returns the texts of an argument: those of a list, or one. It is empty without the argument.
func (a arguments) texts(name string) []string {
	switch v := a[name].(type) {
	case nil:
		return nil
	case []any:
		var out []string
		for _, x := range v {
			out = append(out, fmt.Sprint(x))
		}
		return out
	default:
		return []string{fmt.Sprint(v)}
	}
}

// call runs the verb of a tool, and returns what it prints. An error is one of the arguments, or that of ctx.
func (c *caller) call(ctx context.Context, t *tool, in arguments) (*mcp.CallToolResult, error) {
	if err := t.check(in); err != nil {
		return nil, err
	}
	if err := c.running.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer c.running.Release(1)
	var out, errOut bytes.Buffer
	env := c.Environment
	env.Streams = genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut}
	env.ReadOnly = true
	status := c.main(ctx, c.commandLine(t, in), env)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	a := answer{status: status, out: out.String(), errOut: errOut.String(), narrower: t.narrower}
	if format := in.texts(formatArgument); len(format) > 0 && format[0] == jsonFormat {
		return a.document(), nil
	}
	return a.text(), nil
}

// check refuses texts that a verb could take for something else than a name or a value.
func (t *tool) check(in arguments) error {
	for _, name := range slices.Sorted(maps.Keys(in)) {
		for _, text := range in.texts(name) {
			switch {
			case text == "":
				return fmt.Errorf("argument %s is empty: leave it out, or state a value", name)
			case strings.ContainsFunc(text, unicode.IsControl):
				return fmt.Errorf("argument %s is %q: it must not have line breaks or other control characters", name,
					text)
			case name == t.words && strings.HasPrefix(text, "-"):
				return fmt.Errorf("argument %s is %q: it must not begin with -, because flags are only those of the "+
					"command line of the server", name, text)
			}
		}
	}
	return nil
}

// commandLine returns the command line of a call. No argument can become another flag: each value follows an equals
// sign, and the words follow the end of the flags.
func (c *caller) commandLine(t *tool, in arguments) []string {
	args := append([]string{t.verb, "--color=never"}, t.fixed...)
	args = append(args, c.sourceFlags(t.reads)...)
	for _, name := range t.flags {
		for _, value := range in.texts(name) {
			args = append(args, "--"+name+"="+value)
		}
	}
	if format := in.texts(formatArgument); len(format) > 0 && format[0] == jsonFormat {
		args = append(args, "--output=json")
	}
	return append(append(args, "--"), in.texts(t.words)...)
}

// sourceFlags returns the flags of the server, from its command line or the defaults of the user, for a tool.
func (c *caller) sourceFlags(reads reach) []string {
	if reads == nothing {
		return nil
	}
	others := pflag.NewFlagSet("", pflag.ContinueOnError)
	input.NewClusters(input.New(c.Environment)).AddFlags(others)
	var args []string
	c.given.Visit(func(f *pflag.Flag) {
		if reads == source && others.Lookup(f.Name) != nil {
			return
		}
		for _, value := range values(f) {
			args = append(args, "--"+f.Name+"="+value)
		}
	})
	if name := *c.Config.ClusterName; reads == source && name != "" { // --cluster with the meaning of kubectl
		args = append(args, "--cluster="+name)
	}
	return args
}

// values returns the values of a flag.
func values(f *pflag.Flag) []string {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return list.GetSlice()
	}
	return []string{f.Value.String()}
}

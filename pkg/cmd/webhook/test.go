// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/output"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/scope"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/probe"
)

const testLong = `Test whether the webhook answers: send a server-side dry run that takes Fleet's mark from an object, and say
what came back; and one that deletes it, and say what the guard made of that. If the mark is there again, or
the stamp denied the request or warned of it, it works, unless the guard says nothing where it should.
Nothing is changed on the cluster.

The guard need not speak where a label or the installation switches it off, nor to Fleet itself. Where the
deletion cannot be tried, as for want of rights, the guard is not known, and that is no fault.

Without an object, the first one is taken that a release of Fleet's desires, that carries the mark, and
that is not kept from the webhook. To find it, release records are read, which are Secrets.

Exit status: 0 it works, 1 it was not called, or only the stamp or the guard answers, 2 wrong usage, 3 it
cannot be said, as without an object to test with.`

const testExamples = `  %[1]s webhook test

  # with an object of your choice
  %[1]s webhook test deployment/frontend -n guestbook`

// testOptions mirror the command line.
type testOptions struct{ connection }

func newTest(env verb.Environment) *cobra.Command {
	o := &testOptions{newConnection(env, testRights)}
	c := &cobra.Command{
		Use:     "test [KIND/[NAMESPACE/]NAME]",
		Short:   "Send a dry run through the admission webhook and say what came back",
		Long:    testLong,
		Example: fmt.Sprintf(testExamples, env.Name),
		Args: func(c *cobra.Command, args []string) error {
			if err := cobra.MaximumNArgs(1)(c, args); err != nil {
				return exit.UsageError(err)
			}
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(c *cobra.Command, args []string) error { return o.run(c.Context(), args) },
	}
	o.add(c, "Namespace of the object")
	return c
}

func (o *testOptions) run(ctx context.Context, args []string) error {
	if err := o.validate(); err != nil {
		return exit.UsageError(err)
	}
	var typed *scope.Object
	switch {
	case len(args) > 0:
		parsed, err := scope.ParseObject(args[0])
		if err != nil {
			return err
		}
		typed = &parsed
	case *o.Config.Namespace != "":
		return exit.UsageError(errors.New("--namespace is that of an object: name one, KIND/NAME"))
	}
	warnings := &probe.Warnings{}
	cluster, err := o.open(warnings)
	if err != nil {
		return err
	}
	named, err := o.named(cluster.kinds, typed)
	if err != nil {
		return o.explain(err)
	}
	tester := &probe.Tester{Reader: cluster.reader(), Warnings: warnings, Now: o.Now}
	r, err := tester.Test(ctx, named)
	if err != nil {
		return o.explain(err)
	}
	if err := output.Write(ctx, o.Streams.Out, func(w io.Writer) error { _, err := io.WriteString(w, told(r)); return err }); err != nil {
		return err
	}
	switch r.Verdict {
	case probe.Works:
		return nil
	case probe.NotCalled, probe.GuardOnly, probe.StampOnly:
		return &exit.Error{Status: exit.Found, Shown: true}
	}
	return &exit.Error{Status: exit.Failed, Shown: true}
}

// named finds the object that was typed, nil where none was. Its kind may have any name that kubectl knows.
func (o *testOptions) named(mapper meta.RESTMapper, parsed *scope.Object) (*object.Ref, error) {
	if parsed == nil {
		return nil, nil
	}
	gr := schema.ParseGroupResource(parsed.Kind)
	kind, err := mapper.KindFor(gr.WithVersion(""))
	if err != nil {
		return nil, fmt.Errorf("looking up kind %q: %w", parsed.Kind, err)
	}
	m, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, fmt.Errorf("looking up kind %q: %w", parsed.Kind, err)
	}
	ref := &object.Ref{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Name: parsed.Name}
	if m.Scope.Name() != meta.RESTScopeNameNamespace {
		return ref, nil
	}
	if ref.Namespace = parsed.Namespace; ref.Namespace == "" {
		if ref.Namespace, _, err = o.Config.ToRawKubeConfigLoader().Namespace(); err != nil {
			return nil, fmt.Errorf("finding the namespace: %w", err)
		}
	}
	return ref, nil
}

// told says what a test came to.
func told(r *probe.Result) string {
	var b strings.Builder
	if t := r.Trial; t != nil {
		of := ""
		if t.Bundle != "" {
			of = fmt.Sprintf(", of bundle %s (release %s)", t.Bundle, t.Release)
		}
		b.WriteString(wrap("Object:    ", t.Object.Key().String()+of))
		b.WriteString(wrap("Sent:      ", "a dry run that takes away "+probe.Mark))
		b.WriteString(wrap("Came back: ", fmt.Sprintf("%s (in %s)", answers[t.Answer], t.Took.Round(time.Millisecond))))
		if t.Message != "" && (t.Answer == probe.Denied || t.Answer == probe.Guarded) { // other refusals are among the reasons
			b.WriteString(wrap("           ", t.Message))
		}
		for _, text := range t.Warnings {
			b.WriteString(wrap("Warning:   ", text))
		}
	}
	if g := r.Guard; g != nil {
		text := string(g.Answer)
		if g.Why != "" && r.Verdict != probe.StampOnly { // then it is the first of the reasons
			text += ": " + g.Why
		}
		b.WriteString(wrap("Guard:     ", text))
	}
	b.WriteString(wrap("Result:    ", string(r.Verdict)))
	for _, reason := range r.Reasons {
		b.WriteString(wrap("           - ", reason))
	}
	return b.String()
}

var answers = map[probe.Answer]string{
	probe.Stamped:  "with the mark: it was put back",
	probe.Denied:   "denied by the webhook",
	probe.Warned:   "without the mark, and with a warning of the webhook's",
	probe.Guarded:  "with a word of the guard's alone: the mark was not put back before it",
	probe.Unmarked: "without the mark",
	probe.Broken:   "refused, because the webhook did not answer",
	probe.Refused:  "refused, and not by the webhook",
}

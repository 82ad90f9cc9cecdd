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

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/chart"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/scope"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/installation"
)

type testOptions struct {
	chart.Connection
	named *scope.Object // nil if the test chooses the object
}

func newTest(env verb.Environment) *cobra.Command {
	o := &testOptions{Connection: chart.NewConnection(env, component, testRights)}
	c := chart.NewCommand(o, &cobra.Command{Use: "test [KIND/[NAMESPACE/]NAME]", Args: cobra.ArbitraryArgs,
		Short: "Test with dry runs whether the admission webhook answers"})
	o.AddFlags(c, "Namespace of the object")
	o.AddPrintFlags(c)
	return c
}

// Complete implements verb.Options.
func (o *testOptions) Complete(args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case len(args) > 1:
		return fmt.Errorf("accepts at most 1 argument, received %d", len(args))
	}
	named, err := scope.ParseObject(args[0], *o.Config.Namespace)
	o.named = &named
	return err
}

// Validate implements verb.Options.
func (o *testOptions) Validate() error {
	if o.named == nil && *o.Config.Namespace != "" {
		return errors.New("--namespace is the namespace of an object: name one, KIND/NAME")
	}
	return o.Connection.Validate()
}

// Run implements verb.Options.
func (o *testOptions) Run(ctx context.Context) error {
	warnings := &installation.Warnings{}
	cluster, err := o.Connect(warnings)
	if err != nil {
		return err
	}
	named, err := o.resolve(cluster.Mapper)
	if err != nil {
		return err
	}
	tester := &installation.Tester{Cluster: cluster, Warnings: warnings, Now: o.Now}
	t, err := tester.Test(ctx, named)
	if err != nil {
		return err
	}
	d := chart.Document{Value: t, List: []any{t}, Text: func(w io.Writer) { printTest(o.Paragraphs(w), t) }}
	if t.Strip != nil {
		d.Lines = []string{chart.NameOf(t.Strip.Object)}
	}
	status := exit.Failed
	switch t.Result {
	case installation.Works:
		status = exit.OK
	case installation.NotCalled, installation.ValidatingOnly, installation.MutatingOnly:
		status = exit.Found
	}
	return o.PrintResult(ctx, d, status)
}

// resolve returns the object that was named, nil if none was. The kind may have any name that kubectl accepts.
func (o *testOptions) resolve(mapper meta.RESTMapper) (*object.Ref, error) {
	if o.named == nil {
		return nil, nil
	}
	kind, err := mapper.KindFor(schema.ParseGroupResource(o.named.Kind).WithVersion(""))
	if err != nil {
		return nil, fmt.Errorf("looking up kind %q: %w", o.named.Kind, err)
	}
	m, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, fmt.Errorf("looking up kind %q: %w", o.named.Kind, err)
	}
	ref := &object.Ref{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Name: o.named.Name}
	if m.Scope.Name() != meta.RESTScopeNameNamespace {
		return ref, nil
	}
	if ref.Namespace = o.named.Namespace; ref.Namespace == "" {
		if ref.Namespace, _, err = o.Config.ToRawKubeConfigLoader().Namespace(); err != nil {
			return nil, fmt.Errorf("finding the namespace: %w", err)
		}
	}
	return ref, nil
}

func printTest(w chart.Paragraphs, t *installation.Test) {
	printResponse(w, t.Create, "a dry run that creates %s without "+installation.TestedLabel)
	printResponse(w, t.Strip, "a dry run that removes "+installation.TestedLabel+" from %s")
	printResponse(w, t.Delete, "a dry run that deletes %s")
	if t.Release != "" {
		w.Wrap("Desired by: ", fmt.Sprintf("bundle %s (release %s)", t.BundleDeployment, t.Release))
	}
	w.Wrap("Result:     ", string(t.Result))
	if t.Message != "" {
		w.Wrap("            ", t.Message)
	}
}

// printResponse prints the response to a request, if it was sent.
func printResponse(w chart.Paragraphs, r *installation.Response, request string) {
	if r == nil {
		return
	}
	w.Wrap("Request:    ", fmt.Sprintf(request, r.Object.Key()))
	took := time.Duration(r.Seconds * float64(time.Second)).Round(time.Millisecond)
	w.Wrap("Response:   ", fmt.Sprintf("%s (in %s)", r.Answer, took))
	if r.Message != "" {
		w.Wrap("            ", r.Message)
	}
	for _, warning := range r.Warnings {
		w.Wrap("Warning:    ", strings.TrimPrefix(string(warning.Code)+": "+warning.Message, ": "))
	}
}

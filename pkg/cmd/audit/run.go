// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"al.essio.dev/pkg/shellescape"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/cluster"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot"
)

func sprintf(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// run parses, reads, prints and decides the exit status, in that order.
func (o *options) run(ctx context.Context, c *cobra.Command, args []string) error {
	scope, err := o.scope(args)
	if err != nil {
		return exit.UsageError(err)
	}
	show, err := printers.New(o.output.String(), printers.Options{Colour: o.coloured(), Diff: o.diff, PrintRole: o.commands().PrintRole})
	if err != nil {
		return exit.UsageError(err)
	}
	engineOptions := engine.Options{Scope: scope, Version: o.Version, Commands: o.commands(), ServerCheck: engine.ServerCheck(o.serverCheck.String())}
	src, server, err := o.source(ctx, c)
	if o.printRBAC && exit.Status(err) != exit.Usage {
		return o.printRole(ctx, src, err)
	}
	if err != nil {
		return err
	}
	engineOptions.Server = server
	progress := newProgress(o.Streams.ErrOut, o.Now)
	engineOptions.Progress = progress.tell
	result, err := engine.Run(ctx, src, engineOptions)
	progress.clear()
	if err != nil {
		return o.explain(err)
	}
	var out bytes.Buffer
	if err := show(&out, result); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err() // interrupted while it was made: no half of a document
	}
	if _, err := o.Streams.Out.Write(out.Bytes()); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return o.status(result)
}

// commands lead to the same source, and to the same cluster, when they are copied into a shell. A token or password is no part of them.
func (o *options) commands() check.Commands {
	audit, kubectl, helm := o.Name+" audit", "kubectl", "helm"
	for _, s := range o.snapshots {
		audit += " --snapshot " + shellescape.Quote(s)
	}
	for _, f := range []struct {
		value      *string
		flag, helm string
	}{
		{o.config.KubeConfig, "--kubeconfig", "--kubeconfig"},
		{o.config.Context, "--context", "--kube-context"},
		{o.config.APIServer, "--server", "--kube-apiserver"},
		{o.config.ClusterName, "--cluster", ""},
		{o.config.AuthInfoName, "--user", ""},
		{o.config.Impersonate, "--as", "--kube-as-user"},
	} {
		if *f.value == "" {
			continue
		}
		value := " " + shellescape.Quote(*f.value)
		audit += " " + f.flag + value
		kubectl += " " + f.flag + value
		if f.helm != "" {
			helm += " " + f.helm + value
		}
	}
	return check.Commands{Audit: audit, PrintRole: audit + " --print-rbac", Kubectl: kubectl, Helm: helm}
}

// scope reads the arguments.
func (o *options) scope(args []string) (engine.Scope, error) {
	s := engine.Scope{Namespace: *o.config.Namespace}
	if o.selector != "" {
		sel, err := labels.Parse(o.selector)
		if err != nil {
			return s, fmt.Errorf("parsing selector %q: %w", o.selector, err)
		}
		s.Selector = sel
	}
	for i := 0; i < len(args); i++ {
		kind, name, ok := strings.Cut(args[i], "/")
		if !ok && i+1 < len(args) && targetKind(kind) != "" { // "gitrepo guestbook", as kubectl takes it
			name, ok = args[i+1], true
			i++
		}
		known := targetKind(kind)
		if !ok || name == "" || known == "" {
			return s, fmt.Errorf("reading argument %q: want KIND/NAME, with one of the kinds gitrepo, helmop, bundle, cluster, bundledeployment", args[i])
		}
		s.Targets = append(s.Targets, engine.Target{Kind: known, Name: name})
	}
	return s, nil
}

func targetKind(s string) string {
	s = strings.ToLower(s)
	for kind, others := range engine.TargetKinds {
		if s == kind || slices.Contains(others, s) {
			return kind
		}
	}
	return ""
}

// source opens what is to be read.
func (o *options) source(ctx context.Context, c *cobra.Command) (source.Source, engine.Server, error) {
	if len(o.snapshots) > 0 {
		if name := connection(c.Flags()); name != "" {
			return nil, nil, exit.UsageError(fmt.Errorf("--snapshot and --%s exclude each other: a snapshot needs no cluster", name))
		}
		s, err := snapshot.Open(ctx, o.snapshots, o.Streams.In)
		if err != nil {
			return nil, nil, err
		}
		return s, nil, nil
	}
	if _, err := clientcmd.ParseTimeout(*o.config.Timeout); err != nil {
		return nil, nil, exit.UsageError(fmt.Errorf("parsing --request-timeout %q: want a number of seconds, or one with a unit, like 30s or 2m", *o.config.Timeout))
	}
	config, err := o.config.ToRESTConfig()
	if err != nil {
		return nil, nil, &exit.Error{Status: exit.Failed, Err: fmt.Errorf("loading the kubeconfig: %w", err),
			Hint: "Name one with --kubeconfig or --context, or audit a captured cluster with --snapshot."}
	}
	config.WarningHandlerWithContext = rest.NoWarnings{}
	config.UserAgent = rest.DefaultKubernetesUserAgent()
	context := *o.config.Context
	if raw, err := o.config.ToRawKubeConfigLoader().RawConfig(); err == nil && context == "" {
		context = raw.CurrentContext
	}
	s, err := cluster.New(config, cluster.Options{Context: context, Now: o.Now})
	if err != nil {
		return nil, nil, err // not s: a nil pointer in an interface is no nil
	}
	return s, s, nil
}

// connection names the first flag given that says how to reach a cluster, "" where none was.
func connection(given *pflag.FlagSet) string {
	all := pflag.NewFlagSet("connection", pflag.ContinueOnError)
	genericclioptions.NewConfigFlags(true).AddFlags(all)
	first := ""
	all.VisitAll(func(f *pflag.Flag) {
		if first == "" && f.Name != "namespace" && given.Changed(f.Name) {
			first = f.Name
		}
	})
	return first
}

func (o *options) explain(err error) error {
	switch {
	case errors.Is(err, engine.ErrNoFleet):
		return &exit.Error{Status: exit.Failed, Err: err, Hint: "Check the context (kubectl config current-context), or name a snapshot of a cluster that Fleet deploys to."}
	case errors.Is(err, engine.ErrNothingRead):
		return &exit.Error{Status: exit.Failed, Err: err, Hint: o.Name + " audit --print-rbac prints a role that may read what an audit reads."}
	}
	out := &exit.Error{Status: exit.Failed, Err: err}
	if len(o.snapshots) == 0 {
		out.Hint = "Is this the cluster that was meant? kubectl config current-context names it; --context and --kubeconfig choose another."
	}
	return out
}

// status decides what the program ends with.
func (o *options) status(a *report.Audit) error {
	if o.requireComplete && len(a.Gaps) > 0 {
		return &exit.Error{Status: exit.Failed, Err: fmt.Errorf("the audit is not complete: %d could not be read, the first is %s (%s)",
			len(a.Gaps), a.Gaps[0].What, a.Gaps[0].Reason)}
	}
	f := a.Summary.Findings
	found := map[string]int{"error": f.Error, "warning": f.Error + f.Warning, "info": f.Error + f.Warning + f.Info}[o.failOn.String()]
	if found > 0 {
		return &exit.Error{Status: exit.Found, Shown: true}
	}
	return nil
}

// coloured decides about colours: asked for, or auto on a terminal that has them and no NO_COLOR.
func (o *options) coloured() bool {
	switch o.colour.String() {
	case "always":
		return true
	case "never":
		return false
	}
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(o.Streams.Out)
}

// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fleetdoctor/kubectl-fleetdoctor/manifests"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/flags"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/output"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/install"
)

const installLong = `Install the admission webhook, or bring an installation to this program's manifests and to other options.

Every object is applied on the server's side, as field manager fleetdoctor-webhook-install. What is ours
by the label app.kubernetes.io/name=fleetdoctor-webhook is put right whoever changed it; certificate and
caBundle stay. If an object of one of the names does not carry the label, nothing is written at all. What
an installation with other options has left behind is deleted.

The same manifests are in the directory manifests of the project, for kubectl apply -k and for Fleet
itself.

Exit status: 0 installed, 2 wrong usage, 3 it could not be finished, or not within --timeout.`

const installExamples = `  # look first
  %[1]s webhook install --dry-run=server

  # install, and wait until it answers
  %[1]s webhook install --wait

  # certificates by cert-manager, and bare objects too in namespaces labelled fleetdoctor.io/adopt=exact
  %[1]s webhook install --certificates=cert-manager --exact

  # the right to read release records, which are Secrets, in two namespaces alone
  %[1]s webhook install --release-namespaces=shop,guestbook

  # as a file, without a cluster
  %[1]s webhook install --dry-run=client -o yaml > webhook.yaml`

// The choices of --output.
const (
	outputText = "text"
	outputJSON = "json"
	outputYAML = "yaml"
)

// installOptions mirror the command line.
type installOptions struct {
	connection

	certificates *flags.Enum
	guardDefault *flags.Enum
	dryRun       *flags.Enum
	output       *flags.Enum
	exact        bool
	releases     []string
	image        string
	replicas     int
	wait         bool
	timeout      time.Duration
}

func newInstall(env verb.Environment) *cobra.Command {
	o := &installOptions{
		connection:   newConnection(env, installRights),
		certificates: flags.NewEnum(string(install.SelfSigned), string(install.SelfSigned), string(install.CertManager)),
		guardDefault: newGuardDefault(),
		dryRun:       newDryRun(),
		output:       flags.NewEnum(outputText, outputText, outputJSON, outputYAML),
	}
	c := &cobra.Command{
		Use:               "install",
		Short:             "Install the admission webhook, or update it",
		Long:              installLong,
		Example:           fmt.Sprintf(installExamples, env.Name),
		Args:              noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(c *cobra.Command, _ []string) error { return o.run(c) },
	}
	o.add(c, "Namespace to install into (default where it is installed, else "+install.Namespace+")")
	f := c.Flags()
	f.Var(o.certificates, "certificates", "Who makes the webhook's certificate: it itself, or cert-manager, which has to be there")
	f.BoolVar(&o.exact, "exact", false, "Also stamp objects that carry no mark at all, in namespaces labelled fleetdoctor.io/adopt=exact")
	f.StringSliceVar(&o.releases, "release-namespaces", nil, "Namespaces whose release records are read, and in which alone Secrets may be (default all)")
	f.Var(o.guardDefault, "guard-default", "What the guard does where no label "+admission.GuardLabel+" says it")
	f.StringVar(&o.image, "image", "", "Image to run (default that of the manifests)")
	f.IntVar(&o.replicas, "replicas", install.Replicas, "How many replicas to run")
	f.Var(o.dryRun, "dry-run", "Only say what would be applied, or have the server check it and store nothing")
	f.VarP(o.output, "output", "o", "What to print: what became of each object, or the manifests. With --dry-run=client no cluster is asked")
	f.BoolVar(&o.wait, "wait", false, "Wait until the Deployment is available and both configurations hold a caBundle")
	f.DurationVar(&o.timeout, "timeout", 2*time.Minute, "How long --wait waits")
	return complete(c, map[string]*flags.Enum{"certificates": o.certificates, "guard-default": o.guardDefault, "dry-run": o.dryRun, "output": o.output})
}

func (o *installOptions) validate(c *cobra.Command) error {
	if err := o.connection.validate(); err != nil {
		return err
	}
	for _, n := range o.releases {
		if wrong := validation.IsDNS1123Label(n); wrong != nil {
			return fmt.Errorf("--release-namespaces holds %q, which is no name: %s", n, wrong[0])
		}
	}
	switch {
	case !install.Fit(*o.Config.Namespace):
		return unfit(*o.Config.Namespace)
	case c.Flags().Changed("release-namespaces") && len(o.releases) == 0: // of a variable that is not set: it would open all of them
		return errors.New("--release-namespaces is empty")
	case c.Flags().Changed("image") && o.image == "":
		return errors.New("--image is empty")
	case o.replicas < 1:
		return fmt.Errorf("--replicas=%d: want 1 or more; `webhook disable` takes it out of the way", o.replicas)
	case o.timeout <= 0:
		return fmt.Errorf("--timeout=%s: want more than none", o.timeout)
	case o.wait && o.dryRun.String() != dryRunNone:
		return errors.New("--wait and --dry-run exclude each other: nothing comes of a dry run")
	}
	return nil
}

// unfit refuses a namespace.
func unfit(namespace string) error {
	return fmt.Errorf("refusing to install into namespace %s: it is the cluster's, or Fleet's; want one of the webhook's own", namespace)
}

func (o *installOptions) run(c *cobra.Command) error {
	if err := o.validate(c); err != nil {
		return exit.UsageError(err)
	}
	if o.dryRun.String() == dryRunClient {
		desired, err := o.render(o.installed(""))
		if err != nil {
			return err
		}
		for _, d := range desired {
			o.tell(install.RefOf(d), "")
		}
		return o.printAll(c.Context(), desired)
	}
	cluster, err := o.open(nil)
	if err != nil {
		return err
	}
	namespace, err := o.place(c.Context(), cluster.Cluster)
	if err != nil {
		return err
	}
	if !install.Fit(namespace) { // it is there already: -n was looked at before
		return &exit.Error{Status: exit.Failed, Err: unfit(namespace), Hint: "Take it off there first: " + o.Command("webhook uninstall") + " -n " + namespace}
	}
	desired, err := o.render(namespace)
	if err != nil {
		return err
	}
	if err := o.apply(c.Context(), cluster.Cluster, namespace, desired); err != nil {
		return o.explain(err)
	}
	if err := o.printAll(c.Context(), desired); err != nil || !o.wait {
		return err
	}
	return o.await(c.Context(), cluster.Cluster, desired)
}

func (o *installOptions) render(namespace string) ([]*unstructured.Unstructured, error) {
	return install.Render(manifests.Files, install.Options{Namespace: namespace, Certificates: install.Certificates(o.certificates.String()),
		Exact: o.exact, ReleaseNamespaces: o.releases, GuardDefault: admission.GuardMode(o.guardDefault.String()), Image: o.image, Replicas: o.replicas})
}

// apply reads, refuses or applies, and clears away what other options have left.
func (o *installOptions) apply(ctx context.Context, cluster *install.Cluster, namespace string, desired []*unstructured.Unstructured) error {
	all, err := install.RenderAll(manifests.Files, namespace)
	if err != nil {
		return err
	}
	steps, err := cluster.Read(ctx, desired)
	if err != nil {
		if noMatch := new(meta.NoKindMatchError); errors.As(err, &noMatch) && noMatch.GroupKind.Group == "cert-manager.io" {
			return &exit.Error{Status: exit.Failed, Err: err, Hint: "Install cert-manager first, or leave out --certificates=cert-manager."}
		}
		return err
	}
	stale, err := cluster.Stale(ctx, all, desired)
	if err != nil {
		return err
	}
	fmt.Fprint(o.Streams.ErrOut, fleetNote(install.Deployed(steps)))
	for _, change := range install.Changes(steps, stale) {
		fmt.Fprintf(o.Streams.ErrOut, "Note: %s\n", change)
	}
	dry := o.dryRun.String() == dryRunServer
	if err := cluster.Apply(ctx, steps, dry, o.tell); err != nil {
		return err
	}
	return cluster.Delete(ctx, stale, dry, func(r object.Ref) { o.tell(r, install.Pruned) })
}

// tell says what became of an object, in kubectl's words, and whether that changed it.
func (o *installOptions) tell(r object.Ref, outcome install.Outcome) {
	if o.output.String() != outputText {
		return
	}
	text := "serverside-applied"
	switch outcome {
	case "":
	case install.Pruned:
		text = "pruned"
	case install.Unchecked:
		text = "not checked: its namespace is not there yet"
	default:
		text += " (" + string(outcome) + ")"
	}
	fmt.Fprintf(o.Streams.Out, "%s %s%s\n", nameOf(r), text, dryRunMark(o.dryRun))
}

// printAll prints the manifests, where they are asked for: what was applied, and not what the cluster made of it, in which a Secret has values.
func (o *installOptions) printAll(ctx context.Context, desired []*unstructured.Unstructured) error {
	switch o.output.String() {
	case outputYAML:
		return output.Write(ctx, o.Streams.Out, func(w io.Writer) error {
			for i, d := range desired {
				text, err := escape.EncodeYAML(d.Object)
				if err != nil {
					return fmt.Errorf("encoding manifests: %w", err)
				}
				if i > 0 {
					text = append([]byte("---\n"), text...)
				}
				if _, err := w.Write(text); err != nil {
					return err
				}
			}
			return nil
		})
	case outputJSON:
		list := map[string]any{"apiVersion": "v1", "kind": "List", "items": desired}
		return output.Write(ctx, o.Streams.Out, func(w io.Writer) error { return encode(w, list) })
	}
	return nil
}

func encode(w io.Writer, v any) error { return escape.EncodeJSON(w, v, "  ") }

// await waits until the installation works, and says what for.
func (o *installOptions) await(ctx context.Context, cluster *install.Cluster, desired []*unstructured.Unstructured) error {
	limited, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	err := cluster.Wait(limited, desired, func(what string) { fmt.Fprintf(o.Streams.ErrOut, "Waiting for %s\n", what) })
	switch {
	case err == nil:
		fmt.Fprintln(o.Streams.ErrOut, "The webhook is ready.")
		return nil
	case ctx.Err() != nil:
		return err
	case limited.Err() != nil:
		return &exit.Error{Status: exit.Failed, Err: fmt.Errorf("it was installed, and is not ready after %s: %w", o.timeout, err),
			Hint: o.Command("webhook status") + " says what is wrong; requests go on without it meanwhile."}
	}
	return o.explain(err)
}

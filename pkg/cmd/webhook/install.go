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

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/flags"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/output"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/installation"
)

const installLong = `Install the admission webhook, or update an installation to the manifests of this program and to other options.

Every object is applied server-side, with the field manager fleetdoctor-webhook-install. Objects with the
label app.kubernetes.io/name=fleetdoctor-webhook are part of the installation: changes to them are reverted,
except to certificate and caBundle. If an object exists that has one of the names but not the label,
nothing is written. Objects that only the previous options need are deleted.

The directory manifests of the project has the same manifests, for kubectl apply -k and for Fleet.

Exit status: 0 installed, 2 wrong usage, 3 not finished, or not ready within --timeout.`

const installExamples = `  # print what would be applied and deleted
  %[1]s webhook install --dry-run=server

  # install, and wait until it is ready
  %[1]s webhook install --wait

  # certificates of cert-manager; also objects without ownership metadata, in namespaces labeled fleetdoctor.io/adopt=exact
  %[1]s webhook install --certificates=cert-manager --exact

  # the right to read release records, which are Secrets, in two namespaces only
  %[1]s webhook install --release-namespaces=shop,guestbook

  # write the manifests to a file, without a cluster
  %[1]s webhook install --dry-run=client -o yaml > webhook.yaml`

type installOptions struct {
	change
	installation.Options

	certificates *flags.Enum
	guardDefault *flags.Enum
	wait         bool
	timeout      time.Duration
	changed      func(flag string) bool
}

const exactUsage = "Also add ownership metadata to objects that have none, in namespaces labeled fleetdoctor.io/adopt=exact"

func newInstall(env verb.Environment) *cobra.Command {
	o := &installOptions{
		change:       newChange(env, installRights),
		certificates: flags.NewEnum(string(installation.SelfSigned), string(installation.SelfSigned), string(installation.CertManager)),
		guardDefault: newGuardDefault(),
	}
	c := newCommand(o, &cobra.Command{Use: "install", Short: "Install the admission webhook, or update it", Long: installLong, Example: fmt.Sprintf(installExamples, env.Name)})
	f := c.Flags()
	o.changed = f.Changed
	o.addFlags(c, "Namespace to install into (default that of the installation, else "+installation.Namespace+")")
	o.addPrintFlags(c)
	o.certificates.AddTo(c, "certificates", "Source of the webhook's certificate: the webhook itself, or cert-manager, which must be installed")
	o.guardDefault.AddTo(c, "guard-default", guardDefaultUsage)
	o.dryRun.AddTo(c, "dry-run", dryRunApplyUsage)
	f.BoolVar(&o.Exact, "exact", false, exactUsage)
	f.StringSliceVar(&o.ReleaseNamespaces, "release-namespaces", nil, "The only namespaces whose release records, and other Secrets, the webhook may read (default all)")
	f.StringVar(&o.Image, "image", "", "Image to run (default that of this release of the program)")
	f.IntVar(&o.Replicas, "replicas", installation.Replicas, "Number of replicas")
	f.BoolVar(&o.wait, "wait", false, "Wait until the Deployment is available and both configurations have a caBundle")
	f.DurationVar(&o.timeout, "timeout", 2*time.Minute, "Time limit of --wait")
	return c
}

// Complete implements verb.Options.
func (o *installOptions) Complete([]string) error {
	o.Certificates, o.GuardDefault = installation.Certificates(o.certificates.String()), admission.GuardMode(o.guardDefault.String())
	if !o.changed("image") {
		o.Image, _ = installation.ImageOf(o.Version)
	}
	return nil
}

// Validate implements verb.Options.
func (o *installOptions) Validate() error {
	if err := o.connection.Validate(); err != nil {
		return err
	}
	for _, n := range o.ReleaseNamespaces {
		if wrong := validation.IsDNS1123Label(n); wrong != nil {
			return fmt.Errorf("--release-namespaces has the invalid name %q: %s", n, wrong[0])
		}
	}
	switch {
	case !installation.AllowedNamespace(*o.Config.Namespace):
		return reservedError(*o.Config.Namespace)
	case o.changed("release-namespaces") && len(o.ReleaseNamespaces) == 0: // an unset variable in a script would grant access to all of them
		return errors.New("--release-namespaces is empty")
	case o.changed("image") && o.Image == "":
		return errors.New("--image is empty")
	case o.Replicas < 1:
		return fmt.Errorf("--replicas=%d: must be 1 or more; to stop the webhook, use `webhook disable`", o.Replicas)
	case o.timeout <= 0:
		return fmt.Errorf("--timeout=%s: must be more than 0", o.timeout)
	case o.wait && o.mode() != installation.DryRunNone:
		return errors.New("--wait and --dry-run are mutually exclusive")
	case o.Image == "":
		return fmt.Errorf("this is a development build (%s), and no image of it is published: set --image", o.Version)
	}
	return nil
}

func reservedError(namespace string) error {
	return fmt.Errorf("refusing to install into namespace %s: it belongs to the cluster or to Fleet; use a namespace that only the webhook uses", namespace)
}

// Run implements verb.Options.
func (o *installOptions) Run(ctx context.Context) error {
	var cluster *installation.Cluster
	var err error
	if o.mode() == installation.DryRunClient {
		o.Namespace = o.namespaceOr("")
	} else if cluster, o.Namespace, err = o.open(ctx); err != nil {
		return err
	}
	if !installation.AllowedNamespace(o.Namespace) { // where an installation was found
		return &exit.Error{Status: exit.Failed, Err: reservedError(o.Namespace), Hint: "Remove that installation first: " + o.Command("webhook uninstall") + " -n " + o.Namespace}
	}
	desired, err := installation.Render(o.Options)
	if err != nil {
		return err
	}
	if err := o.apply(ctx, cluster, desired); err != nil {
		return err
	}
	if err := o.printManifests(ctx, desired); err != nil || !o.wait {
		return err
	}
	return o.awaitReady(ctx, cluster, desired)
}

// apply applies the manifests and deletes the objects that only other options need.
func (o *installOptions) apply(ctx context.Context, cluster *installation.Cluster, desired []*unstructured.Unstructured) error {
	if o.mode() == installation.DryRunClient { // without a cluster
		for _, d := range desired {
			o.report(installation.RefOf(d), installation.NotSent)
		}
		return nil
	}
	steps, err := cluster.Plan(ctx, desired)
	if err != nil {
		if noMatch := new(meta.NoKindMatchError); errors.As(err, &noMatch) && noMatch.GroupKind.Group == "cert-manager.io" {
			return &exit.Error{Status: exit.Failed, Err: err, Hint: "Install cert-manager first, or leave out --certificates=cert-manager."}
		}
		return err
	}
	stale, err := cluster.Stale(ctx, o.Namespace, desired)
	if err != nil {
		return err
	}
	o.printFleetNote(installation.Deployed(steps))
	for _, change := range installation.Changes(steps, stale) {
		fmt.Fprintf(o.Streams.ErrOut, "Note: %s\n", change)
	}
	if err := cluster.Apply(ctx, steps, o.mode(), o.report); err != nil {
		return err
	}
	return cluster.Delete(ctx, stale, o.mode(), func(r object.Ref, _ installation.Outcome) { o.report(r, installation.Pruned) })
}

// report prints the outcome for an object, unless the manifests are printed.
func (o *installOptions) report(r object.Ref, outcome installation.Outcome) {
	if o.print.ForPeople() {
		o.change.report(r, outcome)
	}
}

// printManifests prints the manifests on request. It never prints live objects: a live Secret has values.
func (o *installOptions) printManifests(ctx context.Context, desired []*unstructured.Unstructured) error {
	return output.Write(ctx, o.Streams.Out, func(w io.Writer) error {
		if o.print.Format != "yaml" {
			d := document{rows: desired, table: func(io.Writer) {}} // the outcomes are printed already
			d.content = map[string]any{"apiVersion": "v1", "kind": "List", "items": desired}
			for _, u := range desired {
				d.names = append(d.names, nameOf(installation.RefOf(u)))
			}
			return o.show(w, d)
		}
		for i, d := range desired { // as separate documents, like a file of manifests
			if i > 0 {
				if _, err := io.WriteString(w, "---\n"); err != nil {
					return err
				}
			}
			if err := output.WriteYAML(w, d.Object); err != nil {
				return err
			}
		}
		return nil
	})
}

// awaitReady waits until the installation is ready, and prints what is missing.
func (o *installOptions) awaitReady(ctx context.Context, cluster *installation.Cluster, desired []*unstructured.Unstructured) error {
	limited, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	err := cluster.Wait(limited, desired, func(missing string) { fmt.Fprintf(o.Streams.ErrOut, "Waiting for %s\n", missing) })
	switch {
	case err == nil:
		fmt.Fprintln(o.Streams.ErrOut, "The webhook is ready.")
		return nil
	case ctx.Err() == nil && limited.Err() != nil:
		return &exit.Error{Status: exit.Failed, Err: fmt.Errorf("the webhook is installed, but not ready after %s: %w", o.timeout, err),
			Hint: "To see what is wrong: " + o.Command("webhook status") + ". Meanwhile requests continue without the webhook."}
	}
	return err
}

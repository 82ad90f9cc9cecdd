// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"time"

	"github.com/spf13/cobra"
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

type installOptions struct {
	change
	values installation.Values

	certificates *flags.Enum
	guardDefault *flags.Enum
	wait         bool
	timeout      time.Duration
}

func newInstall(env verb.Environment) *cobra.Command {
	const selfSigned = string(installation.SelfSigned)
	o := &installOptions{
		change:       newChange(env, installRights),
		certificates: flags.NewEnum(selfSigned, selfSigned, string(installation.CertManager)),
		guardDefault: newGuardDefault(),
	}
	c := newCommand(o, &cobra.Command{Use: "install", Short: "Install the admission webhook, or upgrade it"})
	f, v := c.Flags(), &o.values
	o.Changed = f.Changed
	o.addFlags(c, "Namespace to install into (default that of the installation, else "+installation.Namespace+")")
	o.addPrintFlags(c)
	o.certificates.AddTo(c, "certificates",
		"Source of the webhook's certificate: the webhook itself, or cert-manager, which must be installed")
	o.guardDefault.AddTo(c, "guard-default", guardDefaultUsage)
	o.dryRun.AddTo(c, "dry-run", dryRunApplyUsage)
	f.BoolVar(&v.Exact, "exact", false,
		"Also add ownership metadata to objects that have none, in namespaces labeled fleetdoctor.io/adopt=exact")
	f.StringSliceVar(&v.ReleaseNamespaces, "release-namespaces", nil,
		"The only namespaces whose release records, and other Secrets, the webhook may read (default all)")
	f.StringSliceVar(&v.APIServers, "api-servers", nil,
		"The only addresses (IP or CIDR) that reach the webhook and that it reaches: those of the control plane "+
			"nodes, and of the Service kubernetes (default all)")
	f.StringVar(&v.Image, "image", "", "Image to run (default that of this release of the program)")
	f.IntVar(&v.Replicas, "replicas", installation.Replicas, "Number of replicas")
	f.BoolVar(&o.wait, "wait", false, "Wait until all objects of the release are ready")
	f.DurationVar(&o.timeout, "timeout", 2*time.Minute, "Time limit of --wait")
	return c
}

// Complete implements verb.Options.
func (o *installOptions) Complete([]string) error {
	v := &o.values
	v.Certificates = installation.Certificates(o.certificates.String())
	v.GuardDefault = admission.GuardMode(o.guardDefault.String())
	slices.Sort(v.ReleaseNamespaces)
	v.ReleaseNamespaces = slices.Compact(v.ReleaseNamespaces)
	if !o.Changed("image") {
		v.Image, _ = installation.ImageOf(o.Version)
	}
	return nil
}

// Validate implements verb.Options.
func (o *installOptions) Validate() error {
	if err := o.connection.Validate(); err != nil {
		return err
	}
	if err := o.checkLists(); err != nil {
		return err
	}
	switch {
	case !installation.AllowedNamespace(*o.Config.Namespace):
		return reservedError(*o.Config.Namespace)
	case o.Changed("image") && o.values.Image == "":
		return errors.New("--image is empty")
	case o.values.Replicas < 1:
		return fmt.Errorf("--replicas=%d: must be 1 or more; to stop the webhook, use `webhook disable`",
			o.values.Replicas)
	case o.timeout <= 0:
		return fmt.Errorf("--timeout=%s: must be more than 0", o.timeout)
	case o.wait && o.isDryRun():
		return errors.New("--wait and --dry-run are mutually exclusive")
	case o.values.Image == "":
		return fmt.Errorf("this is a development build (%s), and no image of it is published: set --image", o.Version)
	}
	return nil
}

// checkLists refuses an empty list: an unset variable in a script would grant access to all namespaces and addresses.
func (o *installOptions) checkLists() error {
	for _, name := range o.values.ReleaseNamespaces {
		if wrong := validation.IsDNS1123Label(name); wrong != nil {
			return fmt.Errorf("--release-namespaces has the invalid name %q: %s", name, wrong[0])
		}
	}
	for _, address := range o.values.APIServers {
		_, err := netip.ParseAddr(address)
		if _, errPrefix := netip.ParsePrefix(address); err != nil && errPrefix != nil {
			return fmt.Errorf("--api-servers has the invalid address %q: must be an IP address, or a CIDR block "+
				"like 192.0.2.0/24", address)
		}
	}
	if o.Changed("release-namespaces") && len(o.values.ReleaseNamespaces) == 0 {
		return errors.New("--release-namespaces is empty")
	}
	if o.Changed("api-servers") && len(o.values.APIServers) == 0 {
		return errors.New("--api-servers is empty")
	}
	return nil
}

func reservedError(namespace string) error {
	return fmt.Errorf("refusing to install into namespace %s: it belongs to the cluster or to Fleet; use a namespace "+
		"that only the webhook uses", namespace)
}

// Run implements verb.Options.
func (o *installOptions) Run(ctx context.Context) error {
	if o.dryRun.String() == dryRunClient {
		desired, err := installation.Render(o.namespaceOr(""), o.values)
		if err != nil {
			return err
		}
		return o.printDone(ctx, desired, nil)
	}
	in, err := o.open(ctx)
	if err != nil {
		return err
	}
	if !installation.AllowedNamespace(in.Namespace) { // where an installation was found
		return exit.Failure(reservedError(in.Namespace),
			"Remove that installation first: "+o.Command("webhook uninstall")+" -n "+in.Namespace)
	}
	return o.install(ctx, in)
}

// install installs or upgrades the release.
func (o *installOptions) install(ctx context.Context, in *installed) error {
	before, err := in.helm.Manifest()
	if err != nil {
		return err
	}
	desired, err := installation.Render(in.Namespace, o.values)
	if err != nil {
		return err
	}
	if err := o.printNotes(in); err != nil {
		return err
	}
	// Before anything is written: Helm finds objects of others, and kinds that do not exist.
	mode := installation.Mode{DryRun: true, TakeOwnership: in.Old}
	if err := in.helm.Install(ctx, o.values, mode); err != nil {
		return err
	}
	deleted := installation.Without(before, desired)
	if o.isDryRun() {
		return o.printDone(ctx, desired, deleted)
	}
	if err := o.prepare(ctx, in, desired); err != nil {
		return err
	}
	if mode.DryRun = false; o.wait {
		mode.Wait = o.timeout
	}
	err = in.helm.Install(ctx, o.values, mode)
	if o.wait && errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return exit.Failure(fmt.Errorf("the webhook is installed, but not ready after %s: %w", o.timeout, err),
			"To see what is wrong: "+o.Command("webhook status")+". Meanwhile requests continue without the "+
				"webhook.")
	}
	if err != nil {
		return err
	}
	if err := o.printDone(ctx, desired, deleted); err != nil || !o.wait {
		return err
	}
	fmt.Fprintln(o.Streams.ErrOut, "The webhook is ready.")
	return nil
}

// printNotes prints what the user may not expect of an upgrade.
func (o *installOptions) printNotes(in *installed) error {
	changes, err := in.helm.Changes(o.values)
	if err != nil {
		return err
	}
	for _, change := range changes {
		fmt.Fprintf(o.Streams.ErrOut, "Note: %s\n", change)
	}
	if in.helm.Last != nil && len(in.Configurations) == 0 {
		fmt.Fprintln(o.Streams.ErrOut, "Note: the webhook was disabled. The upgrade enables it again.")
	}
	if in.Old {
		fmt.Fprintln(o.Streams.ErrOut, "Note: an installation from before the chart is replaced.")
	}
	return nil
}

// prepare removes what Helm cannot change, and creates the namespace.
func (o *installOptions) prepare(ctx context.Context, in *installed, desired []*unstructured.Unstructured) error {
	replaced := installation.Outdated(in.Configurations, desired)
	if in.Old {
		var err error
		if replaced, err = in.cluster.Objects(ctx); err != nil {
			return err
		}
	}
	if err := in.cluster.Delete(ctx, replaced, false, func(object.Ref) {}); err != nil {
		return err
	}
	return in.cluster.CreateNamespace(ctx, in.Namespace)
}

// printDone prints what was done with each object, or on request the manifests. It never prints live objects: a live
// Secret has values.
func (o *installOptions) printDone(ctx context.Context, desired, deleted []*unstructured.Unstructured) error {
	if o.print.ForPeople() {
		for _, d := range desired {
			o.report(installation.RefOf(d), "applied")
		}
		for _, d := range deleted {
			o.reportDeleted(installation.RefOf(d))
		}
	}
	return output.Write(ctx, o.Streams.Out, func(w io.Writer) error {
		if o.print.Format != "yaml" {
			d := document{rows: desired, table: func(io.Writer) {}} // the objects are printed already
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

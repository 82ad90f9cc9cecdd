// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/output"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// Install has the flags of a subcommand that installs a chart. Subcommands embed it.
type Install struct {
	Change
	Common      install.Common
	resetValues bool
	wait        bool
	timeout     time.Duration
}

// NewInstall has the rights of helm install.
func NewInstall(env verb.Environment, of Component) Install {
	return Install{Change: NewChange(env, of, installRights)}
}

// installRights are the rights that an installation requires.
const installRights = "It requires the rights of helm install: get, create, patch and delete on every kind of the " +
	"chart\n(--dry-run=client lists them) and on secrets, and the rights that its roles grant, or bind and " +
	"escalate.\n" +
	"cluster-admin has all of them."

// AddInstallFlags adds the flags that every chart has.
func (o *Install) AddInstallFlags(c *cobra.Command) {
	f := c.Flags()
	o.Changed = f.Changed
	o.AddFlags(c, "Namespace to install into (default that of the installation, else "+install.Namespace+")")
	o.AddPrintFlags(c)
	o.AddDryRunApply(c)
	f.StringVar(&o.Common.Image, "image", "", "Image to run (default that of this release of the program, unless "+
		"the installed release has another one)")
	f.IntVar(&o.Common.Replicas, "replicas", install.Replicas, "Number of replicas")
	f.BoolVar(&o.resetValues, "reset-values", false, "Start an upgrade from the defaults: options that are left out "+
		"are not kept")
	f.BoolVar(&o.wait, "wait", false, "Wait until all objects of the release are ready")
	f.DurationVar(&o.timeout, "timeout", 2*time.Minute, "Time limit of --wait")
}

// Complete implements verb.Options.
func (o *Install) Complete([]string) error {
	if !o.Changed("image") {
		o.Common.Image, _ = install.ImageOf(o.Version)
	}
	return nil
}

// Validate implements verb.Options.
func (o *Install) Validate() error {
	if err := o.Connection.Validate(); err != nil {
		return err
	}
	if err := o.checkAddresses(); err != nil {
		return err
	}
	switch {
	case !install.AllowedNamespace(*o.Config.Namespace):
		return o.reservedError(*o.Config.Namespace)
	case o.Changed("image") && o.Common.Image == "":
		return errors.New("--image is empty")
	case o.Common.Replicas < 1:
		return fmt.Errorf("--replicas=%d: must be 1 or more; %s", o.Common.Replicas, o.of.Stop)
	case o.timeout <= 0:
		return fmt.Errorf("--timeout=%s: must be more than 0", o.timeout)
	case o.wait && o.IsDryRun():
		return errors.New("--wait and --dry-run are mutually exclusive")
	case o.Common.Image == "" && (o.IsClientDryRun() || o.resetValues):
		return o.noImageError()
	}
	return nil
}

func (o *Install) noImageError() error {
	return exit.UsageError(fmt.Errorf("this is a development build (%s), and no image of it is published: set --image",
		o.Version))
}

// checkAddresses also refuses an empty list: an unset variable in a script would grant access to all addresses.
func (o *Install) checkAddresses() error {
	for _, address := range o.Common.APIServers {
		_, err := netip.ParseAddr(address)
		if _, errPrefix := netip.ParsePrefix(address); err != nil && errPrefix != nil {
			return fmt.Errorf("--api-servers has the invalid address %q: must be an IP address, or a CIDR block "+
				"like 192.0.2.0/24", address)
		}
	}
	return o.CheckList("api-servers", o.Common.APIServers)
}

// CheckList refuses an empty list in a flag.
func (o *Install) CheckList(flag string, list []string) error {
	if o.Changed(flag) && len(list) == 0 {
		return fmt.Errorf("--%s is empty", flag)
	}
	return nil
}

// sentence begins a sentence with a noun.
func sentence(noun string) string { return strings.ToUpper(noun[:1]) + noun[1:] }

func (o *Install) reservedError(namespace string) error {
	return fmt.Errorf("refusing to install into namespace %s: it belongs to the cluster or to Fleet; use a namespace "+
		"that only %s uses", namespace, o.of.Noun)
}

// Hooks are what is special in the installation of a component; nil for nothing.
type Hooks struct {
	// Note prints what the user may not expect.
	Note func(ctx context.Context, in *Installed) error
	// Prepare deletes what Helm cannot change.
	Prepare func(ctx context.Context, in *Installed, desired []*unstructured.Unstructured) error
}

// Apply installs or upgrades the chart with its values, a pointer to a struct.
func (o *Install) Apply(ctx context.Context, v any, hooks Hooks) error {
	if o.IsClientDryRun() {
		return o.printOffline(ctx, v)
	}
	in, err := o.open(ctx, false)
	if err != nil {
		return err
	}
	if err := o.checkInstallation(in); err != nil {
		return err
	}
	before, err := in.Helm.Manifest()
	if err != nil {
		return err
	}
	values, err := o.valuesOf(in.Helm, v)
	if err != nil {
		return err
	}
	desired, err := o.of.Render(in.Namespace, values)
	if err != nil {
		return err
	}
	if err := o.printNotes(ctx, in, values, hooks); err != nil {
		return err
	}
	// Before anything is written: Helm finds objects of others, and kinds that do not exist.
	mode := install.Mode{DryRun: true, TakeOwnership: in.Old}
	if err := in.Helm.Install(ctx, values, mode); err != nil {
		return err
	}
	deleted := install.Without(before, desired)
	if o.IsDryRun() {
		return o.printDone(ctx, desired, deleted)
	}
	if hooks.Prepare != nil {
		if err := hooks.Prepare(ctx, in, desired); err != nil {
			return err
		}
	}
	if err := o.write(ctx, in, values, mode); err != nil {
		return err
	}
	if err := o.removeKept(ctx, in, deleted); err != nil {
		return err
	}
	if err := o.printDone(ctx, desired, deleted); err != nil || !o.wait {
		return err
	}
	fmt.Fprintf(o.Streams.ErrOut, "%s is ready.\n", sentence(o.of.Noun))
	return nil
}

// printOffline prints the objects of a new installation.
func (o *Install) printOffline(ctx context.Context, v any) error {
	values, err := install.GivenValues(v, o.isGiven(nil))
	if err != nil {
		return err
	}
	desired, err := o.of.Render(cmp.Or(*o.Config.Namespace, install.Namespace), values)
	if err != nil {
		return err
	}
	return o.printDone(ctx, desired, nil)
}

// checkInstallation refuses an installation that cannot be upgraded. Without a release, its options are not known, and
// defaults in their place could extend the rights of the account.
func (o *Install) checkInstallation(in *Installed) error {
	switch {
	case !install.AllowedNamespace(in.Namespace): // where an installation was found
		return exit.Failure(o.reservedError(in.Namespace),
			"Remove that installation first: "+o.subcommand("uninstall")+" -n "+in.Namespace)
	case in.Named && !in.Helm.Installed() && !o.resetValues:
		err := fmt.Errorf("objects of %s in namespace %s exist without their Helm release, so their options are not "+
			"known", o.of.Noun, in.Namespace)
		return exit.Failure(err, "Repeat the command with all options and --reset-values, or remove the objects "+
			"first:\n  "+o.subcommand("uninstall")+" -n "+in.Namespace)
	}
	return nil
}

// valuesOf returns the values of the next revision.
func (o *Install) valuesOf(h *install.Helm, v any) (map[string]any, error) {
	isGiven := o.isGiven(h)
	if isGiven("image") && o.Common.Image == "" {
		return nil, o.noImageError()
	}
	if o.resetValues {
		return install.GivenValues(v, isGiven)
	}
	return h.Values(v, isGiven)
}

// isGiven reports which flags the command line has, and that of the image unless an upgrade keeps one that is not the
// program's own.
func (o *Install) isGiven(h *install.Helm) install.Given {
	keepsImage := h != nil && !o.resetValues && h.HasForeignImage()
	return func(flag string) bool { return o.Changed(flag) || flag == "image" && !keepsImage }
}

// printNotes prints what the user may not expect.
func (o *Install) printNotes(ctx context.Context, in *Installed, values map[string]any, hooks Hooks) error {
	changes, err := in.Helm.Changes(values, o.isGiven(in.Helm))
	if err != nil {
		return err
	}
	for _, change := range changes {
		fmt.Fprintf(o.Streams.ErrOut, "Note: %s\n", change)
	}
	if hooks.Note == nil {
		return nil
	}
	return hooks.Note(ctx, in)
}

// write installs or upgrades the release.
func (o *Install) write(ctx context.Context, in *Installed, values map[string]any, mode install.Mode) error {
	if err := in.Cluster.CreateNamespace(ctx, in.Namespace); err != nil {
		return err
	}
	if mode.DryRun = false; o.wait {
		mode.Wait = o.timeout
	}
	err := in.Helm.Install(ctx, values, mode)
	if o.wait && errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return exit.Failure(fmt.Errorf("%s is installed, but not ready after %s: %w", o.of.Noun, o.timeout, err),
			"To see what is wrong: "+o.subcommand("status")+". "+o.of.NotReady)
	}
	return err
}

// removeKept deletes the objects that the chart no longer has, if Helm has kept them because of an annotation.
func (o *Install) removeKept(ctx context.Context, in *Installed, deleted []*unstructured.Unstructured) error {
	if !o.of.Outlives || len(deleted) == 0 {
		return nil
	}
	live, err := in.Cluster.Objects(ctx, o.of.Chart, in.Namespace)
	if err != nil {
		return err
	}
	return in.Cluster.Delete(ctx, install.Without(live, install.Without(live, deleted)), false, func(object.Ref) {})
}

// printDone prints what was done with each object, or on request the manifests. It never prints live objects: a live
// Secret has values.
func (o *Install) printDone(ctx context.Context, desired, deleted []*unstructured.Unstructured) error {
	if o.print.ForPeople() {
		for _, d := range desired {
			o.Report(install.RefOf(d), "applied")
		}
		for _, d := range deleted {
			o.ReportDeleted(install.RefOf(d))
		}
	}
	return output.Write(ctx, o.Streams.Out, func(w io.Writer) error {
		if o.print.Format != "yaml" {
			d := Document{List: desired, Text: func(io.Writer) {}} // the objects are printed already
			d.Value = map[string]any{"apiVersion": "v1", "kind": "List", "items": desired}
			for _, u := range desired {
				d.Lines = append(d.Lines, NameOf(install.RefOf(u)))
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

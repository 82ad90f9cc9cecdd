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
	helmvalues "helm.sh/helm/v4/pkg/cli/values"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/output"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// Values are the flags of a component for the values of its chart.
type Values interface {
	// AddFlags adds the flags, also that of the API servers.
	AddFlags(c *cobra.Command, common *install.Common)
	// Parse returns the values of the chart, a pointer to a struct. Its errors are usage errors.
	Parse(common install.Common, isGiven install.Given) (any, error)
}

type installOptions struct {
	options
	flags  Values
	common install.Common
	values any
	image  string
	// files and settings are values by their names, in files and on the command line; set are both.
	settings helmvalues.Options
	set      map[string]any

	resetValues, wait bool
	timeout           time.Duration
}

// installRights are the rights that an installation requires.
const installRights = "It requires the rights of helm install: get, create, patch and delete on every kind of the " +
	"chart\n(--dry-run=client lists them) and on secrets, and the rights that its roles grant, or bind and " +
	"escalate.\n" +
	"cluster-admin has all of them."

// NewInstall returns the subcommand install.
func NewInstall(env cli.Environment, component Component, short string, values Values) *cobra.Command {
	o := &installOptions{options: newOptions(env, component, installRights), flags: values}
	c := NewCommand(o, &cobra.Command{Use: "install", Short: short})
	o.addFlags(c, "Namespace to install into (default that of the installation, else "+install.Namespace+")")
	o.print.AddFlags(c)
	o.dryRun.AddDryRun(c,
		"Only print what would be applied (client), or also let Helm check it with the server (server)")
	f := c.Flags()
	f.StringVar(&o.image, "image", "", "Image to run (default that of this release of the program, unless "+
		"the installed release has another one)")
	f.IntVar(&o.common.Replicas, "replicas", install.Replicas, "Number of replicas")
	f.StringSliceVarP(&o.settings.ValueFiles, "values", "f", nil,
		"Files with values of the chart; - for standard input. values.yaml of the chart describes them")
	f.StringArrayVar(&o.settings.Values, "set", nil, "Values of the chart, such as priorityClassName=high")
	f.StringArrayVar(&o.settings.StringValues, "set-string", nil, "The same for strings, such as podLabels.tier=1")
	f.BoolVar(&o.resetValues, "reset-values", false, "Start an upgrade from the defaults: options that are left out "+
		"are not kept")
	f.BoolVar(&o.wait, "wait", false, "Wait until all objects of the release are ready")
	f.DurationVar(&o.timeout, "timeout", 2*time.Minute, "Time limit of --wait")
	values.AddFlags(c, &o.common)
	return c
}

// Complete implements cli.Options.
func (o *installOptions) Complete([]string) error {
	if !o.Changed("image") {
		o.image, _ = install.ImageOf(o.Version)
	}
	return nil
}

// Validate implements cli.Options.
func (o *installOptions) Validate() error {
	if err := o.options.Validate(); err != nil {
		return err
	}
	if err := o.checkAddresses(); err != nil {
		return err
	}
	var err error
	if o.set, err = o.settings.MergeValues(nil); err != nil {
		return fmt.Errorf("--set, --set-string or --values: %w", err)
	}
	switch {
	case !install.AllowedNamespace(*o.Config.Namespace):
		return o.reservedError(*o.Config.Namespace)
	case o.Changed("image") && o.image == "":
		return errors.New("--image is empty")
	case o.common.Replicas < 1:
		return fmt.Errorf("--replicas=%d: must be 1 or more; to stop %s, use `%s uninstall`", o.common.Replicas,
			o.component.Noun, o.component.Verb)
	case o.timeout <= 0:
		return fmt.Errorf("--timeout=%s: must be more than 0", o.timeout)
	case o.wait && o.isDryRun():
		return errors.New("--wait and --dry-run are mutually exclusive")
	case o.image == "" && o.startsFromDefaults() && !o.setsImage():
		return o.noImageError()
	}
	if o.image != "" {
		o.common.Image = install.ParseImage(o.image)
	}
	o.values, err = o.flags.Parse(o.common, o.Changed)
	return err
}

// startsFromDefaults reports whether the values of an installed release do not count.
func (o *installOptions) startsFromDefaults() bool { return o.isClientDryRun() || o.resetValues }

func (o *installOptions) noImageError() error {
	return cli.UsageError(fmt.Errorf("this is a development build (%s), and no image of it is published: set --image",
		o.Version))
}

// checkAddresses also refuses an empty list: an unset variable in a script would grant access to all addresses.
func (o *installOptions) checkAddresses() error {
	for _, address := range o.common.APIServers {
		_, err := netip.ParseAddr(address)
		if _, errPrefix := netip.ParsePrefix(address); err != nil && errPrefix != nil {
			return fmt.Errorf("--api-servers has the invalid address %q: must be an IP address, or a CIDR block "+
				"like 192.0.2.0/24", address)
		}
	}
	if o.Changed("api-servers") && len(o.common.APIServers) == 0 {
		return errors.New("--api-servers is empty")
	}
	return nil
}

func (o *installOptions) reservedError(namespace string) error {
	return fmt.Errorf("refusing to install into namespace %s: it belongs to the cluster or to Fleet; use a namespace "+
		"that only %s uses", namespace, o.component.Noun)
}

// Run installs or upgrades the chart.
func (o *installOptions) Run(ctx context.Context) error {
	if o.isClientDryRun() {
		return o.printOffline(ctx)
	}
	in, err := o.open(ctx, false)
	if err != nil {
		return err
	}
	if err := o.checkInstallation(in); err != nil {
		return err
	}
	before, err := in.helm.Manifest()
	if err != nil {
		return err
	}
	values, notes, err := o.nextValues(in.helm)
	if err != nil {
		return err
	}
	desired, err := o.component.Render(in.Namespace, values)
	if err != nil {
		return err
	}
	for _, note := range notes {
		fmt.Fprintf(o.Streams.ErrOut, "Note: %s\n", note)
	}
	// Before anything is written: Helm finds objects of others, and kinds that do not exist.
	warnings, err := in.helm.Install(ctx, values, true, 0)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		fmt.Fprintln(o.Streams.ErrOut, w)
	}
	deleted := install.Without(before, desired)
	if o.isDryRun() {
		return o.printDone(ctx, desired, deleted)
	}
	if err := in.cluster.DeleteOutdated(ctx, before, desired); err != nil {
		return err
	}
	if err := o.write(ctx, in, values); err != nil {
		return err
	}
	if err := o.removeKept(ctx, in, deleted); err != nil {
		return err
	}
	if err := o.printDone(ctx, desired, deleted); err != nil || !o.wait {
		return err
	}
	noun := o.component.Noun
	fmt.Fprintf(o.Streams.ErrOut, "%s is ready.\n", strings.ToUpper(noun[:1])+noun[1:])
	return nil
}

// printOffline prints the objects of a new installation.
func (o *installOptions) printOffline(ctx context.Context) error {
	values, _, err := o.nextValues(&install.Helm{Chart: o.component.Chart})
	if err != nil {
		return err
	}
	desired, err := o.component.Render(cmp.Or(*o.Config.Namespace, install.Namespace), values)
	if err != nil {
		return err
	}
	return o.printDone(ctx, desired, nil)
}

// checkInstallation refuses an installation that cannot be upgraded. Without a release, its options are not known, and
// defaults in their place could extend the rights of the account.
func (o *installOptions) checkInstallation(in *installed) error {
	isUnreleased := in.Named != "" && !in.helm.Installed()
	switch {
	case !install.AllowedNamespace(in.Namespace): // where an installation was found
		return cli.Failure(o.reservedError(in.Namespace),
			"Remove that installation first: "+o.subcommand("uninstall")+" -n "+in.Namespace)
	case isUnreleased && !o.resetValues:
		err := fmt.Errorf("objects of %s in namespace %s exist without their Helm release, so their options are not "+
			"known", o.component.Noun, in.Namespace)
		return cli.Failure(err, "Repeat the command with all options and --reset-values, or remove the objects "+
			"first:\n  "+o.subcommand("uninstall")+" -n "+in.Namespace)
	}
	return nil
}

// nextValues returns the values of the next revision, and what is kept.
func (o *installOptions) nextValues(h *install.Helm) (values map[string]any, kept []string, err error) {
	isGiven := o.isGiven(h)
	if isGiven("image") && o.image == "" {
		return nil, nil, o.noImageError()
	}
	flags, err := install.GivenValues(o.values, isGiven)
	if err != nil {
		return nil, nil, err
	}
	if o.resetValues {
		h = &install.Helm{Chart: o.component.Chart}
	}
	if values, kept, err = h.Values(flags, o.set); err != nil {
		return nil, nil, err
	}
	if err := o.component.Check(values); err != nil {
		return nil, nil, cli.UsageError(err)
	}
	return values, kept, nil
}

// setsImage reports whether the image is named by a value, and not only how it is pulled.
func (o *installOptions) setsImage() bool {
	image, isMap := o.set["image"].(map[string]any)
	if !isMap {
		return o.set["image"] != nil
	}
	return image["repository"] != nil || image["tag"] != nil || image["digest"] != nil
}

// isGiven reports which flags the command line has, and that of the image unless an upgrade keeps one that is not the
// program's own.
func (o *installOptions) isGiven(h *install.Helm) install.Given {
	keepsImage := o.setsImage() || !o.resetValues && h.HasForeignImage()
	return func(flag string) bool { return o.Changed(flag) || flag == "image" && !keepsImage }
}

// write installs or upgrades the release.
func (o *installOptions) write(ctx context.Context, in *installed, values map[string]any) error {
	if err := in.cluster.CreateNamespace(ctx, in.Namespace); err != nil {
		return err
	}
	var limit time.Duration
	if o.wait {
		limit = o.timeout
	}
	_, err := in.helm.Install(ctx, values, false, limit)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return cli.Failure(fmt.Errorf("%s is installed, but not ready after %s: %w", o.component.Noun, o.timeout, err),
			"To see what is wrong: "+o.subcommand("status")+". "+o.component.NotReady)
	}
	return err
}

// removeKept deletes the objects that the chart no longer has, if Helm has kept them because of an annotation.
func (o *installOptions) removeKept(ctx context.Context, in *installed, deleted []*unstructured.Unstructured) error {
	if !o.component.Outlives || len(deleted) == 0 {
		return nil
	}
	live, err := in.cluster.Objects(ctx, o.component.Chart, in.Namespace)
	if err != nil {
		return err
	}
	return in.cluster.Delete(ctx, install.Without(live, install.Without(live, deleted)), false, func(object.Ref) {})
}

// printDone prints what was done with each object, or on request the manifests. It never prints live objects: a live
// Secret has values.
func (o *installOptions) printDone(ctx context.Context, desired, deleted []*unstructured.Unstructured) error {
	if o.print.ForPeople() {
		for _, d := range desired {
			o.report(install.RefOf(d), "applied")
		}
		for _, d := range deleted {
			o.reportDeleted(install.RefOf(d))
		}
		return nil
	}
	return output.Write(ctx, o.Streams.Out, func(w io.Writer) error {
		if o.print.Format == "yaml" {
			return writeManifests(w, desired)
		}
		d := document{list: desired}
		d.value = map[string]any{"apiVersion": "v1", "kind": "List", "items": desired}
		for _, u := range desired {
			d.names = append(d.names, nameOf(install.RefOf(u)))
		}
		return o.show(w, d)
	})
}

// writeManifests writes objects as separate documents, like a file of manifests.
func writeManifests(w io.Writer, objects []*unstructured.Unstructured) error {
	for i, u := range objects {
		if i > 0 {
			fmt.Fprintln(w, "---")
		}
		if err := output.WriteYAML(w, u.Object); err != nil {
			return err
		}
	}
	return nil
}

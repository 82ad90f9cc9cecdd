// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/chart"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/installation"
)

type disableOptions struct{ chart.Change }

func newDisable(env verb.Environment) *cobra.Command {
	o := &disableOptions{chart.NewChange(env, component, disableRights)}
	c := chart.NewCommand(o, &cobra.Command{Use: "disable", Short: "Stop all calls of the admission webhook at once"})
	o.AddFlags(c, "Ignored: webhook configurations are cluster-scoped")
	o.AddDryRunDelete(c)
	return c
}

// Run implements verb.Options.
func (o *disableOptions) Run(ctx context.Context) error {
	cluster, err := o.Connect(nil)
	if err != nil {
		return err
	}
	configurations, err := installation.Configurations(ctx, cluster)
	if err != nil {
		return err
	}
	if err := o.Remove(ctx, cluster, configurations); err != nil {
		return err
	}
	o.printFleetNote(configurations)
	switch {
	case len(configurations) == 0:
		fmt.Fprintln(o.Streams.ErrOut, "No webhook configuration has the label "+installation.Selector+
			": the API server does not call the webhook.")
	case o.IsDryRun():
		return nil
	default:
		fmt.Fprintln(o.Streams.ErrOut, "The API server no longer calls the webhook.")
	}
	o.printEnable(ctx, cluster, configurations)
	return nil
}

// printFleetNote says that Fleet deployed one of the objects and may create it again, if it did.
func (o *disableOptions) printFleetNote(objects []*unstructured.Unstructured) {
	i := slices.IndexFunc(objects, func(u *unstructured.Unstructured) bool { return install.ReleaseOf(u) != "" })
	if i < 0 {
		return
	}
	release := install.ReleaseOf(objects[i])
	_, name, _ := strings.Cut(release, "/")
	fmt.Fprintf(o.Streams.ErrOut, "Fleet deployed %s (release %s), and may create it again with its next deploy, "+
		"or at once if\ncorrectDrift is on. To prevent this, pause the bundle on the management cluster:\n"+
		"  kubectl patch bundles.fleet.cattle.io %s -n WORKSPACE --type=merge -p '{\"spec\":{\"paused\":true}}'\n"+
		"or remove it from the GitRepo.\n", chart.NameOf(install.RefOf(objects[i])), release, name)
}

// hintTimeout is the time limit of the reads for a hint.
const hintTimeout = 3 * time.Second

// printEnable prints how to enable an installation again, if there is one.
func (o *disableOptions) printEnable(ctx context.Context, cluster *install.Cluster,
	configurations []*unstructured.Unstructured,
) {
	ctx, cancel := context.WithTimeout(ctx, hintTimeout)
	defer cancel()
	in, err := installation.FindBy(ctx, cluster, configurations)
	switch {
	case err != nil || in.Namespace == "":
	case in.Fleet != "": // it would overwrite what enable writes
		_, name, _ := strings.Cut(in.Fleet, "/")
		fmt.Fprintf(o.Streams.ErrOut, "To enable it again, resume the bundle. Fleet deploys it with its next deploy, "+
			"or at once if correctDrift is on:\n  kubectl patch bundles.fleet.cattle.io %s -n WORKSPACE --type=merge "+
			"-p '{\"spec\":{\"paused\":false}}'\n", name)
	default:
		fmt.Fprintf(o.Streams.ErrOut, "To enable it again:\n  %s\n", o.Command("webhook enable"))
	}
}

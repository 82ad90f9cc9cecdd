// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/flags"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/installation"
)

// change has the flags of a subcommand that changes an installation. Subcommands embed it.
type change struct {
	connection
	dryRun *flags.Enum
}

// The values of --dry-run.
const (
	dryRunNone   = "none"
	dryRunClient = "client" // no request that writes
	dryRunServer = "server" // Helm and the server check the change, and nothing is stored
)

func newChange(env verb.Environment, rights string) change {
	return change{newConnection(env, rights), flags.NewEnum(dryRunNone, dryRunNone, dryRunClient, dryRunServer)}
}

const (
	dryRunApplyUsage  = "Only print what would be applied (client), or also let Helm check it with the server (server)"
	dryRunDeleteUsage = "Only print what would be deleted (client), or also let the server check it (server)"
)

// isDryRun reports whether nothing may be written.
func (o *change) isDryRun() bool { return o.dryRun.String() != dryRunNone }

// report prints what was done with an object, as kubectl does.
func (o *change) report(r object.Ref, done string) {
	switch o.dryRun.String() {
	case dryRunClient:
		done += " (dry run)"
	case dryRunServer:
		done += " (server dry run)"
	}
	fmt.Fprintf(o.Streams.Out, "%s %s\n", nameOf(r), done)
}

// remove deletes objects and reports them.
func (o *change) remove(ctx context.Context, cluster *installation.Cluster, targets []*unstructured.Unstructured,
) error {
	if o.dryRun.String() == dryRunClient {
		for _, t := range targets {
			o.reportDeleted(installation.RefOf(t))
		}
		return nil
	}
	return cluster.Delete(ctx, targets, o.isDryRun(), o.reportDeleted)
}

// reportDeleted is report for a deleted object.
func (o *change) reportDeleted(r object.Ref) { o.report(r, "deleted") }

// installed is a cluster with its installation and its Helm release.
type installed struct {
	cluster *installation.Cluster
	*installation.Installation
	helm *installation.Helm
}

// open connects with a cluster, and finds its installation. It refuses another namespace, because a cluster has one
// installation, and an installation by Fleet. Without an installation, the result has the namespace for it.
func (o *change) open(ctx context.Context) (*installed, error) {
	cluster, err := o.connect(nil)
	if err != nil {
		return nil, err
	}
	in, err := cluster.Find(ctx)
	if err != nil {
		return nil, err
	}
	namespace := o.namespaceOr(in.Namespace)
	switch {
	case in.Namespace != "" && in.Namespace != namespace:
		err := fmt.Errorf("the webhook is installed in namespace %s, not in %s", in.Namespace, namespace)
		return nil, exit.Failure(err,
			"A cluster has one installation. Leave out -n, or remove that installation first: "+
				o.Command("webhook uninstall")+" -n "+in.Namespace)
	case in.Fleet != "":
		err := fmt.Errorf("the webhook is deployed by Fleet (release %s), which would undo the change", in.Fleet)
		return nil, exit.Failure(err,
			"Change the values in its fleet.yaml, or remove it from the GitRepo. In an emergency: "+
				o.Command("webhook disable"))
	}
	in.Namespace = namespace
	helm, err := cluster.Helm(namespace, in.Release)
	return &installed{cluster, in, helm}, err
}

// printFleetNote says that Fleet deployed one of the objects and may create it again, if it did.
func (o *change) printFleetNote(objects []*unstructured.Unstructured) {
	i := slices.IndexFunc(objects, func(u *unstructured.Unstructured) bool { return installation.ReleaseOf(u) != "" })
	if i < 0 {
		return
	}
	release := installation.ReleaseOf(objects[i])
	_, name, _ := strings.Cut(release, "/")
	fmt.Fprintf(o.Streams.ErrOut, "Fleet deployed %s (release %s), and may create it again with its next deploy, "+
		"or at once if\ncorrectDrift is on. To prevent this, pause the bundle on the management cluster:\n"+
		"  kubectl patch bundles.fleet.cattle.io %s -n WORKSPACE --type=merge -p '{\"spec\":{\"paused\":true}}'\n"+
		"or remove it from the GitRepo.\n", nameOf(installation.RefOf(objects[i])), release, name)
}

// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/flags"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// Change has the flags of a subcommand that changes an install. Subcommands embed it.
type Change struct {
	Connection
	dryRun *flags.Enum
}

// The values of --dry-run.
const (
	dryRunNone   = "none"
	dryRunClient = "client" // no request that writes
	dryRunServer = "server" // Helm and the server check the change, and nothing is stored
)

// NewChange is NewConnection for a subcommand that changes an install.
func NewChange(env verb.Environment, of Component, rights string) Change {
	return Change{NewConnection(env, of, rights), flags.NewEnum(dryRunNone, dryRunNone, dryRunClient, dryRunServer)}
}

// AddDryRunApply adds --dry-run to a subcommand that applies objects.
func (o *Change) AddDryRunApply(c *cobra.Command) {
	o.dryRun.AddTo(c, "dry-run",
		"Only print what would be applied (client), or also let Helm check it with the server (server)")
}

// AddDryRunDelete adds --dry-run to a subcommand that deletes objects.
func (o *Change) AddDryRunDelete(c *cobra.Command) {
	o.dryRun.AddTo(c, "dry-run",
		"Only print what would be deleted (client), or also let the server check it (server)")
}

// IsDryRun reports whether nothing may be written.
func (o *Change) IsDryRun() bool { return o.dryRun.String() != dryRunNone }

// IsClientDryRun reports whether not even a dry run may be sent to the server.
func (o *Change) IsClientDryRun() bool { return o.dryRun.String() == dryRunClient }

// Report prints what was done with an object, as kubectl does.
func (o *Change) Report(r object.Ref, done string) {
	switch o.dryRun.String() {
	case dryRunClient:
		done += " (dry run)"
	case dryRunServer:
		done += " (server dry run)"
	}
	fmt.Fprintf(o.Streams.Out, "%s %s\n", NameOf(r), done)
}

// Remove deletes objects and reports them.
func (o *Change) Remove(ctx context.Context, cluster *install.Cluster, targets []*unstructured.Unstructured,
) error {
	if o.IsClientDryRun() {
		for _, t := range targets {
			o.ReportDeleted(install.RefOf(t))
		}
		return nil
	}
	return cluster.Delete(ctx, targets, o.IsDryRun(), o.ReportDeleted)
}

// ReportDeleted is Report for a deleted object.
func (o *Change) ReportDeleted(r object.Ref) { o.Report(r, "deleted") }

// Installed is a cluster with its installation and its Helm release.
type Installed struct {
	Cluster *install.Cluster
	*install.Installation
	Helm *install.Helm
}

// open connects with a cluster, and finds its installation. It refuses another namespace than that of the installation,
// because a cluster has one, and an installation by Fleet unless ofFleet is set. Without an installation, the result
// has the namespace for it.
func (o *Change) open(ctx context.Context, ofFleet bool) (*Installed, error) {
	cluster, err := o.Connect(nil)
	if err != nil {
		return nil, err
	}
	in, err := cluster.Find(ctx, o.of.Chart, *o.Config.Namespace)
	if err != nil {
		return nil, err
	}
	switch {
	case !in.Named && len(in.Others) > 0:
		return nil, o.elsewhereError(in)
	case in.Fleet != "" && !ofFleet:
		err := fmt.Errorf("%s is deployed by Fleet (release %s), which would undo the change", o.of.Noun, in.Fleet)
		return nil, exit.Failure(err, "Change the values in its fleet.yaml, or remove it from the GitRepo. "+
			o.of.Otherwise(o.Flags))
	}
	helm, err := cluster.Helm(o.of.Chart, in.Namespace, in.Release)
	return &Installed{cluster, in, helm}, err
}

// elsewhereError refuses a namespace without the installation, which is in another one.
func (o *Change) elsewhereError(in *install.Installation) error {
	others := slices.Sorted(maps.Keys(in.Others))
	first := others[0]
	err := fmt.Errorf("%s is installed in namespace %s, not in %s", o.of.Noun, strings.Join(others, " and "),
		in.Namespace)
	return exit.Failure(err, fmt.Sprintf("This object names namespace %s: %s. A cluster has one installation.\n"+
		"Leave out -n, or remove that installation first: %s -n %s", first, in.Others[first][0],
		o.subcommand("uninstall"), first))
}

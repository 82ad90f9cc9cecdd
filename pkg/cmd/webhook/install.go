// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/chart"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/flags"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/installation"
)

type installOptions struct {
	chart.Install
	values installation.Values

	certificates *flags.Enum
	guardDefault *flags.Enum
}

func newInstall(env verb.Environment) *cobra.Command {
	const selfSigned = string(installation.SelfSigned)
	o := &installOptions{
		Install:      chart.NewInstall(env, component),
		certificates: flags.NewEnum(selfSigned, selfSigned, string(installation.CertManager)),
		guardDefault: newGuardDefault(),
	}
	c := chart.NewCommand(o, &cobra.Command{Use: "install", Short: "Install the admission webhook, or upgrade it"})
	o.AddInstallFlags(c)
	o.certificates.AddTo(c, "certificates",
		"Source of the webhook's certificate: the webhook itself, or cert-manager, which must be installed")
	o.guardDefault.AddTo(c, "guard-default", guardDefaultUsage)
	f := c.Flags()
	f.BoolVar(&o.values.Exact, "exact", false,
		"Also add ownership metadata to objects that have none, in namespaces labeled fleetdoctor.io/adopt=exact")
	f.StringSliceVar(&o.values.ReleaseNamespaces, "release-namespaces", nil,
		"The only namespaces whose release records, and other Secrets, the webhook may read (default all)")
	f.StringSliceVar(&o.Common.APIServers, "api-servers", nil,
		"The only addresses (IP or CIDR) that reach the webhook and that it reaches: those of the control plane "+
			"nodes, and of the Service kubernetes (default all)")
	return c
}

// Complete implements verb.Options.
func (o *installOptions) Complete(args []string) error {
	v := &o.values
	v.Certificates = installation.Certificates(o.certificates.String())
	v.GuardDefault = admission.GuardMode(o.guardDefault.String())
	slices.Sort(v.ReleaseNamespaces)
	v.ReleaseNamespaces = slices.Compact(v.ReleaseNamespaces)
	err := o.Install.Complete(args)
	v.Common = o.Common
	return err
}

// Validate implements verb.Options.
func (o *installOptions) Validate() error {
	if err := o.Install.Validate(); err != nil {
		return err
	}
	for _, name := range o.values.ReleaseNamespaces {
		if wrong := validation.IsDNS1123Label(name); wrong != nil {
			return fmt.Errorf("--release-namespaces has the invalid name %q: %s", name, wrong[0])
		}
	}
	return o.CheckList("release-namespaces", o.values.ReleaseNamespaces)
}

// Run implements verb.Options.
func (o *installOptions) Run(ctx context.Context) error {
	var configurations []*unstructured.Unstructured
	return o.Apply(ctx, &o.values, chart.Hooks{
		Note: func(ctx context.Context, in *chart.Installed) (err error) {
			if configurations, err = installation.Configurations(ctx, in.Cluster); err == nil {
				o.printNotes(in, len(configurations) > 0)
			}
			return err
		},
		Prepare: func(ctx context.Context, in *chart.Installed, desired []*unstructured.Unstructured) error {
			return prepare(ctx, in, configurations, desired)
		},
	})
}

// printNotes prints what the user may not expect of an upgrade.
func (o *installOptions) printNotes(in *chart.Installed, isCalled bool) {
	if in.Helm.Last != nil && !isCalled {
		fmt.Fprintln(o.Streams.ErrOut, "Note: the webhook configurations do not exist. The upgrade creates them again.")
	}
	if in.Old {
		fmt.Fprintln(o.Streams.ErrOut, "Note: an installation from before the chart is replaced.")
	}
}

// prepare removes what Helm cannot change.
func prepare(ctx context.Context, in *chart.Installed, live, desired []*unstructured.Unstructured) error {
	replaced := installation.Outdated(live, desired)
	if in.Old {
		var err error
		if replaced, err = in.Cluster.Objects(ctx, component.Chart, in.Namespace); err != nil {
			return err
		}
	}
	return in.Cluster.Delete(ctx, replaced, false, func(object.Ref) {})
}

// SPDX-License-Identifier: Apache-2.0

// Package webhook has the verb webhook and its subcommands, which install, inspect, remove and run the admission
// webhook.
package webhook

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/chart"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/transport"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/installation"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/server"
)

// fromFiles is the other value of --certificates.
const fromFiles = "files"

type serveOptions struct {
	flags        *input.Flags
	certificates *cli.Enum
	guardDefault *cli.Enum
	record       *cli.Enum
	serving      *chart.ServeFlags
	server.Options
}

func newServe(env cli.Environment) *cobra.Command {
	o := &serveOptions{
		flags:        input.New(env),
		certificates: cli.NewEnum(string(installation.SelfSigned), string(installation.SelfSigned), fromFiles),
		guardDefault: newGuardDefault(),
		record:       newRecord(),
		serving:      chart.NewServe(),
	}
	o.flags.Config.Timeout = nil // a watch has none
	c := chart.NewCommand(o, &cobra.Command{Use: "serve", Short: "Serve the admission webhook, in the cluster"})
	f := c.Flags()
	o.flags.Config.AddFlags(f)
	f.Lookup("namespace").Usage = "Namespace of the webhook's own Secret and Service (default that of the pod)"
	o.certificates.AddTo(c, "certificates", "Source of the serving certificate")
	o.guardDefault.AddTo(c, "guard-default", guardDefaultUsage)
	o.record.AddTo(c, "record", recordUsage)
	f.BoolVar(&o.RecordGroups, "record-groups", false, "Also write down the groups of the users")
	f.StringVar(&o.Certificates.Dir, "cert-dir", "",
		"Directory of "+server.CertName+" and "+server.KeyName+" for --certificates=files; otherwise a directory to "+
			"write the public certificate to (default one in the system's temporary directory)")
	f.StringVar(&o.Certificates.Secret, "cert-secret", installation.SecretName,
		"Secret that stores a self-signed certificate")
	f.StringVar(&o.Certificates.Service, "service", installation.Name, "Service of a self-signed certificate")
	f.StringVar(&o.Certificates.Configuration, "configuration", installation.Name,
		"Webhook configurations, mutating and validating, whose caBundle is set to the authority of a self-signed "+
			"certificate")
	f.StringSliceVar(&o.Certificates.ExtraNames, "extra-names", nil,
		"Additional DNS names of a new self-signed certificate. An existing certificate does not change")
	f.StringSliceVar(&o.ReleaseNamespaces, "release-namespaces", nil,
		"Namespaces whose release records are read (default all)")
	f.IntVar(&o.Port, "port", 9443, "Port for admission requests")
	f.StringVar(&o.Host, "bind-address", "", "IP address for admission requests (default all)")
	o.serving.AddFlags(c)
	f.DurationVar(&o.ShutdownDelay, "shutdown-delay", 5*time.Second,
		"How long to continue to serve after SIGTERM, while the endpoint is removed from the Service")
	return c
}

// Complete implements cli.Options.
func (o *serveOptions) Complete([]string) error {
	o.Certificates.Files = o.certificates.String() == fromFiles
	o.GuardDefault = admission.GuardMode(o.guardDefault.String())
	o.Record = admission.RecordMode(o.record.String())
	o.Metrics, o.Probes = o.serving.Metrics, o.serving.Probes
	return nil
}

// Validate implements cli.Options.
func (o *serveOptions) Validate() error {
	for _, check := range []func() error{o.checkNames, o.checkAddresses, o.checkCertificates} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// checkNames refuses names that the API server would refuse.
func (o *serveOptions) checkNames() error {
	for _, names := range []struct {
		flag   string
		values []string
		check  func(string) []string
	}{
		{"cert-secret", []string{o.Certificates.Secret}, validation.IsDNS1123Subdomain},
		{"configuration", []string{o.Certificates.Configuration}, validation.IsDNS1123Subdomain},
		{"service", []string{o.Certificates.Service}, validation.IsDNS1035Label},
		{"extra-names", o.Certificates.ExtraNames, validation.IsDNS1123Subdomain},
		{"release-namespaces", o.ReleaseNamespaces, validation.IsDNS1123Label},
	} {
		for _, name := range names.values {
			if wrong := names.check(name); wrong != nil {
				return fmt.Errorf("--%s: the name %q is invalid: %s", names.flag, name, wrong[0])
			}
		}
	}
	return nil
}

func (o *serveOptions) checkAddresses() error {
	if o.Port < 1 || o.Port > 65535 {
		return fmt.Errorf("--port=%d is invalid: must be from 1 to 65535", o.Port)
	}
	if o.Host != "" && net.ParseIP(o.Host) == nil {
		return fmt.Errorf("--bind-address=%q is not an IP address: must be one of this machine, or empty for all "+
			"of them", o.Host)
	}
	if err := o.serving.Validate(); err != nil {
		return err
	}
	if o.ShutdownDelay < 0 {
		return fmt.Errorf("--shutdown-delay=%s is negative: must be 0s or more", o.ShutdownDelay)
	}
	return nil
}

// checkCertificates checks the directory of the certificates. For self-signed certificates it creates the directory.
func (o *serveOptions) checkCertificates() error {
	if o.Certificates.Files {
		if o.Certificates.Dir == "" {
			return fmt.Errorf("--certificates=%s requires --cert-dir: the directory of %s and %s", fromFiles,
				server.CertName, server.KeyName)
		}
		for _, name := range []string{server.CertName, server.KeyName} {
			if _, err := os.ReadFile(filepath.Join(o.Certificates.Dir, name)); err != nil {
				return fmt.Errorf("--certificates=%s: %w; name another directory with --cert-dir, or mount the Secret "+
					"of the certificate there", fromFiles, err)
			}
		}
		return nil
	}
	if o.Certificates.Dir == "" {
		o.Certificates.Dir = filepath.Join(os.TempDir(), server.Name)
	}
	err := os.MkdirAll(o.Certificates.Dir, 0o700)
	if err == nil {
		var probe string
		if probe, err = os.MkdirTemp(o.Certificates.Dir, ".probe-*"); err == nil {
			err = os.Remove(probe)
		}
	}
	if err != nil {
		return fmt.Errorf("--cert-dir: %w; name a writable directory, in a pod an emptyDir", err)
	}
	return nil
}

// Run serves until the context ends.
func (o *serveOptions) Run(ctx context.Context) error {
	var err error
	if o.Config, err = o.flags.RESTConfig("Outside of a cluster, name a kubeconfig with --kubeconfig or a context " +
		"with --context."); err != nil {
		return err
	}
	if o.Namespace, _, err = o.flags.Config.ToRawKubeConfigLoader().Namespace(); err != nil {
		return cli.Failure(fmt.Errorf("finding the namespace: %w", err), "Name it with --namespace.")
	}
	o.Log = o.serving.Logger(o.flags.Streams.ErrOut)
	s, err := server.New(o.Options)
	if err != nil {
		return err
	}
	_, drained := o.flags.Interruption.Hold(ctx)
	defer drained()
	err = s.Run(ctx)
	if err != nil && ctx.Err() != nil { // else the root command would call it interrupted
		o.Log.Error(err, "not drained")
		err = &cli.Error{Status: cli.ExitFailed, Err: err, Shown: true}
	}
	return err
}

// AddHint implements chart.Subcommand.
func (o *serveOptions) AddHint(err error) error {
	e := &cli.Error{Status: cli.ExitFailed, Err: err}
	var listen *transport.ListenError
	if errors.As(err, &listen) {
		e.Hint = chart.ServeHint(listen, map[string]string{server.Requests: "--port"})
	}
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return e
	}
	if missing := status.Status().Details; missing != nil && missing.Name == o.Certificates.Secret {
		e.Hint = fmt.Sprintf("Secret %q must exist, and may be empty; name another one with --cert-secret and "+
			"--namespace.", o.Certificates.Secret)
	}
	return e
}

// component is what the verb installs.
var component = chart.Component{
	Chart: installation.Chart, Verb: "webhook", Noun: "the webhook",
	NotReady:  "Meanwhile requests continue without the webhook.",
	Generated: "cert-manager made the Secret",
	Otherwise: func(o *input.Flags) string {
		return "In an emergency, this stops its calls until Fleet deploys it again:\n" + o.Commands().Kubectl +
			" delete mutatingwebhookconfigurations,validatingwebhookconfigurations -l " + installation.Selector
	},
	Kept: "others may have objects in it",
}

// statusRights are the rights that status requires, in terms of RBAC.
const statusRights = "It requires get on the objects of an installation (webhook install --dry-run=client lists " +
	"them), list on secrets,\nand for the test also get on namespaces, list on configmaps, services, " +
	"serviceaccounts, deployments and statefulsets,\nand patch on the tested object."

// NewCommand returns the verb and its subcommands.
func NewCommand(env cli.Environment) *cobra.Command {
	return chart.NewVerb("webhook", "Install, inspect and remove the webhook that keeps Fleet's ownership metadata",
		chart.NewInstall(env, component, "Install the admission webhook, or upgrade it", newValues()),
		chart.NewUninstall(env, component, "Remove the admission webhook from the cluster"),
		newStatus(env), newServe(env))
}

func newStatus(env cli.Environment) *cobra.Command {
	warnings := &installation.Warnings{}
	// evaluate implements chart.Evaluator.
	evaluate := func(ctx context.Context, c *install.Cluster, f install.Facts) (*install.Status, any, []string) {
		facts := installation.Read(ctx, c, f)
		tester := &installation.Tester{Cluster: c, Mutating: facts.Mutating, Validating: facts.Validating,
			Warnings: warnings, Now: env.Now}
		facts.Test = tester.Test(ctx)
		s := installation.Evaluate(facts)
		var names []string
		for _, webhook := range s.Webhooks {
			names = append(names, escape.Line(webhook.Name))
		}
		return &s.Status, s, names
	}
	return chart.NewStatus(env, component, "Report the state of the admission webhook, and test it with a dry run",
		statusRights, warnings, evaluate)
}

// values are the flags for the values of the chart. They implement chart.Values.
type values struct {
	installation.Values
	certificates, guardDefault, record *cli.Enum
}

func newValues() *values {
	const selfSigned = string(installation.SelfSigned)
	return &values{certificates: cli.NewEnum(selfSigned, selfSigned, string(installation.CertManager)),
		guardDefault: newGuardDefault(), record: newRecord()}
}

func newGuardDefault() *cli.Enum {
	off, warn, deny := string(admission.GuardOff), string(admission.GuardWarn), string(admission.GuardDeny)
	return cli.NewEnum(warn, off, warn, deny)
}

func newRecord() *cli.Enum {
	off, deletions, changes := string(admission.RecordOff), string(admission.RecordDeletions),
		string(admission.RecordChanges)
	return cli.NewEnum(changes, off, deletions, changes)
}

const recordUsage = "Write down who deletes objects of Fleet's releases (deletions), and who also takes their " +
	"ownership metadata (changes)"

const guardDefaultUsage = "Mode of the validating handler in namespaces without the label " + admission.GuardLabel

// AddFlags implements chart.Values.
func (v *values) AddFlags(c *cobra.Command, common *install.Common) {
	v.certificates.AddTo(c, "certificates",
		"Source of the webhook's certificate: the webhook itself, or cert-manager, which must be installed")
	v.guardDefault.AddTo(c, "guard-default", guardDefaultUsage)
	v.record.AddTo(c, "record", recordUsage)
	f := c.Flags()
	f.BoolVar(&v.Exact, "exact", false,
		"Also add ownership metadata to objects that have none, in namespaces labeled fleetdoctor.io/adopt=exact")
	f.StringSliceVar(&v.ReleaseNamespaces, "release-namespaces", nil,
		"The only namespaces whose release records, and other Secrets, the webhook may read (default all)")
	f.StringSliceVar(&common.APIServers, "api-servers", nil,
		"The only addresses (IP or CIDR) that reach the webhook and that it reaches: those of the control plane "+
			"nodes, and of the Service kubernetes (default all)")
}

// Parse implements chart.Values.
func (v *values) Parse(common install.Common, isGiven install.Given) (any, error) {
	for _, name := range v.ReleaseNamespaces {
		if wrong := validation.IsDNS1123Label(name); wrong != nil {
			return nil, fmt.Errorf("--release-namespaces has the invalid name %q: %s", name, wrong[0])
		}
	}
	if isGiven("release-namespaces") && len(v.ReleaseNamespaces) == 0 {
		return nil, errors.New("--release-namespaces is empty")
	}
	slices.Sort(v.ReleaseNamespaces)
	v.ReleaseNamespaces = slices.Compact(v.ReleaseNamespaces)
	v.Common, v.Certificates = common, installation.Certificates(v.certificates.String())
	v.GuardDefault = admission.GuardMode(v.guardDefault.String())
	v.Record = admission.RecordMode(v.record.String())
	return &v.Values, nil
}

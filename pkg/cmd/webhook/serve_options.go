// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/server"
)

// toOptions checks the command line, and loads what it names.
func (o *serveOptions) toOptions() (server.Options, error) {
	for _, check := range []func() error{o.checkNames, o.checkAddresses, o.checkCertificates} {
		if err := check(); err != nil {
			return server.Options{}, exit.UsageError(err)
		}
	}
	config, err := o.connection()
	if err != nil {
		return server.Options{}, &exit.Error{Status: exit.Failed, Err: err,
			Hint: "Outside of a cluster, name one with --kubeconfig or --context."}
	}
	namespace, _, err := o.config.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return server.Options{}, &exit.Error{Status: exit.Failed, Err: fmt.Errorf("finding the namespace: %w", err), Hint: "Name it with --namespace."}
	}
	return server.Options{
		Config:    config,
		Namespace: namespace,
		Host:      o.host,
		Port:      o.port,
		Metrics:   o.metrics,
		Probes:    o.probes,
		Certificates: server.Certificates{Files: o.certificates.String() == fromFiles, Dir: o.certDir, Secret: o.certSecret,
			Configuration: o.configuration, Service: o.service, ExtraNames: o.extraNames},
		GuardDefault:      admission.GuardMode(o.guardDefault.String()),
		ReleaseNamespaces: o.releases,
		ShutdownDelay:     o.shutdownDelay,
	}, nil
}

// connection is that of the kubeconfig, or of the pod. Where nothing says which cluster, kubectl asks localhost:8080; there this very process has
// its metrics.
func (o *serveOptions) connection() (*rest.Config, error) {
	if err := input.CheckKubeconfig(o.config); err != nil {
		return nil, fmt.Errorf("loading the kubeconfig: %w", err)
	}
	raw, err := o.config.ToRawKubeConfigLoader().RawConfig()
	if err == nil && len(raw.Clusters) == 0 && *o.config.APIServer == "" {
		_, err = rest.InClusterConfig()
	}
	var config *rest.Config
	if err == nil {
		config, err = o.config.ToRESTConfig()
	}
	if err == nil {
		err = input.HideCredentials(config)
	}
	if err != nil {
		return nil, fmt.Errorf("loading the kubeconfig: %w", err)
	}
	return config, nil
}

// checkNames refuses what the API server would.
func (o *serveOptions) checkNames() error {
	for _, names := range []struct {
		flag   string
		values []string
		check  func(string) []string
	}{
		{"cert-secret", []string{o.certSecret}, validation.IsDNS1123Subdomain},
		{"configuration", []string{o.configuration}, validation.IsDNS1123Subdomain},
		{"service", []string{o.service}, validation.IsDNS1035Label},
		{"extra-names", o.extraNames, validation.IsDNS1123Subdomain},
		{"release-namespaces", o.releases, validation.IsDNS1123Label},
	} {
		for _, name := range names.values {
			if wrong := names.check(name); wrong != nil {
				return fmt.Errorf("--%s: %q is no name: %s", names.flag, name, wrong[0])
			}
		}
	}
	return nil
}

func (o *serveOptions) checkAddresses() error {
	if o.port < 1 || o.port > 65535 {
		return fmt.Errorf("--port=%d is no port: want one from 1 to 65535", o.port)
	}
	if o.host != "" && net.ParseIP(o.host) == nil {
		return fmt.Errorf("--bind-address=%q is no IP address: want one of this machine's, or none for all of them", o.host)
	}
	for _, address := range []struct{ flag, value string }{{"metrics-bind-address", o.metrics}, {"health-probe-bind-address", o.probes}} {
		if address.value == "0" {
			continue
		}
		_, port, err := net.SplitHostPort(address.value)
		if err == nil {
			_, err = strconv.ParseUint(port, 10, 16)
		}
		if err != nil {
			return fmt.Errorf("--%s=%q is no address: want HOST:PORT, :PORT, or 0 for none", address.flag, address.value)
		}
	}
	if o.shutdownDelay < 0 {
		return fmt.Errorf("--shutdown-delay=%s is negative: want 0s or longer", o.shutdownDelay)
	}
	return nil
}

// checkCertificates looks at the folder before anything is started. Where certificates are self-signed it is made, if it is not there.
func (o *serveOptions) checkCertificates() error {
	if o.certificates.String() == fromFiles {
		if o.certDir == "" {
			return fmt.Errorf("--certificates=%s needs --cert-dir: the folder of %s and %s", fromFiles, server.CertName, server.KeyName)
		}
		for _, name := range []string{server.CertName, server.KeyName} {
			f, err := os.Open(filepath.Join(o.certDir, name))
			if err != nil {
				return fmt.Errorf("--certificates=%s: %w; name another folder with --cert-dir, or mount the Secret of the certificate there", fromFiles, err)
			}
			if err := f.Close(); err != nil {
				return fmt.Errorf("closing %s: %w", f.Name(), err)
			}
		}
		return nil
	}
	if o.certDir == "" {
		o.certDir = filepath.Join(os.TempDir(), server.Name)
	}
	err := os.MkdirAll(o.certDir, 0o700)
	if err == nil {
		err = writable(o.certDir)
	}
	if err != nil {
		return fmt.Errorf("--cert-dir: %w; name a folder that can be written to, an emptyDir in a pod", err)
	}
	return nil
}

func writable(dir string) error {
	f, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

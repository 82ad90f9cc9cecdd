// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/server"
)

// Validate implements verb.Options.
func (o *serveOptions) Validate() error {
	for _, check := range []func() error{o.checkNames, o.checkAddresses, o.checkCertificates} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// restConfig loads the kubeconfig, or the configuration of the pod. Without either, kubectl's default would be localhost:8080, where this process
// has its own metrics.
func (o *serveOptions) restConfig() (*rest.Config, error) {
	const hint = "Outside of a cluster, name one with --kubeconfig or --context."
	config, err := o.flags.RESTConfig(hint)
	if err != nil {
		return nil, err
	}
	raw, err := o.flags.Config.ToRawKubeConfigLoader().RawConfig()
	if err == nil && len(raw.Clusters) == 0 && *o.flags.Config.APIServer == "" {
		_, err = rest.InClusterConfig()
	}
	if err != nil {
		return nil, &exit.Error{Status: exit.Failed, Err: fmt.Errorf("loading the kubeconfig: %w", err), Hint: hint}
	}
	return config, nil
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
		return fmt.Errorf("--bind-address=%q is not an IP address: must be one of this machine, or empty for all of them", o.Host)
	}
	for _, address := range []struct{ flag, value string }{{"metrics-bind-address", o.Metrics}, {"health-probe-bind-address", o.Probes}} {
		if address.value == "0" {
			continue
		}
		_, port, err := net.SplitHostPort(address.value)
		if err == nil {
			_, err = strconv.ParseUint(port, 10, 16)
		}
		if err != nil {
			return fmt.Errorf("--%s=%q is invalid: must be HOST:PORT, :PORT, or 0 for none", address.flag, address.value)
		}
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
			return fmt.Errorf("--certificates=%s requires --cert-dir: the directory of %s and %s", fromFiles, server.CertName, server.KeyName)
		}
		for _, name := range []string{server.CertName, server.KeyName} {
			if _, err := os.ReadFile(filepath.Join(o.Certificates.Dir, name)); err != nil {
				return fmt.Errorf("--certificates=%s: %w; name another directory with --cert-dir, or mount the Secret of the certificate there", fromFiles, err)
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

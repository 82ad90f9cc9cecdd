// SPDX-License-Identifier: Apache-2.0

package input

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
)

// RESTConfig returns the client configuration that results from the command line and the kubeconfig. Its address has no credentials. The hint
// is for a kubeconfig that cannot be loaded. Warnings of the API server are dropped. Its errors are exit.Errors.
func (f *Flags) RESTConfig(hint string) (*rest.Config, error) {
	if server := *f.Config.APIServer; server != "" && escape.Address(server) == escape.NoAddress {
		return nil, &exit.Error{Status: exit.Failed, Err: errors.New("parsing --server: it is not a URL like https://HOST:PORT")}
	}
	err := CheckKubeconfig(f.Config)
	var config *rest.Config
	if err == nil {
		config, err = f.Config.ToRESTConfig()
	}
	if err == nil {
		err = HideCredentials(config)
	}
	if err != nil {
		return nil, &exit.Error{Status: exit.Failed, Err: fmt.Errorf("loading the kubeconfig: %w", err), Hint: hint}
	}
	config.WarningHandlerWithContext = rest.NoWarnings{}
	config.UserAgent = rest.DefaultKubernetesUserAgent()
	return config, nil
}

// CheckKubeconfig returns an error if no file that the variable KUBECONFIG names exists, and nothing else names a cluster. client-go would
// connect to localhost:8080.
func CheckKubeconfig(flags *genericclioptions.ConfigFlags) error {
	paths := filepath.SplitList(os.Getenv(clientcmd.RecommendedConfigPathEnvVar))
	if len(paths) == 0 || *flags.KubeConfig != "" || *flags.APIServer != "" || os.Getenv("KUBERNETES_SERVICE_HOST") != "" {
		return nil
	}
	for _, path := range paths {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return nil // client-go reports other errors
		}
	}
	return fmt.Errorf("finding any file that KUBECONFIG=%q names: %w", os.Getenv(clientcmd.RecommendedConfigPathEnvVar), fs.ErrNotExist)
}

// HideCredentials moves user and password from the address to the fields that client-go has for them, and drops a query, which client-go does
// not send. Libraries quote the address in their errors. A user in the address is ignored if the configuration has another credential for
// the header Authorization.
func HideCredentials(config *rest.Config) error {
	shown := escape.Address(config.Host)
	switch shown {
	case config.Host:
		return nil
	case escape.NoAddress:
		return errors.New("parsing the address of the cluster's server: it is not a URL like https://HOST:PORT")
	}
	full := config.Host
	if !strings.Contains(full, "://") {
		full = "https://" + full
	}
	u, err := url.Parse(full)
	if err != nil {
		return errors.New("parsing the address of the cluster's server") // not err, which quotes it
	}
	authorized := config.Username != "" || config.BearerToken != "" || config.BearerTokenFile != "" || config.ExecProvider != nil || config.AuthProvider != nil
	if u.User != nil && !authorized {
		config.Username = u.User.Username()
		config.Password, _ = u.User.Password()
	}
	config.Host = shown
	return nil
}

// SPDX-License-Identifier: Apache-2.0

package input

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
)

// RESTConfig returns the client configuration that results from the command line and the kubeconfig. Its address has no
// credentials. The hint is for a kubeconfig that cannot be loaded. Warnings of the API server are dropped. Its errors
// are cli.Errors.
func (f *Flags) RESTConfig(hint string) (*rest.Config, error) {
	if server := *f.Config.APIServer; server != "" && escape.Address(server) == escape.NoAddress {
		return nil, &cli.Error{Status: cli.ExitFailed,
			Err: errors.New("parsing --server: it is not a URL like https://HOST:PORT")}
	}
	if err := CheckKubeconfig(f.Config); err != nil {
		return nil, cli.Failure(err, hint)
	}
	config, err := f.Config.ToRESTConfig()
	if err == nil {
		err = HideCredentials(config)
	}
	if err != nil {
		return nil, cli.Failure(fmt.Errorf("loading the kubeconfig: %w", err), hint)
	}
	config.WarningHandlerWithContext = rest.NoWarnings{}
	config.UserAgent = rest.DefaultKubernetesUserAgent()
	return config, nil
}

// CheckKubeconfig returns an error if nothing names a cluster: no flag, no context of a kubeconfig, and no pod in
// which the program runs. client-go would connect to localhost:8080. Other errors of the kubeconfig are left to
// client-go.
func CheckKubeconfig(flags *genericclioptions.ConfigFlags) error {
	if *flags.APIServer != "" || os.Getenv("KUBERNETES_MASTER") != "" || inCluster() {
		return nil
	}
	namesCluster := flags.ClusterName != nil && *flags.ClusterName != ""
	if *flags.Context != "" || namesCluster {
		return nil
	}
	kubeconfig, err := flags.ToRawKubeConfigLoader().RawConfig()
	switch contexts := slices.Sorted(maps.Keys(kubeconfig.Contexts)); {
	case err == nil && kubeconfig.CurrentContext == "" && len(contexts) > 0:
		return fmt.Errorf("no current context: %s; contexts: %s", places(flags), strings.Join(contexts, ", "))
	case err == nil && kubeconfig.CurrentContext == "":
		return fmt.Errorf("no kubeconfig with a context was found: %s", places(flags))
	}
	return nil
}

// inCluster reports whether the program runs in a pod that may connect to its cluster.
func inCluster() bool {
	_, err := rest.InClusterConfig()
	return err == nil
}

// places are the files in which a kubeconfig is looked for, and what names them.
func places(flags *genericclioptions.ConfigFlags) string {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	from, files := "", rules.GetLoadingPrecedence()
	switch {
	case *flags.KubeConfig != "":
		from, files = ", from --kubeconfig", []string{*flags.KubeConfig}
	case os.Getenv(clientcmd.RecommendedConfigPathEnvVar) != "":
		from = ", from " + clientcmd.RecommendedConfigPathEnvVar
	}
	for i, file := range files {
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			files[i] += " (does not exist)"
		}
	}
	return "looked in " + strings.Join(files, " and ") + from
}

// HideCredentials moves user and password from the address to the fields that client-go has for them, and drops a
// query, which client-go does not send. Libraries quote the address in their errors. A user in the address is ignored
// if the configuration has another credential for the header Authorization.
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
	stated := cmp.Or(config.Username, config.BearerToken, config.BearerTokenFile) != ""
	authorized := stated || config.ExecProvider != nil || config.AuthProvider != nil
	if u.User != nil && !authorized {
		config.Username = u.User.Username()
		config.Password, _ = u.User.Password()
	}
	config.Host = shown
	return nil
}

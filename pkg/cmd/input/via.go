// SPDX-License-Identifier: Apache-2.0

package input

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/agentconfig"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/cluster"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

const (
	// rancherClusters is the path below which a Rancher server forwards requests to the API server of a cluster.
	rancherClusters = "/k8s/clusters/"
	// rancherLocal is the id of the cluster on which Rancher and Fleet's controllers run.
	rancherLocal = "local"
	// noResult is the effect of a Cluster that cannot be read.
	noResult = "its bundle deployments have no result"
)

// throughRancher returns the Clusters that a Rancher server forwards to. The credentials go to the server of the
// current context only.
func (f *ClusterFlags) throughRancher(fleetState *state.Fleet) (out []engine.Cluster, gaps []source.Gap) {
	for _, c := range fleetState.Clusters {
		name, id := c.Namespace+"/"+c.Name, c.Labels[fleet.RancherClusterLabel]
		switch id {
		case rancherLocal:
			continue
		case "":
			gaps = append(gaps, source.Gap{Cluster: name, What: engine.ReadingCluster, Reason: "NoRancherCluster",
				Detail: "it has no label " + fleet.RancherClusterLabel, Effect: noResult})
			continue
		}
		shown := New(f.in.Environment)
		shown.Config = f.configFlags()
		config, err := f.in.RESTConfig("")
		if err == nil {
			config = rest.CopyConfig(config)
			config.Host, err = rancherServer(config.Host, id)
			*shown.Config.APIServer = config.Host
		}
		out = append(out, engine.Cluster{Name: name, Commands: commandsOn(name, shown),
			Open: func(context.Context) (source.Source, error) {
				if err != nil {
					return nil, err
				}
				return f.connect(config, name)
			}})
	}
	return out, gaps
}

// rancherServer returns the address of a cluster behind the Rancher server of an address.
func rancherServer(host, id string) (string, error) {
	u, err := url.Parse(host)
	if err != nil || u.Scheme != "https" {
		return "", errors.New("finding the Rancher server: the address of the current context does not begin with " +
			"https://")
	}
	prefix, _, _ := strings.Cut(u.Path, rancherClusters)
	u.Path = strings.TrimSuffix(prefix, "/") + rancherClusters + id
	return u.String(), nil
}

// connect opens a live cluster. It changes config.
func (f *ClusterFlags) connect(config *rest.Config, name string) (source.Source, error) {
	timeout, err := clientcmd.ParseTimeout(f.timeout())
	if err != nil {
		return nil, fmt.Errorf("parsing --request-timeout %q: it must be a number of seconds, or a number with a "+
			"unit, such as 30s or 2m", f.timeout())
	}
	config.Timeout = timeout
	config.WarningHandlerWithContext, config.UserAgent = rest.NoWarnings{}, rest.DefaultKubernetesUserAgent()
	return cluster.New(config, cluster.Options{Context: name, Now: f.in.Now, ReadOnly: f.in.ReadOnly})
}

// throughSecrets returns the Clusters with a Secret that has their kubeconfig.
func (f *ClusterFlags) throughSecrets(fleetState *state.Fleet, management source.Source) (out []engine.Cluster,
	gaps []source.Gap) {
	for _, c := range fleetState.Clusters {
		name := c.Namespace + "/" + c.Name
		if c.Spec.KubeConfigSecret == "" {
			gaps = append(gaps, source.Gap{Cluster: name, What: engine.ReadingCluster, Reason: "NoKubeconfig",
				Detail: "its spec names no kubeConfigSecret: the agent registered itself", Effect: noResult})
			continue
		}
		shown := New(f.in.Environment)
		*shown.Config.KubeConfig = "KUBECONFIG-OF-" + name
		out = append(out, engine.Cluster{Name: name, Commands: commandsOn(name, shown),
			Open: func(ctx context.Context) (source.Source, error) {
				kubeconfig, err := readKubeconfig(ctx, management, c)
				if err != nil {
					return nil, err
				}
				config, err := kubeconfigClient(kubeconfig)
				if err != nil {
					return nil, fmt.Errorf("using the kubeconfig in Secret %s: %w", secretOf(c), err)
				}
				return f.connect(config, name)
			}})
	}
	return out, gaps
}

func secretOf(c *v1alpha1.Cluster) string {
	return agentconfig.SecretNamespace(c) + "/" + c.Spec.KubeConfigSecret
}

// kubeconfigKey is the key of the kubeconfig in its Secret.
const kubeconfigKey = "value"

// readKubeconfig reads the kubeconfig of a Cluster. Its errors do not quote it.
func readKubeconfig(ctx context.Context, management source.Source, c *v1alpha1.Cluster) ([]byte, error) {
	var secret struct {
		Data map[string]string `json:"data"`
	}
	found := false
	q := source.Query{Kind: corev1.SchemeGroupVersion.WithKind("Secret"),
		Namespaces: []string{agentconfig.SecretNamespace(c)}, FieldSelector: "metadata.name=" + c.Spec.KubeConfigSecret}
	cover, err := management.List(ctx, q, func(o source.Object) error {
		found = true
		return object.Into(o.Raw, &secret)
	})
	if err != nil {
		return nil, fmt.Errorf("reading Secret %s: %w", secretOf(c), err)
	}
	if failed, covered := cover.Of(agentconfig.SecretNamespace(c)); !covered {
		return nil, fmt.Errorf("reading Secret %s: %s: %s", secretOf(c), failed.Reason, failed.Detail)
	}
	if !found {
		return nil, fmt.Errorf("reading Secret %s: not found", secretOf(c))
	}
	kubeconfig, err := base64.StdEncoding.DecodeString(secret.Data[kubeconfigKey])
	if err != nil || len(kubeconfig) == 0 {
		return nil, fmt.Errorf("reading Secret %s: it has no kubeconfig in the key %q", secretOf(c), kubeconfigKey)
	}
	return kubeconfig, nil
}

// kubeconfigClient returns the client configuration of a kubeconfig from a cluster. A kubeconfig that runs a program or
// reads a file of this computer is refused, because everybody who may write the Secret could choose them. The errors do
// not quote the kubeconfig.
func kubeconfigClient(kubeconfig []byte) (*rest.Config, error) {
	loaded, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return nil, errors.New("it is not a kubeconfig")
	}
	for _, user := range loaded.AuthInfos {
		if refused := refusedUser(user); refused != "" {
			return nil, fmt.Errorf("it has %s, which is not accepted from a Secret", refused)
		}
	}
	for _, c := range loaded.Clusters {
		if c.CertificateAuthority != "" {
			return nil, errors.New("it has a certificate-authority file, which is not accepted from a Secret")
		}
	}
	config, err := clientcmd.NewDefaultClientConfig(*loaded, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, errors.New("it names no cluster and user that can be used")
	}
	return config, HideCredentials(config)
}

// refusedUser returns the field of a user that runs a program or reads a file; empty without such a field.
func refusedUser(user *clientcmdapi.AuthInfo) string {
	switch {
	case user.Exec != nil:
		return "a credential plugin (exec)"
	case user.AuthProvider != nil:
		return "an auth-provider"
	case user.TokenFile != "":
		return "a tokenFile"
	case user.ClientCertificate != "":
		return "a client-certificate file"
	case user.ClientKey != "":
		return "a client-key file"
	}
	return ""
}

// Clusters returns the function that finds the clusters to read; nil if only the source is read. src is the management
// cluster.
func (f *ClusterFlags) Clusters(src source.Source) func(*state.Fleet) ([]engine.Cluster, []source.Gap) {
	if len(f.targets) == 0 && !f.viaRancher && !f.viaKubeconfig {
		return nil
	}
	return func(fleet *state.Fleet) ([]engine.Cluster, []source.Gap) {
		var out []engine.Cluster
		for _, t := range f.targets {
			out = append(out, engine.Cluster{Name: t.name, Commands: commandsOn(t.name, t.in),
				Open: func(ctx context.Context) (source.Source, error) {
					opened, _, err := t.in.Open(ctx)
					return opened, err
				}})
		}
		var found []engine.Cluster
		var gaps []source.Gap
		switch {
		case f.viaRancher:
			found, gaps = f.throughRancher(fleet)
		case f.viaKubeconfig:
			found, gaps = f.throughSecrets(fleet, src)
		}
		return append(out, found...), gaps
	}
}

// Check returns a usage error if a flag names a file or a context that does not exist: a typing error must not look
// like a cluster that could not be read. Every other problem becomes a gap when the cluster is read.
func (f *ClusterFlags) Check() error {
	for _, t := range f.targets {
		if err := t.exists(); err != nil {
			return cli.UsageError(fmt.Errorf("%s: %w", t.flag, err))
		}
	}
	return nil
}

// exists returns an error if the snapshot, the kubeconfig or the context of a cluster does not exist.
func (t target) exists() error {
	if t.in.Captured() {
		path := t.in.Snapshots[0]
		if path == "-" { // standard input
			return nil
		}
		_, err := os.Stat(path)
		return absent(err)
	}
	config, err := t.in.Config.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return absent(err)
	}
	if name := *t.in.Config.Context; name != "" && config.Contexts[name] == nil {
		return errors.New("the kubeconfig has no such context; kubectl config get-contexts lists the contexts")
	}
	return nil
}

// absent is the reason of an error for a file that does not exist, nil for every other error.
func absent(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok && errors.Is(err, fs.ErrNotExist) {
		return path.Err
	}
	return nil
}

// Suggest returns a command that also reads the clusters that were not read. audit repeats the audit.
func (f *ClusterFlags) Suggest(audit string) string {
	switch {
	case f.viaRancher || f.viaKubeconfig:
		return "" // the gaps name the reason
	case f.in.Captured():
		return audit + " --" + snapshotFlag + " NAME=PATH"
	}
	return audit + " --" + clusterFlag + " NAME=KUBECONFIG"
}

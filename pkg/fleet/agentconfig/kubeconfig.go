// SPDX-License-Identifier: Apache-2.0

package agentconfig

import (
	"net/url"
	"strings"

	"sigs.k8s.io/yaml"
)

// Keys of the kubeconfig Secret of a cluster.
const (
	URLKey        = "apiServerURL"
	CAKey         = "apiServerCA"
	KubeconfigKey = "value"
)

// KubeConfig is what is kept of the kubeconfig Secret of a cluster. The kubeconfig itself is not.
type KubeConfig struct {
	// Missing is true if the Secret does not exist. Unread is the reason why it could not be read; empty if it was read
	// or is missing.
	Missing bool
	Unread  string
	// Hidden is true if the Secret exists and its values are masked, as in a snapshot without secrets.
	Hidden bool
	// URL and CA are those of the Secret. A URL that is empty, and a CA without bytes, are those of the configuration.
	URL   string
	CA    CA
	HasCA bool
}

// kubeconfigFile is the part of a kubeconfig that is read.
type kubeconfigFile struct {
	Clusters []struct {
		Name string `json:"name"`
	} `json:"clusters"`
}

// ReadKubeConfig reads the data of a kubeconfig Secret.
func ReadKubeConfig(data map[string][]byte) KubeConfig {
	out := KubeConfig{URL: string(data[URLKey]), HasCA: len(data[CAKey]) > 0}
	out.CA = ReadCA(data[CAKey])
	var content kubeconfigFile
	switch {
	case yaml.Unmarshal(data[KubeconfigKey], &content) != nil, len(content.Clusters) == 0,
		out.URL != "" && !isAddress(out.URL),
		out.HasCA && out.CA.Certificates == 0:
		return KubeConfig{Hidden: true}
	}
	return out
}

// allowedNamespaces are the namespaces in which a kubeconfig Secret may be, besides the namespace of its Cluster.
var allowedNamespaces = map[string]bool{"fleet-local": true, "fleet-default": true, "cattle-fleet-system": true,
	LegacyNamespace:                true,
	"cattle-fleet-clusters-system": true, "fleet-clusters-system": true}

func allowedNamespace(secret, cluster string) bool {
	return secret == cluster || allowedNamespaces[secret] || strings.HasPrefix(secret, "cluster-")
}

// isAddress reports whether a text is the address of an API server, and not a mask.
func isAddress(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http"
}

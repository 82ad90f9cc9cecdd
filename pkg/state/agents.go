// SPDX-License-Identifier: Apache-2.0

package state

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/agentconfig"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// Agents is what the controller uses to import the agents of Clusters.
type Agents struct {
	// ControllerNamespace is the namespace of fleet-controller; empty if it is not known.
	ControllerNamespace string
	// Configs are the ConfigMaps fleet-controller by namespace. ConfigFailure is the reason if not all of them were
	// read.
	Configs       map[string]ControllerConfig
	ConfigFailure *source.Failure
	// KubeConfigs are the kubeconfig Secrets that Clusters name.
	KubeConfigs map[types.NamespacedName]agentconfig.KubeConfig
}

// ControllerConfig is a ConfigMap fleet-controller. Its configuration is nil if it could not be decoded.
type ControllerConfig struct {
	*agentconfig.Config
	// Version is the annotation with the version for which it was written.
	Version string
}

// AddControllerConfig adds a ConfigMap fleet-controller, given as JSON.
func (a *Agents) AddControllerConfig(raw []byte) error {
	var m struct {
		object.Meta
		Data map[string]string `json:"data"`
	}
	if err := object.Into(raw, &m); err != nil {
		return err
	}
	c, err := agentconfig.ReadConfig(m.Data[agentconfig.ConfigKey])
	version := m.Metadata.Annotations[agentconfig.VersionAnnotation]
	put(&a.Configs, m.Metadata.Namespace, ControllerConfig{Config: c, Version: version})
	return err
}

// AddKubeConfig adds what is kept of a kubeconfig Secret.
func (a *Agents) AddKubeConfig(key types.NamespacedName, k agentconfig.KubeConfig) {
	put(&a.KubeConfigs, key, k)
}

// onlyOneConfig reports whether the cluster has one ConfigMap fleet-controller.
func (a *Agents) onlyOneConfig() bool { return len(a.Configs) == 1 && a.ConfigFailure == nil }

// Config returns the configuration of the controller. If it is not known, the reason is not empty.
func (a *Agents) Config() (c ControllerConfig, unread string) {
	c, ok := a.Configs[a.ControllerNamespace]
	if !ok && a.ControllerNamespace == "" && a.onlyOneConfig() {
		for _, c = range a.Configs {
			ok = true
		}
	}
	switch {
	case !ok && len(a.Configs) > 1:
		return c, "there are several ConfigMaps fleet-controller"
	case ok && c.Config == nil:
		return c, "it could not be decoded"
	case ok:
		return c, ""
	case a.ConfigFailure != nil:
		return c, string(a.ConfigFailure.Reason)
	}
	return c, "there is no ConfigMap fleet-controller"
}

// KubeConfigKey identifies the kubeconfig Secret of a Cluster. It has no name if the Cluster names none.
func KubeConfigKey(c *v1alpha1.Cluster) types.NamespacedName {
	return types.NamespacedName{Namespace: agentconfig.SecretNamespace(c), Name: c.Spec.KubeConfigSecret}
}

// SPDX-License-Identifier: Apache-2.0

package agentconfig

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// hidden stands for a value that is not public.
const hidden = "REDACTED"

// Public returns what a prediction reads of a value of a kubeconfig Secret: the address of the API server, its CA, and
// the names of clusters. None of them is secret.
func Public(key, v string) string {
	switch key {
	case URLKey:
		if u, err := url.Parse(v); v == "" || err == nil && u.Host != "" && u.User == nil && u.RawQuery == "" {
			return v
		}
	case CAKey:
		if v == "" || ReadCA([]byte(v)).Certificates > 0 && !strings.Contains(v, "PRIVATE KEY") {
			return v
		}
	case KubeconfigKey:
		var c struct {
			Clusters []struct {
				Name string `json:"name"`
			} `json:"clusters"`
		}
		if yaml.Unmarshal([]byte(v), &c) == nil {
			if out, err := json.Marshal(c); err == nil {
				return string(out)
			}
		}
	}
	return hidden
}

// PublicConfig returns the fields of the controller's configuration that a prediction reads. One that cannot be decoded
// stays one.
func PublicConfig(data string) string {
	var c map[string]any
	if _, err := ReadConfig(data); err != nil || yaml.Unmarshal([]byte(data), &c) != nil {
		return "[]"
	}
	only(c, "apiServerURL", "apiServerCA", "agentTLSMode", "agentCheckinInterval", "garbageCollectionInterval", "bootstrap")
	if bootstrap, ok := c["bootstrap"].(map[string]any); ok {
		only(bootstrap, "namespace", "agentNamespace", "localAgentDisabled")
	}
	out, err := json.Marshal(c)
	if err != nil {
		return "[]"
	}
	return string(out)
}

// only deletes the other members of an object.
func only(of map[string]any, names ...string) {
	maps.DeleteFunc(of, func(name string, _ any) bool { return !slices.Contains(names, name) })
}

// HideEnvironment replaces the environment variables of an agent, and their hash in the status, so that they still agree
// or differ: a variable may be a password, and a plain hash confirms a guess.
func HideEnvironment(spec *v1alpha1.ClusterSpec, status *v1alpha1.ClusterStatus) {
	hash, _, err := hashList[corev1.EnvVar](spec.AgentEnvVars, nil)
	agree := err == nil && hash == status.AgentEnvVarsHash
	switch {
	case err != nil:
		spec.AgentEnvVars = json.RawMessage(`"` + hidden + `"`)
	case hash == "":
		spec.AgentEnvVars = nil
	default:
		spec.AgentEnvVars = json.RawMessage(`[{"name":"` + hidden + `"}]`)
	}
	switch {
	case agree:
		status.AgentEnvVarsHash, _, _ = hashList[corev1.EnvVar](spec.AgentEnvVars, nil) // it was decoded
	case status.AgentEnvVarsHash != "":
		status.AgentEnvVarsHash = hidden
	}
}

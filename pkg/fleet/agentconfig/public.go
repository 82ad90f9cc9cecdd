// SPDX-License-Identifier: Apache-2.0

package agentconfig

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
)

// hidden stands for a value that is not public.
const hidden = "REDACTED"

// Public returns what a prediction reads of a value of a kubeconfig Secret: the address of the API server, its CA, and
// the names of clusters. None of them is secret.
func Public(key, v string) string {
	switch key {
	case URLKey:
		if v == "" || escape.IsPublic(v) {
			return v
		}
	case CAKey:
		if v == "" || ReadCA([]byte(v)).Certificates > 0 && !strings.Contains(v, "PRIVATE KEY") {
			return v
		}
	case KubeconfigKey:
		var c kubeconfigFile
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
	only(c, "apiServerURL", "apiServerCA", "agentTLSMode", "agentCheckinInterval", "garbageCollectionInterval",
		"bootstrap")
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

// EnvironmentHash is the hash that the controller records of the variables of an agent, given as JSON; "" without any,
// and if they cannot be decoded.
func EnvironmentHash(variables []byte) string {
	hash, _, _ := hashList[corev1.EnvVar](variables, nil)
	return hash
}

// SPDX-License-Identifier: Apache-2.0

package agentconfig

import (
	"encoding/json"
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
)

// HeartbeatState is the state of a heartbeat. The names are part of the report.
type HeartbeatState string

// The states.
const (
	Alive HeartbeatState = "alive"
	// Stale: the last heartbeat is older than the limit.
	Stale HeartbeatState = "stale"
	// Never: the agent has not reported since it was imported or registered.
	Never HeartbeatState = "never"
	// Ahead: the last heartbeat is later than the time of the data, so a clock is wrong.
	Ahead HeartbeatState = "ahead"
	// Disabled: the configuration disables the agent of this cluster.
	Disabled HeartbeatState = "disabled"
	// NotKnown: the time of the heartbeat or of the data is not known.
	NotKnown HeartbeatState = "unknown"
)

const (
	// missedBeats is the number of intervals after which an agent is stale; minLimit is the minimum of that time.
	missedBeats = 3
	minLimit    = 5 * time.Minute
	// unknownLimit applies if the interval was not read. It is the limit of Fleet's own command line.
	unknownLimit = 24 * time.Hour
	// tolerance is how far a heartbeat may be ahead of the time of the data.
	tolerance = time.Minute
)

// Heartbeat is the last heartbeat of an agent.
type Heartbeat struct {
	State HeartbeatState
	// LastSeen is zero if there was none. Age is the time since then, not negative.
	LastSeen time.Time
	Age      time.Duration
	// Interval is the interval of heartbeats; zero if it was not read. Limit is the age from which the agent is stale.
	Interval, Limit time.Duration
	// LookAgain is the time at which State can change without a heartbeat; zero if there is none.
	LookAgain time.Time
}

// Clock is the time of the data. If Earliest is true, the data may have been taken later.
type Clock struct {
	Now      time.Time
	Earliest bool
}

// Beat evaluates a heartbeat. lastSeen is a time in RFC 3339 or empty. interval is nil if it was not read, and zero for
// the default. Source: docs/fleet-behavior.md, 7.1 and 7.6.
func Beat(lastSeen string, interval *time.Duration, clock Clock) Heartbeat {
	out := Heartbeat{State: NotKnown, Limit: unknownLimit}
	if interval != nil {
		out.Interval = *interval
		if out.Interval <= 0 {
			out.Interval = DefaultInterval
		}
		out.Limit = max(missedBeats*min(out.Interval, math.MaxInt64/missedBeats), minLimit)
	}
	var err error
	if lastSeen != "" {
		if out.LastSeen, err = time.Parse(time.RFC3339, lastSeen); err != nil {
			return out
		}
	}
	early := tolerance
	if clock.Earliest {
		early = out.Limit // nothing else need have been written since
	}
	age := clock.Now.Sub(out.LastSeen)
	switch {
	case out.LastSeen.IsZero():
		out.State = Never
		return out
	case clock.Now.IsZero():
		return out
	case age > out.Limit:
		out.State = Stale
	case -age > early:
		out.State, out.LookAgain = Ahead, out.LastSeen.Add(-early)
	default:
		out.State, out.LookAgain = Alive, out.LastSeen.Add(out.Limit).Add(time.Nanosecond)
	}
	out.Age = max(age, 0)
	return out
}

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
func only(content map[string]any, names ...string) {
	maps.DeleteFunc(content, func(name string, _ any) bool { return !slices.Contains(names, name) })
}

// EnvironmentHash is the hash that the controller records of the variables of an agent, given as JSON; "" without any,
// and if they cannot be decoded.
func EnvironmentHash(variables []byte) string {
	hash, _, _ := hashList[corev1.EnvVar](variables, nil)
	return hash
}

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

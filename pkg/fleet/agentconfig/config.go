// SPDX-License-Identifier: Apache-2.0

// Package agentconfig predicts whether the controller imports an agent again, and evaluates heartbeats. An import
// deletes the objects of the agent on its cluster, installs new ones, and the agent registers again. Source:
// docs/fleet-behavior.md, 7.2 to 7.6. All functions are pure.
package agentconfig

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// ConfigKey is the key of the ConfigMap fleet-controller with the configuration. VersionAnnotation is its annotation
// with the version of the controller for which it was written.
const (
	ConfigKey         = "config"
	VersionAnnotation = "fleet.cattle.io/version"
)

// DefaultInterval is the interval of heartbeats if none is configured.
const DefaultInterval = 15 * time.Minute

// Config has the fields of the controller's configuration that are read.
type Config struct {
	APIServerURL string
	// CA is the CA of the API server.
	CA           CA
	AgentTLSMode string
	// CheckinInterval and GarbageCollectionInterval are zero if they are not configured.
	CheckinInterval, GarbageCollectionInterval time.Duration
	// BootstrapNamespace is the namespace of the Cluster of the management cluster itself. BootstrapAgentNamespace is
	// the namespace of its agent.
	BootstrapNamespace, BootstrapAgentNamespace string
	LocalAgentDisabled                          bool
}

// CA is a CA bundle: its hash and what its first certificate states.
type CA struct {
	Hash string
	// Subject and NotAfter are those of the first certificate, empty without a certificate. Certificates is the number
	// of certificates.
	Subject      string
	NotAfter     time.Time
	Certificates int
}

// ReadCA returns a CA bundle, given as PEM. nil is the absent one.
func ReadCA(bundle []byte) CA {
	out := CA{Hash: HashCA(bundle)}
	for rest := bundle; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return out
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		out.Certificates++
		if out.Certificates > 1 {
			continue
		}
		if c, err := x509.ParseCertificate(block.Bytes); err == nil {
			out.Subject, out.NotAfter = c.Subject.String(), c.NotAfter.UTC()
		}
	}
}

// errConfig is returned without details: the errors of decoders may quote the configuration.
var errConfig = errors.New("its configuration could not be decoded")

// ReadConfig decodes the configuration. A controller does not accept one that cannot be decoded; newer ones ignore
// invalid durations.
func ReadConfig(data string) (*Config, error) {
	var c struct {
		APIServerURL              string          `json:"apiServerURL"`
		APIServerCA               []byte          `json:"apiServerCA"`
		AgentTLSMode              string          `json:"agentTLSMode"`
		AgentCheckinInterval      metav1.Duration `json:"agentCheckinInterval"`
		GarbageCollectionInterval metav1.Duration `json:"garbageCollectionInterval"`
		Bootstrap                 struct {
			Namespace          string `json:"namespace"`
			AgentNamespace     string `json:"agentNamespace"`
			LocalAgentDisabled bool   `json:"localAgentDisabled"`
		} `json:"bootstrap"`
	}
	if yaml.Unmarshal([]byte(data), &c) != nil {
		return nil, errConfig
	}
	return &Config{APIServerURL: c.APIServerURL, CA: ReadCA(c.APIServerCA), AgentTLSMode: c.AgentTLSMode,
		CheckinInterval:           c.AgentCheckinInterval.Duration,
		GarbageCollectionInterval: c.GarbageCollectionInterval.Duration, BootstrapNamespace: c.Bootstrap.Namespace,
		BootstrapAgentNamespace: c.Bootstrap.AgentNamespace, LocalAgentDisabled: c.Bootstrap.LocalAgentDisabled}, nil
}

// LegacyNamespace was the namespace of controller and agents before cattle-fleet-system.
const LegacyNamespace = "fleet-system"

// Field names what causes an import. The names are part of the report.
type Field string

// The fields, in the order of reports.
const (
	FieldPending        Field = "agentConfigChanged"
	FieldMigrated       Field = "agentMigrated"
	FieldCattle         Field = "cattleNamespaceMigrated"
	FieldMigratedNS     Field = "agentNamespaceMigrated"
	FieldGeneration     Field = "redeployAgentGeneration"
	FieldAgentNamespace Field = "agentNamespace"
	FieldURL            Field = "apiServerURL"
	FieldCA             Field = "apiServerCA"
	FieldTLS            Field = "agentTLSMode"
	FieldGC             Field = "garbageCollectionInterval"
	FieldEnv            Field = "agentEnvVars"
	FieldAffinity       Field = "agentAffinity"
	FieldResources      Field = "agentResources"
	FieldTolerations    Field = "agentTolerations"
	FieldScheduling     Field = "agentSchedulingCustomization"
	FieldRepoURL        Field = "privateRepoURL"
	FieldHostNetwork    Field = "hostNetwork"
)

var order = []Field{FieldPending, FieldMigrated, FieldCattle, FieldMigratedNS, FieldGeneration, FieldAgentNamespace,
	FieldURL, FieldCA, FieldTLS, FieldGC,
	FieldEnv, FieldAffinity, FieldResources, FieldTolerations, FieldScheduling, FieldRepoURL, FieldHostNetwork}

// Reason is one field that causes an import. Recorded is the value in the status of the Cluster; Present is the value
// in the configuration or in the spec. Hashed fields have hashes.
type Reason struct {
	Field             Field
	Recorded, Present string
	// CA is the present CA; nil for other fields.
	CA *CA
}

// Configured reports whether the present value is that of the controller's configuration. Others are in the Cluster
// itself.
func (f Field) Configured() bool {
	return slices.Contains([]Field{FieldURL, FieldCA, FieldTLS, FieldGC}, f)
}

// Setting reports whether the controller records a hash of the field.
func (f Field) Setting() bool { return slices.Index(order, f) >= slices.Index(order, FieldEnv) }

func (r Reason) compare(o Reason) int {
	return slices.Index(order, r.Field) - slices.Index(order, o.Field)
}

// interval writes a recorded duration; nil is the one that was not recorded.
func interval(recorded *string) (time.Duration, bool) {
	if recorded == nil {
		return 0, true
	}
	d, err := time.ParseDuration(*recorded)
	return d, err == nil
}

func orNone(recorded *string) string {
	if recorded == nil {
		return "not recorded"
	}
	return *recorded
}

// Hash is the hash that the controller records of a value: the SHA-224 of its JSON in hexadecimal. Source:
// docs/fleet-behavior.md, 7.2.
func Hash(v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum224(b)
	return hex.EncodeToString(sum[:]), nil
}

// HashCA is the hash of a CA bundle. It differs between nil, a key that is absent, and an empty bundle.
func HashCA(ca []byte) string {
	hash, _ := Hash(ca) // bytes always have a JSON form
	return hash
}

// The types of the settings that are hashed, as the controller decodes them. The order of their fields is part of the
// hash.
type (
	schedulingCustomization struct {
		PriorityClass *struct {
			Value            int                      `json:"value,omitempty"`
			PreemptionPolicy *corev1.PreemptionPolicy `json:"preemptionPolicy,omitempty"`
		} `json:"priorityClass,omitempty"`
		PodDisruptionBudget *struct {
			MinAvailable   string `json:"minAvailable,omitempty"`
			MaxUnavailable string `json:"maxUnavailable,omitempty"`
		} `json:"podDisruptionBudget,omitempty"`
	}
)

// hashList hashes a list, and returns "" for an empty one. sorted is the hash of the list in the given order.
func hashList[T any](raw json.RawMessage, order func(x, y T) int) (hash, sorted string, err error) {
	var list []T
	if len(raw) > 0 {
		err = json.Unmarshal(raw, &list)
	}
	if err != nil || len(list) == 0 {
		return "", "", err
	}
	if hash, err = Hash(list); err != nil || order == nil {
		return hash, hash, err
	}
	slices.SortStableFunc(list, order)
	sorted, err = Hash(list)
	return hash, sorted, err
}

// hashStruct hashes a struct, and returns "" for null.
func hashStruct[T any](raw json.RawMessage) (string, error) {
	if len(raw) == 0 || bytes.Equal(bytes.TrimSpace(raw), []byte("null")) {
		return "", nil
	}
	v := new(T)
	if err := json.Unmarshal(raw, v); err != nil {
		return "", err
	}
	return Hash(v)
}

// byKey is the order in which the controller sorts tolerations when it makes the manifest of an agent.
func byKey(x, y corev1.Toleration) int {
	seconds := func(t corev1.Toleration) int64 {
		if t.TolerationSeconds == nil {
			return -1 << 63
		}
		return *t.TolerationSeconds
	}
	return cmp.Or(cmp.Compare(x.Key, y.Key), cmp.Compare(x.Value, y.Value), cmp.Compare(x.Operator, y.Operator),
		cmp.Compare(x.Effect, y.Effect),
		cmp.Compare(seconds(x), seconds(y)))
}

// SPDX-License-Identifier: Apache-2.0

package agentconfig

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"time"

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

// SPDX-License-Identifier: Apache-2.0

package server

import (
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/transport"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
)

// Name is the name of the webhook in the user agent and in Events.
const Name = "fleetdoctor-webhook"

// Options configure a Server.
type Options struct {
	// Config is the configuration of the client. Its rate limit, timeout and warning handler are replaced.
	Config *rest.Config
	// Namespace is the namespace of the webhook's Secret and Service.
	Namespace string
	// Host and Port are the address for admission requests; an empty Host means all addresses.
	Host string
	Port int
	// Metrics and Probes are addresses as "host:port"; "0" means none.
	Metrics, Probes string
	Certificates    Certificates
	GuardDefault    admission.GuardMode
	// ReleaseNamespaces are the namespaces from which release records are read; empty means all.
	ReleaseNamespaces []string
	// ShutdownDelay is the time during which /readyz fails and requests are still answered.
	ShutdownDelay time.Duration
	Log           logr.Logger
}

// Certificates configure the serving certificate. If Files is set, another program writes it to the directory Dir.
type Certificates struct {
	Files bool
	// Dir is a writable directory if Files is not set.
	Dir string
	// Secret stores the self-signed certificate and its authority. Configuration names the webhook configurations that
	// get the authority. The certificate is for the names of Service, and for ExtraNames.
	Secret, Configuration, Service string
	ExtraNames                     []string
}

// The endpoints of a Server.
const (
	Requests = "admission requests"
	Metrics  = transport.MetricsEndpoint
	Probes   = transport.ProbesEndpoint
)

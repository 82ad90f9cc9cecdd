// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"cmp"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"net/netip"
	"net/url"
	"slices"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/cert"
)

// The version of the printed documents, and their kinds.
const (
	APIVersion = "fleetdoctor.io/v1alpha1"
	StatusKind = "WebhookStatus"
	TestKind   = "WebhookTest"
)

// State is the result of a check.
type State string

// The states, from the best to the worst.
const (
	OK State = "OK"
	// Note is the state of something that may be intended.
	Note State = "Note"
	// Unknown is the state of something that could not be read.
	Unknown State = "Unknown"
	Wrong   State = "Wrong"
)

// Status is the document that `webhook status` prints.
type Status struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// TakenAt is the time of the reads (RFC 3339).
	TakenAt string `json:"takenAt"`
	// Namespace is the namespace of the installation.
	Namespace string `json:"namespace"`
	// State is the worst state of the checks: OK, Note, Unknown or Wrong.
	State State `json:"state"`
	// Installed is false if neither a webhook configuration nor the Deployment exists, and absent if that is unknown.
	Installed *bool `json:"installed,omitempty"`
	// Image is the image of the Deployment.
	Image string `json:"image,omitempty"`
	// Release is the Helm release ("namespace/name") with which Fleet deployed the webhook, absent if Fleet did not.
	Release string `json:"release,omitempty"`
	// Webhooks are the webhooks that the API server calls.
	Webhooks []WebhookStatus `json:"webhooks"`
	// Checks are the results in the order of the checks. A check of webhooks has one result for each webhook.
	Checks []Check `json:"checks"`
}

// Check is the result of one check.
type Check struct {
	// Name is one of installed, certificate, mutating, validating, deployment, endpoints, manifests, namespaces and
	// calls.
	Name string `json:"name"`
	// State is OK, Note, Unknown or Wrong.
	State State `json:"state"`
	// Message and Details are text for people.
	Message string   `json:"message"`
	Details []string `json:"details,omitempty"`
}

// WebhookStatus is a webhook as it is configured in the API server.
type WebhookStatus struct {
	Name string `json:"name"`
	// Configuration is the kind and name of the webhook configuration.
	Configuration  string `json:"configuration"`
	FailurePolicy  string `json:"failurePolicy"`
	TimeoutSeconds int64  `json:"timeoutSeconds"`
	// CABundle is Trusted, Missing, Untrusted (the API server refuses the webhook's certificate) or Unknown.
	CABundle string `json:"caBundle"`
	// Calls are the calls that one API server has counted, absent if it counted none or its metrics could not be read.
	Calls *Calls `json:"calls,omitempty"`

	url string
}

// The values of WebhookStatus.CABundle.
const (
	caTrusted   = "Trusted"
	caMissing   = "Missing"
	caUntrusted = "Untrusted"
	caUnknown   = "Unknown"
)

// Evaluate makes the status of an installation. It is pure. Data that could not be read are Unknown.
func Evaluate(f *Facts) *Status {
	s := &Status{APIVersion: APIVersion, Kind: StatusKind, TakenAt: f.TakenAt.UTC().Format(time.RFC3339), Namespace: f.Namespace, State: OK,
		Webhooks: []WebhookStatus{}}
	e := &evaluation{f, s}
	unread, found := false, false
	for _, r := range []Reading{f.configuration(mutatingKind), f.configuration(validatingKind), f.deployment()} {
		unread = unread || r.Reason != ""
		if r.Object != nil {
			found = true
			s.Release = cmp.Or(ReleaseOf(r.Object), s.Release)
		}
	}
	s.Image = f.options().Image
	if found || !unread {
		s.Installed = &found
	}
	if !found && !unread {
		e.add("installed", Wrong, "the webhook is not installed")
		return s
	}
	e.certificate()
	e.configuration("mutating", mutatingKind)
	e.configuration("validating", validatingKind)
	e.replicas()
	e.endpoints()
	e.manifests()
	e.namespaces()
	e.calls()
	return s
}

// evaluation adds checks to a Status.
type evaluation struct {
	*Facts
	status *Status
}

func (e *evaluation) add(name string, s State, message string, details ...string) {
	e.status.Checks = append(e.status.Checks, Check{name, s, message, details})
	order := []State{OK, Note, Unknown, Wrong}
	if slices.Index(order, s) > slices.Index(order, e.status.State) {
		e.status.State = s
	}
}

// trust evaluates whether the API server accepts the webhook's certificate, and returns the reason if it may not.
func (e *evaluation) trust(c admissionregistrationv1.WebhookClientConfig) (state, reason string) {
	switch {
	case len(c.CABundle) == 0 && c.URL != nil:
		return caUnknown, "no caBundle: it is unknown whether the API server trusts the certificate at the URL"
	case len(c.CABundle) == 0:
		return caMissing, "no caBundle: the API server trusts no certificate of the webhook, and every call fails"
	}
	secret := e.secret().Object
	if secret == nil {
		return caUnknown, "whether the caBundle matches the certificate is unknown: the Secret was not read"
	}
	chain, err := certificates(secret)
	if err != nil {
		return caUnknown, "whether the caBundle matches the certificate is unknown: the Secret does not have a certificate"
	}
	name := Name + "." + e.Namespace + ".svc"
	if c.URL != nil {
		name = "" // the host of a URL is not checked
	}
	if err := verify(c.CABundle, chain, name, e.TakenAt); err != nil {
		return caUntrusted, "the caBundle does not match the certificate: every call fails (" + err.Error() + ")"
	}
	return caTrusted, ""
}

// external reports whether all webhooks have a URL: then they do not run in this cluster.
func (e *evaluation) external() bool {
	return len(e.status.Webhooks) > 0 && !slices.ContainsFunc(e.status.Webhooks, func(w WebhookStatus) bool { return w.url == "" })
}

// local reports whether all webhooks have a URL on the API server's own machine, as in development.
func (e *evaluation) local() bool {
	return e.external() && !slices.ContainsFunc(e.status.Webhooks, func(w WebhookStatus) bool {
		u, err := url.Parse(w.url)
		if err != nil {
			return true
		}
		ip, _ := netip.ParseAddr(u.Hostname())
		return u.Hostname() != "localhost" && !ip.IsLoopback()
	})
}

// certificateKey is the key of the certificate in the Secret. No other key is read.
const certificateKey = "tls.crt"

// certificates reads the certificate chain of a Secret, the server's own certificate first. Errors do not quote it.
func certificates(secret *unstructured.Unstructured) ([]*x509.Certificate, error) {
	encoded, _, _ := unstructured.NestedString(secret.Object, "data", certificateKey)
	if encoded == "" {
		return nil, errors.New("it does not have a certificate yet")
	}
	data, _ := base64.StdEncoding.DecodeString(encoded) // an API server only has valid base64
	chain, err := cert.ParseCertsPEM(data)
	if err != nil {
		return nil, errors.New("it does not have a valid certificate")
	}
	return chain, nil
}

// verify returns an error unless an API server with the caBundle accepts the certificate chain for a name at a time.
func verify(bundle []byte, chain []*x509.Certificate, name string, at time.Time) error {
	roots, err := cert.NewPoolFromBytes(bundle)
	if err != nil {
		return errors.New("reading the caBundle: it does not have a valid certificate")
	}
	o := x509.VerifyOptions{Roots: roots, Intermediates: x509.NewCertPool(), CurrentTime: at, DNSName: name,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	for _, c := range chain[1:] {
		o.Intermediates.AddCert(c)
	}
	_, err = chain[0].Verify(o)
	return err
}

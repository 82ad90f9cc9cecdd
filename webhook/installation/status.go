// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"cmp"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
	// Checks are the results in the order in which they are made. A name occurs once for each webhook that it is about.
	Checks []Check `json:"checks"`
}

// Check is the result of one check.
type Check struct {
	// Name is one of installed, certificate, mutating, validating, deployment, endpoints, manifests, namespaces and calls.
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
	// Calls are the calls that one API server has counted, absent if it counted none or could not be asked.
	Calls *Calls `json:"calls,omitempty"`

	url, ca string
}

// The values of WebhookStatus.CABundle.
const (
	caTrusted   = "Trusted"
	caMissing   = "Missing"
	caUntrusted = "Untrusted"
	caUnknown   = "Unknown"
)

// Evaluate makes the status of an installation. It is pure. What could not be read is Unknown.
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

// evaluation is a Status in the making.
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

// trust reports whether the API server accepts the webhook's certificate, and otherwise why.
func (e *evaluation) trust(w WebhookStatus) (state, reason string) {
	switch {
	case w.ca == "" && w.url != "":
		return caUnknown, "no caBundle: it is unknown whether the API server trusts the certificate at the URL"
	case w.ca == "":
		return caMissing, "no caBundle: the API server trusts no certificate of the webhook, and every call fails"
	}
	secret := e.secret()
	if secret.Object == nil {
		return caUnknown, "whether the caBundle matches the certificate is unknown: the Secret was not read"
	}
	chain, err := certificates(secret.Object)
	if err != nil {
		return caUnknown, "whether the caBundle matches the certificate is unknown: the Secret does not have a certificate"
	}
	name := Name + "." + e.Namespace + ".svc"
	if w.url != "" {
		name = "" // the host of a URL is not checked
	}
	if err := verify(w.ca, chain, name, e.TakenAt); err != nil {
		return caUntrusted, "the caBundle does not match the certificate: every call fails (" + err.Error() + ")"
	}
	return caTrusted, ""
}

// outside reports whether all webhooks have a URL: then they run outside of this cluster.
func (e *evaluation) outside() bool {
	return e.all(func(url string) bool { return url != "" })
}

// local reports whether all webhooks have a URL on the API server's own machine, as a developer uses it.
func (e *evaluation) local() bool { return e.all(isLoopback) }

func (e *evaluation) all(holds func(url string) bool) bool {
	return len(e.status.Webhooks) > 0 && !slices.ContainsFunc(e.status.Webhooks, func(w WebhookStatus) bool { return !holds(w.url) })
}

func isLoopback(address string) bool {
	u, err := url.Parse(address)
	if err != nil || address == "" {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
}

// text returns a string field of a webhook, "" if it has none.
func text(w map[string]any, fields ...string) string {
	s, _, _ := unstructured.NestedString(w, fields...)
	return s
}

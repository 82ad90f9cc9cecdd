// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/install"
)

// State is how something stands.
type State string

// The states, from the best.
const (
	OK State = "OK"
	// Note is worth knowing, and nothing to be mended.
	Note State = "Note"
	// Unknown could not be read. It is never OK.
	Unknown State = "Unknown"
	Wrong   State = "Wrong"
)

// Check is one thing that was looked at.
type Check struct {
	Name    string   `json:"name"`
	State   State    `json:"state"`
	Message string   `json:"message"`
	Details []string `json:"details,omitempty"`
}

// Status is how an installation is doing.
type Status struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	TakenAt    string `json:"takenAt"`
	Namespace  string `json:"namespace"`
	// State is the worst of the checks.
	State State `json:"state"`
	// Installed is false where neither a configuration nor the Deployment is there, and absent where that is not known.
	Installed *bool           `json:"installed,omitempty"`
	Image     string          `json:"image,omitempty"`
	Release   string          `json:"release,omitempty"` // of Fleet's that deployed it
	Webhooks  []WebhookStatus `json:"webhooks"`
	Checks    []Check         `json:"checks"`
}

// WebhookStatus is a webhook as the API server has it.
type WebhookStatus struct {
	Name           string `json:"name"`
	Configuration  string `json:"configuration"` // kind and name
	FailurePolicy  string `json:"failurePolicy"`
	TimeoutSeconds int64  `json:"timeoutSeconds"`
	// CABundle is Trusted, Missing, Untrusted (the API server would refuse the webhook's certificate) or Unknown.
	CABundle string `json:"caBundle"`
	Calls    *Calls `json:"calls,omitempty"`

	url string // the address that it is called at, where not through the Service
	ca  string
}

// The values of WebhookStatus.CABundle.
const (
	caTrusted   = "Trusted"
	caMissing   = "Missing"
	caUntrusted = "Untrusted"
	caUnknown   = "Unknown"
)

// Judge says how an installation is doing. It is pure: what was not read is unknown.
func Judge(f *Facts) *Status {
	s := &Status{APIVersion: "fleetdoctor.io/v1alpha1", Kind: "WebhookStatus", TakenAt: f.TakenAt.UTC().Format(time.RFC3339), Namespace: f.Namespace, State: OK}
	j := &judgement{Facts: f, status: s}
	configurations := []Found{f.configuration(mutating), f.configuration(validating)}
	deployment := f.deployment()
	unread, installed := false, false
	for _, o := range append(slices.Clone(configurations), deployment) {
		installed = installed || o.Object != nil
		unread = unread || o.Reason != ""
		if o.Object != nil {
			s.Release = cmp.Or(install.ReleaseOf(o.Object), s.Release)
		}
	}
	s.Image = f.options().Image
	if installed || !unread {
		s.Installed = &installed
	}
	if !installed && !unread {
		j.add("installed", Wrong, "the webhook is not installed")
		return s
	}
	j.certificate()
	j.webhooks(configurations)
	j.replicas()
	j.endpoints()
	j.drift()
	j.namespaces()
	j.calls()
	return s
}

func worse(a, b State) State {
	order := []State{OK, Note, Unknown, Wrong}
	if slices.Index(order, b) > slices.Index(order, a) {
		return b
	}
	return a
}

// judgement is a Status in the making.
type judgement struct {
	*Facts
	status *Status
}

func (j *judgement) add(name string, s State, message string, details ...string) {
	j.status.Checks = append(j.status.Checks, Check{name, s, message, details})
	j.status.State = worse(j.status.State, s)
}

// webhooks judges what the API server calls the webhook by.
func (j *judgement) webhooks(configurations []Found) {
	for i, kind := range []string{mutating, validating} {
		o := configurations[i]
		name := strings.ToLower(strings.TrimSuffix(kind, "WebhookConfiguration"))
		switch {
		case o.Reason != "":
			j.add(name, Unknown, kind+" "+install.Name+" could not be read: "+o.Reason)
			continue
		case o.Object == nil:
			j.add(name, Wrong, kind+" "+install.Name+" is not there: the API server does not call the webhook")
			continue
		case o.Object.GetLabels()[install.NameLabel] != install.Name:
			j.add(name, Note, kind+" "+install.Name+" does not carry the label "+install.Selector)
		}
		for _, w := range install.WebhooksOf(o.Object) {
			j.webhook(name, kind, w)
		}
	}
	slices.SortStableFunc(j.status.Webhooks, func(a, b WebhookStatus) int { return cmp.Compare(a.Configuration, b.Configuration) })
}

func (j *judgement) webhook(check, kind string, w map[string]any) {
	text := func(fields ...string) string {
		s, _, _ := unstructured.NestedString(w, fields...)
		return s
	}
	out := WebhookStatus{Name: text("name"), Configuration: kind + " " + install.Name, FailurePolicy: text("failurePolicy"), url: install.URLOf(w),
		ca: text("clientConfig", "caBundle")}
	out.TimeoutSeconds, _, _ = unstructured.NestedInt64(w, "timeoutSeconds")
	var wrong []string
	if out.FailurePolicy != "Ignore" {
		wrong = append(wrong, "failurePolicy is "+out.FailurePolicy+": while the webhook does not answer, what it is called for cannot be written at all")
	}
	var why string
	if out.CABundle, why = j.trust(out); why != "" && out.CABundle != caUnknown {
		wrong = append(wrong, why)
	}
	j.status.Webhooks = append(j.status.Webhooks, out)
	message := fmt.Sprintf("%s: failurePolicy %s, timeout %ds", out.Name, out.FailurePolicy, out.TimeoutSeconds)
	switch {
	case len(wrong) > 0:
		j.add(check, Wrong, message, wrong...)
	case out.CABundle == caUnknown:
		j.add(check, Unknown, message, why)
	default:
		j.add(check, OK, message+", caBundle fits the certificate")
	}
}

// trust says whether the API server would accept the certificate, and why not.
func (j *judgement) trust(w WebhookStatus) (state, why string) {
	if w.ca == "" {
		if w.url != "" {
			return caUnknown, "no caBundle: whether the address has a certificate that the API server trusts is not known"
		}
		return caMissing, "no caBundle: the API server trusts no certificate of the webhook, and every call fails"
	}
	secret := j.secret()
	if secret.Reason != "" || secret.Object == nil {
		return caUnknown, "whether the caBundle fits the certificate is not known: the Secret was not read"
	}
	chain, err := certificates(secret.Object)
	if err != nil {
		return caUnknown, "whether the caBundle fits the certificate is not known: the Secret holds none"
	}
	name := install.Name + "." + j.Namespace + ".svc"
	if w.url != "" {
		name = "" // of an address that is not looked up
	}
	if err := trusted(w.ca, chain, name, j.TakenAt); err != nil {
		return caUntrusted, "the caBundle does not fit the certificate: every call fails (" + err.Error() + ")"
	}
	return caTrusted, ""
}

// served says whether the webhook is called at an address: then what runs behind it is not in this cluster.
func (j *judgement) served() bool {
	return len(j.status.Webhooks) > 0 && !slices.ContainsFunc(j.status.Webhooks, func(w WebhookStatus) bool { return w.url == "" })
}

// local says whether each webhook is called at an address of the API server's own machine: somebody tries one out there.
func (j *judgement) local() bool {
	return len(j.status.Webhooks) > 0 && !slices.ContainsFunc(j.status.Webhooks, func(w WebhookStatus) bool { return !loopback(w.url) })
}

// loopback says whether an address is of the machine that calls it.
func loopback(address string) bool {
	u, err := url.Parse(address)
	if err != nil || address == "" {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
}

func (j *judgement) replicas() {
	o := j.deployment()
	switch {
	case o.Reason != "":
		j.add("deployment", Unknown, "Deployment "+install.Name+" could not be read: "+o.Reason)
	case j.served():
		j.add("deployment", Note, "the webhook is called at an address, not through the Service: what runs there is not known")
	case o.Object == nil:
		j.add("deployment", Wrong, "Deployment "+install.Name+" is not there")
	default:
		state := OK
		ok, how := install.Available(o.Object)
		if !ok {
			state = Wrong
		}
		j.add("deployment", state, how)
	}
}

func (j *judgement) endpoints() {
	switch {
	case j.EndpointsReason != "":
		j.add("endpoints", Unknown, "the EndpointSlices could not be read: "+j.EndpointsReason)
	case j.served():
	case j.Ready == 0:
		j.add("endpoints", Wrong, "no address is ready: the API server reaches nobody")
	default:
		message := plural(j.Ready, "ready address")
		if j.Ready > 1 {
			message = fmt.Sprintf("%d ready addresses", j.Ready)
		}
		if j.NotReady > 0 {
			message += fmt.Sprintf(", %d not ready", j.NotReady)
		}
		j.add("endpoints", OK, message)
	}
}

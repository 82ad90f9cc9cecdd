// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/utils/ptr"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
)

// renewBefore is the time before its end at which a certificate should have been renewed: the webhook and cert-manager
// renew it earlier.
const renewBefore = 7 * 24 * time.Hour

// certificate checks the validity of the webhook's own certificate.
func (e *evaluation) certificate() {
	secret := e.secret()
	if !e.status.Exists("certificate", "Secret "+SecretName, secret, "") {
		return
	}
	chain, err := certificates(secret.Object)
	if err != nil {
		e.status.Add("certificate", install.Wrong, "Secret "+SecretName+": "+err.Error())
		return
	}
	c, now := chain[0], e.TakenAt
	end := c.NotAfter.UTC().Format(time.DateOnly)
	switch left := c.NotAfter.Sub(now); {
	case now.Before(c.NotBefore):
		e.status.Add("certificate", install.Wrong, "it is not valid before "+c.NotBefore.UTC().Format(time.RFC3339))
	case left < 0:
		text := fmt.Sprintf("it expired %s ago, on %s", duration.HumanDuration(-left), end)
		e.status.Add("certificate", install.Wrong, text)
	case left < renewBefore:
		text := "it expires in %s, on %s, and should have been renewed"
		e.status.Add("certificate", install.Wrong, fmt.Sprintf(text, duration.HumanDuration(left), end))
	default:
		text := fmt.Sprintf("it expires in %s, on %s", duration.HumanDuration(left), end)
		e.status.Add("certificate", install.OK, text)
	}
}

// configuration checks a webhook configuration and its webhooks.
func (e *evaluation) configuration(check string, kind schema.GroupVersionKind) {
	r := e.Facts.configuration(kind)
	name := kind.Kind + " " + Name
	exists := e.status.Exists(check, name, r, ": the API server does not call the webhook")
	if exists && r.Object.GetLabels()[install.NameLabel] != Name {
		e.status.Add(check, install.Note, name+" does not have the label "+Selector)
	}
	for _, w := range webhooksOf(r.Object) {
		out := WebhookStatus{Name: w.Name, Configuration: name, FailurePolicy: string(ptr.Deref(w.FailurePolicy, "")),
			TimeoutSeconds: int64(ptr.Deref(w.TimeoutSeconds, 0)), url: ptr.Deref(w.ClientConfig.URL, "")}
		message := fmt.Sprintf("%s: failurePolicy %s, timeout %ds", out.Name, out.FailurePolicy, out.TimeoutSeconds)
		var wrong []string
		if out.FailurePolicy != string(admissionregistrationv1.Ignore) {
			wrong = append(wrong, "failurePolicy is "+out.FailurePolicy+
				": while the webhook does not answer, the API server refuses the writes that it is called for")
		}
		var reason string
		if out.CABundle, reason = e.trust(w.ClientConfig); out.CABundle == caMissing || out.CABundle == caUntrusted {
			wrong = append(wrong, reason)
		}
		e.status.Webhooks = append(e.status.Webhooks, out)
		switch {
		case wrong != nil:
			e.status.Add(check, install.Wrong, message, wrong...)
		case out.CABundle == caUnknown:
			e.status.Add(check, install.Unknown, message, reason)
		default:
			e.status.Add(check, install.OK, message+", caBundle matches the certificate")
		}
	}
}

// external reports whether all webhooks have a URL: then they do not run in this cluster.
func (e *evaluation) external() bool {
	inCluster := func(w WebhookStatus) bool { return w.url == "" }
	return len(e.status.Webhooks) > 0 && !slices.ContainsFunc(e.status.Webhooks, inCluster)
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
		return caUnknown, "whether the caBundle matches the certificate is unknown: the Secret has no certificate"
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

func (e *evaluation) replicas() {
	r := e.Deployment(Chart)
	if r.Reason == "" && e.external() {
		text := "the webhook is called at a URL, not through the Service: its replicas are unknown"
		e.status.Add("deployment", install.Note, text)
		return
	}
	e.status.CheckDeployment(Chart, r)
}

func (e *evaluation) endpoints() {
	switch {
	case e.EndpointsReason != "":
		e.status.Add("endpoints", install.Unknown, "the EndpointSlices could not be read: "+e.EndpointsReason)
	case e.external():
	case e.Ready == 0:
		e.status.Add("endpoints", install.Wrong, "no address is ready: the calls of the API server fail")
	default:
		text := fmt.Sprintf("addresses of the Service: %d ready, %d not ready", e.Ready, e.NotReady)
		e.status.Add("endpoints", install.OK, text)
	}
}

// namespaces checks the labels by which users configure the webhook.
func (e *evaluation) namespaces() {
	if e.LabelsReason != "" {
		e.status.Add("namespaces", install.Unknown, "the Namespaces could not be read: "+e.LabelsReason)
		return
	}
	var wrong, notes []string
	for _, name := range slices.Sorted(maps.Keys(e.Labels)) {
		for _, label := range slices.Sorted(maps.Keys(namespaceLabels)) {
			value, ok := e.Labels[name][label]
			if !ok {
				continue
			}
			text := fmt.Sprintf("%s: %s=%s", name, label, value)
			switch {
			case !slices.Contains(namespaceLabels[label], value):
				wrong = append(wrong, text+" has no effect; valid values: "+strings.Join(namespaceLabels[label], ", "))
			case label == exactLabel && !e.has(ExactWebhook) && e.has(StampWebhook):
				wrong = append(wrong, text+" has no effect: `webhook install --exact` adds the webhook for it")
			case label == admission.IgnoreLabel:
				notes = append(notes, text+", the webhook is not called for this namespace")
			default:
				notes = append(notes, text)
			}
		}
	}
	switch {
	case len(wrong) > 0:
		text := install.Count(len(wrong), "label") + " without effect"
		e.status.Add("namespaces", install.Wrong, text, append(wrong, notes...)...)
	case len(notes) > 0:
		e.status.Add("namespaces", install.Note, "configured by labels:", notes...)
	default:
		e.status.Add("namespaces", install.OK, "no namespace has a label of the webhook")
	}
}

func (e *evaluation) has(webhook string) bool {
	return slices.ContainsFunc(e.status.Webhooks, func(w WebhookStatus) bool { return w.Name == webhook })
}

// calls reports the counters of an API server. They never decrease, so old failures count too: the state is Wrong only
// if no call succeeded.
func (e *evaluation) calls() {
	if e.CallsReason != "" {
		e.status.Add("calls", install.Unknown, "the API server's /metrics could not be read: "+e.CallsReason)
		return
	}
	for i := range e.status.Webhooks {
		w := &e.status.Webhooks[i]
		c := e.Calls[w.Name]
		if c.Total == 0 {
			e.status.Add("calls", install.Note, w.Name+": no call since that API server started")
			continue
		}
		w.Calls = &c
		state := install.OK
		var details []string
		if failed := c.FailedOpen + c.Failed; failed > 0 {
			state = install.Note
			text := "not answered since that API server started: %d (%d requests were refused because of this, " +
				"the others continued); the check test shows whether it answers now"
			details = append(details, fmt.Sprintf(text, failed, c.Failed))
			if failed >= c.Total {
				state = install.Wrong
			}
		}
		if c.Refused > 0 {
			details = append(details, fmt.Sprintf("denied: %d", c.Refused))
		}
		message := fmt.Sprintf("%s: %s, %.1f ms each", w.Name, install.Count(int(c.Total), "call"), c.MeanSeconds*1000)
		e.status.Add("calls", state, message, details...)
	}
}

// test reports what the responses to dry runs show. That no object can be tested with is no problem: a new installation
// has none.
func (e *evaluation) test() {
	if e.Test == nil {
		return
	}
	state := install.Wrong
	switch e.Test.Result {
	case Works:
		state = install.OK
	case NoObject:
		state = install.Note
	case ResultUnknown:
		state = install.Unknown
	}
	message := string(e.Test.Result)
	if e.Test.Message != "" {
		message += ": " + e.Test.Message
	}
	details := slices.Concat(
		e.Test.Create.describe("a dry run that creates %s without "+TestedLabel),
		e.Test.Strip.describe("a dry run that removes "+TestedLabel+" from %s"),
		e.Test.Delete.describe("a dry run that deletes %s"))
	if e.Test.Release != "" {
		details = append(details, fmt.Sprintf("desired by bundle %s (release %s)", e.Test.BundleDeployment,
			e.Test.Release))
	}
	e.status.Add("test", state, message, details...)
}

// describe describes the response to a request for people, nothing if it was not sent.
func (r *Response) describe(request string) []string {
	if r == nil {
		return nil
	}
	took := time.Duration(r.Seconds * float64(time.Second)).Round(time.Millisecond)
	text := fmt.Sprintf(request+": %s (in %s)", r.Object.Key(), r.Answer, took)
	if r.Message != "" {
		text += ": " + r.Message
	}
	out := []string{text}
	for _, w := range r.Warnings {
		out = append(out, "its warning: "+strings.TrimPrefix(string(w.Code)+": "+w.Message, ": "))
	}
	return out
}

// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
)

// exists reports whether an object was read, and otherwise adds a check. effect is the effect if the object does not
// exist.
func (e *evaluation) exists(check, name string, r Reading, effect string) bool {
	switch {
	case r.Reason != "":
		e.add(check, Unknown, name+" could not be read: "+r.Reason)
	case r.Object == nil:
		e.add(check, Wrong, name+" does not exist"+effect)
	}
	return r.Object != nil
}

// renewBefore is the time before its end at which a certificate should have been renewed: the webhook and cert-manager
// renew it earlier.
const renewBefore = 7 * 24 * time.Hour

// certificate checks the validity of the webhook's own certificate.
func (e *evaluation) certificate() {
	secret := e.secret()
	if !e.exists("certificate", "Secret "+SecretName, secret, "") {
		return
	}
	chain, err := certificates(secret.Object)
	if err != nil {
		e.add("certificate", Wrong, "Secret "+SecretName+": "+err.Error())
		return
	}
	c, now := chain[0], e.TakenAt
	end := c.NotAfter.UTC().Format(time.DateOnly)
	switch left := c.NotAfter.Sub(now); {
	case now.Before(c.NotBefore):
		e.add("certificate", Wrong, "it is not valid before "+c.NotBefore.UTC().Format(time.RFC3339))
	case left < 0:
		e.add("certificate", Wrong, fmt.Sprintf("it expired %s ago, on %s", duration.HumanDuration(-left), end))
	case left < renewBefore:
		text := "it expires in %s, on %s, and should have been renewed"
		e.add("certificate", Wrong, fmt.Sprintf(text, duration.HumanDuration(left), end))
	default:
		e.add("certificate", OK, fmt.Sprintf("it expires in %s, on %s", duration.HumanDuration(left), end))
	}
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// configuration checks a webhook configuration and its webhooks.
func (e *evaluation) configuration(check string, kind schema.GroupVersionKind) {
	r := e.Facts.configuration(kind)
	name := kind.Kind + " " + Name
	if e.exists(check, name, r, ": the API server does not call the webhook") && !isInstalled(r.Object) {
		e.add(check, Note, name+" does not have the label "+Selector)
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
			e.add(check, Wrong, message, wrong...)
		case out.CABundle == caUnknown:
			e.add(check, Unknown, message, reason)
		default:
			e.add(check, OK, message+", caBundle matches the certificate")
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
	r := e.deployment()
	if r.Reason == "" && e.external() {
		e.add("deployment", Note, "the webhook is called at a URL, not through the Service: its replicas are unknown")
	} else if e.exists("deployment", "Deployment "+Name, r, "") {
		state, message := available(r.Object)
		e.add("deployment", state, message)
	}
}

// available returns the state of a Deployment, with a message of kstatus: OK if it runs its newest revision with all
// its replicas.
func available(deployment *unstructured.Unstructured) (state State, message string) {
	if replicas, stated, _ := unstructured.NestedInt64(deployment.Object, "spec", "replicas"); stated && replicas == 0 {
		return Wrong, "it is scaled to 0"
	}
	r, err := status.Compute(deployment)
	switch {
	case err != nil:
		return Wrong, err.Error()
	case r.Status != status.CurrentStatus:
		return Wrong, r.Message
	}
	return OK, r.Message
}

func (e *evaluation) endpoints() {
	switch {
	case e.EndpointsReason != "":
		e.add("endpoints", Unknown, "the EndpointSlices could not be read: "+e.EndpointsReason)
	case e.external():
	case e.Ready == 0:
		e.add("endpoints", Wrong, "no address is ready: the calls of the API server fail")
	default:
		e.add("endpoints", OK, fmt.Sprintf("addresses of the Service: %d ready, %d not ready", e.Ready, e.NotReady))
	}
}

// manifests compares the installation with the manifest of its Helm release.
func (e *evaluation) manifests() {
	if e.Manifest.Reason != "" {
		e.add("manifests", Unknown, "the Helm release could not be read: "+e.Manifest.Reason)
		return
	}
	if len(e.Manifest.Objects) == 0 {
		e.add("manifests", Note, "there is no Helm release, so the objects were not compared with a manifest")
		return
	}
	var details []string
	unread := 0
	for _, d := range e.Manifest.Objects {
		key := RefOf(d).Key()
		r := e.Objects[key]
		if r.Reason != "" {
			unread++
			continue
		}
		if r.Object == nil {
			details = append(details, key.String()+" does not exist")
			continue
		}
		for _, each := range drift(d, r.Object) {
			details = append(details, key.String()+": "+driftText(each))
		}
	}
	notRead := ""
	if unread > 0 {
		notRead = "; not read: " + count(unread, "object")
	}
	switch {
	case len(details) > 0:
		text := "the objects differ from the Helm release; `webhook install` corrects them"
		e.add("manifests", Wrong, text+notRead, details...)
	case unread == len(e.Manifest.Objects):
		e.add("manifests", Unknown, "no object could be compared"+notRead)
	case unread > 0:
		e.add("manifests", Unknown, "no drift in the objects that could be compared"+notRead)
	default:
		e.add("manifests", OK, "no drift")
	}
}

// namespaces checks the labels by which users configure the webhook.
func (e *evaluation) namespaces() {
	if e.LabelsReason != "" {
		e.add("namespaces", Unknown, "the Namespaces could not be read: "+e.LabelsReason)
		return
	}
	var wrong, notes []string
	for _, name := range slices.Sorted(maps.Keys(e.Labels)) {
		for _, label := range slices.Sorted(maps.Keys(e.Labels[name])) {
			value := e.Labels[name][label]
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
		e.add("namespaces", Wrong, count(len(wrong), "label")+" without effect", append(wrong, notes...)...)
	case len(notes) > 0:
		e.add("namespaces", Note, "configured by labels:", notes...)
	default:
		e.add("namespaces", OK, "no namespace has a label of the webhook")
	}
}

func (e *evaluation) has(webhook string) bool {
	return slices.ContainsFunc(e.status.Webhooks, func(w WebhookStatus) bool { return w.Name == webhook })
}

// calls reports the counters of an API server. They never decrease, so old failures count too: the state is Wrong only
// if no call succeeded.
func (e *evaluation) calls() {
	if e.CallsReason != "" {
		e.add("calls", Unknown, "the API server's /metrics could not be read: "+e.CallsReason)
		return
	}
	for i := range e.status.Webhooks {
		w := &e.status.Webhooks[i]
		c := e.Calls[w.Name]
		if c.Total == 0 {
			e.add("calls", Note, w.Name+": no call since that API server started")
			continue
		}
		w.Calls = &c
		state := OK
		var details []string
		if failed := c.FailedOpen + c.Failed; failed > 0 {
			state = Note
			text := "not answered since that API server started: %d (%d requests were refused because of this, " +
				"the others continued); `webhook test` checks whether it answers now"
			details = append(details, fmt.Sprintf(text, failed, c.Failed))
			if failed >= c.Total {
				state = Wrong
			}
		}
		if c.Refused > 0 {
			details = append(details, fmt.Sprintf("denied: %d", c.Refused))
		}
		message := fmt.Sprintf("%s: %s, %.1f ms each", w.Name, count(int(c.Total), "call"), c.MeanSeconds*1000)
		e.add("calls", state, message, details...)
	}
}

// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"fmt"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
)

// Facts are the data of an installation of the webhook that were read.
type Facts struct {
	install.Facts
	Mutating, Validating install.Reading
	// Test is nil if no request was sent because no webhook configuration exists.
	Test *Test
}

// Read completes the facts of an installation, except for Test.
func Read(ctx context.Context, c *install.Cluster, known install.Facts) *Facts {
	return &Facts{Facts: known, Mutating: c.Read(ctx, install.MutatingKind, "", Name),
		Validating: c.Read(ctx, install.ValidatingKind, "", Name)}
}

// StatusKind is the kind of the printed document.
const StatusKind = "WebhookStatus"

// Status is the document that `webhook status` prints. Its checks are installed, release, deployment, mutating,
// validating and test.
type Status struct {
	install.Status `json:",inline"`
	// Webhooks are the webhooks that the API server calls.
	Webhooks []WebhookStatus `json:"webhooks"`
	// Test shows the response to a dry run, absent if no webhook configuration exists.
	Test *Test `json:"test,omitempty"`
}

// WebhookStatus is a webhook as it is configured in the API server.
type WebhookStatus struct {
	Name string `json:"name"`
	// Configuration is the kind and name of the webhook configuration.
	Configuration  string `json:"configuration"`
	FailurePolicy  string `json:"failurePolicy"`
	TimeoutSeconds int64  `json:"timeoutSeconds"`
}

// Evaluate makes the status of an installation. It is pure. Data that could not be read are Unknown.
func Evaluate(f *Facts) *Status {
	s := &Status{Status: install.NewStatus(&f.Facts, Chart, StatusKind, "the webhook"),
		Webhooks: []WebhookStatus{}, Test: f.Test}
	if s.Installed {
		s.checkConfiguration("mutating", install.MutatingKind, f.Mutating)
		s.checkConfiguration("validating", install.ValidatingKind, f.Validating)
		s.checkTest()
	}
	return s
}

// checkConfiguration checks a webhook configuration and its webhooks.
func (s *Status) checkConfiguration(check string, kind schema.GroupVersionKind, r install.Reading) {
	name, remedy := kind.Kind+" "+Name, s.Remedy("webhook install")+" corrects this"
	switch {
	case r.Reason != "":
		s.Add(check, install.Unknown, name+" could not be read: "+r.Reason)
	case r.Object == nil:
		s.Add(check, install.Wrong, name+" does not exist: the API server does not call the webhook; "+remedy)
	}
	for _, w := range webhooksOf(r.Object) {
		out := WebhookStatus{Name: w.Name, Configuration: name, FailurePolicy: string(ptr.Deref(w.FailurePolicy, "")),
			TimeoutSeconds: int64(ptr.Deref(w.TimeoutSeconds, 0))}
		s.Webhooks = append(s.Webhooks, out)
		message := fmt.Sprintf("%s: failurePolicy %s, timeout %ds", out.Name, out.FailurePolicy, out.TimeoutSeconds)
		c := w.ClientConfig
		switch {
		case out.FailurePolicy != string(admissionregistrationv1.Ignore):
			s.Add(check, install.Wrong, message, "While the webhook does not answer, the API server refuses the "+
				"writes that it is called for; "+remedy+".")
		case len(c.CABundle) == 0 && c.URL == nil:
			s.Add(check, install.Wrong, message, "No caBundle: the API server trusts no certificate of the webhook, "+
				"and every call fails. The log of the pods says why.")
		default:
			s.Add(check, install.OK, message)
		}
	}
}

// checkTest reports what the response to a dry run shows. That no object can be tested with is no problem: a new
// installation has none.
func (s *Status) checkTest() {
	if s.Test == nil {
		return
	}
	state := install.Wrong
	switch s.Test.Result {
	case Works:
		state = install.OK
	case NoObject:
		state = install.Note
	case ResultUnknown:
		state = install.Unknown
	}
	message := strings.TrimSuffix(string(s.Test.Result)+": "+s.Test.Message, ": ")
	s.Add("test", state, message, s.Test.describe()...)
}

// SPDX-License-Identifier: Apache-2.0

package admit

import (
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/guard"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/registry"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/stamp"
)

// guardian answers the requests of the validating webhook.
type guardian struct{ Options }

func (g guardian) answer(req admission.Request) answer {
	key := keyOf(&req)
	switch {
	case req.Operation != admissionv1.Update && req.Operation != admissionv1.Delete || req.SubResource != "":
		return pass(unasked, registry.Release{})
	case len(g.Registry.Claims(key)) == 0:
		return pass(string(guard.NotOwned), registry.Release{})
	}
	before, after, err := objects(&req)
	if err != nil || before == nil {
		return pass(undecodable, registry.Release{})
	}
	if req.Operation == admissionv1.Delete {
		after = nil
	} else if after == nil {
		return pass(undecodable, registry.Release{})
	}
	return g.judge(&req, key, g.Namespaces.Labels(key.Namespace), before, after)
}

// judge has the guard look at a request, in the mode that holds for the object.
func (g guardian) judge(req *admission.Request, key object.Key, labels map[string]string, before, after *object.Meta) answer {
	v := guard.Judge(g.Registry, guard.Request{Key: key, User: req.UserInfo.Username, Manager: manager(req), Old: before, New: after,
		Ignored: labels[stamp.IgnoreLabel] == "true"})
	a := pass(string(v.Reason), v.Release)
	if !v.Harm() {
		return a
	}
	if key.Namespace == "" {
		labels = before.Metadata.Labels // as it is stored: a request does not switch off what guards against it
	}
	mode, note := guard.ModeOf(labels, g.GuardDefault)
	switch mode {
	case guard.Deny:
		a.Response, a.decision = admission.Denied(v.Message+". "+wayOut(key)), Denied
	case guard.Warn:
		a.Response, a.decision = a.WithWarnings(v.Message), Warned
	default:
		return a
	}
	if note != "" {
		a.Warnings = append(a.Warnings, note)
	}
	return a
}

// wayOut says how to be let through.
func wayOut(key object.Key) string {
	on := "its namespace"
	if key.Namespace == "" {
		on = "it"
	}
	return fmt.Sprintf("To do it all the same, label it %s=true first, or label %s %s=%s", stamp.IgnoreLabel, on, guard.Label, guard.Warn)
}

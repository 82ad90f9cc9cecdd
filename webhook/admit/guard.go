// SPDX-License-Identifier: Apache-2.0

package admit

import (
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/guard"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/stamp"
)

// guardian answers the requests of the validating webhook.
type guardian struct{ Options }

func (g guardian) answer(req admission.Request, _ bool) answer {
	if req.Operation != admissionv1.Update && req.Operation != admissionv1.Delete || req.SubResource != "" {
		return pass(unasked, desired.Release{})
	}
	key := keyOf(&req)
	claims := g.Registry.Lookup(key)
	if len(claims) == 0 { // most have none: nothing of them is decoded
		return pass(string(guard.NotOwned), desired.Release{})
	}
	before, after, err := objects(&req)
	if err != nil || before == nil {
		return pass(undecodable, desired.Release{})
	}
	if req.Operation == admissionv1.Delete {
		after = nil
	} else if after == nil {
		return pass(undecodable, desired.Release{})
	}
	return g.judge(&req, key, claims, g.Namespaces.Labels(key.Namespace), before, after)
}

// stale is said where nothing is denied, as what the webhook knows may be out of date: Fleet might be whom it does not know for Fleet.
const stale = "this would be denied, but the webhook does not hear of changes from the API server at present, or has not read them all"

// judge has the guard look at a request, in the mode that holds for the object.
func (g guardian) judge(req *admission.Request, key object.Key, claims []desired.Release, labels map[string]string, before, after *object.Meta) answer {
	v := guard.Judge(claims, guard.Request{Key: key, User: req.UserInfo.Username, Manager: manager(req), Old: before, New: after,
		Ignored: labels[stamp.IgnoreLabel] == "true", Partial: !g.Registry.Complete()})
	a := pass(string(v.Reason), v.Release)
	if !v.Harm() {
		return a
	}
	if key.Namespace == "" {
		labels = before.Metadata.Labels // as it is stored: a request does not switch off what guards against it
	}
	mode, note := guard.ModeOf(labels, g.GuardDefault)
	a.unsure = mode == guard.Deny // also where it is stale: a watch that merely begins anew is back in a moment
	if mode == guard.Deny && !g.heard(v) {
		mode, note = guard.Warn, stale
	}
	if mode == guard.Deny && v.Doubt != "" {
		mode, note = guard.Warn, "this would be denied, but "+v.Doubt
	}
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

// heard says whether enough is known of the releases that may own an object. Records that wait can make a request Fleet's own only if a service
// account makes it. Whoever else makes it is a stranger to each of them, and one of which all is read is enough: nobody gets past a denial by
// records of theirs that claim the object and wait.
func (g guardian) heard(v guard.Verdict) bool {
	if v.MayBeFleet {
		return !slices.ContainsFunc(v.Namespaces, func(namespace string) bool { return !g.Live(namespace) })
	}
	return slices.ContainsFunc(v.Namespaces, g.Live)
}

// wayOut says how to be let through.
func wayOut(key object.Key) string {
	on := "its namespace"
	if key.Namespace == "" {
		on = "it"
	}
	return fmt.Sprintf("To do it all the same, label it %s=true first, or label %s %s=%s", stamp.IgnoreLabel, on, guard.Label, guard.Warn)
}

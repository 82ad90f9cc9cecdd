// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"cmp"
	"time"

	appsv1 "k8s.io/api/apps/v1"
)

// Evaluate makes the status of an installation. It is pure. Data that could not be read are Unknown.
func Evaluate(f *Facts) *Status {
	s := &Status{APIVersion: APIVersion, Kind: StatusKind, TakenAt: f.TakenAt.UTC().Format(time.RFC3339),
		Namespace: f.Namespace, State: OK, Webhooks: []WebhookStatus{}}
	e := &evaluation{f, s}
	unread, found := false, false
	for _, r := range []Reading{f.configuration(mutatingKind), f.configuration(validatingKind), f.deployment()} {
		unread = unread || r.Reason != ""
		if r.Object != nil {
			found = true
			s.Release = cmp.Or(ReleaseOf(r.Object), s.Release)
		}
	}
	for _, c := range decode[appsv1.Deployment](f.deployment().Object).Spec.Template.Spec.Containers {
		s.Image = c.Image
	}
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

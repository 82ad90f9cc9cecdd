// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"errors"
	"testing"
)

// TestRefusal holds whom a refusal is put down to, by the API server's own texts.
func TestRefusal(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Answer{
		`admission webhook "stamp.fleetdoctor.io" denied the request: configmap shop/settings belongs to bundle guestbook`:                Denied,
		`admission webhook "guard.fleetdoctor.io" denied the request without explanation`:                                                 Denied,
		`Internal error occurred: failed calling webhook "stamp-exact.fleetdoctor.io": failed to call webhook: context deadline exceeded`: Broken,
		`admission webhook "policy.example.com" denied the request: label missing`:                                                        Refused,
		`Internal error occurred: failed calling webhook "policy.example.com": failed to call webhook: connection refused`:                Refused,
		`configmaps "settings" is forbidden: User "somebody" cannot patch resource "configmaps" in API group "" in the namespace "shop"`:  Refused,
	} {
		if got := refusal(errors.New(text)); got != want {
			t.Errorf("%s:\n%s, want %s", text, got, want)
		}
	}
}

// TestJudge holds what each answer comes to, of an object that a release desires.
func TestJudge(t *testing.T) {
	t.Parallel()
	for answer, want := range map[Answer]Verdict{Stamped: Works, Denied: Works, Warned: Works, Unmarked: NotCalled, Broken: NotCalled, Refused: CannotSay} {
		r := &Result{}
		if r.judge(&Trial{Answer: answer}); r.Verdict != want {
			t.Errorf("%s: %s, want %s", answer, r.Verdict, want)
		}
		if known := r.Reasons == nil; known == (answer == Refused) {
			t.Errorf("%s: reasons %q", answer, r.Reasons)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package input_test

import (
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
)

func TestParseObject(t *testing.T) {
	for arg, want := range map[string]input.Object{
		"service/frontend":          {Kind: "service", Name: "frontend"},
		"service/web/frontend":      {Kind: "service", Namespace: "web", Name: "frontend"},
		"deployments.v1.apps/web/a": {Kind: "deployments.v1.apps", Namespace: "web", Name: "a"},
		"service//frontend":         {},
		"service/web/":              {},
		"service/":                  {},
		"/web/frontend":             {},
		"service":                   {},
		"service/web/frontend/more": {},
		"//":                        {},
		"":                          {},
	} {
		got, err := input.ParseObject(arg, "")
		if got != want || (err != nil) != (want == input.Object{}) {
			t.Errorf("%q: %+v, want %+v; error %v", arg, got, want, err)
		}
	}
}

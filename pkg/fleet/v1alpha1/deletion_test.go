// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "testing"

// TestDeletedNamespace checks which Namespace of the management cluster is deleted (docs/fleet-behavior.md, 1.12).
func TestDeletedNamespace(t *testing.T) {
	for in, want := range map[RepoDeletion]string{
		{}:                        "",
		{TargetNamespace: "shop"}: "",
		{DeleteNamespace: true}:   "",
		{TargetNamespace: "shop", DeleteNamespace: true}:                         "shop",
		{TargetNamespace: "shop", DeleteNamespace: true, KeepResources: true}:    "",
		{TargetNamespace: "default", DeleteNamespace: true}:                      "",
		{TargetNamespace: "fleet-local", DeleteNamespace: true}:                  "",
		{TargetNamespace: "fleet-default", DeleteNamespace: true}:                "",
		{TargetNamespace: "cattle-fleet-system", DeleteNamespace: true}:          "",
		{TargetNamespace: "cattle-fleet-clusters-system", DeleteNamespace: true}: "",
		{TargetNamespace: "kube-system", DeleteNamespace: true}:                  "",
		{TargetNamespace: "kubernetes", DeleteNamespace: true}:                   "kubernetes",
		{TargetNamespace: "cattle-fleet-local-system", DeleteNamespace: true}:    "cattle-fleet-local-system",
	} {
		if got := in.Deletes(); got != want {
			t.Errorf("%+v: %q, want %q", in, got, want)
		}
	}
}

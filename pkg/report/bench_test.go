// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
)

// BenchmarkRedacted redacts the report of 50,000 objects in 500 bundle deployments, of which every tenth is modified.
func BenchmarkRedacted(b *testing.B) {
	const deployments, objects = 500, 100
	var secrets secret.Values
	secrets.AddPlain("invented-password")
	a := &Audit{}
	for i := range deployments {
		bd := BundleDeployment{Namespace: fmt.Sprintf("cluster-%d", i), Name: "guestbook", State: Modified}
		for j := range objects {
			r := Resource{Ref: ref("ConfigMap", "web", fmt.Sprintf("theme-%d", j)), State: Ready}
			if j%10 == 0 {
				path := fmt.Sprintf(".data.key-%d", j)
				r.State = Modified
				r.Differences = []Difference{{Path: path, Pointer: "/data/key", Desired: evaluate.Plain("a"),
					Live: evaluate.Plain("invented-password"), Manager: "kubectl"}}
				a.Findings = append(a.Findings, Finding{Code: "FD104", Object: r.Ref, Message: "differs in " + path,
					Evidence: []string{path + ": last written by kubectl"},
					Remedies: []Remedy{{Command: "kubectl get"}}})
			}
			bd.Resources = append(bd.Resources, r)
		}
		a.BundleDeployments = append(a.BundleDeployments, bd)
	}
	b.ReportAllocs()
	for b.Loop() {
		if got := a.Redacted(&secrets).BundleDeployments[0].Resources[0].Differences[0].Live; got.Shown() != "***" {
			b.Fatalf("the value is shown as %v", got.Shown())
		}
	}
}

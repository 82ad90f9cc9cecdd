// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/redact"
)

// TestSecretsInSteps checks that the steps of a path hide the values that the path hides, in a copy.
func TestSecretsInSteps(t *testing.T) {
	const secret = "invented-password"
	s := &redact.Secrets{}
	s.AddPlain(secret)
	steps := []Step{{Name: "metadata"}, {Name: "key-" + secret}, {Key: map[string]any{"name": secret}},
		{Member: secret}}
	a := &Audit{BundleDeployments: []BundleDeployment{{Resources: []Resource{{Ref: ref("ConfigMap", "web", "a"),
		Differences: []Difference{{Path: ".metadata.key-" + secret, Steps: steps, Desired: evaluate.Plain("a")}}}}}}}
	d := a.Redacted(s).BundleDeployments[0].Resources[0].Differences[0]
	if shown := fmt.Sprintf("%s %+v", d.Path, d.Steps); strings.Contains(shown, secret) || len(d.Steps) != 4 ||
		d.Steps[0].Name != "metadata" {
		t.Errorf("the copy has %s", shown)
	}
	if steps[1].Name != "key-"+secret || steps[2].Key["name"] != secret || steps[3].Member != secret {
		t.Errorf("the steps of the report itself were changed: %+v", steps)
	}
}

// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
)

// TestSecretsInSteps checks that the steps of a path hide the values that the path hides, in a copy.
func TestSecretsInSteps(t *testing.T) {
	const planted = "invented-password"
	s := &secret.Values{}
	s.AddPlain(planted)
	steps := []Step{{Name: "metadata"}, {Name: "key-" + planted}, {Key: map[string]any{"name": planted}},
		{Member: planted}}
	a := &Audit{BundleDeployments: []BundleDeployment{{Resources: []Resource{{Ref: ref("ConfigMap", "web", "a"),
		Differences: []Difference{{Path: ".metadata.key-" + planted, Steps: steps, Desired: evaluate.Plain("a")}}}}}}}
	d := a.Redacted(s).BundleDeployments[0].Resources[0].Differences[0]
	if shown := fmt.Sprintf("%s %+v", d.Path, d.Steps); strings.Contains(shown, planted) || len(d.Steps) != 4 ||
		d.Steps[0].Name != "metadata" {
		t.Errorf("the copy has %s", shown)
	}
	if steps[1].Name != "key-"+planted || steps[2].Key["name"] != planted || steps[3].Member != planted {
		t.Errorf("the steps of the report itself were changed: %+v", steps)
	}
}

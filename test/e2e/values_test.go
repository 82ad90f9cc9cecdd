// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	runaudit "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/values"
	sourcecluster "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/cluster"
)

// TestValuesSecrets reads values Secrets from a real API server, with its field selectors and managedFields. The clock
// of an audit is two minutes ahead, so that nothing belongs to an update in progress, or not ahead.
func TestValuesSecrets(t *testing.T) {
	f := newFleet(t, shared)
	f.deploy("guestbook", guestbook)
	const text = `{"key":"invented-value"}`
	bd := object("fleet.cattle.io/v1alpha1", "BundleDeployment", clusterNamespace, "guestbook")
	secret := object("v1", "Secret", clusterNamespace, "guestbook")
	write := func() {
		f.writeValues(bd, text)
	}
	findings := func(ahead time.Duration, pause func()) []string {
		t.Helper()
		src, err := sourcecluster.New(f.Config(), sourcecluster.Options{Now: func() time.Time {
			return time.Now().Add(ahead)
		}})
		if err != nil {
			t.Fatal(err)
		}
		found, err := runaudit.Run(t.Context(), src, runaudit.Options{Pause: func(context.Context) error {
			pause()
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, finding := range found.Findings {
			if strings.HasPrefix(finding.Code, "FD40") {
				out = append(out, finding.Code+" "+finding.Object.Kind+" "+finding.Object.Name)
			}
		}
		slices.Sort(out)
		return out
	}
	pauses := 0
	pause := func() { pauses++ }
	expectFindings := func(what string, got []string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	const later = 2 * time.Minute
	expectFindings("no values", findings(later, pause))
	f.merge(controller, bd, `{"spec":{"valuesHash":"`+values.DeploymentHash([]byte(text), nil)+`"}}`)
	expectFindings("missing", findings(later, pause), "FD402 BundleDeployment guestbook")
	expectFindings("missing since now", findings(0, pause), "FD401 BundleDeployment guestbook")
	expectFindings("written during the pause", findings(later, write))
	if pauses != 1 {
		t.Errorf("%d pauses, want 1", pauses)
	}
	expectFindings("right", findings(later, pause))
	f.remove(secret) // in the second of the controller's write, an edit would not count as later
	f.ApplyYAML(t, "kubectl-create",
		fmt.Sprintf("{apiVersion: v1, kind: Secret, metadata: {name: guestbook, namespace: %s}, type: %s, data: "+
			"{values: e30=, stagedValues: \"\"}}",
			clusterNamespace, values.DeploymentType))
	expectFindings("written by hand now", findings(0, pause), "FD403 BundleDeployment guestbook")
	f.remove(secret)
	f.ApplyYAML(t, "kubectl", fmt.Sprintf("{apiVersion: v1, kind: Secret, metadata: {name: guestbook, namespace: %s}, "+
		"stringData: {word: invented-value}}", clusterNamespace))
	expectFindings("of another type", findings(later, pause), "FD402 BundleDeployment guestbook")
	f.remove(secret)
	write()
	f.merge(controller, bd, `{"spec":{"valuesHash":null}}`)
	expectFindings("left over", findings(later, pause), "FD405 Secret guestbook")
	expectFindings("left over since now", findings(0, pause))
}

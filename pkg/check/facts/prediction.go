// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// DependencyTest is what the agent finds when it tests the dependencies of a bundle deployment before a deploy.
type DependencyTest struct {
	// Refused is the agent's error; empty if it reports none. Absent is true if a dependency selects nothing.
	Refused string
	Absent  bool
	// Unknown is why the result is not known; empty if it is.
	Unknown string
	// Later are the names of the bundles of the same directory that are not deployed yet.
	Later []string
}

// Test returns what the agent of a bundle deployment finds. siblings are the bundles that are deployed together with
// it. Source: docs/fleet-behavior.md, 4.9.
func (x *Dependencies) Test(d *directory.Deployment, siblings []*directory.Deployment) DependencyTest {
	var out DependencyTest
	var notReady []string
	for i, ref := range d.DependsOn() {
		if ref.Name == "" && ref.Selector == nil {
			continue // the agent ignores it
		}
		namespace, workspace := d.DeploymentNamespace(), d.Workspace()
		if namespace == "" || workspace == "" || !x.directory.Read(state.BundleDeployment, namespace) {
			return DependencyTest{Unknown: fmt.Sprintf(
				"dependsOn[%d] selects BundleDeployments of its cluster, which could not all be read", i)}
		}
		selector, err := selectorOf(ref, workspace)
		if err != nil {
			return DependencyTest{Refused: err.Error()}
		}
		found, later := x.selected(d, selector, siblings)
		if len(found) == 0 && len(later) == 0 {
			return DependencyTest{Absent: true, Refused: fmt.Sprintf(
				"list bundledeployments: no bundles matching labels %s in namespace %s", selector, workspace)}
		}
		out.Later = append(out.Later, later...)
		for _, b := range found {
			switch ready, known := readyFor(d, b, ref, fleet.ParseBuild); {
			case !known:
				out.Unknown = fmt.Sprintf("whether bundle deployment %s meets dependsOn[%d] depends on the version "+
					"of the agent, which is not known", b.Key(), i)
			case !ready:
				notReady = append(notReady, b.Name)
			}
		}
	}
	if len(notReady) > 0 {
		return DependencyTest{Refused: fmt.Sprintf("%s: %v", waits, notReady)}
	}
	return out
}

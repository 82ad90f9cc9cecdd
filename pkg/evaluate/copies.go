// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"strings"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Copy is a Secret or ConfigMap that Fleet copies from the namespace of a Bundle to the release namespace of its
// deployment. Source: docs/fleet-behavior.md, 6.5.
type Copy struct {
	Deployment *BundleDeployment
	// Original is on the management cluster, Copied on the cluster of the deployment.
	Original, Copied object.Ref
	// Deployed is when the present deployment was complete.
	Deployed time.Time

	// Read is true if both were read and the original exists. Only then the other fields are known.
	Read bool
	// Exists is true if the copy exists, Equal if it has the same data.
	Exists, Equal bool
	// Changed is the last change of the original; zero if it is not known.
	Changed time.Time
}

// hasCopies reports whether the agent of a bundle deployment makes copies, and is not stopped by intention.
func hasCopies(d *BundleDeployment) bool {
	installed := d.BD != nil && d.Placed && d.Release.Name != ""
	if !installed || d.FromFiles() {
		return false
	}
	s := &d.BD.Spec
	return len(s.Options.DownstreamResources) > 0 && !s.Paused && !s.OffSchedule
}

// Copies returns the copies that deployments in scope should have. A deployment that is not complete, or not up to date
// by intention, has none.
func Copies(scope []*BundleDeployment) []Copy {
	var out []Copy
	for _, d := range scope {
		if !hasCopies(d) {
			continue
		}
		workspace, _, _ := strings.Cut(d.Bundle, "/")
		owner := state.DeploymentOwner(d.BD, nil)
		complete := !owner.Deleting && !owner.Waiting && !owner.Used.IsZero()
		if workspace == "" || !complete {
			continue
		}
		for _, r := range d.BD.Spec.Options.DownstreamResources {
			kind := map[string]string{"secret": "Secret", "configmap": "ConfigMap"}[strings.ToLower(r.Kind)]
			if kind == "" || r.Name == "" {
				continue
			}
			ref := object.Ref{APIVersion: "v1", Kind: kind, Namespace: workspace, Name: r.Name}
			c := Copy{Deployment: d, Original: ref, Copied: ref, Deployed: owner.Used}
			c.Copied.Namespace = d.Release.Namespace
			out = append(out, c)
		}
	}
	return out
}

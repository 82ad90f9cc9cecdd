// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// manifests reports what the manifests themselves show.
func (r *rollout) manifests() {
	for _, ref := range r.d.Twice {
		r.add("Twice", &ref, "%s is in the manifest more than once, and not in the same way: after each deploy, Fleet "+
			"reports it as modified", ref.Key())
	}
	if len(r.d.Desired) == 0 {
		r.noObjects()
	}
	for _, o := range r.d.Desired {
		m, err := object.ReadMeta(o.Raw)
		if err != nil {
			continue // its object could not be evaluated
		}
		if m.Metadata.Name == "" {
			r.add("GenerateName", &o.Ref, "%s has a generateName and no name: every deploy fails (\"resource name may "+
				"not be empty\")", o.Key())
		}
		by := m.Metadata.Labels[fleet.ManagedByLabel]
		if replaced := by != "" && by != fleet.ManagedByHelm; replaced && !evaluate.AcceptsHelmsLabel(r.d.BundleDeployment, o) {
			r.add("ManagedBy", &o.Ref, "%s has the label %s=%s, which Helm sets to %s at each deploy: Fleet reports "+
				"it as modified permanently", o.Key(), fleet.ManagedByLabel, by, fleet.ManagedByHelm)
		}
		r.random(o)
		r.expires(o)
	}
}

// random reports an object of which a template makes another value each time. If an object that it looks up could not
// be read, the template may keep that value.
func (r *rollout) random(o *desired.Object) {
	if len(o.Unstable) == 0 || len(r.d.Rendering.Unresolved) > 0 {
		return
	}
	what := "in " + strings.Join(o.Unstable, ", ")
	if slices.Contains(o.Unstable, "") {
		what = "as a whole"
	}
	r.add("Random", &o.Ref, "%s differs %s each time it is rendered: each deploy writes another value", o.Key(), what)
}

// expires reports a Job that Kubernetes deletes when it has finished.
func (r *rollout) expires(o *desired.Object) {
	ttl := evaluate.TTLAfterFinished(o)
	if ttl == nil || evaluate.AcceptsMissing(r.d.BundleDeployment, o) {
		return
	}
	r.add("Expires", &o.Ref, "%s is deleted %d s after it has finished (ttlSecondsAfterFinished): Fleet then reports "+
		"it as missing, and each deploy runs it again", o.Key(), *ttl)
}

// forcedClaim reports a claim that helm.force replaces.
func (r *rollout) forcedClaim(o *evaluate.Object) {
	helm := r.d.Options().Helm
	forces := helm != nil && helm.Force && r.Action == report.RolloutUpgrade
	isClaim := o.GroupVersionKind().GroupKind() == schema.GroupKind{Kind: "PersistentVolumeClaim"}
	if !forces || !isClaim || r.statesVolume(o) {
		return
	}
	r.add("ForcedClaim", &o.Ref, "%s: helm.force replaces it by its manifest, which does not state the volume: the "+
		"API server refuses that if the claim is bound (\"spec is immutable after creation\")", o.Key())
}

// statesVolume reports whether the manifest of a claim names its volume.
func (r *rollout) statesVolume(o *evaluate.Object) bool {
	return slices.ContainsFunc(r.d.Desired, func(d *desired.Object) bool {
		var claim corev1.PersistentVolumeClaim
		return d.Key() == o.Key() && object.Into(d.Raw, &claim) == nil && claim.Spec.VolumeName != ""
	})
}

// noObjects reports a bundle without an object, which Fleet reports as ready.
func (r *rollout) noObjects() {
	dir := ""
	if k := r.d.Options().Kustomize; k != nil {
		dir = path.Clean(k.Dir)
	}
	if dir == ".." || strings.HasPrefix(dir, "../") {
		r.add("NoObjects", nil, "the manifest has no object: kustomize.dir is %s, outside of the directory, of which "+
			"only the files are in the bundle", dir).
			Remedies = advise("move the kustomization into the directory, or the fleet.yaml above it")
		return
	}
	r.add("NoObjects", nil, "the manifest has no object: Fleet deploys nothing, and reports the bundle as ready")
}

// notServed reports an object of a kind that the cluster does not serve. It returns false for any other object.
func (r *rollout) notServed(o *evaluate.Object) bool {
	if !o.NotServed() {
		return false
	}
	kind := o.GroupVersionKind().GroupKind()
	if slices.Contains(r.d.Rendering.Defines, kind) {
		r.Counts.Create++ // Helm creates the definition first
		return true
	}
	r.Counts.Unknown++
	item := r.add("KindNotServed", &o.Ref, "%s: the cluster does not serve its kind, and Helm refuses the bundle "+
		"before it creates anything (\"no matches for kind\")", o.Key())
	item.Remedies = advise("install the definition of the kind first")
	if slices.ContainsFunc(r.d.Desired, func(d *desired.Object) bool { return defines(d.Raw, kind) }) {
		item.Message += "; its definition is in the same manifest"
		item.Remedies = advise("move the definition to crds/ of a chart, or to another bundle that dependsOn names")
	}
	return true
}

// defines reports whether the JSON of an object is the definition of a kind.
func defines(raw []byte, kind schema.GroupKind) bool {
	defined, ok := object.Defined(raw)
	return ok && defined == kind
}

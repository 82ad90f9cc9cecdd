// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	_ "embed"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
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
		if replaced := by != "" && by != fleet.ManagedByHelm; replaced &&
			!evaluate.AcceptsHelmsLabel(r.d.BundleDeployment, o) {
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
	if slices.ContainsFunc(r.d.Desired, func(d *desired.Object) bool {
		defined, ok := object.Defined(d.Raw)
		return ok && defined == kind
	}) {
		item.Message += "; its definition is in the same manifest"
		item.Remedies = advise("move the definition to crds/ of a chart, or to another bundle that dependsOn names")
	}
	return true
}

// rollout is the prediction for one bundle.
type rollout struct {
	report.Rollout
	c *check.Input
	d *evaluate.BundleDeployment

	dependencies *facts.Dependencies
	causes       *check.Causes
	// takes reports whether Helm takes over existing objects.
	takes bool
	// notAsked counts the objects about which the API server was not asked, by the reason.
	notAsked map[string]int
	// renamed are the objects that the bundle takes from another one of the same GitRepo.
	renamed map[object.Key]bool
}

// verdicts are the results of rules, in ascending order. The highest one is the result of the rollout.
var verdicts = []report.Verdict{report.VerdictOK, report.VerdictUnknown, report.VerdictContested, report.VerdictRefused}

// add adds an item, and the result of its rule, by its name.
func (r *rollout) add(rule string, o *object.Ref, format string, args ...any) *report.PreflightItem {
	return r.addAs(ruleOf(rule), o, format, args...)
}

// addAs does what add does, for a rule whose severity depends on the rollout.
func (r *rollout) addAs(rule Rule, o *object.Ref, format string, args ...any) *report.PreflightItem {
	decides := rule.Severity == report.Error || rule.Verdict == report.VerdictUnknown
	if decides && slices.Index(verdicts, rule.Verdict) > slices.Index(verdicts, r.Verdict) {
		r.Verdict = rule.Verdict
	}
	item := report.PreflightItem{Rule: rule.Name, Severity: rule.Severity, Object: o,
		Message: fmt.Sprintf(format, args...)}
	if rule.Advice != "" {
		item.Remedies = advise(rule.Advice)
	}
	r.Items = append(r.Items, item)
	return &r.Items[len(r.Items)-1]
}

// failedOn returns the item that the last deploy failed because of an object; nil if it did not, or if the API server
// accepts the object now.
func (r *rollout) failedOn(o *evaluate.Object) *report.PreflightItem {
	i := slices.IndexFunc(r.Items, func(i report.PreflightItem) bool {
		return i.Rule == report.LastDeployFailed && i.Object != nil && i.Object.Key() == o.Key()
	})
	if i < 0 || o.Trial.Accepted {
		return nil
	}
	return &r.Items[i]
}

// advise is a remedy without a command.
func advise(text string) []report.Remedy { return []report.Remedy{{Text: text}} }

// gitRepo returns the GitRepo ("namespace/name") of the bundle, or of the files; empty without one.
func (r *rollout) gitRepo() string {
	files := r.d.Files
	if files == nil || files.Labels[fleet.RepoLabel] == "" {
		return r.d.GitRepo
	}
	return files.Workspace + "/" + files.Labels[fleet.RepoLabel]
}

// held reports that a rollout holds back a newer deployment.
func (r *rollout) held() {
	if r.d.BD == nil {
		return
	}
	present := r.d.Deployment
	present.Files = nil
	steps := r.causes.Blocked(&present)
	if len(steps) == 0 || !steps[0].Holds() {
		return
	}
	s, rule, message := steps[0], ruleOf("RolloutHeld"), steps[0].Message
	if len(s.Clusters) > 0 {
		message += ": " + facts.List(s.Clusters)
	}
	if r.d.FromFiles() {
		rule.Severity, rule.Verdict = report.Warning, report.VerdictUnknown
		message += "; that of these files waits too, unless they change the limits of the rollout"
	}
	item := r.addAs(rule, nil, "%s", message)
	item.Remedies = s.Next
}

// Rule is one kind of problem of a rollout.
type Rule struct {
	Name string `json:"name"`
	// Severity is Error for a problem that prevents the rollout or its success. Verdict is then the result of the
	// rollout. With another severity it has no effect, unless it is Unknown.
	Severity report.Severity `json:"severity"`
	Verdict  report.Verdict  `json:"verdict"`
	// Description is for the documentation.
	Description string `json:"description"`
	// Advice is what to do about an item, if that is always the same.
	Advice string `json:"advice"`
}

//go:embed rules.yaml
var rulesFile []byte

// rules are the rules of the file, which the tests read too.
var rules = sync.OnceValue(func() []Rule {
	var out []Rule
	if err := yaml.UnmarshalStrict(rulesFile, &out); err != nil {
		return nil
	}
	return out
})

// Rules lists the rules, the most severe first. docs/verbs/preflight.md is made from it.
func Rules() []Rule { return rules() }

// ruleOf returns the rule with a name. The tests prove that each name in this package is that of a rule.
func ruleOf(name string) Rule {
	i := slices.IndexFunc(rules(), func(r Rule) bool { return r.Name == name })
	if i < 0 {
		return Rule{Name: name}
	}
	return rules()[i]
}

// URL returns the address of the explanation of a rule, by its name.
func URL(rule string) string { return check.Pages + "verbs/preflight.md#" + strings.ToLower(rule) }

// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// Local is a bundle that was read from a directory, before it is known for which cluster it is rendered.
type Local struct {
	// Input has the options of the fleet.yaml without those of its targets.
	Input
	// Dir is its directory, below the one that the user names; "." for that itself.
	Dir string
	// GitRepo is the name of the GitRepo that the user names; empty without one.
	GitRepo string
	// Refused is why every version of fleet apply refuses the directory; empty if none does.
	Refused string
	// Paused is true if the fleet.yaml pauses the bundle.
	Paused bool
	// Labels are the labels that the Bundle gets from the fleet.yaml.
	Labels    map[string]string
	DependsOn []v1alpha1.BundleRef
	// DependsOnLines are the lines of the entries of DependsOn in the fleet.yaml; 0 if not known.
	DependsOnLines []int
	// File is the path of the fleet.yaml, below the directory that the user names.
	File string
	// ImageScans is true if the fleet.yaml has imageScans.
	ImageScans bool
	// Targets are the targets, followed by the targetCustomizations.
	Targets []LocalTarget
	// OverrideTargets replace the targets of the GitRepo; nil if the fleet.yaml does not have the key.
	OverrideTargets []v1alpha1.ClusterTarget
	// Mode is the targetCustomizationMode; empty if the fleet.yaml states none.
	Mode string
}

// LocalTarget is a target of a fleet.yaml with its options.
type LocalTarget struct {
	v1alpha1.BundleTarget
	v1alpha1.Options
}

// ClusterDependent reports whether targets decide about the bundle or its options.
func (l *Local) ClusterDependent() bool { return len(l.Targets) > 0 || l.OverrideTargets != nil }

// anyCluster selects every cluster.
var anyCluster = v1alpha1.ClusterTarget{Name: "(any)", ClusterSelector: &metav1.LabelSelector{}}

// Bundle returns the Bundle that fleet apply makes, with its targets. repo is nil if the targets of the GitRepo are
// not known: then every cluster is one. Source: docs/fleet-behavior.md, 5.1.
func (l *Local) Bundle(workspace string, repo *v1alpha1.GitRepo) *v1alpha1.Bundle {
	b := &v1alpha1.Bundle{}
	b.Namespace, b.Name, b.Labels = workspace, l.Name, l.BundleLabels()
	for _, t := range l.Targets {
		b.Spec.Targets = append(b.Spec.Targets, t.BundleTarget)
	}
	targets := l.OverrideTargets
	switch {
	case targets != nil:
	case repo == nil:
		targets = []v1alpha1.ClusterTarget{anyCluster}
	case len(repo.Spec.Targets) > 0:
		targets = repo.Spec.Targets
	default:
		targets = []v1alpha1.ClusterTarget{{Name: "default", ClusterGroup: "default"}}
	}
	for _, t := range targets {
		b.Spec.Targets = append(b.Spec.Targets, v1alpha1.BundleTarget{ClusterTarget: t})
	}
	b.Spec.TargetRestrictions = targets
	if len(b.Spec.Targets) == 0 {
		b.Spec.Targets = []v1alpha1.BundleTarget{{ClusterTarget: v1alpha1.ClusterTarget{Name: "default",
			ClusterGroup: "default"}}}
	}
	b.Spec.TargetCustomizationMode = l.Mode
	return b
}

// BundleLabels are the labels of the Bundle that is made of the directory.
func (l *Local) BundleLabels() map[string]string {
	if l.GitRepo == "" {
		return l.Labels
	}
	return with(l.Labels, fleet.RepoLabel, l.GitRepo)
}

// For returns the input for one cluster. applied are the indexes of the targets whose options apply. cluster and repo
// are nil if not known, keyed is that of fleet.MergeOptions.
func (l *Local) For(cluster *v1alpha1.Cluster, repo *v1alpha1.GitRepo, applied []int, keyed bool) Input {
	in := l.Input
	if repo != nil {
		in.Options.TargetNamespace = cmp.Or(repo.Spec.TargetNamespace, in.Options.TargetNamespace)
		in.Options.ServiceAccount = cmp.Or(repo.Spec.ServiceAccount, in.Options.ServiceAccount)
		in.Options.KeepResources = in.Options.KeepResources || repo.Spec.KeepResources
	}
	for _, i := range applied {
		options := l.Targets[i].Options
		if repo != nil {
			options.TargetNamespace = cmp.Or(repo.Spec.TargetNamespace, options.TargetNamespace)
		}
		in.Options = fleet.MergeOptions(in.Options, options, keyed)
	}
	if cluster != nil {
		in.Cluster = contextOf(cluster)
	}
	return in
}

func contextOf(c *v1alpha1.Cluster) *ClusterContext {
	return &ClusterContext{Namespace: c.Namespace, Name: c.Name, Labels: c.Labels, Annotations: c.Annotations,
		Values: c.Spec.TemplateValues}
}

// Others returns other clusters to which the same targets apply; false if their values do not depend on the cluster.
func (l *Local) Others(clusters []*v1alpha1.Cluster, applied []int, keyed bool) (Others, bool) {
	out := Others{Helm: l.For(nil, nil, applied, keyed).Options.Helm}
	if out.Helm == nil {
		return out, false
	}
	if values, err := valuesOf(out.Helm); err != nil || len(clusterPaths(out.Helm, values)) == 0 {
		return out, false
	}
	for _, c := range clusters {
		out.Clusters = append(out.Clusters, *contextOf(c))
	}
	return out, true
}

// Validate returns why fleet apply refuses the fleet.yaml, in its words; empty if it does not. controller is the
// version of Fleet, imageScan whether images are scanned; nil if not known. gaps say what it may refuse.
func (l *Local) Validate(controller *fleet.Version, imageScan *bool) (refused string, gaps []string) {
	if l.Refused != "" {
		return l.Refused, nil
	}
	const perhaps = "fleet apply of Fleet 0.15 and later refuses the fleet.yaml, and the version of Fleet is " +
		"not known: "
	found := l.invalidDependency(controller)
	scans := imageScan != nil && *imageScan
	if found == "" && l.ImageScans && !scans {
		found = "imagescan is disabled; remove imagescans from your config files, or enable imagescan" + l.at(0)
		if imageScan == nil && controller != nil && !controller.Before(validates, 0) {
			return "", []string{"whether imagescan is enabled in Fleet is not known; if it is not, fleet apply " +
				"refuses the fleet.yaml: " + found}
		}
	}
	switch {
	case found == "":
	case controller == nil:
		return "", []string{perhaps + found}
	case !controller.Before(validates, 0):
		return found, nil
	}
	return "", nil
}

// validates is the first minor version whose fleet apply validates dependsOn, and in which images are scanned only on
// request.
const validates = 15

// waitsForDependency is a state of Fleet 0.16.2 and later.
const waitsForDependency = "WaitingForDependency"

// invalidDependency returns why fleet apply refuses dependsOn; empty if it does not.
func (l *Local) invalidDependency(controller *fleet.Version) string {
	for i, d := range l.DependsOn {
		line := 0
		if i < len(l.DependsOnLines) {
			line = l.DependsOnLines[i]
		}
		if d.Name == "" && d.Selector == nil {
			return fmt.Sprintf("validating fleet.yaml: dependsOn[%d]: must specify either 'name' or 'selector'%s", i,
				l.at(line))
		}
		for j, s := range d.AcceptedStates {
			newer := s == waitsForDependency && (controller == nil || !controller.Before(16, 2))
			if fleet.BundleState(s).Rank() == 0 && !newer {
				return fmt.Sprintf("validating fleet.yaml: dependsOn[%d].acceptedStates[%d]: invalid state %q, valid "+
					"values are: %v%s",
					i, j, s, fleet.States(), l.at(line))
			}
		}
	}
	return ""
}

// at is the place of an error: the file and, if known, the line.
func (l *Local) at(line int) string {
	if line == 0 {
		return " (" + l.File + ")"
	}
	return fmt.Sprintf(" (%s, line %d)", l.File, line)
}

// overlayDir is the directory of overlays. It is never part of the manifests.
const overlayDir = "overlays/"

// overlay names files without a name, applies the overlays of the options, and removes the directory of all overlays.
// applied means that overlays were applied. Source: docs/fleet-behavior.md, 2.6.
func (b *bundle) overlay() (out []resource, applied bool, err error) {
	out = slices.Clone(b.resources)
	for i := range out {
		if out[i].Name == "" {
			out[i].Name = fmt.Sprintf("manifests/file%03d.yaml", i)
		}
	}
	if y := b.in.Options.YAML; y != nil && len(y.Overlays) > 0 {
		content := map[string][]byte{}
		for _, r := range out {
			content[r.Name] = r.data // the last of two files with the same name
		}
		for _, name := range y.Overlays {
			if err := b.applyOverlay(content, name); err != nil {
				return nil, false, err
			}
		}
		out, applied = nil, true
		for name, data := range content {
			out = append(out, resource{v1alpha1.BundleResource{Name: name, Content: string(data)}, data})
		}
	}
	out = slices.DeleteFunc(out, func(r resource) bool { return strings.HasPrefix(r.Name, overlayDir) })
	slices.SortStableFunc(out, func(a, b resource) int { return strings.Compare(a.Name, b.Name) })
	return out, applied, nil
}

// applyOverlay replaces files, then patches files. The agent does both in no fixed order. If the order matters, that is
// a gap.
func (b *bundle) applyOverlay(content map[string][]byte, name string) error {
	prefix := overlayDir + name + "/"
	replaced := map[string]bool{}
	var patches []string
	for _, source := range slices.Sorted(maps.Keys(content)) {
		target, ok := strings.CutPrefix(source, prefix)
		if !ok {
			continue
		}
		if strings.Contains(path.Base(target), "_patch.") {
			patches = append(patches, source)
			continue
		}
		content[target] = content[source]
		replaced[target] = true
	}
	if len(replaced)+len(patches) == 0 {
		b.note("there is no file in " + prefix + ": the overlay " + name + " changes nothing")
	}
	for _, source := range patches {
		dir, base := path.Split(strings.TrimPrefix(source, prefix))
		target := path.Join(dir, strings.Replace(base, "_patch.", ".", 1))
		if replaced[target] {
			b.addGap(fmt.Sprintf("overlay %s replaces and patches %s, and Fleet does this in random order", name,
				target))
		}
		replaced[target] = true // the order of two patches of a file is random too
		data, ok := content[target]
		if !ok {
			return b.in.fail(source, "the file that it patches, "+target+", does not exist")
		}
		patched, err := patchFile(data, content[source])
		if err != nil {
			return b.in.fail(source, err.Error())
		}
		content[target] = patched
	}
	return nil
}

// patchFile applies a patch to the first document of a file. A list is a JSON patch. A map is a strategic merge patch
// for built-in kinds except CRDs, and a JSON merge patch for other kinds.
func patchFile(target, patch []byte) ([]byte, error) {
	base, err := toJSON(target)
	if err != nil {
		return nil, fmt.Errorf("the file that it patches %w", err)
	}
	change, err := toJSON(patch)
	if err != nil {
		return nil, fmt.Errorf("it %w", err)
	}
	if change[0] == '[' {
		return applyJSONPatch(base, change)
	}
	var meta metav1.TypeMeta
	if err := json.Unmarshal(base, &meta); err != nil {
		return nil, errors.New("the file that it patches is not a Kubernetes object")
	}
	gvk := meta.GroupVersionKind()
	var out []byte
	if typed, schemeErr := scheme.Scheme.New(gvk); schemeErr == nil && gvk.Kind != crdKind {
		out, err = strategicpatch.StrategicMergePatch(base, change, typed)
	} else {
		out, err = jsonpatch.MergePatch(base, change)
	}
	if err != nil {
		return nil, fmt.Errorf("it cannot be merged into the object of kind %s", gvk.Kind)
	}
	return out, nil
}

func applyJSONPatch(base, change []byte) ([]byte, error) {
	operations, err := jsonpatch.DecodePatch(change)
	if err != nil {
		return nil, errors.New("it is a list, but not a JSON patch")
	}
	options := jsonpatch.NewApplyOptions()
	options.AccumulatedCopySizeLimit = maxBytes
	out, err := operations.ApplyWithOptions(base, options)
	if err != nil {
		return nil, errors.New("an operation of the JSON patch cannot be applied")
	}
	return out, nil
}

func toJSON(document []byte) ([]byte, error) {
	var v any
	if err := yaml.Unmarshal(document, &v); err != nil {
		return nil, fmt.Errorf("is not valid YAML%s", LineOf(err, document))
	}
	switch v.(type) {
	case map[string]any, []any:
	case nil:
		v = map[string]any{}
	default:
		return nil, errors.New("is neither a map nor a list")
	}
	out, err := json.Marshal(v)
	if err != nil {
		return nil, errors.New("has keys that are not strings")
	}
	return out, nil
}

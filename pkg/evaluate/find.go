// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Found is what a name on the command line stands for: a deployed object, or an object of Fleet if the name has no
// kind.
type Found struct {
	Name source.Named
	// Targets are the object of Fleet, or the bundle deployments that desire the deployed objects, and those of the
	// same bundles that may.
	Targets []Target
	// Objects are the deployed objects of the name, sorted. They are several if the name has a kind, and no namespace.
	Objects []object.Ref
	// bundles are those of the bundle deployments.
	bundles []string
	// also are other objects with the name of an object of Fleet.
	also []string
}

// String says what the name stands for.
func (f *Found) String() string {
	if len(f.Objects) == 0 {
		out := fmt.Sprintf("the name %q is that of %s", f.Name, f.Targets[0])
		if len(f.also) > 0 {
			out += ", and also that of " + f.also[0]
		}
		if more := len(f.also) - 1; more > 0 {
			out += fmt.Sprintf(" and %d more", more)
		}
		return out
	}
	var objects []string
	for _, o := range f.Objects {
		objects = append(objects, o.Key().String())
	}
	bundles := slices.Compact(slices.Sorted(slices.Values(f.bundles)))
	desire := "bundle %s desires %s"
	if len(bundles) > 1 {
		desire = "bundles %s desire %s"
	}
	return fmt.Sprintf(desire, strings.Join(bundles, ", "), strings.Join(objects, ", "))
}

// AmbiguousError reports that a word without a kind stands for several objects.
type AmbiguousError struct {
	Name string
	// Matches are KIND/NAMESPACE/NAME, sorted, those of Fleet first. Without any, the word is a kind.
	Matches []string
}

// Error implements error.
func (e *AmbiguousError) Error() string {
	if len(e.Matches) == 0 {
		return fmt.Sprintf("%s is a kind: add a name: %s/NAME", e.Name, e.Name)
	}
	return fmt.Sprintf("%q is the name of several objects: %s", e.Name, strings.Join(e.Matches, ", "))
}

// Find finds what a name stands for. An object of Fleet has precedence over deployed objects. The error is an
// *AmbiguousError, or a *source.NotFoundError.
func Find(desired *desired.State, n source.Named, kinds *source.Kinds) (*Found, error) {
	matches := deployedObjects(desired, n, kinds)
	names := slices.Sorted(maps.Keys(matches))
	var ofFleet, parts []Target
	if n.Kind == "" {
		ofFleet, parts = withoutParts(desired.Directory, named(desired.Directory, n))
	}
	switch {
	case len(ofFleet) == 1:
		return &Found{Name: n, Targets: ofFleet, also: slices.Concat(namesOf(parts), names)}, nil
	case len(ofFleet) > 1:
		return nil, &AmbiguousError{Name: n.Name, Matches: slices.Concat(namesOf(ofFleet), names)}
	case len(names) == 0:
		return unnamed(desired, n, kinds)
	case len(names) > 1 && n.Kind == "":
		return nil, &AmbiguousError{Name: n.Name, Matches: names}
	}
	out := &Found{Name: n}
	for _, name := range names {
		m := matches[name]
		out.Targets, out.bundles = append(out.Targets, m.Targets...), append(out.bundles, m.bundles...)
		out.Objects = append(out.Objects, m.Objects...)
	}
	out.addUnread(desired)
	return out, nil
}

// deployedObjects returns the objects with a name that bundle deployments desire, each with these deployments. The keys
// are KIND/NAMESPACE/NAME.
func deployedObjects(desired *desired.State, n source.Named, kinds *source.Kinds) map[string]*Found {
	matches := map[string]*Found{}
	for _, d := range desired.Deployments {
		for _, o := range d.Desired {
			if !n.Is(o.Ref, kinds) {
				continue
			}
			key := source.Named{Kind: o.Key().Type(), Namespace: o.Namespace, Name: o.Name}.String()
			if matches[key] == nil {
				matches[key] = &Found{Objects: []object.Ref{o.Ref}}
			}
			m := matches[key]
			m.Targets = append(m.Targets, Target{Kind: TargetBundleDeployment, Name: d.Key()})
			m.bundles = append(m.bundles, cmp.Or(d.Bundle, d.Key())) // itself if only its release is known
		}
	}
	return matches
}

// addUnread adds the bundle deployments of the same bundles whose desired objects are not known: the objects may be on
// their clusters too.
func (f *Found) addUnread(desired *desired.State) {
	for _, d := range desired.Deployments {
		if d.Problem != "" && d.Bundle != "" && slices.Contains(f.bundles, d.Bundle) {
			f.Targets = append(f.Targets, Target{Kind: TargetBundleDeployment, Name: d.Key()})
		}
	}
}

// named returns the GitRepos, HelmOps, Bundles and Clusters with a name.
func named(in *directory.Directory, n source.Named) []Target {
	found := map[Target]bool{}
	add := func(kind, namespace, name string) {
		if name == n.Name && (n.Namespace == "" || n.Namespace == namespace) {
			found[Target{Kind: strings.ToLower(kind), Name: namespace + "/" + name}] = true
		}
	}
	eachNamed(in, add)
	return slices.SortedFunc(maps.Keys(found), func(x, y Target) int { return strings.Compare(x.String(), y.String()) })
}

// withoutParts separates the Bundles whose GitRepo or HelmOp has the same name: they are in the scope of that.
func withoutParts(in *directory.Directory, all []Target) (wholes, parts []Target) {
	for _, t := range all {
		isPart := t.is(state.Bundle) && slices.ContainsFunc(all, func(parent Target) bool {
			return !parent.is(state.Bundle) && !parent.is(state.ClusterKind) && isMadeBy(in, t.Name, parent)
		})
		if isPart {
			parts = append(parts, t)
		} else {
			wholes = append(wholes, t)
		}
	}
	return wholes, parts
}

// isMadeBy reports whether a GitRepo or HelmOp makes a Bundle and all of its bundle deployments, by their labels.
func isMadeBy(in *directory.Directory, bundle string, parent Target) bool {
	made := in.Fleet != nil && slices.ContainsFunc(in.Bundles, func(b *v1alpha1.Bundle) bool {
		return b.Namespace+"/"+b.Name == bundle && Scope{Targets: []Target{parent}}.Has(state.Bundle, b)
	})
	for _, d := range in.Deployments {
		if d.Bundle != bundle {
			continue
		}
		if !parent.Names(d) {
			return false
		}
		made = true
	}
	return made
}

// eachNamed calls add for each GitRepo, HelmOp, Bundle and Cluster that was read, or that a bundle deployment names.
func eachNamed(in *directory.Directory, add func(kind, namespace, name string)) {
	for _, k := range state.Kinds {
		if in.Fleet == nil || k.Name == state.BundleDeployment || k.Name == state.ClusterGroup {
			continue
		}
		for _, o := range k.List(in.Fleet) {
			add(k.Name, o.GetNamespace(), o.GetName())
		}
	}
	for _, d := range in.Deployments {
		for kind, key := range d.Parents() {
			if namespace, name, ok := strings.Cut(key, "/"); ok {
				add(kind, namespace, name)
			}
		}
	}
}

// unnamed returns the error that a name stands for nothing. On a downstream cluster, where no Bundle is known, a name
// without a kind may be that of a bundle deployment.
func unnamed(desired *desired.State, n source.Named, kinds *source.Kinds) (*Found, error) {
	out := &Found{Name: n}
	var objects []object.Ref
	for _, d := range desired.Deployments {
		if n.Kind == "" && n.Namespace == "" && d.Name == n.Name {
			out.Targets = append(out.Targets, Target{Kind: TargetBundleDeployment, Name: d.Key()})
		}
		for _, o := range d.Desired {
			objects = append(objects, o.Ref)
		}
	}
	switch {
	case len(out.Targets) == 1:
		return out, nil
	case len(out.Targets) > 1:
		return nil, &AmbiguousError{Name: n.Name, Matches: namesOf(out.Targets)}
	case n.Kind == "" && slices.ContainsFunc(kinds.All(), func(k source.Kind) bool { return k.Called(n.Name) }):
		return nil, &AmbiguousError{Name: n.Name}
	}
	e := source.NotFound(n, objects, kinds)
	if n.Kind == "" {
		e = &source.NotFoundError{What: n.String(), Word: n.Name}
		for _, o := range objects {
			e.Known = append(e.Known, o.Name)
		}
		eachNamed(desired.Directory, func(_, _, name string) { e.Known = append(e.Known, name) })
		e.Known = append(e.Known, TargetGitRepo, TargetHelmOp, TargetBundle, TargetCluster, TargetBundleDeployment)
	}
	e.Undesired, e.Unread = true, desireUnknown(desired, n)
	return nil, e
}

// desireUnknown returns the reason why it is not known whether a bundle desires an object that no known bundle desires;
// empty if all bundles are known.
func desireUnknown(desired *desired.State, n source.Named) string {
	for _, c := range desired.Clusters {
		concerns := func(records string) bool { return n.Namespace == "" || c.MayConcern(records, n.Namespace) }
		if why := DesireUnknown(desired, c, concerns); why != "" {
			return why
		}
	}
	unread := 0
	for _, d := range desired.Deployments {
		if d.Problem == directory.ClusterNotRead {
			unread++
		}
	}
	if unread == 0 {
		return ""
	}
	return fmt.Sprintf("the objects of %d bundle deployments are on clusters that were not read", unread)
}

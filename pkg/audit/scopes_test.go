// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cases"
)

// TestScopes audits every captured cluster with every scope that names one of its objects or namespaces. The findings
// must be among those of the audit without a scope, and belong to the scope. None about an object that the scope names
// may be absent.
func TestScopes(t *testing.T) {
	files, err := filepath.Glob(casesDir + "/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			t.Parallel()
			c := readCase(t, file)
			if c.Desired.From != "" || len(c.Desired.Files) > 0 {
				return
			}
			checkScopes(t, c.open(t))
		})
	}
	for _, name := range []string{"clean", "drift", "sick"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := snapshot.Open(t.Context(), []string{"../../test/testdata/" + name}, nil)
			if err != nil {
				t.Fatal(err)
			}
			checkScopes(t, s)
		})
	}
}

func checkScopes(t *testing.T, src source.Source) {
	t.Helper()
	run := func(s evaluate.Scope) (*audit.Audit, error) {
		return audit.Run(t.Context(), src, audit.Options{Commands: cases.Commands, Scope: s})
	}
	whole, err := run(evaluate.Scope{})
	if err != nil {
		return // there is nothing to audit
	}
	all := map[string]report.Finding{}
	for _, f := range whole.Unmerged().Findings {
		all[f.ID] = f
	}
	checkRows(t, whole, false)
	status, err := audit.Run(t.Context(), src, audit.Options{Commands: cases.Commands, StatusOnly: true})
	if err == nil { // a downstream cluster has no status
		checkRows(t, status, true)
	}
	for _, s := range scopesOf(whole) {
		part, err := run(s)
		if err != nil {
			continue // the object has no bundle deployment
		}
		w, found := scopeWorld{whole, part, s}, map[string]bool{}
		for _, f := range part.Unmerged().Findings {
			found[f.ID] = true
			if all[f.ID].ID == "" {
				t.Errorf("scope %+v: %s is not a finding of the whole audit: %s", s, findingKey(f), f.Message)
			}
			if !w.has(&f) {
				t.Errorf("scope %+v: %s is out of scope: %s", s, findingKey(f), f.Message)
			}
		}
		for id, f := range all {
			if !found[id] && w.about(&f) {
				t.Errorf("scope %+v: %s is absent: %s", s, findingKey(f), f.Message)
			}
		}
	}
}

// checkRows checks that the report has each of Fleet's objects above the bundle deployments that was read, with what
// Fleet reports; with the actual numbers only if all were read.
func checkRows(t *testing.T, a *audit.Audit, statusOnly bool) {
	t.Helper()
	r := a.Unmerged()
	for kind, rows := range map[string][]report.Aggregate{state.GitRepo: r.GitRepos, state.HelmOp: r.HelmOps,
		state.Bundle: r.Bundles, state.ClusterKind: r.Clusters, state.ClusterGroup: r.ClusterGroups} {
		if len(rows) != len(a.Tree[kind]) {
			t.Errorf("%d rows for %d objects of kind %s", len(rows), len(a.Tree[kind]), kind)
		}
		for _, x := range rows {
			if x.Reported == nil || x.OutOfScope {
				t.Errorf("%s %s/%s is not complete: %+v", kind, x.Namespace, x.Name, x)
			}
			if statusOnly && x.Actual != nil && x.Actual.BundleDeployments > 0 {
				t.Errorf("%s %s/%s has actual numbers, and no object was read", kind, x.Namespace, x.Name)
			}
		}
	}
}

// scopesOf returns every scope that names an object or a namespace of an audit.
func scopesOf(a *audit.Audit) []evaluate.Scope {
	var out []evaluate.Scope
	namespaces := map[string]bool{}
	for _, kind := range state.Kinds {
		for _, o := range kind.List(a.Desired.Fleet) {
			if ns := o.GetNamespace(); !namespaces[ns] {
				namespaces[ns] = true
				out = append(out, evaluate.Scope{Namespace: ns})
			}
			if kind.Name == state.ClusterGroup {
				continue
			}
			if bundle := o.GetLabels()[fleet.BundleLabel]; bundle != "" {
				out = append(out,
					evaluate.Scope{Selector: labels.SelectorFromSet(labels.Set{fleet.BundleLabel: bundle})})
			}
			target := evaluate.Target{Kind: strings.ToLower(kind.Name), Name: o.GetName()}
			whole := evaluate.Target{Kind: target.Kind, Name: o.GetNamespace() + "/" + o.GetName()}
			out = append(out, evaluate.Scope{Targets: []evaluate.Target{whole}})
			if kind.Name != state.BundleDeployment {
				out = append(out, evaluate.Scope{Namespace: o.GetNamespace(), Targets: []evaluate.Target{target}})
			}
		}
	}
	return out
}

// scopeWorld is an audit with a scope, beside the one without.
type scopeWorld struct {
	whole, part *audit.Audit
	scope       evaluate.Scope
}

// has reports whether a finding belongs to the scope: it is about a bundle deployment or object in scope, an object
// that the scope names, or an object above the bundle deployments that has no others.
func (w scopeWorld) has(f *report.Finding) bool {
	if f.BundleDeployment != "" {
		return slices.ContainsFunc(w.part.Deployments, func(d *evaluate.BundleDeployment) bool {
			return d.Key() == f.BundleDeployment
		})
	}
	key := f.Object.Namespace + "/" + f.Object.Name
	for _, a := range w.whole.Tree[f.Object.Kind] {
		if a.Key() == key {
			return w.hasAggregate(a, f)
		}
	}
	return slices.ContainsFunc(w.part.Deployments, func(d *evaluate.BundleDeployment) bool {
		switch f.Code {
		case "FD504":
			return d.Cluster == f.Cluster
		case "FD601":
			return d.BD != nil && state.ContentID(d.BD) == f.Object.Name
		}
		isOne := func(o evaluate.Object) bool { return o.Ref == f.Object }
		return d.Ref() == f.Object || slices.ContainsFunc(d.Objects, isOne)
	})
}

// about reports whether a finding is about an object that the scope names, and that has no bundle deployment out of
// scope.
func (w scopeWorld) about(f *report.Finding) bool {
	key := f.Object.Namespace + "/" + f.Object.Name
	i := slices.IndexFunc(w.whole.Tree[f.Object.Kind], func(a *evaluate.Aggregate) bool { return a.Key() == key })
	if i < 0 || f.BundleDeployment != "" {
		return false
	}
	a := w.whole.Tree[f.Object.Kind][i]
	_, outside := w.deploymentsOf(a)
	return w.names(a.Kind, a.Object) && outside == 0
}

func (w scopeWorld) hasAggregate(a *evaluate.Aggregate, f *report.Finding) bool {
	inside, outside := w.deploymentsOf(a)
	switch {
	case w.names(a.Kind, a.Object), inside > 0 && outside == 0:
		return true
	case a.Kind == state.ClusterGroup:
		outside := func(c *evaluate.Aggregate) bool { return !w.hasAggregate(c, f) }
		return len(a.Clusters) > 0 && !slices.ContainsFunc(a.Clusters, outside)
	case a.Kind == state.Bundle && f.Cluster != "": // of a bundle on a cluster
		return slices.ContainsFunc(w.scope.Targets, func(x evaluate.Target) bool {
			return x.Kind == evaluate.TargetCluster && strings.HasSuffix("/"+f.Cluster, "/"+x.Name)
		})
	case a.Kind == state.Bundle: // its values and its rules are those of each deployment
		return inside > 0 && slices.Contains([]string{"FD401", "FD404", "FD613", "FD702"}, f.Code)
	}
	return inside > 0 && slices.Contains([]string{"FD504", "FD613"}, f.Code)
}

// deploymentsOf counts the bundle deployments of an aggregate that are in scope, and the others.
func (w scopeWorld) deploymentsOf(a *evaluate.Aggregate) (inside, outside int) {
	for _, d := range w.whole.Desired.Deployments {
		if d.Parents()[a.Kind] != a.Key() {
			continue
		}
		same := func(x *evaluate.BundleDeployment) bool { return x.Key() == d.Key() && x.Cluster == d.Cluster }
		if slices.ContainsFunc(w.part.Deployments, same) {
			inside++
		} else {
			outside++
		}
	}
	return inside, outside
}

// names reports whether the scope names an object, or everything in its namespace.
func (w scopeWorld) names(kind string, o v1alpha1.Object) bool {
	elsewhere := w.scope.Namespace != "" && w.scope.Namespace != o.GetNamespace()
	if elsewhere || w.scope.Selector != nil {
		return false
	}
	named := map[string]string{strings.ToLower(kind): o.GetName()}
	if kind == state.Bundle {
		named[evaluate.TargetGitRepo] = o.GetLabels()[fleet.RepoLabel]
		named[evaluate.TargetHelmOp] = o.GetLabels()[fleet.HelmOpLabel]
	}
	return len(w.scope.Targets) == 0 || slices.ContainsFunc(w.scope.Targets, func(x evaluate.Target) bool {
		name := named[x.Kind]
		return name != "" && (x.Name == name || x.Name == o.GetNamespace()+"/"+name)
	})
}

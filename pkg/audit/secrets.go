// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/redact"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// quotedSecrets collects the values of live Secrets that the report may quote, for every scope and every owner of the Secrets. It lists all
// Secrets except release records once, and only where the report has a text to check. It does not keep values that nothing quotes.
func (a *Audit) quotedSecrets(ctx context.Context) ([]source.Gap, error) {
	var said redact.Quotes
	report.NewAudit(a.Result, a.Findings, a.options.Version).Texts(said.Add)
	for _, d := range a.Deployments {
		for i := range d.Objects {
			if live := d.Objects[i].Live; live != nil {
				said.Add(live.LastApplied...)
			}
		}
	}
	if said.Empty() {
		return nil, nil
	}
	namespaces := knownNamespaces(a.Result)
	cover, err := a.reader.QuotedSecrets(ctx, &said, publicWords(a.Kinds, namespaces), slices.Sorted(maps.Keys(namespaces)))
	if err != nil {
		return nil, err
	}
	if _, all := cover.Of(""); !all && showsValues(a.Deployments) {
		return source.CoverageGaps("listing Secrets, to hide their values", cover, "a value of a Secret that was not read is shown where an object quotes it"), nil
	}
	return nil, nil
}

// ownWords are those of the program's sentences that are as long as a value which is hidden.
var ownWords = []string{"default", "cluster", "bundle", "release", "releases", "object", "objects", "kubectl", "fleetdoctor", "namespace", "manifest",
	"server", "status", "deployed", "missing", "modified", "unowned", "orphaned", "unknown", "warning", "failed", "Forbidden", "operation", "Update",
	"Opaque", "kubernetes", "Kubernetes", "annotation", "webhook"}

// publicWords are no secrets, though a Secret may hold one, as many hold "default". A report without them says nothing.
func publicWords(kinds *source.Kinds, namespaces map[string]bool) map[string]bool {
	out := maps.Clone(namespaces)
	for _, word := range ownWords {
		out[word] = true
	}
	for _, k := range kinds.All() {
		for _, word := range []string{k.Kind, strings.ToLower(k.Kind), k.Resource, k.Group} {
			out[word] = true
		}
	}
	return out
}

// knownNamespaces are those that Fleet and Helm work in.
func knownNamespaces(r *evaluate.Result) map[string]bool {
	out := map[string]bool{}
	for _, ns := range collect.SystemNamespaces {
		out[ns] = true
	}
	for _, c := range r.Desired.Clusters {
		for name := range c.Releases {
			ns, _, _ := strings.Cut(name, "/")
			out[ns] = true
		}
	}
	for _, d := range r.Desired.Deployments {
		for _, o := range d.Desired {
			out[o.Namespace] = true
		}
		for _, key := range []string{d.Key(), d.Bundle, d.Cluster} {
			if ns, _, ok := strings.Cut(key, "/"); ok {
				out[ns] = true
			}
		}
	}
	delete(out, "")
	return out
}

// showsValues says whether values of objects are shown, other than those that are masked whole.
func showsValues(deployments []*evaluate.BundleDeployment) bool {
	for _, d := range deployments {
		for i := range d.Objects {
			if slices.ContainsFunc(d.Objects[i].Differences, evaluate.Difference.ShowsValue) {
				return true
			}
		}
	}
	return false
}

// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// quotedSecrets collects the values of live Secrets that the report may quote, for every scope and every owner of the
// Secrets. It lists all Secrets except release records once, and only where the report has a text to check. It does not
// keep values that nothing quotes.
func (a *Audit) quotedSecrets(ctx context.Context) ([]source.Gap, error) {
	var quotes secret.Quotes
	a.report.Texts(quotes.Add)
	for _, d := range a.Deployments {
		for i := range d.Objects {
			if live := d.Objects[i].Live; live != nil {
				quotes.Add(live.LastApplied...)
			}
		}
	}
	texts := a.facts.Quotable()
	quotes.Add(texts...)
	if quotes.Empty() {
		// they are shorter than every value that is hidden
		a.Secrets.Quotations.Searched(texts, func(secret.Place) string { return "" })
		return nil, nil
	}
	covers, gaps, err := a.searchSecrets(ctx, &quotes)
	a.Secrets.Quotations.Searched(texts, func(p secret.Place) string { return a.notRead(covers, p) })
	return gaps, err
}

// Prepare does what the first finding of a later audit with the same Memory would wait for: it reads the Secrets.
func (a *Audit) Prepare(ctx context.Context) error {
	_, _, err := a.searchSecrets(ctx, &secret.Quotes{})
	a.Secrets.Prepare()
	return err
}

// searchSecrets adds the values of live Secrets that texts may quote. It returns which Secrets of each cluster were
// read.
func (a *Audit) searchSecrets(ctx context.Context, quotes *secret.Quotes) ([]source.Coverage, []source.Gap, error) {
	namespaces := knownNamespaces(a.Result)
	public := publicWords(a.Kinds, namespaces)
	for _, address := range a.Desired.Addresses() {
		public[address] = true
	}
	var gaps []source.Gap
	covers := make([]source.Coverage, len(a.clusters))
	var mu sync.Mutex // guards gaps
	err := Each(ctx, a.clusters, func(ctx context.Context, i int) error {
		c := a.clusters[i]
		cover, err := c.Reader.QuotedSecrets(ctx, collect.QuotedOptions{Quotes: quotes, Except: public,
			Memory:     a.options.Memory.secrets(),
			HelmValues: valuesSecrets(a.Desired.Deployments, a.Desired.Clusters[i].ID),
			Namespaces: slices.Sorted(maps.Keys(namespaces))})
		covers[i] = cover
		if _, all := cover.Of(""); err == nil && !all && showsValues(a.Deployments) {
			mu.Lock()
			defer mu.Unlock()
			unread := source.CoverageGaps("listing Secrets, to hide their values", cover,
				"values of Secrets that were not read are shown if an object contains them")
			gaps = append(gaps, c.Named(source.AsOptional(unread))...)
		}
		return err
	})
	return covers, gaps, err
}

// valuesSecrets are the Secrets ("namespace/name") that valuesFrom of the bundles on a cluster names.
func valuesSecrets(all []*desired.BundleDeployment, cluster object.ClusterID) map[string]bool {
	out := map[string]bool{}
	for _, d := range all {
		if d.IsOn(cluster) {
			for _, ref := range d.ValuesSecrets() {
				out[ref.Namespace+"/"+ref.Name] = true
			}
		}
	}
	return out
}

// notRead returns why the Secrets of a place were not read; empty if they were. covers are the coverages of the
// clusters.
func (a *Audit) notRead(covers []source.Coverage, p secret.Place) string {
	if p.Cluster < 0 {
		return "those of namespace " + p.Namespace + " on a cluster that was not read"
	}
	f, all := covers[p.Cluster].Of(p.Namespace)
	if all {
		return ""
	}
	where := "those of namespace " + p.Namespace
	if name := a.clusters[p.Cluster].Name; name != "" {
		where += " on cluster " + name
	}
	return where + " (" + strings.TrimSuffix(string(f.Reason)+": "+f.Detail, ": ") + ")"
}

// ownWords are words of the program's own sentences that are long enough to be hidden if a Secret has such a value.
var ownWords = []string{"default", "cluster", "bundle", "release", "releases", "object", "objects", "kubectl",
	"fleetdoctor", "namespace", "manifest",
	"server", "status", "deployed", "missing", "modified", "unowned", "orphaned", "unknown", "warning", "failed",
	"Forbidden", "operation", "Update",
	"Opaque", "kubernetes", "Kubernetes", "annotation", "webhook"}

// publicWords are not secret, although a Secret may have such a value, for example "default". A report that hides them
// would be unreadable.
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

// knownNamespaces are the namespaces that Fleet and Helm use.
func knownNamespaces(r *evaluate.Result) map[string]bool {
	out := map[string]bool{}
	for _, ns := range collect.SystemNamespaces {
		out[ns] = true
	}
	for _, c := range r.Desired.Clusters {
		for name := range c.State.Releases {
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
	for _, c := range r.Desired.Fleet.Clusters {
		out[c.Namespace] = true // the Secret of the agent has it as a value
	}
	delete(out, "")
	return out
}

// showsValues reports whether a difference shows a value that is not masked.
func showsValues(deployments []*evaluate.BundleDeployment) bool {
	return slices.ContainsFunc(deployments, func(d *evaluate.BundleDeployment) bool {
		return slices.ContainsFunc(d.Objects, func(o evaluate.Object) bool {
			return slices.ContainsFunc(o.Differences, evaluate.Difference.ShowsValue)
		})
	})
}

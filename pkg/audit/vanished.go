// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"slices"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/journal"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// missing returns the findings about missing objects by the cluster that is read.
func missing(deployments []*evaluate.BundleDeployment, findings []check.Finding) map[object.ClusterID][]*check.Finding {
	type key struct{ bundleDeployment, cluster string }
	clusters := map[key]object.ClusterID{}
	for _, d := range deployments {
		clusters[key{d.Key(), d.Cluster}] = d.ID().Cluster
	}
	out := map[object.ClusterID][]*check.Finding{}
	for i := range findings {
		if f := &findings[i]; f.Code == codes.Missing {
			id := clusters[key{f.BundleDeployment, f.Cluster}]
			out[id] = append(out[id], f)
		}
	}
	return out
}

// vanished adds to findings about missing objects of a cluster when they vanished, if an auditor there wrote that down.
// It lists the ConfigMaps of the journal once, and only if there is such a finding. A journal that cannot be read is no
// gap: without an auditor there is none, and no result depends on it.
func vanished(ctx context.Context, src source.Source, about []*check.Finding) error {
	if len(about) == 0 {
		return nil
	}
	namespace, _, err := journal.Namespace(ctx, src)
	if err != nil {
		return err
	}
	book, err := journal.Read(ctx, src, namespace)
	if err != nil {
		return err
	}
	for _, f := range about {
		f.Evidence = append(slices.Clone(f.Evidence), deletions(book, f)...)
	}
	return nil
}

// deletions returns what a journal says of the newest deletion of an object, as a sentence.
func deletions(book *journal.Book, f *check.Finding) []string {
	for i := range book.Entries {
		e := &book.Entries[i]
		if e.Event != journal.Deleted || e.BundleDeployment != f.BundleDeployment || !e.Has(f.Object.Key()) {
			continue
		}
		from, to := e.From.UTC().Format(time.RFC3339), e.To.UTC().Format(time.RFC3339)
		when := "at " + to
		if from != to {
			when = "between " + from + " and " + to
		}
		return []string{"it was deleted " + when + ", according to the journal of the auditor in namespace " +
			book.Namespace}
	}
	return nil
}

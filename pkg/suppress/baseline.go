// SPDX-License-Identifier: Apache-2.0

package suppress

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/comparison"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Baseline is an earlier report.
type Baseline struct {
	name   string // for messages
	before *report.Audit
}

// NewBaseline reads the earlier report, in JSON or YAML. filter is that of the report to which it is applied.
func NewBaseline(name string, content []byte, filter *report.Filter) (*Baseline, error) {
	before, err := comparison.Decode(name, content)
	switch {
	case err != nil:
		return nil, err
	case before.Summary.Baseline != nil:
		return nil, fmt.Errorf("%s was made with --baseline: it does not list the findings that were known then. Make "+
			"it without --baseline", name)
	case before.Filter.Hides() && !before.Filter.Same(filter):
		return nil, fmt.Errorf("%s was made with %s, which leaves out findings (%s): this audit would report them as "+
			"new. Make it without %[2]s", name, before.Filter, before.Filter.Hidden)
	}
	return &Baseline{name, before}, nil
}

// Check returns an error if the baseline is of another cluster than a report: the names of objects may be the same on
// both.
func (b *Baseline) Check(a *report.Audit) error {
	if why := comparison.OtherCluster(b.before, a); why != "" {
		return fmt.Errorf("%s and this audit are of different clusters: %s", b.name, why)
	}
	return nil
}

// maxNamed is the number of fixed findings that a note names.
const maxNamed = 10

// Apply returns a copy of a report without the findings that the baseline has, too. The report has a finding for each
// cluster. Notes name the findings of the baseline that are fixed.
func (b *Baseline) Apply(a *report.Audit) *report.Audit {
	known := map[string]bool{}
	for _, o := range comparison.Occurrences(b.before) {
		known[o.ID] = true
	}
	stays := a.Unread()
	out := *a
	kept, removed := make([]report.Finding, 0, len(a.Findings)), 0
	for _, o := range comparison.Occurrences(a) {
		if known[o.ID] && !stays(o.Finding) {
			removed++
			continue
		}
		kept = append(kept, *o.Finding)
	}
	out.Summary.Baseline = &removed
	out.Notes = slices.Concat(a.Notes, b.notes(a))
	return out.WithFindings(kept)
}

// notes name the findings that are fixed, and count those of which that is not known. Of the findings about bundle
// deployments that the present report is not about, they say nothing.
func (b *Baseline) notes(a *report.Audit) []string {
	var out, fixed []string
	if x, y := b.before.Source.Server, a.Source.Server; x != y && x != "" && y != "" {
		out = append(out, fmt.Sprintf("the baseline %s was made of the cluster %s, this report of %s", b.name, x, y))
	}
	out = append(out, comparison.ClusterNotes(b.before, a)...)
	narrower := !slices.Equal(comparison.ScopeOf(b.before), comparison.ScopeOf(a))
	evaluated := map[comparison.DeploymentKey]bool{}
	for i := range a.BundleDeployments {
		evaluated[comparison.KeyOf(&a.BundleDeployments[i])] = true
	}
	unknown := 0
	for _, f := range comparison.Compare(b.before, a, "").Findings {
		key := comparison.DeploymentKey{Cluster: f.Cluster, Key: f.BundleDeployment}
		switch {
		case f.After != "", narrower && !evaluated[key]:
		case f.Effect == report.EffectUnknown:
			unknown++
		default:
			name := f.Code + " " + f.Object.Key().String()
			if len(a.Source.Clusters) > 0 && f.Cluster != "" {
				name += " on cluster " + f.Cluster
			}
			fixed = append(fixed, name)
		}
	}
	if n := len(fixed); n > 0 {
		list := strings.Join(fixed[:min(n, maxNamed)], ", ")
		if n > maxNamed {
			list += fmt.Sprintf(" and %d more", n-maxNamed)
		}
		out = append(out, fmt.Sprintf("fixed since %s: %s", b.name, list))
	}
	if unknown > 0 {
		out = append(out, fmt.Sprintf("findings of %s that may be fixed or not, because their objects could not be "+
			"read now: %d", b.name, unknown))
	}
	return out
}

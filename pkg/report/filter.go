// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
)

// Filtered returns a copy of the report with the findings that f selects, and f with the number of the others. The
// states and the counts of objects do not change. If f selects everything, it returns the report itself.
func (a *Audit) Filtered(f Filter) *Audit {
	if f.selectsAll() {
		return a
	}
	unread, age := a.Unread(), a.ages(f.Since)
	shown, undated := []Finding{}, 0
	for _, x := range a.Findings {
		is := age(&x)
		selected := f.selects(&x) && is != before
		switch {
		case !selected && !unread(&x):
			f.Hidden.add(x.Severity)
			continue
		case is == unknown:
			undated++
		}
		shown = append(shown, x)
	}
	out := a.WithFindings(shown)
	out.Filter = &f
	if undated > 0 {
		out.Notes = append(slices.Clip(out.Notes), fmt.Sprintf("no time of a change is recorded for %s. A finding "+
			"without a time may be new, so --since does not hide it", Plural(undated, "finding")))
	}
	return out
}

func (f *Filter) selectsAll() bool { return f.Severity == "" && f.Since == "" && len(f.Codes) == 0 }

// selects reports whether a finding has the severity and the code.
func (f *Filter) selects(x *Finding) bool {
	return x.Severity.Compare(f.Severity) <= 0 && (len(f.Codes) == 0 || slices.Contains(f.Codes, x.Code))
}

// Hides reports whether findings were left out. Without a filter, none is.
func (f *Filter) Hides() bool { return f != nil && f.Hidden.Total() > 0 }

// Same reports whether two filters select the same findings. A report without a filter has nil.
func (f *Filter) Same(o *Filter) bool {
	codes := func(f *Filter) []string { return slices.Compact(slices.Sorted(slices.Values(f.Codes))) }
	if f == nil || o == nil {
		return false
	}
	return f.Severity == o.Severity && f.Since == o.Since && slices.Equal(codes(f), codes(o))
}

// Unread returns a function that reports whether a finding says that a bundle deployment has no result. Without such a
// finding, a report would look like that of a deployment without problems.
func (a *Audit) Unread() func(*Finding) bool {
	noResult := map[[2]string]bool{} // by cluster and bundle deployment
	for i := range a.BundleDeployments {
		bd := &a.BundleDeployments[i]
		noResult[[2]string{bd.Cluster, bd.Key()}] = bd.Reason != ""
	}
	return func(f *Finding) bool {
		return f.Code == codes.Unread ||
			f.Code == codes.ReleaseRecord && noResult[[2]string{f.Cluster, f.BundleDeployment}]
	}
}

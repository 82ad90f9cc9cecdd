// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// OrUnread joins errors that objects were not found. They name the first gap of a damaged source, which may have lost
// the objects.
func (a *Audit) OrUnread(missing []error) error {
	return collect.OrUnread(evaluate.Join(missing), a.Source)
}

// stateGaps returns the gaps for the release records of all clusters that could not be read. For a part of the bundle
// deployments, it returns those that one of them may need; nil means everything.
func (r *Reading) stateGaps(scope []*directory.Deployment) []source.Gap {
	var out []source.Gap
	all := len(scope) == 0 || r.options.Scope.Whole() && r.options.Files == nil
	releases, unread := map[string]bool{}, all
	for _, d := range scope {
		releases[d.Release.Release()] = true
		unread = unread || d.Problem != ""
	}
	for i, c := range r.Directory.Clusters {
		var gaps []source.Gap
		if unread && !r.options.StatusOnly {
			gaps = recordGaps(r.Directory, c)
		}
		for _, u := range c.OverBound {
			if all || releases[u.Release()] {
				gaps = append(gaps, unreadableRecord(u, u.OverBound, "its objects are not known"))
			}
		}
		for _, u := range c.Unreadable {
			if u.OverBound == "" && unread {
				gaps = append(gaps, unreadableRecord(u, u.Damaged, "what it desires in its namespace is not known"))
			}
		}
		out = append(out, r.Clusters[i].Named(gaps)...)
	}
	return out
}

func unreadableRecord(r *state.Record, detail, effect string) source.Gap {
	return source.Gap{What: "release record " + r.Namespace + "/" + r.SecretName(),
		Reason: string(directory.RecordUnreadable), Detail: detail, Effect: effect}
}

// within returns the namespaces of one of Fleet's kinds that are in scope; nil if that may be all of them.
func (r *Reading) within(kind string) []string {
	if r.options.Files != nil && kind == state.BundleDeployment {
		out := []string{}
		for _, c := range r.Directory.Clusters {
			out = append(out, c.Watched()...)
		}
		return out
	}
	return r.Management.InWorkspace(kind, r.options.Scope.Namespace)
}

// recordGaps returns one gap for all release records that could not be read, instead of one for each bundle deployment.
func recordGaps(desired *directory.Directory, c *directory.Cluster) []source.Gap {
	records := c.State.Coverage.Records
	switch {
	case evaluate.NoRecordCaptured(desired):
		return []source.Gap{{What: "release records", Reason: string(source.NotInSnapshot),
			Detail: "the snapshot has none (Secrets of type " + release.SecretType + ")",
			Effect: "no object can be evaluated; only the status that Fleet reports is shown"}}
	case len(records.Failures()) > 0 && !c.State.Captured:
		return source.CoverageGaps("listing release records (Secrets)", records,
			"the bundle deployments that need these records have no result")
	}
	return nil
}

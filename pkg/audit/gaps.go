// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// place names a source in errors.
func place(d source.Description) string {
	if d.Origin == source.OriginSnapshot {
		return strings.Join(d.Paths, ", ")
	}
	return d.Server
}

// nothingRead returns the error that a gap leaves no object of Fleet in a place.
func nothingRead(where string, g source.Gap) error {
	return fmt.Errorf("%w in %s: %s: %s", ErrNothingRead, where, strings.TrimPrefix(g.What, where+": "), g.Why())
}

// orUnread adds to the error that an object was not found the first gap of a damaged source, which may have lost the object.
func orUnread(err error, d source.Description) error {
	if err == nil || len(d.Gaps) == 0 {
		return err
	}
	if each, several := errors.AsType[evaluate.Errors](err); several {
		out := make(evaluate.Errors, len(each))
		for i, one := range each {
			out[i] = orUnread(one, d)
		}
		return out
	}
	return fmt.Errorf("%w; it may exist, because not everything could be read: %s: %s", err, d.Gaps[0].What, d.Gaps[0].Why())
}

// OrUnread joins errors that objects were not found. They name the first gap of a damaged source, which may have lost
// the objects.
func (a *Audit) OrUnread(missing []error) error { return orUnread(evaluate.Join(missing), a.Source) }

// stateGaps returns the gaps for the release records of all clusters that could not be read. For a part of the bundle
// deployments, it returns those that one of them may need; nil means everything.
func (r *reading) stateGaps(scope []*directory.Deployment) []source.Gap {
	var out []source.Gap
	all := len(scope) == 0 || r.options.Scope.Whole() && r.options.Files == nil
	releases, unread := map[string]bool{}, all
	for _, d := range scope {
		releases[d.Release.Release()] = true
		unread = unread || d.Problem != ""
	}
	for i, c := range r.directory.Clusters {
		var gaps []source.Gap
		if unread && !r.options.StatusOnly {
			gaps = recordGaps(r.directory, c)
		}
		for _, u := range c.OverBound {
			if all || releases[u.Release()] {
				gaps = append(gaps, unreadableRecord(u, u.OverBound, "its objects are not known"))
			}
		}
		for _, u := range c.Unreadable {
			if u.OverBound == "" && unread {
				gaps = append(gaps, unreadableRecord(u, u.Damaged, "it is not known which release it is of"))
			}
		}
		out = append(out, r.clusters[i].named(gaps)...)
	}
	return out
}

func unreadableRecord(r *state.Record, detail, effect string) source.Gap {
	return source.Gap{What: "release record " + r.Namespace + "/" + r.SecretName(), Reason: string(directory.RecordUnreadable), Detail: detail, Effect: effect}
}

// fleetGaps returns the gaps for Fleet's own objects of some kinds; without kinds, for all. within returns the
// namespaces of a kind that are in scope, nil for all.
func fleetGaps(f *state.Fleet, within func(kind string) []string, kinds ...string) []source.Gap {
	var out []source.Gap
	for _, kind := range state.Kinds {
		if len(kinds) > 0 && !slices.Contains(kinds, kind.Name) {
			continue
		}
		effect := "the status that Fleet reports is not known"
		if kind.Name == state.BundleDeployment {
			effect = "it is not known what is deployed"
		}
		cover := f.Needed(kind.Name).Within(within(kind.Name))
		out = append(out, source.CoverageGaps("listing "+kind.Name+" objects", cover, effect)...)
	}
	return out
}

// everywhere is the scope of verbs without one.
func everywhere(string) []string { return nil }

// within returns the namespaces of one of Fleet's kinds that are in scope; nil if that may be all of them.
func (r *reading) within(kind string) []string {
	if r.options.Files != nil && kind == state.BundleDeployment {
		out := []string{}
		for _, c := range r.directory.Clusters {
			out = append(out, c.Watched()...)
		}
		return out
	}
	return r.fleet.InWorkspace(kind, r.options.Scope.Namespace)
}

// recordGaps returns one gap for all release records that could not be read, instead of one for each bundle deployment.
func recordGaps(desired *directory.Directory, c *directory.Cluster) []source.Gap {
	records := c.State.Coverage.Records
	switch {
	case evaluate.NoRecordCaptured(desired):
		return []source.Gap{{What: "release records", Reason: string(source.NotInSnapshot), Detail: "the snapshot has none (Secrets of type " + release.SecretType + ")",
			Effect: "no object can be evaluated; only the status that Fleet reports is shown"}}
	case len(records.Failures()) > 0 && !c.State.Captured:
		return source.CoverageGaps("listing release records (Secrets)", records, "the bundle deployments that need these records have no result")
	}
	return nil
}

// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"errors"
	"fmt"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// RecordsProblem returns the reason why release records of a namespace may be missing ("" for any namespace), as a
// reason and as a sentence. Both are empty if all were read.
func RecordsProblem(c *state.Cluster, namespace string) (Problem, string) {
	f, ok := c.Coverage.Records.Of(namespace)
	if ok {
		return "", ""
	}
	switch f.Reason {
	case source.Forbidden:
		return RecordsForbidden, "its release record may not be read (Secrets)"
	case source.NotInSnapshot, source.KindNotServed:
		return RecordNotCaptured, "its release record is not in the snapshot"
	}
	return RecordsFailed, fmt.Sprintf("reading its release record failed (%s)", f.Detail)
}

// releaseOwnership returns the ownership metadata of the first object in the manifest that has any.
func releaseOwnership(r *state.Record) ownership.Metadata {
	if r == nil {
		return ownership.Metadata{}
	}
	for _, o := range r.Objects {
		m, err := object.ReadMeta(o.Raw)
		if err != nil {
			continue
		}
		if metadata := ownership.MetadataOf(m.Metadata.Labels, m.Metadata.Annotations); metadata.Hash != "" {
			return metadata
		}
	}
	return ownership.Metadata{}
}

// unread returns why the manifest of a record could not be read; empty if it could.
func unread(rec *state.Record) string {
	if rec.ManifestError != nil {
		return rec.ManifestError.Error()
	}
	return rec.Damaged
}

// damaged reports whether the manifest of a record is known to be damaged. One that was not read is not.
func damaged(rec *state.Record) bool {
	return rec.OverBound == "" && !errors.Is(rec.ManifestError, release.ErrNoManifest)
}

// addRecordProblems adds the problems of the named revision and of newer ones. latest are the newest records of all
// releases.
func (d *Deployment) addRecordProblems(history []*state.Record, latest map[string]*state.Record) {
	for _, rec := range history {
		if rec.Revision < d.Release.Revision {
			continue
		}
		if rec.Damaged != "" {
			// The other problems are reported together with their effect.
			if rec.Name != d.Release && rec.OverBound == "" {
				detail := fmt.Sprintf("revision %d: %s", rec.Revision, rec.Damaged)
				d.RecordProblems = append(d.RecordProblems, RecordProblem{Record: rec.Name, Status: "damaged",
					Detail: detail})
			}
			continue
		}
		what := notDeployed(rec)
		if what == "" {
			continue
		}
		isBefore := func(r *state.Record) bool { return r.Revision == rec.Revision-1 }
		d.RecordProblems = append(d.RecordProblems, RecordProblem{Record: rec.Name, Status: rec.Status,
			Detail:   fmt.Sprintf("revision %d is %s: %s", rec.Revision, rec.Status, what),
			Reported: rec.Description, Since: rec.Deployed, Predecessor: slices.ContainsFunc(history, isBefore),
			Hooks: running(rec)})
	}
	if last := latest[d.Release.Release()]; d.ByHand(last) {
		d.RecordProblems = append(d.RecordProblems, RecordProblem{Record: last.Name, Status: last.Status,
			Detail: fmt.Sprintf("revision %d is not one of Fleet: somebody deployed another chart with Helm",
				last.Revision), Since: last.Deployed})
	}
}

// running returns the hooks whose end Helm awaits while a revision is pending; none of any other.
func running(rec *state.Record) []release.Hook {
	var out []release.Hook
	for _, h := range rec.Hooks {
		if h.Events.During(rec.Status) && slices.Contains([]string{"Job", "Pod"}, h.Kind) {
			out = append(out, h)
		}
	}
	return out
}

// ByHand reports whether a revision after the one that Fleet's agent deployed last is not one of its own: it has no
// annotation of Fleet. A revision that is damaged is not known.
func (d *Deployment) ByHand(rec *state.Record) bool {
	if rec == nil || d.BD == nil || d.Release.Revision == 0 {
		return false
	}
	return rec.Revision > d.Release.Revision && rec.BundleID == "" && rec.Damaged == ""
}

// notDeployed says what is wrong with a revision according to its status; empty if nothing is.
func notDeployed(rec *state.Record) string {
	switch {
	case rec.Pending():
		return "Helm was interrupted, or is still at work"
	case rec.Status == release.StatusFailed:
		return "Helm failed"
	case rec.Status != release.StatusDeployed && rec.Status != release.StatusSuperseded:
		return "it is not a deployed release"
	}
	return ""
}

// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"fmt"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/resolve"
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
	return fmt.Errorf("%w; it may exist, because not everything could be read: %s: %s", err, d.Gaps[0].What, d.Gaps[0].Why())
}

// stateGaps returns the gaps for the release records of a cluster that could not be read.
func stateGaps(desired *resolve.DesiredState, c *resolve.Cluster, statusOnly bool) []source.Gap {
	var out []source.Gap
	if !statusOnly {
		out = recordGaps(desired, c)
	}
	for _, u := range c.OverBound {
		out = append(out, unreadableRecord(u, u.OverBound, "its objects are not known"))
	}
	for _, u := range c.Unreadable {
		if u.OverBound == "" {
			out = append(out, unreadableRecord(u, u.Damaged, "it is not known which release it is of"))
		}
	}
	return out
}

func unreadableRecord(r *state.Record, detail, effect string) source.Gap {
	return source.Gap{What: "release record " + r.Namespace + "/" + r.SecretName(), Reason: string(resolve.RecordUnreadable), Detail: detail, Effect: effect}
}

// fleetGaps returns the gaps for Fleet's own objects. A snapshot need not contain objects to which nothing in it refers.
func fleetGaps(desired *resolve.DesiredState) []source.Gap {
	referred := map[string]bool{}
	for _, d := range desired.Deployments {
		for kind := range d.Parents() {
			referred[kind] = true
		}
	}
	var out []source.Gap
	for _, kind := range state.Kinds {
		cover := desired.Coverage[kind.Name]
		switch cover.Failures()["*"].Reason {
		case source.KindNotServed: // no Fleet, or one without HelmOps
			continue
		case source.NotInSnapshot:
			if !referred[kind.Name] || len(kind.Of(desired.Fleet)) > 0 {
				continue
			}
		}
		out = append(out, source.CoverageGaps("listing "+kind.Name+" objects", cover, "the status that Fleet reports is not known")...)
	}
	return out
}

// recordGaps returns one gap for all release records that could not be read, instead of one for each bundle deployment.
func recordGaps(desired *resolve.DesiredState, c *resolve.Cluster) []source.Gap {
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

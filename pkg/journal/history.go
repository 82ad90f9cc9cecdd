// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"fmt"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// KindHistory is the kind of a History.
const KindHistory = "AuditorHistory"

// History is what the journals of a cluster say about what vanished.
type History struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// TakenAt is when the journals were read (RFC 3339). Since is the time from which entries are shown.
	TakenAt string `json:"takenAt"`
	Since   string `json:"since"`
	// Namespace is that of the auditor. Journals in other namespaces are not read.
	Namespace string `json:"namespace"`
	// Entries are sorted, the newest one first.
	Entries []Entry `json:"entries"`
	// Gaps are what could not be read. With a gap, there may be more entries.
	Gaps []source.Gap `json:"gaps"`
}

// History returns the entries since a time for which selected is true. Older ones than are kept are left out.
func (b *Book) History(taken, since time.Time, selected func(*Entry) bool) *History {
	if oldest := taken.Add(-Kept); since.Before(oldest) {
		since = oldest
	}
	out := &History{Kind: KindHistory, Namespace: b.Namespace, TakenAt: taken.UTC().Format(time.RFC3339),
		Since: since.UTC().Format(time.RFC3339), Entries: []Entry{}, Gaps: []source.Gap{}}
	for i := range b.Entries {
		if e := &b.Entries[i]; !e.To.Before(since) && selected(e) {
			out.Entries = append(out.Entries, *e)
		}
	}
	const effect = "there may be more entries"
	out.Gaps = append(out.Gaps, source.CoverageGaps("listing the ConfigMaps of the journal", b.Coverage, effect)...)
	if b.Damaged > 0 {
		out.Gaps = append(out.Gaps, source.Gap{What: "reading the journal in namespace " + b.Namespace, Effect: effect,
			Reason: fmt.Sprintf("%d entries could not be decoded", b.Damaged)})
	}
	return out
}

// SPDX-License-Identifier: Apache-2.0

package adoption

import (
	"slices"
	"strings"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/adopt"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/redact"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// plan is the plan of one round.
type plan struct {
	items []adopt.Item
	// sizes are the numbers of desired objects of the bundle deployments, by the keys of ids.
	sizes map[string]int
	ids   []object.DeploymentID
	// clusterUID identifies the cluster.
	clusterUID string
	version    string          // of the program
	document   report.Adoption // without its objects
	secrets    *redact.Secrets
}

// leaveOut leaves out the objects with a UID.
func (p *plan) leaveOut(uids map[string]time.Time) {
	p.items = slices.DeleteFunc(p.items, func(i adopt.Item) bool {
		_, left := uids[i.UID]
		return left
	})
}

func (p *plan) writes() bool { return slices.ContainsFunc(p.items, adopt.Item.Writes) }

// shown returns the document without secrets.
func (p *plan) shown() *report.Adoption {
	d := p.document
	for _, i := range p.items {
		d.Objects = append(d.Objects, i.AdoptedObject)
	}
	return d.Redacted(p.secrets)
}

// header returns the first line of the receipt.
func (p *plan) header(now time.Time) adopt.Header {
	return adopt.Header{TakenAt: now.UTC().Format(time.RFC3339), Version: p.version,
		Server: p.document.Source.Server, ClusterUID: p.clusterUID, Digest: adopt.Digest(p.shown())}
}

func joined(texts []string) string { return strings.Join(texts, "; ") }

// SPDX-License-Identifier: Apache-2.0

package adoption

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/adopt"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/metrics"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/view"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/redact"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// Options of an Adopter.
type Options struct {
	Policy ownership.Policy
	// Read calls a function with the cluster as the auditor keeps it.
	Read func(func(source.Source) error) error
	// Patcher writes the ownership metadata.
	Patcher adopt.Patcher
	// Client writes the receipts in Namespace, that of the auditor.
	Client    client.ConfigMapsGetter
	Namespace string
	Renderer  collect.Renderer
	Version   string
	Metrics   *metrics.Metrics
	Now       func() time.Time
	Log       logr.Logger
}

// unowned are the unowned objects of a view, by bundle deployment.
type unowned map[object.DeploymentID][]view.Object

func unownedOf(v *view.View) unowned {
	out := unowned{}
	for _, d := range v.Deployments {
		for _, o := range d.Objects {
			if o.State == report.Unowned {
				out[d.ID] = append(out[d.ID], o)
			}
		}
	}
	return out
}

// plan is the plan of one round.
type plan struct {
	items []adopt.Item
	// sizes are the numbers of desired objects of the bundle deployments.
	sizes map[string]int
	// clusterUID identifies the cluster.
	clusterUID string
	version    string          // of the program
	document   report.Adoption // without its objects
	secrets    *redact.Secrets
}

// plan makes the plan for the bundle deployments with unowned objects, as the verb adopt would. The desired objects are
// those of the releases.
func (o *Options) plan(ctx context.Context, work unowned) (*plan, error) {
	options := audit.Options{Version: o.Version, Renderer: o.Renderer, Predict: true,
		ServerCheck: collect.CheckNever, Pause: func(context.Context) error { return nil },
		Pick: func(_ evaluate.Scope, all *directory.Directory) ([]*directory.Deployment, error) {
			return slices.DeleteFunc(slices.Clone(all.Deployments), func(d *directory.Deployment) bool {
				return len(work[d.ID()]) == 0
			}), nil
		}}
	var out *plan
	err := o.Read(func(src source.Source) error {
		found, err := audit.Run(ctx, src, options)
		if err == nil {
			err = found.NoResult()
		}
		if err != nil {
			return err
		}
		out = o.planOf(found)
		out.clusterUID, err = clusterUID(ctx, src)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("planning the adoption: %w", err)
	}
	return out, nil
}

func (o *Options) planOf(found *audit.Audit) *plan {
	out := &plan{sizes: map[string]int{}, version: o.Version, secrets: found.Secrets,
		document: report.Adoption{
			Head:   report.NewHead(report.KindAdoptionPlan, o.Version, found.Source, found.Desired.Directory),
			Scope:  report.NewScope(found.Scope),
			Gaps:   report.Gaps(found.Gaps),
			Notes:  found.Notes,
			Policy: string(o.Policy)}}
	out.items, _ = adopt.Plan(found.Result, adopt.Options{Policy: o.Policy})
	for _, d := range found.Deployments {
		out.sizes[d.Key()] += d.Counts.Desired
	}
	setsUnknown := slices.ContainsFunc(found.Desired.Clusters, func(c *directory.Cluster) bool {
		return !c.SetsComplete
	})
	if setsUnknown { // the verb shows this in a note, and leaves the decision to the user
		for i := range out.items {
			if out.items[i].Writes() {
				refuse(&out.items[i], "not every release record could be read: other bundles may desire it")
			}
		}
	}
	return out
}

// clusterUID returns the uid of the cluster. An undo refuses a receipt without it.
func clusterUID(ctx context.Context, src source.Source) (string, error) {
	uid, cover, err := source.ClusterUID(ctx, src)
	if err != nil || uid != "" {
		return uid, err
	}
	f, covered := cover.Of("")
	if covered {
		return "", errors.New("reading the uid of the cluster: its namespace kube-system was not found")
	}
	return "", fmt.Errorf("reading the uid of the cluster: namespaces: %s %s", f.Reason, f.Detail)
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

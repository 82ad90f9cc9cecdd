// SPDX-License-Identifier: Apache-2.0

package repair

import (
	"context"
	"errors"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime/schema"

	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/repair"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// planUndo reads the receipt and the present state of its objects, and makes the plan to restore them.
func (s *session) planUndo(ctx context.Context, in *input.Reading) error {
	header, entries, err := s.readReceipt()
	if err != nil {
		hint := "--undo must name the file in which repair or adopt recorded the previous values."
		if wrong, ok := errors.AsType[*repair.ReceiptError](err); ok {
			hint = wrong.Remedy
		}
		return cli.Failure(err, hint)
	}
	if err := s.sameCluster(ctx, header); err != nil {
		return err
	}
	undo := repair.Undo{TakeFrom: s.takeFrom}
	options := engine.Options{Version: s.Version, Renderer: s.Renderer, Commands: s.Commands(),
		ServerCheck: collect.CheckNever, Progress: in.Report, Predict: true,
		Pause: func(context.Context) error { return nil }}
	if s.Clusters != nil {
		options.Clusters = s.Clusters.Clusters(in.Source)
	}
	// No finding is shown. The releases that may own the objects matter, as for a plan.
	found, err := engine.Run(ctx, s.src, options)
	switch {
	case errors.Is(err, collect.ErrNoFleet), errors.Is(err, collect.ErrNothingRead): // an undo does not need Fleet
		d, err := s.src.Describe(ctx)
		if err != nil {
			return err
		}
		s.document.Source = report.Source{Kind: string(d.Origin), Context: d.Context, Server: d.Server,
			KubernetesVersion: d.KubernetesVersion}
	case err != nil:
		return err
	default:
		s.describe(found)
	}
	if undo.Clusters, err = s.undoClusters(ctx); err != nil {
		return err
	}
	in.Show("reading the objects of the receipt", 0)
	if s.items, err = undo.Plan(ctx, entries); err != nil {
		return err
	}
	if s.found != nil {
		s.document.Notes = append(s.document.Notes, writtenAgain(s.found.Result, s.items)...)
	}
	if n := header.Objects - len(entries); n > 0 {
		s.document.Notes = append(s.document.Notes,
			fmt.Sprintf("the receipt has %d of %d objects: it is truncated, by a crash before the first write or by a "+
				"later change; the other objects are not restored", len(entries), header.Objects))
	}
	notes, err := s.webhooks(ctx)
	s.document.Notes = append(s.document.Notes, notes...)
	return err
}

// undoClusters returns the clusters that are read, by their uids. That of the receipt has none.
func (s *session) undoClusters(ctx context.Context) (map[string]repair.UndoCluster, error) {
	clients := s.clients(false)
	out := map[string]repair.UndoCluster{"": {Source: s.src, Client: clients(""), Facts: repair.NoFacts{}}}
	if s.found == nil {
		return out, nil
	}
	for _, c := range s.found.Desired.Clusters {
		src, uid := s.found.Sources()[c.ID], ""
		if c.ID != "" {
			var err error
			if uid, _, err = source.ClusterUID(ctx, src); err != nil {
				return nil, fmt.Errorf("reading the uid of cluster %s: %w", c.ID, err)
			}
			if uid == "" {
				continue
			}
		}
		out[uid] = repair.UndoCluster{ID: c.ID, Source: src, Client: clients(c.ID), Facts: s.found.Desired.On(c.ID)}
	}
	return out, nil
}

// sameCluster refuses a receipt of another cluster, or of an unknown one: uids, names and previous values are only
// valid on their cluster.
func (s *session) sameCluster(ctx context.Context, h repair.Header) error {
	if h.ClusterUID == "" {
		return cli.Failure(fmt.Errorf("%s: reading the receipt: line 1 has no uid of a cluster (clusterUID)", s.undo),
			"Nothing was changed on the cluster. The following lines have the previous values of each object in "+
				"\"before\": restore them with kubectl.")
	}
	uid, err := s.clusterUID(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("%s: comparing the cluster of the receipt: %w", s.undo, err)
	case uid != h.ClusterUID:
		return cli.Failure(fmt.Errorf("%s: the receipt is of another cluster, %s", s.undo, h.Server),
			"Select that cluster with --context or --kubeconfig.")
	}
	return nil
}

// readReceipt reads the receipt of --undo.
func (s *session) readReceipt() (h repair.Header, entries []repair.Entry, err error) {
	f, err := os.Open(s.undo)
	if err != nil {
		return h, nil, fmt.Errorf("%s: reading the receipt: %w", s.undo, err)
	}
	defer func() { _ = f.Close() }() // it is only read
	if h, entries, err = repair.ReadReceipt(f); err != nil {
		err = fmt.Errorf("%s: %w", s.undo, err)
	}
	return h, entries, err
}

// writtenAgain lists the releases that will write the ownership metadata again: every upgrade takes ownership of the
// objects in its manifest.
func writtenAgain(r *evaluate.Result, items []repair.Item) []string {
	desiredBy := map[string]bool{}
	for _, i := range items {
		if i.Action != report.ActionRestore {
			continue
		}
		if r.Desired.Cluster(i.On) == nil {
			continue
		}
		for _, o := range r.Desired.On(i.On).Confirmed(i.Key()) {
			desiredBy[o.Deployment.String()] = true
		}
	}
	var out []string
	for _, d := range r.Deployments {
		if !desiredBy[d.Key()] {
			continue
		}
		when := "with its next deploy"
		if correct := d.Options().CorrectDrift; correct != nil && correct.Enabled {
			when = "immediately, because of correctDrift"
		}
		out = append(out, fmt.Sprintf("bundle deployment %s still desires these objects: it writes them again %s",
			d.Key(), when))
	}
	return out
}

// webhooks lists the admission webhooks of this program, which would write the ownership metadata again.
func (s *session) webhooks(ctx context.Context) ([]string, error) {
	var out []string
	kind := schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1",
		Kind: "MutatingWebhookConfiguration"}
	cover, err := s.src.List(ctx, source.Query{Kind: kind, LabelSelector: repair.WebhookLabel, MetadataOnly: true},
		func(o source.Object) error {
			if m, err := o.ReadMeta(); err == nil {
				out = append(out, fmt.Sprintf("the admission webhook %s adds the ownership metadata again with the "+
					"next write to an object; the label "+
					"fleetdoctor.io/ignore=true on the object or its namespace prevents that", m.Metadata.Name))
			}
			return nil
		})
	if f, all := cover.Of(""); !all && f.Reason != source.NotInSnapshot {
		out = append(out, fmt.Sprintf("whether an admission webhook adds the ownership metadata again could not be "+
			"read (%s)", f.Reason))
	}
	return out, err
}

// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/adopt"
	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/origin"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// planUndo reads the receipt, looks how its objects are now, and makes the plan to put them back.
func (s *session) planUndo(ctx context.Context, progress *origin.Progress) error {
	header, entries, err := s.readReceipt()
	if err != nil {
		hint := "Name the file in which adopt recorded the previous values."
		if wrong := (*adopt.ReceiptError)(nil); errors.As(err, &wrong) {
			hint = wrong.Remedy
		}
		return &exit.Error{Status: exit.Failed, Err: err, Hint: hint}
	}
	if err := s.sameCluster(ctx, header); err != nil {
		return err
	}
	progress.Tell(collect.Progress{Doing: "reading the objects of the receipt"})
	if s.items, err = adopt.PlanUndo(ctx, s.src, entries); err != nil {
		return err
	}
	found, err := engine.Run(ctx, s.src, engine.Options{Version: s.Version, Renderer: s.Renderer, Commands: s.Commands(), ServerCheck: collect.CheckNever, Progress: progress.Tell})
	switch {
	case errors.Is(err, engine.ErrNoFleet), errors.Is(err, engine.ErrNothingRead): // an adoption can be taken back without Fleet
		d, err := s.src.Describe(ctx)
		if err != nil {
			return err
		}
		s.document.Source = report.Source{Kind: string(d.Origin), Context: d.Context, Server: d.Server, KubernetesVersion: d.KubernetesVersion}
	case err != nil:
		return err
	default:
		s.describe(found)
		s.document.Notes = append(s.document.Notes, stampedAgain(found.Result, s.items)...)
	}
	if n := header.Objects - len(entries); n > 0 {
		s.document.Notes = append(s.document.Notes, fmt.Sprintf("the receipt was to name %d objects and names %d: it was cut off, by a crash before anything was "+
			"written or by somebody since; the objects that it does not name are left as they are", header.Objects, len(entries)))
	}
	notes, err := s.webhooks(ctx)
	s.document.Notes = append(s.document.Notes, notes...)
	return err
}

// sameCluster refuses a receipt of another cluster, and one of which it is not known whether it is of this one: uids, names and previous
// values of another cluster's objects mean nothing here.
func (s *session) sameCluster(ctx context.Context, h adopt.Header) error {
	if h.ClusterUID == "" {
		return &exit.Error{Status: exit.Failed, Err: fmt.Errorf("%s: reading the receipt: line 1 does not state which cluster it is of (clusterUID)", s.undo),
			Hint: "Nothing was changed on the cluster. The lines that follow state the previous values of each object as \"before\": put them back by hand."}
	}
	uid, unread, err := clusterUID(ctx, s.src)
	switch {
	case err != nil:
		return err
	case uid == "":
		return &exit.Error{Status: exit.Failed, Err: fmt.Errorf("%s: whether the receipt is of this cluster could not be read: %s", s.undo, unread),
			Hint: s.clusterUIDHint()}
	case uid != h.ClusterUID:
		return &exit.Error{Status: exit.Failed, Err: fmt.Errorf("%s: the receipt is of another cluster: of %s", s.undo, h.Server),
			Hint: "--context and --kubeconfig choose a cluster."}
	}
	return nil
}

func (s *session) readReceipt() (adopt.Header, []adopt.Entry, error) {
	f, err := os.Open(s.undo)
	if err != nil {
		return adopt.Header{}, nil, fmt.Errorf("reading the receipt: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	h, entries, err := adopt.ReadReceipt(f)
	if err != nil {
		err = fmt.Errorf("%s: %w", s.undo, err)
	}
	return h, entries, err
}

// stampedAgain says which releases will write the marks again: every upgrade takes ownership of what its manifest has.
func stampedAgain(r *evaluate.Result, items []adopt.Item) []string {
	wanted := map[string]bool{}
	for _, i := range items {
		if i.Action != report.ActionRestore {
			continue
		}
		for _, c := range r.Desired.Clusters {
			for _, o := range c.Objects[i.Key()] {
				wanted[o.Deployment.Key()] = true
			}
		}
	}
	var out []string
	for _, d := range r.Deployments {
		if !wanted[d.Key()] {
			continue
		}
		when := "its next deploy"
		if d.BD != nil && d.BD.Spec.Options.CorrectDrift != nil && d.BD.Spec.Options.CorrectDrift.Enabled {
			when = "correctDrift, at once,"
		}
		out = append(out, fmt.Sprintf("bundle deployment %s still wants what it is to lose: %s stamps it again", d.Key(), when))
	}
	return out
}

// webhooks says which admission webhooks of this program would stamp the objects again.
func (s *session) webhooks(ctx context.Context) ([]string, error) {
	var out []string
	kind := schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingWebhookConfiguration"}
	cover, err := s.src.List(ctx, source.Query{Kind: kind, LabelSelector: adopt.WebhookLabel, MetadataOnly: true}, func(o source.Object) error {
		if m, err := o.ReadMeta(); err == nil {
			out = append(out, fmt.Sprintf("the admission webhook %s stamps them again when somebody else writes to them; the label fleetdoctor.io/ignore=true "+
				"on an object or its namespace keeps it away", m.Metadata.Name))
		}
		return nil
	})
	if f, all := cover.Of(""); !all && f.Reason != source.NotInSnapshot {
		out = append(out, fmt.Sprintf("whether an admission webhook stamps them again could not be read (%s)", f.Reason))
	}
	return out, err
}

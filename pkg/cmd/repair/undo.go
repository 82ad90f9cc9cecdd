// SPDX-License-Identifier: Apache-2.0

package repair

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/preflight"
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
		if i.Action != report.ActionRestore || r.Desired.Cluster(i.ClusterID) == nil {
			continue
		}
		for _, o := range r.Desired.On(i.ClusterID).Confirmed(i.Key()) {
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

// apply writes the plan, and prints the result.
func (s *session) apply(ctx context.Context) error {
	dry := s.dryRun.String() == dryRunServer
	record := func(int) error { return nil }
	if s.undo == "" && !dry {
		r, err := s.createReceipt(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = r.Close() }() // the previous values were synced before the first write
		record = func(i int) error { return r.Settled(i, s.items[i]) }
	}
	finish, release := s.Interruption.Hold(ctx)
	defer release()
	progress := s.StartProgress()
	defer progress.Clear()
	done := 0
	err := repair.Apply(ctx, finish, s.clients(dry), s.items, func(i int) error {
		done++
		progress.Show("writing", done)
		return record(i)
	})
	if !dry && ctx.Err() == nil {
		s.evaluateAgain(ctx)
	}
	progress.Clear()
	if printErr := s.print(context.WithoutCancel(ctx), s.resultKind()); printErr != nil {
		return errors.Join(err, printErr)
	}
	return s.status(ctx, err)
}

// status returns the error with the exit status: 3 if a write failed or could not be recorded, or after an
// interruption, 1 if objects were refused.
func (s *session) status(ctx context.Context, err error) error {
	unanswered := s.count(func(i repair.Item) bool { return i.Unanswered })
	switch {
	case unanswered > 0 && s.dryRun.String() != dryRunServer:
		return s.interrupted(fmt.Sprintf("the server did not answer the write of %s, which may be stored; the other "+
			"objects were not tried", report.Plural(unanswered, "object")), s.resume())
	case err != nil && ctx.Err() != nil:
		return s.interrupted("the pending writes were completed, the other objects were not tried", s.resume())
	case err != nil:
		return cli.Failure(err, s.resume())
	case slices.ContainsFunc(s.items, func(i repair.Item) bool {
		return i.Outcome == report.OutcomeFailed || i.Outcome == report.OutcomeChanged
	}):
		return &cli.Error{Status: cli.ExitFailed, Shown: true}
	}
	return s.refusals()
}

// resume explains how to continue after an interruption.
func (s *session) resume() string {
	if s.undo != "" {
		return "Run the same command again to continue."
	}
	return fmt.Sprintf("%s %s restores the previous values; run %s again to continue.", s.undoCommand(),
		escape.Shell(s.document.Receipt), s.name())
}

// createReceipt creates the receipt and syncs it to disk. Nothing is written to the cluster before.
func (s *session) createReceipt(ctx context.Context) (*repair.Receipt, error) {
	uid, err := s.clusterUID(ctx) // --undo refuses a receipt without it
	if err != nil {
		return nil, fmt.Errorf("writing the receipt: %w", err)
	}
	now := s.Now().UTC()
	h := repair.Header{TakenAt: now.Format(time.RFC3339), Version: s.Version, Server: s.document.Source.Server,
		ClusterUID: uid, Digest: s.document.Digest}
	others, err := s.otherClusters(ctx)
	if err != nil {
		return nil, fmt.Errorf("writing the receipt: %w", err)
	}
	base := "fleetdoctor-" + s.name() + "-" + now.Format("20060102-150405")
	path := cmp.Or(s.receipt, base+".jsonl")
	r, err := repair.CreateReceipt(path, h, s.items, others)
	for n := 2; s.receipt == "" && errors.Is(err, fs.ErrExist); n++ { // another run started in this second
		path = fmt.Sprintf("%s-%d.jsonl", base, n)
		r, err = repair.CreateReceipt(path, h, s.items, others)
	}
	if err != nil {
		return nil, cli.Failure(err, "Nothing was changed on the cluster. --receipt names another file.")
	}
	s.document.Receipt = path
	if s.ForPeople() {
		fmt.Fprintf(s.Streams.ErrOut, "Recording the previous values in %s\n", escape.Line(path))
	}
	return r, nil
}

// evaluateAgain evaluates the bundle deployments whose objects were written. If that fails, the result is printed
// without their counts.
func (s *session) evaluateAgain(ctx context.Context) {
	written, deployed := map[string]bool{}, map[string]bool{}
	for _, i := range s.items {
		removed := i.Action == report.ActionRemove && i.Kind == "BundleDeployment"
		if i.Outcome == report.OutcomeDone && !removed {
			written[i.BundleDeployment] = true
			deployed[i.BundleDeployment] = deployed[i.BundleDeployment] || i.Action == report.ActionDeploy
		}
	}
	if len(written) == 0 || s.found == nil {
		return
	}
	var scope []object.DeploymentID
	counts := map[object.DeploymentID]report.Counts{}
	for _, d := range s.found.Deployments {
		if written[d.Key()] {
			scope = append(scope, d.ID())
			counts[d.ID()] = d.Counts
		}
	}
	now, err := s.found.Again(ctx, scope)
	if err != nil {
		s.document.Notes = append(s.document.Notes, "the bundles could not be read again: "+err.Error())
		return
	}
	in := s.found.Input()
	for _, d := range now {
		before, after := counts[d.ID()], d.Counts
		after.Orphaned = before.Orphaned // orphans are not read again
		if n := after.Unknown - before.Unknown; n > 0 {
			s.document.Notes = append(s.document.Notes,
				fmt.Sprintf("%s of bundle deployment %s could not be read again, and count as not ready",
					report.Plural(n, "object"), d.Key()))
		}
		out := report.RepairedDeployment{Namespace: d.Namespace, Name: d.Name, Before: before, After: after}
		switch condition := preflight.FailedDeploy(d); {
		case condition == "", s.undo != "":
		case deployed[d.Key()]:
			out.Failed = "its agent has been asked to deploy it again"
		default:
			out.Failed = "the last deploy failed" + in.Facts.SaidOf(&d.Deployment, condition)
			out.Remedies = []report.Remedy{in.RetryNow(d, condition)}
		}
		s.document.Deployments = append(s.document.Deployments, out)
	}
}

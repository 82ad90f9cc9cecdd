// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/adopt"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/cluster"
)

// apply writes the plan, and says what came of it.
func (s *session) apply(ctx context.Context) error {
	dry := s.dryRun.String() == dryRunServer
	settled := func(int) error { return nil }
	if s.undo == "" && !dry {
		r, err := s.record(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = r.Close() }() // what counts in it was synced before the first write
		settled = func(i int) error { return r.Settled(i, s.items[i]) }
	}
	finish, release := s.Interruption.Hold(ctx)
	defer release()
	progress := s.Progress()
	defer progress.Clear()
	done := 0
	err := adopt.Apply(ctx, finish, &cluster.Writer{Cluster: s.cluster, Manager: adopt.FieldManager, DryRun: dry}, s.items, func(i int) error {
		done++
		progress.Tell(collect.Progress{Doing: "writing", Objects: done})
		return settled(i)
	})
	if !dry && ctx.Err() == nil {
		s.again(ctx)
	}
	progress.Clear()
	if printErr := s.print(context.WithoutCancel(ctx), report.KindAdoptionResult); printErr != nil {
		return errors.Join(err, printErr)
	}
	return s.status(ctx, err)
}

// status is 3 where a write failed or could not be recorded, or where it was interrupted, 1 where objects were refused.
func (s *session) status(ctx context.Context, err error) error {
	failed := s.count(func(i adopt.Item) bool {
		return i.Outcome == report.OutcomeFailed || i.Outcome == report.OutcomeChanged
	})
	unanswered := s.count(func(i adopt.Item) bool { return i.Message == adopt.Unanswered })
	switch {
	case unanswered > 0 && s.dryRun.String() != dryRunServer:
		return s.interrupted(fmt.Sprintf("the server had not answered the write of %s, which may be stored; the rest was not tried", objects(unanswered)), s.resume())
	case err != nil && ctx.Err() != nil:
		return s.interrupted("what was begun was brought to its end, the rest was not tried", s.resume())
	case err != nil:
		return &exit.Error{Status: exit.Failed, Err: err, Hint: s.resume()}
	case failed > 0:
		return &exit.Error{Status: exit.Failed, Shown: true}
	}
	return s.refusals()
}

// interrupted ends with 3 and has said where that leaves everything: more than what is said of any interrupted program, that it printed nothing.
func (s *session) interrupted(where ...string) error {
	fmt.Fprintf(escape.TextWriter(s.Streams.ErrOut), "interrupted: %s\n", strings.Join(where, "\n"))
	return &exit.Error{Status: exit.Failed, Shown: true}
}

// resume is how to go on after an interruption.
func (s *session) resume() string {
	if s.undo != "" {
		return "The same command goes on where this one ended."
	}
	return fmt.Sprintf("%s --undo %s takes back what was done; another adopt goes on.", s.Command("adopt"), s.document.Receipt)
}

// mostReceipts bounds how many receipts may be named after one second.
const mostReceipts = 100

// record makes the receipt: nothing is written to the cluster before it is safe on disk.
func (s *session) record(ctx context.Context) (*adopt.Receipt, error) {
	now := s.Now().UTC()
	uid, unread, err := clusterUID(ctx, s.src)
	switch {
	case err != nil:
		return nil, err
	case uid == "": // --undo would refuse the receipt
		return nil, &exit.Error{Status: exit.Failed, Err: fmt.Errorf("writing the receipt: which cluster this is could not be read: %s", unread), Hint: s.clusterUIDHint()}
	}
	h := adopt.Header{TakenAt: now.Format(time.RFC3339), Version: s.Version, Server: s.document.Source.Server, ClusterUID: uid, Digest: adopt.Digest(s.items)}
	path, base := s.receipt, "fleetdoctor-adopt-"+now.Format("20060102-150405")
	if path == "" {
		path = base + ".jsonl"
	}
	r, err := adopt.CreateReceipt(path, h, s.items)
	for n := 2; s.receipt == "" && errors.Is(err, fs.ErrExist) && n < mostReceipts; n++ { // others began in this second, too
		path = fmt.Sprintf("%s-%d.jsonl", base, n)
		r, err = adopt.CreateReceipt(path, h, s.items)
	}
	if err != nil {
		return nil, &exit.Error{Status: exit.Failed, Err: err, Hint: "Nothing was changed on the cluster. --receipt names another file."}
	}
	s.document.Receipt = path
	if s.output.String() == "table" || s.output.String() == "wide" {
		fmt.Fprintf(s.Streams.ErrOut, "Recording what was before in %s\n", escape.Line(path))
	}
	return r, nil
}

// clusterUID is the uid of the namespace kube-system, which identifies a cluster. Where it could not be read it is empty, and unread says why.
func clusterUID(ctx context.Context, src source.Source) (uid, unread string, err error) {
	namespaces := corev1.SchemeGroupVersion.WithKind("Namespace")
	cover, err := src.List(ctx, source.Query{Kind: namespaces, FieldSelector: "metadata.name=" + metav1.NamespaceSystem, MetadataOnly: true},
		func(o source.Object) error {
			if m, err := o.ReadMeta(); err == nil {
				uid = m.Metadata.UID
			}
			return nil
		})
	unread = "namespace " + metav1.NamespaceSystem + " was not found"
	if f, all := cover.Of(""); !all {
		unread = fmt.Sprintf("namespace %s: %s %s", metav1.NamespaceSystem, f.Reason, f.Detail)
	}
	return uid, strings.TrimSpace(unread), err
}

// clusterUIDHint says what is needed to read the uid of the cluster.
func (s *session) clusterUIDHint() string {
	if s.Captured() {
		return "Capture the namespace " + metav1.NamespaceSystem + " too."
	}
	return "Nothing was changed on the cluster. Grant the right to list namespaces, at least the one with the resourceName " + metav1.NamespaceSystem + "."
}

// again audits the deployments that were written for once more. Where that fails, there is only no line about them: what was written is
// written.
func (s *session) again(ctx context.Context) {
	written := map[string]bool{}
	for _, i := range s.items {
		if i.Outcome == report.OutcomeDone {
			written[i.BundleDeployment] = true
		}
	}
	if len(written) == 0 || s.found == nil {
		return
	}
	now, err := s.found.Again(ctx, written)
	if err != nil {
		s.document.Notes = append(s.document.Notes, "what became of the bundles could not be read: "+err.Error())
		return
	}
	for _, d := range now {
		before := s.before[d.Key()]
		after := report.NewCounts(d.Counts)
		after.Orphaned = before.Orphaned // of which nothing was read again
		if n := after.Unknown - before.Unknown; n > 0 {
			s.document.Notes = append(s.document.Notes, fmt.Sprintf("%s of bundle deployment %s could not be read again, and count as not ready", objects(n), d.Key()))
		}
		s.document.Deployments = append(s.document.Deployments, report.AdoptedDeployment{Namespace: d.Namespace, Name: d.Name, Before: before, After: after})
	}
}

// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/journal"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/settle"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Run audits a source.
func Run(ctx context.Context, src source.Source, o Options) (*Audit, error) {
	s, err := start(ctx, src, o, false, nil)
	if err != nil {
		return nil, err
	}
	if !o.Predict && !o.KeepManifests {
		if err := Each(ctx, s.reading.Clusters[:len(s.clusters)], func(ctx context.Context, i int) error {
			return s.reading.Clusters[i].Reader.Obstacles(ctx, s.clusters[i].evaluated.Deployments)
		}); err != nil {
			return nil, err
		}
	}
	out, err := s.finish(ctx, nil)
	if err != nil || !o.Parents || len(out.Findings) > 0 {
		return out, err
	}
	r := s.reading
	if s := r.options.Scope; len(s.Targets) > 0 && s.Selector == nil && out.Desired.Read(state.Bundle, s.Namespace) {
		return out, nil // what the user names exists, and has none
	}
	_, err = r.options.Scope.Pick(r.Directory) // an empty report is no clean one
	return out, collect.OrUnread(err, r.Reader.Description)
}

// finish turns the evaluation into a result with findings. hold selects those that are certain; nil selects all.
func (s *Standing) finish(ctx context.Context, hold func([]check.Finding) []check.Finding) (*Audit, error) {
	result, err := s.result(ctx)
	if err != nil {
		return nil, err
	}
	r := s.reading
	out := &Audit{Result: result, Kinds: r.Reader.Kinds, Secrets: r.Reader.Secrets, Found: s.found, options: r.options,
		clusters: r.Clusters, facts: facts.New(result, &r.Reader.Secrets.Quotations)}
	out.Findings = check.Run(out.Input())
	if err := out.settle(ctx); err != nil {
		return nil, err
	}
	if hold != nil {
		out.Findings = hold(out.Findings)
	}
	if r.options.Parents && len(out.Scope.Targets) > 0 {
		out.Findings = append(out.Findings, out.Input().Causes().Unexplained(out.Findings)...)
		slices.SortStableFunc(out.Findings, func(a, b check.Finding) int { return cmp.Compare(a.Code, b.Code) })
	}
	if !out.Whole {
		out.Notes = append(out.Notes, out.Input().IgnoredSchedules()...)
	}
	lost := lostObjects(out.Deployments, out.Findings)
	err = Each(ctx, out.clusters, func(ctx context.Context, i int) error {
		return vanished(ctx, out.clusters[i].Reader.Source, lost[object.ClusterID(out.clusters[i].Name)])
	})
	if err != nil {
		return nil, err
	}
	out.report = report.NewAudit(out.Result, out.Findings, r.options.Version)
	unread, err := out.quotedSecrets(ctx)
	out.use(out.facts.With(out.WithGaps(unread)))
	out.report.Gaps = report.Gaps(out.Gaps)
	return out, err
}

// settle asks the questions of the findings, and drops the findings that the answers contradict. A snapshot cannot be
// read again. Nobody waits for the findings of predictions.
func (a *Audit) settle(ctx context.Context) error {
	if a.clusters[0].Reader.Description.Origin != source.OriginCluster {
		return nil
	}
	waits := !a.options.Predict && a.options.Files == nil
	for pause := 1; waits && a.pauses() >= pause; pause++ {
		if err := a.options.pause(ctx); err != nil {
			return err
		}
		if err := a.ask(ctx, func(f check.Finding) bool { return f.Pauses >= pause }); err != nil {
			return err
		}
	}
	err := a.ask(ctx, func(f check.Finding) bool { return f.Pauses == 0 })
	a.use(a.facts.Settled(a.answers))
	return err
}

// pauses is the number of pauses for which findings ask.
func (a *Audit) pauses() int {
	n := 0
	for _, f := range a.Findings {
		n = max(n, f.Pauses)
	}
	return n
}

// ask asks the questions of those findings that are selected.
func (a *Audit) ask(ctx context.Context, selected func(check.Finding) bool) error {
	questions := map[object.ClusterID][]settle.Question{}
	for _, f := range a.Findings {
		if !selected(f) {
			continue
		}
		for _, q := range f.Settle {
			questions[q.Cluster] = append(questions[q.Cluster], q)
		}
	}
	for _, cluster := range slices.Sorted(maps.Keys(questions)) {
		i := slices.IndexFunc(a.clusters, func(c ReadCluster) bool { return object.ClusterID(c.Name) == cluster })
		answers, err := settle.Ask(ctx, a.clusters[i].Reader.Source, questions[cluster])
		if err != nil {
			return err
		}
		answers.Gaps = a.clusters[i].Named(answers.Gaps)
		a.answers = a.answers.With(answers)
	}
	a.Findings = slices.DeleteFunc(a.Findings, func(f check.Finding) bool { return !a.answers.Hold(f.Settle) })
	return nil
}

// lostObjects returns the findings about missing and unowned objects by the cluster that is read.
func lostObjects(deployments []*evaluate.BundleDeployment,
	findings []check.Finding) map[object.ClusterID][]*check.Finding {
	type key struct{ bundleDeployment, cluster string }
	clusters := map[key]object.ClusterID{}
	for _, d := range deployments {
		clusters[key{d.Key(), d.Cluster}] = d.ID().Cluster
	}
	out := map[object.ClusterID][]*check.Finding{}
	for i := range findings {
		if f := &findings[i]; f.Code == codes.Missing || f.Code == codes.Unowned {
			id := clusters[key{f.BundleDeployment, f.Cluster}]
			out[id] = append(out[id], f)
		}
	}
	return out
}

// vanished adds to findings about missing and unowned objects of a cluster when they vanished, if an auditor there
// wrote that down, and who did it, if a webhook saw it. It lists the ConfigMaps of both once, and only if there is such
// a finding. One that cannot be read is no gap: without an auditor or a webhook there is none, and no result depends on
// it.
func vanished(ctx context.Context, src source.Source, about []*check.Finding) error {
	if len(about) == 0 {
		return nil
	}
	seen, err := journal.ReadSeen(ctx, src)
	if err != nil {
		return err
	}
	namespace, _, err := journal.Namespace(ctx, src)
	if err != nil {
		return err
	}
	book, err := journal.Read(ctx, src, namespace)
	if err != nil {
		return err
	}
	for _, f := range about {
		f.Evidence = slices.Concat(f.Evidence, whoAndWhen(newestDeletion(book, f), requestFor(seen, f), book.Namespace))
	}
	return nil
}

// newestDeletion returns what a journal says of the newest deletion of a missing object; nil for nothing.
func newestDeletion(book *journal.Book, f *check.Finding) *journal.Entry {
	i := slices.IndexFunc(book.Entries, func(e journal.Entry) bool {
		return e.Event == journal.Deleted && e.BundleDeployment == f.BundleDeployment && e.Has(f.Object.Key())
	})
	if i < 0 || f.Code != codes.Missing {
		return nil
	}
	return &book.Entries[i]
}

// whoAndWhen returns the newer one of a deletion and a request as a sentence, and both if they are about the same. So
// nobody is named because of an earlier deletion.
func whoAndWhen(e *journal.Entry, request *journal.Seen, namespace string) []string {
	if e != nil && request != nil && !request.Deleted(e) { // two deletions
		if request.Time.After(e.To) {
			e = nil
		} else {
			request = nil
		}
	}
	var out []string
	if e != nil {
		from, to := e.From.UTC().Format(time.RFC3339), e.To.UTC().Format(time.RFC3339)
		when := "at " + to
		if from != to {
			when = "between " + from + " and " + to
		}
		out = append(out, "it was deleted "+when+", according to the journal of the auditor in namespace "+namespace)
	}
	if request != nil {
		out = append(out, request.Sentence()+report.SeenMark)
	}
	return out
}

// requestFor returns the newest request that explains a finding; nil for none.
func requestFor(seen []journal.Seen, f *check.Finding) *journal.Seen {
	verb := journal.Update
	if f.Code == codes.Missing {
		verb = journal.Delete
	}
	i := slices.IndexFunc(seen, func(s journal.Seen) bool { return s.Verb == verb && s.Key() == f.Object.Key() })
	if i < 0 {
		return nil
	}
	return &seen[i]
}

// Audit returns the present result with its findings, as of now. hold selects the findings that are certain.
func (s *Standing) Audit(ctx context.Context, now time.Time, hold func([]check.Finding) []check.Finding) (*Audit,
	error) {
	s.drop()
	s.reading.Reader.Description.TakenAt = now
	for i := range s.clusters {
		s.reading.Clusters[i].Reader.Description.TakenAt = now
		if s.changed {
			var err error
			if s.clusters[i].evaluated, err = s.reading.confirmed(ctx, i, s.clusters[i].current); err != nil {
				return nil, err
			}
		}
	}
	s.changed = false
	return s.finish(ctx, hold)
}

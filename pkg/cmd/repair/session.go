// SPDX-License-Identifier: Apache-2.0

package repair

import (
	"context"
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/repair"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/cluster"
)

// session is one run: its source, its plan and its document.
type session struct {
	*options
	src      source.Source
	cluster  *cluster.Cluster // nil for a snapshot
	items    []repair.Item
	document report.Repair // the printed document without its objects
	secrets  *secret.Values
	found    *engine.Audit // nil without Fleet
}

// describe begins the document with the description of the source.
func (s *session) describe(found *engine.Audit) {
	s.found, s.secrets = found, found.Secrets
	s.document = report.Repair{Head: report.NewHead("", s.Version, found.Source, found.Desired.Directory),
		Scope: report.NewScope(found.Scope), Gaps: report.Gaps(found.Gaps), Notes: found.Notes}
}

// shown returns the document with a kind, its objects, and without secrets.
func (s *session) shown(kind string) *report.Repair {
	d := s.document
	d.Kind, d.Undo = kind, s.undo != ""
	if n := s.dryRun.String(); n != dryRunNone {
		d.DryRun = n
	}
	d.Objects = nil
	for _, i := range s.items {
		d.Objects = append(d.Objects, i.RepairedObject)
	}
	return d.Redacted(s.secrets)
}

// print prints the document with a kind.
func (s *session) print(ctx context.Context, kind string) error {
	s.Document.Undo = s.undoCommand()
	return s.Print(ctx, printers.Repair(s.shown(kind), s.Document))
}

// undoCommand is the command that undoes the plan, without the name of its receipt. Like an adoption, the undo
// must name the owners that exist.
func (s *session) undoCommand() string {
	out := s.Command(s.name())
	if s.Clusters != nil {
		out += s.Clusters.Args()
	}
	for _, owner := range s.takeFrom {
		out += " --dangerous-take-from=" + escape.Shell(owner)
	}
	return out + " --undo"
}

// count counts the items that match.
func (s *session) count(matches func(repair.Item) bool) int {
	n := 0
	for _, i := range s.items {
		if matches(i) {
			n++
		}
	}
	return n
}

// clients returns the clients of the clusters that are read.
func (s *session) clients(dry bool) repair.Clients {
	writers := map[object.ClusterID]repair.Client{}
	add := func(id object.ClusterID, src source.Source) {
		if c, ok := src.(*cluster.Cluster); ok {
			writers[id] = &cluster.Writer{Cluster: c, Manager: ownership.FieldManager, DryRun: dry}
		}
	}
	add("", s.src)
	if s.found != nil {
		for id, src := range s.found.Sources() {
			add(id, src)
		}
	}
	return func(id object.ClusterID) repair.Client { return writers[id] }
}

// otherClusters returns the uids of the clusters of the plan, except that of the source.
func (s *session) otherClusters(ctx context.Context) (map[object.ClusterID]string, error) {
	out := map[object.ClusterID]string{}
	for _, i := range s.items {
		if i.On == "" || !i.Writes() || out[i.On] != "" {
			continue
		}
		uid, _, err := source.ClusterUID(ctx, s.found.Sources()[i.On])
		if err == nil && uid == "" {
			err = errors.New("namespace kube-system was not read")
		}
		if err != nil {
			return nil, fmt.Errorf("reading the uid of cluster %s: %w", i.On, err)
		}
		out[i.On] = uid
	}
	return out, nil
}

// clusterUID returns the uid of the namespace kube-system, which identifies a cluster.
func (s *session) clusterUID(ctx context.Context) (string, error) {
	const name = metav1.NamespaceSystem
	uid, cover, err := source.ClusterUID(ctx, s.src)
	if err != nil || uid != "" {
		return uid, err
	}
	why := "not found"
	if f, all := cover.Of(""); !all {
		why = strings.TrimSpace(fmt.Sprintf("%s %s", f.Reason, f.Detail))
	}
	hint := "Nothing was changed on the cluster. Grant the verb list on namespaces, at least for the resourceName " +
		name + "."
	if s.Captured() {
		hint = "Also capture the namespace " + name + "."
	}
	return "", cli.Failure(fmt.Errorf("reading the uid of the cluster: namespace %s: %s", name, why), hint)
}

// interrupted reports an interruption, and returns the error with its exit status. The root has a message only for
// verbs that printed nothing.
func (s *session) interrupted(lines ...string) error {
	fmt.Fprintf(escape.TextWriter(s.Streams.ErrOut), "interrupted: %s\n", strings.Join(lines, "\n"))
	return &cli.Error{Status: cli.ExitFailed, Shown: true}
}

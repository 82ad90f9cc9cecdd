// SPDX-License-Identifier: Apache-2.0

// Package repair has the verb repair, and the verb adopt, which is repair limited to one step.
package repair

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/output"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/query"
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
		if i.ClusterID == "" || !i.Writes() || out[i.ClusterID] != "" {
			continue
		}
		uid, _, err := source.ClusterUID(ctx, s.found.Sources()[i.ClusterID])
		if err == nil && uid == "" {
			err = errors.New("namespace kube-system was not read")
		}
		if err != nil {
			return nil, fmt.Errorf("reading the uid of cluster %s: %w", i.ClusterID, err)
		}
		out[i.ClusterID] = uid
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

// notApplied returns the error of a plan that was not applied.
func notApplied(why, hint string) error {
	return &cli.Error{Status: cli.ExitFound, Err: fmt.Errorf("not applied: %s", why), Hint: hint}
}

// decide prints the plan if it must be reviewed, and returns whether to apply it. If not, the error has the exit
// status.
func (s *session) decide(ctx context.Context) (bool, error) {
	writes, digest := s.count(repair.Item.Writes), s.document.Digest
	decided := s.yes || s.confirm != ""
	onlyResult := !s.ForPeople() && s.dryRun.String() == dryRunServer // a program expects one document
	review, anotherPlan := !decided && !onlyResult, s.confirm != "" && s.confirm != digest
	nothingWritten := writes == 0 || s.dryRun.String() == dryRunClient
	if review || anotherPlan || nothingWritten {
		if err := s.print(ctx, s.planKind()); err != nil {
			return false, err
		}
	}
	switch {
	case s.confirm != "" && s.confirm != digest:
		return false, notApplied(fmt.Sprintf("the confirmed plan has the digest %s, the present plan has %s", s.confirm,
			digest),
			"Review the plan above: the cluster has changed.")
	case writes == 0, s.dryRun.String() == dryRunClient:
		return false, s.refusals()
	case decided, s.dryRun.String() == dryRunServer:
		return true, nil
	case s.Captured():
		return false, &cli.Error{Status: cli.ExitFound, Shown: true}
	case !s.ForPeople() || !output.IsTerminal(s.Streams.In):
		return false, notApplied("this is only the plan",
			"--confirm="+digest+" applies exactly this plan, --yes applies a new plan without a review.")
	}
	return s.ask(ctx, writes)
}

// refusals returns the error with the exit status of a plan without objects to write.
func (s *session) refusals() error {
	if slices.ContainsFunc(s.items, func(i repair.Item) bool { return i.Action == report.ActionRefuse }) {
		return &cli.Error{Status: cli.ExitFound, Shown: true}
	}
	return nil
}

// ask asks on the terminal whether to apply the plan.
func (s *session) ask(ctx context.Context, writes int) (bool, error) {
	action := s.either("Adopt", "Repair")
	if s.undo != "" {
		action = "Restore"
	}
	yes, err := output.Ask(ctx, s.Streams, fmt.Sprintf("%s %s?", action, report.Plural(writes, "object")))
	switch {
	case err != nil:
		return false, s.interrupted("nothing was written")
	case !yes:
		return false, notApplied("nothing was written", "")
	}
	return true, nil
}

// The values of --dry-run, as in kubectl.
const (
	dryRunNone   = "none"
	dryRunClient = "client"
	dryRunServer = "server"
)

// options are the flags, and what the verb runs with.
type options struct {
	*query.Options
	scope *input.ScopeFlags

	// adopt is true for the verb adopt.
	adopt bool

	codes    []string
	allow    []string
	takeFrom []string
	yes      bool
	confirm  string
	receipt  string
	undo     string
	policy   *cli.Enum
	dryRun   *cli.Enum

	objects      []input.Object // of the command line; without any, all objects in scope
	auditOptions engine.Options
}

// NewCommand returns the verb repair.
func NewCommand(env cli.Environment) *cobra.Command {
	o := newOptions(env)
	c := &cobra.Command{
		Use:   "repair " + targets,
		Short: "Repair what an audit found, or undo that",
	}
	o.Clusters = input.NewClusters(o.Flags)
	o.complete(c)
	fs := c.Flags()
	fs.StringSliceVar(&o.codes, "code", nil, "Repair only what findings with these codes or names report, such "+
		"as FD101 or Missing")
	fs.StringSliceVar(&o.allow, "allow", nil, "Also make these steps: ask Fleet's agents and controllers to deploy "+
		"(deploy), delete objects and create them again (recreate), delete what is left over (delete)")
	return c
}

// NewAdopt returns the verb adopt.
func NewAdopt(env cli.Environment) *cobra.Command {
	o := newOptions(env)
	o.adopt = true
	c := &cobra.Command{
		Use:   "adopt " + targets,
		Short: "Assign existing objects to the bundle that desires them, or undo that",
	}
	o.complete(c)
	return c
}

// targets are the arguments of both verbs.
var targets = strings.TrimSuffix(input.TargetArgs, " ...]") + " | KIND/[NAMESPACE/]NAME ...]"

func newOptions(env cli.Environment) *options {
	o := &options{
		Options: query.New(env),
		policy: cli.NewEnum(string(ownership.IfUnowned), string(ownership.IfUnowned), string(ownership.TakeUnmarked),
			string(ownership.IfNoDiff)),
		dryRun: cli.NewEnum(dryRunNone, dryRunNone, dryRunClient, dryRunServer),
	}
	o.scope, o.Diff, o.Writes = input.NewScope(o.Flags, engine.DesiredAuto), &output.DiffFlags{}, true
	return o
}

// either returns a word of the verb adopt, or that of the verb repair.
func (o *options) either(adopt, repair string) string {
	if o.adopt {
		return adopt
	}
	return repair
}

// name is the name of the verb.
func (o *options) name() string { return o.either("adopt", "repair") }

// planKind and resultKind are the kinds of the documents.
func (o *options) planKind() string { return o.either(report.KindAdoptionPlan, report.KindRepairPlan) }

func (o *options) resultKind() string {
	return o.either(report.KindAdoptionResult, report.KindRepairResult)
}

// complete completes the command, with the flags that both verbs have.
func (o *options) complete(c *cobra.Command) {
	c.ValidArgsFunction = input.CompleteAny
	o.Setup(c, o, input.NamespaceUsage+". On a downstream cluster, the namespace of the releases"+
		input.ObjectNamespace)
	fs := c.Flags()
	o.scope.AddFlags(c)
	o.scope.AddDesiredFlag(c)
	o.policy.AddTo(c, "policy", "Objects to take without --dangerous-take-from: objects without another owner "+
		"(unmarked); also objects of an owner that is gone (if-unowned); the objects of if-unowned, but only if all "+
		"of their fields have the values of the bundle (if-no-diff)")
	fs.StringArrayVar(&o.takeFrom, "dangerous-take-from", nil,
		"Also take the objects of this bundle, set id or release (NAMESPACE/NAME). With --undo, give them back to it. "+
			"May be repeated")
	fs.BoolVarP(&o.yes, "yes", "y", false, "Apply the plan without asking")
	fs.StringVar(&o.confirm, "confirm", "", "Apply the plan without asking, but only if it has this digest")
	o.dryRun.AddDryRun(c,
		"Only show the plan (client), or send every write to the server without storing it (server)")
	fs.StringVar(&o.receipt, "receipt", "",
		"File for the previous values, which must not exist yet (default fleetdoctor-"+o.name()+"-TIME.jsonl)")
	fs.StringVar(&o.undo, "undo", "", "Restore the previous values from the receipt in this file")
	o.Diff.AddFlags(fs, "Show the fields that a step restores, or that the next deploy overwrites, as a unified "+
		"diff, with who wrote them and when")
}

// SPDX-License-Identifier: Apache-2.0

package repair

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/output"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/repair"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// Complete implements cli.Options.
func (o *options) Complete(args []string) error {
	targets, objects, err := input.Split(args, *o.Config.Namespace)
	if err != nil {
		return err
	}
	for _, object := range objects {
		if object.Kind != "" {
			continue
		}
		err := fmt.Errorf("parsing argument %q: it must be KIND/NAME", object.Name)
		if slices.Contains([]string{dryRunNone, dryRunClient, dryRunServer}, object.Name) {
			err = fmt.Errorf("%w; for a dry run, state --dry-run=%s", err, object.Name)
		}
		return err
	}
	if o.auditOptions, err = o.scope.ToOptions(targets, objects...); err != nil {
		return err
	}
	if err := input.CheckNames(o.auditOptions.Scope.Targets); err != nil {
		return err // an empty variable after a kind must not select everything
	}
	o.objects = objects
	if o.codes, err = output.Codes(o.codes); err != nil {
		return err
	}
	for _, step := range o.allow {
		if !slices.Contains(repair.Allowed(), step) {
			return fmt.Errorf("parsing --allow %q: it must be one of %s", step, strings.Join(repair.Allowed(), ", "))
		}
	}
	o.auditOptions.Parents = !o.adopt
	o.auditOptions.ServerCheck, o.auditOptions.Predict = collect.CheckNever, true
	return nil
}

// Validate implements cli.Options.
func (o *options) Validate() error {
	for _, f := range []struct{ name, value string }{{"undo", o.undo}, {"confirm", o.confirm}, {"receipt", o.receipt}} {
		if f.value == "" && o.Changed(f.name) { // the value of a variable that is not set
			return fmt.Errorf("--%s is empty", f.name)
		}
	}
	writes := o.yes || o.confirm != "" || o.dryRun.String() == dryRunServer
	switch {
	case o.yes && o.confirm != "":
		return errors.New("--yes and --confirm are mutually exclusive: the first applies any plan, the second only one")
	case o.Captured() && writes:
		return errors.New("--yes, --confirm and --dry-run=server cannot be used with --snapshot: a snapshot cannot " +
			"be written to")
	case o.undo == "":
		return nil
	case strings.HasPrefix(o.undo, "configmap/"): // of the previous version
		return errors.New("receipts in ConfigMaps were removed: write the key receipt.jsonl of the ConfigMap to a " +
			"file, and name the file")
	case len(o.objects)+len(o.auditOptions.Scope.Targets) > 0:
		return errors.New("--undo takes no arguments: it restores everything that its receipt recorded")
	}
	excluded := []string{"policy", "selector", "receipt", "code", "allow", "desired", "filename", "gitrepo",
		"path", "agent-scope", "namespace"}
	for _, name := range excluded {
		if o.Changed(name) {
			return fmt.Errorf("--undo and --%s are mutually exclusive", name)
		}
	}
	return nil
}

// Run implements cli.Options.
func (o *options) Run(ctx context.Context) error {
	s := &session{options: o, secrets: &secret.Values{}}
	if err := o.Read(ctx, func(in *input.Reading) error { return s.plan(ctx, in) }); err != nil {
		return err
	}
	s.document.Digest = repair.Digest(s.shown(s.planKind()))
	agreed, err := s.decide(ctx)
	if err == nil && agreed {
		err = s.apply(ctx)
	}
	if err != nil || s.undo != "" || len(s.objects) > 0 {
		return err
	}
	if n := s.found.Coverage().Unread; n > 0 {
		return cli.Failure(fmt.Errorf("not complete: bundle deployments without a result: %d; it is not known "+
			"which of their objects to "+s.name(), n),
			s.Command("audit")+" shows why (FD602, FD607).")
	}
	if hidden := s.found.HiddenDeployments(); hidden != "" {
		return &cli.Error{Status: cli.ExitFailed, Err: errors.New("not complete: " +
			"there may be other bundle deployments: " + hidden)}
	}
	return nil
}

// plan reads the source and makes the plan.
func (s *session) plan(ctx context.Context, in *input.Reading) error {
	s.src, s.cluster = in.Source, in.Cluster
	if s.undo != "" {
		return s.planUndo(ctx, in)
	}
	if err := s.scope.LoadDirectory(&s.auditOptions); err != nil {
		return err
	}
	s.auditOptions.Progress = in.Report
	if s.Clusters != nil {
		s.auditOptions.Clusters = s.Clusters.Clusters(in.Source)
	}
	found, err := engine.Run(ctx, in.Source, s.auditOptions)
	if err != nil {
		return err
	}
	noResult := found.NoResult()
	if s.adopt && noResult != nil {
		return fmt.Errorf("making the plan: %w", noResult)
	}
	if n := found.Coverage(); s.adopt && n.Evaluated == 0 && n.OnOtherCluster > 0 {
		return fmt.Errorf("making the plan: %s on clusters that are not read: adopt works on the cluster of the "+
			"objects", report.Plural(n.OnOtherCluster, "bundle deployment"))
	}
	o := repair.Options{Policy: ownership.Policy(s.policy.String()), TakeFrom: s.takeFrom, Codes: s.codes,
		Allow: s.allow}
	notFound := s.pick(&o, found)
	var notOwners []string
	if s.adopt {
		s.items, notOwners = repair.Adoptions(found.Result, o)
	} else {
		s.items, notOwners = repair.Plan(found.Result, found.Findings, o)
	}
	switch {
	case len(notOwners) > 0:
		return &cli.Error{Status: cli.ExitFound,
			Err:  fmt.Errorf("--dangerous-take-from=%s does not name an owner of an object in scope", notOwners[0]),
			Hint: s.Command(s.name()) + " shows the owners of the objects."}
	case noResult != nil && len(s.items) == 0: // Fleet's status alone may show what an agent can repair
		return fmt.Errorf("making the plan: %w", noResult)
	case len(notFound) > 0:
		return s.notDesired(notFound[0], found)
	}
	s.describe(found)
	s.document.Policy, s.document.TakeFrom = string(o.Policy), s.takeFrom
	s.document.Codes, s.document.Allowed = s.codes, s.allow
	s.note(found)
	if err := s.prove(ctx, in); err != nil || s.cluster == nil {
		return err
	}
	if s.ReadOnly { // a dry run is no request that only reads
		asks := func(i repair.Item) bool { return i.Writes() && i.Action != report.ActionAdopt }
		if s.count(asks) > 0 {
			s.document.Notes = append(s.document.Notes, "the server was not asked whether it accepts these steps; "+
				s.Command(s.name())+" asks it")
		}
		return nil
	}
	in.Show("asking the server about the steps", 0)
	return repair.Prepare(ctx, s.clients(false), s.items, s.allow)
}

// note adds what a reader of the plan must know.
func (s *session) note(found *engine.Audit) {
	setsUnknown := slices.ContainsFunc(found.Desired.Clusters, func(c *directory.Cluster) bool {
		return !c.SetsComplete || len(c.Unreadable) > 0
	})
	adopts := func(i repair.Item) bool { return i.Writes() && i.Action == report.ActionAdopt }
	if setsUnknown && slices.ContainsFunc(s.items, adopts) {
		s.document.Notes = append(s.document.Notes,
			"not every release record could be read: other bundles may desire these objects")
	}
	s.noteUnrepaired(found)
	if asked := repair.Asked(found.Result, s.items); asked != "" {
		s.document.Notes = append(s.document.Notes, asked)
	}
}

// prove renders the bundles of which the plan writes objects that only a release record states.
func (s *session) prove(ctx context.Context, in *input.Reading) error {
	unproven := repair.Unproven(s.items)
	if len(unproven) == 0 {
		return nil
	}
	o := s.auditOptions
	o.Desired, o.Parents = engine.DesiredBundle, false
	o.Pick = func(_ evaluate.Scope, d *directory.Directory) (out []*directory.Deployment, err error) {
		for _, x := range d.Deployments {
			if unproven[x.ID()] {
				out = append(out, x)
			}
		}
		return out, nil
	}
	rendered, err := engine.Run(ctx, in.Source, o)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var result *evaluate.Result
	if err == nil { // otherwise nothing is proven
		result = rendered.Result
	}
	repair.Prove(s.items, result)
	return nil
}

// noteUnrepaired notes the findings that no step repairs.
func (s *session) noteUnrepaired(found *engine.Audit) {
	if s.adopt || len(s.objects) > 0 {
		return
	}
	leaves, repairs := map[string]bool{}, map[string]bool{}
	for i := range found.Findings {
		f := &found.Findings[i]
		asked := len(s.codes) == 0 || slices.Contains(s.codes, f.Code)
		ofAnother := f.Cause != "" || len(f.Follows) > 0
		stays := len(f.Steps) == 0 && f.Severity != check.Info
		repairs[f.Code] = repairs[f.Code] || len(f.Steps) > 0
		if asked && !ofAnother && stays {
			leaves[f.Code] = true
		}
	}
	if len(leaves) == 0 {
		return
	}
	codes := slices.Sorted(maps.Keys(leaves))
	named := slices.Clone(codes)
	for i, code := range codes {
		if repairs[code] {
			named[i] = "some of " + code
		}
	}
	s.document.Notes = append(s.document.Notes, fmt.Sprintf("no step repairs %s: %s shows what to do",
		strings.Join(named, ", "), s.Command("audit")+" --code="+strings.Join(codes, ",")+" --all"))
}

// pick limits a plan to the objects of the command line, and returns those that nothing in scope desires.
func (s *session) pick(o *repair.Options, found *engine.Audit) (notFound []input.Object) {
	if len(s.objects) == 0 {
		return nil
	}
	named := func(r object.Ref) func(input.Object) bool {
		return func(arg input.Object) bool { return arg.Is(r, found.Kinds) }
	}
	o.Pick = func(r object.Ref) bool { return slices.ContainsFunc(s.objects, named(r)) }
	notFound = slices.Clone(s.objects)
	for _, d := range found.Deployments {
		for i := range d.Objects {
			notFound = slices.DeleteFunc(notFound, named(d.Objects[i].Ref))
		}
	}
	for i := range found.Findings {
		notFound = slices.DeleteFunc(notFound, named(found.Findings[i].Object))
	}
	return notFound
}

// notDesired returns the error that no bundle in scope desires an object of the command line.
func (s *session) notDesired(o input.Object, found *engine.Audit) error {
	err := fmt.Errorf("no bundle in scope desires %s", o)
	if hint := input.NearKind(o.String()); hint != "" {
		return cli.Failure(err, hint)
	}
	var desired []object.Ref
	for _, d := range found.Deployments {
		for _, x := range d.Objects {
			desired = append(desired, x.Ref)
		}
	}
	return cli.Failure(err, input.NearObject(source.NotFound(o, desired, found.Kinds)))
}

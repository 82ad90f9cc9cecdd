// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Renderer renders a bundle, as render.Render does. It may also return a *render.LimitError. An error of another type
// than those of package render, or of the context, ends the audit. It is called from several goroutines.
type Renderer interface {
	Render(ctx context.Context, in render.Input, cluster render.Cluster) (*render.Result, error)
}

// Bundle is a bundle to render.
type Bundle struct {
	// Deployment is the bundle deployment that it is rendered for. Target reads its cluster, and Latest are the newest
	// release records there.
	Deployment *directory.Deployment
	Target     *Reader
	Latest     map[string]*state.Record
	// Files is the input of a bundle from files; nil for a bundle of the management cluster.
	Files *render.Input
	// CompetitorOnly is true if it is not audited: only the identities of its desired objects matter.
	CompetitorOnly bool
	// Staged renders the newer deployment that is staged, if there is one.
	Staged bool
}

const (
	// maxConcurrent is the number of bundles that are rendered concurrently. Each may unpack to 64 MiB.
	maxConcurrent = 2
	// batchSize is how many bundles are rendered before their inputs are released.
	batchSize = 8
	// maxRendered limits the total size, in bytes, of all rendered bundles of an audit.
	maxRendered = 512 << 20
)

// rendering is a bundle while it is rendered.
type rendering struct {
	Bundle
	management *Reader
	input      render.Input
	// missing are the values sources that do not exist on the cluster.
	missing []render.ValuesRef
	// replacedObjects and replacedUnread are those of the desired.Rendering.
	replacedObjects []release.Object
	replacedUnread  string
	// damage is what is wrong with the Content.
	damage string
	result *render.Result
	err    error // of package render
	// recorded is the result that a snapshot recorded; nil if it recorded none.
	recorded *source.Rendering
}

// Render renders bundles, each from its contents on the management cluster or from its files.
func (r *Reader) Render(ctx context.Context, renderer Renderer, bundles []Bundle) ([]*desired.Rendering, error) {
	r.progress.Start("rendering bundles")
	var out []*desired.Rendering
	total := 0
	for batch := range slices.Chunk(bundles, batchSize) {
		under := make([]rendering, len(batch))
		g, rendering := errgroup.WithContext(ctx)
		g.SetLimit(maxConcurrent)
		for i, b := range batch {
			x := &under[i]
			x.Bundle, x.management = b, r
			g.Go(func() error { return x.render(rendering, renderer) })
		}
		if err := g.Wait(); err != nil {
			return nil, err
		}
		for i := range under {
			x := &under[i]
			done := x.outcome(x.overLimit(&total))
			done.Gaps = x.gaps(done)
			out = append(out, done)
		}
	}
	return out, nil
}

// overLimit returns the limit that the bundle exceeds, as a sentence; empty if it exceeds none. That is a gap, because
// Fleet's agent may deploy it.
func (x *rendering) overLimit(total *int) string {
	var limit *render.LimitError
	switch {
	case errors.As(x.err, &limit):
		x.err = nil
		return "it could not be rendered: " + limit.Detail()
	case x.err != nil, x.result == nil:
		return ""
	}
	size := 0
	for _, o := range x.result.Objects {
		size += len(o.Raw)
	}
	if *total+size > maxRendered {
		return "it is ignored: together with it, the rendered bundles exceed 512 MiB"
	}
	*total += size
	return ""
}

// outcome returns the rendered bundle.
func (x *rendering) outcome(overLimit string) *desired.Rendering {
	d := x.Deployment
	out := &desired.Rendering{Deployment: d.ID(), CompetitorOnly: x.CompetitorOnly, OverLimit: overLimit,
		ContentDamage: x.damage, Replaced: x.replacedObjects, ReplacedUnread: x.replacedUnread}
	if x.recorded != nil {
		x.restore(out)
		return out
	}
	if why := x.notRendered(); why != "" {
		out.Refused = why
		return out
	}
	var refused *render.ClusterScopedError
	if errors.As(x.err, &refused) {
		out.ClusterScoped = refused.Objects
	}
	switch {
	case x.err != nil:
		out.Refused = strings.TrimPrefix(x.err.Error(), "rendering bundle "+d.Name+": ")
		return out
	case overLimit != "":
		out.Unresolved = []string{overLimit}
		return out
	}
	res := x.result
	out.Unresolved, out.Notes = res.Gaps, res.Notes
	for _, ref := range x.missing {
		out.ValuesMissing = append(out.ValuesMissing, ref.String())
	}
	out.ReleaseName, out.ReleaseNamespace, out.Objects, out.RecordSize = res.ReleaseName, res.ReleaseNamespace,
		res.Objects, res.RecordSize
	for _, o := range res.CRDs {
		if kind, ok := object.Defined(o.Raw); ok {
			out.Defines = append(out.Defines, kind)
		}
	}
	for _, o := range res.Hooks {
		if o.IsSecret() {
			out.Secrets = append(out.Secrets, o.Raw)
		}
	}
	out.Unstable = map[object.Ref][]string{}
	for _, u := range res.Unstable {
		out.Unstable[u.Object] = append(out.Unstable[u.Object], u.Pointers...)
	}
	return out
}

// restore completes a rendered bundle with the result that a snapshot recorded.
func (x *rendering) restore(out *desired.Rendering) {
	r := x.recorded
	out.ReplacedUnread = desired.NotInSnapshot
	out.Masked = true
	out.ReleaseName, out.ReleaseNamespace, out.RecordSize = r.ReleaseName, r.ReleaseNamespace, r.RecordSize
	out.Refused, out.OverLimit, out.ContentDamage = r.Refused, r.OverLimit, r.ContentDamage
	out.ClusterScoped, out.Unresolved, out.ValuesMissing, out.Notes = r.ClusterScoped, r.Unresolved, r.ValuesMissing,
		r.Notes
	out.Unstable = map[object.Ref][]string{}
	for i, o := range r.Objects {
		out.Objects = append(out.Objects, release.Object{Ref: o.Ref, Raw: o.Object, Document: i, Alone: true})
		if len(o.Unstable) > 0 {
			out.Unstable[o.Ref] = o.Unstable
		}
	}
}

// notRendered is why the bundle of a directory is not rendered: nothing of it would reach the cluster.
func (x *rendering) notRendered() string {
	files := x.Deployment.Files
	if files == nil {
		return ""
	}
	return cmp.Or(files.Refused, files.NoTarget)
}

// gaps returns the gaps of a rendering.
func (x *rendering) gaps(done *desired.Rendering) []source.Gap {
	d := x.Deployment
	what, instead := "rendering bundle "+d.Name, "it has no result"
	if done.Refused != "" && d.Problem == "" && x.Files == nil {
		instead = "its release record is used instead"
	}
	if x.CompetitorOnly {
		instead = "it is not known whether it desires objects of other bundles"
	}
	if x.CompetitorOnly && done.Refused != "" {
		return nil // it is not deployed, so that it desires no object
	}
	if done.Refused != "" {
		effect := "Fleet's agent would refuse it as well; " + instead
		switch files := d.Files; {
		case files != nil && files.Refused != "":
			effect = "no Bundle of the GitRepo changes, because fleet apply refuses the directory; it has no result"
		case files != nil && files.NoTarget != "":
			effect = "Fleet does not deploy it to this cluster; it has no result"
		case done.ClusterScoped != nil:
			effect = "every deploy of it fails; " + instead
		}
		return []source.Gap{{What: what, Reason: "RenderFailed", Detail: done.Refused, Effect: effect}}
	}
	effect := "only the objects that can be rendered without it are known"
	if len(done.Objects) == 0 || x.CompetitorOnly {
		effect = instead
	}
	var out []source.Gap
	for _, detail := range done.Unresolved {
		out = append(out, source.Gap{What: what, Reason: "NotResolved", Detail: detail, Effect: effect})
	}
	return out
}

// render reads the contents of a bundle and renders them.
func (x *rendering) render(ctx context.Context, renderer Renderer) error {
	d := x.Deployment
	if x.Files != nil {
		x.input = *x.Files
		if x.notRendered() != "" {
			return nil
		}
	} else {
		if x.recorded = x.management.Description.Unmasked.Rendering(d.Key()); x.recorded != nil {
			return nil
		}
		contents := bundleContents{management: x.management, deployment: d}
		if err := contents.read(ctx, x.Staged); err != nil {
			return err
		}
		x.input, x.damage = contents.input, contents.damage
	}
	in, target := &x.input, x.Target
	if err := x.valuesFrom(ctx); err != nil {
		return err
	}
	in.Name, in.SetID, in.Revision = d.Name, d.Ownership.SetID, x.revision()
	if err := x.previousValues(ctx); err != nil {
		return err
	}
	if err := x.replaced(ctx); err != nil {
		return err
	}
	in.KubeVersion, in.Now = target.Description.KubernetesVersion, target.Description.TakenAt
	version, known := fleet.ParseVersion(d.AgentVersion)
	in.Helm3, in.OfflineDryRun = known && version.Minor < 15, known && version.Before(14, 1)
	in.ClusterScoped = clusterScoped(target.Kinds)
	if !target.Description.Partial() {
		in.APIVersions = apiVersions(target.Kinds)
	}
	x.result, x.err = renderer.Render(ctx, *in, &lookups{reader: target})
	in.Resources, in.Values, in.ValuesFrom, in.PreviousValues = nil, nil, nil, nil // release the memory
	return fatal(ctx, x.err)
}

// valuesFrom reads the ConfigMaps and Secrets that valuesFrom of a deployment names.
func (x *rendering) valuesFrom(ctx context.Context) error {
	x.input.ValuesFrom = nil
	for _, ref := range render.ValuesRefs(&x.input.Options) {
		data, f, err := x.data(ctx, ref)
		if err != nil {
			return err
		}
		masked := x.Target.Description.Unmasked != nil && ref.Kind == secretKind.Kind
		switch {
		case f == nil && masked:
			data = nil
			withMasked(&x.input)
		case f != nil && *f == source.NotCaptured:
			data = nil
			withMasked(&x.input)
		case f == nil:
			data = append([]byte{}, data...) // not nil, because it was read
		case f.Reason == notFound && !x.input.Options.Copies(ref.Kind, ref.Name):
			x.missing = append(x.missing, ref)
		}
		x.input.ValuesFrom = append(x.input.ValuesFrom, data)
	}
	return nil
}

// data reads one key of a ConfigMap or Secret. If it is not found or could not be read, the failure is the reason. Data
// of a Secret must not be shown.
func (x *rendering) data(ctx context.Context, ref render.ValuesRef) ([]byte, *source.Failure, error) {
	var o struct {
		Data map[string]string `json:"data"` // in base64 for a Secret
	}
	f, err := x.Target.get(ctx, corev1.SchemeGroupVersion.WithKind(ref.Kind), ref.Namespace, ref.Name, &o)
	text, found := o.Data[ref.Key]
	switch {
	case f != nil || err != nil:
		return nil, f, err
	case !found:
		return nil, &source.Failure{Reason: notFound}, nil
	case ref.Kind != secretKind.Kind:
		return []byte(text), nil, nil
	}
	v, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		v, f = nil, &undecodable
	} else {
		x.Target.Secrets.AddText(v)
	}
	return v, f, nil
}

// previousValues reads the values of the release that the rollout upgrades, if the bundle has none: Helm uses them
// (docs/fleet-behavior.md, 2.5). The release may be one that Fleet did not install.
func (x *rendering) previousValues(ctx context.Context) error {
	in := &x.input
	in.PreviousValues = nil
	namespace, name := in.Release()
	last := x.Latest[namespace+"/"+name]
	if last == nil || last.Status == release.StatusUninstalling || in.HasValues() {
		return nil
	}
	if !last.HasValues && last.Damaged == "" {
		return nil
	}
	unknown := func(why string) error { // with other values, a chart would render other objects
		in.Resources, in.Gaps = nil, append(in.Gaps,
			fmt.Sprintf("it has no Helm values, so Helm keeps those of release %s, which are not known: %s",
				last.Release(), why))
		return nil
	}
	switch {
	case last.Damaged != "":
		return unknown("its record is damaged")
	case last.Status != release.StatusDeployed:
		return unknown("its last revision is not deployed")
	case x.Target.Description.Unmasked != nil:
		withMasked(in)
		return nil
	}
	value, f, err := x.record(ctx, last)
	if err != nil {
		return err
	}
	if f != nil {
		return unknown("its record could not be read: " + string(f.Reason))
	}
	if in.PreviousValues, err = release.Values(value); err != nil {
		return unknown("its record is damaged")
	}
	x.Target.Secrets.AddText(in.PreviousValues)
	return nil
}

// replaced reads the objects of a release that the bundle would upgrade, and that is not its own.
func (x *rendering) replaced(ctx context.Context) error {
	namespace, name := x.input.Release()
	last := x.Latest[namespace+"/"+name]
	own := last != nil && last.Release() == x.Deployment.Release.Release()
	if last == nil || own || x.CompetitorOnly {
		return nil
	}
	if last.Status == release.StatusUninstalling || last.Damaged != "" {
		return nil
	}
	if x.Target.Description.Unmasked != nil {
		x.replacedUnread = desired.NotInSnapshot
		return nil
	}
	value, f, err := x.record(ctx, last)
	if err != nil || f != nil {
		x.replacedUnread = "its record could not be read"
		return err
	}
	found, err := release.Read(value, release.MostUnpacked(len(value)), func(*release.Record) release.Part {
		return release.MetadataOnly
	})
	if damaged := err != nil || found.Problem != nil; damaged {
		x.replacedUnread = "its record is damaged"
	} else {
		x.replacedObjects = found.Objects
	}
	return nil
}

// record reads the value of a release record.
func (x *rendering) record(ctx context.Context, rec *state.Record) ([]byte, *source.Failure, error) {
	var s struct {
		Data map[string][]byte `json:"data"`
	}
	f, err := x.Target.get(ctx, secretKind, rec.Namespace, rec.SecretName(), &s)
	return s.Data[release.DataKey], f, err
}

// fatal returns err if it is not about the bundle.
func fatal(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil, errors.As(err, new(*render.Error)), errors.As(err, new(*render.ClusterScopedError)),
		errors.As(err, new(*render.LimitError)):
		return nil
	}
	return err
}

// InProcess is a Renderer that renders in this process, without limits for templates.
type InProcess struct{}

// Render implements Renderer.
func (InProcess) Render(ctx context.Context, in render.Input, cluster render.Cluster) (*render.Result, error) {
	return render.Render(ctx, in, cluster)
}

// revision returns the revision to render: the present one if it was made from these contents, otherwise the next one.
func (x *rendering) revision() int {
	d := x.Deployment
	if d.BD != nil && x.Files == nil && d.BD.Spec.DeploymentID == d.BD.Status.AppliedDeploymentID {
		return d.Release.Revision
	}
	return d.Release.Revision + 1
}

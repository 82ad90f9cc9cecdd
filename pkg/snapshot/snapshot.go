// SPDX-License-Identifier: Apache-2.0

// Package snapshot takes a snapshot of a source: an archive with one file for each object that an audit reads, with the
// fields that it reads (see fields), and a manifest. The values of Secrets are masked in them. What an audit concludes
// from data that is not captured is recorded as a result. An audit of the snapshot has the result of an audit of the
// source.
//
// The source is read by an audit, which shows what must be read. Then the values of Secrets are read, and the objects
// are read and written one by one. At the end, the Secrets are read again, because a value may have changed.
package snapshot

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/values"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	format "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot"
)

// Take writes a snapshot of a source to out and returns its manifest. An error means that the archive is not complete.
// A kind that could not be read is a gap.
func Take(ctx context.Context, src source.Source, out io.Writer, o Options) (*format.Manifest, error) {
	key := make([]byte, 32)
	// it never returns an error. Nobody can compute the HMAC of a guessed value, because the key is not kept.
	_, _ = rand.Read(key)
	t := &taking{Source: src, options: o, masker: secret.NewMasker(key)}
	t.masker.Same, t.progress.Report = o.SameMasks, o.Progress
	if err := t.audit(ctx); err != nil {
		return nil, err
	}
	cover, err := t.learn(ctx, "reading the values of Secrets, to mask them")
	if err != nil {
		return nil, err
	}
	t.learned = cover
	a := newArchive(out, t.description.TakenAt)
	if err := t.write(ctx, a); err != nil {
		return nil, err
	}
	if err := t.renderings(a); err != nil {
		return nil, err
	}
	if err := t.changed(ctx); err != nil {
		return nil, err
	}
	t.complete()
	text, err := json.MarshalIndent(t.manifest, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encoding the manifest: %w", err)
	}
	if err := a.add(manifestName, append(text, '\n')); err != nil {
		return nil, err
	}
	return &t.manifest, a.close()
}

// audit runs an audit to find out what it reads.
func (t *taking) audit(ctx context.Context) error {
	r := newRecorder(t.Source, t.options.Namespace, t.masker.Name)
	var err error
	// A bundle that is not deployed yet has no release: its kinds follow from its contents.
	t.found, err = audit.Run(ctx, r, audit.Options{Desired: audit.DesiredAuto, Version: t.options.Version,
		Renderer: t.options.Renderer, Pause: t.options.Pause, Progress: t.options.Progress, KeepManifests: true})
	if err != nil {
		return err
	}
	t.description, t.kinds = t.found.Source, t.found.Kinds
	t.masker.Partial = t.description.Partial()
	r.wantOthers(t.kinds)
	t.plan = r.plan(t.kinds)
	for _, k := range t.kinds.All() {
		for _, word := range []string{k.Kind, strings.ToLower(k.Kind), k.Resource, k.Group} {
			t.masker.Name(word)
		}
	}
	f := t.found.Desired.Fleet
	for _, address := range f.Addresses() {
		t.masker.Name(address)
	}
	t.masker.Name(f.ControllerVersion)
	for _, c := range t.found.Desired.Clusters {
		for _, w := range c.State.Workloads { // which Helm values in a Secret may have
			t.masker.Name(w.Version)
			t.masker.Name(w.Scope)
		}
	}
	t.fields = fieldsOf(t.found.Desired, t.options.Bundles)
	t.named, t.valuesFrom = map[release.Name]bool{}, map[string]bool{}
	for _, d := range t.found.Desired.Deployments {
		t.named[d.Release] = true
		if d.BD == nil {
			continue
		}
		for _, ref := range render.ValuesRefs(&d.BD.Spec.Options) {
			t.valuesFrom[ref.Namespace+"/"+ref.Name] = ref.Kind == secretKind.Kind
		}
	}
	return nil
}

// learn reads the values of Secrets, except of release records. The Secrets in manifests were read by the audit.
func (t *taking) learn(ctx context.Context, doing string) (source.Coverage, error) {
	for _, d := range t.found.Desired.Deployments {
		for _, o := range d.Claimed() {
			if content, ok := secret.DecodeJSON(o.Raw); ok && o.IsSecret() {
				t.masker.Learn(content, false)
			}
		}
	}
	i := slices.IndexFunc(t.plan, capture.isSecrets)
	if i < 0 {
		_, failure, _ := t.kinds.Lookup(secretKind)
		return source.NotCovered(failure), nil
	}
	t.progress.Start(doing)
	q := t.plan[i].query
	q.FieldSelector = "type!=" + release.SecretType
	return t.List(ctx, q, func(o source.Object) error {
		t.progress.Object()
		if content, ok := secret.DecodeJSON(o.Raw); ok { // an object that cannot be decoded is not written either
			t.masker.Learn(content, t.hasHelmValues(o, content))
		}
		return nil
	})
}

// hasHelmValues reports whether a Secret has Helm values: Fleet keeps them in it, or valuesFrom of a bundle names it.
func (t *taking) hasHelmValues(o source.Object, content map[string]any) bool {
	if content["type"] == values.BundleType || content["type"] == values.DeploymentType {
		return true
	}
	m, err := o.ReadMeta()
	return err == nil && t.valuesFrom[m.Metadata.Namespace+"/"+m.Metadata.Name]
}

// changed reads the values of Secrets again. Other objects may have a new value that was not known when they were
// written.
func (t *taking) changed(ctx context.Context) error {
	if t.description.Origin != source.OriginCluster {
		return nil
	}
	before := t.masker.Values()
	cover, err := t.learn(ctx, "reading the values of Secrets again")
	if err != nil {
		return err
	}
	if n := t.masker.Values() - before; n > 0 {
		t.manifest.Gaps = append(t.manifest.Gaps, format.Gap{Listed: true, Gap: source.Gap{What: "values of Secrets",
			Reason: "Changed",
			Detail: fmt.Sprintf("%d values are new since the snapshot was begun", n),
			Effect: "they may not be masked in other objects: take the snapshot again"}})
	}
	if !cover.Whole() && t.learned.Whole() {
		const effect = "it is not known whether values changed while the snapshot was taken: take the snapshot again"
		for _, g := range source.CoverageGaps("listing secrets again", cover, effect) {
			t.manifest.Gaps = append(t.manifest.Gaps, format.Gap{Listed: true, Gap: g})
		}
	}
	return nil
}

// write writes the objects.
func (t *taking) write(ctx context.Context, a *archive) error {
	t.manifest.Captured = []format.Captured{}
	if !slices.ContainsFunc(t.plan, capture.isSecrets) {
		t.unread(secretKind, "secrets", t.learned)
	}
	for _, c := range t.plan {
		t.progress.Start("writing " + c.resource())
		n, bad := 0, 0
		cover, err := t.List(ctx, c.query, func(o source.Object) error {
			t.progress.Object()
			name, text, ok := t.file(c, o)
			if !ok {
				bad++
				return nil
			}
			n++
			return a.add(name, text)
		})
		if err == nil && c.isSecrets() {
			err = t.checkLearned(cover)
		}
		if err != nil {
			return err
		}
		if bad > 0 {
			cover = source.NotCovered(source.Failure{Reason: source.ReadFailed,
				Detail: fmt.Sprintf("%d of the objects could not be decoded", bad)})
		}
		t.captured(c, n, cover)
	}
	return nil
}

// checkLearned returns an error if Secrets were written that could not be read when their values were learned: other
// objects may have these values, and the manifest would not state it.
func (t *taking) checkLearned(written source.Coverage) error {
	for _, ns := range slices.Concat(slices.Sorted(maps.Keys(t.learned.Failures())), written.Namespaces()) {
		failure, known := t.learned.Of(ns)
		if _, read := written.Of(ns); !read || known {
			continue
		}
		g := source.CoverageGaps("listing secrets", source.CoveredIn(nil, source.Failure{}).With(ns, &failure), "")[0]
		return fmt.Errorf("reading the values of Secrets, to mask them: %s: %s: take the snapshot again", g.What,
			g.Why())
	}
	return nil
}

// captured records a kind in the manifest.
func (t *taking) captured(c capture, objects int, cover source.Coverage) {
	k := format.Captured{Group: c.Group, Version: c.Version, Kind: c.Kind.Kind, Objects: objects,
		LabelSelector: c.query.LabelSelector}
	k.State(cover)
	t.manifest.Captured = append(t.manifest.Captured, k)
	t.unread(c.query.Kind, c.resource(), cover)
	if len(c.not) > 0 {
		t.manifest.Gaps = append(t.manifest.Gaps, format.Gap{Gap: source.Gap{
			What:   c.resource() + " in the versions " + strings.Join(c.not, ", "),
			Reason: string(source.NotInSnapshot),
			Detail: "each object is captured in one version, " + c.GroupVersion().String(),
			Effect: "fields of the other versions cannot be compared"}})
	}
}

// unread records in the manifest what could not be read of a kind.
func (t *taking) unread(kind schema.GroupVersionKind, resource string, cover source.Coverage) {
	effect := "objects of this kind may be absent"
	if kind == secretKind && !t.learned.Whole() {
		effect += ", and values of Secrets in them are not masked in other objects"
	}
	for _, g := range source.CoverageGaps("listing "+resource, cover, effect) {
		// A capture may leave out kinds, but without all Secrets it has values that are not masked.
		if kind == secretKind || g.Reason != string(source.NotInSnapshot) && g.Reason != string(source.KindNotServed) {
			t.manifest.Gaps = append(t.manifest.Gaps, format.Gap{Gap: g, Listed: true})
		}
	}
}

// complete fills the rest of the manifest.
func (t *taking) complete() {
	m, d, f := &t.manifest, t.description, t.found.Desired.Fleet
	m.APIVersion, m.Kind = format.ManifestAPIVersion, format.ManifestKind
	m.TakenAt, m.Earliest, m.Complete, m.Notes = d.TakenAt, d.Earliest, !d.Partial(), d.Notes
	m.Versions = format.Versions{Tool: t.options.Version, Kubernetes: d.KubernetesVersion,
		FleetController: f.ControllerVersion, FleetAgents: map[string]string{}}
	for _, c := range t.found.Desired.Clusters {
		for ns, w := range c.State.Workloads {
			m.Versions.FleetAgents[ns] = w.Version
		}
	}
	own := []format.Gap{}
	for _, g := range d.Gaps {
		own = append(own, format.Gap{Gap: g})
	}
	m.Gaps = append(own, m.Gaps...)
	for _, k := range t.kinds.All() {
		m.Resources = append(m.Resources, resource(k))
	}
	for _, k := range t.kinds.Every() {
		if preferred, _ := t.kinds.Preferred(k.GroupKind()); preferred.Version != k.Version {
			m.Resources = append(m.Resources, resource(k))
		}
	}
	for gv, failure := range t.kinds.Broken() {
		if m.UnknownGroups == nil {
			m.UnknownGroups = map[string]source.Failure{}
		}
		m.UnknownGroups[gv.String()] = failure
	}
	m.NotListed = t.kinds.Missing()
	m.Masked = &format.Masked{Objects: t.masked, Values: t.masker.Values()}
	m.Bundles = t.options.Bundles
	m.Unmasked = &t.results
	t.keepResults(f)
	t.maskFailures()
}

// maskFailures masks the messages of servers, which may quote a value.
func (t *taking) maskFailures() {
	masks := t.masker.Object(object.Key{Kind: format.ManifestKind})
	m := &t.manifest
	for i := range m.Gaps {
		m.Gaps[i].Detail, m.Gaps[i].What = masks.Text(m.Gaps[i].Detail), masks.Text(m.Gaps[i].What)
	}
	for i := range m.Captured {
		c := &m.Captured[i]
		maskAll(masks, c.Failures)
		if c.Elsewhere != nil {
			c.Elsewhere.Detail = masks.Text(c.Elsewhere.Detail)
		}
	}
	maskAll(masks, m.UnknownGroups)
	m.NotListed.Detail = masks.Text(m.NotListed.Detail)
	for i, note := range m.Notes {
		m.Notes[i] = masks.Text(note)
	}
}

func maskAll(masks *secret.ObjectMask, failures map[string]source.Failure) {
	for name, f := range failures {
		f.Detail = masks.Text(f.Detail)
		failures[name] = f
	}
}

func resource(k source.Kind) format.Resource {
	return format.Resource{Group: k.Group, Version: k.Version, Kind: k.Kind, Name: k.Resource, ShortNames: k.ShortNames,
		Namespaced: k.Namespaced}
}

// SPDX-License-Identifier: Apache-2.0

// Package snapshot takes a snapshot of a source: an archive with one file for each object that an audit reads, in which the values of Secrets are
// masked, and a manifest. An audit of the snapshot has the result of an audit of the source.
//
// The source is read three times: by an audit, which shows what must be read, to find the values of Secrets, and to write the objects. Objects are
// written one by one.
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

	"github.com/tidwall/pretty"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/snapshot/mask"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	format "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Options of a snapshot.
type Options struct {
	// Namespace is a workspace that is read too if reading all namespaces is forbidden.
	Namespace string
	// Version is the version of the program.
	Version string
	// Renderer and Pause are those of the audit that shows what must be read.
	Renderer collect.Renderer
	Pause    func(context.Context) error
	// Progress receives the progress; nil if it is not needed.
	Progress func(collect.Progress)
}

// Take writes a snapshot of a source to out and returns its manifest. An error means that the archive is not complete. A kind that could not be read
// is a gap.
func Take(ctx context.Context, src source.Source, out io.Writer, o Options) (*format.Manifest, error) {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it never returns an error. Nobody can compute the HMAC of a guessed value, because the key is not kept.
	t := &taking{Source: src, options: o, masker: mask.New(key)}
	if err := t.audit(ctx); err != nil {
		return nil, err
	}
	if err := t.learn(ctx); err != nil {
		return nil, err
	}
	a := newArchive(out, t.description.TakenAt)
	if err := t.write(ctx, a); err != nil {
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

// taking is one call of Take.
type taking struct {
	source.Source
	options     Options
	masker      *mask.Masker
	description source.Description
	kinds       *source.Kinds
	found       *audit.Audit
	plan        []capture
	learned     map[schema.GroupVersionKind]source.Coverage // the kinds whose values of Secrets are known
	manifest    format.Manifest
	doing       string
	objects     int // processed so far
}

// audit runs an audit to find out what it reads.
func (t *taking) audit(ctx context.Context) error {
	r := newRecorder(t.Source, t.options.Namespace, t.masker.Name)
	var err error
	// A bundle that is not deployed yet has no release: its kinds follow from its contents.
	t.found, err = audit.Run(ctx, r, audit.Options{Desired: audit.DesiredAuto, Version: t.options.Version, Renderer: t.options.Renderer,
		Pause: t.options.Pause, Progress: t.options.Progress})
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
	t.masker.KubeConfigs = map[string]bool{}
	f := t.found.Desired.Fleet
	for _, c := range f.Clusters {
		if key := state.KubeConfigKey(c); key != "" {
			t.masker.KubeConfigs[key] = true
		}
	}
	for _, address := range f.Addresses() {
		t.masker.Name(address)
	}
	return nil
}

// learn reads the values of Secrets.
func (t *taking) learn(ctx context.Context) error {
	t.learned = map[schema.GroupVersionKind]source.Coverage{}
	for _, c := range t.plan {
		if !c.states() {
			continue
		}
		t.progress("reading the values of Secrets, to mask them")
		cover, err := t.List(ctx, c.query, func(o source.Object) error {
			t.object()
			if raw, err := whole(o); err == nil { // an object that cannot be decoded is not written either
				_ = t.masker.Learn(raw)
			}
			return nil
		})
		if err != nil {
			return err
		}
		t.learned[c.query.Kind] = cover
	}
	return t.masker.Ready()
}

// write writes the objects.
func (t *taking) write(ctx context.Context, a *archive) error {
	t.manifest.Captured = []format.Captured{}
	if _, planned := t.learned[secretKind]; !planned {
		_, failure, _ := t.kinds.Lookup(secretKind)
		t.unread(secretKind, "secrets", source.NotCovered(failure))
	}
	for _, c := range t.plan {
		t.progress("writing " + c.resource())
		n, bad := 0, 0
		cover, err := t.List(ctx, c.query, func(o source.Object) error {
			t.object()
			name, text, ok := t.file(c, o)
			if !ok {
				bad++
				return nil
			}
			n++
			return a.add(name, text)
		})
		if err == nil {
			err = t.checkLearned(c, cover)
		}
		if err != nil {
			return err
		}
		if bad > 0 {
			cover = source.NotCovered(source.Failure{Reason: source.ReadFailed, Detail: fmt.Sprintf("%d of the objects could not be decoded", bad)})
		}
		t.captured(c, n, cover)
	}
	return nil
}

// checkLearned returns an error if objects of a kind were written that could not be read when the values of Secrets were learned: other objects may
// have these values, and the manifest would not state it.
func (t *taking) checkLearned(c capture, written source.Coverage) error {
	learned, stated := t.learned[c.query.Kind]
	if !stated {
		return nil
	}
	for _, ns := range slices.Concat(slices.Sorted(maps.Keys(learned.Failures())), written.Namespaces()) {
		failure, known := learned.Of(ns)
		if _, read := written.Of(ns); !read || known {
			continue
		}
		g := source.CoverageGaps("listing "+c.resource(), source.CoveredIn(nil, source.Failure{}).With(ns, &failure), "")[0]
		return fmt.Errorf("reading the values of Secrets, to mask them: %s: %s: take the snapshot again", g.What, g.Why())
	}
	return nil
}

// file returns the name and the text of the file of an object; ok is false if the object cannot be decoded.
func (t *taking) file(c capture, o source.Object) (name string, text []byte, ok bool) {
	m, err := o.ReadMeta()
	if err != nil {
		return "", nil, false
	}
	name = fileName(c.resource(), m.Metadata.Namespace, m.Metadata.Name)
	raw, err := whole(o)
	if err == nil {
		raw, err = t.masker.Mask(raw)
	}
	if err != nil {
		return "", nil, false
	}
	return name, pretty.PrettyOptions(raw, &pretty.Options{Indent: "  "}), true // json.Indent needs several times as long
}

// captured records a kind in the manifest.
func (t *taking) captured(c capture, objects int, cover source.Coverage) {
	k := format.Captured{Group: c.Group, Version: c.Version, Kind: c.Kind.Kind, Objects: objects, LabelSelector: c.query.LabelSelector}
	k.State(cover)
	t.manifest.Captured = append(t.manifest.Captured, k)
	t.unread(c.query.Kind, c.resource(), cover)
	if len(c.not) > 0 {
		t.manifest.Gaps = append(t.manifest.Gaps, format.Gap{Gap: source.Gap{What: c.resource() + " in the versions " + strings.Join(c.not, ", "),
			Reason: string(source.NotInSnapshot), Detail: "each object is captured in one version, " + c.GroupVersion().String(),
			Effect: "fields of the other versions cannot be compared"}})
	}
}

// unread records in the manifest what could not be read of a kind.
func (t *taking) unread(kind schema.GroupVersionKind, resource string, cover source.Coverage) {
	effect := "objects of this kind may be absent"
	learned, states := t.learned[kind]
	if states = states || kind == secretKind; states && !learned.Whole() {
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
	m.Versions = format.Versions{Tool: t.options.Version, Kubernetes: d.KubernetesVersion, FleetController: f.ControllerVersion, FleetAgents: map[string]string{}}
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
	m.Masked = &format.Masked{}
	m.Masked.Objects, m.Masked.Values = t.masker.Masked()
	m.Unmasked = &t.masker.Unmasked
	t.results(f)
}

func resource(k source.Kind) format.Resource {
	return format.Resource{Group: k.Group, Version: k.Version, Kind: k.Kind, Name: k.Resource, ShortNames: k.ShortNames, Namespaced: k.Namespaced}
}

// results adds the results of the audit that masking changes, and those that an earlier snapshot states.
func (t *taking) results(f *state.Fleet) {
	u := t.manifest.Unmasked
	if before := t.description.Unmasked; before != nil {
		u.Contents, u.Records, u.Bundles = merged(u.Contents, before.Contents), merged(u.Records, before.Records), merged(u.Bundles, before.Bundles)
	}
	for _, b := range f.Bundles {
		key := b.Namespace + "/" + b.Name
		if result, ok := u.Bundles[key]; ok {
			result.Size = b.Size
			u.Bundles[key] = result
		}
	}
	if f.Values == nil {
		return
	}
	hashes := map[string]bool{} // those that the owners state
	for _, bd := range f.BundleDeployments {
		hashes[bd.Spec.ValuesHash] = true
	}
	for _, b := range f.Bundles {
		hashes[b.Spec.ValuesHash] = true
	}
	secrets := maps.Clone(f.Values.Secrets)
	for k, again := range f.Values.Again {
		if again.Read && again.Secret != nil {
			secrets[k] = again.Secret
		}
	}
	u.ValuesSecrets = map[string]source.ValuesResult{}
	for k, s := range secrets {
		if !s.HashKnown {
			continue
		}
		result := source.ValuesResult{Emptied: s.Emptied}
		if hashes[s.Hash] {
			result.Hash = s.Hash
		}
		u.ValuesSecrets[source.ValuesName(k.Type, k.Namespace, k.Name)] = result
	}
}

// merged returns results of which the earlier ones take precedence, because the later ones are those of masked data.
func merged[V any](later, earlier map[string]V) map[string]V {
	out := map[string]V{}
	maps.Copy(out, later)
	maps.Copy(out, earlier)
	return out
}

// whole returns the JSON of an object with its apiVersion, kind and managedFields, which a source may keep apart.
func whole(o source.Object) ([]byte, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(o.Raw, &object); err != nil {
		return nil, err
	}
	apiVersion, kind := o.Kind.ToAPIVersionAndKind()
	for key, v := range map[string]string{"apiVersion": apiVersion, "kind": kind} {
		text, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		object[key] = text
	}
	if len(o.ManagedFields) > 0 {
		var meta map[string]json.RawMessage
		if err := json.Unmarshal(object["metadata"], &meta); err != nil {
			return nil, err
		}
		meta["managedFields"] = slices.Clone(o.ManagedFields)
		text, err := json.Marshal(meta)
		if err != nil {
			return nil, err
		}
		object["metadata"] = text
	}
	return json.Marshal(object)
}

// reportEvery is the number of objects between two reports of the progress.
const reportEvery = 256

func (t *taking) object() {
	if t.objects++; t.objects%reportEvery == 0 {
		t.progress(t.doing)
	}
}

func (t *taking) progress(doing string) {
	t.doing = doing
	if t.options.Progress != nil {
		t.options.Progress(collect.Progress{Doing: doing, Objects: t.objects})
	}
}

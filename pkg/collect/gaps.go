// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/targeting"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/values"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// ErrNoFleet is returned if no trace of Fleet was found. The message names the source.
var ErrNoFleet = errors.New("no Fleet found here")

// ErrNothingRead is returned if Fleet may be installed, but nothing of it could be read.
var ErrNothingRead = errors.New("no object of Fleet could be read")

// PlaceText names a source in errors.
func PlaceText(d source.Description) string {
	if d.Origin == source.OriginSnapshot {
		return strings.Join(d.Paths, ", ")
	}
	return d.Server
}

// NothingRead returns the error that a gap leaves no object of Fleet in a place.
func NothingRead(where string, g source.Gap) error {
	return fmt.Errorf("%w in %s: %s: %s", ErrNothingRead, where, strings.TrimPrefix(g.What, where+": "), g.Why())
}

// OrUnread adds to the error that an object was not found the first gap of a damaged source, which may have lost the
// object.
func OrUnread(err error, d source.Description) error {
	if err == nil || len(d.Gaps) == 0 {
		return err
	}
	if each, several := errors.AsType[evaluate.Errors](err); several {
		out := make(evaluate.Errors, len(each))
		for i, one := range each {
			out[i] = OrUnread(one, d)
		}
		return out
	}
	return fmt.Errorf("%w; it may exist, because not everything could be read: %s: %s", err, d.Gaps[0].What,
		d.Gaps[0].Why())
}

// FleetGaps returns the gaps for Fleet's own objects of some kinds; without kinds, for all. within returns the
// namespaces of a kind that are in scope, nil for all.
func FleetGaps(f *state.Fleet, within func(kind string) []string, kinds ...string) []source.Gap {
	var out []source.Gap
	for _, kind := range state.Kinds {
		if len(kinds) > 0 && !slices.Contains(kinds, kind.Name) {
			continue
		}
		effect := "the status that Fleet reports is not known"
		if kind.Name == state.BundleDeployment {
			effect = "it is not known what is deployed"
		}
		cover := f.Needed(kind.Name).Within(within(kind.Name))
		out = append(out, source.CoverageGaps("listing "+kind.Name+" objects", cover, effect)...)
	}
	return out
}

// Everywhere is the scope of verbs without one.
func Everywhere(string) []string { return nil }

// MappingGaps returns the gap for BundleNamespaceMappings, or for the labels of Namespaces that they select, if targets
// may depend on them: a bundle and a cluster are in different namespaces. within returns the namespaces of a kind that
// are in scope, nil for all. A capture that has none is not a gap.
func MappingGaps(f *state.Fleet, within func(kind string) []string) []source.Gap {
	var out []source.Gap
	for _, x := range []struct {
		kind string
		need bool
	}{{state.BundleNamespaceMapping, mapped(f)}, {state.Namespace, f.NeedsNamespaces()}} {
		cover := f.Coverage[x.kind].Within(within(x.kind))
		if reason := cover.Failures()["*"].Reason; !x.need || reason == source.KindNotServed ||
			reason == source.NotInSnapshot {
			continue
		}
		out = append(out, source.CoverageGaps("listing "+x.kind+" objects", cover,
			"it is not known whether bundles target clusters in other namespaces")...)
	}
	return out
}

// mapped reports whether a mapping that was not read could add a cluster to the targets of a bundle.
func mapped(f *state.Fleet) bool {
	workspaces := f.Workspaces()
	return slices.ContainsFunc(f.Bundles, func(b *v1alpha1.Bundle) bool {
		others := len(workspaces) > 1 || len(workspaces) == 1 && !workspaces[b.Namespace]
		return others && !targeting.IsAgentBundle(b) && !f.Read(state.BundleNamespaceMapping, b.Namespace)
	})
}

// SecretMemory remembers how the values of Secrets begin, so that only those Secrets are read again that a document may
// quote. One reader at a time may use it.
type SecretMemory struct {
	secrets map[types.NamespacedName]rememberedSecret
}

// rememberedSecret is a Secret in one version.
type rememberedSecret struct {
	version    string
	helmValues bool
	beginnings secret.Beginnings
}

// search is one search of all Secrets. What it does not find does not exist any more.
type search struct {
	memory     *SecretMemory
	quotes     *secret.Quotes
	helmValues map[string]bool // as in QuotedOptions
	found      map[types.NamespacedName]rememberedSecret
}

// remembered reports whether the texts are known not to quote a Secret in a version.
func (s *search) remembered(namespace, name, version string) bool {
	id := types.NamespacedName{Namespace: namespace, Name: name}
	known, ok := s.memory.secrets[id]
	if !ok || known.version != version {
		return false
	}
	if s.helmValues[id.String()] && !known.helmValues {
		return false // more of it can be quoted now
	}
	if s.quotes.MayQuote(known.beginnings) {
		return false
	}
	s.found[id] = known
	return true
}

// mayQuote reports whether the texts may quote a Secret, which is remembered.
func (s *search) mayQuote(m *object.Meta, content object.Content, helmValues bool) bool {
	if s.memory == nil {
		return true
	}
	beginnings := secret.BeginningsOf(content, helmValues)
	id := types.NamespacedName{Namespace: m.Metadata.Namespace, Name: m.Metadata.Name}
	s.found[id] = rememberedSecret{m.Metadata.ResourceVersion, helmValues, beginnings}
	return s.quotes.MayQuote(beginnings)
}

// QuotedOptions select the values of Secrets that must not be shown.
type QuotedOptions struct {
	// Quotes are the texts of the document.
	Quotes *secret.Quotes
	// Except are values that are not secret.
	Except map[string]bool
	// HelmValues are the Secrets ("namespace/name") that valuesFrom of a bundle names.
	HelmValues map[string]bool
	// Namespaces are listed if listing all of them is forbidden.
	Namespaces []string
	// Memory has what earlier searches of the same cluster found; nil if nothing is remembered.
	Memory *SecretMemory
}

// QuotedSecrets lists all Secrets except release records and adds the values that the document may quote. The
// coverage does not include a namespace in which another program masked values.
func (r *Reader) QuotedSecrets(ctx context.Context, o QuotedOptions) (source.Coverage, error) {
	r.progress.Start("reading Secrets, to hide their values")
	q := source.Query{Kind: secretKind, FieldSelector: "type!=" + release.SecretType, Fallback: o.Namespaces}
	search := search{o.Memory, o.Quotes, o.HelmValues, map[types.NamespacedName]rememberedSecret{}}
	if o.Memory != nil {
		q.Remembered = search.remembered
	}
	masked := map[string]bool{}
	cover, err := r.list(ctx, q, func(s source.Object) error {
		if s.Remembered {
			return nil
		}
		content, _, err := object.Decode(s.Raw)
		if err != nil {
			return err
		}
		meta, err := s.ReadMeta()
		if err != nil {
			return err
		}
		m := meta.Metadata
		secretType := content["type"]
		helmValues := secretType == values.BundleType || secretType == values.DeploymentType ||
			o.HelmValues[m.Namespace+"/"+m.Name]
		if search.mayQuote(meta, content, helmValues) {
			r.Secrets.AddQuoted(content, o.Quotes, o.Except, helmValues)
		}
		if r.Description.Partial() && secret.MaskedSecret(content) {
			masked[m.Namespace] = true
		}
		return nil
	})
	if o.Memory != nil {
		o.Memory.secrets = search.found
	}
	for namespace := range masked {
		cover = cover.With(namespace, &source.Failure{Reason: source.NotInSnapshot,
			Detail: "the values of a Secret are masked"})
	}
	return cover, err
}

// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/values"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Values reads the values Secrets of a management cluster. It keeps their hashes, types, owners and times, and no
// value. workspace limits the gaps to the owners in a workspace; empty for all.
func (r *Reader) Values(ctx context.Context, f *state.Fleet, workspace string) (*state.Values, []source.Gap, error) {
	if len(f.BundleDeployments)+len(f.Bundles) == 0 {
		return nil, nil, nil
	}
	v := valuesReader{reader: r, fleet: f, out: &state.Values{
		Captured: r.Description.Partial(),
		Secrets:  map[state.ValuesKey]*values.Secret{},
		Coverage: map[string]source.Coverage{}}}
	g, lists := errgroup.WithContext(ctx)
	for _, secretType := range []string{values.DeploymentType, values.BundleType} {
		g.Go(func() error { return v.list(lists, secretType) })
	}
	if err := g.Wait(); err != nil {
		return nil, nil, err
	}
	if v.out.Captured {
		if err := v.others(ctx); err != nil {
			return nil, nil, err
		}
	}
	return v.out, v.gaps(workspace), nil
}

// valuesReader fills a state.Values.
type valuesReader struct {
	reader *Reader
	fleet  *state.Fleet
	mu     sync.Mutex // guards out
	out    *state.Values
}

// list lists the values Secrets of a type.
func (v *valuesReader) list(ctx context.Context, secretType string) error {
	var namespaces []string
	for k, owner := range v.owners() {
		if k.Type == secretType && owner.Hash != "" {
			namespaces = append(namespaces, k.Namespace)
		}
	}
	slices.Sort(namespaces)
	q := source.Query{Kind: secretKind, FieldSelector: "type=" + secretType, Fallback: slices.Compact(namespaces)}
	cover, err := v.reader.list(ctx, q, func(o source.Object) error {
		k, s, err := v.secret(o, secretType)
		if err == nil {
			v.mu.Lock()
			defer v.mu.Unlock()
			v.out.Secrets[k] = s
		}
		return err
	})
	v.mu.Lock()
	defer v.mu.Unlock()
	v.out.Coverage[secretType] = cover
	return err
}

// secret reads a Secret that takes the place of a Secret of a type, and discards its values.
func (v *valuesReader) secret(o source.Object, secretType string) (state.ValuesKey, *values.Secret, error) {
	m, err := o.ReadMeta()
	if err != nil {
		return state.ValuesKey{}, nil, err
	}
	var raw struct {
		Type string         `json:"type"`
		Data jsontext.Value `json:"data"`
	}
	if err := object.Into(o.Raw, &raw); err != nil {
		return state.ValuesKey{}, nil, err
	}
	managed := managedFields(o)
	out := &values.Secret{Type: raw.Type, Version: m.Metadata.ResourceVersion,
		Deleting: m.Metadata.DeletionTimestamp != "", Changed: state.LastChange(managed)}
	out.Editor, out.Edited = state.LastEditor(managed)
	for _, owner := range m.Metadata.OwnerReferences {
		out.OwnerKind, out.OwnerUID = owner.Kind, owner.UID
	}
	var data map[string][]byte
	if len(raw.Data) == 0 || object.Into(raw.Data, &data) == nil {
		out.Hash, err = values.Hash(secretType, data)
		masked := v.reader.Description.Origin == source.OriginSnapshot && values.Masked(secretType, data)
		out.HashKnown = err == nil && !masked && !o.Partial
		out.Emptied = out.HashKnown && values.LostValues(secretType, data)
	}
	if before, known := v.reader.Description.Unmasked.Values(secretType, m.Metadata.Namespace, m.Metadata.Name); known {
		out.Hash, out.HashKnown, out.Emptied = before.Hash, true, before.Emptied
	}
	return state.ValuesKey{Type: secretType, Namespace: m.Metadata.Namespace, Name: m.Metadata.Name}, out, nil
}

// managedFields returns the entries of an object; nil if it has none, or if they could not be decoded.
func managedFields(o source.Object) []metav1.ManagedFieldsEntry {
	var in struct {
		Metadata struct {
			ManagedFields []metav1.ManagedFieldsEntry `json:"managedFields"`
		} `json:"metadata"`
	}
	if len(o.ManagedFields) > 0 {
		if object.Into(o.ManagedFields, &in.Metadata.ManagedFields) != nil {
			return nil
		}
	} else if object.Into(o.Raw, &in) != nil {
		return nil
	}
	return in.Metadata.ManagedFields
}

// owners returns the BundleDeployments and Bundles by the key of their values Secret.
func (v *valuesReader) owners() map[state.ValuesKey]values.Owner {
	out := map[state.ValuesKey]values.Owner{}
	for _, bd := range v.fleet.BundleDeployments {
		out[state.DeploymentKey(bd)] = state.DeploymentOwner(bd, nil)
	}
	for _, b := range v.fleet.Bundles {
		out[state.BundleKey(b)] = state.BundleOwner(b)
	}
	return out
}

// others reads the other Secrets of a capture if one is missing. A Secret of another type can have its name. If only
// Secrets that an audit needs were captured, by their type or name, a values Secret is not missing: it was not
// captured.
func (v *valuesReader) others(ctx context.Context) error {
	missing := map[[2]string]string{}
	for k, owner := range v.owners() {
		f := v.out.Facts(k, owner)
		needed := owner.Hash != "" && !owner.Deleting
		if needed && f.Read && f.Secret == nil {
			missing[[2]string{k.Namespace, k.Name}] = k.Type
		}
	}
	if len(missing) == 0 {
		return nil
	}
	selected := true
	namespaces := map[string]bool{}
	_, err := v.reader.Source.List(ctx, source.Query{Kind: secretKind, FieldSelector: "type!=" + release.SecretType},
		func(o source.Object) error {
			if m, err := o.ReadMeta(); err == nil { // a damaged object is a gap of the snapshot
				selected, namespaces[m.Metadata.Namespace] = selected && m.Metadata.Name == fleet.AgentName, true
				if secretType := missing[[2]string{m.Metadata.Namespace, m.Metadata.Name}]; secretType != "" {
					if k, s, err := v.secret(o, secretType); err == nil {
						v.out.Secrets[k] = s
					}
				}
			}
			return nil
		})
	if selected {
		v.cover(source.NotCovered(source.Failure{Reason: source.NotInSnapshot,
			Detail: "only Secrets of agents and releases were captured"}))
		// those of kubectl get -n: the controller and each Cluster have Secrets in other ones
	} else if len(namespaces) == 1 && len(v.fleet.Clusters) > 0 {
		v.cover(source.CoveredIn(slices.Collect(maps.Keys(namespaces)), source.Failure{Reason: source.NotInSnapshot,
			Detail: "only Secrets of one namespace were captured"}))
	}
	return err
}

// cover sets the coverage of all types.
func (v *valuesReader) cover(c source.Coverage) {
	for secretType := range v.out.Coverage {
		v.out.Coverage[secretType] = c
	}
}

// gaps returns the gaps for the needed Secrets that could not be read or have no data.
func (v *valuesReader) gaps(workspace string) []source.Gap {
	var out []source.Gap
	inScope := map[string][]string{ // nil for all namespaces
		values.DeploymentType: v.fleet.InWorkspace(state.BundleDeployment, workspace),
		values.BundleType:     v.fleet.InWorkspace(state.Bundle, workspace),
	}
	masked := 0
	unread := map[string]bool{}
	for k, owner := range v.owners() {
		if owner.Hash == "" || owner.Deleting {
			continue
		}
		if in := inScope[k.Type]; in != nil && !slices.Contains(in, k.Namespace) {
			continue
		}
		f := v.out.Facts(k, owner)
		unread[k.Type] = unread[k.Type] || !f.Read
		s := f.Secret
		if s == nil || s.HashKnown {
			continue
		}
		if s.Type == k.Type || s.Type == "" {
			masked++
		}
	}
	const effect = "it is not known whether each of them exists and has the right hash"
	for _, secretType := range []string{values.DeploymentType, values.BundleType} {
		if !unread[secretType] {
			continue
		}
		for _, gap := range source.CoverageGaps("listing values Secrets", v.out.Coverage[secretType], effect) {
			if !slices.Contains(out, gap) {
				out = append(out, gap)
			}
		}
	}
	if masked > 0 {
		out = append(out, source.Gap{What: "values Secrets", Reason: string(source.NotInSnapshot),
			Detail: fmt.Sprintf("the values of %d are masked in the snapshot", masked),
			Effect: "it is not known whether they have the right hash"})
	}
	return out
}

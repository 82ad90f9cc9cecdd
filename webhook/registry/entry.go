// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"slices"
	"strings"
	"unique"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

// Release is one revision of a release that Fleet's agent installed.
type Release struct {
	release.Name
	// Bundle is the name of its BundleDeployment.
	Bundle string
	// AgentNamespace is where the agent lives, and ServiceAccount as which of the accounts there Helm ran, where not as the agent's own.
	AgentNamespace, ServiceAccount string
	// Want are the marks that the manifest's objects carry, and Helm's.
	Want ownership.Marks
	// Objects is how many distinct objects it desires.
	Objects int
}

// Entry is a release record reduced to what the registry keeps of it.
type Entry struct {
	Release
	deployed, pending, damaged bool
	keys                       []key
}

// Known is the entry of a record that can matter to no object: one of a superseded revision, or of a release that is none of Fleet's. It
// still says that the release is there.
func Known(n release.Name) *Entry { return &Entry{Release: Release{Name: n}} }

// Damaged is the entry of a record that could not be read.
func Damaged(n release.Name) *Entry { return &Entry{Release: Release{Name: n}, damaged: true} }

// key is an object's identity, made small: what many objects share is kept once. The namespace is that of the release where the manifest
// states none.
type key struct {
	place unique.Handle[place]
	name  string
}

type place struct{ group, kind, namespace string }

func keyOf(k object.Key) key {
	return key{unique.Make(place{k.Group, k.Kind, k.Namespace}), k.Name}
}

// Read reduces a record, given as the value of its Secret under release.DataKey. Errors do not quote the record.
func Read(value []byte) (*Entry, error) {
	r, err := release.Decode(value)
	if err != nil {
		return nil, err
	}
	deployed, pending := r.Status == release.StatusDeployed, r.Pending()
	if r.BundleID == "" || !deployed && !pending {
		return Known(r.Name), nil
	}
	objects, err := r.Heads()
	if err != nil {
		return nil, err
	}
	e := &Entry{deployed: deployed, pending: pending, Release: Release{Name: r.Name, Bundle: r.BundleID,
		AgentNamespace: r.AgentNamespace, ServiceAccount: r.ServiceAccount, Want: wanted(r, objects)}}
	seen := map[key]bool{}
	for _, o := range objects {
		k := o.Key()
		k.Name = strings.Clone(k.Name) // and not all of the manifest with it
		var unplaced *key
		if k.Namespace == "" {
			// Whether it is cluster-scoped the record does not say, and no two objects differ in that alone.
			bare := keyOf(k)
			k.Namespace, unplaced = r.Namespace, &bare
		}
		if placed := keyOf(k); !seen[placed] {
			seen[placed] = true
			e.keys = append(e.keys, placed)
			e.Objects++
			if unplaced != nil && !seen[*unplaced] {
				seen[*unplaced] = true
				e.keys = append(e.keys, *unplaced)
			}
		}
	}
	e.keys = slices.Clip(e.keys)
	return e, nil
}

// wanted are the marks of a release's objects. Fleet's stand in the manifest: they were made with the agent's scope, which nobody else needs
// to know (Fleet's facts, ownership 1.3).
func wanted(r *release.Record, objects []release.Object) ownership.Marks {
	want := ownership.Marks{ManagedBy: fleet.ManagedByHelm, ReleaseName: r.Name.Name, ReleaseNamespace: r.Namespace}
	for _, o := range objects {
		m, err := object.ReadMeta(o.Raw)
		if err != nil {
			continue
		}
		if marks := ownership.MarksOf(m.Metadata.Labels, m.Metadata.Annotations); marks.Hash != "" && marks.SetID != "" {
			want.Hash, want.SetID = marks.Hash, marks.SetID
			break
		}
	}
	return want
}

// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"errors"
	"slices"
	"strings"
	"unique"

	"k8s.io/apimachinery/pkg/util/validation"

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
	// Agents are who deploys it: that of this revision first, then that of the other one that counts, if one does.
	Agents []Agent
	// Want are the marks that the manifest's objects carry, and Helm's.
	Want ownership.Marks
	// Objects is how many distinct objects it desires.
	Objects int
	// Leaving says that Helm is taking it away: its objects are still its own, and none becomes so any more.
	Leaving bool
}

// Agent is where an agent lives, and as which of the service accounts there Helm ran, where not as the agent's own.
type Agent struct{ Namespace, ServiceAccount string }

// Entry is a release record reduced to what the registry keeps of it.
type Entry struct {
	Release
	// Bytes is about how much memory what it desires takes, in the registry too.
	Bytes int

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
	// Of a release that is being uninstalled the last deployed record says so.
	leaving := r.Status == release.StatusUninstalling
	deployed, pending := r.Status == release.StatusDeployed || leaving, r.Pending()
	if r.BundleID == "" || !deployed && !pending {
		return Known(r.Name), nil
	}
	if err := named(r); err != nil {
		return nil, err
	}
	objects, err := r.ObjectMetadata()
	if err != nil {
		return nil, err
	}
	e := &Entry{deployed: deployed, pending: pending, Release: Release{Name: r.Name, Bundle: r.BundleID, Leaving: leaving,
		Agents: []Agent{{r.AgentNamespace, r.ServiceAccount}}, Want: wanted(r, objects)}}
	seen := map[key]bool{}
	add := func(k object.Key) (added bool) {
		short := keyOf(k)
		if added = !seen[short]; added {
			seen[short] = true
			e.keys = append(e.keys, short)
		}
		return added
	}
	for _, o := range objects {
		k := o.Key()
		if !possible(k) || strings.HasSuffix(k.Name, "-") && generated(o) {
			continue // there is no such object, or its name is not known yet
		}
		k.Name = strings.Clone(k.Name) // and not all of the manifest with it
		if k.Namespace == "" {
			k.Namespace = r.Namespace
		}
		if add(k) {
			e.Objects++
		}
		// Whether its kind is cluster-scoped the record does not say, whatever namespace a chart states. No namespaced object is asked for
		// without one.
		k.Namespace = ""
		add(k)
	}
	e.keys = slices.Clone(e.keys) // without the room to grow
	e.Bytes = bytesOf(e.keys)
	return e, nil
}

// possible says whether the API could have an object that is called so. What is longer would only take memory.
func possible(k object.Key) bool {
	const label, subdomain = validation.DNS1123LabelMaxLength, validation.DNS1123SubdomainMaxLength
	return k.Name != "" && len(k.Name) <= subdomain && len(k.Group) <= subdomain && len(k.Kind) <= label && len(k.Namespace) <= label
}

// keySize and placeSize are what one takes beside its text, in bytes, with what the maps have free: measured, and rounded up.
const keySize, placeSize = 100, 300

func bytesOf(keys []key) (n int) {
	places := map[unique.Handle[place]]bool{}
	for _, k := range keys {
		n += keySize + len(k.name)
		if p := k.place.Value(); !places[k.place] {
			places[k.place] = true
			n += placeSize + len(p.group) + len(p.kind) + len(p.namespace)
		}
	}
	return n
}

// errUnnamed is said of a record whose chart names what cannot be there. What it says is not repeated.
var errUnnamed = errors.New("it names a bundle, an agent's namespace or a service account as none can be called")

// named says whether what a chart's annotations name could be there: it is told to others.
func named(r *release.Record) error {
	for _, name := range []string{r.BundleID, r.AgentNamespace, r.ServiceAccount} {
		if name != "" && len(validation.IsDNS1123Subdomain(name)) > 0 {
			return errUnnamed
		}
	}
	return nil
}

// generated says whether an object has no name but what one is to begin with.
func generated(o release.Object) bool {
	m, err := object.ReadMeta(o.Raw)
	return err != nil || m.Metadata.Name == ""
}

// maxSetID bounds the ids that Fleet makes (Fleet's facts, ownership 1.1).
const maxSetID = 63

// wanted are the marks of a release's objects. Fleet's stand in the manifest: they were made with the agent's scope, which nobody else needs
// to know (Fleet's facts, ownership 1.3).
func wanted(r *release.Record, objects []release.Object) ownership.Marks {
	want := ownership.Marks{ManagedBy: fleet.ManagedByHelm, ReleaseName: r.Name.Name, ReleaseNamespace: r.Namespace}
	for _, o := range objects {
		m, err := object.ReadMeta(o.Raw)
		if err != nil {
			continue
		}
		// Of an agent's set the hash is that of the id; anybody might write something else into a record, and have it written on.
		if marks := ownership.MarksOf(m.Metadata.Labels, m.Metadata.Annotations); len(marks.SetID) <= maxSetID && marks.Hash == fleet.Hash(marks.SetID) {
			want.Hash, want.SetID = marks.Hash, marks.SetID
			break
		}
	}
	return want
}

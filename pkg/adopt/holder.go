// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/resolve"
)

// Holder is somebody else whom an object's marks name, or who wants it too.
type Holder struct {
	Situation Situation
	Title     string   // "bundle deployment cluster-a/web"
	names     []string // what --dangerous-take-from may call him
	// bundle is set where a bundle deployment holds the object now, and will say that it is not owned.
	bundle *resolve.BundleDeployment
}

// Holders finds everybody but d who is named by the object's marks, in the order of the marks, and everybody else who wants it.
func Holders(d *resolve.BundleDeployment, o *evaluate.Object) []Holder {
	inv := d.On
	var out []Holder
	have := o.Metadata
	if h, ok := setHolder(d, have, o.Live != nil && o.Live.OwnedSet); ok {
		out = append(out, h)
	}
	if r := have.Release(); r != "" && r != d.Ownership.Release() {
		h := releaseHolder(inv, r)
		switch {
		case len(out) == 0:
			out = append(out, h)
		case slices.Contains(out[0].names, r):
		case h.Situation == LostRelease: // of the same former owner
			out[0].names = append(out[0].names, r)
		default:
			out = append(out, h)
		}
	}
	if r := have.Release(); r != "" && r == d.Ownership.Release() { // of this name, which need not be the bundle's
		if last := inv.Latest[r]; last != nil && last.Damaged != "" {
			out = append(out, Holder{Situation: Undecided, Title: "Helm release " + r, names: []string{r}})
		} else if last != nil && last.BundleID != d.Name || last == nil && inv.Releases[r] {
			out = append(out, Holder{Situation: LivingRelease, Title: "Helm release " + r + ", which is not the bundle's", names: []string{r}})
		}
	}
	for _, w := range inv.Objects[o.Key()] {
		if other := w.Deployment; other != d && !slices.ContainsFunc(out, func(h Holder) bool { return h.bundle == other }) {
			h := ofDeployment(Contested, other)
			h.bundle = nil // he wants it and does not have it: nothing changes for him
			out = append(out, h)
		}
	}
	return out
}

// setHolder is who has the set that the marks name, if that is another than the wanted one. owned says that the set has an owner of its
// own, as wrangler writes for what other controllers apply; such a set is none of a bundle.
func setHolder(d *resolve.BundleDeployment, have ownership.Metadata, owned bool) (Holder, bool) {
	inv := d.On
	foreignID := have.SetID != "" && have.SetID != d.Ownership.SetID
	foreignHash := have.Hash != "" && have.Hash != d.Ownership.Hash
	if !foreignID && !foreignHash {
		return Holder{}, false
	}
	known, lost, title := KnownID, UnknownID, fmt.Sprintf("set %q", have.SetID)
	if foreignHash {
		known, lost = KnownHash, UnknownHash
	}
	if have.SetID == "" || !foreignID {
		title = "a set without id (hash " + have.Hash + ")"
	}
	if other := inv.OwnerOf(have); other != nil && other != d {
		return ofDeployment(known, other), true
	}
	if inv.Shared(have) {
		title += ", which several bundle deployments here share"
		return Holder{Situation: known, Title: title, names: []string{have.SetID, have.Hash}}, true
	}
	if foreignID { // beside a hash that nobody here has, the id may still be somebody's
		if other := inv.OwnerOf(ownership.Metadata{SetID: have.SetID}); other != nil && other != d {
			return ofDeployment(KnownID, other), true
		}
	}
	h := Holder{Situation: lost, Title: title, names: []string{have.Hash}}
	if foreignID {
		h.names = []string{have.SetID, have.Hash}
	}
	switch {
	case owned || ownership.ForeignProgram(have.SetID):
		h.Situation = SystemSet
	case !inv.SetsComplete:
		h.Situation = Undecided
	}
	return h, true
}

func releaseHolder(inv *resolve.Cluster, release string) Holder {
	h := Holder{Situation: LivingRelease, Title: "Helm release " + release, names: []string{release}}
	switch {
	case inv.Releases[release]:
	case inv.ReleasesComplete:
		h.Situation = LostRelease
	default:
		h.Situation = Undecided
	}
	return h
}

func ofDeployment(s Situation, d *resolve.BundleDeployment) Holder {
	h := Holder{Situation: s, Title: "bundle deployment " + d.Key(), bundle: d}
	for _, key := range []string{d.Key(), d.Bundle} {
		h.names = append(h.names, key, key[strings.LastIndexByte(key, '/')+1:])
	}
	h.names = append(h.names, d.Ownership.SetID, d.Ownership.Hash, d.Release.Release())
	return h
}

// Living says whether he is there, as far as is known: no policy takes an object from him.
func (h Holder) Living() bool { return answer(IfUnowned, h.Situation) == OnlyNamed }

// Name is what --dangerous-take-from may call him.
func (h Holder) Name() string {
	if i := slices.IndexFunc(h.names, func(n string) bool { return n != "" }); i >= 0 {
		return h.names[i]
	}
	return ""
}

// named says whether one of the names, which are as a user wrote them, is the holder's.
func (h Holder) named(names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return n != "" && slices.Contains(h.names, n) })
}

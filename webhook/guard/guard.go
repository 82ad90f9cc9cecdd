// SPDX-License-Identifier: Apache-2.0

// Package guard decides whether a request does harm to what a release of Fleet's owns. It is pure: who claims an object it is told.
package guard

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/stamp"
)

// Request is a change or a deletion of one object.
type Request struct {
	Key object.Key
	// User is the name of whoever makes the request, and Manager the field manager that it states.
	User, Manager string
	// Old is the object as it is stored, and its labels are those that count; New as it would be, nil where it is deleted.
	Old, New *object.Meta
	// Ignored says that the namespace carries the stamp.IgnoreLabel.
	Ignored bool
	// Partial says that not every release record is known.
	Partial bool
}

// Reason is why a request does harm, or does none. The values are words of metrics and audit annotations.
type Reason string

// The reasons. Stripped, Changed and Deleted are harm.
const (
	Stripped Reason = "Stripped" // a mark would be gone
	Changed  Reason = "Changed"  // a mark would be another
	Deleted  Reason = "Deleted"  // the object would be gone
	Harmless Reason = "Harmless" // the marks stay
	NotOwned Reason = "NotOwned" // no release owns the object
	Fleet    Reason = "Fleet"    // it is Fleet that does it
	System   Reason = "System"   // the cluster itself clears away
	Deleting Reason = "Deleting" // it is being deleted already
	Ignored  Reason = "Ignored"  // somebody asked for it to be left alone
)

// Verdict is what a request would do.
type Verdict struct {
	Reason Reason
	// Release owns the object; the zero value where none does. Where several releases may own it, no more is set than the Bundle that all of
	// their records name.
	Release desired.Release
	// Namespaces are those of the releases that may own the object, in the order of the claims.
	Namespaces []string
	// MayBeFleet says that a record which is not read yet could make the request Fleet's own: Fleet has no users but service accounts.
	MayBeFleet bool
	// Message says whose the object is, and what Fleet will report; empty where no harm is done.
	Message string
	// Doubt says why the object may be another release's, so that a denial may meet Fleet itself; empty where there is none.
	Doubt string
}

// Harm says whether there is something to warn of.
func (v Verdict) Harm() bool { return v.Message != "" }

// Judge judges a request for an object, of which it is told all claims; it may reorder them. What adopt or its undo write is no harm: it was done
// on purpose.
func Judge(claims []desired.Release, req Request) Verdict {
	have := stampsOf(req.Old).Marks()
	owners := ownersOf(claims, have)
	if len(owners) == 0 {
		return Verdict{Reason: NotOwned}
	}
	v := Verdict{Release: agreed(owners), Doubt: doubt(owners, have, req), MayBeFleet: strings.HasPrefix(req.User, serviceAccount)}
	for _, o := range owners {
		v.Namespaces = append(v.Namespaces, o.Namespace)
	}
	v.Namespaces = slices.Compact(v.Namespaces)
	count := fewer(owners, have, req)
	switch {
	case req.Manager == ownership.FieldManager, req.Ignored, req.Old.Metadata.Labels[stamp.IgnoreLabel] == "true":
		v.Reason = Ignored
	case system(req.User, req.Key):
		v.Reason = System
	case !slices.ContainsFunc(owners, func(o desired.Release) bool { return !isFleet(o, req.User) }):
		v.Reason = Fleet
	case req.Old.Metadata.DeletionTimestamp != "":
		v.Reason = Deleting
	case req.New == nil:
		v.Reason = Deleted
		v.Message = fmt.Sprintf("%s belongs to bundle %s: Fleet will report it as missing%s", req.Key, bundles(owners), count)
	default:
		v.judgeMarks(owners, req, count)
	}
	return v
}

// ownersOf are the claims by the hash that an object carries. Of several it is the one whose release the object's Helm annotations name: the
// hash does not include that, and anybody who may write a record can claim a hash, but not in another's namespace.
func ownersOf(claims []desired.Release, have ownership.Marks) []desired.Release {
	owners := slices.DeleteFunc(claims, func(o desired.Release) bool {
		return o.Metadata.Hash == "" || o.Metadata.Hash != have.Hash || fleet.IsAgentBundle(o.Bundle) // an agent, and who installs it, look after its objects
	})
	if i := slices.IndexFunc(owners, func(o desired.Release) bool { return o.Metadata.Release() == have.Release() }); i >= 0 {
		return owners[i : i+1]
	}
	return owners
}

// several says whether the owners are more than one release. Two revisions of a release are one.
func several(owners []desired.Release) bool {
	return slices.ContainsFunc(owners, func(o desired.Release) bool { return o.Release() != owners[0].Release() })
}

// agreed is the owner. Of several releases it is what does not depend on which of them owns the object.
func agreed(owners []desired.Release) desired.Release {
	switch {
	case !several(owners):
		return owners[0]
	case slices.ContainsFunc(owners, func(o desired.Release) bool { return o.Bundle != owners[0].Bundle }):
		return desired.Release{}
	}
	return desired.Release{Bundle: owners[0].Bundle}
}

// doubt says why the claims that are left need not be those of the object's owner. Where nothing but the hash speaks for them, the record of
// its owner may be missing, or be one of several.
func doubt(owners []desired.Release, have ownership.Marks, req Request) string {
	if have.ReleaseName != "" && owners[0].Metadata.Release() != have.Release() {
		return "Helm's annotations name release " + have.Release() + ", which is not known to own it"
	}
	if have.ReleaseName == "" && req.Partial && strings.HasPrefix(req.User, serviceAccount) {
		return "it lacks Helm's annotations, and not every release record is known"
	}
	if several(owners) && slices.ContainsFunc(owners, func(o desired.Release) bool { return isFleet(o, req.User) }) {
		return "several releases state its set, Helm's annotations name none of them, and it is Fleet for one"
	}
	return ""
}

// judgeMarks looks for marks that are as one of the owners wants them, and would not be any more.
func (v *Verdict) judgeMarks(owners []desired.Release, req Request, count string) {
	v.Reason = Harmless
	var gone, changed []string
	counted, helm := false, false
	for _, c := range ownership.Changes(stampsOf(req.Old), stampsOf(req.New)) {
		if c.Old == nil || !slices.ContainsFunc(owners, func(o desired.Release) bool { return o.Metadata.Stamps()[c.Name] == *c.Old }) {
			continue
		}
		counted = counted || c.Name == fleet.HashLabel
		helm = helm || c.Name != fleet.HashLabel && c.Name != fleet.IDAnnotation
		if c.New == nil {
			gone = append(gone, c.Field()+" "+c.Name)
		} else {
			changed = append(changed, c.Field()+" "+c.Name)
		}
	}
	if len(gone)+len(changed) == 0 {
		return
	}
	var acts []string
	link := ", without which "
	if v.Reason = Changed; len(gone) > 0 {
		v.Reason = Stripped
		acts = append(acts, "takes away "+strings.Join(gone, ", "))
	}
	if len(changed) > 0 {
		acts, link = append(acts, "changes "+strings.Join(changed, ", ")), ": "
	}
	consequence := "Fleet still counts it, but knows it by less"
	if helm {
		consequence = "Fleet still counts it, but Helm may not know it for its release's"
	}
	if counted {
		consequence = "Fleet will report it as not its own" + count
	}
	v.Message = fmt.Sprintf("%s belongs to bundle %s, and this %s%s%s", req.Key, bundles(owners), strings.Join(acts, " and "), link, consequence)
}

// maxNamed bounds how many bundles a message names: anybody who may write records can claim an object under many names.
const maxNamed = 3

// bundles names the bundles of the owners.
func bundles(owners []desired.Release) string {
	var names []string
	for _, o := range owners {
		if slices.Contains(names, o.Bundle) {
			continue
		}
		if len(names) == maxNamed {
			names = append(names, "another")
			break
		}
		names = append(names, o.Bundle)
	}
	return strings.Join(names, " or ")
}

// fewer adds the count that Fleet reports of a bundle afterwards. It is an upper bound: other objects may be missing or modified already, which
// the release record does not tell. Where another release may own the object, there is no count.
func fewer(owners []desired.Release, have ownership.Marks, req Request) string {
	r := owners[0]
	named := r.Metadata.Release() == have.Release()
	if !named && (several(owners) || have.ReleaseName != "" || req.Partial) {
		return ""
	}
	return fmt.Sprintf(", and %s will be at most %d/%d", r.Bundle, r.Objects-1, r.Objects)
}

func stampsOf(m *object.Meta) ownership.Stamps {
	return ownership.StampsOf(m.Metadata.Labels, m.Metadata.Annotations)
}

// accounts are the service accounts that Fleet's agent works as, beside the one that a release names. They live in the agent's namespace.
var accounts = []string{fleet.AgentName, fleet.DefaultAccount}

// serviceAccount is what the names of service accounts begin with.
const serviceAccount = "system:serviceaccount:"

// isFleet says whether a user is Fleet, as far as one release is concerned.
func isFleet(r desired.Release, user string) bool {
	return slices.ContainsFunc(r.Agents, func(a desired.Agent) bool {
		name, ok := strings.CutPrefix(user, serviceAccount+a.Namespace+":")
		return ok && a.Namespace != "" && name != "" && (name == a.ServiceAccount || slices.Contains(accounts, name))
	})
}

// system says whether a user is a part of the cluster that clears away what somebody else decided to be rid of. Where controllers have no
// accounts of their own, it is the controller manager. Pods come and go by more of them.
func system(user string, k object.Key) bool {
	if k.Group == "" && k.Kind == "Pod" &&
		(user == "system:kube-scheduler" || strings.HasPrefix(user, "system:node:") || strings.HasPrefix(user, "system:serviceaccount:kube-system:")) {
		return true
	}
	switch user {
	case "system:serviceaccount:kube-system:generic-garbage-collector", "system:serviceaccount:kube-system:namespace-controller",
		"system:serviceaccount:kube-system:ttl-after-finished-controller", "system:kube-controller-manager":
		return true
	}
	return false
}

// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
)

// validation is what a request does to an object that a release owns.
type validation struct {
	reason Reason
	// release owns the object; the zero value if none does. If several releases may own it, only Bundle is set, and only if
	// all their records state the same.
	release desired.Release
	// namespaces are those of the releases that may own the object, in the order of Facts.Releases.
	namespaces []string
	// mayBeFleet says that a record which is not read yet may show that Fleet makes the request: Fleet only uses service
	// accounts.
	mayBeFleet bool
	// harm says who owns the object and what Fleet will report; empty if the request does no harm.
	harm string
	// doubt says why another release may own the object, so that a denial may hit Fleet itself; empty for no doubt.
	doubt string
}

// validate says whether a request harms an object that a release owns. req.Old is not nil.
func validate(req Request, f Facts) validation {
	have := metadataOf(req.Old)
	owners := ownersOf(f.Releases, have)
	if len(owners) == 0 {
		return validation{reason: NotOwned}
	}
	v := validation{release: commonOwner(owners), doubt: doubt(owners, have, req, f), mayBeFleet: strings.HasPrefix(req.User, serviceAccountPrefix)}
	for _, r := range owners {
		v.namespaces = append(v.namespaces, r.Namespace)
	}
	v.namespaces = slices.Compact(v.namespaces)
	count := predictedCount(owners, have, f)
	switch {
	case f.ignored(req, req.Old):
		v.reason = Ignored
	case isSystem(req.User, req.Key):
		v.reason = System
	case !slices.ContainsFunc(owners, func(r desired.Release) bool { return !isFleet(r, req.User) }):
		v.reason = Fleet
	case req.Old.Metadata.DeletionTimestamp != "":
		v.reason = Deleting
	case req.New == nil:
		v.reason = Deleted
		v.harm = fmt.Sprintf("%s is owned by bundle %s: Fleet will report it as missing%s", req.Key, bundleNames(owners), count)
	default:
		v.compareMetadata(owners, req, count)
	}
	return v
}

// ownersOf returns the releases with the hash that an object has. Of several it is the one that the Helm annotations name:
// anybody who may write a record can state a hash, but not a release in the namespace of another.
func ownersOf(releases []desired.Release, have ownership.Metadata) []desired.Release {
	owners := slices.DeleteFunc(slices.Clone(releases), func(r desired.Release) bool {
		return r.Metadata.Hash == "" || r.Metadata.Hash != have.Hash || fleet.IsAgentBundle(r.Bundle) // an agent keeps its own objects
	})
	if i := slices.IndexFunc(owners, func(r desired.Release) bool { return r.Metadata.Release() == have.Release() }); i >= 0 {
		return owners[i : i+1]
	}
	return owners
}

// several says whether the owners are more than one release. Two revisions of a release are one.
func several(owners []desired.Release) bool {
	return slices.ContainsFunc(owners, func(r desired.Release) bool { return r.Release() != owners[0].Release() })
}

// commonOwner returns the owner. Of several releases it returns what they have in common.
func commonOwner(owners []desired.Release) desired.Release {
	switch {
	case !several(owners):
		return owners[0]
	case slices.ContainsFunc(owners, func(r desired.Release) bool { return r.Bundle != owners[0].Bundle }):
		return desired.Release{}
	}
	return desired.Release{Bundle: owners[0].Bundle}
}

// doubt says why the real owner may be another release. If only the hash connects the owners with the object, the record of
// the real owner may be missing, or be one of several.
func doubt(owners []desired.Release, have ownership.Metadata, req Request, f Facts) string {
	if have.ReleaseName != "" && owners[0].Metadata.Release() != have.Release() {
		return "its Helm annotations name release " + have.Release() + ", which is not known to own it"
	}
	if have.ReleaseName == "" && !f.Complete && strings.HasPrefix(req.User, serviceAccountPrefix) {
		return "it has no Helm annotations, and not all release records are known"
	}
	if several(owners) && slices.ContainsFunc(owners, func(r desired.Release) bool { return isFleet(r, req.User) }) {
		return "several releases state its set, its Helm annotations name none of them, and Fleet makes the request for one of them"
	}
	return ""
}

// compareMetadata looks for ownership metadata that has the value of an owner, and would be removed or changed.
func (v *validation) compareMetadata(owners []desired.Release, req Request, count string) {
	v.reason = Harmless
	var removed, changed []string
	hash, helm := false, false
	for _, c := range ownership.Changes(metadataOf(req.Old), metadataOf(req.New)) {
		if c.Old == nil || !slices.ContainsFunc(owners, func(r desired.Release) bool { return r.Metadata.Values()[c.Name] == *c.Old }) {
			continue
		}
		hash = hash || c.Name == fleet.HashLabel
		helm = helm || c.Name != fleet.HashLabel && c.Name != fleet.IDAnnotation
		if c.New == nil {
			removed = append(removed, c.Field()+" "+c.Name)
		} else {
			changed = append(changed, c.Field()+" "+c.Name)
		}
	}
	if len(removed)+len(changed) == 0 {
		return
	}
	var acts []string
	if v.reason = Changed; len(removed) > 0 {
		v.reason = Stripped
		acts = append(acts, "removes "+strings.Join(removed, ", "))
	}
	if len(changed) > 0 {
		acts = append(acts, "changes "+strings.Join(changed, ", "))
	}
	consequence := "Fleet still counts the object, but identifies it by less metadata"
	switch {
	case hash:
		consequence = "Fleet will report the object as not owned" + count
	case helm:
		consequence = "Fleet still counts the object, but Helm may not recognize it as part of its release"
	}
	v.harm = fmt.Sprintf("%s is owned by bundle %s, and this request %s: %s", req.Key, bundleNames(owners), strings.Join(acts, " and "), consequence)
}

// maxNamed bounds how many bundles a message names: whoever may write records can claim an object under many names.
const maxNamed = 3

// bundleNames names the bundles of the owners.
func bundleNames(owners []desired.Release) string {
	var names []string
	for _, r := range owners {
		if slices.Contains(names, r.Bundle) {
			continue
		}
		if len(names) == maxNamed {
			names = append(names, "another")
			break
		}
		names = append(names, r.Bundle)
	}
	return strings.Join(names, " or ")
}

// predictedCount predicts the count that Fleet reports for the bundle afterwards. It is an upper bound: a record does not
// say which other objects are missing or modified already. It is empty if another release may own the object.
func predictedCount(owners []desired.Release, have ownership.Metadata, f Facts) string {
	r := owners[0]
	named := r.Metadata.Release() == have.Release()
	if !named && (several(owners) || have.ReleaseName != "" || !f.Complete) {
		return ""
	}
	return fmt.Sprintf(", and %s will be at most %d/%d", r.Bundle, r.Objects-1, r.Objects)
}

// agentAccounts are the service accounts that Fleet's agent uses beside the one that a release names. All are in the
// agent's namespace.
var agentAccounts = []string{fleet.AgentName, fleet.DefaultAccount}

// serviceAccountPrefix begins the user names of service accounts.
const serviceAccountPrefix = "system:serviceaccount:"

// isFleet says whether a user is the agent that deploys a release.
func isFleet(r desired.Release, user string) bool {
	return slices.ContainsFunc(r.Agents, func(a desired.Agent) bool {
		name, ok := strings.CutPrefix(user, serviceAccountPrefix+a.Namespace+":")
		return ok && a.Namespace != "" && name != "" && (name == a.ServiceAccount || slices.Contains(agentAccounts, name))
	})
}

// isSystem says whether a user is a part of the cluster that removes what somebody else decided to remove. If controllers
// have no accounts of their own, it is the controller manager. More of them remove Pods.
func isSystem(user string, k object.Key) bool {
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

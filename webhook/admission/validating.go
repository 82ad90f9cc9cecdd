// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
)

// validation is the effect of a request on an object that a release owns.
type validation struct {
	reason Reason
	// releases own the object, the newest revision of each; more than one if the object's metadata does not identify the owner.
	releases []desired.Release
	// mayBeFleet is true if a record that is not read yet may show that Fleet makes the request: Fleet uses only service accounts.
	mayBeFleet bool
	// harm is nil if the request does no harm.
	harm *HarmError
	// doubt explains why another release may own the object, so that a denial may affect Fleet itself; empty for no doubt.
	doubt string
}

// HarmError is the error of a request that harms an object. It contains the owner of the object.
type HarmError struct {
	*ownership.RefusalError
	// Lost is the ownership metadata of the owner that the request removes or changes; empty if the request deletes the object.
	Lost []ownership.Change
	// bundles are the names of the owner's bundles. count is the predicted count of objects; empty if it cannot be predicted.
	bundles, count string
}

// Error implements error. It predicts what Fleet will report.
func (e *HarmError) Error() string {
	owned := e.Object.String() + " is owned by bundle " + e.bundles
	if len(e.Lost) == 0 {
		return owned + ": Fleet will report it as missing" + e.count
	}
	keys := map[string][]string{}
	for _, c := range e.Lost {
		verb := "changes "
		if c.New == nil {
			verb = "removes "
		}
		keys[verb] = append(keys[verb], c.Field()+" "+c.Name)
	}
	var acts []string
	for _, verb := range []string{"removes ", "changes "} {
		if len(keys[verb]) > 0 {
			acts = append(acts, verb+strings.Join(keys[verb], ", "))
		}
	}
	consequence := "Fleet still counts the object, but identifies it by less metadata"
	switch { // the order of ownership.Keys: first the hash, then the id, then Helm's keys
	case e.Lost[0].Name == fleet.HashLabel:
		consequence = "Fleet will report the object as not owned" + e.count
	case e.Lost[len(e.Lost)-1].Name != fleet.IDAnnotation:
		consequence = "Fleet still counts the object, but Helm may not recognize it as part of its release"
	}
	return fmt.Sprintf("%s, and this request %s: %s", owned, strings.Join(acts, " and "), consequence)
}

// validate finds the owner of an object, and the harm that a request does to the object. req.Old is not nil.
func validate(req Request, f Facts) validation {
	refusal, releases := ownerOf(req, f)
	if len(releases) == 0 {
		return validation{reason: NotOwned}
	}
	v := validation{releases: releases, mayBeFleet: strings.HasPrefix(req.User, serviceAccountPrefix)}
	v.doubt = v.findDoubt(refusal.Have, req, f)
	harm := &HarmError{RefusalError: refusal, bundles: bundleNames(releases)}
	if v.doubt == "" {
		harm.count = predictedCount(releases, refusal.Have.Release(), f)
	}
	switch {
	case f.ignored(req, req.Old):
		v.reason = Ignored
	case isSystem(req.User, req.Key):
		v.reason = System
	case !slices.ContainsFunc(releases, func(r desired.Release) bool { return !isFleet(r, req.User) }):
		v.reason = Fleet
	case req.Old.Metadata.DeletionTimestamp != "":
		v.reason = Deleting
	case req.New == nil:
		v.reason, v.harm = Deleted, harm
	default:
		v.reason, harm.Lost = Harmless, refusal.Owners[0].Lost(refusal.Have, metadataOf(req.New))
		if len(harm.Lost) > 0 {
			v.reason, v.harm = Changed, harm
		}
		if slices.ContainsFunc(harm.Lost, func(c ownership.Change) bool { return c.New == nil }) {
			v.reason = Stripped
		}
	}
	return v
}

// desiring are the facts about the releases that desire the object. Other releases with the same set cannot own it.
type desiring struct{ Facts }

// BundlesOf implements ownership.Facts.
func (f desiring) BundlesOf(hash string) []ownership.Bundle {
	return asOwners(slices.DeleteFunc(slices.Clone(f.Releases), func(r desired.Release) bool { return r.Metadata.Hash != hash }))
}

// ownerOf finds the owner of the stored object: the releases that desire the object and have its hash. If the Helm annotations name one of them, it
// is that release alone: a user who may write records can state any hash, but not a release in another namespace.
func ownerOf(req Request, f Facts) (*ownership.RefusalError, []desired.Release) {
	claim := ownership.Claim{Object: req.Key, Have: metadataOf(req.Old)}
	situation, err := ownership.Evaluate(desiring{f}, claim).Decide(ownership.IfUnowned, nil)
	refusal, ok := errors.AsType[*ownership.RefusalError](err)
	if !ok || situation != ownership.KnownHash {
		return nil, nil
	}
	owners := sets.New(refusal.Owners[0].Bundles...)
	releases := slices.DeleteFunc(slices.Clone(f.Releases), func(r desired.Release) bool { return !owners.Has(asOwner(r)) })
	return refusal, slices.CompactFunc(releases, func(a, b desired.Release) bool { return a.Release() == b.Release() })
}

// findDoubt compares the owner with the release that the Helm annotations name. If only the hash connects the owner with the object, the record of
// the real owner may be missing, or be one of several.
func (v validation) findDoubt(have ownership.Metadata, req Request, f Facts) string {
	named := have.Release()
	confirmed := func(r desired.Release) bool { return f.confirmed(r, req.Key, have) }
	switch {
	case named != "" && named != v.releases[0].Release():
		return "its Helm annotations name release " + named + ", which is not known to own it"
	case !slices.ContainsFunc(v.releases, confirmed):
		return "it has no Helm annotations, and only release records of other namespaces state its set: if you trust those of namespace " +
			v.releases[0].Namespace + ", label it " + RecordsLabel + "=" + RecordsTrusted
	case named == "" && !f.Complete && v.mayBeFleet:
		return "it has no Helm annotations, and not all release records are known"
	case len(v.releases) > 1 && slices.ContainsFunc(v.releases, func(r desired.Release) bool { return isFleet(r, req.User) }):
		return "several releases state its set, its Helm annotations name none of them, and Fleet makes the request for one of them"
	}
	return ""
}

// owner returns the release that owns the object; the zero value if none does. Of several releases it returns only the bundle, if all have the same.
func (v validation) owner() desired.Release {
	switch {
	case len(v.releases) == 1:
		return v.releases[0]
	case len(v.releases) == 0 || slices.ContainsFunc(v.releases, func(r desired.Release) bool { return r.Bundle != v.releases[0].Bundle }):
		return desired.Release{}
	}
	return desired.Release{Bundle: v.releases[0].Bundle}
}

// maxNamed bounds the bundles that a message names: a user who may write records can claim an object under many names.
const maxNamed = 3

// bundleNames names the bundles of the releases.
func bundleNames(releases []desired.Release) string {
	var names []string
	for _, r := range releases {
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

// predictedCount predicts the count of objects that Fleet will report for the bundle. It is an upper bound, because a record does not state which
// other objects are missing or modified already. It is empty if another release may own the object.
func predictedCount(releases []desired.Release, named string, f Facts) string {
	r := releases[0]
	if named != r.Release() && (len(releases) > 1 || named != "" || !f.Complete) {
		return ""
	}
	return fmt.Sprintf(", and %s will be at most %d/%d", r.Bundle, r.Objects-1, r.Objects)
}

// agentAccounts are the service accounts of Fleet's agent, besides the account that a release names. All are in the namespace of the agent.
var agentAccounts = []string{fleet.AgentName, fleet.DefaultAccount}

// serviceAccountPrefix is the prefix of the user names of service accounts.
const serviceAccountPrefix = "system:serviceaccount:"

// isFleet reports whether a user is an agent that deploys a release. An agent in one of Fleet's own namespaces deploys any
// release, so that a forged record, which names another agent, is no reason to deny its requests.
func isFleet(r desired.Release, user string) bool {
	account, ok := strings.CutPrefix(user, serviceAccountPrefix)
	namespace, name, _ := strings.Cut(account, ":")
	if !ok || namespace == "" || name == "" {
		return false
	}
	usual := slices.Contains(agentAccounts, name)
	return usual && fleet.IsSystemNamespace(namespace) || slices.ContainsFunc(r.Agents, func(a desired.Agent) bool {
		return namespace == a.Namespace && (usual || name == a.ServiceAccount)
	})
}

// cleaners are the users of the cluster itself that delete objects as a consequence of another deletion, or of a limit that the object states.
// Controllers without accounts of their own use that of the controller manager.
var cleaners = []string{"system:kube-controller-manager", serviceAccountPrefix + "kube-system:generic-garbage-collector",
	serviceAccountPrefix + "kube-system:namespace-controller", serviceAccountPrefix + "kube-system:ttl-after-finished-controller"}

// isSystem reports whether a user is such a part of the cluster. Of Pods, more parts are.
func isSystem(user string, k object.Key) bool {
	if k.Group == "" && k.Kind == "Pod" &&
		(user == "system:kube-scheduler" || strings.HasPrefix(user, "system:node:") || strings.HasPrefix(user, serviceAccountPrefix+"kube-system:")) {
		return true
	}
	return slices.Contains(cleaners, user)
}

// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

// withoutObjects is the revision of a record that desires no objects, or could not be read.
func withoutObjects(n release.Name, s desired.Status) *Revision {
	return desired.NewRevision(desired.Release{Name: n, Status: s}, nil)
}

// Read decodes a release record, which is the value of a Secret under release.DataKey, and keeps only a Revision of it.
// Errors do not quote the record.
func Read(value []byte) (*Revision, error) {
	r, err := release.Decode(value)
	if err != nil {
		return nil, err
	}
	status := statusOf(r)
	if r.BundleID == "" || status == desired.Inactive {
		return withoutObjects(r.Name, desired.Inactive), nil
	}
	if err := checkNames(r); err != nil {
		return nil, err
	}
	objects, err := r.ObjectMetadata()
	if err != nil {
		return nil, err
	}
	keys := keysOf(objects, r.Namespace)
	out := desired.Release{Name: r.Name, Status: status, Bundle: r.BundleID, Metadata: metadataOf(r, objects),
		Agents: []desired.Agent{{Namespace: r.AgentNamespace, ServiceAccount: r.ServiceAccount}}, Objects: len(keys)}
	all := make([]object.Key, 0, 2*len(keys))
	for k := range keys {
		all = append(all, k)
		// A record does not state which kinds are cluster-scoped, and a chart may state a namespace for their objects too.
		// A request about a namespaced object always has a namespace, so this key matches only a cluster-scoped object.
		k.Namespace = ""
		all = append(all, k)
	}
	return desired.NewRevision(out, all), nil
}

// statusOf reduces Helm's status. The zero value is Inactive. While Helm uninstalls a release, its last deployed record has
// the status uninstalling.
func statusOf(r *release.Record) desired.Status {
	if r.Pending() {
		return desired.Pending
	}
	return map[string]desired.Status{release.StatusDeployed: desired.Deployed, release.StatusUninstalling: desired.Uninstalling}[r.Status]
}

// keysOf returns the keys of objects that can exist. An object without a namespace in the manifest gets that of the release.
func keysOf(objects []release.Object, namespace string) sets.Set[object.Key] {
	out := sets.New[object.Key]()
	for _, o := range objects {
		k := o.Key()
		if !possible(k) || strings.HasSuffix(k.Name, "-") && hasGeneratedName(o) {
			continue
		}
		k.Name = strings.Clone(k.Name) // otherwise the whole manifest stays in memory
		k.Namespace = cmp.Or(k.Namespace, namespace)
		out.Insert(k)
	}
	return out
}

// possible reports whether the API server can store an object with this key. Other keys would only use memory.
func possible(k object.Key) bool {
	const label, subdomain = validation.DNS1123LabelMaxLength, validation.DNS1123SubdomainMaxLength
	return k.Name != "" && len(k.Name) <= subdomain && len(k.Group) <= subdomain && len(k.Kind) <= label && len(k.Namespace) <= label
}

// errInvalidName is the error of a chart with a name that no object can have. It does not quote the name.
var errInvalidName = errors.New("it names a bundle, an agent's namespace or a service account that cannot exist")

// checkNames checks the names in a chart's annotations, because warnings and logs contain them.
func checkNames(r *release.Record) error {
	for _, name := range []string{r.BundleID, r.AgentNamespace, r.ServiceAccount} {
		if name != "" && len(validation.IsDNS1123Subdomain(name)) > 0 {
			return errInvalidName
		}
	}
	return nil
}

// hasGeneratedName reports whether an object has only a prefix, from which the API server generates the name.
func hasGeneratedName(o release.Object) bool {
	m, err := object.ReadMeta(o.Raw)
	return err != nil || m.Metadata.Name == ""
}

// maxSetID bounds the set ids that Fleet makes (docs/fleet-behavior.md, 1.1).
const maxSetID = 63

// metadataOf returns the ownership metadata of a release's objects. Fleet's part is read from the manifest, because the agent
// writes it with its scope, which the record does not state (docs/fleet-behavior.md, 1.3).
func metadataOf(r *release.Record, objects []release.Object) ownership.Metadata {
	out := ownership.Metadata{ManagedBy: fleet.ManagedByHelm, ReleaseName: r.Name.Name, ReleaseNamespace: r.Namespace}
	for _, o := range objects {
		m, err := object.ReadMeta(o.Raw)
		if err != nil {
			continue
		}
		// An agent derives the hash from the id. Any other pair is forged, and the webhook would copy it to objects.
		stated := ownership.MetadataOf(m.Metadata.Labels, m.Metadata.Annotations)
		if len(stated.SetID) <= maxSetID && stated.Hash == fleet.Hash(stated.SetID) {
			out.Hash, out.SetID = stated.Hash, stated.SetID
			break
		}
	}
	return out
}

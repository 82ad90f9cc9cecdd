// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

// WithoutObjects is the revision of a record that desires no objects, or could not be read.
func WithoutObjects(n release.Name, s Status) *Revision {
	return NewRevision(Release{Name: n, Status: s}, nil)
}

// ReadRevision reads a release record, which is the value of a Secret under release.DataKey, and keeps only a Revision
// of it. Errors do not quote the record.
func ReadRevision(value []byte) (*Revision, error) {
	unpacked := release.UnpackedSize(value) // first, because reading needs several times as much memory
	if unpacked > release.MostUnpacked(len(value)) {
		return nil, release.ErrUnpacked
	}
	r, err := release.Read(value, unpacked, func(r *release.Record) release.Part {
		if statusOf(r) == Inactive {
			return release.Nothing
		}
		return release.MetadataOnly
	})
	switch {
	case err != nil:
		return nil, err
	case r.Part == release.Nothing:
		return WithoutObjects(r.Name, Inactive), nil
	case !validNames(r):
		return nil, errInvalidName
	case r.Problem != nil:
		return nil, r.Problem
	}
	keys := keysOf(r)
	all := make([]object.Key, 0, 2*len(keys))
	for k := range keys {
		all = append(all, k)
		// A record does not state which kinds are cluster-scoped, and a chart may state a namespace for their objects
		// too. A request about a namespaced object always has a namespace, so this key matches only a cluster-scoped
		// object.
		k.Namespace = ""
		all = append(all, k)
	}
	return NewRevision(Release{Name: r.Name, Status: statusOf(&r.Record), Bundle: r.BundleID, Metadata: metadataOf(r),
		Agents: []Agent{{Namespace: r.AgentNamespace, ServiceAccount: r.ServiceAccount}}, Objects: len(keys)}, all), nil
}

// statusOf reduces Helm's status. While Helm uninstalls a release, its last deployed record has the status
// uninstalling.
func statusOf(r *release.Record) Status {
	switch {
	case r.BundleID == "":
		return Inactive
	case r.Pending():
		return Pending
	case r.Status == release.StatusDeployed:
		return Deployed
	case r.Status == release.StatusUninstalling:
		return Uninstalling
	}
	return Inactive
}

// keysOf returns the keys of objects that can exist. An object without a namespace in the manifest gets that of the
// release.
func keysOf(r *release.Contents) sets.Set[object.Key] {
	out := sets.New[object.Key]()
	for _, o := range r.Objects {
		k := o.Key()
		if !possible(k) || hasGeneratedName(o) {
			continue
		}
		k.Name = strings.Clone(k.Name) // otherwise the whole manifest stays in memory
		k.Namespace = cmp.Or(k.Namespace, r.Namespace)
		out.Insert(k)
	}
	return out
}

// possible reports whether the API server can store an object with this key. Other keys would only use memory.
func possible(k object.Key) bool {
	const label, subdomain = validation.DNS1123LabelMaxLength, validation.DNS1123SubdomainMaxLength
	return k.Name != "" && max(len(k.Name), len(k.Group)) <= subdomain && max(len(k.Kind), len(k.Namespace)) <= label
}

// hasGeneratedName reports whether an object has only a prefix, from which the API server generates the name.
func hasGeneratedName(o release.Object) bool {
	if !strings.HasSuffix(o.Name, "-") {
		return false
	}
	m, err := object.ReadMeta(o.Raw)
	return err != nil || m.Metadata.Name == ""
}

// errInvalidName is the error of a chart with a name that no object can have. It does not quote the name.
var errInvalidName = errors.New("it names a bundle, an agent's namespace or a service account that cannot exist")

// validNames reports whether the names in a chart's annotations can exist. Warnings and logs contain them.
func validNames(r *release.Contents) bool {
	for _, name := range []string{r.BundleID, r.AgentNamespace, r.ServiceAccount} {
		if name != "" && len(validation.IsDNS1123Subdomain(name)) > 0 {
			return false
		}
	}
	return true
}

// maxSetID bounds the set ids that Fleet makes (docs/fleet-behavior.md, 1.1).
const maxSetID = 63

// metadataOf returns the ownership metadata of a release's objects. Fleet's part is read from the manifest, because the
// agent writes it with its scope, which the record does not state (docs/fleet-behavior.md, 1.3).
func metadataOf(r *release.Contents) ownership.Metadata {
	out := ownership.Metadata{ManagedBy: fleet.ManagedByHelm, ReleaseName: r.Name.Name, ReleaseNamespace: r.Namespace}
	for _, o := range r.Objects {
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

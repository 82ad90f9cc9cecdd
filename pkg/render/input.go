// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

// Input is a bundle for one cluster.
type Input struct {
	// Name is the name of the Bundle and of its BundleDeployment.
	Name string
	// Resources are the files of the bundle, encoded as in the Bundle or the Content.
	Resources []v1alpha1.BundleResource
	// Options are the merged options for the cluster. Fleet's management cluster has already evaluated the templates in
	// them.
	Options v1alpha1.Options
	// Values is the key "values" of the Secret in which Fleet stores the values, as JSON. If it is nil, the values of
	// the options are used.
	Values []byte
	// ValuesHash is the one of the BundleDeployment. If it is set, that Secret exists, so nil Values are a gap.
	ValuesHash string
	// ValuesFrom are the texts of ValuesRefs(Options), by index. A text that is missing or nil is a gap.
	ValuesFrom [][]byte
	// PreviousValues are the values of the deployed revision that the rollout upgrades, as JSON. Helm uses them if the
	// bundle has no values.
	PreviousValues []byte
	// Commit is the Git commit in a label of the BundleDeployment. It is part of the version of a generated chart.
	Commit string
	// SetID is the set id in the ownership metadata: fleet.SetID of the name and the agent's scope.
	SetID string
	// KubeVersion is the Kubernetes version of the cluster, such as "v1.36.3". If it is empty, Helm's default is used,
	// and a chart that reads the version causes a gap.
	KubeVersion string
	// APIVersions are all APIs of the cluster, such as "apps/v1" and "apps/v1/Deployment". If it is empty, Helm's
	// default is used, and a chart that reads them causes a gap.
	APIVersions []string
	// ClusterScoped maps kinds, in the format of schema.GroupKind.String, to whether they are cluster-scoped. For other
	// kinds, the built-in kinds and the CRDs of the bundle are used.
	ClusterScoped map[string]bool
	// Helm3 means that the agent is of Fleet 0.14 or earlier, with Helm 3: it does not change hooks, and a plain
	// manifest is never a hook.
	Helm3 bool
	// OfflineDryRun means that the agent is of Fleet 0.14.0 or earlier: lookups find nothing in the dry run that it
	// makes first.
	OfflineDryRun bool
	// HelmOp means that the agent downloads the chart itself.
	HelmOp bool
	// Revision is the revision of the release that is rendered: 0 and 1 are an installation, higher ones are upgrades.
	Revision int
	// Now is the time for templates.
	Now time.Time
	// FromFiles means that the values are those of a fleet.yaml, in which Fleet's management cluster evaluates
	// templates for each cluster. Cluster has the data of the templates; nil if it is not known.
	FromFiles bool
	Cluster   *ClusterContext
	// Others are the other clusters that the files target, if their values depend on the cluster.
	Others []Others
	// Gaps and Notes were found by the caller. They come first in the Result.
	Gaps, Notes []string
}

// Result is what the agent would install.
type Result struct {
	// ReleaseNamespace is also the namespace of namespaced objects that state none.
	ReleaseName, ReleaseNamespace string
	// Objects are the desired objects in the order of the manifest, including duplicates. Documents without a kind are
	// not included.
	Objects []release.Object
	// Helm applies Hooks in addition to the manifest, and CRDs, from the crds/ directory of a chart, before it. They
	// are not desired objects. Hooks have ownership metadata, CRDs do not.
	Hooks, CRDs []release.Object
	// Unstable are the objects that differ between two renderings. Their fields cannot be compared.
	Unstable []Unstable
	// RecordSize is the approximate size of the release record in its Secret, in bytes. It is 0 if it is not known or
	// far below the limit.
	RecordSize int
	// Gaps say what could not be resolved. With a gap, the agent may render other objects. With gaps and no objects,
	// nothing could be rendered.
	Gaps []string
	// Notes say what the agent ignores silently.
	Notes []string
}

// Unstable names the fields of an object that differ between two renderings of the same input.
type Unstable struct {
	Object object.Ref
	// Pointers are JSON pointers (RFC 6901). The empty pointer is the whole object: its name differs, or it is not in
	// every rendering.
	Pointers []string
}

// ClusterContext is the data of a Cluster for the templates in values.
type ClusterContext struct {
	Namespace, Name     string
	Labels, Annotations map[string]string
	// Values are the spec.templateValues of the Cluster, as JSON.
	Values []byte
}

// Others are other clusters that the bundle targets, and the Helm options that they share.
type Others struct {
	Helm     *v1alpha1.HelmOptions
	Clusters []ClusterContext
	// Outdated is true if the Bundle that exists targets them, and the GitRepo does not.
	Outdated bool
}

// Cluster answers the lookups of templates. Fleet's agent asks the cluster on which it renders.
type Cluster interface {
	Lookup(ctx context.Context, l Lookup) Found
}

// Lookup is a call of Helm's template function lookup. Without a name it requests all objects of a kind, in one
// namespace or in all.
type Lookup struct {
	APIVersion, Kind, Namespace, Name string
}

// String names what is looked up: "secret web/db", "every secret in namespace web".
func (l Lookup) String() string {
	key := object.Ref{APIVersion: l.APIVersion, Kind: l.Kind, Namespace: l.Namespace, Name: l.Name}.Key()
	switch {
	case l.Name != "":
		return key.String()
	case l.Namespace != "":
		return "every " + key.Type() + " in namespace " + l.Namespace
	}
	return "every " + key.Type()
}

// Found is the answer to a Lookup.
type Found struct {
	// Object is the object, or the list of objects with its items, as JSON. If it is empty, the function returns an
	// empty map: nothing was found.
	Object []byte `json:",omitempty"`
	// Unknown is why the answer is not known, as the rest of a sentence that begins with what is looked up: ", which
	// could not be read". The answer is then a gap. An object beside it is similar to the one of the cluster: its
	// values are masked.
	Unknown string `json:",omitempty"`
	// Refused is the error with which Helm's function ends the template.
	Refused string `json:",omitempty"`
}

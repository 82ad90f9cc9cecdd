// SPDX-License-Identifier: Apache-2.0

package index

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/registry"
)

// statusLabel is where Helm repeats the status of a record, beside the record.
const statusLabel = "status"

// record is a release's Secret without its content: what a reflector wants to know of an object, and the entry.
type record struct {
	metav1.ObjectMeta
	entry *registry.Entry // of one that was listed
}

// GetObjectKind implements runtime.Object.
func (r *record) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object. An entry is never changed.
func (r *record) DeepCopyObject() runtime.Object {
	out := &record{entry: r.entry}
	r.DeepCopyInto(&out.ObjectMeta)
	return out
}

func recordOf(s *corev1.Secret) *record {
	return &record{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name, UID: s.UID, ResourceVersion: s.ResourceVersion}}
}

// nameOf is the revision that a Secret is the record of. One that is named like no record stands for itself: it is of no release that Helm
// would find, but what it is for nobody can tell.
func nameOf(o metav1.Object) release.Name { return nameOfSecret(cache.MetaObjectToName(o)) }

func nameOfSecret(secret cache.ObjectName) release.Name {
	n, err := release.ParseSecretName(secret.Namespace, secret.Name)
	if err != nil {
		return release.Name{Namespace: secret.Namespace, Name: secret.Name}
	}
	return n
}

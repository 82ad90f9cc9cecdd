// SPDX-License-Identifier: Apache-2.0

package index

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

// statusLabel is the label of a record's Secret to which Helm copies the status.
const statusLabel = "status"

// record is the metadata of a release record's Secret that a reflector needs, and the revision of a listed Secret.
type record struct {
	metav1.ObjectMeta
	revision *Revision
}

// GetObjectKind implements runtime.Object.
func (r *record) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object. A revision does not change.
func (r *record) DeepCopyObject() runtime.Object {
	out := &record{revision: r.revision}
	r.DeepCopyInto(&out.ObjectMeta)
	return out
}

func recordOf(s *corev1.Secret) *record {
	return &record{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name, UID: s.UID, ResourceVersion: s.ResourceVersion}}
}

// nameOf returns the name of the revision that a Secret records. If the Secret does not have the name of a record, it returns
// the name of the Secret: Helm finds it for no release, and its content is unknown.
func nameOf(secret cache.ObjectName) release.Name {
	n, err := release.ParseSecretName(secret.Namespace, secret.Name)
	if err != nil {
		return release.Name{Namespace: secret.Namespace, Name: secret.Name}
	}
	return n
}

// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"errors"
	"fmt"
	"iter"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

// desiredObject is an object that a Helm release of Fleet desires.
type desiredObject struct {
	release, bundle string
	content         *unstructured.Unstructured
}

// errUndecoded is the error of a release record that could not be decoded. It does not quote the record.
var errUndecoded = errors.New("a release record could not be decoded")

// desired returns the objects of all Helm releases of Fleet, except those of its agents, which the webhook ignores. It
// sets unread if a record could not be read.
func (t *Tester) desired(ctx context.Context) iter.Seq[desiredObject] {
	o := metav1.ListOptions{FieldSelector: "type=" + release.SecretType,
		LabelSelector: "status!=" + release.StatusSuperseded}
	return func(yield func(desiredObject) bool) {
		for secret, err := range t.List(ctx, install.SecretKind, metav1.NamespaceAll, o) {
			if err != nil {
				t.unread = fmt.Errorf("reading release records: %w", err)
				return
			}
			all, err := t.objectsOf(secret)
			if err != nil {
				t.unread = errUndecoded
			}
			for _, d := range all {
				if !yield(d) {
					return
				}
			}
		}
	}
}

// objectsOf returns the objects of a release record of Fleet that is deployed or pending.
func (t *Tester) objectsOf(secret *unstructured.Unstructured) ([]desiredObject, error) {
	r, err := release.Decode(install.Decode[corev1.Secret](secret).Data[release.DataKey])
	if err != nil || r.BundleID == "" || fleet.IsAgentBundle(r.BundleID) {
		return nil, err
	}
	if r.Status != release.StatusDeployed && !r.Pending() {
		return nil, nil
	}
	objects, err := r.Objects()
	if err != nil {
		return nil, err
	}
	var out []desiredObject
	for _, o := range objects {
		d := desiredObject{r.Release(), r.BundleID, &unstructured.Unstructured{}}
		if err := yaml.Unmarshal(o.Raw, d.content); err != nil {
			return nil, err
		}
		m, err := t.Mapper.RESTMapping(o.GroupVersionKind().GroupKind(), o.GroupVersionKind().Version)
		switch {
		case err == nil && m.Scope.Name() == meta.RESTScopeNameRoot:
			d.content.SetNamespace("")
		case d.content.GetNamespace() == "":
			d.content.SetNamespace(r.Namespace)
		}
		out = append(out, d)
	}
	return out, nil
}

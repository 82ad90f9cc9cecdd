// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"iter"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

// desiredObject is an object that a Helm release of Fleet desires.
type desiredObject struct {
	object.Ref
	release, bundle string
	content         *unstructured.Unstructured
}

// errUndecoded is the error of a release record that could not be decoded. It does not quote the record.
var errUndecoded = errors.New("a release record could not be decoded")

// desired returns the objects of all Helm releases of Fleet, and the errors of records that could not be read.
func (t *Tester) desired(ctx context.Context) iter.Seq2[desiredObject, error] {
	o := metav1.ListOptions{FieldSelector: "type=" + release.SecretType,
		LabelSelector: "status!=" + release.StatusSuperseded}
	return func(yield func(desiredObject, error) bool) {
		for secret, err := range t.List(ctx, secretKind, metav1.NamespaceAll, o) {
			if err != nil {
				yield(desiredObject{}, fmt.Errorf("reading release records: %w", err))
				return
			}
			all, err := t.objectsOf(secret)
			if err != nil && !yield(desiredObject{}, errUndecoded) {
				return
			}
			for _, d := range all {
				if !yield(d, nil) {
					return
				}
			}
		}
	}
}

// objectsOf returns the objects of a release record of Fleet that is deployed or pending.
func (t *Tester) objectsOf(secret *unstructured.Unstructured) ([]desiredObject, error) {
	encoded, _, _ := unstructured.NestedString(secret.Object, "data", release.DataKey)
	value, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, errUndecoded
	}
	r, err := release.Decode(value)
	if err != nil || r.BundleID == "" {
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
		d := desiredObject{o.Ref, r.Release(), r.BundleID, &unstructured.Unstructured{}}
		if err := yaml.Unmarshal(o.Raw, d.content); err != nil {
			return nil, err
		}
		m, err := t.Mapper.RESTMapping(d.GroupVersionKind().GroupKind(), d.GroupVersionKind().Version)
		switch {
		case err == nil && m.Scope.Name() == meta.RESTScopeNameRoot:
			d.Namespace = ""
		case d.Namespace == "":
			d.Namespace = r.Namespace
		}
		d.content.SetNamespace(d.Namespace)
		out = append(out, d)
	}
	return out, nil
}

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

// records are the problems of reading release records.
type records struct {
	err       error
	undecoded int
}

// reason is the reason why the desired objects are not known completely, "" if they are.
func (r *records) reason() string {
	switch {
	case r.err != nil:
		return r.err.Error()
	case r.undecoded > 0:
		return count(r.undecoded, "release record") + " could not be decoded"
	}
	return ""
}

// desired returns the objects of all Helm releases of Fleet. It sets the problems in r.
func (t *Tester) desired(ctx context.Context, r *records) iter.Seq[desiredObject] {
	o := metav1.ListOptions{FieldSelector: "type=" + release.SecretType, LabelSelector: "status!=" + release.StatusSuperseded}
	return func(yield func(desiredObject) bool) {
		for secret, err := range t.List(ctx, secretKind, metav1.NamespaceAll, o) {
			if err != nil {
				r.err = fmt.Errorf("reading release records: %w", err)
				return
			}
			all, err := t.objectsOf(secret)
			if err != nil {
				r.undecoded++
			}
			for _, d := range all {
				if !yield(d) {
					return
				}
			}
		}
	}
}

// objectsOf returns the objects of a release record of Fleet that is deployed or pending. Errors do not quote the
// record.
func (t *Tester) objectsOf(secret *unstructured.Unstructured) ([]desiredObject, error) {
	encoded, _, _ := unstructured.NestedString(secret.Object, "data", release.DataKey)
	value, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, errors.New("decoding release record: it is not base64")
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
		ref := o.Ref
		m, err := t.Mapper.RESTMapping(ref.GroupVersionKind().GroupKind(), ref.GroupVersionKind().Version)
		switch {
		case err == nil && m.Scope.Name() == meta.RESTScopeNameRoot:
			ref.Namespace = ""
		case ref.Namespace == "":
			ref.Namespace = r.Namespace
		}
		content := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(o.Raw, content); err != nil {
			return nil, errors.New("decoding release record: an object is not valid")
		}
		out = append(out, desiredObject{ref, r.Release(), r.BundleID, content})
	}
	return out, nil
}

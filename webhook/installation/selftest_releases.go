// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

// desiredObject is an object that a Helm release of Fleet desires.
type desiredObject struct {
	object.Ref
	release, bundle string
	// agentNamespace and serviceAccount say as whom Fleet deploys the release.
	agentNamespace, serviceAccount string
}

// errEnough ends a list early.
var errEnough = errors.New("enough")

// desired passes the objects of all Helm releases of Fleet to yield, until yield returns errEnough. It counts records that cannot be decoded.
func (t *Tester) desired(ctx context.Context, yield func(desiredObject) error) (undecoded int, err error) {
	o := metav1.ListOptions{FieldSelector: "type=" + release.SecretType, LabelSelector: "status!=" + release.StatusSuperseded}
	err = t.Cluster.List(ctx, secretKind, metav1.NamespaceAll, o, func(secret *unstructured.Unstructured) error {
		all, err := t.objectsOf(secret)
		if err != nil {
			undecoded++
		}
		for _, d := range all {
			if err := yield(d); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return undecoded, fmt.Errorf("reading release records: %w", err)
	}
	return undecoded, nil
}

// objectsOf returns the objects of a release record of Fleet that is deployed or pending. Errors do not quote the record.
func (t *Tester) objectsOf(secret *unstructured.Unstructured) ([]desiredObject, error) {
	encoded, _, _ := unstructured.NestedString(secret.Object, "data", release.DataKey)
	value, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, errors.New("decoding release record: it is not base64")
	}
	r, err := release.Decode(value)
	if err != nil || r.BundleID == "" || r.Status != release.StatusDeployed && !r.Pending() {
		return nil, err
	}
	objects, err := r.Objects()
	if err != nil {
		return nil, err
	}
	var out []desiredObject
	for _, o := range objects {
		ref := o.Ref
		m, err := t.Cluster.Mapper.RESTMapping(ref.GroupVersionKind().GroupKind(), ref.GroupVersionKind().Version)
		switch {
		case err == nil && m.Scope.Name() == meta.RESTScopeNameRoot:
			ref.Namespace = ""
		case ref.Namespace == "":
			ref.Namespace = r.Namespace
		}
		out = append(out, desiredObject{ref, r.Release(), r.BundleID, r.AgentNamespace, r.ServiceAccount})
	}
	return out, nil
}

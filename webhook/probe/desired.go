// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

var secretKind = corev1.SchemeGroupVersion.WithKind("Secret")

// wanted is an object that a release of Fleet's desires.
type wanted struct {
	object.Ref
	release, bundle string
	agent           agent
}

// agent is whom Fleet deploys a release as.
type agent struct{ namespace, account string }

// errEnough ends a walk early.
var errEnough = errors.New("enough")

// desired passes the objects of all releases of Fleet's on, deployed or being so, as their records name them, until yield returns errEnough.
// A record that cannot be read is counted, and passed over.
func (t *Tester) desired(ctx context.Context, yield func(wanted) error) (damaged int, err error) {
	o := metav1.ListOptions{FieldSelector: "type=" + release.SecretType, LabelSelector: "status!=" + release.StatusSuperseded}
	err = t.Cluster.List(ctx, secretKind, metav1.NamespaceAll, o, func(secret *unstructured.Unstructured) error {
		all, err := t.wants(secret)
		if err != nil {
			damaged++
		}
		for _, w := range all {
			if err := yield(w); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return damaged, fmt.Errorf("reading release records: %w", err)
	}
	return damaged, nil
}

// wants reads what a release of Fleet's desires from its record. Errors do not quote it.
func (t *Tester) wants(secret *unstructured.Unstructured) ([]wanted, error) {
	encoded, _, _ := unstructured.NestedString(secret.Object, "data", release.DataKey)
	value, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, errors.New("decoding release record: it is no base64")
	}
	r, err := release.Decode(value)
	if err != nil || r.BundleID == "" || r.Status != release.StatusDeployed && !r.Pending() {
		return nil, err
	}
	objects, err := r.Objects()
	if err != nil {
		return nil, err
	}
	var out []wanted
	for _, each := range objects {
		out = append(out, wanted{Ref: t.placed(each.Ref, r.Namespace), release: r.Release(), bundle: r.BundleID, agent: agent{r.AgentNamespace, r.ServiceAccount}})
	}
	return out, nil
}

// placed puts an object where Helm puts it: in the release's namespace if it states none, in no namespace if it is cluster-scoped.
func (t *Tester) placed(r object.Ref, namespace string) object.Ref {
	m, err := t.Cluster.Mapper.RESTMapping(r.GroupVersionKind().GroupKind(), r.GroupVersionKind().Version)
	switch {
	case err == nil && m.Scope.Name() == meta.RESTScopeNameRoot:
		r.Namespace = ""
	case r.Namespace == "":
		r.Namespace = namespace
	}
	return r
}

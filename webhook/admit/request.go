// SPDX-License-Identifier: Apache-2.0

package admit

import (
	"errors"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// keyOf names the object that a request is about. The request of a Namespace states its own name as its namespace; that of one object of many
// that are deleted at once states no name.
func keyOf(req *admission.Request) object.Key {
	k := object.Key{Group: req.Kind.Group, Kind: req.Kind.Kind, Namespace: req.Namespace, Name: req.Name}
	if k.Group == "" && k.Kind == "Namespace" {
		k.Namespace = ""
	}
	if k.Name == "" && req.Operation == admissionv1.Delete {
		if m, err := metaOf(req.OldObject); err == nil && m != nil {
			k.Name = m.Metadata.Name
		}
	}
	return k
}

// metaOf reads an object's metadata; nil where there is no object.
func metaOf(raw runtime.RawExtension) (*object.Meta, error) {
	if len(raw.Raw) == 0 || string(raw.Raw) == "null" {
		return nil, nil
	}
	m, err := object.ReadMeta(raw.Raw)
	if err != nil {
		return nil, errors.New("reading metadata: it is not as the API writes it") // and not quoted
	}
	return m, nil
}

// objects reads what the request is about, as it is stored and as it would be; nil where it is not.
func objects(req *admission.Request) (before, after *object.Meta, err error) {
	if before, err = metaOf(req.OldObject); err != nil {
		return nil, nil, fmt.Errorf("old object: %w", err)
	}
	if after, err = metaOf(req.Object); err != nil {
		return nil, nil, fmt.Errorf("new object: %w", err)
	}
	return before, after, nil
}

// manager is the field manager that a request states; most state none, and are known by their user agent, which is not sent on.
func manager(req *admission.Request) string {
	var options struct {
		FieldManager string `json:"fieldManager"`
	}
	if len(req.Options.Raw) == 0 || object.Into(req.Options.Raw, &options) != nil {
		return ""
	}
	return options.FieldManager
}

// reference is what may be said of the object elsewhere.
func reference(req *admission.Request, key object.Key, m *object.Meta) Object {
	gv := schema.GroupVersion{Group: key.Group, Version: req.Kind.Version}
	return Object{APIVersion: gv.String(), Kind: key.Kind, Namespace: key.Namespace, Name: key.Name, UID: m.Metadata.UID}
}

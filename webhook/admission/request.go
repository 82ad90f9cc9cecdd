// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/journal"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
)

// Request is the part of an admission request that a decision needs.
type Request struct {
	Key object.Key
	// User makes the request. Manager is the field manager that the request states. Most requests state none: the API
	// server then derives it from the user agent, which is not in an admission request.
	User, Manager string
	// Old is the stored object; nil if the request creates it. New is the object to be stored; nil if the request
	// deletes it.
	Old, New *object.Meta
}

// receive reads a request about the object of a key. ok is false for an object that the API server does not write: a
// patch that cannot be applied would fail the request, independent of the failurePolicy.
func receive(review *admission.Request, key object.Key) (r Request, ok bool) {
	before, err := readMeta(review.OldObject)
	if err != nil || before == nil && review.Operation != admissionv1.Create {
		return Request{}, false
	}
	after, err := readMeta(review.Object)
	if err != nil {
		return Request{}, false
	}
	stored := after != nil && after.Metadata.Name == key.Name
	if !stored && review.Operation != admissionv1.Delete {
		return Request{}, false
	}
	r = Request{Key: key, User: review.UserInfo.Username, Manager: fieldManager(review), Old: before, New: after}
	return r, true
}

// keyOf returns the key of a request's object. The request about a Namespace has the name as its namespace too. A
// request of a deletecollection has no name.
func keyOf(review *admission.Request) object.Key {
	k := object.Key{Group: review.Kind.Group, Kind: review.Kind.Kind, Namespace: review.Namespace, Name: review.Name}
	if k.Group == "" && k.Kind == "Namespace" {
		k.Namespace = ""
	}
	if k.Name == "" && review.Operation == admissionv1.Delete {
		if m, err := readMeta(review.OldObject); err == nil && m != nil {
			k.Name = m.Metadata.Name
		}
	}
	return k
}

// readMeta reads the metadata of an object; nil without an object.
func readMeta(raw runtime.RawExtension) (*object.Meta, error) {
	if len(raw.Raw) == 0 || string(raw.Raw) == "null" {
		return nil, nil
	}
	return object.ReadMeta(raw.Raw)
}

func fieldManager(review *admission.Request) string {
	var options struct {
		FieldManager string `json:"fieldManager"`
	}
	if len(review.Options.Raw) == 0 || object.Into(review.Options.Raw, &options) != nil {
		return ""
	}
	return options.FieldManager
}

// seen describes a request that harms an object of a release. An admission request does not have the user agent.
func seen(review *admission.Request, r Request, harm *HarmError, now time.Time) journal.Seen {
	gv := schema.GroupVersion{Group: r.Key.Group, Version: review.Kind.Version}
	out := journal.Seen{Time: now.UTC().Truncate(time.Millisecond), Verb: journal.Delete, User: r.User,
		Groups: review.UserInfo.Groups, Manager: r.Manager, UID: r.Old.Metadata.UID,
		Ref: object.Ref{APIVersion: gv.String(), Kind: r.Key.Kind, Namespace: r.Key.Namespace, Name: r.Key.Name}}
	for _, c := range harm.Lost {
		out.Verb, out.Lost = journal.Update, append(out.Lost, c.Field()+" "+c.Name)
	}
	return out
}

// reference returns the object for an Event, with the uid of the stored object.
func (r Request) reference(version string) corev1.ObjectReference {
	gv := schema.GroupVersion{Group: r.Key.Group, Version: version}
	return corev1.ObjectReference{APIVersion: gv.String(), Kind: r.Key.Kind, Namespace: r.Key.Namespace,
		Name: r.Key.Name, UID: types.UID(r.Old.Metadata.UID)}
}

// metadataOf reads the ownership metadata of an object, which may be nil.
func metadataOf(m *object.Meta) ownership.Metadata {
	if m == nil {
		return ownership.Metadata{}
	}
	return ownership.MetadataOf(m.Metadata.Labels, m.Metadata.Annotations)
}

// SPDX-License-Identifier: Apache-2.0

package object

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Meta is the identity and the metadata of an object. ReadMeta is much cheaper than Decode, and is sufficient for most
// objects of a cluster.
type Meta struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name              string            `json:"name"`
		Namespace         string            `json:"namespace"`
		UID               string            `json:"uid"`
		ResourceVersion   string            `json:"resourceVersion"`
		CreationTimestamp string            `json:"creationTimestamp"`
		DeletionTimestamp string            `json:"deletionTimestamp"`
		Labels            map[string]string `json:"labels"`
		Annotations       map[string]string `json:"annotations"`
		OwnerReferences   Owners            `json:"ownerReferences"`
	} `json:"metadata"`
}

// Owner is an entry of ownerReferences.
type Owner struct {
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
	Controller bool   `json:"controller"`
}

// Owners has at most one element when it is read: the controller, or else the first owner. A malicious object can have
// millions, in three bytes each.
type Owners []Owner

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (o *Owners) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() != jsontext.KindBeginArray {
		return json.UnmarshalDecode(dec, (*[]Owner)(o)) // null, or an error
	}
	*o = nil
	var next Owner
	return Elements(dec, func() error {
		next = Owner{}
		if err := json.UnmarshalDecode(dec, &next); err != nil {
			return err
		}
		if len(*o) == 0 || next.Controller && !(*o)[0].Controller {
			*o = Owners{next}
		}
		return nil
	})
}

// Ref identifies the object.
func (m *Meta) Ref() Ref {
	return Ref{APIVersion: m.APIVersion, Kind: m.Kind, Namespace: m.Metadata.Namespace, Name: m.Metadata.Name}
}

// Controller is "Kind name" of the controller of the object, "" without one.
func (m *Meta) Controller() string {
	for _, o := range m.Metadata.OwnerReferences {
		if o.Controller {
			return o.Kind + " " + o.Name
		}
	}
	return ""
}

// ReadMeta reads the identity and the metadata from the JSON of one object.
func ReadMeta(raw []byte) (*Meta, error) {
	var m Meta
	if err := json.Unmarshal(raw, &m, lenient); err != nil {
		return nil, fmt.Errorf("reading metadata: %w", err)
	}
	return &m, nil
}

// lenient accepts duplicate names and invalid UTF-8, because some API servers write them.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// Into decodes the JSON of one object into a typed value, by its json tags. It ignores unknown fields.
func Into(raw []byte, into any) error {
	if err := json.Unmarshal(raw, into, lenient); err != nil {
		return fmt.Errorf("decoding object: %w", err)
	}
	return nil
}

// SPDX-License-Identifier: Apache-2.0

package object

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Meta is the part of an object that is read without decoding all of it: its identity and its metadata.
// Reading it costs a fraction of Decode, and most objects of a cluster need nothing else.
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

// Owner is one of ownerReferences.
type Owner struct {
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	Controller bool   `json:"controller"`
}

// Owners are, when read, no more than one: the controller, or else the first. An object that is forged can name millions, at three bytes each.
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

// Ref names the object.
func (m *Meta) Ref() Ref {
	return Ref{APIVersion: m.APIVersion, Kind: m.Kind, Namespace: m.Metadata.Namespace, Name: m.Metadata.Name}
}

// Controller is "Kind name" of the object's controller, "" where it has none.
func (m *Meta) Controller() string {
	for _, o := range m.Metadata.OwnerReferences {
		if o.Controller {
			return o.Kind + " " + o.Name
		}
	}
	return ""
}

// ReadMeta reads the identity and metadata from one object's JSON.
func ReadMeta(raw []byte) (*Meta, error) {
	var m Meta
	if err := json.Unmarshal(raw, &m, lenient); err != nil {
		return nil, fmt.Errorf("reading metadata: %w", err)
	}
	return &m, nil
}

// lenient accepts JSON that is not strictly valid, because some API servers write it.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// Into decodes one object's JSON into a typed value, by its json tags; fields it does not have are passed over.
func Into(raw []byte, into any) error {
	if err := json.Unmarshal(raw, into, lenient); err != nil {
		return fmt.Errorf("decoding object: %w", err)
	}
	return nil
}

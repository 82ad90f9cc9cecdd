// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// The auditor records an adoption in a ConfigMap, with the text of a receipt.
const (
	// ReceiptNamespace is the default namespace of the auditor.
	ReceiptNamespace = "fleetdoctor-system"
	// ReceiptLabel is on the ConfigMap of every receipt, with the value "true".
	ReceiptLabel = "fleetdoctor.io/adoption-receipt"
	// ReceiptKey is the key of the text.
	ReceiptKey = "receipt.jsonl"
	// UndoneAnnotation is on the ConfigMap of a receipt that was undone, with the time (RFC 3339). The auditor does not
	// adopt the objects of such a receipt again.
	UndoneAnnotation = "fleetdoctor.io/undone"
)

// FindReceipt reads the text of the receipt in a ConfigMap, with the metadata of the ConfigMap.
func FindReceipt(ctx context.Context, src source.Source, namespace, name string) (*object.Meta, []byte, error) {
	var meta *object.Meta
	var text string
	kind := corev1.SchemeGroupVersion.WithKind("ConfigMap")
	q := source.Query{Kind: kind, Namespaces: []string{namespace}, FieldSelector: "metadata.name=" + name}
	cover, err := src.List(ctx, q, func(o source.Object) error {
		var found corev1.ConfigMap
		m, err := o.ReadMeta()
		if err == nil {
			err = json.Unmarshal(o.Raw, &found)
		}
		if err != nil {
			return fmt.Errorf("decoding ConfigMap %s/%s: %w", namespace, name, err)
		}
		if m.Metadata.Name == name && m.Metadata.Namespace == namespace {
			meta, text = m, found.Data[ReceiptKey]
		}
		return nil
	})
	f, covered := cover.Of(namespace)
	switch {
	case err != nil:
		return nil, nil, err
	case meta == nil && !covered:
		return nil, nil, fmt.Errorf("ConfigMap %s/%s could not be read: %s %s", namespace, name, f.Reason, f.Detail)
	case meta == nil:
		return nil, nil, fmt.Errorf("ConfigMap %s/%s not found", namespace, name)
	case text == "":
		return nil, nil, fmt.Errorf("ConfigMap %s/%s has no receipt: its key %s is empty", namespace, name, ReceiptKey)
	}
	return meta, []byte(text), nil
}

// SPDX-License-Identifier: Apache-2.0

package adoption

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/adopt"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

const (
	// namePrefix begins the names of the ConfigMaps. The time of the adoption follows.
	namePrefix = "fleetdoctor-adoption-"
	managedBy  = "app.kubernetes.io/managed-by"
	// maxBytes limits the text of a receipt. The limit of the API is 1 MiB.
	maxBytes = 512 << 10
	// maxReceipts is the number of receipts that were not undone, and kept how long these are kept.
	maxReceipts = 200
	kept        = 30 * 24 * time.Hour
)

// store has the receipts.
type store struct {
	client    client.ConfigMapsGetter
	namespace string
}

func (s store) configMaps() client.ConfigMapInterface { return s.client.ConfigMaps(s.namespace) }

// list returns all receipts, the oldest one first.
func (s store) list(ctx context.Context) ([]corev1.ConfigMap, error) {
	list, err := s.configMaps().List(ctx, metav1.ListOptions{LabelSelector: adopt.ReceiptLabel + "=true"})
	if err != nil {
		return nil, fmt.Errorf("listing the receipts in namespace %s: %w", s.namespace, err)
	}
	slices.SortFunc(list.Items, func(x, y corev1.ConfigMap) int { return cmp.Compare(x.Name, y.Name) })
	return list.Items, nil
}

// create stores the receipt of the items to write. Items for which it has no room are left for later; one whose receipt
// is too large alone is refused. It returns "" if there is nothing to write.
func (s store) create(ctx context.Context, h adopt.Header, items []adopt.Item, now time.Time) (string, error) {
	text, err := fitting(h, items)
	if err != nil || text == nil {
		return "", err
	}
	receipt := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace,
		Name:   namePrefix + strings.ReplaceAll(now.UTC().Format("20060102-150405.000"), ".", "-"),
		Labels: map[string]string{adopt.ReceiptLabel: "true", managedBy: "fleetdoctor"}},
		Data: map[string]string{adopt.ReceiptKey: string(text)}}
	if _, err := s.configMaps().Create(ctx, receipt, metav1.CreateOptions{}); err != nil {
		return "", fmt.Errorf("creating ConfigMap %s/%s: %w", s.namespace, receipt.Name, err)
	}
	return receipt.Name, nil
}

// fitting returns the text of a receipt that is not too large; nil if there is nothing to write.
func fitting(h adopt.Header, items []adopt.Item) ([]byte, error) {
	for {
		text, entries, err := adopt.EncodeReceipt(h, items)
		switch {
		case err != nil:
			return nil, err
		case len(entries) == 0:
			return nil, nil
		case len(text) <= maxBytes:
			return text, nil
		}
		last := slices.IndexFunc(items, adopt.Item.Writes)
		if len(entries) == 1 {
			refuse(&items[last], "its ownership metadata is too large for a receipt")
			continue
		}
		for n := (len(entries) + 1) / 2; n > 0; last++ { // keep the first half
			if items[last].Writes() {
				n--
			}
		}
		for i := range items[last:] {
			if item := &items[last+i]; item.Writes() {
				item.Action, item.Message = report.ActionNone, waits
			}
		}
	}
}

func (s store) delete(ctx context.Context, name string) error {
	err := s.configMaps().Delete(ctx, name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting ConfigMap %s/%s: %w", s.namespace, name, err)
	}
	return nil
}

// prune deletes receipts that are too old or too many, but none that was undone: its objects would be adopted again.
func (s store) prune(ctx context.Context, receipts []corev1.ConfigMap, now time.Time) error {
	receipts = slices.DeleteFunc(slices.Clone(receipts), func(c corev1.ConfigMap) bool {
		return c.Annotations[adopt.UndoneAnnotation] != ""
	})
	for i := range receipts {
		tooMany := len(receipts)-i >= maxReceipts
		if tooMany || now.Sub(receipts[i].CreationTimestamp.Time) > kept {
			if err := s.delete(ctx, receipts[i].Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// SPDX-License-Identifier: Apache-2.0

package adoption

import (
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/adopt"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

const (
	// maxPerMinute is the number of objects that are adopted in a minute.
	maxPerMinute = 60
	// share is the part of the objects of a bundle deployment that may be adopted in an hour: one of so many, but at
	// least one object.
	share = 10
	// maxRepeats is how often an object is adopted in an hour.
	maxRepeats = 5
)

// identity is one object of one bundle deployment.
type identity struct{ uid, bundleDeployment string }

// past is what the receipts state about earlier adoptions.
type past struct {
	// lastMinute is the number of objects that were adopted in the last minute.
	lastMinute int
	// lastHour counts how often each object was adopted in the last hour.
	lastHour map[identity]int
	// undone are the UIDs of the objects whose adoption was undone.
	undone map[string]bool
}

// pastOf reads receipts. It returns an error if one of them cannot be read: it may be one that was undone.
func pastOf(receipts []corev1.ConfigMap, now time.Time) (past, error) {
	out := past{lastHour: map[identity]int{}, undone: map[string]bool{}}
	var failed []error
	for i := range receipts {
		if err := out.add(&receipts[i], now); err != nil {
			failed = append(failed, fmt.Errorf("ConfigMap %s/%s: %w; nothing is adopted until it is repaired or "+
				"deleted",
				receipts[i].Namespace, receipts[i].Name, err))
		}
	}
	return out, errors.Join(failed...)
}

func (p *past) add(receipt *corev1.ConfigMap, now time.Time) error {
	header, entries, err := adopt.ReadReceipt(strings.NewReader(receipt.Data[adopt.ReceiptKey]))
	if err != nil {
		return err
	}
	at, err := time.Parse(time.RFC3339, header.TakenAt)
	if err != nil {
		return fmt.Errorf("reading the time of the receipt: %w", err)
	}
	age := now.Sub(at)
	if age < time.Minute {
		p.lastMinute += len(entries)
	}
	for _, e := range entries {
		if age < time.Hour {
			p.lastHour[identity{e.UID, e.BundleDeployment}]++
		}
		if receipt.Annotations[adopt.UndoneAnnotation] != "" {
			p.undone[e.UID] = true
		}
	}
	return nil
}

// decision is what may be adopted of a plan. It is a pure function of the plan and the past.
type decision struct {
	past
	// sizes are the numbers of desired objects of the bundle deployments.
	sizes map[string]int
	// stopped are the bundle deployments of which nothing more is adopted. More are added.
	stopped map[string]bool
}

// limit refuses the items that must not be adopted now. Items that wait only for the budget become unchanged.
func (d *decision) limit(items []adopt.Item) {
	for i := range items {
		if why := d.leftAlone(&items[i]); items[i].Writes() && why != "" {
			refuse(&items[i], why)
		}
	}
	d.stop(items)
	budget := maxPerMinute - d.lastMinute
	for i := range items {
		item := &items[i]
		switch {
		case !item.Writes():
		case d.stopped[item.BundleDeployment]:
			refuse(item, fmt.Sprintf("more than a tenth of the objects of bundle deployment %s would be adopted "+
				"within an hour: nothing more of it is adopted; adopt them with `kubectl fleetdoctor adopt`",
				item.BundleDeployment))
		case budget <= 0:
			item.Action, item.Message = report.ActionNone, waits
		default:
			budget--
		}
	}
}

// waits is the message of an item that waits for the budget.
const waits = "it waits: the budget of this minute is spent"

// leftAlone is why an object is not adopted again; empty if it may be.
func (d *decision) leftAlone(item *adopt.Item) string {
	switch {
	case d.undone[item.UID]:
		return "an earlier adoption of it was undone"
	case d.lastHour[identity{item.UID, item.BundleDeployment}] >= maxRepeats:
		return fmt.Sprintf("it lost its ownership metadata again after %d adoptions within an hour: another program "+
			"may remove it", maxRepeats)
	}
	return ""
}

// stop adds the bundle deployments of which too many objects would be adopted within an hour.
func (d *decision) stop(items []adopt.Item) {
	taken := map[string]int{}
	for id := range d.lastHour {
		taken[id.bundleDeployment]++
	}
	for i := range items {
		item := &items[i]
		_, again := d.lastHour[identity{item.UID, item.BundleDeployment}]
		if item.Writes() && !again {
			taken[item.BundleDeployment]++
		}
	}
	for i := range items {
		of := items[i].BundleDeployment
		if items[i].Writes() && taken[of] > max(1, d.sizes[of]/share) {
			d.stopped[of] = true
		}
	}
}

func refuse(item *adopt.Item, why string) {
	item.Action, item.Effects, item.Overwrites = report.ActionRefuse, nil, nil
	item.Refusals = append(item.Refusals, why)
}

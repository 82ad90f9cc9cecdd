// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	client "k8s.io/client-go/kubernetes/typed/events/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/view"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

const (
	// Controller is the reportingController of the Events.
	Controller = "fleetdoctor.io/auditor"
	// action is what was done when the Event was noticed. The API requires one.
	action = "Audit"
	// maxInstance is the limit of the API for the name of a reporter, in bytes.
	maxInstance = 128
)

// Options of what this package writes.
type Options struct {
	// Instance is the name of the Pod, Namespace that of the auditor.
	Instance, Namespace string
	Now                 func() time.Time
	Log                 logr.Logger
}

// Events writes Events. Its methods are safe for concurrent use.
type Events struct {
	client  client.EventsGetter
	options Options

	mu   sync.Mutex
	plan plan
}

// NewEvents makes a Events. It writes nothing before Write.
func NewEvents(c client.EventsGetter, o Options) *Events {
	o.Log = o.Log.WithName("events")
	o.Instance = o.Instance[:min(len(o.Instance), maxInstance)]
	return &Events{client: c, options: o, plan: plan{index: map[object.Ref]int{}, told: map[object.Ref]told{}}}
}

// Update adds the changes of a step. It does not block.
func (w *Events) Update(s *view.Step) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.plan.add(s)
}

// Forget discards the Events that wait, because the next leader writes its own.
func (w *Events) Forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.plan = plan{index: map[object.Ref]int{}, told: map[object.Ref]told{}, dropped: w.plan.dropped}
}

// Dropped is the number of Events that were not written.
func (w *Events) Dropped() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.plan.dropped
}

// Write writes Events that are due, at most maxBatch. The error has those that are tried again.
func (w *Events) Write(ctx context.Context) error {
	w.mu.Lock()
	now := w.options.Now()
	due := w.plan.due(now)
	w.mu.Unlock()
	var failed []error
	for _, m := range due {
		err := w.write(ctx, &m, now)
		switch {
		case err == nil:
		case final(err):
			w.options.Log.V(1).Info("An Event was refused", "object", m.regarding.Key().String(), "error", err.Error())
			w.mu.Lock()
			w.plan.dropped++
			w.mu.Unlock()
		default:
			failed = append(failed, fmt.Errorf("creating an Event on %s: %w", m.regarding.Key(), err))
			w.mu.Lock()
			w.plan.failed(m)
			w.mu.Unlock()
		}
	}
	return errors.Join(failed...)
}

// final reports whether the server refuses an Event, and would refuse it again: its namespace is gone or being deleted,
// or the auditor has no right to write there.
func final(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	switch status.Status().Reason {
	case metav1.StatusReasonNotFound, metav1.StatusReasonForbidden, metav1.StatusReasonInvalid,
		metav1.StatusReasonBadRequest:
		return true
	}
	return false
}

func (w *Events) write(ctx context.Context, m *message, now time.Time) error {
	e := w.event(m, now)
	_, err := w.client.Events(e.Namespace).Create(ctx, e, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) { // an earlier attempt had succeeded
		return nil
	}
	return err
}

func (w *Events) event(m *message, now time.Time) *eventsv1.Event {
	r := m.regarding
	// The name of an object may be none of an Event, and two Events of an object need different names.
	sum := sha256.Sum256([]byte(r.Key().String() + "\x00" + m.reason + "\x00" + now.Format(time.RFC3339Nano)))
	e := &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: "fleetdoctor." + hex.EncodeToString(sum[:8]), Namespace: r.Namespace},
		EventTime:  metav1.NewMicroTime(now), ReportingController: Controller, ReportingInstance: w.options.Instance,
		Action: action, Reason: "Fleet" + m.reason, Regarding: reference(r), Note: m.text(),
		Type: corev1.EventTypeNormal,
	}
	if r.Namespace == "" {
		e.Namespace = metav1.NamespaceDefault // the API requires it for objects without a namespace
	}
	if m.warning {
		e.Type = corev1.EventTypeWarning
	}
	if m.related.Name != "" {
		related := reference(m.related)
		e.Related = &related
	}
	return e
}

func reference(r object.Ref) corev1.ObjectReference {
	return corev1.ObjectReference{APIVersion: r.APIVersion, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
}

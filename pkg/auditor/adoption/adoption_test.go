// SPDX-License-Identifier: Apache-2.0

package adoption_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/adopt"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/adoption"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/metrics"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/view"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/views"
)

const namespace = "fleetdoctor-system"

// auditor adopts in the sample cluster "sick", with a clock. The sample does not change, so each written object seems
// to lose its ownership metadata at once.
type auditor struct {
	t       *testing.T
	src     source.Source
	now     time.Time
	client  *fake.Clientset
	metrics *metrics.Metrics
	fail    error
	mu      sync.Mutex // guards written
	written []string
	log     []string
	*adoption.Adopter
}

func newAuditor(t *testing.T, policy ownership.Policy) *auditor {
	t.Helper()
	src, err := snapshot.Open(t.Context(), []string{"../../../test/testdata/sick"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	a := &auditor{t: t, src: src, now: views.Begin, client: fake.NewClientset(),
		metrics: metrics.New(metrics.Options{})}
	a.metrics.SetLeader(true)
	a.restart(policy)
	return a
}

// restart lets another replica lead.
func (a *auditor) restart(policy ownership.Policy) {
	a.Adopter = adoption.New(adoption.Options{Policy: policy, Patcher: a, Client: a.client.CoreV1(),
		Namespace: namespace, Version: "test", Metrics: a.metrics, Now: func() time.Time { return a.now },
		Read: func(read func(source.Source) error) error { return read(a.src) },
		Log:  funcr.New(func(_, args string) { a.log = append(a.log, args) }, funcr.Options{})})
	v := views.Sample(a.t, "sick")
	a.Update(&view.Step{After: v})
	a.metrics.Update(&view.Step{After: v})
}

// Read implements adopt.Patcher.
func (a *auditor) Read(ctx context.Context, ref object.Ref) (*object.Meta, error) {
	var out *object.Meta
	_, err := a.src.List(ctx, source.Query{Kind: ref.GroupVersionKind()}, func(o source.Object) error {
		m, err := o.ReadMeta()
		if err == nil && m.Metadata.Name == ref.Name && m.Metadata.Namespace == ref.Namespace {
			out = m
		}
		return err
	})
	return out, err
}

// Patch implements adopt.Patcher.
func (a *auditor) Patch(ctx context.Context, ref object.Ref, text []byte) (*object.Meta, error) {
	if a.fail != nil {
		return nil, a.fail
	}
	m, err := a.Read(ctx, ref)
	if err != nil {
		return nil, err
	}
	var patch struct {
		Metadata struct {
			UID                 string
			ResourceVersion     string
			Labels, Annotations map[string]string
		}
	}
	if err := json.Unmarshal(text, &patch); err != nil {
		return nil, err
	}
	if patch.Metadata.UID != m.Metadata.UID || patch.Metadata.ResourceVersion == "" {
		return nil, errors.New("a precondition is missing")
	}
	if list, _ := a.client.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{}); len(list.Items) == 0 {
		return nil, errors.New("there is no receipt before the write")
	}
	out := *m
	for _, x := range []struct {
		to   *map[string]string
		more map[string]string
	}{{&out.Metadata.Labels, patch.Metadata.Labels}, {&out.Metadata.Annotations, patch.Metadata.Annotations}} {
		all := maps.Clone(*x.to)
		if all == nil {
			all = map[string]string{}
		}
		maps.Copy(all, x.more)
		*x.to = all
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.written = append(a.written, ref.Key().String())
	return &out, nil
}

// after lets time pass, and returns what is written then.
func (a *auditor) after(d time.Duration) []string {
	a.t.Helper()
	a.now, a.written = a.now.Add(d), nil
	if err := a.Write(a.t.Context()); err != nil {
		a.t.Fatal(err)
	}
	slices.Sort(a.written)
	return a.written
}

func (a *auditor) receipts() []corev1.ConfigMap {
	a.t.Helper()
	list, err := a.client.CoreV1().ConfigMaps(namespace).List(a.t.Context(),
		metav1.ListOptions{LabelSelector: adopt.ReceiptLabel + "=true"})
	if err != nil {
		a.t.Fatal(err)
	}
	return list.Items
}

// value returns the value of a metric by its name and one of its labels.
func (a *auditor) value(name, label string) float64 {
	a.t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(a.metrics)
	families, err := registry.Gather()
	if err != nil {
		a.t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "fleetdoctor_auditor_"+name && strings.Contains(m.String(), label) {
				return m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
	}
	return 0
}

var frontend = []string{"service guestbook/frontend"}

// TestAdopt checks what is adopted of the sample cluster: one object of five, and nothing of a bundle of three of which
// two are unowned.
func TestAdopt(t *testing.T) {
	a := newAuditor(t, ownership.IfUnowned)
	if diff := cmp.Diff(frontend, a.after(0)); diff != "" {
		t.Fatalf("written (-want +got):\n%s\n%s", diff, strings.Join(a.log, "\n"))
	}
	receipts := a.receipts()
	if len(receipts) != 1 {
		t.Fatalf("%d receipts", len(receipts))
	}
	h, entries, err := adopt.ReadReceipt(strings.NewReader(receipts[0].Data[adopt.ReceiptKey]))
	if err != nil || len(entries) != 1 || h.ClusterUID == "" || entries[0].Before == nil {
		t.Errorf("receipt %+v %+v: %v", h, entries, err)
	}
	for name, want := range map[string]float64{"adoptions_total adopted": 1, "adoptions_total refused": 2,
		"adoption_stopped ingress-ingress": 1, "adoption_stopped guestbook-guestbook": 0} {
		metric, label, _ := strings.Cut(name, " ")
		if got := a.value(metric, label); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	logged := strings.Count(strings.Join(a.log, "\n"), "An object is not adopted")
	if a.after(time.Minute); strings.Count(strings.Join(a.log, "\n"), "An object is not adopted") != logged {
		t.Error("a refusal was logged again")
	}
	if got := a.value("adoptions_total", "refused"); got != 2 {
		t.Errorf("a refusal was counted again: %v", got)
	}
}

// TestPolicies checks that each policy takes what the verb takes with it.
func TestPolicies(t *testing.T) {
	for policy, want := range map[ownership.Policy][]string{
		ownership.IfNoDiff:     frontend,
		ownership.TakeUnmarked: {"service guestbook/frontend", "service ingress/edge"},
	} {
		a := newAuditor(t, policy)
		got := a.after(0)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s\n%s", policy, diff, strings.Join(a.log, "\n"))
		}
	}
}

// TestLoop checks that an object that loses its ownership metadata again and again is left alone for the rest of an
// hour, also by another replica.
func TestLoop(t *testing.T) {
	a := newAuditor(t, ownership.IfUnowned)
	n := len(a.after(0))
	for range 10 {
		n += len(a.after(time.Minute))
	}
	a.restart(ownership.IfUnowned)
	n += len(a.after(time.Minute))
	if n != 5 || !strings.Contains(strings.Join(a.log, "\n"), "it lost its ownership metadata again") {
		t.Errorf("%d adoptions in an hour, want 5:\n%s", n, strings.Join(a.log, "\n"))
	}
	if got := a.after(time.Hour); len(got) != 1 {
		t.Errorf("after an hour: %v", got)
	}
}

// TestUndone checks that the objects of a receipt that was undone are left alone until the receipt is deleted, and that
// such a receipt is kept.
func TestUndone(t *testing.T) {
	a := newAuditor(t, ownership.IfUnowned)
	a.after(0)
	receipt := a.receipts()[0]
	receipt.Annotations = map[string]string{adopt.UndoneAnnotation: a.now.Format(time.RFC3339)}
	if _, err := a.client.CoreV1().ConfigMaps(namespace).Update(t.Context(), &receipt,
		metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, d := range []time.Duration{time.Minute, time.Hour, 60 * 24 * time.Hour} {
		a.restart(ownership.IfUnowned)
		if got := a.after(d); got != nil {
			t.Errorf("after %s, it adopted %v", d, got)
		}
	}
	if err := a.client.CoreV1().ConfigMaps(namespace).Delete(t.Context(), receipt.Name,
		metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(frontend, a.after(time.Minute)); diff != "" {
		t.Errorf("without the receipt (-want +got):\n%s", diff)
	}
}

// TestDamaged checks that nothing is adopted while a receipt cannot be read.
func TestDamaged(t *testing.T) {
	a := newAuditor(t, ownership.IfUnowned)
	a.after(0)
	receipt := a.receipts()[0]
	receipt.Data[adopt.ReceiptKey] = strings.Replace(receipt.Data[adopt.ReceiptKey], "frontend", "other", 1)
	if _, err := a.client.CoreV1().ConfigMaps(namespace).Update(t.Context(), &receipt,
		metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	a.now, a.written = a.now.Add(time.Minute), nil
	err := a.Write(t.Context())
	if err == nil || !strings.Contains(err.Error(), receipt.Name) || len(a.written) > 0 {
		t.Errorf("error %v, written %v", err, a.written)
	}
}

// TestFailure checks that a failed write leaves no receipt, and is not tried again at once.
func TestFailure(t *testing.T) {
	a := newAuditor(t, ownership.IfUnowned)
	a.fail = apierrors.NewForbidden(corev1.Resource("services"), "frontend", nil)
	a.after(0)
	a.after(time.Minute)
	if n := len(a.receipts()); n != 0 || a.value("adoptions_total", "failed") != 1 {
		t.Errorf("%d receipts, %v failures", n, a.value("adoptions_total", "failed"))
	}
	a.fail = nil
	if got := a.after(time.Hour); len(got) != 1 {
		t.Errorf("later, it adopted %v", got)
	}
}

// TestPrune checks that old receipts are deleted.
func TestPrune(t *testing.T) {
	a := newAuditor(t, ownership.IfUnowned)
	a.after(0)
	receipt := a.receipts()[0]
	receipt.CreationTimestamp = metav1.NewTime(a.now) // the fake client sets none
	if _, err := a.client.CoreV1().ConfigMaps(namespace).Update(t.Context(), &receipt,
		metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	a.after(31 * 24 * time.Hour)
	if got := a.receipts(); len(got) != 1 || got[0].Name == receipt.Name {
		t.Errorf("%d receipts", len(got))
	}
}

// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openreports/reports-api/apis/openreports.io/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/view"
)

// reportInterval is the least time between two rounds of writes. Each report is written at most once in a round.
const reportInterval = 30 * time.Second

// The resources of the API.
var (
	group          = schema.GroupVersion{Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version}
	reports        = group.WithResource("reports")
	clusterReports = group.WithResource("clusterreports")
)

// Reports keeps the reports. Its methods are safe for concurrent use.
type Reports struct {
	anyKind dynamic.Interface
	now     func() time.Time

	mu     sync.Mutex
	newest *view.View

	// The fields below are only used by Write. written is the view that the reports show.
	written *view.View
	round   time.Time
	// existing are the reports of the auditor; nil if they must be read.
	existing map[key]*unstructured.Unstructured
	// seen are the times when findings were seen first, by their ID.
	seen   map[string]metav1.Timestamp
	absent map[string]bool // namespaces
}

// NewReports makes a Reports. It writes nothing before Write.
func NewReports(c dynamic.Interface, o Options) *Reports {
	return &Reports{anyKind: c, now: o.Now, seen: map[string]metav1.Timestamp{}, absent: map[string]bool{}}
}

// Update sets the newest view. It does not block.
func (w *Reports) Update(s *view.Step) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.newest = s.After
}

// Write writes the reports that changed, and deletes those without a finding. It does nothing within 30 seconds after
// the round before, or if there is no newer view.
func (w *Reports) Write(ctx context.Context) error {
	w.mu.Lock()
	v := w.newest
	w.mu.Unlock()
	now := w.now()
	if v == w.written || now.Sub(w.round) < reportInterval {
		return nil
	}
	w.round = now
	if err := w.load(ctx); err != nil {
		return err
	}
	w.remember(v)
	if err := w.write(ctx, contents(v, w.seen, w.absent)); err != nil {
		w.existing = nil // another program may have changed them
		return err
	}
	w.written = v
	return nil
}

// load reads the reports of the auditor, and when their findings were seen first.
func (w *Reports) load(ctx context.Context) error {
	if w.existing != nil {
		return nil
	}
	found := map[key]*unstructured.Unstructured{}
	for _, resource := range []schema.GroupVersionResource{reports, clusterReports} {
		list, err := w.anyKind.Resource(resource).List(ctx,
			metav1.ListOptions{LabelSelector: component + "=" + auditor})
		if err != nil {
			return fmt.Errorf("listing the %s of the auditor: %w", resource.Resource, err)
		}
		for i := range list.Items {
			o := &list.Items[i]
			found[key{o.GetNamespace(), o.GetName()}] = o
			for _, r := range resultsOf(o) {
				w.seen[r.Properties["id"]] = r.Timestamp
			}
		}
	}
	w.existing = found
	return nil
}

// resultsOf returns the results of a report; nil if they cannot be read.
func resultsOf(o *unstructured.Unstructured) []v1alpha1.ReportResult {
	var r v1alpha1.ClusterReport
	if runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &r) != nil {
		return nil
	}
	return r.Results
}

// remember keeps the times of the findings that a view has.
func (w *Reports) remember(v *view.View) {
	now := map[string]metav1.Timestamp{}
	for i := range v.Findings {
		id := v.Findings[i].ID
		when, known := w.seen[id]
		if !known {
			when = metav1.Timestamp{Seconds: v.Evaluated.Unix()}
		}
		now[id] = when
	}
	w.seen = now
}

func (w *Reports) write(ctx context.Context, wanted map[key]content) error {
	var failed []error
	for _, k := range slices.SortedFunc(maps.Keys(wanted), key.compare) {
		err := w.put(ctx, k, wanted[k])
		if apierrors.IsNotFound(err) && k.namespace != "" {
			w.absent[k.namespace] = true // its findings are in the ClusterReport from the next round on
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("writing the report %s: %w", k, err))
		}
	}
	for _, k := range slices.SortedFunc(maps.Keys(w.existing), key.compare) {
		if _, needed := wanted[k]; needed {
			continue
		}
		err := w.client(k).Delete(ctx, k.name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			failed = append(failed, fmt.Errorf("deleting the report %s: %w", k, err))
			continue
		}
		delete(w.existing, k)
	}
	return errors.Join(failed...)
}

// put writes a report, unless it has the content.
func (w *Reports) put(ctx context.Context, k key, c content) error {
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(c.object(k))
	if err != nil {
		return err
	}
	o := &unstructured.Unstructured{Object: raw}
	before := w.existing[k]
	if before == nil {
		w.existing[k], err = w.client(k).Create(ctx, o, metav1.CreateOptions{})
	} else if !equality.Semantic.DeepEqual(resultsOf(before), resultsOf(o)) {
		o.SetResourceVersion(before.GetResourceVersion())
		w.existing[k], err = w.client(k).Update(ctx, o, metav1.UpdateOptions{})
	}
	return err
}

func (w *Reports) client(k key) dynamic.ResourceInterface {
	if k.namespace == "" {
		return w.anyKind.Resource(clusterReports)
	}
	return w.anyKind.Resource(reports).Namespace(k.namespace)
}

func (k key) compare(o key) int {
	return strings.Compare(k.String(), o.String())
}

// String is "namespace/name", or the name of a ClusterReport.
func (k key) String() string { return strings.TrimPrefix(k.namespace+"/"+k.name, "/") }

// SPDX-License-Identifier: Apache-2.0

package writes

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
)

// LargeQuota lets etcd keep what is written between two compactions, which is more than its default quota of 2
// GiB. It is an option of cluster.New.
func LargeQuota(env *envtest.Environment) error {
	env.ControlPlane.Etcd.Configure().Set("quota-backend-bytes", fmt.Sprint(8<<30))
	return nil
}

// measurer has everything that requests need, prepared before the first one.
type measurer struct {
	Options
	admin   client.Client // for requests that are not measured
	hooks   map[Variant]*webhookServer
	known   int // objects in our webhook's index
	writers map[Traffic]writer
}

// writer has the prepared requests of one kind of traffic.
type writer struct {
	client rest.Interface
	bodies map[Operation][][]byte
}

func newMeasurer(c *cluster.Cluster, o Options) (measurer, error) {
	m := measurer{Options: o, admin: c.Client(), hooks: map[Variant]*webhookServer{}, writers: map[Traffic]writer{}}
	memory, err := fill(o.Known, o.Objects)
	if err != nil {
		return m, err
	}
	m.known, _, _ = memory.Size()
	for variant, handlers := range map[Variant]map[string]admission.Handler{NoOp: always(),
		Constant: always(missing()...), Ours: ours(memory)} {
		if m.hooks[variant], err = newWebhookServer(variant, handlers); err != nil {
			return m, err
		}
	}
	for _, t := range Traffics() {
		config := c.Config()
		if t == Fleets {
			config.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:cattle-fleet-system:" +
				fleet.AgentName,
				Groups: []string{"system:masters"}} // an agent has all permissions that its releases need
		}
		w := writer{bodies: map[Operation][][]byte{}}
		if w.client, err = newClient(config); err != nil {
			return m, err
		}
		for _, op := range Operations() {
			if w.bodies[op], err = t.bodies(op, o.Objects); err != nil {
				return m, err
			}
		}
		m.writers[t] = w
	}
	return m, nil
}

// newClient creates a client of raw requests. Over HTTP/2, all of them share one connection.
func newClient(config *rest.Config) (rest.Interface, error) {
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion() // only for errors
	config.QPS = -1
	config.WarningHandlerWithContext = rest.NoWarnings{} // warnings of the validating handler
	c, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("preparing the connection to the server: %w", err)
	}
	return c, nil
}

// prepare creates the namespaces and registers the webhooks.
func (m measurer) prepare(ctx context.Context) error {
	for _, variant := range variants() {
		namespace := &corev1.Namespace{}
		namespace.Name = variant.namespace()
		if err := m.admin.Create(ctx, namespace); err != nil {
			return fmt.Errorf("creating namespace %q: %w", namespace.Name, err)
		}
	}
	for _, h := range m.hooks {
		if err := h.register(ctx, m.admin); err != nil {
			return err
		}
	}
	m.Progress("the webhooks are called; the index has %d objects", m.known)
	return nil
}

// measureVariant writes the objects of one variant, checks them, and deletes them.
func (m measurer) measureVariant(ctx context.Context, t Traffic, variant Variant, clients int) ([]Run, error) {
	var out []Run
	for _, op := range Operations() {
		before := m.called()
		run, err := m.writers[t].timed(ctx, op, variant.namespace(), clients, m.Objects)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", op, err)
		}
		for called, n := range m.called() {
			want := 0
			if called == variant {
				want = t.calls(m.Objects)
			}
			if got := n - before[called]; got != want {
				return nil, fmt.Errorf("%s: the webhook %s was called %d times, want %d", op, called, got, want)
			}
		}
		if err := m.check(ctx, t, variant); err != nil {
			return nil, fmt.Errorf("after %s: %w", op, err)
		}
		run.Case, run.Variant = Case{t, clients, op}, variant
		out = append(out, run)
	}
	if err := m.admin.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace(variant.namespace())); err != nil {
		return nil, fmt.Errorf("deleting the written objects: %w", err)
	}
	return out, nil
}

// called is the number of calls of each webhook so far.
func (m measurer) called() map[Variant]int {
	out := map[Variant]int{}
	for variant, h := range m.hooks {
		out[variant] = h.called()
	}
	return out
}

// check checks that every object exists with the expected ownership metadata.
func (m measurer) check(ctx context.Context, t Traffic, variant Variant) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	if err := m.admin.List(ctx, list, client.InNamespace(variant.namespace())); err != nil {
		return fmt.Errorf("listing the written objects: %w", err)
	}
	if len(list.Items) != m.Objects {
		return fmt.Errorf("got %d objects, want %d", len(list.Items), m.Objects)
	}
	for i := range list.Items {
		o := &list.Items[i]
		if got, want := ownership.MetadataOf(o.Labels, o.Annotations), t.stored(variant); got != want {
			return fmt.Errorf("%s has the ownership metadata %+v, want %+v", o.Name, got, want)
		}
	}
	return nil
}

// timed sends n requests from this number of parallel clients, and measures the time of each.
func (w writer) timed(ctx context.Context, op Operation, namespace string, clients, n int) (Run, error) {
	bodies := w.bodies[op]
	took := make([]time.Duration, n)
	var next atomic.Int64
	// Garbage of the previous measurement must not affect this one.
	runtime.GC()
	group, ctx := errgroup.WithContext(ctx)
	start := time.Now()
	for range clients {
		group.Go(func() error {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				begin := time.Now()
				if err := w.write(ctx, op, namespace, i, bodies[i]); err != nil {
					return fmt.Errorf("%s: %w", objectName(i), err)
				}
				took[i] = time.Since(begin)
			}
			return nil
		})
	}
	err := group.Wait()
	wall := time.Since(start)
	if err != nil {
		return Run{}, err
	}
	slices.Sort(took)
	return Run{P50: percentile(took, 0.50), P99: percentile(took, 0.99), PerSecond: float64(n) / wall.Seconds()}, nil
}

// write sends one request. A request that the server rejects with "retry later" is not repeated: its time would be
// that of two.
func (w writer) write(ctx context.Context, op Operation, namespace string, i int, body []byte) error {
	var r *rest.Request
	switch op {
	case Create:
		r = w.client.Post().AbsPath("api", "v1", "namespaces", namespace, "configmaps")
	case Update:
		r = w.client.Put().AbsPath("api", "v1", "namespaces", namespace, "configmaps", objectName(i))
	default:
		return errors.New("unknown operation")
	}
	_, err := r.MaxRetries(0).SetHeader("Content-Type", "application/json").Body(body).DoRaw(ctx)
	return err
}

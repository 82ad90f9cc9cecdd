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

// Room lets etcd keep what is written between two compactions, which is more than its default of 2 GiB allows. It is for cluster.New.
func Room(env *envtest.Environment) error {
	env.ControlPlane.Etcd.Configure().Set("quota-backend-bytes", fmt.Sprint(8<<30))
	return nil
}

// measurer holds all that requests need, made before the first.
type measurer struct {
	Options
	admin   client.Client // for what is not measured
	hooks   map[Arm]*hook
	known   int // objects in our webhook's memory
	writers map[Traffic]writer
}

// writer has the requests of one kind of traffic ready.
type writer struct {
	client rest.Interface
	bodies map[Operation][][]byte
}

func newMeasurer(c *cluster.Cluster, o Options) (measurer, error) {
	m := measurer{Options: o, admin: c.Client(), hooks: map[Arm]*hook{}, writers: map[Traffic]writer{}}
	memory, err := fill(o.Known, o.Objects)
	if err != nil {
		return m, err
	}
	m.known, _, _ = memory.Size()
	for arm, handlers := range map[Arm]map[string]admission.Handler{NoOp: always(), Constant: always(missing()...), Ours: ours(memory)} {
		if m.hooks[arm], err = newHook(arm, handlers); err != nil {
			return m, err
		}
	}
	for _, t := range Traffics() {
		config := c.Config()
		if t == Fleets {
			config.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:cattle-fleet-system:" + fleet.AgentName,
				Groups: []string{"system:masters"}} // as an agent may do all that its releases need
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

// newClient makes a client of raw requests. Over HTTP/2 all of them share one connection.
func newClient(config *rest.Config) (rest.Interface, error) {
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion() // of errors alone
	config.QPS = -1
	config.WarningHandlerWithContext = rest.NoWarnings{} // the guard's
	c, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("preparing the connection to the server: %w", err)
	}
	return c, nil
}

// prepare makes the namespaces and registers the webhooks.
func (m measurer) prepare(ctx context.Context) error {
	for _, arm := range arms() {
		namespace := &corev1.Namespace{}
		namespace.Name = arm.namespace()
		if err := m.admin.Create(ctx, namespace); err != nil {
			return fmt.Errorf("creating namespace %q: %w", namespace.Name, err)
		}
	}
	for _, h := range m.hooks {
		if err := h.register(ctx, m.admin); err != nil {
			return err
		}
	}
	m.Progress("the webhooks are called; %d objects are known", m.known)
	return nil
}

// turn writes the objects of one arm, sees that they are as they should be, and deletes them.
func (m measurer) turn(ctx context.Context, t Traffic, arm Arm, clients int) ([]Run, error) {
	var out []Run
	for _, op := range Operations() {
		before := m.called()
		run, err := m.writers[t].timed(ctx, op, arm.namespace(), clients, m.Objects)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", op, err)
		}
		for hooked, n := range m.called() {
			want := 0
			if hooked == arm {
				want = t.calls(m.Objects)
			}
			if got := n - before[hooked]; got != want {
				return nil, fmt.Errorf("%s: the webhook %s was called %d times, want %d", op, hooked, got, want)
			}
		}
		if err := m.check(ctx, t, arm); err != nil {
			return nil, fmt.Errorf("after %s: %w", op, err)
		}
		run.Case, run.Arm = Case{t, clients, op}, arm
		out = append(out, run)
	}
	if err := m.admin.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace(arm.namespace())); err != nil {
		return nil, fmt.Errorf("deleting what was written: %w", err)
	}
	return out, nil
}

// called is how often each webhook was called so far.
func (m measurer) called() map[Arm]int {
	out := map[Arm]int{}
	for arm, h := range m.hooks {
		out[arm] = h.called()
	}
	return out
}

// check makes sure that every object is there, with the marks that it should have.
func (m measurer) check(ctx context.Context, t Traffic, arm Arm) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	if err := m.admin.List(ctx, list, client.InNamespace(arm.namespace())); err != nil {
		return fmt.Errorf("listing what was written: %w", err)
	}
	if len(list.Items) != m.Objects {
		return fmt.Errorf("there are %d objects, want %d", len(list.Items), m.Objects)
	}
	for i := range list.Items {
		o := &list.Items[i]
		if got, want := ownership.MetadataOf(o.Labels, o.Annotations), t.stored(arm); got != want {
			return fmt.Errorf("%s has the marks %+v, want %+v", o.Name, got, want)
		}
	}
	return nil
}

// timed makes n requests, as many at once as there are clients, and takes the time of each.
func (w writer) timed(ctx context.Context, op Operation, namespace string, clients, n int) (Run, error) {
	bodies := w.bodies[op]
	took := make([]time.Duration, n)
	var next atomic.Int64
	// Who comes next shall not pay for the garbage of who came before.
	runtime.GC()
	group, ctx := errgroup.WithContext(ctx)
	start := time.Now()
	for range clients {
		group.Go(func() error {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				begun := time.Now()
				if err := w.write(ctx, op, namespace, i, bodies[i]); err != nil {
					return fmt.Errorf("%s: %w", objectName(i), err)
				}
				took[i] = time.Since(begun)
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

// write makes one request. One that the server turns away is not repeated: its time would be that of two.
func (w writer) write(ctx context.Context, op Operation, namespace string, i int, body []byte) error {
	var r *rest.Request
	switch op {
	case Create:
		r = w.client.Post().AbsPath("api", "v1", "namespaces", namespace, "configmaps")
	case Update:
		r = w.client.Put().AbsPath("api", "v1", "namespaces", namespace, "configmaps", objectName(i))
	default:
		return errors.New("there is no such operation")
	}
	_, err := r.MaxRetries(0).SetHeader("Content-Type", "application/json").Body(body).DoRaw(ctx)
	return err
}

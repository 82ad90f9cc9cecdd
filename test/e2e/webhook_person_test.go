// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
)

// person makes requests under a name, with all rights, and keeps the warnings that come back.
type person struct {
	client.Client
	t *testing.T

	mu       sync.Mutex
	warnings []string
}

// person is somebody of this name; the administrator where it is empty.
func (f *fleetServer) person(name string) *person {
	f.t.Helper()
	p := &person{t: f.t}
	config := f.Config()
	config.WarningHandler = p
	if name != "" {
		config.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: []string{"system:masters"}}
	}
	var err error
	if p.Client, err = client.New(config, client.Options{}); err != nil {
		f.t.Fatal(err)
	}
	return p
}

// account is a service account's name as a user.
func account(namespace, name string) string { return "system:serviceaccount:" + namespace + ":" + name }

// HandleWarningHeader implements rest.WarningHandler.
func (p *person) HandleWarningHeader(_ int, _, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.warnings = append(p.warnings, text)
}

// told returns the warnings since it was asked last.
func (p *person) told() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := strings.Join(p.warnings, "\n")
	p.warnings = nil
	return out
}

// must ends the test where a request failed.
func (p *person) must(what string, err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatalf("%s: %v", what, err)
	}
}

// patch changes an object by a JSON merge patch.
func (p *person) patch(obj *unstructured.Unstructured, patch string, options ...client.PatchOption) error {
	return p.Patch(p.t.Context(), obj.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch)), options...)
}

// remark writes some of the five keys; nil takes one away.
func (p *person) remark(obj *unstructured.Unstructured, keys map[string]any, options ...client.PatchOption) error {
	labels, annotations := map[string]any{}, map[string]any{}
	for _, k := range ownership.Keys() {
		if v, ok := keys[k.Name]; ok && k.Label {
			labels[k.Name] = v
		} else if ok {
			annotations[k.Name] = v
		}
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": labels, "annotations": annotations}})
	if err != nil {
		return err
	}
	return p.patch(obj, string(patch), options...)
}

// none are the five keys, to be taken away.
func none() map[string]any {
	out := map[string]any{}
	for _, k := range ownership.Keys() {
		out[k.Name] = nil
	}
	return out
}

// setMetadata writes exactly these keys on objects, as adopt's undo does, which the webhook leaves alone.
func (f *fleetServer) setMetadata(stamps map[string]string, objs ...*unstructured.Unstructured) {
	f.t.Helper()
	keys := none()
	for k, v := range stamps {
		keys[k] = v
	}
	p := f.person("")
	for _, obj := range objs {
		p.must("leaving marks on "+obj.GetName(), p.remark(obj, keys, client.FieldOwner(ownership.FieldManager)))
	}
}

// helmOnly are the keys that are Helm's, of an object of the bundle.
func (b *bundle) helmOnly() map[string]string {
	return ownership.Metadata{ManagedBy: "Helm", ReleaseName: b.name, ReleaseNamespace: b.options.Namespace}.Values()
}

// labelled gives a namespace labels until the test ends; an empty value takes one away.
func (f *fleetServer) labelled(namespace string, labels map[string]string) {
	f.t.Helper()
	f.namespace(namespace)
	set, unset := map[string]any{}, map[string]any{}
	for k, v := range labels {
		set[k], unset[k] = v, nil
		if v == "" {
			set[k] = nil
		}
	}
	ns, p := object("v1", "Namespace", "", namespace), f.person("")
	write := func(ctx context.Context, labels map[string]any) error {
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": labels}})
		if err != nil {
			return err
		}
		return p.Patch(ctx, ns.DeepCopy(), client.RawPatch(types.MergePatchType, patch))
	}
	p.must("labelling namespace "+namespace, write(f.t.Context(), set))
	ctx := context.WithoutCancel(f.t.Context())
	f.t.Cleanup(func() {
		if err := write(ctx, unset); err != nil {
			f.t.Errorf("taking labels from namespace %s: %v", namespace, err)
		}
	})
}

// kubectl runs kubectl as administrator, with this on its standard input.
func (f *fleetServer) kubectl(stdin string, args ...string) string {
	f.t.Helper()
	cmd := exec.CommandContext(f.t.Context(), f.Kubectl(), append([]string{"--kubeconfig", f.kubeconfig}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		f.t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// fresh is an object as one would write it: without what a server adds.
func fresh(live *unstructured.Unstructured) *unstructured.Unstructured {
	out := live.DeepCopy()
	unstructured.RemoveNestedField(out.Object, "status")
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink"} {
		unstructured.RemoveNestedField(out.Object, "metadata", field)
	}
	return out
}

// knows returns when the webhook's cache holds this many desired objects.
func (h *hook) knows(objects int) {
	h.t.Helper()
	poll.Until(h.t, func() error {
		if got := h.gauge("cache_objects"); got != objects {
			return fmt.Errorf("the webhook knows %d objects, want %d", got, objects)
		}
		return nil
	})
}

// hears is knows for what does not run in the test's own goroutine, as Helm's actions.
func (h *hook) hears(objects int) {
	err := wait.PollUntilContextTimeout(h.t.Context(), poll.Interval, poll.Deadline, true, func(context.Context) (bool, error) {
		return h.gauge("cache_objects") == objects, nil
	})
	if err != nil {
		h.t.Errorf("the webhook does not come to know %d objects: %v", objects, err)
	}
}

// gauge is a metric that is one number.
func (h *hook) gauge(name string) int {
	h.t.Helper()
	all := h.measured(name)
	if len(all) != 1 {
		h.t.Fatalf("metric %s has %d series", name, len(all))
	}
	return all[0].value
}

// carries holds that objects carry these of the five keys, and no others.
func (f *fleetServer) carries(want map[string]string, objs ...*unstructured.Unstructured) {
	f.t.Helper()
	for _, obj := range objs {
		if err := carry(want, f.get(obj)); err != nil {
			f.t.Error(err)
		}
	}
}

// carry says how an object's keys differ from these.
func carry(want map[string]string, live *unstructured.Unstructured) error {
	if diff := cmp.Diff(want, stampsOf(live)); diff != "" {
		return fmt.Errorf("stamps of %s %s (-want +got):\n%s", live.GetKind(), live.GetName(), diff)
	}
	return nil
}

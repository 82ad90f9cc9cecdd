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

// userClient sends requests as a user with all permissions, and keeps the warnings.
type userClient struct {
	client.Client
	t *testing.T

	mu       sync.Mutex
	warnings []string
}

// clientAs returns a client of this user; of the administrator if the name is empty.
func (f *fleetServer) clientAs(name string) *userClient {
	f.t.Helper()
	p := &userClient{t: f.t}
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

// account is the user name of a service account.
func account(namespace, name string) string { return "system:serviceaccount:" + namespace + ":" + name }

// HandleWarningHeader implements rest.WarningHandler.
func (p *userClient) HandleWarningHeader(_ int, _, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.warnings = append(p.warnings, text)
}

// takeWarnings returns the warnings since its last call.
func (p *userClient) takeWarnings() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := strings.Join(p.warnings, "\n")
	p.warnings = nil
	return out
}

// must ends the test if a request failed.
func (p *userClient) must(what string, err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatalf("%s: %v", what, err)
	}
}

// patch changes an object with a JSON merge patch.
func (p *userClient) patch(obj *unstructured.Unstructured, patch string, options ...client.PatchOption) error {
	return p.Patch(p.t.Context(), obj.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch)), options...)
}

// patchOwnership writes some of the five ownership keys; nil removes a key.
func (p *userClient) patchOwnership(obj *unstructured.Unstructured, keys map[string]any,
	options ...client.PatchOption) error {
	return p.patch(obj, ownershipPatch(p.t, keys), options...)
}

// noOwnership has the five ownership keys, each with nil.
func noOwnership() map[string]any {
	out := map[string]any{}
	for _, k := range ownership.Keys() {
		out[k.Name] = nil
	}
	return out
}

// setOwnershipAsAdopt sets exactly these ownership keys as the field manager of adopt, whose writes the webhook
// does not change.
func (f *fleetServer) setOwnershipAsAdopt(metadata map[string]string, objs ...*unstructured.Unstructured) {
	f.t.Helper()
	keys, p := onlyThese(metadata), f.clientAs("")
	for _, obj := range objs {
		p.must("writing metadata of "+obj.GetName(), p.patchOwnership(obj, keys,
			client.FieldOwner(ownership.FieldManager)))
	}
}

// helmOwnership is the part of the bundle's ownership metadata that Helm writes.
func (b *bundle) helmOwnership() map[string]string {
	return ownership.Metadata{ManagedBy: "Helm", ReleaseName: b.name, ReleaseNamespace: b.options.Namespace}.Values()
}

// labelNamespace labels a namespace until the test ends; an empty value removes a label.
func (f *fleetServer) labelNamespace(namespace string, labels map[string]string) {
	f.t.Helper()
	f.namespace(namespace)
	set, unset := map[string]any{}, map[string]any{}
	for k, v := range labels {
		set[k], unset[k] = v, nil
		if v == "" {
			set[k] = nil
		}
	}
	ns, p := object("v1", "Namespace", "", namespace), f.clientAs("")
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
			f.t.Errorf("removing labels of namespace %s: %v", namespace, err)
		}
	})
}

// kubectl runs kubectl as administrator with this standard input.
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

// withoutServerFields returns an object without the fields that the server adds.
func withoutServerFields(live *unstructured.Unstructured) *unstructured.Unstructured {
	out := live.DeepCopy()
	unstructured.RemoveNestedField(out.Object, "status")
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields",
		"selfLink"} {
		unstructured.RemoveNestedField(out.Object, "metadata", field)
	}
	return out
}

// awaitObjects returns when the webhook's index has this many desired objects.
func (h *webhookProcess) awaitObjects(objects int) {
	h.t.Helper()
	poll.Until(h.t, func() error {
		if got := h.gauge("cache_objects"); got != objects {
			return fmt.Errorf("the index has %d objects, want %d", got, objects)
		}
		return nil
	})
}

// awaitObjectsInCallback is awaitObjects for functions that do not run in the test's goroutine, such as Helm's
// actions.
func (h *webhookProcess) awaitObjectsInCallback(objects int) {
	err := wait.PollUntilContextTimeout(h.t.Context(), poll.Interval, poll.Deadline, true,
		func(context.Context) (bool, error) {
			return h.gauge("cache_objects") == objects, nil
		})
	if err != nil {
		h.t.Errorf("waiting until the index has %d objects: %v", objects, err)
	}
}

// gauge is a metric with one series.
func (h *webhookProcess) gauge(name string) int {
	h.t.Helper()
	all := h.series(name)
	if len(all) != 1 {
		h.t.Fatalf("metric %s has %d series", name, len(all))
	}
	return all[0].value
}

// expectOwnership checks that objects have exactly this ownership metadata.
func (f *fleetServer) expectOwnership(want map[string]string, objs ...*unstructured.Unstructured) {
	f.t.Helper()
	for _, obj := range objs {
		if err := compareOwnership(want, f.get(obj)); err != nil {
			f.t.Error(err)
		}
	}
}

// compareOwnership returns how the ownership metadata of an object differs.
func compareOwnership(want map[string]string, live *unstructured.Unstructured) error {
	if diff := cmp.Diff(want, ownershipOf(live)); diff != "" {
		return fmt.Errorf("ownership metadata of %s %s (-want +got):\n%s", live.GetKind(), live.GetName(), diff)
	}
	return nil
}

// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// probeManager is the field manager of a test's request. It is not adopt's, whose requests the webhook leaves alone.
const probeManager = "fleetdoctor-webhook-test"

// Mark is the label that a test takes away: by it Fleet knows its own.
const Mark = fleet.HashLabel

// strip takes away the label by which Fleet knows its own.
var strip = []byte(`{"metadata":{"labels":{"` + fleet.HashLabel + `":null}}}`)

// Warnings collects what an API server warns of. It is a rest.WarningHandlerWithContext.
type Warnings struct {
	mu    sync.Mutex
	texts []string
}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (w *Warnings) HandleWarningHeaderWithContext(_ context.Context, code int, _ string, text string) {
	if code != 299 || text == "" { // the only code that the API uses
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = append(w.texts, text)
}

// Take returns what was collected, and begins anew.
func (w *Warnings) Take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.texts
	w.texts = nil
	return out
}

// Answer is what came back of a request that strips the mark.
type Answer string

// The answers.
const (
	Stamped  Answer = "stamped"  // the mark is there again
	Denied   Answer = "denied"   // one of our webhooks refused the request
	Warned   Answer = "warned"   // the mark is gone, with a warning
	Unmarked Answer = "unmarked" // the mark is gone, and nobody said a word
	Broken   Answer = "broken"   // the request was refused because the webhook did not answer
	Refused  Answer = "refused"  // the request was refused, and not by us: nothing is known
)

// Trial is one request and what came back of it.
type Trial struct {
	Object object.Ref
	// Release desires the object ("namespace/name"), of the bundle deployment Bundle; both are empty where that is not known.
	Release, Bundle string
	Answer          Answer
	Message         string // of a refusal
	Warnings        []string
	Took            time.Duration
}

// answered says whether the webhook was called and did what it is for.
func (t *Trial) answered() bool {
	return t.Answer == Stamped || t.Answer == Denied || t.Answer == Warned
}

// errUnmarked is returned for an object that does not carry Fleet's mark: nothing could be stripped.
var errUnmarked = errors.New("it does not carry Fleet's mark " + fleet.HashLabel)

// try sends a server-side dry run that takes the mark from an object, and says what came back. Nothing is changed. The error is that of reading the object.
func (c *Cluster) try(ctx context.Context, ref object.Ref, warnings *Warnings, now func() time.Time) (*Trial, *unstructured.Unstructured, error) {
	r, err := c.resource(ref.GroupVersionKind(), ref.Namespace)
	if err != nil {
		return nil, nil, err
	}
	live, err := r.Get(ctx, ref.Name, metav1.GetOptions{})
	if err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", ref.Key(), err)
	}
	if live.GetLabels()[fleet.HashLabel] == "" {
		return nil, live, fmt.Errorf("testing with %s: %w", ref.Key(), errUnmarked)
	}
	t := &Trial{Object: ref}
	warnings.Take()
	begin := now()
	got, err := r.Patch(ctx, ref.Name, types.MergePatchType, strip, metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: probeManager})
	t.Took, t.Warnings = now().Sub(begin), warnings.Take()
	t.Answer = Unmarked
	switch {
	case err != nil:
		t.Answer, t.Message = refusal(err), err.Error()
	case got.GetLabels()[fleet.HashLabel] != "":
		t.Answer = Stamped
	case slices.ContainsFunc(t.Warnings, func(w string) bool { return strings.Contains(w, ref.Key().String()) }): // as ours do, and name it like this
		t.Answer = Warned
	}
	return t, live, nil
}

// refusal says who refused a request. The API server names the webhook in its message, and has no other place for it.
func refusal(err error) Answer {
	for _, name := range []string{StampWebhook, ExactWebhook, GuardWebhook} {
		switch {
		case strings.Contains(err.Error(), `admission webhook "`+name+`" denied the request`):
			return Denied
		case strings.Contains(err.Error(), `failed calling webhook "`+name+`"`):
			return Broken
		}
	}
	return Refused
}

// selectors of the stamp webhook, as the cluster has them.
type reach struct {
	// configured is false where the webhook is not there. Where it could not be read nothing is known, and everything may be reached.
	configured, known  bool
	namespaces, labels labels.Selector
	timeout            time.Duration
	service            string // the namespace of its Service
}

// reach reads whom the stamp webhook is called for.
func (c *Cluster) reach(ctx context.Context) reach {
	everything := reach{configured: true, namespaces: labels.Everything(), labels: labels.Everything(), service: Namespace}
	list, err := c.Dynamic.Resource(mutatingKind.GroupVersion().WithResource(configurations[0].resource)).List(ctx, metav1.ListOptions{LabelSelector: Selector})
	if err != nil {
		return everything
	}
	for i := range list.Items {
		for _, w := range webhooksOf(&list.Items[i]) {
			if w["name"] != StampWebhook {
				continue
			}
			out := everything
			out.known = true
			out.namespaces, out.labels = selector(w, "namespaceSelector"), selector(w, "objectSelector")
			seconds, _, _ := unstructured.NestedInt64(w, "timeoutSeconds")
			out.timeout = time.Duration(seconds) * time.Second
			if ns, _, _ := unstructured.NestedString(w, "clientConfig", "service", "namespace"); ns != "" {
				out.service = ns
			}
			return out
		}
	}
	return reach{known: true, service: Namespace}
}

func selector(webhook map[string]any, field string) labels.Selector {
	m, _, _ := unstructured.NestedMap(webhook, field)
	var s metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(m, &s); err != nil {
		return labels.Everything()
	}
	out, err := metav1.LabelSelectorAsSelector(&s)
	if err != nil {
		return labels.Everything()
	}
	return out
}

// excludes says why the webhook is not called for an object, "" where it should be.
func (r reach) excludes(o *unstructured.Unstructured) string {
	if r.known && r.configured && !r.labels.Matches(labels.Set(o.GetLabels())) {
		return "the object is labelled " + ignoreLabel + "=true, or otherwise outside of the webhook's objectSelector"
	}
	return ""
}

// shuts says why the webhook is not called for what is in a namespace, "" where it should be. What could not be read shuts nothing out.
func (c *Cluster) shuts(ctx context.Context, r reach, namespace string) string {
	if !r.configured || !r.known || namespace == "" {
		return ""
	}
	o, err := c.get(ctx, object.Ref{APIVersion: "v1", Kind: namespaceKind.Kind, Name: namespace})
	switch {
	case err != nil || o == nil:
		return ""
	case o.GetLabels()[ignoreLabel] == "true":
		return "the namespace " + namespace + " is labelled " + ignoreLabel + "=true"
	case !r.namespaces.Matches(labels.Set(o.GetLabels())):
		return "the namespace " + namespace + " is outside of the webhook's namespaceSelector"
	}
	return ""
}

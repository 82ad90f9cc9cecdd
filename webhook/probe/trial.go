// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/install"
)

// fieldManager is the field manager of a test's request. It is not adopt's, whose requests the webhook leaves alone.
const fieldManager = "fleetdoctor-webhook-test"

// Mark is the label that a test takes away: by it Fleet knows its own.
const Mark = fleet.HashLabel

// strip takes the mark away.
const strip = `{"metadata":{"labels":{"` + Mark + `":null}}}`

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
var errUnmarked = errors.New("it does not carry Fleet's mark " + Mark)

// try sends a server-side dry run that takes the mark from an object, and says what came back. Nothing is changed. The error is that of reading the object.
func (t *Tester) try(ctx context.Context, ref object.Ref) (*Trial, *unstructured.Unstructured, error) {
	r, err := t.Cluster.Resource(ref.GroupVersionKind(), ref.Namespace)
	if err != nil {
		return nil, nil, err
	}
	live, err := r.Get(ctx, ref.Name, metav1.GetOptions{})
	if err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", ref.Key(), err)
	}
	if live.GetLabels()[Mark] == "" {
		return nil, live, fmt.Errorf("testing with %s: %w", ref.Key(), errUnmarked)
	}
	trial := &Trial{Object: ref}
	t.Warnings.Take()
	begin := t.Now()
	got, err := r.Patch(ctx, ref.Name, types.MergePatchType, []byte(strip), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: fieldManager})
	trial.Took, trial.Warnings = t.Now().Sub(begin), t.Warnings.Take()
	trial.Answer = Unmarked
	switch {
	case err != nil:
		trial.Answer, trial.Message = refusal(err), err.Error()
	case got.GetLabels()[Mark] != "":
		trial.Answer = Stamped
	case slices.ContainsFunc(trial.Warnings, func(w string) bool { return strings.Contains(w, ref.Key().String()) }): // as ours do, and name it like this
		trial.Answer = Warned
	}
	return trial, live, nil
}

// refusal says who refused a request. The API server names the webhook in its message, and has no other place for it.
func refusal(err error) Answer {
	for _, name := range []string{install.StampWebhook, install.ExactWebhook, install.GuardWebhook} {
		switch {
		case strings.Contains(err.Error(), `admission webhook "`+name+`" denied the request`):
			return Denied
		case strings.Contains(err.Error(), `failed calling webhook "`+name+`"`):
			return Broken
		}
	}
	return Refused
}

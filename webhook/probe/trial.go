// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
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
	Denied   Answer = "denied"   // the stamp refused the request, or had its say before another refused it
	Warned   Answer = "warned"   // the mark is gone, with a word of the stamp's
	Guarded  Answer = "guarded"  // refused or warned of, by the guard alone: the stamp, which is asked before it, let the mark go
	Unmarked Answer = "unmarked" // the mark is gone, and nobody of ours said a word
	Broken   Answer = "broken"   // the request was refused because the webhook did not answer
	Refused  Answer = "refused"  // the request was refused, and not by us: nothing is known
)

// Trial is one request and what came back of it.
type Trial struct {
	Object object.Ref
	// Release desires the object ("namespace/name"), of the bundle deployment Bundle; both are empty where that is not known.
	Release, Bundle string
	Answer          Answer
	Message         string // of a refusal, else empty
	Warnings        []string
	Took            time.Duration

	// live is the object as it was read; kept says that the mark which came back is the one that it had.
	live *unstructured.Unstructured
	kept bool
}

// answered says whether the stamp was called and did what it is for.
func (t *Trial) answered() bool {
	return t.Answer == Stamped || t.Answer == Denied || t.Answer == Warned
}

// Objects that no test can be made with.
var (
	// errUnmarked: nothing could be stripped.
	errUnmarked = errors.New("it does not carry Fleet's mark " + Mark)
	// errDeleting: a matchCondition keeps it from the webhooks.
	errDeleting = errors.New("it is being deleted, and the webhook leaves such objects alone")
)

// try sends a server-side dry run that takes the mark from an object, and says what came back. Nothing is changed. The error is that of reading
// the object, or says that no test can be made with it: errUnmarked, errDeleting.
func (t *Tester) try(ctx context.Context, ref object.Ref) (*Trial, *unstructured.Unstructured, error) {
	r, err := t.Cluster.Resource(ref.GroupVersionKind(), ref.Namespace)
	if err != nil {
		return nil, nil, err
	}
	live, err := r.Get(ctx, ref.Name, metav1.GetOptions{})
	if err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", ref.Key(), err)
	}
	switch {
	case live.GetLabels()[Mark] == "":
		return nil, live, fmt.Errorf("testing with %s: %w", ref.Key(), errUnmarked)
	case live.GetDeletionTimestamp() != nil:
		return nil, live, fmt.Errorf("testing with %s: %w", ref.Key(), errDeleting)
	}
	trial := &Trial{Object: ref, live: live}
	t.Warnings.Take()
	begin := t.Now()
	got, err := r.Patch(ctx, ref.Name, types.MergePatchType, []byte(strip), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: fieldManager})
	trial.Took, trial.Warnings = t.Now().Sub(begin), t.Warnings.Take()
	stamp, guard := spoke(trial.Warnings, ref.Key())
	trial.Answer = Unmarked
	switch {
	case err != nil:
		trial.Answer, trial.Message = refusal(err), err.Error()
		if trial.Answer == Guarded && stamp {
			trial.Answer = Denied
		}
	case got.GetLabels()[Mark] != "":
		trial.Answer, trial.kept = Stamped, got.GetLabels()[Mark] == live.GetLabels()[Mark]
	case stamp:
		trial.Answer = Warned
	case guard:
		trial.Answer = Guarded
	}
	return trial, live, nil
}

// spoke says which handlers gave the warnings about an object: the mutating one, the validating one. The mutating one also
// gives the guard's warnings where it restores the ownership metadata.
func spoke(warnings []string, key object.Key) (stamp, guard bool) {
	for _, text := range warnings {
		w, ok := admission.ParseWarning(text)
		if !ok || !strings.Contains(w.Message, key.String()+" ") {
			continue
		}
		switch w.Code {
		case admission.WarnRestored, admission.WarnForeign, admission.WarnContested:
			stamp = true
		case admission.WarnStripped, admission.WarnChanged, admission.WarnDeleted:
			guard = true
		}
	}
	return stamp, guard
}

// refusal says who refused a request. The API server names the webhook in its message, and has no other place for it. A refusal by the exact webhook
// is put down as the guard's: the stamp is asked before both, and had let the request pass.
func refusal(err error) Answer {
	for name, denial := range map[string]Answer{install.StampWebhook: Denied, install.ExactWebhook: Guarded, install.GuardWebhook: Guarded} {
		switch {
		case strings.Contains(err.Error(), `admission webhook "`+name+`" denied the request`):
			return denial
		case strings.Contains(err.Error(), `failed calling webhook "`+name+`"`):
			return Broken
		}
	}
	return Refused
}

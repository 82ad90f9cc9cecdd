// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// pause is how long Wait lets pass between two looks.
const pause = time.Second

// Wait returns once the Deployment is available and every webhook has a caBundle; tell is told, each time that it changes, what is waited for.
// When ctx ends first, the error says what was still waited for, and wraps that of ctx.
func (c *Cluster) Wait(ctx context.Context, desired []*unstructured.Unstructured, tell func(string)) error {
	last := "the first answer of the cluster"
	err := wait.PollUntilContextCancel(ctx, pause, true, func(ctx context.Context) (bool, error) {
		live := map[object.Key]*unstructured.Unstructured{}
		missing := ""
		for _, d := range desired {
			switch d.GetKind() {
			case deploymentKind.Kind, mutatingKind.Kind, validatingKind.Kind:
				o, err := c.Get(ctx, RefOf(d))
				switch {
				case ctx.Err() != nil: // and what is waited for stays what was seen
					return false, ctx.Err()
				case apierrors.IsForbidden(err):
					return false, err
				case err != nil: // it may pass
					missing = "an answer of the cluster: " + err.Error()
				}
				live[RefOf(d).Key()] = o
			}
		}
		if missing == "" {
			missing = lacks(desired, live)
		}
		if missing == "" {
			return true, nil
		}
		if missing != last {
			last = missing
			tell(missing)
		}
		return false, nil
	})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return &notReadyError{missing: last, err: ctx.Err()}
	}
	return fmt.Errorf("waiting for %s: %w", last, err)
}

// notReadyError says what an installation still lacked when nobody waited any longer.
type notReadyError struct {
	missing string
	err     error
}

// Error implements error.
func (e *notReadyError) Error() string { return "waiting for " + e.missing }

// Unwrap returns why it was waited for no longer.
func (e *notReadyError) Unwrap() error { return e.err }

// lacks says what an installation still lacks to work, "" where nothing.
func lacks(desired []*unstructured.Unstructured, live map[object.Key]*unstructured.Unstructured) string {
	var out []string
	for _, d := range desired {
		o, ok := live[RefOf(d).Key()]
		switch {
		case !ok:
		case o == nil:
			out = append(out, d.GetKind()+" "+d.GetName()+" to be there")
		case d.GetKind() == deploymentKind.Kind:
			if ok, how := Available(o); !ok {
				out = append(out, fmt.Sprintf("Deployment %s to be available (%s)", d.GetName(), how))
			}
		default:
			if without := withoutCA(o); len(without) > 0 {
				out = append(out, "a caBundle for "+strings.Join(without, " and "))
			}
		}
	}
	return strings.Join(out, ", ")
}

// Available says whether a Deployment runs in its newest state with all its replicas, and in a few words how it stands.
func Available(deployment *unstructured.Unstructured) (ok bool, how string) {
	r := replicasOf(deployment)
	return r.current && r.wanted > 0 && r.updated >= r.wanted && r.usable >= r.wanted, r.String()
}

// replicas is how a Deployment stands.
type replicas struct {
	wanted, updated, ready, usable int64
	current                        bool // the controller has seen its newest state
}

func replicasOf(o *unstructured.Unstructured) replicas {
	number := func(fields ...string) int64 {
		n, _, _ := unstructured.NestedInt64(o.Object, fields...)
		return n
	}
	return replicas{wanted: number("spec", "replicas"), updated: number("status", "updatedReplicas"), ready: number("status", "readyReplicas"),
		usable: number("status", "availableReplicas"), current: number("status", "observedGeneration") >= o.GetGeneration()}
}

// String is kubectl's word for it.
func (r replicas) String() string {
	if r.wanted == 0 {
		return "it is scaled to 0"
	}
	return fmt.Sprintf("%d of %d replicas are ready", r.ready, r.wanted)
}

// withoutCA names the webhooks of a configuration that have no caBundle.
func withoutCA(o *unstructured.Unstructured) []string {
	var out []string
	for _, w := range WebhooksOf(o) {
		if ca, _, _ := unstructured.NestedString(w, "clientConfig", "caBundle"); ca == "" {
			name, _ := w["name"].(string)
			out = append(out, name)
		}
	}
	return out
}

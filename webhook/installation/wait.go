// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

// pollInterval is the time between two reads of Wait.
const pollInterval = time.Second

// Wait returns when the Deployment is available and each webhook has a caBundle. It reports what is missing whenever
// that changes. If ctx ends first, the error lists what was missing, and wraps the error of ctx.
func (c *Cluster) Wait(ctx context.Context, desired []*unstructured.Unstructured, report func(string)) error {
	last := "a first answer of the cluster"
	err := wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		var all []string
		for _, d := range desired {
			if !IsConfiguration(d) && d.GetKind() != deploymentKind.Kind {
				continue
			}
			live, err := c.Get(ctx, RefOf(d))
			switch {
			case ctx.Err() != nil: // last keeps what was seen
				return false, ctx.Err()
			case apierrors.IsForbidden(err):
				return false, err
			case err != nil: // may be transient
				all = append(all, "an answer of the cluster: "+err.Error())
			default:
				all = append(all, missing(d, live)...)
			}
		}
		if text := strings.Join(all, ", "); text != "" && text != last {
			last = text
			report(text)
		}
		return all == nil, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for %s: %w", last, cmp.Or(ctx.Err(), err))
	}
	return nil
}

// missing lists what a Deployment or a configuration still needs in order to work.
func missing(desired, live *unstructured.Unstructured) []string {
	if live == nil {
		return []string{desired.GetKind() + " " + desired.GetName() + " to exist"}
	}
	if !IsConfiguration(desired) {
		if ok, message := Available(live); !ok {
			return []string{fmt.Sprintf("Deployment %s to be available (%s)", desired.GetName(), message)}
		}
	}
	var out []string
	for _, w := range webhooksOf(live) {
		if len(w.ClientConfig.CABundle) == 0 {
			out = append(out, "a caBundle for "+w.Name)
		}
	}
	return out
}

// Available reports whether a Deployment runs its newest revision with all its replicas, and returns a message of
// kstatus about it.
func Available(deployment *unstructured.Unstructured) (ok bool, message string) {
	if replicas, stated, _ := unstructured.NestedInt64(deployment.Object, "spec", "replicas"); stated && replicas == 0 {
		return false, "it is scaled to 0"
	}
	r, err := status.Compute(deployment)
	if err != nil {
		return false, err.Error()
	}
	return r.Status == status.CurrentStatus, r.Message
}

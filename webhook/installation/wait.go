// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// pollInterval is the time between two reads of Wait.
const pollInterval = time.Second

// Wait returns when the Deployment is available and each webhook has a caBundle. It reports what it waits for whenever that changes. If ctx
// ends first, the error says what was still missing, and wraps the error of ctx.
func (c *Cluster) Wait(ctx context.Context, desired []*unstructured.Unstructured, report func(string)) error {
	last := "a first answer of the cluster"
	err := wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		live := map[object.Key]*unstructured.Unstructured{}
		missing := ""
		for _, d := range desired {
			if !awaited(d) {
				continue
			}
			o, err := c.Get(ctx, RefOf(d))
			switch {
			case ctx.Err() != nil: // last keeps what was seen
				return false, ctx.Err()
			case apierrors.IsForbidden(err):
				return false, err
			case err != nil: // may be transient
				missing = "an answer of the cluster: " + err.Error()
			}
			live[RefOf(d).Key()] = o
		}
		if missing == "" {
			missing = missingOf(desired, live)
		}
		if missing != "" && missing != last {
			last = missing
			report(missing)
		}
		return missing == "", nil
	})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("waiting for %s: %w", last, ctx.Err())
	}
	return fmt.Errorf("waiting for %s: %w", last, err)
}

// awaited reports whether Wait reads an object.
func awaited(o *unstructured.Unstructured) bool {
	_, configuration := configurations[o.GroupVersionKind()]
	return configuration || o.GetKind() == deploymentKind.Kind
}

// missingOf says what an installation still needs in order to work, "" if nothing.
func missingOf(desired []*unstructured.Unstructured, live map[object.Key]*unstructured.Unstructured) string {
	var out []string
	for _, d := range desired {
		o := live[RefOf(d).Key()]
		switch {
		case !awaited(d):
		case o == nil:
			out = append(out, d.GetKind()+" "+d.GetName()+" to exist")
		case d.GetKind() == deploymentKind.Kind:
			if ok, message := Available(o); !ok {
				out = append(out, fmt.Sprintf("Deployment %s to be available (%s)", d.GetName(), message))
			}
		default:
			for _, w := range WebhooksOf(o) {
				if ca, _, _ := unstructured.NestedString(w, "clientConfig", "caBundle"); ca == "" {
					out = append(out, fmt.Sprintf("a caBundle for %s", w["name"]))
				}
			}
		}
	}
	return strings.Join(out, ", ")
}

// Available reports whether a Deployment runs its newest revision with all its replicas, and a message of kstatus about it.
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

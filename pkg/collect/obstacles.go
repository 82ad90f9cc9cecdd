// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// maxPodNamespaces is the number of namespaces of which pods are read.
const maxPodNamespaces = 20

// Obstacles adds to bundle deployments that are not ready what only other objects show: why pods do not run, and what
// keeps a Namespace from being deleted.
func (r *Reader) Obstacles(ctx context.Context, deployments []*evaluate.BundleDeployment) error {
	var stuck []*evaluate.Object
	namespaces, deletions := map[string]bool{}, map[string]string{}
	for _, d := range deployments {
		if namespace, ok := d.Terminates(); ok {
			why, known := deletions[namespace]
			if !known {
				var err error
				if why, err = r.terminating(ctx, namespace); err != nil {
					return err
				}
				deletions[namespace] = why
			}
			d.Terminating = why
		}
		for i := range d.Objects {
			if o := &d.Objects[i]; o.UID != "" && hasPods(o) {
				stuck, namespaces[o.Namespace] = append(stuck, o), true
			}
		}
	}
	if len(stuck) == 0 {
		return nil
	}
	pods, err := r.pods(ctx, slices.Sorted(maps.Keys(namespaces)))
	if err != nil {
		return err
	}
	for _, o := range stuck {
		o.Stuck = pods.Of(o.UID)
	}
	return nil
}

// hasPods reports whether the objects of a kind have pods.
func hasPods(o *evaluate.Object) bool {
	return slices.Contains([]string{"apps", "batch"}, object.Group(o.APIVersion))
}

// terminating returns what keeps a Namespace from being deleted, as a sentence; empty if that is not known.
func (r *Reader) terminating(ctx context.Context, name string) (why string, err error) {
	q := source.Query{Kind: namespaceKind, FieldSelector: "metadata.name=" + name}
	_, err = r.list(ctx, q, func(o source.Object) error {
		content, _, err := o.Decode()
		why = evaluate.Deletion(content)
		return err
	})
	return why, err
}

// pods reads the pods of namespaces, the ReplicaSets and the claims. What cannot be read is left out: no result depends
// on it.
func (r *Reader) pods(ctx context.Context, namespaces []string) (*state.Pods, error) {
	out := &state.Pods{}
	namespaces = namespaces[:min(len(namespaces), maxPodNamespaces)]
	for _, read := range []struct {
		kind schema.GroupVersionKind
		add  func([]byte) error
	}{
		{deploymentKind.GroupVersion().WithKind("ReplicaSet"), out.AddSet},
		{claimKind, out.AddClaim},
		{corev1.SchemeGroupVersion.WithKind("Pod"), out.Add},
	} {
		q := source.Query{Kind: read.kind, Namespaces: namespaces}
		_, err := r.list(ctx, q, func(o source.Object) error { return read.add(o.Raw) })
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

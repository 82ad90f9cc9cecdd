// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// ContentNames finds the Contents that BundleDeployments need and that do not exist, and those that are being deleted.
// It lists only the metadata of Contents, because each may have 1 MiB. On a live cluster it reads both again before a
// Content is missing: during a rollout, the old Content is deleted after its last BundleDeployment changed.
func (r *Reader) ContentNames(ctx context.Context, f *state.Fleet) (state.Contents, error) {
	var out state.Contents
	needed := f.ContentIDs()
	if len(needed) == 0 {
		return out, nil
	}
	missing, err := r.missingContents(ctx, &out, needed)
	if err != nil || len(missing) == 0 {
		return out, err
	}
	if r.Description.Origin == source.OriginCluster {
		if needed, err = r.neededAgain(ctx, missing); err != nil || len(needed) == 0 {
			return out, err
		}
		if missing, err = r.missingContents(ctx, &out, needed); err != nil {
			return out, err
		}
	}
	out.Missing = map[string]bool{}
	for id := range missing {
		out.Missing[id] = true
	}
	return out, nil
}

// missingContents returns those of the needed Contents that do not exist. It returns none if not all Contents could be
// read.
func (r *Reader) missingContents(ctx context.Context, c *state.Contents,
	needed map[string][]*v1alpha1.BundleDeployment) (map[string][]*v1alpha1.BundleDeployment, error) {
	c.Deleting = nil
	names, err := r.namesWith(ctx, source.Query{Kind: v1alpha1.Kind(state.Content)}, func(raw []byte) {
		var m struct {
			Metadata metav1.ObjectMeta `json:"metadata"`
		}
		if object.Into(raw, &m) == nil && m.Metadata.DeletionTimestamp != nil {
			c.Deleting = append(c.Deleting, state.Deleting{Kind: state.Content, Name: m.Metadata.Name,
				Since: m.Metadata.DeletionTimestamp.Time, Finalizers: m.Metadata.Finalizers})
		}
	})
	c.Coverage = names.coverage
	out := map[string][]*v1alpha1.BundleDeployment{}
	for id, deployments := range needed {
		if found, known := names.of("", id); known && !found {
			out[id] = deployments
		}
	}
	return out, err
}

// neededAgain reads BundleDeployments again and returns those of the Contents that BundleDeployments still need.
func (r *Reader) neededAgain(ctx context.Context,
	missing map[string][]*v1alpha1.BundleDeployment) (map[string][]*v1alpha1.BundleDeployment, error) {
	var namespaces []string
	for _, deployments := range missing {
		for _, bd := range deployments {
			namespaces = append(namespaces, bd.Namespace)
		}
	}
	out := map[string][]*v1alpha1.BundleDeployment{}
	_, err := r.list(ctx, source.Query{Kind: v1alpha1.Kind(state.BundleDeployment), Namespaces: distinct(namespaces)},
		func(o source.Object) error {
			var bd v1alpha1.BundleDeployment
			if err := object.Into(o.Raw, &bd); err != nil {
				return err
			}
			if id := state.ContentID(&bd); missing[id] != nil {
				out[id] = missing[id]
			}
			return nil
		})
	return out, err
}

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

// ContentNames finds the Contents that BundleDeployments need and that do not exist. It lists only the metadata of Contents, because each may have 1 MiB.
// On a live cluster it reads both again before a Content is missing: during a rollout, the old Content is deleted after its last BundleDeployment changed.
func (r *Reader) ContentNames(ctx context.Context, f *state.Fleet) error {
	needed := f.ContentIDs()
	if len(needed) == 0 {
		return nil
	}
	r.progress.start("reading the names of contents")
	missing, err := r.missingContents(ctx, f, needed)
	if err != nil || len(missing) == 0 {
		return err
	}
	if r.Description.Origin == source.OriginCluster {
		if needed, err = r.neededAgain(ctx, missing); err != nil || len(needed) == 0 {
			return err
		}
		if missing, err = r.missingContents(ctx, f, needed); err != nil {
			return err
		}
	}
	f.MissingContents = map[string]bool{}
	for id := range missing {
		f.MissingContents[id] = true
	}
	return nil
}

// missingContents returns those of the needed Contents that do not exist. It returns none if not all Contents could be read.
func (r *Reader) missingContents(ctx context.Context, f *state.Fleet, needed map[string][]*v1alpha1.BundleDeployment) (map[string][]*v1alpha1.BundleDeployment, error) {
	f.DeletingContents = nil
	names, err := r.namesWith(ctx, source.Query{Kind: v1alpha1.Kind(state.Content)}, func(raw []byte) {
		var m struct {
			Metadata metav1.ObjectMeta `json:"metadata"`
		}
		if object.Into(raw, &m) == nil && m.Metadata.DeletionTimestamp != nil {
			f.DeletingContents = append(f.DeletingContents, state.Deleting{Kind: state.Content, Name: m.Metadata.Name,
				Since: m.Metadata.DeletionTimestamp.Time, Finalizers: m.Metadata.Finalizers})
		}
	})
	f.Coverage[state.Content] = names.coverage
	out := map[string][]*v1alpha1.BundleDeployment{}
	for id, deployments := range needed {
		if found, known := names.of("", id); known && !found {
			out[id] = deployments
		}
	}
	return out, err
}

// neededAgain reads BundleDeployments again and returns those of the Contents that BundleDeployments still need.
func (r *Reader) neededAgain(ctx context.Context, missing map[string][]*v1alpha1.BundleDeployment) (map[string][]*v1alpha1.BundleDeployment, error) {
	var namespaces []string
	for _, deployments := range missing {
		for _, bd := range deployments {
			namespaces = append(namespaces, bd.Namespace)
		}
	}
	out := map[string][]*v1alpha1.BundleDeployment{}
	_, err := r.list(ctx, source.Query{Kind: v1alpha1.Kind(state.BundleDeployment), Namespaces: distinct(namespaces)}, func(o source.Object) error {
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

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
// It lists only the metadata of Contents, because each may have 1 MiB. No Content is missing if not all could be read.
func (r *Reader) ContentNames(ctx context.Context, f *state.Fleet) (state.Contents, error) {
	var out state.Contents
	needed := f.ContentIDs()
	if len(needed) == 0 {
		return out, nil
	}
	found := map[string]bool{}
	var err error
	q := source.Query{Kind: v1alpha1.Kind(state.Content), MetadataOnly: true}
	out.Coverage, err = r.list(ctx, q, func(o source.Object) error {
		var m struct {
			Metadata metav1.ObjectMeta `json:"metadata"`
		}
		if err := object.Into(o.Raw, &m); err != nil {
			return err
		}
		found[m.Metadata.Name] = true
		if at := m.Metadata.DeletionTimestamp; at != nil {
			out.Deleting = append(out.Deleting, state.Deleting{Kind: state.Content, Name: m.Metadata.Name,
				Since: at.Time, Finalizers: m.Metadata.Finalizers})
		}
		return nil
	})
	if _, all := out.Coverage.Of(""); !all {
		return out, err
	}
	out.Missing = map[string]bool{}
	for id := range needed {
		if !found[id] {
			out.Missing[id] = true
		}
	}
	return out, err
}

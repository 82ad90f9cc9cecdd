// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"slices"
	"time"

	"helm.sh/helm/v4/pkg/release/common"
	helm "helm.sh/helm/v4/pkg/release/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// releaseName returns the name of the release of a BundleDeployment. Source: docs/fleet-behavior.md, 1.4.
func releaseName(bundleDeployment string, o *v1alpha1.Options) string {
	return cmp.Or(o.Helm.ReleaseName, fleet.HelmReleaseName(bundleDeployment))
}

// releaseNamespace returns the namespace of the release, which is also the namespace of namespaced objects that state
// none. Source: docs/fleet-behavior.md, 1.4.
func releaseNamespace(o *v1alpha1.Options) string {
	return cmp.Or(o.TargetNamespace, o.DefaultNamespace, fleet.DefaultNamespace)
}

// Release returns the release that the rollout installs or upgrades.
func (in *Input) Release() (namespace, name string) {
	o := in.Options
	o.Helm = cmp.Or(o.Helm, &v1alpha1.HelmOptions{})
	return releaseNamespace(&o), releaseName(in.Name, &o)
}

// smallRecord is the size, in bytes, of the parts of a record below which it does not come near the limit of a Secret,
// even uncompressed: base64 adds a third.
const smallRecord = 600 << 10

// recordSize returns the approximate size, in bytes, of the release record in its Secret, and 0 for a record that is
// far below the limit. It encodes the record like Helm (storage/driver, encodeRelease), with the annotations that
// Fleet's agent adds to the chart. The times in it are invented.
func (b *bundle) recordSize(values map[string]any) int {
	size := len(b.manifest)
	for _, f := range slices.Concat(b.chart.Templates, b.chart.Files) {
		size += len(f.Data)
	}
	for _, h := range b.hooks {
		size += len(h.Manifest)
	}
	if size < smallRecord {
		return 0
	}
	m := b.chart.Metadata
	m.Annotations = with(m.Annotations, fleet.BundleIDAnnotation, b.in.Name)
	m.Annotations[fleet.AgentNamespaceAnnotation] = "cattle-fleet-system"
	m.Annotations[fleet.KeepResourcesAnnotation] = "false"
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return 0
	}
	err = json.NewEncoder(z).Encode(&helm.Release{
		Name: b.result.ReleaseName, Namespace: b.result.ReleaseNamespace, Version: b.in.Revision, Chart: b.chart,
		Config:   values,
		Manifest: b.manifest, Hooks: b.hooks, ApplyMethod: string(helm.ApplyMethodServerSideApply),
		Info: &helm.Info{FirstDeployed: b.in.Now, LastDeployed: b.in.Now.Add(time.Second),
			Status: common.StatusDeployed, Description: "Install complete"},
	})
	if err != nil || z.Close() != nil {
		return 0
	}
	return base64.StdEncoding.EncodedLen(packed.Len())
}

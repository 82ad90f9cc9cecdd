// SPDX-License-Identifier: Apache-2.0

package render

import (
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"maps"
	"time"

	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/release/common"
	helm "helm.sh/helm/v4/pkg/release/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
)

// smallRecord is below what a record has to hold, in bytes, before packing it can come near to the size of a Secret: Base64 adds a third.
const smallRecord = 600 << 10

// recordSize is about how many bytes the record of the release takes in its Secret, 0 for one that is far below the limit. It writes the
// record as Helm does (storage/driver, encodeRelease), with what Fleet's agent adds to the chart; the times in it are invented.
func (b *bundle) recordSize(ch *chart.Chart, values map[string]any) int {
	held := len(b.files.manifest)
	for _, f := range ch.Templates {
		held += len(f.Data)
	}
	for _, f := range ch.Files {
		held += len(f.Data)
	}
	for _, h := range b.files.helmHooks {
		held += len(h.Manifest)
	}
	if held < smallRecord {
		return 0
	}
	return encodedSize(&helm.Release{
		Name: b.result.ReleaseName, Namespace: b.result.ReleaseNamespace, Version: max(b.in.Revision, 1), Chart: b.annotated(ch), Config: values,
		Manifest: b.files.manifest, Hooks: b.files.helmHooks, ApplyMethod: string(helm.ApplyMethodServerSideApply),
		Info: &helm.Info{FirstDeployed: b.in.Now, LastDeployed: b.in.Now.Add(time.Second), Status: common.StatusDeployed, Description: "Install complete"},
	})
}

// annotated is the chart with the annotations of Fleet's agent.
func (b *bundle) annotated(ch *chart.Chart) *chart.Chart {
	out, meta := *ch, *ch.Metadata
	meta.Annotations = maps.Clone(meta.Annotations)
	if meta.Annotations == nil {
		meta.Annotations = map[string]string{}
	}
	meta.Annotations[fleet.BundleIDAnnotation] = b.in.Name
	meta.Annotations[fleet.AgentNamespaceAnnotation] = "cattle-fleet-system"
	meta.Annotations[fleet.KeepResourcesAnnotation] = "false"
	out.Metadata = &meta
	return &out
}

// counter counts what is written to it.
type counter int

// Write implements io.Writer.
func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// encodedSize is the length of a release as Helm writes it into a Secret, 0 where it cannot be written.
func encodedSize(r *helm.Release) int {
	var n counter
	text := base64.NewEncoder(base64.StdEncoding, &n)
	z, err := gzip.NewWriterLevel(text, gzip.BestCompression)
	if err != nil {
		return 0
	}
	document, err := json.Marshal(r)
	if err != nil {
		return 0
	}
	if _, err := z.Write(document); err != nil || z.Close() != nil || text.Close() != nil {
		return 0
	}
	return int(n)
}

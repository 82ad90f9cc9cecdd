// SPDX-License-Identifier: Apache-2.0

// Package render renders the contents of a bundle to the objects that Fleet's agent would store in the manifest of a
// release, with the same steps as the agent (docs/fleet-behavior.md, 1.3, 1.4, 2.6 and 2.7).
//
// It uses no client, no network and no file: a Cluster answers the lookups of templates. Other data that only a
// cluster or a registry has is a gap, which the Result names. Sizes are limited. The time and the memory of a template
// are not, because nothing within the process can stop a template: package process renders in a separate process.
package render

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"path"
	"slices"
	"strings"
	"time"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	releasecommon "helm.sh/helm/v4/pkg/release/common"
	helm "helm.sh/helm/v4/pkg/release/v1"
	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// run renders the chart with Helm and sets the ownership metadata, like an installation by the agent before the first
// write. It returns errRemote if a kustomization needs the network.
func (b *bundle) run(ctx context.Context) error {
	if err := b.loadChart(); err != nil {
		return err
	}
	values, err := b.values()
	if err != nil {
		return err
	}
	if err := chartutil.ProcessDependencies(b.chart, values); err != nil {
		return b.in.fail(chartFile, "the dependencies of the chart cannot be resolved with these values")
	}
	top, err := b.renderValues(values)
	if err != nil {
		return err
	}
	v := variation{pass: b.pass, now: b.in.Now}
	lookup := func(l Lookup) (map[string]any, error) { return b.lookup(ctx, l) }
	e := engine.Engine{CustomTemplateFuncs: v.funcs(b.addGap, lookup)}
	files, err := e.RenderWithContext(ctx, b.chart, top)
	if err != nil {
		return b.templateError(err)
	}
	size := 0
	for name, text := range files {
		size += len(text)
		if strings.HasSuffix(name, "NOTES.txt") {
			delete(files, name)
		}
	}
	if size > maxBytes {
		return b.in.fail("", errTooLarge.Error())
	}
	if b.in.Helm3 {
		if err = b.sort(files); err == nil {
			b.manifest, err = b.postRender(b.manifest)
		}
	} else {
		err = b.postRenderFiles(files)
	}
	if err == nil && b.pass == 0 {
		b.result.RecordSize = b.recordSize(values)
	}
	return err
}

// loadChart loads the chart from an archive. Helm makes many of its checks only for archives.
func (b *bundle) loadChart() error {
	var archive bytes.Buffer
	z, err := gzip.NewWriterLevel(&archive, gzip.NoCompression) // the archive is read immediately
	if err != nil {
		return b.in.fail(chartFile, "the chart could not be packed")
	}
	w := tar.NewWriter(z)
	for _, f := range b.chartFiles {
		err := w.WriteHeader(&tar.Header{Name: f.name, Mode: 0o644, Typeflag: tar.TypeReg, Size: int64(len(f.data))})
		if err == nil {
			_, err = w.Write(f.data)
		}
		if err != nil {
			return b.in.fail(f.name, "the file could not be packed: its name is not a path")
		}
	}
	if errors.Join(w.Close(), z.Close()) != nil {
		return b.in.fail(chartFile, "the chart could not be packed")
	}
	if b.chart, err = loader.LoadArchive(&archive); err != nil {
		return b.in.fail(path.Join(path.Dir(b.style.chart), chartFile), "Helm cannot load the chart"+b.chartReason(err))
	}
	return nil
}

// renderValues returns the values for the templates, and validates them against the schemas of the chart.
func (b *bundle) renderValues(values map[string]any) (common.Values, error) {
	caps := common.DefaultCapabilities.Copy()
	required := b.chart.Metadata.KubeVersion
	needsVersion, needsAPIs := needsOf(b.chart)
	if v := b.in.KubeVersion; v != "" {
		kube, err := common.ParseKubeVersion(v)
		if err != nil {
			return nil, b.in.fail("", "the Kubernetes version "+v+" cannot be parsed")
		}
		caps.KubeVersion = common.KubeVersion{Version: kube.Version, Major: kube.Major, Minor: kube.Minor}
		if required != "" && !chartutil.IsCompatibleRange(required, caps.KubeVersion.String()) {
			return nil, b.in.fail(chartFile, "the chart requires Kubernetes "+required+", the cluster has "+v)
		}
	} else if needsVersion || required != "" {
		b.addGap("the chart uses the Kubernetes version of the cluster, which is not known")
	}
	if len(b.in.APIVersions) > 0 {
		caps.APIVersions = b.in.APIVersions
	} else if needsAPIs {
		b.addGap("the chart uses the list of APIs of the cluster, which is not known")
	}
	o := common.ReleaseOptions{Name: b.result.ReleaseName, Namespace: b.result.ReleaseNamespace,
		Revision:  b.in.Revision,
		IsInstall: b.in.Revision == 1, IsUpgrade: b.in.Revision > 1}
	top, err := util.ToRenderValuesWithSchemaValidation(b.chart, values, o, caps, true)
	var merged common.Values
	if err == nil {
		merged, err = top.Table("Values")
	}
	if err != nil {
		return nil, b.in.fail("values.yaml", "the values have other types than the values of the chart")
	}
	if b.in.Options.Helm.SkipSchemaValidation {
		return top, nil
	}
	return top, b.validate(merged)
}

// needsOf reports whether the templates of a chart and of its dependencies use the Kubernetes version or the APIs of
// the cluster. It searches the text of the templates: an unnecessary gap is better than a wrong result.
func needsOf(ch *chart.Chart) (version, apis bool) {
	for _, t := range ch.Templates {
		if bytes.Contains(t.Data, []byte(".Capabilities")) {
			list := bytes.Contains(t.Data, []byte("APIVersions"))
			apis = apis || list
			version = version || !list || bytes.Contains(t.Data, []byte("KubeVersion"))
		}
	}
	for _, d := range ch.Dependencies() {
		v, a := needsOf(d)
		version, apis = version || v, apis || a
	}
	return version, apis
}

// layOut makes the chart that the agent passes to Helm. Source: docs/fleet-behavior.md, 2.6.
func (b *bundle) layOut() error {
	if b.style.chart != "" {
		dir := strings.TrimPrefix(path.Dir(b.style.chart)+"/", "./")
		for _, r := range b.resources {
			if rest, ok := strings.CutPrefix(r.Name, dir); ok {
				b.chartFiles = append(b.chartFiles, file{chartDir + rest, r.data})
			}
		}
		return nil
	}
	resources, commit := b.resources, b.in.Commit
	if b.style.plain() {
		var applied bool
		var err error
		if resources, applied, err = b.overlay(); err != nil {
			return err
		}
		if applied {
			commit = "" // Fleet loses it, so the manifest id is the version of the generated chart
		}
		b.chartFiles = plainFiles(resources)
	}
	return b.generateChart(resources, commit)
}

// generateChart adds the Chart.yaml of a bundle without a chart.
func (b *bundle) generateChart(resources []resource, commit string) error {
	encoded := make([]v1alpha1.BundleResource, len(resources))
	for i, r := range resources {
		encoded[i] = r.BundleResource
	}
	id, err := ManifestID(encoded)
	if err != nil {
		return b.in.fail("", err.Error())
	}
	const shortCommit = 12
	if len(commit) > shortCommit {
		id = "git-" + commit[:shortCommit]
	}
	name := b.in.Name[strings.LastIndexByte(b.in.Name, '/')+1:]
	data, err := yaml.Marshal(map[string]string{"apiVersion": "v2", "name": name, "version": "v0.0.0+" + id})
	if err != nil {
		return b.in.fail(chartFile, "it cannot be written as YAML")
	}
	b.chartFiles = append(b.chartFiles, file{chartDir + chartFile, data})
	return nil
}

// plainFiles returns plain manifests as files of a chart. Helm renders those in templates/. Others are in raw-yaml/,
// which Helm ignores. Left out are files that are not YAML or JSON, and files below a directory that is another bundle
// or a chart.
func plainFiles(resources []resource) []file {
	var others []string
	for _, r := range resources {
		if base := path.Base(r.Name); strings.Contains(r.Name, "/") && (base == chartFile || isBundleFile(base)) {
			others = append(others, path.Dir(r.Name)+"/")
		}
	}
	var out []file
	for _, r := range resources {
		isOther := slices.ContainsFunc(others, func(dir string) bool { return strings.HasPrefix(r.Name, dir) })
		if isOther || isBundleFile(r.Name) || !slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(r.Name)) {
			continue
		}
		dir := chartDir
		if !strings.HasPrefix(r.Name, templateDir) {
			dir += rawDir
		}
		out = append(out, file{dir + r.Name, r.data})
	}
	return out
}

func isBundleFile(name string) bool { return name == "fleet.yaml" || name == "fleet.yml" }

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
			Status: releasecommon.StatusDeployed, Description: "Install complete"},
	})
	if err != nil || z.Close() != nil {
		return 0
	}
	return base64.StdEncoding.EncodedLen(packed.Len())
}

// Render renders the bundle twice. cluster answers the lookups of templates; if it is nil, each is a gap. Errors of
// type *Error or *ClusterScopedError mean that the agent would refuse to deploy the bundle. They name the bundle and
// the file, and never quote a value.
func Render(ctx context.Context, in Input, cluster Cluster) (*Result, error) {
	first, err := in.render(ctx, 0, cluster)
	if err != nil {
		return nil, err
	}
	if len(first.Objects) == 0 {
		return first, nil
	}
	second, err := in.render(ctx, 1, cluster)
	if err != nil {
		return nil, err
	}
	if first.Unstable, err = compareRenderings(first.Objects, second.Objects); err != nil {
		return nil, in.fail("", err.Error())
	}
	return first, nil
}

// render renders once. Random values and times differ between the passes.
func (in Input) render(ctx context.Context, pass int, cluster Cluster) (*Result, error) {
	b, err := in.open(pass)
	if err != nil {
		return nil, err
	}
	b.cluster = cluster
	res := b.result
	if b.chartMissing() {
		return res, nil
	}
	if known, err := b.clusterValues(); err != nil || !known {
		return res, err
	}
	if err := b.layOut(); err != nil {
		return nil, err
	}
	if err = b.run(ctx); err == nil {
		if err := b.dryRun(ctx); err != nil {
			return nil, err
		}
	}
	slices.Sort(b.gaps)
	res.Gaps = append(res.Gaps, slices.Compact(b.gaps)...)
	fault, refused := errors.AsType[*Error](err)
	switch {
	case errors.Is(err, errRemote):
		return res, nil
	case refused && len(res.Gaps) > 0:
		// The missing data may be the cause. The agent has it, and might not fail.
		res.Gaps = append(res.Gaps, "the bundle cannot be rendered without the missing data: "+fault.detail())
		return res, nil
	case err != nil:
		return nil, err
	}
	return res, b.readManifests()
}

// absent is a cluster without objects.
type absent struct{}

// Lookup implements Cluster.
func (absent) Lookup(context.Context, Lookup) Found { return Found{} }

// dryRun returns the error of the dry run that the agent makes before it writes, if lookups find nothing in it.
// Source: docs/fleet-behavior.md, 2.6.
func (b *bundle) dryRun(ctx context.Context) error {
	if _, is := b.cluster.(absent); is || b.pass > 0 {
		return nil
	}
	if !b.asked || b.dryRunAnswers() {
		return nil
	}
	_, err := b.in.render(ctx, b.pass, absent{})
	refused, ok := errors.AsType[*Error](err)
	if !ok {
		return nil
	}
	return b.in.fail(refused.File,
		"the dry run of Fleet's agent, in which lookups find nothing, fails: "+refused.Reason)
}

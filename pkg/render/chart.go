// SPDX-License-Identifier: Apache-2.0

package render

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"path"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
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

// sort separates hooks from manifests and sorts both in Helm's order.
func (b *bundle) sort(files map[string]string) error {
	for name, text := range files {
		files[name] = strings.Join(b.split(text), "\n---\n")
	}
	hooks, manifests, err := releaseutil.SortManifests(files, nil, releaseutil.InstallOrder)
	if err != nil {
		return b.in.fail("", "the rendered manifests cannot be sorted: a document is not a YAML object, or its "+
			"metadata has a wrong type"+LineOf(err, nil))
	}
	var text strings.Builder
	for _, m := range manifests {
		text.WriteString("---\n# Source: " + m.Name + "\n" + m.Content + "\n")
	}
	b.manifest, b.hooks = text.String(), hooks
	return nil
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

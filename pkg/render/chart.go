// SPDX-License-Identifier: Apache-2.0

package render

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	helm "helm.sh/helm/v4/pkg/release/v1"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
)

// rendered is what Helm has made of a chart.
type rendered struct {
	manifest string
	hooks    []string
	crds     []chart.CRD
	// helmHooks are the hooks as Helm stores them.
	helmHooks []*helm.Hook
}

// run renders the chart with Helm and adds the ownership metadata, as an installation by the agent does before the first write. It returns false
// if there are no manifests because a kustomization needs the network.
func (b *bundle) run(ctx context.Context) (bool, error) {
	ch, err := b.loadChart()
	if err != nil {
		return false, err
	}
	values, err := b.values()
	if err != nil {
		return false, err
	}
	if err := chartutil.ProcessDependencies(ch, values); err != nil {
		return false, b.in.fail(chartFile, "its dependencies cannot be sorted out with these values")
	}
	top, err := b.renderValues(ch, values)
	if err != nil {
		return false, err
	}
	v := variation{pass: b.pass, now: b.in.Now}
	e := engine.Engine{CustomTemplateFuncs: v.funcs(b.addGap)}
	files, err := e.RenderWithContext(ctx, ch, top)
	if err != nil {
		return false, b.templateError(ch, err)
	}
	size := 0
	for name, text := range files {
		size += len(text)
		if strings.HasSuffix(name, "NOTES.txt") {
			delete(files, name)
		}
	}
	if size > maxBytes {
		return false, b.in.fail("", ErrTooLarge.Error())
	}
	p := &postRenderer{b: b, chart: ch}
	b.files.crds = ch.CRDObjects()
	if b.in.Helm3 {
		if err := b.sort(files); err != nil {
			return false, err
		}
		var done bool
		b.files.manifest, done, err = p.run(b.files.manifest)
		b.measure(ch, values, done && err == nil)
		return done, err
	}
	if files, err = b.postRender(p, files); err != nil || files == nil {
		return false, err
	}
	err = b.sort(files)
	b.measure(ch, values, err == nil)
	return true, err
}

// measure estimates the release record, in the first rendering.
func (b *bundle) measure(ch *chart.Chart, values map[string]any, done bool) {
	if done && b.pass == 0 {
		b.result.RecordSize = b.recordSize(ch, values)
	}
}

// sort separates hooks from manifests and sorts both in Helm's order.
func (b *bundle) sort(files map[string]string) error {
	hooks, manifests, err := releaseutil.SortManifests(files, nil, releaseutil.InstallOrder)
	if err != nil {
		return b.in.fail("", "the rendered manifests cannot be sorted: one is no YAML object, or has metadata of the wrong type"+lineOf(err))
	}
	var text strings.Builder
	for _, m := range manifests {
		text.WriteString("---\n# Source: " + m.Name + "\n" + m.Content + "\n")
	}
	b.files.manifest = text.String()
	for _, h := range hooks {
		b.files.hooks = append(b.files.hooks, h.Manifest)
	}
	b.files.helmHooks = hooks
	return nil
}

// addGap records a gap that was found during rendering.
func (b *bundle) addGap(gap string) { b.gaps = append(b.gaps, gap) }

// loadChart packs the chart and loads it with Helm, which makes many of its checks only when it reads an archive.
func (b *bundle) loadChart() (*chart.Chart, error) {
	buf := &bytes.Buffer{}
	// The archive is read immediately, so compression has no use.
	z, err := gzip.NewWriterLevel(buf, gzip.NoCompression)
	if err != nil {
		return nil, b.in.fail(chartFile, "packing the chart failed")
	}
	w := tar.NewWriter(z)
	for _, f := range b.chart {
		err := w.WriteHeader(&tar.Header{Name: f.name, Mode: 0o644, Typeflag: tar.TypeReg, Size: int64(len(f.data))})
		if err == nil {
			_, err = w.Write(f.data)
		}
		if err != nil {
			return nil, b.in.fail(f.name, "it cannot be packed: its name is no path")
		}
	}
	if err := w.Close(); err != nil {
		return nil, b.in.fail(chartFile, "packing the chart failed")
	}
	if err := z.Close(); err != nil {
		return nil, b.in.fail(chartFile, "packing the chart failed")
	}
	ch, err := loader.LoadArchive(buf)
	if err != nil {
		return nil, b.in.fail(path.Join(path.Dir(b.style.chart), chartFile), "Helm takes it for no chart"+b.chartReason(err))
	}
	return ch, nil
}

// renderValues returns the values for the templates, and validates them against the chart's schema.
func (b *bundle) renderValues(ch *chart.Chart, values map[string]any) (common.Values, error) {
	caps := common.DefaultCapabilities.Copy()
	needs := needsOf(ch)
	needs.kubeVersion = needs.kubeVersion || ch.Metadata.KubeVersion != ""
	if v := b.in.KubeVersion; v != "" {
		kube, err := common.ParseKubeVersion(v)
		if err != nil {
			return nil, b.in.fail("", "the Kubernetes version "+v+" cannot be read")
		}
		caps.KubeVersion = common.KubeVersion{Version: kube.Version, Major: kube.Major, Minor: kube.Minor}
		if required := ch.Metadata.KubeVersion; required != "" && !chartutil.IsCompatibleRange(required, caps.KubeVersion.String()) {
			return nil, b.in.fail(chartFile, "the chart is for Kubernetes "+required+", the cluster has "+v)
		}
	} else if needs.kubeVersion {
		b.addGap("the chart asks for the cluster's Kubernetes version, which is not known")
	}
	if len(b.in.APIVersions) > 0 {
		caps.APIVersions = b.in.APIVersions
	} else if needs.apiVersions {
		b.addGap("the chart asks which APIs the cluster serves, which is not known")
	}
	revision := max(b.in.Revision, 1)
	o := common.ReleaseOptions{Name: b.result.ReleaseName, Namespace: b.result.ReleaseNamespace, Revision: revision,
		IsInstall: revision == 1, IsUpgrade: revision > 1}
	top, err := util.ToRenderValuesWithSchemaValidation(ch, values, o, caps, true)
	if err != nil {
		return nil, b.in.fail("values.yaml", "the values do not go with those of the chart")
	}
	if b.in.Options.Helm != nil && b.in.Options.Helm.SkipSchemaValidation {
		return top, nil
	}
	if u := remoteSchema(ch); u != "" {
		b.addGap("values.schema.json refers to " + u + ", so the values were not held against it")
		return top, nil
	}
	merged, err := top.Table("Values")
	if err != nil {
		return nil, b.in.fail("values.yaml", "the values do not go with those of the chart")
	}
	if err := util.ValidateAgainstSchema(ch, merged); err != nil {
		return nil, b.in.fail("values.schema.json", "the values do not meet it"+schemaFaults(ch, merged))
	}
	return top, nil
}

// needs are the properties of the cluster that templates use.
type needs struct{ kubeVersion, apiVersions bool }

// needsOf returns which properties of the cluster the templates of a chart and of its dependencies use. It searches the text of the templates: an
// unnecessary gap is better than a wrong result.
func needsOf(ch *chart.Chart) needs {
	a := needs{}
	for _, t := range ch.Templates {
		if bytes.Contains(t.Data, []byte(".Capabilities")) {
			apis := bytes.Contains(t.Data, []byte("APIVersions"))
			a.apiVersions = a.apiVersions || apis
			a.kubeVersion = a.kubeVersion || !apis || bytes.Contains(t.Data, []byte("KubeVersion"))
		}
	}
	for _, d := range ch.Dependencies() {
		sub := needsOf(d)
		a.apiVersions = a.apiVersions || sub.apiVersions
		a.kubeVersion = a.kubeVersion || sub.kubeVersion
	}
	return a
}

// remoteSchema returns the first reference of a chart's schemas that would be fetched or read from a file of this machine.
func remoteSchema(ch *chart.Chart) string {
	if len(ch.Schema) > 0 {
		var schema any
		if json.Unmarshal(ch.Schema, &schema) == nil {
			if u := remoteRef(schema); u != "" {
				return u
			}
		}
	}
	for _, d := range ch.Dependencies() {
		if u := remoteSchema(d); u != "" {
			return u
		}
	}
	return ""
}

func remoteRef(v any) string {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range sortedKeys(v) {
			text, ok := v[name].(string)
			if ok && strings.HasPrefix(name, "$") && !isLocal(name, text) {
				return withoutUser(text)
			}
			if u := remoteRef(v[name]); u != "" {
				return u
			}
		}
	case []any:
		for _, e := range v {
			if u := remoteRef(e); u != "" {
				return u
			}
		}
	}
	return ""
}

// isLocal reports whether a keyword refers to nothing outside the schema: it is a name, or one of the meta-schemas that the validator contains.
func isLocal(keyword, text string) bool {
	switch keyword {
	case "$id", "$anchor", "$dynamicAnchor", "$comment":
		return true
	}
	if strings.HasPrefix(text, "#") {
		return true
	}
	_, rest, ok := strings.Cut(strings.TrimSuffix(text, "#"), "://json-schema.org/")
	return ok && slices.Contains([]string{"schema", "draft-04/schema", "draft-06/schema", "draft-07/schema", "draft/2019-09/schema", "draft/2020-12/schema"}, rest)
}

// postRender runs the post-renderer as Helm 4 does: it merges all files into one stream and splits the result again. It returns nil if the
// post-renderer has no result.
func (b *bundle) postRender(p *postRenderer, files map[string]string) (map[string]string, error) {
	merged, err := mergeFiles(files)
	if err != nil {
		return nil, b.in.fail(err.file, err.reason)
	}
	out, done, failure := p.run(merged)
	if failure != nil || !done {
		return nil, failure
	}
	split, failure := splitFiles(out)
	if failure != nil {
		return nil, b.in.fail("", fmt.Sprintf("what was rendered is no list of objects%s", lineOf(failure)))
	}
	return split, nil
}

// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"fmt"
	"maps"
	"strings"

	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// rawDir is the directory of a chart in which Fleet's agent stores manifests that are not templates
// (docs/fleet-behavior.md, 2.6).
const rawDir = "raw-yaml/"

// postRenderer changes Helm's output as Fleet's agent does (docs/fleet-behavior.md, 2.7, 1.3), without kustomize:
// it appends the raw manifests of the chart and labels every object.
type postRenderer struct {
	chart           *chart.Chart
	labels          map[string]string
	annotations     map[string]string
	targetNamespace string
	deleteCRDs      bool
}

// Run implements Helm's postrenderer.PostRenderer.
func (p *postRenderer) Run(rendered *bytes.Buffer) (*bytes.Buffer, error) {
	objs, err := parseManifest(rendered.Bytes(), "templates")
	if err != nil {
		return nil, err
	}
	for _, file := range p.chart.Files {
		if !strings.HasPrefix(file.Name, rawDir) {
			continue
		}
		raw, err := parseManifest(file.Data, file.Name)
		if err != nil {
			return nil, err
		}
		objs = append(objs, raw...)
	}
	out := &bytes.Buffer{}
	for _, obj := range objs {
		p.addMetadata(obj)
		document, err := yaml.Marshal(obj.Object)
		if err != nil {
			return nil, fmt.Errorf("writing %s: %w", describe(obj), err)
		}
		out.WriteString("---\n")
		out.Write(document)
	}
	return out, nil
}

// addMetadata sets Fleet's labels and annotations on an object. Other labels and annotations stay.
func (p *postRenderer) addMetadata(obj *unstructured.Unstructured) {
	obj.SetLabels(merged(obj.GetLabels(), p.labels))
	annotations := merged(obj.GetAnnotations(), p.annotations)
	if obj.GetKind() == crdKind.Kind && !p.deleteCRDs {
		annotations[kube.ResourcePolicyAnno] = kube.KeepPolicy
	}
	obj.SetAnnotations(annotations)
	if p.targetNamespace != "" {
		obj.SetNamespace(p.targetNamespace)
	}
}

func merged(base, over map[string]string) map[string]string {
	out := make(map[string]string, len(base)+len(over))
	maps.Copy(out, base)
	maps.Copy(out, over)
	return out
}

// parseManifest is parse for content that may be empty.
func parseManifest(content []byte, name string) ([]*unstructured.Unstructured, error) {
	if strings.TrimSpace(string(content)) == "" {
		return nil, nil
	}
	objs, err := parse(parser().Stream(bytes.NewReader(content), name))
	if err != nil {
		return nil, fmt.Errorf("parsing %s: %w", name, err)
	}
	return objs, nil
}

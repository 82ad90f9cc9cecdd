// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"strings"

	chart "helm.sh/helm/v4/pkg/chart/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

const (
	crdKind    = "CustomResourceDefinition"
	keepPolicy = "keep"
)

// postRenderer is what the agent does between Helm's templates and Helm's manifest. Source: docs/fleet-behavior.md, 2.7.
type postRenderer struct {
	b     *bundle
	chart *chart.Chart
}

// run returns the objects to install, including hooks, as a stream of YAML. done is false if a kustomization needs the network.
func (p *postRenderer) run(stream string) (out string, done bool, err error) {
	in := p.b.in
	objs, err := parseStream([]byte(stream), !in.Helm3)
	if err != nil {
		file := ""
		if noKind := (*missingKindError)(nil); errors.As(err, &noKind) {
			file = noKind.file
		}
		return "", false, in.fail(file, "a template renders to "+err.Error())
	}
	if len(objs) == 0 {
		stream = ""
	}
	if p.b.kustomizable() {
		replaced, processed, err := p.b.kustomize([]byte(stream))
		switch {
		case errors.Is(err, errRemote):
			return "", false, nil
		case err != nil:
			return "", false, err
		case processed:
			objs = replaced
		}
	}
	plain, err := p.plain()
	if err != nil {
		return "", false, err
	}
	objs = append(objs, plain...)
	if len(objs) > maxNumber {
		return "", false, in.fail("", ErrTooLarge.Error())
	}
	if err := p.setOwnership(objs); err != nil {
		return "", false, err
	}
	var text strings.Builder
	for _, o := range objs {
		document, err := yaml.Marshal(o.Object)
		if err != nil {
			return "", false, in.fail("", "writing "+describe(o)+" failed")
		}
		text.WriteString("\n---\n")
		text.Write(document)
	}
	return strings.TrimPrefix(text.String(), "\n---\n"), true, nil
}

// plain reads the manifests that are not templates. If one document of a file has no kind, the agent ignores the whole file.
func (p *postRenderer) plain() ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for _, f := range p.chart.Files {
		name, ok := strings.CutPrefix(f.Name, rawDir)
		if !ok {
			continue
		}
		objs, err := parseStream(f.Data, false)
		var noKind *missingKindError
		switch {
		case errors.As(err, &noKind):
			p.b.note(name + " is passed over: a document in it has no kind")
			continue
		case err != nil:
			return nil, p.b.in.fail(name, "it holds "+err.Error())
		}
		for _, o := range objs {
			if o.GetAPIVersion() == "" || o.GetKind() == "" {
				p.b.note("a document of " + name + " is passed over: it has no apiVersion or no kind")
				continue
			}
			out = append(out, o)
		}
	}
	return out, nil
}

// setOwnership sets the agent's labels and annotations. Other labels and annotations of an object are kept.
// Source: docs/fleet-behavior.md, 1.3.
func (p *postRenderer) setOwnership(objs []*unstructured.Unstructured) error {
	o := &p.b.in.Options
	var misplaced []object.Ref
	scopes := p.scopes(objs)
	for _, obj := range objs {
		annotations := over(obj.GetAnnotations(), fleet.IDAnnotation, p.b.in.SetID)
		if obj.GetKind() == crdKind && !o.DeleteCRDResources {
			annotations[fleet.ResourcePolicyAnnotation] = keepPolicy
		}
		obj.SetAnnotations(annotations)
		obj.SetLabels(over(obj.GetLabels(), fleet.HashLabel, fleet.Hash(p.b.in.SetID)))
		if o.TargetNamespace == "" {
			continue
		}
		gk := obj.GroupVersionKind().GroupKind()
		switch scoped, known := scopes(gk); {
		case scoped:
			misplaced = append(misplaced, object.Ref{APIVersion: obj.GetAPIVersion(), Kind: obj.GetKind(), Name: obj.GetName()})
		case !known:
			p.b.addGap("whether " + gk.String() + " has namespaces is not known; if not, the deployment is refused under a targetNamespace")
		}
		obj.SetNamespace(o.TargetNamespace)
	}
	if len(misplaced) > 0 {
		return &ClusterScopedError{Bundle: p.b.in.Name, Objects: misplaced}
	}
	return nil
}

func over(m map[string]string, key, value string) map[string]string {
	out := make(map[string]string, len(m)+2)
	maps.Copy(out, m)
	out[key] = value
	return out
}

// missingKindError is returned for a document that is not empty, but has no kind. It has the name of the template, if the document is from one.
type missingKindError struct{ file string }

func (*missingKindError) Error() string { return "a document without kind" }

// parseStream reads a stream of YAML or JSON documents as the agent does: empty documents are ignored, Lists are flattened once. A document that
// begins with "{" is JSON; only the output of templates may also be in YAML's flow style (flow). Errors describe what was found instead of
// objects.
func parseStream(data []byte, flow bool) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, errors.New("what is no YAML")
		}
		objs, err := parseDocument(document, flow)
		if err != nil {
			return nil, err
		}
		if out = append(out, objs...); len(out) > maxNumber {
			return nil, ErrTooLarge
		}
	}
}

func parseDocument(document []byte, flow bool) ([]*unstructured.Unstructured, error) {
	raw := document
	if braced := bytes.HasPrefix(bytes.TrimSpace(document), []byte("{")); !braced || flow && !json.Valid(document) {
		var err error
		if raw, err = yaml.YAMLToJSON(withoutMarker(document)); err != nil {
			return nil, errors.New("what is no YAML" + lineOf(err))
		}
	} else if !json.Valid(document) {
		return nil, errors.New("a document that begins with a brace and is no JSON")
	}
	var head map[string]json.RawMessage
	if err := json.Unmarshal(raw, &head); err != nil {
		return nil, errors.New("a document that is no object")
	}
	if len(head) == 0 {
		return nil, nil
	}
	obj, _, err := unstructured.UnstructuredJSONScheme.Decode(raw, nil, nil)
	switch {
	case runtime.IsMissingKind(err):
		var origin struct {
			Metadata struct {
				Annotations map[string]string `json:"annotations"`
			} `json:"metadata"`
		}
		if err := json.Unmarshal(raw, &origin); err != nil {
			return nil, &missingKindError{}
		}
		return nil, &missingKindError{origin.Metadata.Annotations[originAnnotation]}
	case err != nil:
		return nil, errors.New("what is no Kubernetes object")
	}
	switch obj := obj.(type) {
	case *unstructured.UnstructuredList:
		out := make([]*unstructured.Unstructured, len(obj.Items))
		for i := range obj.Items {
			out[i] = &obj.Items[i]
		}
		return out, nil
	case *unstructured.Unstructured:
		return []*unstructured.Unstructured{obj}, nil
	}
	return nil, errors.New("what is no Kubernetes object")
}

// withoutMarker removes the document marker that the reader leaves at the beginning of a stream.
func withoutMarker(document []byte) []byte {
	trimmed := bytes.TrimLeft(document, " \t\r\n")
	rest, ok := bytes.CutPrefix(trimmed, []byte("---"))
	if ok && (len(rest) == 0 || bytes.ContainsRune([]byte(" \t\r\n"), rune(rest[0]))) {
		return rest
	}
	return document
}

// note records what the agent ignores. The notes of the second rendering are the same, and not used.
func (b *bundle) note(s string) { b.result.Notes = append(b.result.Notes, s) }

func describe(o *unstructured.Unstructured) string {
	return object.Ref{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName()}.Key().String()
}

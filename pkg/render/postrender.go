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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

const crdKind = "CustomResourceDefinition"

// postRender is the agent's post-renderer: it changes the rendered objects, given and returned as a stream of YAML
// documents, before Helm stores them. It returns errRemote if a kustomization needs the network. Source:
// docs/fleet-behavior.md, 2.7.
func (b *bundle) postRender(stream string) (string, error) {
	objs, err := parseStream([]byte(stream), !b.in.Helm3)
	if err != nil {
		noKind, _ := errors.AsType[missingKindError](err)
		return "", b.in.fail(noKind.file, "a rendered template contains "+err.Error())
	}
	if len(objs) == 0 {
		stream = ""
	}
	if b.hasKustomization() {
		if objs, err = b.kustomize(objs, []byte(stream)); err != nil {
			return "", err
		}
	}
	plain, err := b.plainManifests()
	if err != nil {
		return "", err
	}
	if objs = append(objs, plain...); len(objs) > maxNumber {
		return "", b.in.fail("", errTooLarge.Error())
	}
	if err := b.setOwnership(objs); err != nil {
		return "", err
	}
	documents := make([]string, len(objs))
	for i, o := range objs {
		document, err := yaml.Marshal(o.Object)
		if err != nil {
			return "", b.in.fail("", "an object cannot be written as YAML")
		}
		documents[i] = string(document)
	}
	return strings.Join(documents, "\n---\n"), nil
}

// plainManifests reads the manifests that are not templates. If a document of a file has no kind, the agent ignores the
// whole file.
func (b *bundle) plainManifests() ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for _, f := range b.chart.Files {
		name, ok := strings.CutPrefix(f.Name, rawDir)
		if !ok {
			continue
		}
		objs, err := parseStream(f.Data, false)
		if _, ok := errors.AsType[missingKindError](err); ok {
			b.note(name + " is ignored: a document in it has no kind")
			continue
		}
		if err != nil {
			return nil, b.in.fail(name, "it contains "+err.Error())
		}
		for _, o := range objs {
			if o.GetAPIVersion() == "" || o.GetKind() == "" {
				b.note("a document of " + name + " is ignored: it has no apiVersion or no kind")
				continue
			}
			out = append(out, o)
		}
	}
	return out, nil
}

// setOwnership sets the ownership metadata that the agent sets. Other labels and annotations of an object are kept.
// Source: docs/fleet-behavior.md, 1.3.
func (b *bundle) setOwnership(objs []*unstructured.Unstructured) error {
	o := &b.in.Options
	var misplaced []object.Ref
	scopes := b.scopes(objs)
	for _, obj := range objs {
		annotations := with(obj.GetAnnotations(), fleet.IDAnnotation, b.in.SetID)
		if obj.GetKind() == crdKind && !o.DeleteCRDResources {
			annotations[fleet.ResourcePolicyAnnotation] = "keep"
		}
		obj.SetAnnotations(annotations)
		obj.SetLabels(with(obj.GetLabels(), fleet.HashLabel, fleet.Hash(b.in.SetID)))
		if o.TargetNamespace == "" {
			continue
		}
		gk := obj.GroupVersionKind().GroupKind()
		switch scoped, known := scopes(gk); {
		case scoped:
			misplaced = append(misplaced, object.Ref{APIVersion: obj.GetAPIVersion(), Kind: obj.GetKind(),
				Name: obj.GetName()})
		case !known:
			b.addGap("it is not known whether " + gk.String() +
				" is cluster-scoped; if it is, the agent refuses the deployment because of the targetNamespace")
		}
		obj.SetNamespace(o.TargetNamespace)
	}
	if len(misplaced) > 0 {
		return &ClusterScopedError{Bundle: b.in.Name, Objects: misplaced}
	}
	return nil
}

// with returns a copy of a map with one more entry.
func with(m map[string]string, key, value string) map[string]string {
	out := map[string]string{}
	maps.Copy(out, m)
	out[key] = value
	return out
}

// missingKindError is returned for a document that is not empty but has no kind. file is the template that rendered it,
// if there is one.
type missingKindError struct{ file string }

func (missingKindError) Error() string { return "a document without kind" }

// parseStream reads a stream of YAML or JSON documents as the agent does: it ignores empty documents and flattens a
// List once. A document that begins with "{" is JSON; only rendered templates may also use the flow style of YAML
// (flow). Errors are noun phrases, such as "invalid YAML".
func parseStream(data []byte, flow bool) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, errors.New("invalid YAML")
		}
		objs, err := parseDocument(document, flow)
		if err != nil {
			return nil, err
		}
		if out = append(out, objs...); len(out) > maxNumber {
			return nil, errTooLarge
		}
	}
}

func parseDocument(document []byte, flow bool) ([]*unstructured.Unstructured, error) {
	raw := document
	if braced := bytes.HasPrefix(bytes.TrimSpace(document), []byte("{")); !braced || flow && !json.Valid(document) {
		var err error
		if raw, err = yaml.YAMLToJSON(withoutMarker(document)); err != nil {
			return nil, errors.New("invalid YAML" + LineOf(err, document))
		}
	} else if !json.Valid(document) {
		return nil, errors.New("a document that begins with a brace but is not JSON")
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, errors.New("a document that is not a map")
	}
	if len(fields) == 0 {
		return nil, nil
	}
	decoded, _, err := unstructured.UnstructuredJSONScheme.Decode(raw, nil, nil)
	if runtime.IsMissingKind(err) {
		var origin metav1.PartialObjectMetadata
		_ = json.Unmarshal(raw, &origin) // a document with other metadata has no origin
		return nil, missingKindError{origin.Annotations[originAnnotation]}
	}
	switch obj := decoded.(type) {
	case *unstructured.UnstructuredList:
		out := make([]*unstructured.Unstructured, len(obj.Items))
		for i := range obj.Items {
			out[i] = &obj.Items[i]
		}
		return out, nil
	case *unstructured.Unstructured:
		return []*unstructured.Unstructured{obj}, nil
	}
	return nil, errors.New("a document that is not a Kubernetes object")
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

// originAnnotation is the annotation in which Helm 4 keeps the file of a document during post-rendering. The file
// decides the order of the manifest.
const originAnnotation = "postrenderer.helm.sh/postrender-filename"

// scopes returns a function that tells whether a kind is cluster-scoped, if that is known from the input, the CRDs
// among the objects, or the built-in kinds.
func (b *bundle) scopes(objs []*unstructured.Unstructured) func(schema.GroupKind) (scoped, known bool) {
	stated := map[string]bool{}
	for _, o := range objs {
		if o.GetKind() != crdKind {
			continue
		}
		group, _, _ := unstructured.NestedString(o.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(o.Object, "spec", "names", "kind")
		scope, _, _ := unstructured.NestedString(o.Object, "spec", "scope")
		stated[schema.GroupKind{Group: group, Kind: kind}.String()] = scope == "Cluster"
	}
	maps.Copy(stated, b.in.ClusterScoped)
	return func(gk schema.GroupKind) (scoped, known bool) {
		if scoped, known := stated[gk.String()]; known {
			return scoped, true
		}
		if object.ClusterScoped(gk) {
			return true, true
		}
		return false, len(scheme.Scheme.VersionsForGroupKind(gk)) > 0
	}
}

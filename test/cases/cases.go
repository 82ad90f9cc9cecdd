// SPDX-License-Identifier: Apache-2.0

// Package cases reads case files: captured clusters in readable form, with abbreviations for data that is encoded on a
// cluster. test/testdata/README.md describes the form.
package cases

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

// Capture is a captured cluster: the objects of a case file with its abbreviations expanded.
type Capture struct {
	Documents   []map[string]any
	kinds       map[string]bool // kinds that occur: "apps/v1/Deployment"
	notCaptured []string        // kinds of which only the documents were captured, or nothing
}

// Section returns the text below the heading "## title" of a Markdown file, such as the list of the cases of a
// directory.
func Section(file, title string) (string, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	_, text, found := strings.Cut(string(raw), "\n## "+title+"\n")
	if !found {
		return "", fmt.Errorf("%s has no section %q", file, title)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	return text, nil
}

// Read reads a case file. Its first document, which describes the case, is decoded into head; unknown fields are
// errors.
func Read(path string, head any) (*Capture, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	docs, err := split(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := sigsyaml.UnmarshalStrict(docs[0], head); err != nil {
		return nil, fmt.Errorf("%s: the first document: %w", path, err)
	}
	c, err := expanded(docs[1:])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// expanded is the capture of documents, without the one that describes the case.
func expanded(docs [][]byte) (*Capture, error) {
	c := &Capture{kinds: map[string]bool{}}
	var others []later
	for i, doc := range docs {
		objects, other, err := expand(doc, c.kinds)
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", i+2, err)
		}
		c.Documents = append(c.Documents, objects...)
		if other != nil {
			others = append(others, other)
		}
	}
	for _, write := range others {
		if err := write(c); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Complete adds an empty List of each kind that occurs, except for those that were not captured completely: the
// List proves that there are no more objects.
func (c *Capture) Complete(notCaptured []string) error {
	c.notCaptured = notCaptured
	for _, k := range notCaptured {
		if !c.kinds[k] && !strings.HasPrefix(k, v1alpha1.GroupVersion.Group+"/") {
			return fmt.Errorf("notCaptured names %s, which does not occur", k)
		}
		delete(c.kinds, k)
	}
	for _, k := range slices.Sorted(maps.Keys(c.kinds)) {
		i := strings.LastIndexByte(k, '/')
		c.Documents = append(c.Documents, map[string]any{"apiVersion": k[:i], "kind": k[i+1:] + "List",
			"metadata": map[string]any{}, "items": []any{}})
	}
	return nil
}

// Has reports whether the capture has an object of a kind.
func (c *Capture) Has(kind string) bool {
	return slices.ContainsFunc(c.Documents, func(d map[string]any) bool { return d["kind"] == kind })
}

// Stream returns the documents as a stream of JSON, as a snapshot on standard input.
func (c *Capture) Stream() (io.Reader, error) {
	var b bytes.Buffer
	for _, d := range c.Documents {
		if err := json.NewEncoder(&b).Encode(d); err != nil {
			return nil, err
		}
	}
	return &b, nil
}

func split(raw []byte) ([][]byte, error) {
	var docs [][]byte
	r := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(raw)))
	for {
		doc, err := r.Read()
		if errors.Is(err, io.EOF) {
			return docs, nil
		}
		if err != nil {
			return nil, err
		}
		docs = append(docs, doc)
	}
}

// expand turns one document into objects and records the kinds that occur. A document that changes other documents
// is returned for later.
func expand(doc []byte, kinds map[string]bool) ([]map[string]any, later, error) {
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if err := sigsyaml.Unmarshal(doc, &head); err != nil {
		return nil, nil, err
	}
	if head.APIVersion == "" {
		if write, ok, err := readLater(head.Kind, doc); ok {
			return nil, write, err
		}
	}
	switch {
	case head.APIVersion == "" && head.Kind == "Release":
		var r caseRelease
		if err := sigsyaml.UnmarshalStrict(doc, &r); err != nil {
			return nil, nil, err
		}
		kinds["v1/Secret"] = true
		secret, err := r.secret(kinds)
		return []map[string]any{secret}, nil, err
	case head.APIVersion == "" && head.Kind == "Agent":
		a := caseAgent{Namespace: "cattle-fleet-system", Workload: "Deployment", Secret: true}
		if err := sigsyaml.UnmarshalStrict(doc, &a); err != nil {
			return nil, nil, err
		}
		return a.objects(kinds), nil, nil
	}
	var o map[string]any
	if err := sigsyaml.Unmarshal(doc, &o); err != nil {
		return nil, nil, err
	}
	if head.APIVersion == "" || head.Kind == "" {
		return nil, nil, errors.New("no apiVersion or no kind")
	}
	if !strings.HasSuffix(head.Kind, "List") {
		kinds[head.APIVersion+"/"+head.Kind] = true
	}
	return []map[string]any{o}, nil, captured(o)
}

// captured expands the abbreviations of an object: "ownership" becomes labels and annotations, and the stringData
// of a Secret becomes data.
func captured(o map[string]any) error {
	if m, ok := o["ownership"]; ok {
		delete(o, "ownership")
		var metadata caseOwnership
		raw, err := json.Marshal(m)
		if err != nil {
			return err
		}
		if err := sigsyaml.UnmarshalStrict(raw, &metadata); err != nil {
			return err
		}
		metadata.write(o)
	}
	if plain, ok := o["stringData"].(map[string]any); ok && o["kind"] == "Secret" {
		delete(o, "stringData")
		data := map[string]any{}
		for k, v := range plain {
			data[k] = base64.StdEncoding.EncodeToString([]byte(fmt.Sprint(v)))
		}
		o["data"] = data
	}
	return nil
}

// caseOwnership is the ownership metadata of Fleet and Helm on an object (docs/fleet-behavior.md, 1.3). Without
// Hash, the hash of Set is used.
type caseOwnership struct {
	Set     string `json:"set"`
	Hash    string `json:"hash"`
	Release string `json:"release"` // "namespace/name"
}

func (m caseOwnership) write(o map[string]any) {
	meta := child(o, "metadata")
	if m.Hash == "" && m.Set != "" {
		m.Hash = fleet.Hash(m.Set)
	}
	if m.Hash != "" {
		child(meta, "labels")[fleet.HashLabel] = m.Hash
	}
	if m.Set != "" {
		child(meta, "annotations")[fleet.IDAnnotation] = m.Set
	}
	if ns, name, ok := strings.Cut(m.Release, "/"); ok {
		child(meta, "labels")[fleet.ManagedByLabel] = fleet.ManagedByHelm
		child(meta, "annotations")[fleet.ReleaseNameAnnotation] = name
		child(meta, "annotations")[fleet.ReleaseNamespaceAnnotation] = ns
	}
}

func child(o map[string]any, name string) map[string]any {
	c, ok := o[name].(map[string]any)
	if !ok {
		c = map[string]any{}
		o[name] = c
	}
	return c
}

// caseAgent is an agent on this cluster: the Secret that names the namespace of its BundleDeployments, and its
// workload with its scope.
type caseAgent struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	// Deployments is the namespace of its BundleDeployments.
	Deployments string `json:"deployments"`
	Scope       string `json:"scope"`
	Workload    string `json:"workload"` // Deployment, StatefulSet, or none
	Secret      bool   `json:"secret"`
	Image       string `json:"image"`
}

func (a caseAgent) objects(kinds map[string]bool) []map[string]any {
	var out []map[string]any
	meta := func() map[string]any { return map[string]any{"name": fleet.AgentName, "namespace": a.Namespace} }
	if a.Secret {
		kinds["v1/Secret"] = true
		out = append(out, map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": meta(),
			"data": map[string]any{
				fleet.AgentSecretNamespaceKey: base64.StdEncoding.EncodeToString([]byte(a.Deployments))}})
	}
	if a.Workload != "none" {
		kinds["apps/v1/"+a.Workload] = true
		env := []any{map[string]any{"name": "NAMESPACE"}, map[string]any{"name": fleet.AgentScopeEnv, "value": a.Scope}}
		out = append(out, map[string]any{"apiVersion": "apps/v1", "kind": a.Workload, "metadata": meta(),
			"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{
				map[string]any{"name": "fleet-agent", "image": a.Image, "env": env}}}}}})
	}
	return out
}

// caseHook is a hook as Helm records it.
type caseHook struct {
	Kind           string   `json:"kind"`
	Name           string   `json:"name"`
	Path           string   `json:"path,omitempty"`
	Manifest       string   `json:"manifest,omitempty"`
	Events         []string `json:"events,omitempty"`
	DeletePolicies []string `json:"delete_policies,omitempty"`
}

// caseRelease is a Helm release record in readable form.
type caseRelease struct {
	Kind           string `json:"kind"`
	Namespace      string `json:"namespace"`
	Name           string `json:"name"`
	Revision       int    `json:"revision"`
	Status         string `json:"status"`
	Description    string `json:"description"`
	BundleID       string `json:"bundleID"`
	AgentNamespace string `json:"agentNamespace"`
	KeepResources  bool   `json:"keepResources"`
	ApplyMethod    string `json:"applyMethod"`
	// Values were given to Helm.
	Values map[string]any `json:"values"`
	// Deployed is when the revision was deployed (RFC 3339).
	Deployed string     `json:"deployed"`
	Hooks    []caseHook `json:"hooks"`
	// Set, if not empty, is written to every object of the manifest, as Fleet's post-renderer does.
	Set      string `json:"set"`
	Manifest string `json:"manifest"`
	// Broken states that the manifest is not YAML and is recorded unchanged.
	Broken bool `json:"broken"`
	// Lost states that the record has no manifest. Templates and Files are names of files in its chart.
	Lost      bool     `json:"lost"`
	Templates []string `json:"templates"`
	Files     []string `json:"files"`
	// Encoding is gzip (the default), plain, or one of the ways in which a record can be damaged: cut, text, json.
	Encoding string `json:"encoding"`
}

// secret encodes the record as Helm does: JSON, gzip, base64, and base64 again as the data of a Secret
// (docs/fleet-behavior.md, 2.8).
func (r caseRelease) secret(kinds map[string]bool) (map[string]any, error) {
	manifest, err := r.recordedManifest(kinds)
	if err != nil {
		return nil, err
	}
	annotations := map[string]string{}
	for k, v := range map[string]string{fleet.BundleIDAnnotation: r.BundleID,
		fleet.AgentNamespaceAnnotation: r.AgentNamespace} {
		if v != "" {
			annotations[k] = v
		}
	}
	annotations[fleet.KeepResourcesAnnotation] = fmt.Sprint(r.KeepResources)
	if r.Status == "" {
		r.Status = release.StatusDeployed
	}
	document := map[string]any{
		"name": r.Name, "namespace": r.Namespace, "version": r.Revision, "info": map[string]any{"status": r.Status,
			"last_deployed": r.Deployed, "description": r.Description},
		"chart": map[string]any{"metadata": map[string]any{"name": r.Name, "annotations": annotations},
			"templates": chartFiles(r.Templates), "files": chartFiles(r.Files)},
		"manifest": manifest, "hooks": r.Hooks, "apply_method": r.ApplyMethod, "config": r.Values,
	}
	if r.Lost {
		delete(document, "manifest") // Helm omits an empty manifest
	}
	doc, err := json.Marshal(document)
	if err != nil {
		return nil, err
	}
	name := release.Name{Namespace: r.Namespace, Name: r.Name, Revision: r.Revision}
	return map[string]any{"apiVersion": "v1", "kind": "Secret", "type": release.SecretType,
		"metadata": map[string]any{"name": name.SecretName(), "namespace": r.Namespace,
			"labels": map[string]any{"owner": "helm", "name": r.Name, "status": r.Status,
				"version": fmt.Sprint(r.Revision)}},
		"data": map[string]any{release.DataKey: base64.StdEncoding.EncodeToString(r.encoded(doc))}}, nil
}

// chartFiles are empty files of a chart.
func chartFiles(names []string) []map[string]any {
	out := []map[string]any{}
	for _, name := range names {
		out = append(out, map[string]any{"name": name, "data": ""})
	}
	return out
}

func (r caseRelease) encoded(doc []byte) []byte {
	packed := doc
	if r.Encoding != "plain" {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		if r.Encoding == "json" {
			doc = doc[:len(doc)/2]
		}
		_, writeErr := w.Write(doc)
		if err := errors.Join(writeErr, w.Close()); err != nil {
			return nil // writing to a buffer does not fail
		}
		packed = b.Bytes()
	}
	out := []byte(base64.StdEncoding.EncodeToString(packed))
	switch r.Encoding {
	case "cut":
		return out[:len(out)/2]
	case "text":
		return []byte("not a release record")
	}
	return out
}

// recordedManifest returns the manifest as the record contains it, and records the kinds that occur in it.
func (r caseRelease) recordedManifest(kinds map[string]bool) (string, error) {
	if r.Broken {
		return r.Manifest, nil
	}
	var out strings.Builder
	for doc := range strings.SplitSeq("\n"+r.Manifest, "\n---") {
		var o map[string]any
		if err := sigsyaml.Unmarshal([]byte(doc), &o); err != nil {
			return "", err
		}
		if o["apiVersion"] == nil || r.Set == "" {
			out.WriteString("---" + doc + "\n")
		}
		if o["apiVersion"] == nil {
			continue
		}
		objects := []any{o}
		if items, ok := o["items"].([]any); ok {
			objects = items
		}
		for _, v := range objects {
			item, _ := v.(map[string]any)
			kinds[fmt.Sprint(item["apiVersion"], "/", item["kind"])] = true
			if r.Set != "" {
				caseOwnership{Set: r.Set}.write(item)
			}
		}
		if r.Set == "" {
			continue
		}
		b, err := sigsyaml.Marshal(o)
		if err != nil {
			return "", err
		}
		out.WriteString("---\n" + string(b))
	}
	return out.String(), nil
}

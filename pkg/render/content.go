// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	helm "helm.sh/helm/v4/pkg/release/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

const (
	// maxBytes limits the decoded size, in bytes, of all files of a bundle together, and the size of a rendered chart.
	// A Bundle has at most about 1.5 MiB encoded, the limit of etcd.
	maxBytes = 64 << 20
	// maxNumber limits the files of a bundle and its rendered objects.
	maxNumber = 50_000
)

// errTooLarge is returned for contents that exceed a limit.
var errTooLarge = errors.New("it has more than 64 MiB decoded, or more than 50,000 files or objects")

// DecodeContent reads the manifest document of a Content, which is gzip of JSON, and verifies its SHA-256 if the
// Content states one. Source: docs/fleet-behavior.md, 2.2.
func DecodeContent(c *v1alpha1.Content) ([]v1alpha1.BundleResource, error) {
	document, err := gunzip(c.Content, maxBytes)
	if err != nil {
		return nil, fmt.Errorf("decoding content %s: %w", c.Name, err)
	}
	// The checksum includes bytes after the JSON.
	if sum := fmt.Sprintf("%x", sha256.Sum256(document)); c.SHA256Sum != "" && sum != c.SHA256Sum {
		return nil, fmt.Errorf("decoding content %s: its document does not match its sha256sum", c.Name)
	}
	var m manifest
	if err := json.NewDecoder(bytes.NewReader(document)).Decode(&m); err != nil {
		return nil, fmt.Errorf("decoding content %s: its document is not a manifest document", c.Name)
	}
	if len(m.Resources) > maxNumber {
		return nil, fmt.Errorf("decoding content %s: %w", c.Name, errTooLarge)
	}
	return m.Resources, nil
}

// TooLarge reports whether DecodeContent failed because of its own limits: then the Content is not known to be damaged.
func TooLarge(err error) bool { return errors.Is(err, errTooLarge) }

// manifest is the document of a Content.
type manifest struct {
	Resources []v1alpha1.BundleResource `json:"resources,omitempty"`
}

// ManifestID returns the name of the Content with these resources. Their order matters. Source: docs/fleet-behavior.md,
// 2.1.
func ManifestID(resources []v1alpha1.BundleResource) (string, error) {
	h := sha256.New()
	if err := json.NewEncoder(h).Encode(manifest{resources}); err != nil {
		return "", fmt.Errorf("encoding manifest document: %w", err)
	}
	const maxName = 63 // of a Kubernetes object: the last digits are left out
	return fmt.Sprintf("s-%x", h.Sum(nil))[:maxName], nil
}

// decodeResource returns the decoded bytes of a file. Source: docs/fleet-behavior.md, 2.1.
func decodeResource(r v1alpha1.BundleResource, limit int) ([]byte, error) {
	data, encoding := []byte(r.Content), r.Encoding
	if first, rest, _ := strings.Cut(encoding, "+"); first == "base64" {
		var err error
		if data, err = base64.StdEncoding.DecodeString(r.Content); err != nil {
			return nil, fmt.Errorf("decoding %s: its content is not valid base64", r.Name)
		}
		encoding = rest
	}
	if encoding == "gz" {
		var err error
		if data, err = gunzip(data, limit); err != nil {
			return nil, fmt.Errorf("decoding %s: %w", r.Name, err)
		}
	}
	if len(data) > limit {
		return nil, fmt.Errorf("decoding %s: %w", r.Name, errTooLarge)
	}
	return data, nil
}

// decodeAll decodes all files of a bundle. They share one limit.
func decodeAll(encoded []v1alpha1.BundleResource) ([]resource, error) {
	if len(encoded) > maxNumber {
		return nil, errTooLarge
	}
	out := make([]resource, len(encoded))
	left := maxBytes
	for i, r := range encoded {
		data, err := decodeResource(r, left)
		if err != nil {
			return nil, err
		}
		out[i] = resource{r, data}
		left -= len(data)
	}
	return out, nil
}

func gunzip(data []byte, limit int) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, errors.New("it is not gzip")
	}
	out, err := io.ReadAll(io.LimitReader(z, int64(limit)+1))
	if err != nil {
		return nil, errors.New("its gzip is damaged or truncated")
	}
	if len(out) > limit {
		return nil, errTooLarge
	}
	return out, nil
}

// resource is a file of a bundle, encoded and decoded.
type resource struct {
	v1alpha1.BundleResource
	data []byte
}

// ValuesRef names a key of a ConfigMap or Secret with values, on the cluster of the deployment.
type ValuesRef struct {
	// Kind is ConfigMap or Secret.
	Kind, Namespace, Name, Key string
}

func (r ValuesRef) String() string {
	return fmt.Sprintf("key %s of %s %s/%s", r.Key, r.Kind, r.Namespace, r.Name)
}

// ValuesRefs returns the keys that the agent merges over the values, in this order. Source: docs/fleet-behavior.md,
// 2.5.
func ValuesRefs(o *v1alpha1.Options) []ValuesRef {
	if o.Helm == nil {
		return nil
	}
	var refs []ValuesRef
	add := func(kind string, k *v1alpha1.ValuesKey) {
		if k == nil {
			return
		}
		r := ValuesRef{Kind: kind, Namespace: k.Namespace, Name: k.Name, Key: cmp.Or(k.Key, "values.yaml")}
		if r.Namespace == "" || o.Copies(kind, k.Name) {
			r.Namespace = o.ReleaseNamespace()
		}
		refs = append(refs, r)
	}
	for _, v := range o.Helm.ValuesFrom {
		add("ConfigMap", v.ConfigMapKeyRef)
		add("Secret", v.SecretKeyRef)
	}
	return refs
}

// HasValues reports whether the bundle states values, or may state some: those of valuesFrom, and those in a Secret
// that was not read.
func (in *Input) HasValues() bool {
	raw := in.Values
	if raw == nil && in.Options.Helm != nil {
		raw = in.Options.Helm.Values
	}
	unread := in.Values == nil && in.ValuesHash != ""
	if unread || len(ValuesRefs(&in.Options)) > 0 {
		return true
	}
	var values map[string]any
	return json.Unmarshal(raw, &values) == nil && len(values) > 0
}

// values returns the merged values of the release. The result is a copy, because Helm changes it. It has the types of
// JSON, as in the agent: every number is a float64, which templates print in another format than an integer.
func (b *bundle) values() (map[string]any, error) {
	raw := b.in.Values
	if raw == nil {
		raw = b.in.Options.Helm.Values
	}
	values := map[string]any{}
	// the Secret of a bundle without values has an empty text
	if err := json.Unmarshal(raw, &values); err != nil && len(raw) > 0 {
		return nil, b.in.fail("", "its values are not a map")
	}
	if values == nil { // JSON null
		values = map[string]any{}
	}
	for i, r := range ValuesRefs(&b.in.Options) {
		if i >= len(b.in.ValuesFrom) || b.in.ValuesFrom[i] == nil {
			b.addGap("values were not read: " + r.String())
			continue
		}
		more, err := readValues(b.in.ValuesFrom[i])
		if err != nil {
			return nil, b.in.fail("", r.String()+" "+err.Error())
		}
		values = loader.MergeMaps(values, more)
	}
	if previous := b.in.PreviousValues; len(values) == 0 && len(previous) > 0 {
		if json.Unmarshal(previous, &values) != nil {
			return nil, b.in.fail("", "the values of its release are not a map")
		}
		b.result.Notes = append(b.result.Notes,
			"it has no Helm values: an upgrade keeps those of the deployed revision")
	}
	return values, nil
}

// readValues reads the first YAML document of a text, as the agent does. Errors are predicates without a subject, and
// never quote the text.
func readValues(text []byte) (map[string]any, error) {
	var m map[string]any
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, errors.New("is empty")
	}
	if err := utilyaml.NewYAMLToJSONDecoder(bytes.NewReader(text)).Decode(&m); err != nil {
		return nil, fmt.Errorf("is not a YAML map%s", LineOf(err, text))
	}
	return m, nil
}

// bundle is a bundle during one rendering.
type bundle struct {
	in        Input
	pass      int
	result    *Result
	resources []resource
	style     style
	// chartFiles are the files of the chart for Helm.
	chartFiles []file
	chart      *chart.Chart
	// gaps were found during rendering. They are unsorted and may have duplicates.
	gaps []string
	// manifest and hooks are what Helm stores in the release record.
	manifest string
	hooks    []*helm.Hook
	// cluster answers lookups; nil if there is none. asked is true if a template looked something up. named are those
	// without an answer that a gap names.
	cluster Cluster
	asked   bool
	named   map[Lookup]bool
	// learned are the values of Secrets that were looked up.
	learned []string
}

// file is a file of a chart.
type file struct {
	name string
	data []byte
}

func (in Input) open(pass int) (*bundle, error) {
	in.Options.Helm = cmp.Or(in.Options.Helm, &v1alpha1.HelmOptions{})
	in.Options.Kustomize = cmp.Or(in.Options.Kustomize, &v1alpha1.KustomizeOptions{})
	in.Revision = max(in.Revision, 1)
	resources, err := decodeAll(in.Resources)
	if err != nil {
		return nil, in.fail("", err.Error())
	}
	b := &bundle{in: in, pass: pass, resources: resources, style: detectStyle(resources, &in.Options), result: &Result{
		ReleaseName:      releaseName(in.Name, &in.Options),
		ReleaseNamespace: in.Options.ReleaseNamespace(),
		Gaps:             slices.Clone(in.Gaps),
		Notes:            slices.Clone(in.Notes),
	}}
	if in.ValuesHash != "" && in.Values == nil {
		b.result.Gaps = append(b.result.Gaps, "the Secret with the values was not read")
	}
	return b, nil
}

// chartMissing reports whether the options name a chart that is not among the contents, and adds the gap. The agent
// would deploy the other files as manifests, which is never intended.
func (b *bundle) chartMissing() bool {
	helm := b.in.Options.Helm
	names := b.in.HelmOp || helm.Chart != "" || helm.Repo != ""
	if b.style.chart != "" || !names {
		return false
	}
	gap := "the chart"
	if helm.Chart != "" {
		gap = "chart " + escape.WithoutCredentials(helm.Chart)
	}
	if helm.Repo != "" {
		gap += " of " + escape.WithoutCredentials(helm.Repo)
	}
	if helm.Version != "" {
		gap += ", version " + helm.Version + ","
	}
	if b.in.HelmOp {
		gap += " is downloaded by the agent and"
	}
	b.result.Gaps = append(b.result.Gaps, gap+" is not among the contents")
	return true
}

// addGap adds a gap that was found during rendering.
func (b *bundle) addGap(gap string) { b.gaps = append(b.gaps, gap) }

// note records what the agent ignores. The notes of the second rendering are the same, and not used.
func (b *bundle) note(s string) { b.result.Notes = append(b.result.Notes, s) }

// releaseName returns the name of the release of a BundleDeployment. Source: docs/fleet-behavior.md, 1.4.
func releaseName(bundleDeployment string, o *v1alpha1.Options) string {
	return cmp.Or(o.Helm.ReleaseName, fleet.HelmReleaseName(bundleDeployment))
}

// Release returns the release that the rollout installs or upgrades.
func (in *Input) Release() (namespace, name string) {
	o := in.Options
	o.Helm = cmp.Or(o.Helm, &v1alpha1.HelmOptions{})
	return o.ReleaseNamespace(), releaseName(in.Name, &o)
}

const (
	chartFile         = "Chart.yaml"
	kustomizationFile = "kustomization.yaml"
	chartDir          = "chart/"     // the root of the chart for Helm
	rawDir            = "raw-yaml/"  // of a chart: manifests that are not templates
	templateDir       = "templates/" // also of a bundle without a chart
)

// style says how Fleet interprets the contents: the paths of Chart.yaml and kustomization.yaml among the contents,
// empty if they are not found. A bundle without both has plain manifests. With both, the output of Helm is input of
// kustomize.
type style struct{ chart, kustomization string }

func (s style) plain() bool { return s == style{} }

// detectStyle searches for the chart and the kustomization of the options. Source: docs/fleet-behavior.md, 2.6.
func detectStyle(resources []resource, o *v1alpha1.Options) style {
	local := below(cmp.Or(o.Helm.Chart, o.Helm.Repo), chartFile)
	// Fleet stores a downloaded chart in this directory.
	embedded := fmt.Sprintf(".chart/%x", sha256.Sum256([]byte(o.Helm.Chart+":"+o.Helm.Repo+":"+o.Helm.Version)))
	kustomization := below(o.Kustomize.Dir, kustomizationFile)
	var s style
	for _, r := range resources {
		inDir, _ := path.Match(path.Join(embedded, "*", chartFile), r.Name)
		switch {
		case r.Name == local, r.Name == path.Join(embedded, chartFile), inDir:
			s.chart = r.Name
		case r.Name == kustomization:
			s.kustomization = r.Name
		}
	}
	return s
}

func below(dir, file string) string { return strings.TrimPrefix(path.Join(dir, file), "/") }

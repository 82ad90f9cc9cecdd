// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"github.com/tidwall/pretty"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	format "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// releaseRecord returns the captured part of a Helm release record, given as the value of its Secret: the name and the
// state of the release, Fleet's annotations of its chart, and the objects of its manifest as the fields of them are
// captured. Of an earlier revision, it has the metadata of the objects.
func (t *taking) releaseRecord(name release.Name, masks *secret.ObjectMask, value string) string {
	if unpacked := release.UnpackedSize([]byte(value)); unpacked > release.MostUnpacked(len(value)) {
		return t.unreadable(name, source.Unreadable{Damaged: release.ErrUnpacked.Error(),
			Limit: release.ErrUnpacked.Error()})
	}
	rec, err := release.Decode([]byte(value))
	if err != nil {
		return t.unreadable(name, source.Unreadable{Damaged: err.Error(), Limit: release.BoundOf(err)})
	}
	var objects []release.Object
	if rec.Manifest != "" && rec.BundleID != "" { // of a release that is not Fleet's, only the identity is read
		objects, err = rec.Objects()
		if err != nil && !errors.Is(err, release.ErrNoManifest) {
			t.unreadable(name, source.Unreadable{Manifest: err.Error(), Limit: release.BoundOf(err)})
		}
	}
	out := capturedRecord(rec, masks)
	if t.options.Bundles {
		if config, err := release.Values([]byte(value)); err == nil {
			out.Config = config
		}
	}
	whole := t.current(rec)
	out.Manifest = manifest(objects, func(o release.Object) []byte { return t.recorded(rec, o, whole) })
	text, err := json.Marshal(out)
	if err != nil {
		return t.unreadable(name, source.Unreadable{Damaged: "encoding the captured record: " + err.Error()})
	}
	return packRecord(text)
}

// record is a release record in the form of Helm.
type record struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	Version   int    `json:"version"`
	Info      struct {
		Status       string `json:"status"`
		LastDeployed string `json:"last_deployed,omitempty"`
		Description  string `json:"description,omitempty"`
	} `json:"info"`
	Chart struct {
		Metadata struct {
			Annotations map[string]string `json:"annotations,omitempty"`
		} `json:"metadata"`
		Templates []file `json:"templates,omitempty"`
		Files     []file `json:"files,omitempty"`
	} `json:"chart"`
	Config      json.RawMessage `json:"config,omitempty"`
	Manifest    string          `json:"manifest"`
	ApplyMethod string          `json:"apply_method,omitempty"`
	Hooks       []hook          `json:"hooks,omitempty"`
}

type file struct {
	Name string `json:"name"`
	Data string `json:"data"`
}

type hook struct {
	Kind           string   `json:"kind"`
	Name           string   `json:"name"`
	Events         []string `json:"events,omitempty"`
	DeletePolicies []string `json:"delete_policies,omitempty"`
}

// capturedRecord returns a record without its manifest. What an audit concludes from files of the chart is stated with
// files that have no content.
func capturedRecord(rec *release.Record, masks *secret.ObjectMask) record {
	out := record{Name: rec.Name.Name, Namespace: rec.Namespace, Version: rec.Revision, ApplyMethod: rec.ApplyMethod}
	out.Info.Status, out.Info.Description = rec.Status, masks.Text(rec.Description)
	if !rec.Deployed.IsZero() {
		out.Info.LastDeployed = rec.Deployed.Format("2006-01-02T15:04:05.999999999Z07:00")
	}
	out.Chart.Metadata.Annotations = map[string]string{fleet.BundleIDAnnotation: rec.BundleID,
		fleet.AgentNamespaceAnnotation: rec.AgentNamespace, fleet.ServiceAccountAnnotation: rec.ServiceAccount,
		fleet.KeepResourcesAnnotation: strconv.FormatBool(rec.KeepResources), fleet.CommitLabel: rec.Commit}
	maps.DeleteFunc(out.Chart.Metadata.Annotations, func(_, v string) bool { return v == "" })
	if rec.ManifestLost {
		out.Chart.Templates = []file{{Name: "templates/not-captured.yaml"}}
	}
	for range rec.CRDFiles {
		out.Chart.Files = append(out.Chart.Files, file{Name: "crds/not-captured.yaml"})
	}
	if rec.HasValues {
		out.Config = withoutValues
	}
	for _, h := range rec.Hooks {
		out.Hooks = append(out.Hooks, hook{Kind: h.Kind, Name: h.Name,
			Events: h.Events.Names(),
			DeletePolicies: names(map[string]bool{"hook-succeeded": h.DeletePolicies.Succeeded,
				"hook-failed": h.DeletePolicies.Failed})})
	}
	return out
}

// names returns the names that are set.
func names(set map[string]bool) []string {
	maps.DeleteFunc(set, func(_ string, applies bool) bool { return !applies })
	return slices.Sorted(maps.Keys(set))
}

// withoutValues stands for Helm values of which only the presence is read.
var withoutValues = json.RawMessage(`{"captured":false}`)

// current reports whether a revision is one that an audit compares or that Helm would uninstall: it is deployed, it is
// the last one, or a bundle deployment names it.
func (t *taking) current(rec *release.Record) bool {
	if rec.Status == release.StatusDeployed || t.named[rec.Name] {
		return true
	}
	for _, c := range t.found.Desired.Clusters {
		if last := c.State.Latest[rec.Release()]; last != nil && last.Revision == rec.Revision {
			return true
		}
	}
	return false
}

// recorded returns the captured JSON of an object of a manifest; nil if it is not a JSON object.
func (t *taking) recorded(rec *release.Record, o release.Object, whole bool) []byte {
	content, ok := secret.DecodeJSON(o.Raw)
	if !ok {
		return nil
	}
	key := t.keyOf(o.Ref, rec.Namespace)
	if !whole {
		content = t.fields.identity(content, key)
	}
	t.masker.Object(key).Mask(content)
	out, err := secret.EncodeJSON(content)
	if err != nil {
		return nil
	}
	return t.hideIDs(out)
}

// keyOf returns the identity of an object of a manifest: an object without a namespace is in that of the release.
func (t *taking) keyOf(ref object.Ref, namespace string) object.Key {
	key, gvk := ref.Key(), ref.GroupVersionKind()
	namespaced := !object.ClusterScoped(gvk.GroupKind())
	if read := t.found.Desired.Clusters; len(read) > 0 {
		namespaced = read[0].State.Namespaced(gvk)
	}
	switch {
	case !namespaced:
		key.Namespace = ""
	case key.Namespace == "":
		key.Namespace = namespace
	}
	return key
}

// manifest returns objects as documents in JSON. Each object stays in the document with its number, because commands
// name it.
func manifest(objects []release.Object, captured func(release.Object) []byte) string {
	var out bytes.Buffer
	separators := 0
	for len(objects) > 0 {
		number, documents := objects[0].Document, [][]byte(nil)
		for len(objects) > 0 && objects[0].Document == number {
			if raw := captured(objects[0]); raw != nil {
				documents = append(documents, raw)
			}
			objects = objects[1:]
		}
		for ; separators < number; separators++ {
			out.WriteString("---\n")
		}
		var document []byte
		switch len(documents) {
		case 0:
			continue
		case 1:
			document = documents[0]
		default:
			document = slices.Concat([]byte(`{"apiVersion":"v1","kind":"List","items":[`),
				bytes.Join(documents, []byte(",")), []byte("]}"))
		}
		out.Write(bytes.TrimSpace(pretty.PrettyOptions(document, &pretty.Options{Indent: " "})))
		out.WriteByte('\n')
	}
	return out.String()
}

// maxRatio is the ratio of the size of a record to its stored size up to which an audit reads any number of records.
const maxRatio = 20

// packRecord compresses a record. Without the contents of the chart, it can be much smaller than the record on the
// cluster.
func packRecord(text []byte) string {
	out := base64.StdEncoding.EncodeToString(pack(text, gzip.DefaultCompression))
	if len(text) > maxRatio*len(out) {
		out = base64.StdEncoding.EncodeToString(pack(text, gzip.HuffmanOnly))
	}
	return out
}

func pack(data []byte, level int) []byte {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, level)
	if err != nil {
		return nil // the levels are constants
	}
	_, _ = z.Write(data) // a buffer returns no error
	_ = z.Close()
	return out.Bytes()
}

// unreadable records why a release record could not be read. Nothing of it is captured.
func (t *taking) unreadable(name release.Name, why source.Unreadable) string {
	put(&t.results.Records, name.Namespace+"/"+name.SecretName(), why)
	return notCaptured
}

// notCaptured is the value of a release record that could not be read.
const notCaptured = "it could not be read"

// hidden replaces plain hashes in a text.
func (t *taking) hidden(text string) string {
	if t.options.Bundles {
		return text
	}
	return contentID.ReplaceAllStringFunc(text, func(id string) string {
		parts := contentID.FindStringSubmatch(id)
		out := "s-" + t.masker.Sum("content", parts[1])[:len(parts[1])]
		if parts[2] != "" {
			out += ":" + t.masker.Sum("options", parts[2])
		}
		return out
	})
}

// hiddenSum replaces the checksum of a Content, of which its name is made.
func (t *taking) hiddenSum(sum string) string {
	const inName = 61
	if t.options.Bundles || len(sum) < inName {
		return sum
	}
	return t.masker.Sum("content", sum[:inName])
}

// hiddenValues replaces the hash of the values in a Secret.
func (t *taking) hiddenValues(key state.ValuesKey, hash string) string {
	if hash == "" || t.options.Bundles {
		return hash
	}
	return t.masker.Sum("values "+source.ValuesName(key.Type, key.Namespace, key.Name), hash)
}

// hideIDs replaces plain hashes in JSON by keyed ones. Equal hashes stay equal, because objects refer to them.
func (t *taking) hideIDs(raw []byte) []byte {
	if t.options.Bundles { // who has the data needs no guess, and the names must be those of the data
		return raw
	}
	return contentID.ReplaceAllFunc(raw, func(id []byte) []byte { return []byte(t.hidden(string(id))) })
}

// contentID matches the name of a Content, and the hash of the options of a deployment after it. Both are plain hashes
// of data that may be secret: who guesses the data could check the guess.
var contentID = regexp.MustCompile(`\bs-([0-9a-f]{61})(:[0-9a-f]{64})?\b`)

func put[V any](into *map[string]V, key string, v V) {
	if *into == nil {
		*into = map[string]V{}
	}
	(*into)[key] = v
}

// taking is one call of Take.
type taking struct {
	source.Source
	options     Options
	masker      *secret.Masker
	fields      fields
	description source.Description
	kinds       *source.Kinds
	found       *audit.Audit
	named       map[release.Name]bool // the revisions that bundle deployments name
	valuesFrom  map[string]bool       // the Secrets ("namespace/name") that valuesFrom of bundles names
	plan        []capture
	learned     source.Coverage // of the Secrets whose values are known
	results     source.Unmasked
	masked      int // objects with values of Secrets
	manifest    format.Manifest
	progress    collect.Meter
}

// Options of a snapshot.
type Options struct {
	// Namespace is a workspace that is read too if reading all namespaces is forbidden.
	Namespace string
	// Bundles is true if the payloads of bundles are captured too: their files and Helm values.
	Bundles bool
	// SameMasks is true if equal values have equal masks in all objects.
	SameMasks bool
	// Version is the version of the program.
	Version string
	// Renderer and Pause are those of the audit that shows what must be read.
	Renderer collect.Renderer
	Pause    func(context.Context) error
	// Progress receives the progress; nil if it is not needed.
	Progress func(collect.Progress)
}

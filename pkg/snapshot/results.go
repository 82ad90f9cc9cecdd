// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/values"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	format "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// record records what an audit concludes from the payload of an object, and replaces the plain hashes that it states.
// partial is true if the payload was not captured before.
func (t *taking) record(key object.Key, content map[string]any, partial bool) {
	if key.Group != fleetGroup {
		return
	}
	spec, _ := content["spec"].(map[string]any)
	status, _ := content["status"].(map[string]any)
	hide := func(object map[string]any, name string, hide func(string) string) {
		if text, ok := object[name].(string); ok {
			object[name] = hide(text)
		}
	}
	hideValues := func(ofType string) func(string) string {
		owner := state.ValuesKey{Type: ofType, Namespace: key.Namespace, Name: key.Name}
		return func(hash string) string { return t.hiddenValues(owner, hash) }
	}
	switch key.Kind {
	case state.Bundle:
		t.recordBundle(key, content)
		hide(status, "resourcesSha256Sum", t.hiddenSum)
		hide(spec, "valuesHash", hideValues(values.BundleType))
	case state.BundleDeployment:
		hide(spec, "valuesHash", hideValues(values.DeploymentType))
	case state.Content:
		if !partial {
			t.recordContent(key.Name, content)
		}
		hide(content, "sha256sum", t.hiddenSum)
	}
}

// recordBundle records the size of a Bundle as compact JSON, and the Content that its files make.
func (t *taking) recordBundle(key object.Key, content map[string]any) {
	raw, err := secret.EncodeJSON(content)
	result := source.BundleResult{Size: len(raw)}
	var b v1alpha1.BundleContents
	if err == nil && json.Unmarshal(raw, &b) == nil && len(b.Spec.Resources) > 0 {
		if id, err := render.ManifestID(b.Spec.Resources); err == nil {
			result.Content = t.hidden(id)
		}
	}
	put(&t.results.Bundles, key.Namespace+"/"+key.Name, result)
}

// recordContent records why a Content could not be read.
func (t *taking) recordContent(name string, content map[string]any) {
	var c v1alpha1.Content
	raw, err := secret.EncodeJSON(content)
	if err == nil {
		err = object.Into(raw, &c)
	}
	if err == nil {
		_, err = render.DecodeContent(&c)
	}
	switch {
	case err == nil:
	case render.TooLarge(err):
		put(&t.results.Contents, t.hidden(name), source.Unreadable{Limit: t.hidden(err.Error())})
	default:
		put(&t.results.Contents, t.hidden(name), source.Unreadable{Damaged: t.hidden(err.Error())})
	}
}

// keepResults adds the results of the audit, and those that an earlier snapshot states.
func (t *taking) keepResults(f *state.Fleet) {
	u := &t.results
	if before := t.description.Unmasked; before != nil {
		for name, why := range before.Contents {
			put(&u.Contents, t.hidden(name), source.Unreadable{Damaged: t.hidden(why.Damaged),
				Limit: t.hidden(why.Limit)})
		}
		for name, why := range before.Records { // the later ones are those of masked data
			put(&u.Records, name, why)
		}
		for name, result := range before.Bundles {
			result.Content = t.hidden(result.Content)
			put(&u.Bundles, name, result)
		}
	}
	for _, b := range f.Bundles {
		key := b.Namespace + "/" + b.Name
		if result, ok := u.Bundles[key]; ok {
			result.Size = b.Size
			u.Bundles[key] = result
		}
	}
	t.keepCopies()
	t.keepValues(f)
}

// keepValues adds the results of the Secrets with Helm values.
func (t *taking) keepValues(f *state.Fleet) {
	if f.Values == nil {
		return
	}
	hashes := map[string]bool{} // those that the owners state
	for _, bd := range f.BundleDeployments {
		hashes[bd.Spec.ValuesHash] = true
	}
	for _, b := range f.Bundles {
		hashes[b.Spec.ValuesHash] = true
	}
	for k, s := range f.Values.Secrets {
		if !s.HashKnown {
			continue
		}
		result := source.ValuesResult{Emptied: s.Emptied}
		if hashes[s.Hash] {
			result.Hash = t.hiddenValues(k, s.Hash)
		}
		put(&t.results.ValuesSecrets, source.ValuesName(k.Type, k.Namespace, k.Name), result)
	}
}

// keepCopies records which copies of downstreamResources are equal to their originals.
func (t *taking) keepCopies() {
	for i := range t.found.Copies {
		c := &t.found.Copies[i]
		if !c.Read {
			continue
		}
		original := source.CopyName(c.Original)
		put(&t.results.Copies, original, t.masker.Sum("copy", original))
		switch copied := source.CopyName(c.Copied); {
		case c.Exists && c.Equal:
			put(&t.results.Copies, copied, t.masker.Sum("copy", original))
		case c.Exists:
			put(&t.results.Copies, copied, t.masker.Sum("copy", copied))
		}
	}
}

// renderings writes the results of the bundles that were rendered, each as a file. Its name has no extension, so that
// kubectl does not read it.
func (t *taking) renderings(a *archive) error {
	for _, d := range t.found.Desired.Deployments {
		x := &d.Rendering
		if x.Deployment.Name == "" || d.FromFiles() {
			continue
		}
		out := format.Rendering{APIVersion: format.ManifestAPIVersion, Kind: format.RenderingKind,
			Rendering: t.rendering(d)}
		out.Metadata.Namespace, out.Metadata.Name = d.Namespace, d.Name
		text, err := json.MarshalIndent(out, "", "  ")
		if err != nil {
			return fmt.Errorf("encoding the rendered bundle %s: %w", d.Key(), err)
		}
		if err := a.add(strings.TrimSuffix(fileName("renderings", d.Namespace, d.Name), ".json"),
			append(t.hideIDs(text), '\n')); err != nil {
			return err
		}
	}
	return nil
}

// rendering returns the result of rendering a bundle, with the values of Secrets masked as in live objects.
func (t *taking) rendering(d *desired.BundleDeployment) source.Rendering {
	x := &d.Rendering
	masks := t.masker.Object(object.Key{Group: fleetGroup, Kind: state.BundleDeployment, Namespace: d.Namespace,
		Name: d.Name})
	texts := func(in []string) []string {
		var out []string
		for _, text := range in {
			out = append(out, masks.Text(text))
		}
		return out
	}
	out := source.Rendering{ReleaseName: x.ReleaseName, ReleaseNamespace: x.ReleaseNamespace, RecordSize: x.RecordSize,
		Refused: masks.Text(x.Refused), OverLimit: x.OverLimit, ContentDamage: x.ContentDamage,
		ClusterScoped: x.ClusterScoped, Unresolved: texts(x.Unresolved), ValuesMissing: x.ValuesMissing,
		Notes: texts(x.Notes)}
	for _, o := range x.Objects {
		if raw := t.recorded(&release.Record{Name: release.Name{Namespace: x.ReleaseNamespace}}, o, true); raw != nil {
			out.Objects = append(out.Objects, source.RenderedObject{Ref: o.Ref, Object: raw,
				Unstable: x.Unstable[o.Ref]})
		}
	}
	return out
}

// root is the folder in the archive, so that it can be unpacked anywhere.
const root = "fleetdoctor-snapshot"

// manifestName is the name of the manifest. It has no extension, so that `kubectl get -f` does not read it.
const manifestName = "MANIFEST"

// archive writes a compressed tar archive, one file after the other.
type archive struct {
	packed *gzip.Writer
	tar    *tar.Writer
	time   time.Time // of all files
}

func newArchive(out io.Writer, when time.Time) *archive {
	packed := gzip.NewWriter(out)
	return &archive{packed: packed, tar: tar.NewWriter(packed), time: when.Truncate(time.Second)}
}

// add writes a file.
func (a *archive) add(name string, text []byte) error {
	header := &tar.Header{Name: path.Join(root, name), Mode: 0o600, Size: int64(len(text)), ModTime: a.time,
		Typeflag: tar.TypeReg}
	if err := a.tar.WriteHeader(header); err != nil {
		return written(err)
	}
	_, err := a.tar.Write(text)
	return written(err)
}

func written(err error) error {
	if err != nil {
		return fmt.Errorf("writing the archive: %w", err)
	}
	return nil
}

// close completes the archive.
func (a *archive) close() error {
	if err := a.tar.Close(); err != nil {
		return written(err)
	}
	return written(a.packed.Close())
}

// fileName is the path of the file of an object. Another snapshot or a server may have any text as a resource.
func fileName(resource, namespace, name string) string {
	if namespace == "" {
		return path.Join(escaped(resource), escaped(name)+".json")
	}
	return path.Join(escaped(resource), escaped(namespace), escaped(name)+".json")
}

// escaped makes a name valid for a file on every system. Other tools, and the reader of snapshots, take a name with the
// word "selector" for a list of selected objects.
func escaped(name string) string {
	name = unsafe.ReplaceAllStringFunc(name, func(s string) string {
		out := ""
		for _, c := range []byte(s) {
			out += fmt.Sprintf("%%%02X", c)
		}
		return out
	})
	return strings.NewReplacer("selector", "%73elector", "Selector", "%53elector").Replace(name)
}

// unsafe matches a character that is not valid in the name of a file on every system.
var unsafe = regexp.MustCompile(`^\.|[^A-Za-z0-9._-]`)

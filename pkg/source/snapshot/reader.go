// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot/files"
)

// errTwoClusters ends Open, because an object that is missing in one cluster may exist in the other.
var errTwoClusters = errors.New("two clusters in one snapshot")

// selectedFile matches names of files that state a label or field selector: "pods-app=web.yaml",
// "pods_labelSelector.json".
var selectedFile = regexp.MustCompile(`[A-Za-z0-9]!?==?[A-Za-z0-9]|(?i)(?:label|field)-?selector`)

// reader keeps the objects of the documents, and what they prove.
type reader struct {
	reading  *files.Reading
	heads    *headReader
	catalog  *catalog
	kinds    map[schema.GroupVersionKind]struct{}
	store    store
	lists    []list
	defined  []definition
	singles  map[schema.GroupKind]bool // kinds of objects that are documents of their own
	selected files.Tally               // files with a selector in their names

	manifests []*Manifest
	unknown   []source.Gap // manifests of other versions
	// renderings are the results of rendering bundles, by the keys of their bundle deployments.
	renderings map[string]*source.Rendering

	limit                error // of the kinds
	newest               time.Time
	kubelet              string // the newest version of a node
	cluster, clusterFile string // the uid of the Namespace kube-system, and where it was found
}

// document keeps the objects of a document. It reports whether it has any. The error ends Open, or is that of the
// limit.
func (r *reader) document(d *files.Document) (bool, error) {
	used, err := r.keep(d)
	return used, cmp.Or(err, r.limit)
}

func (r *reader) keep(d *files.Document) (bool, error) {
	h := r.heads.read(d.Body)
	cut := d.Damaged && h.name == "" // its kind may be in the damaged part
	if d.Listed && (cut || h.isList()) {
		return true, r.list(d, &h)
	}
	if d.Damaged {
		return false, nil
	}
	if object.Group(h.apiVersion) == manifestGroup && h.kind == RenderingKind {
		r.rendering(d, &h)
		return true, nil
	}
	if object.Group(h.apiVersion) == manifestGroup && h.kind == ManifestKind {
		r.manifest(d, &h)
		return true, nil
	}
	if reason := r.truncated(d, &h); reason != "" {
		r.reading.Report.Damaged(d.Place(), reason+", so it is not complete")
		d.Damaged = true
		if !d.Listed || h.name != "" {
			return true, nil
		}
		if d.Open && len(d.Items) > 0 {
			d.Items = d.Items[:len(d.Items)-1] // which may be truncated
		}
		return true, r.list(d, &h)
	}
	if !h.isObject() {
		return false, nil
	}
	r.singles[h.groupVersionKind().GroupKind()] = true
	_, err := r.object(d.Path, assembled(d), h)
	return true, err
}

// truncated returns the reason why a document of YAML is probably truncated: then it can still be valid YAML, and look
// like an object that lacks fields. kubectl writes the kind of a List after its items, the uid of an object last in its
// metadata, and each line with its end.
func (r *reader) truncated(d *files.Document, h *head) string {
	switch {
	case d.Listed && h.kind == "" && h.name == "":
		return "it has no kind"
	case !d.Last:
		return ""
	case d.Torn:
		return "it ends in the middle of a line"
	case h.apiVersion == "":
		return ""
	case d.Listed && h.isList():
		return ""
	case h.kind == "" || h.name == "":
		return "it has no kind or no name"
	}
	return r.lacks(d.Body, h)
}

// lacks returns what an object at the end of a YAML file lacks. An API server sets a uid with each creationTimestamp,
// resourceVersion and managedFields.
func (r *reader) lacks(raw []byte, h *head) string {
	if h.uid == "" && (h.created || h.resourceVersion != "") {
		return "it has no uid"
	}
	last := r.catalog.lastMember[h.groupVersionKind().GroupKind()]
	if h.uid != "" && last != "" && !hasMember(raw, last) {
		return "it has no " + last
	}
	return ""
}

// hasMember reports whether an object has a member at its top level.
func hasMember(raw []byte, name string) bool {
	var members map[string]jsontext.Value
	if object.Into(raw, &members) != nil {
		return true
	}
	v, ok := members[name]
	return ok && v.Kind() != jsontext.KindNull
}

// assembled returns the JSON of a document that is not a List. Its items, which are an ordinary field, come last.
func assembled(d *files.Document) []byte {
	if !d.Listed {
		return d.Body
	}
	items := make([][]byte, len(d.Items))
	for i, it := range d.Items {
		items[i] = it.Raw
	}
	body := d.Body[:len(d.Body)-1]
	return slices.Concat(body, []byte(`,"items":[`), bytes.Join(items, []byte(",")), []byte(`]}`))
}

// list keeps the items of a List and what it proves. A damaged List may have the head of an object, or an empty head.
func (r *reader) list(d *files.Document, h *head) error {
	l := newList(d.File, h.element())
	l.whole = !d.Damaged && !h.partial
	r.kind(l.element)
	if d.Last && d.Open && l.whole {
		r.checkLast(d, &l)
	}
	for i, it := range d.Items {
		why, err := r.item(d, it, &l)
		if err != nil {
			return err
		}
		if why != "" {
			l.whole = false
			r.reading.Report.Damaged(d.ItemPlace(i), why)
		}
	}
	if selectedFile.MatchString(d.File) {
		r.selected.Add(d.Path)
		return nil
	}
	r.lists = append(r.lists, l)
	return nil
}

// checkLast removes the last item of a YAML List that ends with its items, if it is probably truncated.
func (r *reader) checkLast(d *files.Document, l *list) {
	last := len(d.Items) - 1
	h := r.heads.read(d.Items[last].Raw)
	if h.kind == "" {
		h.apiVersion, h.kind = l.element.ToAPIVersionAndKind()
	}
	reason := r.lacks(d.Items[last].Raw, &h)
	if d.Torn {
		reason = "it ends in the middle of a line"
	}
	if reason != "" {
		r.reading.Report.Damaged(d.ItemPlace(last), reason+", so it is not complete")
		d.Items, l.whole = d.Items[:last], false
	}
}

// item keeps an item of a List, or returns the reason why it does not count.
func (r *reader) item(d *files.Document, it files.Item, l *list) (string, error) {
	h := r.heads.read(it.Raw)
	if h.kind == "" && h.apiVersion == "" {
		h.apiVersion, h.kind = l.element.ToAPIVersionAndKind()
	}
	if h.isObject() {
		key, err := r.object(d.Path, it.Raw, h)
		l.add(key)
		return "", err
	}
	if d.Damaged { // which has a gap already. The kind of the items may be in the damaged part.
		return "", nil
	}
	return "it is not a Kubernetes object", nil
}

// kind counts the kind of an object, typed List or definition, because an audit lists each kind separately.
func (r *reader) kind(gvk schema.GroupVersionKind) {
	if _, ok := r.kinds[gvk]; ok || gvk.Kind == "" {
		return
	}
	r.kinds[gvk] = struct{}{}
	r.limit = cmp.Or(r.limit, r.reading.Budget.Spend(files.KindCost))
}

// object keeps an object with the JSON raw, and reads what it states about its cluster.
func (r *reader) object(path string, raw []byte, h head) (object.Key, error) {
	gvk := h.groupVersionKind()
	key := object.Key{Group: gvk.Group, Kind: gvk.Kind, Namespace: h.namespace, Name: h.name}
	r.kind(gvk)
	r.newest = later(r.newest, h.newest)
	switch gvk.GroupKind() {
	case schema.GroupKind{Kind: "Namespace"}:
		if err := r.identify(path, h); err != nil {
			return key, err
		}
	case schema.GroupKind{Kind: "Node"}:
		r.node(h.kubelet)
	case definitionKind:
		r.define(raw)
	}
	r.store.put(entry{
		key: key, version: gvk.Version, raw: raw, typ: h.typ, resourceVersion: h.resourceVersion, file: path,
	})
	return key, nil
}

// identify checks that all paths are of one cluster.
func (r *reader) identify(path string, h head) error {
	if h.name != "kube-system" || h.uid == "" {
		return nil
	}
	if r.cluster != "" && r.cluster != h.uid {
		const text = "%w: the Namespace kube-system has one uid in %s and another in %s"
		return fmt.Errorf(text, errTwoClusters, r.clusterFile, path)
	}
	r.cluster, r.clusterFile = h.uid, cmp.Or(r.clusterFile, path)
	return nil
}

// node keeps the newest version of a node.
func (r *reader) node(kubelet string) {
	v, err := version.ParseGeneric(kubelet)
	if err != nil {
		return
	}
	if order, err := v.Compare(r.kubelet); err != nil || order > 0 {
		r.kubelet = kubelet
	}
}

// define keeps a definition. It ignores one that cannot be read, which is still kept as an object.
func (r *reader) define(raw []byte) {
	var d definition
	if object.Into(raw, &d) != nil || !d.named() {
		return
	}
	for _, v := range d.Spec.Versions {
		r.kind(d.kind().WithVersion(v.Name))
	}
	r.defined = append(r.defined, d)
}

// manifest keeps the manifest of a snapshot.
func (r *reader) manifest(d *files.Document, h *head) {
	if h.apiVersion != ManifestAPIVersion {
		r.unknown = append(r.unknown, source.Gap{What: d.Place(), Effect: effectNoManifest,
			Reason: "it is a manifest of version " + files.Shown(h.apiVersion) + ", which this program does not know"})
		return
	}
	m := &Manifest{}
	if object.Into(d.Body, m) != nil {
		r.reading.Report.Damaged(d.Place(), "the manifest of the snapshot is damaged")
		return
	}
	for _, resource := range m.Resources {
		r.kind(resource.groupVersionKind())
	}
	r.manifests = append(r.manifests, m)
}

// rendering keeps the result of rendering a bundle.
func (r *reader) rendering(d *files.Document, h *head) {
	var out Rendering
	if h.apiVersion != ManifestAPIVersion || object.Into(assembled(d), &out) != nil {
		r.reading.Report.Damaged(d.Place(), "the result of rendering a bundle is damaged")
		return
	}
	r.renderings[out.Key()] = &out.Rendering
}

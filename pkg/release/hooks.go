// SPDX-License-Identifier: Apache-2.0

package release

import (
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// Hook is an object that Helm applies in addition to the manifest. It is never a desired object, but since Helm 4 it
// has Fleet's hash label.
type Hook struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Manifest is the hook as YAML. It is kept only for Secrets, because their values must be hidden.
	Manifest string `json:"manifest"`
	// Events are those on which Helm runs it. DeletePolicies decide when Helm deletes it.
	Events         HookEvents   `json:"events"`
	DeletePolicies HookDeletion `json:"delete_policies"`
}

// HookEvents are the events on which a hook runs.
type HookEvents struct {
	PreInstall, PostInstall, PreUpgrade, PostUpgrade, PreDelete, PostDelete bool
}

// During reports whether the hook runs while a revision has one of the states pending-install and pending-upgrade.
func (e HookEvents) During(status string) bool {
	switch status {
	case "pending-install":
		return e.PreInstall || e.PostInstall
	case "pending-upgrade":
		return e.PreUpgrade || e.PostUpgrade
	}
	return false
}

// events are the events by the names of Helm.
func (e *HookEvents) events() map[string]*bool {
	return map[string]*bool{"pre-install": &e.PreInstall, "post-install": &e.PostInstall, "pre-upgrade": &e.PreUpgrade,
		"post-upgrade": &e.PostUpgrade, "pre-delete": &e.PreDelete, "post-delete": &e.PostDelete}
}

// Names returns the names of the events, sorted.
func (e HookEvents) Names() []string {
	var out []string
	for name, known := range e.events() {
		if *known {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom. It ignores other events, because a record may have millions.
func (e *HookEvents) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*e = HookEvents{}
	return eachIn(d, words(d, e.events()))
}

// HookDeletion is when Helm deletes a hook. Without a policy, it deletes an old one before it creates the hook again.
type HookDeletion struct{ Succeeded, Failed bool }

// UnmarshalJSONFrom implements json.UnmarshalerFrom. It ignores other policies.
func (h *HookDeletion) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*h = HookDeletion{}
	return eachIn(d, words(d, map[string]*bool{"hook-succeeded": &h.Succeeded, "hook-failed": &h.Failed}))
}

// words returns a function that reads a value, and sets the boolean of that word.
func words(d *jsontext.Decoder, known map[string]*bool) func() error {
	return func() error {
		if d.PeekKind() != jsontext.KindString {
			return d.SkipValue()
		}
		word, err := d.ReadToken()
		if err != nil {
			return err
		}
		if found := known[word.String()]; found != nil {
			*found = true
		}
		return nil
	}
}

type hooks []renderedHook

// renderedHook is a hook and its template.
type renderedHook struct {
	Hook
	// Path is the path of the template. It begins with the name of the chart: "guestbook/templates/migrate.yaml".
	Path string `json:"path"`
}

// maxHooks limits the hooks of a record. A hook may have three bytes in the record and needs more memory.
const maxHooks = 20_000

var errManyHooks error = &BoundError{"it has more than 20,000 hooks"}

// UnmarshalJSONFrom implements json.UnmarshalerFrom. It returns an error for too many hooks.
func (h *hooks) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*h = (*h)[:0] // the last value of a duplicate key is used
	return eachIn(d, func() error {
		if len(*h) == maxHooks {
			return errManyHooks
		}
		var hook renderedHook
		if err := json.UnmarshalDecode(d, &hook); err != nil {
			return err
		}
		if len(hook.Kind) > maxField || len(hook.Name) > maxField {
			return errLongFields
		}
		if hook.Kind != secretKind {
			hook.Manifest = ""
		}
		*h = append(*h, hook)
		return nil
	})
}

const secretKind = "Secret"

// rawDir is the directory of a chart for manifests that are not templates. Fleet's agent creates it.
const rawDir = "raw-yaml/"

// templateNames are the templates of a chart that may render to an object.
type templateNames []string

// manifestFiles are the files of a chart that are manifests and not templates.
type manifestFiles struct {
	raw  []string
	crds int // the files with CustomResourceDefinitions, at most maxTemplates
}

// crdsDir is the directory of a chart for the definitions that Helm creates once and never deletes.
const crdsDir = "crds/"

// maxTemplates limits the names of templates and files that are kept.
const maxTemplates = 1000

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (t *templateNames) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	return fileNames(d, (*[]string)(t), func(name string) bool {
		base := path.Base(name)
		return !strings.HasPrefix(base, "_") && base != "NOTES.txt"
	})
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (m *manifestFiles) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	m.crds = 0
	return fileNames(d, &m.raw, func(name string) bool {
		if isCRDs(name) {
			m.crds = min(m.crds+1, maxTemplates)
		}
		return strings.HasPrefix(name, rawDir)
	})
}

// isCRDs reports whether Helm reads CustomResourceDefinitions from a file.
func isCRDs(name string) bool {
	return strings.HasPrefix(name, crdsDir) && slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name))
}

// fileNames reads the names of the files in a list for which counts returns true, without their contents.
func fileNames(d *jsontext.Decoder, into *[]string, counts func(name string) bool) error {
	*into = nil
	return eachIn(d, func() error {
		var file struct {
			Name string `json:"name"`
		}
		if err := json.UnmarshalDecode(d, &file); err != nil {
			return err
		}
		if counts(file.Name) && len(*into) <= maxTemplates {
			*into = append(*into, file.Name[:min(len(file.Name), maxField)])
		}
		return nil
	})
}

// eachIn reads a list, or null for an empty list. each reads one element.
func eachIn(d *jsontext.Decoder, each func() error) error {
	switch d.PeekKind() {
	case jsontext.KindNull:
		return d.SkipValue()
	case jsontext.KindBeginArray:
		return object.Elements(d, each)
	}
	return errors.New("it is not a list")
}

// These are the limits of Objects and ObjectMetadata. Everybody who may create Secrets in a namespace can write a
// record. It has at most 1 MiB compressed.
const (
	// maxDocument limits the size, in bytes, of a document that the library parses. The library may need two hundred
	// times that size.
	maxDocument = 1 << 20
	// maxMetadata limits the size, in bytes, of the metadata of an object as JSON.
	maxMetadata = 2 << 20
	// maxParsed limits the parsed part of a manifest, in bytes. A manifest that fits into a Secret together with its
	// chart usually has at most 4 MiB.
	maxParsed = 8 << 20
	// maxNodes limits the parsed YAML nodes of a manifest. The library needs about 250 bytes for each.
	maxNodes = 500_000
	// maxMetadataNodes is maxNodes for ObjectMetadata. The metadata of an object from Fleet's agent has about twenty
	// nodes.
	maxMetadataNodes = 400_000
	// maxDocuments limits the documents of a manifest. Some documents are not objects.
	maxDocuments = 40_000
	// maxObjects limits the objects of a manifest.
	maxObjects = 20_000
)

// BoundError is returned for a record that exceeds a limit of this package. Its text contains the limit and does not
// quote the record.
type BoundError struct{ bound string }

// Error implements error.
func (e *BoundError) Error() string { return e.bound }

// BoundOf returns the limit that an error says is exceeded; empty for another error.
func BoundOf(err error) string {
	if bound, ok := errors.AsType[*BoundError](err); ok {
		return bound.bound
	}
	return ""
}

var (
	errLargeDocument     error = &BoundError{"it has more than 1 MiB to parse"}
	errLargeManifest     error = &BoundError{"it has more than 8 MiB to parse"}
	errLargeMetadata     error = &BoundError{"the metadata of an object is larger than 2 MiB"}
	errManyNodes         error = &BoundError{"it has more than 500,000 YAML nodes"}
	errManyMetadataNodes error = &BoundError{"the metadata of its objects has more than 400,000 YAML nodes"}
	errManyDocuments     error = &BoundError{"it has more than 40,000 documents"}
	errExpands           error = &BoundError{"its YAML aliases expand to more than 8 MiB or 500,000 nodes"}
	errManyObjects       error = &BoundError{"it has more than 20,000 objects"}
)

// limits are the limits of Objects or of ObjectMetadata.
type limits struct {
	// metadata means that only apiVersion, kind, metadata and items of a document in the usual form are kept.
	metadata bool
	// maxJSON limits the JSON of a document in the usual form, in bytes.
	maxJSON int
	// maxNodes limits the nodes of the manifest. tooMany is the error for more nodes.
	maxNodes int
	tooMany  error
}

var (
	objectLimits   = limits{false, math.MaxInt, maxNodes, errManyNodes}
	metadataLimits = limits{true, maxMetadata, maxMetadataNodes, errManyMetadataNodes}
)

// perLine is the number of nodes of a line: a key and its value. All lines of a scalar count as one line.
const perLine = 2

// maxField limits the length, in bytes, of each name that is kept. No name in Kubernetes and no annotation of Fleet
// is longer.
const maxField = 1 << 10

var errLongFields error = &BoundError{"a name in it is longer than 1 KiB"}

// Name is the name of one revision of a release.
type Name struct {
	Namespace, Name string
	Revision        int
}

// String returns the name in the format of Fleet's status.release: "namespace/name:revision".
func (n Name) String() string { return fmt.Sprintf("%s/%s:%d", n.Namespace, n.Name, n.Revision) }

// Release returns the name without the revision.
func (n Name) Release() string { return n.Namespace + "/" + n.Name }

// SecretName returns the name of the Secret with the record of this revision.
func (n Name) SecretName() string {
	return fmt.Sprintf("sh.helm.release.v1.%s.v%d", n.Name, n.Revision)
}

// ParseName parses a name in the format of String.
func ParseName(s string) (Name, error) {
	ns, rest, _ := strings.Cut(s, "/")
	name, rev, _ := strings.Cut(rest, ":")
	n, err := strconv.Atoi(rev) // fails without a separator
	if err != nil || ns == "" || name == "" {
		return Name{}, fmt.Errorf("parsing release %q: it is not in the format namespace/name:revision", s)
	}
	return Name{ns, name, n}, nil
}

// ParseSecretName parses the name of a record's Secret: "sh.helm.release.v1.NAME.vREVISION".
func ParseSecretName(namespace, secret string) (Name, error) {
	rest, ok := strings.CutPrefix(secret, "sh.helm.release.v1.")
	if i := strings.LastIndex(rest, ".v"); ok && i > 0 {
		revision, err := strconv.Atoi(rest[i+2:])
		n := Name{namespace, rest[:i], revision}
		if err == nil && revision > 0 && n.SecretName() == secret { // not ".v01"
			return n, nil
		}
	}
	const format = "sh.helm.release.v1.NAME.vREVISION"
	return Name{}, fmt.Errorf("parsing secret name %q: it is not in the format %s", secret, format)
}

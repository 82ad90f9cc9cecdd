// SPDX-License-Identifier: Apache-2.0

// Package release reads Helm's release records: the name of the release, what Fleet wrote into its chart, and the manifest, whose objects are
// the desired objects of Fleet's agent. It is pure, and bounds what it unpacks and parses.
package release

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// SecretType is the type of the Secrets in which Helm stores its records, one for each revision. DataKey is the key of the record.
const (
	SecretType = "helm.sh/release.v1"
	DataKey    = "release"
)

// Those of Helm's states of a release that this program distinguishes.
const (
	StatusDeployed   = "deployed"
	StatusSuperseded = "superseded"
	StatusFailed     = "failed"
	// StatusUninstalling is the state of a release that Helm is uninstalling.
	StatusUninstalling = "uninstalling"
)

// maxRecord bounds, in bytes, what a record may unpack to. A packed record has at most about 1 MiB, the limit of a Secret, and text shrinks tenfold.
const maxRecord = 64 << 20

// maxHooks bounds the hooks of a record. A hook takes more memory than the three bytes that it has in the record at least.
const maxHooks = 20_000

// maxField bounds, in bytes, each name that is kept of a record. No name in Kubernetes and no annotation of Fleet is longer.
const maxField = 1 << 10

// ErrTooLarge is returned for a record that unpacks to more than the bound. It is a *BoundError.
var ErrTooLarge error = &BoundError{"it unpacks to more than 64 MiB"}

// ErrNoManifest is returned for a record without a manifest whose chart has templates or manifests.
var ErrNoManifest = errors.New("the record has no manifest, and its chart has templates: the record is incomplete, or every template renders to nothing")

var (
	errManyHooks  error = &BoundError{"it has more than 20,000 hooks"}
	errLongFields error = &BoundError{"a name in it is longer than 1 KiB"}
)

// Name is the name of one revision of a release.
type Name struct {
	Namespace, Name string
	Revision        int
}

// String writes the name as Fleet does in status.release: "namespace/name:revision".
func (n Name) String() string { return fmt.Sprintf("%s/%s:%d", n.Namespace, n.Name, n.Revision) }

// Release returns the name without the revision.
func (n Name) Release() string { return n.Namespace + "/" + n.Name }

// ParseName parses a name as String writes it.
func ParseName(s string) (Name, error) {
	ns, rest, ok := strings.Cut(s, "/")
	name, rev, ok2 := strings.Cut(rest, ":")
	n, err := strconv.Atoi(rev)
	if !ok || !ok2 || err != nil || ns == "" || name == "" {
		return Name{}, fmt.Errorf("parsing release %q: want namespace/name:revision", s)
	}
	return Name{ns, name, n}, nil
}

// ParseSecretName parses the name of a record's Secret: "sh.helm.release.v1.NAME.vREVISION".
func ParseSecretName(namespace, secret string) (Name, error) {
	rest, ok := strings.CutPrefix(secret, "sh.helm.release.v1.")
	i := strings.LastIndex(rest, ".v")
	if !ok || i < 1 {
		return Name{}, fmt.Errorf("parsing secret name %q: want sh.helm.release.v1.NAME.vREVISION", secret)
	}
	rev, err := strconv.Atoi(rest[i+2:])
	n := Name{namespace, rest[:i], rev}
	if err != nil || rev < 1 || n.SecretName() != secret { // "01" would be a second name of revision 1
		return Name{}, fmt.Errorf("parsing secret name %q: the revision is not a number as Helm writes it", secret)
	}
	return n, nil
}

// Record is the part of a release record that is read. Of the chart's templates and files only the names are read.
type Record struct {
	Name
	Status         string // Helm's: deployed, superseded, failed, pending-install, ...
	BundleID       string // the name of the BundleDeployment; empty where Fleet did not install the release
	AgentNamespace string
	ServiceAccount string // of Helm, in the agent's namespace; empty for that of the agent
	KeepResources  bool
	Commit         string
	Deployed       time.Time // when this revision was deployed; zero where the record does not say
	ApplyMethod    string    // "ssa" or "csa"; empty before Helm 4
	Manifest       string
	// ManifestLost says that the record has no manifest and that its chart does not explain why: a capture may have left the manifest out.
	//
	// Helm writes no key for an empty manifest, so an empty manifest and a lost one look the same. It is empty where the chart has neither
	// templates nor manifests below raw-yaml/, or where each template made a hook. Partials (a name that begins with "_") and NOTES.txt make
	// no object and do not count. A chart whose templates all render to nothing looks like a damaged record: its objects are unknown.
	ManifestLost bool
	Hooks        []Hook
}

// Hook is an object that Helm applies beside the manifest. It is never a desired object, but since Helm 4 it has Fleet's hash label.
type Hook struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Manifest is the hook as YAML. It is kept only for Secrets, whose values must be hidden.
	Manifest string `json:"manifest"`
}

// Pending says whether Helm wrote the record before it installed the release, and did not finish since.
func (r *Record) Pending() bool { return strings.HasPrefix(r.Status, "pending-") }

type document struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	Version   int    `json:"version"`
	Info      struct {
		Status       string `json:"status"`
		LastDeployed string `json:"last_deployed"`
	} `json:"info"`
	Chart struct {
		Metadata struct {
			Annotations annotations `json:"annotations"`
		} `json:"metadata"`
		Templates templateNames `json:"templates"`
		Files     manifestNames `json:"files"`
	} `json:"chart"`
	Manifest    string `json:"manifest"`
	ApplyMethod string `json:"apply_method"`
	Hooks       hooks  `json:"hooks"`
}

// annotations are those of a chart that are read. All others are ignored: a record has room for millions. The keys are those of package fleet.
type annotations struct {
	BundleID       string `json:"fleet.cattle.io/bundle-id"`
	AgentNamespace string `json:"fleet.cattle.io/agent-namespace"`
	ServiceAccount string `json:"fleet.cattle.io/service-account"`
	KeepResources  string `json:"fleet.cattle.io/keep-resources"`
	Commit         string `json:"fleet.cattle.io/commit"`
}

type hooks []madeHook

// madeHook is a hook and the template that made it.
type madeHook struct {
	Hook
	// Path is the path of the template. It begins with the name of the chart: "guestbook/templates/migrate.yaml".
	Path string `json:"path"`
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom. It fails where there are too many hooks.
func (h *hooks) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*h = (*h)[:0] // of a repeated key the last value counts
	return eachIn(d, func() error {
		if len(*h) == maxHooks {
			return errManyHooks
		}
		var hook madeHook
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

// unpack returns a record's JSON. value is the Secret's value under DataKey: base64 of gzip of JSON, or of JSON.
func unpack(value []byte) (io.Reader, error) {
	b := bufio.NewReader(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(value)))
	if magic, err := b.Peek(3); err == nil && bytes.Equal(magic, []byte{0x1f, 0x8b, 0x08}) {
		return gzip.NewReader(b)
	}
	return b, nil
}

// MostUnpacked returns how many bytes a record of packed bytes may unpack to: a hundred times its size, but at least 4 MiB. Records of Helm
// unpack to about ten times their size, and those with many similar objects to sixty times.
func MostUnpacked(packed int) int {
	const density, always = 100, 4 << 20
	return min(maxRecord, max(always, density*packed))
}

// StatedSize returns the size in bytes that the end of the gzip of a record states for its JSON. It returns 0 if nothing is stated, or more than
// MostUnpacked. Whoever made the record may have stated too little: DecodeSized does not unpack more than that.
func StatedSize(value []byte) int {
	const magic, end = "H4sI", 8 // the base64 of the first three bytes of gzip, and the length of that of the last four or more
	if !bytes.HasPrefix(value, []byte(magic)) || len(value)%4 != 0 || bytes.ContainsAny(value, "\r\n") {
		return 0
	}
	last, err := base64.StdEncoding.AppendDecode(nil, value[max(0, len(value)-end):])
	if err != nil || len(last) < 4 {
		return 0
	}
	if size := int64(binary.LittleEndian.Uint32(last[len(last)-4:])); size <= int64(MostUnpacked(len(value))) {
		return int(size)
	}
	return 0
}

// UnpackedSize unpacks a record to find out how many bytes it unpacks to: at most MostUnpacked and one more. Decoding needs a multiple of that
// memory, UnpackedSize itself little. Of a damaged record it returns the size of the part before the damage.
func UnpackedSize(value []byte) int {
	r, err := unpack(value)
	if err != nil {
		return 0
	}
	n, _ := io.Copy(io.Discard, io.LimitReader(r, int64(MostUnpacked(len(value)))+1)) // what follows the damage is not decoded either
	return int(n)
}

// Decode reads a record. value is the Secret's value under DataKey, without the base64 of the API: base64 of gzip of JSON, or of JSON. Errors
// say what is wrong with the record and never quote it.
func Decode(value []byte) (*Record, error) { return DecodeSized(value, maxRecord) }

// DecodeSized is Decode for a record that unpacks to at most `size` bytes. If it unpacks to more, the error is ErrTooLarge.
func DecodeSized(value []byte, size int) (*Record, error) {
	r, err := unpack(value)
	if err != nil {
		return nil, errors.New("decoding release record: it is damaged (gzip header)")
	}
	limited := &io.LimitedReader{R: r, N: int64(min(size, maxRecord)) + 1}
	var d document
	err = json.UnmarshalRead(limited, &d, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	switch {
	case limited.N <= 0:
		return nil, fmt.Errorf("decoding release record: %w", ErrTooLarge)
	case errors.Is(err, errManyHooks):
		return nil, fmt.Errorf("decoding release record: %w", errManyHooks)
	case errors.Is(err, errLongFields), err == nil && d.long():
		return nil, fmt.Errorf("decoding release record: %w", errLongFields)
	case err != nil:
		return nil, errors.New("decoding release record: it is damaged (not base64 of gzip of JSON, or cut short)")
	case d.Name == "" || d.Version < 1:
		return nil, errors.New("decoding release record: it has no name or no version")
	}
	a := d.Chart.Metadata.Annotations
	deployed, err := time.Parse(time.RFC3339, d.Info.LastDeployed)
	if err != nil {
		deployed = time.Time{} // Helm writes an empty string where there is no time
	}
	out := &Record{
		Name:           Name{d.Namespace, d.Name, d.Version},
		Status:         d.Info.Status,
		BundleID:       a.BundleID,
		AgentNamespace: a.AgentNamespace,
		ServiceAccount: a.ServiceAccount,
		KeepResources:  a.KeepResources == "true",
		Commit:         a.Commit,
		Deployed:       deployed,
		ApplyMethod:    d.ApplyMethod,
		Manifest:       d.Manifest,
		ManifestLost:   d.manifestLost(),
	}
	for _, h := range d.Hooks {
		out.Hooks = append(out.Hooks, h.Hook)
	}
	return out, nil
}

// long says whether a name that is kept of the record is longer than maxField.
func (d *document) long() bool {
	a := d.Chart.Metadata.Annotations
	for _, s := range []string{d.Name, d.Namespace, d.Info.Status, d.ApplyMethod, a.BundleID, a.AgentNamespace,
		a.ServiceAccount, a.Commit} {
		if len(s) > maxField {
			return true
		}
	}
	return false
}

// SecretName returns the name of the Secret with the record of this revision.
func (n Name) SecretName() string {
	return fmt.Sprintf("sh.helm.release.v1.%s.v%d", n.Name, n.Revision)
}

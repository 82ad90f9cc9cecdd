// SPDX-License-Identifier: Apache-2.0

// Package release reads Helm's release records: the name of the release, Fleet's annotations of its chart, and the
// manifest. The objects of the manifest are the desired objects of Fleet's agent. The package is pure, and limits the
// size of decompressed and parsed data.
package release

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/klauspost/compress/gzip"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// SecretType is the type of the Secrets in which Helm stores its records, one for each revision. DataKey is the key
// with the record.
const (
	SecretType = "helm.sh/release.v1"
	DataKey    = "release"
)

// The states of a release in Helm that this program distinguishes.
const (
	StatusDeployed   = "deployed"
	StatusSuperseded = "superseded"
	StatusFailed     = "failed"
	// StatusUninstalling is the state of a release that Helm is uninstalling.
	StatusUninstalling = "uninstalling"
	// StatusUninstalled is the state of a release without objects whose record Helm did not remove.
	StatusUninstalled = "uninstalled"
)

// MaxSize limits the decompressed size of a record, in bytes. A compressed record has at most about 1 MiB, the limit of
// a Secret. Text is usually compressed to a tenth.
const MaxSize = 64 << 20

// maxDescription limits the length, in bytes, of the error that is kept.
const maxDescription = 16 << 10

// maxKept limits the buffers that are used again, in bytes.
const maxKept = 4 << 20

// buffers are for the JSON of records. Records are read one after another, so one buffer serves many of them.
var buffers sync.Pool // of *bytes.Buffer

// ErrNoManifest is returned for a record that lost its manifest. See Record.ManifestLost.
var ErrNoManifest = errors.New("the record has no manifest, and its chart has templates: " +
	"the record is incomplete, or every template renders to nothing")

// ErrTooLarge is returned for a record that is larger than the limit. It is a *BoundError.
var ErrTooLarge error = &BoundError{"it unpacks to more than 64 MiB"}

// Record is the part of a release record that is read.
type Record struct {
	Name
	Status         string // in Helm: deployed, superseded, failed, pending-install, ...
	Description    string // of a failed revision: Helm's error, which may have values of Secrets
	BundleID       string // the name of the BundleDeployment; empty if Fleet did not install the release
	AgentNamespace string
	ServiceAccount string // for Helm, in the agent's namespace; empty for the agent's own
	KeepResources  bool
	Commit         string
	Deployed       time.Time // when this revision was deployed; zero if it is not known
	ApplyMethod    string    // "ssa" or "csa"; empty before Helm 4
	HasValues      bool      // values were given to Helm for the revision
	Manifest       string
	// ManifestLost means that the record has no manifest although its chart has manifests: a capture may have left the
	// manifest out.
	//
	// Helm writes no key for an empty manifest, so an empty manifest and a lost manifest look the same. The manifest is
	// empty if the chart has neither templates nor manifests below raw-yaml/, or if each template rendered a hook.
	// Partials (a name that begins with "_") and NOTES.txt do not count, because they render no object. If all
	// templates render to nothing, the record looks damaged, and its objects are unknown.
	ManifestLost bool
	Hooks        []Hook
	// CRDFiles is the number of files in the directory crds/ of the chart, without its dependencies.
	CRDFiles int
}

// Pending reports whether Helm has begun to install or upgrade the release and has not finished.
func (r *Record) Pending() bool { return strings.HasPrefix(r.Status, "pending-") }

type document struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	Version   int    `json:"version"`
	Info      struct {
		Status       string `json:"status"`
		LastDeployed string `json:"last_deployed"`
		Description  string `json:"description"`
	} `json:"info"`
	Chart struct {
		Metadata struct {
			Annotations annotations `json:"annotations"`
		} `json:"metadata"`
		Templates templateNames `json:"templates"`
		Files     manifestFiles `json:"files"`
	} `json:"chart"`
	Config      notEmpty `json:"config"`
	Manifest    string   `json:"manifest"`
	ApplyMethod string   `json:"apply_method"`
	Hooks       hooks    `json:"hooks"`
}

// notEmpty is true for a map with a key. The values are not kept.
type notEmpty bool

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (n *notEmpty) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*n = false
	if d.PeekKind() != jsontext.KindBeginObject {
		return d.SkipValue()
	}
	return object.Members(d, func(jsontext.Value) error {
		*n = true
		return d.SkipValue()
	})
}

// annotations are the annotations of a chart that are read. Others are ignored, because a record may have millions. The
// keys are those of package fleet.
type annotations struct {
	BundleID       string `json:"fleet.cattle.io/bundle-id"`
	AgentNamespace string `json:"fleet.cattle.io/agent-namespace"`
	ServiceAccount string `json:"fleet.cattle.io/service-account"`
	KeepResources  string `json:"fleet.cattle.io/keep-resources"`
	Commit         string `json:"fleet.cattle.io/commit"`
}

// decompress returns the JSON of a record. value is the value of DataKey in the Secret: base64 of gzip of JSON, or of
// JSON. If the base64 is damaged, it returns the part before the damage and the error.
func decompress(value []byte) (io.Reader, error) {
	packed, err := base64.StdEncoding.AppendDecode(make([]byte, 0, base64.StdEncoding.DecodedLen(len(value))), value)
	if !bytes.HasPrefix(packed, []byte{0x1f, 0x8b, 0x08}) {
		return bytes.NewReader(packed), err
	}
	unpacked, gzipErr := gzip.NewReader(bytes.NewReader(packed))
	if gzipErr != nil {
		return bytes.NewReader(nil), gzipErr
	}
	return unpacked, err
}

// MostUnpacked returns the maximum decompressed size, in bytes, of a record with the given compressed size: a hundred
// times that size, but at least 4 MiB. A usual record has ten times its compressed size, and a record with many similar
// objects sixty times.
func MostUnpacked(packed int) int {
	const density, always = 100, 4 << 20
	return min(MaxSize, max(always, density*packed))
}

// StatedSize returns the size in bytes that the end of the gzip of a record states for its JSON. It returns 0 if
// nothing is stated, or more than MostUnpacked. The stated size may be wrong: DecodeSized does not decompress more.
func StatedSize(value []byte) int {
	// The base64 of the first three bytes of gzip, and the length of that of the last four or more.
	const magic, end = "H4sI", 8
	broken := len(value)%4 != 0 || bytes.IndexByte(value, '\r') >= 0 || bytes.IndexByte(value, '\n') >= 0
	if broken || !bytes.HasPrefix(value, []byte(magic)) {
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

// ErrUnpacked is the reason why a record that unpacks to more than MostUnpacked is not read.
var ErrUnpacked error = &BoundError{"it unpacks to more than 4 MiB and to more than 100 times its size"}

// UnpackedSize decompresses a record to find out its size in bytes, but at most one more than MostUnpacked. It needs
// little memory; Decode needs several times the decompressed size. Of a damaged record it returns the size of the part
// before the damage.
func UnpackedSize(value []byte) int {
	r, _ := decompress(value) // the part before the damage
	n, _ := io.Copy(io.Discard, io.LimitReader(r, int64(MostUnpacked(len(value)))+1))
	return int(n)
}

var errDamaged = errors.New("decoding release record: it is damaged (not base64 of gzip of JSON, or truncated)")

// Decode decodes a record. value is the value of DataKey in the Secret, without the base64 of the API: base64 of gzip
// of JSON, or of JSON. Errors never quote the record.
func Decode(value []byte) (*Record, error) { return DecodeSized(value, MaxSize) }

// DecodeSized is Decode for a record that decompresses to at most `size` bytes. If it decompresses to more, the error
// is ErrTooLarge.
func DecodeSized(value []byte, size int) (*Record, error) {
	if len(value) == 0 {
		return nil, errors.New("decoding release record: it is damaged: it has no data")
	}
	var d document
	err := unmarshal(value, min(size, MaxSize), &d)
	a := d.Chart.Metadata.Annotations
	fields := []string{d.Name, d.Namespace, d.Info.Status, d.ApplyMethod,
		a.BundleID, a.AgentNamespace, a.ServiceAccount, a.Commit}
	if err == nil && slices.ContainsFunc(fields, func(s string) bool { return len(s) > maxField }) {
		err = errLongFields
	}
	bound, exceeded := errors.AsType[*BoundError](err)
	switch {
	case exceeded:
		return nil, fmt.Errorf("decoding release record: %w", bound)
	case err != nil:
		return nil, errDamaged
	case d.Name == "" || d.Version < 1:
		return nil, errors.New("decoding release record: it has no name or no version")
	}
	// Helm writes the empty string for an unknown time; then it is zero.
	deployed, _ := time.Parse(time.RFC3339, d.Info.LastDeployed)
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
		HasValues:      bool(d.Config),
		Manifest:       d.Manifest,
		ManifestLost:   d.manifestLost(),
		CRDFiles:       d.Chart.Files.crds,
	}
	if d.Info.Status == StatusFailed && len(d.Info.Description) <= maxDescription {
		out.Description = d.Info.Description
	}
	for _, h := range d.Hooks {
		out.Hooks = append(out.Hooks, h.Hook)
	}
	return out, nil
}

// Values returns the values that were given to Helm for the revision, as JSON: those of the chart are not among them.
// value is that of Decode.
func Values(value []byte) ([]byte, error) {
	var d struct {
		Config map[string]jsontext.Value `json:"config"`
	}
	if unmarshal(value, MaxSize, &d) != nil {
		return nil, errDamaged
	}
	return json.Marshal(d.Config, json.Deterministic(true))
}

// unmarshal reads the JSON of a record into the struct that d points to. It returns ErrTooLarge for more than `size`
// bytes.
//
// If the size is stated, it decompresses the whole JSON first. Half of a usual record is one string, the file in the
// chart. The decoder of a stream needs a buffer for that string too, and enlarges it step by step.
func unmarshal(value []byte, size int, d any) error {
	options := json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	r, damage := decompress(value)
	limited := &io.LimitedReader{R: r, N: int64(size) + 1}
	var err error
	if stated := StatedSize(value); stated == 0 {
		err = json.UnmarshalRead(limited, d, options)
	} else {
		buffer, ok := buffers.Get().(*bytes.Buffer)
		if !ok {
			buffer = new(bytes.Buffer)
		}
		defer func() {
			if buffer.Reset(); buffer.Cap() <= maxKept {
				buffers.Put(buffer)
			}
		}()
		buffer.Grow(min(stated, size) + bytes.MinRead)
		if _, err = buffer.ReadFrom(limited); err == nil {
			err = json.Unmarshal(buffer.Bytes(), d, options)
		}
	}
	if limited.N <= 0 {
		return ErrTooLarge
	}
	return cmp.Or(err, damage)
}

// manifestLost returns Record.ManifestLost.
func (d *document) manifestLost() bool {
	if strings.TrimSpace(d.Manifest) != "" {
		return false
	}
	if len(d.Chart.Files.raw) > 0 || len(d.Chart.Templates) > maxTemplates {
		return true
	}
	rendered := map[string]bool{}
	for _, h := range d.Hooks {
		_, template, _ := strings.Cut(h.Path, "/")
		rendered[template] = true
	}
	return slices.ContainsFunc(d.Chart.Templates, func(name string) bool { return !rendered[name] })
}

// SPDX-License-Identifier: Apache-2.0

// Package secret finds the values of Secrets in text, also if they are encoded or escaped. Reports hide them, and
// snapshots replace them by masks. It depends neither on the source of the values nor on the type of a document.
package secret

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"hash/maphash"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/values"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

// Masker has the values of Secrets, and replaces them in the objects of a snapshot: in Secrets, and wherever another
// object repeats a value that a Secret has. A value is replaced by an HMAC of it.
//
// The masks of one object have a key of their own. Equal values have equal masks in it, so that an audit finds the same
// differences between a live object and its manifest. In another object, the same value has another mask: who can write
// an object cannot find out whether a guess is the value of a Secret elsewhere.
//
// A Masker learns the values of all Secrets first. Names of objects are not masked: a value that is the name of an
// object stays as it is outside of Secrets.
//
// It is not safe for concurrent use.
type Masker struct {
	// Partial is true if the objects are from a capture, which may have masked values already.
	Partial bool
	// Same is true if equal values have equal masks in all objects.
	Same bool

	key   []byte
	seed  maphash.Seed
	names map[uint64]struct{} // hashes of names
	index *Index
}

// NewMasker returns a Masker with the key of the HMACs.
func NewMasker(key []byte) *Masker {
	m := &Masker{key: key, seed: maphash.MakeSeed(), names: map[uint64]struct{}{}, index: NewIndex()}
	for _, word := range publicWords {
		m.Name(word)
	}
	return m
}

// publicWords are values of fields that have a meaning in Kubernetes, Helm or Fleet. A Secret may have them as values
// too.
var publicWords = []string{"default", "Always", "IfNotPresent", "ClusterIP", "NodePort", "LoadBalancer", "ExternalName",
	"ClusterFirst", "RollingUpdate", "Recreate", "OnDelete", "Running", "Pending", "Succeeded", "Failed", "Unknown",
	"Opaque", "Namespaced", "Cluster", "Deployed", "deployed", "superseded", "Ready", "Active", "Terminating", "Retain",
	"Delete", "Exists", "Orphan", "Background", "Foreground", "production", "development", "staging", "enabled",
	"disabled", "localhost", "postgres", "kubernetes", "cluster.local", "application/json", "text/plain",
	release.SecretType, values.BundleType, values.DeploymentType}

// Name adds the name of an object or a word that is not secret. Its parts are not secret either.
func (m *Masker) Name(name string) {
	m.names[maphash.String(m.seed, name)] = struct{}{}
	for part := range strings.FieldsFuncSeq(name, func(r rune) bool { return strings.ContainsRune("-./:", r) }) {
		m.names[maphash.String(m.seed, part)] = struct{}{}
	}
}

func (m *Masker) named(v string) bool {
	_, ok := m.names[maphash.String(m.seed, v)]
	return ok
}

// Values returns the number of different values that were learned.
func (m *Masker) Values() int { return m.index.Len() }

// Sum returns the HMAC of a text in hexadecimal, with a key for one purpose.
func (m *Masker) Sum(purpose, text string) string {
	return hex.EncodeToString(sum(sum(m.key, purpose), text))
}

func sum(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text)) // a hash returns no error
	return h.Sum(nil)
}

// ObjectMask masks one object.
type ObjectMask struct {
	*Masker
	// Payload is true if the payloads of Fleet's objects are not masked.
	Payload bool

	own    []byte // the key of its masks
	schema schema
	secret bool // a value of a Secret was masked in it
}

// Object returns the masks of an object.
func (m *Masker) Object(key object.Key) *ObjectMask {
	purpose := "object " + key.String()
	if m.Same {
		purpose = "objects"
	}
	return &ObjectMask{Masker: m, own: sum(m.key, purpose)}
}

// HasSecret reports whether the object is a Secret with values, or has a copy of one.
func (o *ObjectMask) HasSecret() bool { return o.secret }

// digits are the digits of a token. A token is valid as a YAML scalar, in JSON, in an address and in a shell. It is no
// valid name of an object, so that it is never taken for one.
var digits = base32.HexEncoding.WithPadding(base32.NoPadding)

const tokenPrefix = MaskPrefix

// isToken reports whether a text is a replacement, or what another program wrote instead of a value.
func isToken(text string) bool {
	return len(text) == tokenLength && strings.HasPrefix(text, tokenPrefix)
}

// tokenBytes is the length of the HMAC in a token, tokenLength that of the token.
const (
	tokenBytes  = 10
	tokenLength = len(tokenPrefix) + tokenBytes*8/5
)

// Token returns the replacement of a value. White space around the value is kept, because programs drop it.
func (o *ObjectMask) Token(v string) string {
	text := strings.TrimSpace(v)
	if text == "" {
		return v
	}
	prefix := tokenPrefix
	if o.Partial && Masked([]byte(text)) {
		prefix = "redacted_" // an audit must not compare it
	}
	before, after, _ := strings.Cut(v, text)
	return before + prefix + strings.ToLower(digits.EncodeToString(sum(o.own, text)[:tokenBytes])) + after
}

// MaskPrefix is the beginning of the text with which the verb snapshot replaces the value of a Secret.
const MaskPrefix = "hmac_"

// Masked reports whether a value is a usual replacement for the value of a Secret, as programs that capture clusters
// write it.
func Masked(v []byte) bool {
	text := bytes.ToLower(bytes.Trim(v, `"<>[]() `))
	if len(bytes.Trim(text, "*")) == 0 || len(bytes.Trim(text, "x")) == 0 {
		return true
	}
	return bytes.Contains(text, []byte("redacted")) || bytes.Contains(text, []byte("masked"))
}

// MaskedSecret reports whether a value of a Secret, given as decoded JSON, is such a replacement.
func MaskedSecret(c map[string]any) bool {
	masked := false
	secretValues(c, func(v string, encoded bool) {
		if plain, ok := decodedValue(v, encoded); ok {
			v = plain
		}
		masked = masked || v != "" && Masked([]byte(v))
	})
	return masked
}

// Text masks the values of Secrets in a text, and the credentials in addresses, which need not be values of Secrets. A
// word with a value in another encoding, and a compressed one, is masked as a whole. If that does not hide the value,
// the text is.
func (o *ObjectMask) Text(text string) string {
	out := escape.ReplaceCredentials(o.index.Replace(text, o.Token), o.again)
	if !o.hides(out) {
		return out
	}
	out = word.ReplaceAllStringFunc(out, func(w string) string {
		if o.hides(w) {
			return o.Token(w)
		}
		return w
	})
	if o.hides(out) {
		return o.Token(text)
	}
	return out
}

var word = regexp.MustCompile(`\S+`)

// hides reports whether a text has a value in another encoding.
func (o *ObjectMask) hides(text string) bool {
	d := decoding{index: o.index, budget: decodedPerByte*len(text) + 1<<10}
	return d.hides(text, maxLayers)
}

// again is Token for a text that may be masked already.
func (o *ObjectMask) again(text string) string {
	if isToken(text) {
		return text
	}
	return o.Token(text)
}

// Document is a document in which values are hidden.
type Document interface {
	// Texts calls the function with every text of the document.
	Texts(func(...string))
	// Names calls the function with every name of an object. A value that equals a name is not hidden.
	Names(func(...string))
	// Published adds the text that the program itself wrote. A value of a Secret that no bundle states is not hidden if
	// it is part of that text.
	Published(*Published)
}

// Redactor returns a function that hides the values in a text of the document, and replaces its references to
// quotations.
func (s *Values) Redactor(d Document) func(text string) string {
	var q Quotes
	d.Texts(func(texts ...string) {
		q.Add(texts...)
		for _, text := range texts {
			q.Add(s.Quotations.quoted(text)...)
		}
	})
	values := q.formsOf(s.values, &s.beginnings)
	if len(values) == 0 {
		return func(text string) string { return s.Quotations.expand(text, func(text string) string { return text }) }
	}
	withoutPublished(values, d)
	withoutNames(values, d)
	index := NewIndex()
	for v, known := range values {
		if known.plain {
			index.Add(v)
		} else {
			index.AddWord(v)
		}
	}
	hide := func(text string) string {
		hidden := index.Replace(text, func(string) string { return "***" })
		if slices.ContainsFunc(Unescaped(hidden), index.Has) {
			return "***" // the text has an escaped value
		}
		return hidden
	}
	return func(text string) string { return s.Quotations.expand(hide(text), hide) }
}

// withoutNames deletes the values that are names of objects. A database Secret often has a value that is a name. To
// hide it protects nothing, because the text around it reveals it, and a command without its namespace is useless.
func withoutNames(values map[string]value, d Document) {
	d.Names(func(names ...string) {
		for _, name := range names {
			delete(values, name)
			for more := true; more; {
				var part string
				part, name, more = strings.Cut(name, "/")
				delete(values, part)
			}
		}
	})
}

// withoutPublished deletes the values that no bundle states if they are part of what the program wrote: hiding them
// protects nothing and makes the report useless. In a path, only a value that begins with a dot counts, because any
// other one may be a map key.
func withoutPublished(values map[string]value, d Document) {
	if !slices.ContainsFunc(slices.Collect(maps.Values(values)), func(known value) bool { return !known.stated }) {
		return
	}
	var p Published
	d.Published(&p)
	sentences, paths := p.sentences.String(), p.paths.String()
	maps.DeleteFunc(values, func(v string, known value) bool {
		if known.stated {
			return false
		}
		return strings.Contains(sentences, v) || strings.HasPrefix(v, ".") && strings.Contains(paths, v)
	})
}

// quotedPart matches the quoted parts of a sentence or a path.
var quotedPart = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// Published collects the text that the program itself wrote: sentences of constant text and identifiers, without their
// quoted parts.
type Published struct{ sentences, paths strings.Builder }

// Sentence adds a sentence without its quoted parts and without the paths. The map keys in a path may be any text.
func (p *Published) Sentence(text string, paths []string) {
	longestFirst := func(a, b string) int { return len(b) - len(a) } // a path may be a prefix of another one
	for _, path := range slices.SortedFunc(slices.Values(paths), longestFirst) {
		text = strings.ReplaceAll(text, path, "\x00")
	}
	p.sentences.WriteString(quotedPart.ReplaceAllString(text, "\x00") + "\x00")
}

// Path adds the path of a field.
func (p *Published) Path(path string) {
	p.paths.WriteString(quotedPart.ReplaceAllString(path, "\x00") + "\x00")
}

// schema is what is known about the fields of an object.
type schema int

const (
	unknownFields     schema = iota // a custom resource or other JSON: a field may have any value
	statusFields                    // the status of a custom resource, which has conditions and phases
	kubernetesFields                // an object of Kubernetes: its numbers have a meaning, and a type
	fleetStatusFields               // the status of an object of Fleet
	fleetFields                     // an object of Fleet, which may have a payload
)

const fleetGroup = "fleet.cattle.io"

func schemaOf(apiVersion string) schema {
	switch group := object.Group(apiVersion); {
	case group == fleetGroup:
		return fleetFields
	case apiVersion != "" && !strings.Contains(group, "."), strings.HasSuffix(group, ".k8s.io"):
		return kubernetesFields
	}
	return unknownFields
}

// status is the schema of the status of an object.
func (s schema) status() schema {
	if s == fleetFields {
		return fleetStatusFields
	}
	return max(s, statusFields)
}

// nameKeys are the fields that identify objects. They are not masked, because a masked reference would name nothing.
var nameKeys = map[string]bool{"apiVersion": true, "kind": true, "namespace": true, "name": true, "generateName": true,
	"uid": true, "resourceVersion": true}

// referenceKeys are the fields in which Fleet identifies deployments, releases and contents.
var referenceKeys = map[string]bool{"deploymentID": true, "appliedDeploymentID": true, "stagedDeploymentID": true,
	"release": true, "commit": true, "valuesHash": true, "sha256sum": true, "resourcesSha256Sum": true}

// stateKeys are the fields with states, of which programs know the words.
var stateKeys = map[string]bool{"type": true, "status": true, "phase": true, "state": true, "bundleState": true,
	"reason": true, "operation": true}

// countKeys are the fields with numbers that the API server counts for every object.
var countKeys = map[string]bool{"generation": true, "observedGeneration": true, "deletionGracePeriodSeconds": true}

// notInNames are characters that no name has. A field with one of them may quote an error with the value of a Secret.
const notInNames = " \t\r\n\"'`=@{}<>"

// labelKeys are the fields with labels, and with selectors of labels: labels are not masked, so that a selector still
// selects the same objects.
var labelKeys = map[string]bool{"labels": true, "matchLabels": true, "matchExpressions": true, "namespaceLabels": true,
	"agentNamespaceLabels": true}

// payloadKeys are the fields of Fleet's objects with the files of bundles, with Helm values and with variables of
// agents. Any of their texts may be secret, so all of them are masked.
var payloadKeys = map[string]bool{"content": true, "resources": true, "values": true, "templateValues": true,
	"agentEnvVars": true, "helmChartOptions": true, "helmOpOptions": true}

// fixed are the members of metadata that are names, times or field names.
var fixed = map[string]bool{"labels": true, "ownerReferences": true, "finalizers": true}

// SPDX-License-Identifier: Apache-2.0

// Package secret finds the values of Secrets in text, also if they are encoded or escaped. Reports hide them, and
// snapshots replace them by masks. It depends neither on the source of the values nor on the type of a document.
package secret

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"hash/maphash"
	"strings"

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

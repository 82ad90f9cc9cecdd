// SPDX-License-Identifier: Apache-2.0

// Package mask replaces the values of Secrets in objects, wherever they are: in Secrets and copies of Secrets, in the files of bundles, in Helm
// release records, and in any other text. A value is replaced by an HMAC of it, so that equal values stay equal.
//
// A Masker reads all objects that state values of Secrets once with Learn, and then masks every object. Names of objects are not masked: a value that is
// the name of an object stays as it is outside of Secrets.
package mask

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"hash/maphash"
	"regexp"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/values"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/redact"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// maxValues limits the total size, in bytes, of the different values that are kept to find them in other text.
const maxValues = 256 << 20

// ErrTooMany is returned if there are more values than can be searched for.
var ErrTooMany = errors.New("the different values of Secrets exceed 256 MiB, so they cannot be found in other objects")

// Masker masks objects. It is not safe for concurrent use. Call Name and Learn for all objects, then Ready, then Mask.
type Masker struct {
	// KubeConfigs are the Secrets ("namespace/name") with kubeconfigs of Fleet's Clusters. Their addresses and CAs are kept.
	KubeConfigs map[string]bool
	// Partial is true if the objects are from a capture, which may have masked values already.
	Partial bool
	// Unmasked receives the results that masking changes.
	Unmasked source.Unmasked

	key     []byte
	seed    maphash.Seed
	names   map[uint64]struct{} // hashes of names
	learned map[string]struct{} // the values
	size    int                 // of learned
	masked  int                 // objects with Secrets with values
	ready   bool
	index   index
	schema  schema // of the object that is masked
}

// New returns a Masker with the key of the HMAC.
func New(key []byte) *Masker {
	m := &Masker{key: key, seed: maphash.MakeSeed(), names: map[uint64]struct{}{}, learned: map[string]struct{}{}}
	for _, word := range publicWords {
		m.Name(word)
	}
	return m
}

// publicWords are values of fields that have a meaning in Kubernetes, Helm or Fleet. A Secret may have them as values too.
var publicWords = []string{"default", "Always", "IfNotPresent", "ClusterIP", "NodePort", "LoadBalancer", "ExternalName", "ClusterFirst", "RollingUpdate",
	"Recreate", "OnDelete", "Running", "Pending", "Succeeded", "Failed", "Unknown", "Opaque", "Namespaced", "Cluster", "Deployed", "deployed",
	"superseded", "Ready", "Active", "Terminating", "Retain", "Delete", "Exists", "Orphan", "Background", "Foreground", "production",
	"development", "staging", "enabled", "disabled", "localhost", "postgres", "kubernetes", "cluster.local", "application/json", "text/plain",
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

// Ready ends learning.
func (m *Masker) Ready() error {
	if m.size > maxValues {
		return ErrTooMany
	}
	m.ready = true
	for v := range m.learned {
		if !m.named(v) {
			m.index.add(v)
		}
	}
	return nil
}

// Masked returns the number of objects that are Secrets or contain them, and the number of different values.
func (m *Masker) Masked() (objects, values int) { return m.masked, len(m.learned) }

// learn adds a value that is searched for in other text, and its parts that may occur alone.
func (m *Masker) learn(v string) {
	if m.ready || public(v) {
		return
	}
	m.keep(strings.TrimSpace(v))
	if strings.Contains(v, "PRIVATE KEY-----") { // an indented block of a key has other line breaks
		for line := range strings.Lines(publicBlock.ReplaceAllString(v, "\n")) {
			if line = strings.TrimSpace(line); len(line) >= 16 && !strings.HasPrefix(line, "-----") {
				m.keep(line)
			}
		}
	}
}

// onlyMask matches a value that a program which captures clusters wrote instead of another one.
var onlyMask = regexp.MustCompile(`(?i)^[\W_x]*(redacted|masked)?[\W_]*$`)

func (m *Masker) keep(v string) {
	if _, known := m.learned[v]; known || len(v) < redact.MinLength || m.size > maxValues || m.Partial && onlyMask.MatchString(v) || isTime(v) {
		return
	}
	v = strings.Clone(v)
	m.learned[v] = struct{}{}
	m.size += len(v)
}

// digits are the digits of a token. A token is valid as a YAML scalar, in JSON, in an address and in a shell. It is no valid name of an object, so that
// it is never taken for one.
var digits = base32.HexEncoding.WithPadding(base32.NoPadding)

const tokenPrefix = redact.MaskPrefix

// isToken reports whether a text is a replacement, or what another program wrote instead of a value.
func isToken(text string) bool {
	return strings.HasPrefix(text, tokenPrefix) || redact.Masked([]byte(text))
}

// token returns the replacement of a value. White space around the value is kept, because programs drop it.
func (m *Masker) token(v string) string {
	text := strings.TrimSpace(v)
	if text == "" {
		return v
	}
	prefix := tokenPrefix
	if m.Partial && redact.Masked([]byte(text)) {
		prefix = "redacted_" // an audit must not compare it
	}
	before, after, _ := strings.Cut(v, text)
	return before + prefix + strings.ToLower(digits.EncodeToString(m.sum(text)[:10])) + after
}

func (m *Masker) sum(v string) []byte {
	h := hmac.New(sha256.New, m.key)
	h.Write([]byte(v)) // a hash returns no error
	return h.Sum(nil)
}

// filler returns a replacement of n base64 characters for a part of a longer encoded text, which stays valid.
func (m *Masker) filler(v string, n int) string {
	text := strings.ToLower(digits.EncodeToString(m.sum(v)))
	return strings.Repeat(text, n/len(text)+1)[:n]
}

// value learns a value and returns its token.
func (m *Masker) value(v string) string {
	m.learn(v)
	return m.token(v)
}

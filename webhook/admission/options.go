// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/journal"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// Index finds the releases that desire an object. It answers from memory; see package index.
type Index interface {
	Lookup(object.Key) []desired.Release
	BySet(hash string) []desired.Release
	HasRelease(name string) bool
	Unreadable() (namespaces []string, all bool)
}

// Namespaces returns the labels of fleetdoctor.io and its subdomains of a namespace; none for an unknown namespace.
// Callers must not change the map.
type Namespaces interface {
	Labels(namespace string) map[string]string
}

// Events records Events about objects. It must not block.
type Events interface {
	RateLimited(about corev1.ObjectReference, message string)
}

// Options configure the handlers.
type Options struct {
	Index      Index
	Namespaces Namespaces
	// Ready reports whether all records were read once. Until then requests pass unchanged.
	Ready func() bool
	// Live reports whether changes are received as they happen, and the release records of a namespace are read; the
	// namespace "" means all. If not, no request is denied because of a release in the namespace, and the ownership
	// metadata of an unknown owner is not replaced.
	Live         func(namespace string) bool
	GuardDefault GuardMode
	// RecheckDelay is the time that a request waits before a second decision, if a record that is not known yet may
	// change the decision: before a denial, and before the ownership metadata of an unknown owner is replaced. Helm
	// stores a record shortly before it applies the manifest, and only this record shows that a new service account, or
	// a new set, is Fleet's.
	RecheckDelay time.Duration
	RateLimiter  *RateLimiter
	Events       Events
	Observe      func(Outcome)
	// Seen is called for a request that passes and harms an object of a release; nil for none. It must not block.
	Seen func(journal.Seen, corev1.ObjectReference)
	Log  logr.Logger
}

// RecordMode selects the requests that are written down.
type RecordMode string

// The modes. RecordChanges also includes deletions.
const (
	RecordOff       RecordMode = "off"
	RecordDeletions RecordMode = "deletions"
	RecordChanges   RecordMode = "changes"
)

// Outcome describes an answered request. Its texts have few values, so that they can be labels of metrics.
type Outcome struct {
	Handler  string // "stamp", "stamp-exact" or "guard"
	Decision Action
	Reason   Reason
	Took     time.Duration
}

// SPDX-License-Identifier: Apache-2.0

package watched

import (
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// Options of a Source. A zero value means the default.
type Options struct {
	// Changed receives each change after the first answer to a List. It is called from several goroutines, and must
	// return soon.
	Changed func(Change)
	// Backoff is the wait of a watch before its next request after a failure.
	Backoff func() *wait.Backoff
	// Grace is how long after the end of a watch the objects count as current; the next watch normally begins at once.
	Grace time.Duration
	// WatchTimeout is how long a watch is open at most; zero for the 5 to 10 minutes of client-go. A server does not
	// end the watches of a user who lost a right.
	WatchTimeout time.Duration
	// Now is the clock.
	Now func() time.Time
}

// DefaultGrace is the default of Options.Grace.
const DefaultGrace = 10 * time.Second

// defaultBackoff is the default of Options.Backoff. A right that was given back is noticed after at most its Cap.
func defaultBackoff() *wait.Backoff {
	return &wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 10, Cap: 30 * time.Second}
}

// Change is a change of one object, or of what can be read of a kind.
type Change struct {
	Kind schema.GroupVersionKind
	// Key is the object; its name is empty if the change is that of a coverage.
	Key object.Key
	// Since is the time since which objects of the kind may have changed; zero for a change of one object, which just
	// arrived.
	Since time.Time
	// Asked are the recorded queries that select the object before or after the change, or the kind.
	Asked []source.Query
}

// interned keeps each namespace once.
type interned struct {
	mu     sync.Mutex
	values map[string]string
}

func (i *interned) of(s string) string {
	i.mu.Lock()
	defer i.mu.Unlock()
	known, ok := i.values[s]
	if !ok {
		if i.values == nil {
			i.values = map[string]string{}
		}
		known = strings.Clone(s)
		i.values[known] = known
	}
	return known
}

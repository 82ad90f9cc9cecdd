// SPDX-License-Identifier: Apache-2.0

package watched

import (
	"errors"
	"sync"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// arrivals passes the objects of the first list to the reader that waits for it, one by one as they arrive. So those
// that it remembers are never in memory. A nil value passes nothing.
type arrivals struct {
	remembered func(namespace, name, version string) bool

	mu sync.Mutex // guards the fields below
	// yield is nil when the reader does not wait any more. passed is true if it has received an object.
	yield  func(source.Object) error
	passed bool
	err    error
	// later are the objects that changed while the list was read.
	later []objectName
}

var errListedAgain = errors.New("a list was interrupted, and is read again")

// begin records that a list begins. If an interrupted one had objects, the reader must begin again too.
func (a *arrivals) begin() {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.passed && a.yield != nil {
		a.err, a.yield = errListedAgain, nil
	}
}

// pass passes an object. It returns true if its content is not needed any more.
func (a *arrivals) pass(o source.Object, name objectName, version string) bool {
	if a == nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.yield == nil {
		return false
	}
	a.passed = true
	if a.err = a.yield(o); a.err != nil {
		a.yield = nil
		return false
	}
	return a.remembered(name.namespace, name.name, version)
}

// changed records that an object changed while the list is read.
func (a *arrivals) changed(name objectName) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.yield != nil {
		a.later = append(a.later, name)
	}
}

// end ends the passing. It returns the objects that changed in the meantime, and why not all objects were passed.
func (a *arrivals) end() (later []objectName, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.yield = nil
	return a.later, a.err
}

// SPDX-License-Identifier: Apache-2.0

package auditor

import (
	"errors"
	"testing"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/watched"
)

// TestCurrent checks until when a published state has all changes that were taken, in seconds since its begin.
func TestCurrent(t *testing.T) {
	begin := time.Unix(1_000_000, 0)
	at := func(second int) time.Time { return begin.Add(time.Duration(second) * time.Second) }
	var p progress
	current := func(now, want int) {
		t.Helper()
		if got, ok := p.current(at(now)); !ok || !got.Equal(at(want)) {
			t.Errorf("at %d: the state has all changes until %s (%t), want %d", now, got.Sub(begin), ok, want)
		}
	}
	p.publish(at(0), errors.New("nothing was read"))
	if _, ok := p.current(at(1)); ok {
		t.Error("a state is current before the first one")
	}
	p.take(time.Time{})
	p.publish(at(2), nil)
	current(10, 10)
	p.take(at(11))
	current(20, 11)
	p.publish(at(21), errors.New("the server does not answer"))
	current(30, 11)
	p.take(at(29))
	p.publish(at(31), nil)
	current(40, 40)
	p.take(time.Time{}) // nothing changed
	current(50, 50)
	p.publish(at(51), errors.New("the server does not answer"))
	current(60, 51)
}

// TestLacks checks since when the objects in the inbox may have changed: an interruption began before it is reported.
func TestLacks(t *testing.T) {
	begin := time.Unix(1_000_000, 0)
	now := begin
	x := newInbox(func() time.Time { return now })
	if at := x.lacks(); !at.IsZero() {
		t.Errorf("an empty inbox lacks changes since %s", at)
	}
	now = begin.Add(time.Minute)
	x.add(watched.Change{Key: object.Key{Name: "a"}})
	x.add(watched.Change{Since: begin})
	if at := x.lacks(); !at.Equal(begin) {
		t.Errorf("it lacks changes since %s, want %s", at, begin)
	}
	if b := x.take(); !b.since.Equal(now) || !b.lacks.Equal(begin) || !x.lacks().IsZero() {
		t.Errorf("the batch has changes since %s and lacks them since %s", b.since, b.lacks)
	}
}

// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/adopt"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
)

// many is how many objects there are where writing is to be interrupted: more than are written to at once.
const many = 20

// items is a bundle of many objects that have lost their marks.
func items(t *testing.T) (b *bundle, before []*unstructured.Unstructured) {
	t.Helper()
	f := newFleet(t, shared)
	objs, manifest := configMaps(many)
	b = f.deploy("items", manifest)
	f.strip(objs...)
	return b, f.getAll(objs...)
}

// stamped counts the objects that carry the bundle's marks.
func (b *bundle) stamped(objs []*unstructured.Unstructured) int {
	b.t.Helper()
	n := 0
	for _, now := range b.getAll(objs...) {
		if cmp.Equal(stampsOf(now), b.stamps()) {
			n++
		}
	}
	return n
}

// kill starts the program behind a proxy, and kills it when it has written n objects and is about to do more.
func (b *bundle) kill(n int, ready func(), args ...string) {
	b.t.Helper()
	p := b.proxy()
	stalled, _ := p.stallAfter(n)
	cmd := exec.CommandContext(b.t.Context(), built.path(b.t), append([]string{"adopt", "--kubeconfig", p.kubeconfig, "--yes"}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	await(b.t, fmt.Sprintf("%d objects are written, and more is about to be done", n), stalled)
	ready()
	if err := cmd.Process.Kill(); err != nil {
		b.t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		b.t.Errorf("it came to its end before it was killed: %s", &stderr)
	}
}

// TestKilled kills the program at every stage: the receipt is there and nothing was written; some of it; all, and nothing was said of it.
func TestKilled(t *testing.T) {
	b, before := items(t)
	for _, n := range []int{0, 7, many} {
		t.Run(fmt.Sprintf("after %d writes", n), func(t *testing.T) {
			receipt := filepath.Join(t.TempDir(), "receipt.jsonl")
			b.kill(n, func() { awaitReceipt(t, receipt, n) }, "--receipt", receipt)
			if got := b.stamped(before); got != n {
				t.Fatalf("%d objects were adopted, want %d", got, n)
			}
			if objects, settled := outcomes(t, receipt); objects != many || settled["Done"] != n {
				t.Errorf("the receipt names %d objects, and as done %v, want %d and %d", objects, settled, many, n)
			}
			a := b.adopt("--yes")
			if a.status != 0 || a.document.Summary.Done != many-n {
				t.Errorf("going on: status %d, %+v: %s", a.status, a.document.Summary, a.stderr)
			}
			b.onlyMarks(b.stamps(), before...)

			b.kill(many/2, func() {}, "--undo", receipt) // of the run that was killed, it takes back what the second one did, too
			if got := b.stamped(before); got != many/2 {
				t.Errorf("%d objects are adopted after half of them was taken back", got)
			}
			undone := b.undo(receipt)
			if s := undone.document.Summary; undone.status != 0 || s.Done != many/2 || s.Unchanged != many/2 {
				t.Errorf("undoing: status %d, %+v: %s", undone.status, s, undone.stderr)
			}
			b.restored(before...)
			if n < many {
				again := b.undo(a.receipt)
				if again.status != 0 || again.document.Summary.Unchanged != many-n {
					t.Errorf("undoing what was undone: status %d, %+v", again.status, again.document.Summary)
				}
			}
		})
	}
}

// awaitReceipt returns when a receipt of many objects has the results of n writes.
func awaitReceipt(t *testing.T, receipt string, n int) {
	t.Helper()
	poll.Until(t, func() error {
		content, err := os.ReadFile(receipt)
		if lines := bytes.Count(content, []byte("\n")); err == nil && lines != 1+many+n { // a header, the objects, the results
			err = fmt.Errorf("the receipt has %d lines, want %d", lines, 1+many+n)
		}
		return err
	})
}

// TestUndoneAtOnce undoes the receipt of a run that was killed in the middle, without going on first.
func TestUndoneAtOnce(t *testing.T) {
	b, before := items(t)
	receipt := filepath.Join(t.TempDir(), "receipt.jsonl")
	b.kill(5, func() {}, "--receipt", receipt)
	undone := b.undo(receipt)
	if s := undone.document.Summary; undone.status != 0 || s.Done != 5 || s.Unchanged != many-5 {
		t.Errorf("status %d, %+v: %s", undone.status, s, undone.stderr)
	}
	b.restored(before...)
}

// TestWritesInterrupted interrupts the program in the middle of its writes: those that are under way are finished, no other is begun, and it
// says what was done.
func TestWritesInterrupted(t *testing.T) {
	b, before := items(t)
	p := b.proxy()
	stalled, letGo := p.stallAfter(5)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	go func() {
		defer letGo()
		select {
		case <-stalled:
		case <-ctx.Done():
		}
		interrupt()
	}()
	receipt := filepath.Join(t.TempDir(), "receipt.jsonl")
	a := adoption{result: run(ctx, t, "adopt", "--kubeconfig", p.kubeconfig, "--yes", "-o", "json", "--receipt", receipt)}
	a.document = adoptionOf(t, a.stdout)
	if a.status != 3 || a.document == nil {
		t.Fatalf("status %d, stdout %s, stderr %s", a.status, a.stdout, a.stderr)
	}
	says(t, "stderr", a.stderr, "interrupted: ", "were not tried", "--undo "+receipt)
	done := b.stamped(before)
	if s := a.document.Summary; s.Done != done || s.Change != many || s.Failed != 0 || done < 5 || done > 5+adopt.Concurrency {
		t.Errorf("%d objects were adopted, and it says %+v", done, s)
	}
	if objects, settled := outcomes(t, receipt); objects != many || settled["Done"] != done {
		t.Errorf("the receipt names %d objects, and as done %v; want %d", objects, settled, done)
	}
	if undone := b.undo(receipt); undone.status != 0 || undone.document.Summary.Done != done {
		t.Errorf("undoing: status %d, %+v", undone.status, undone.document.Summary)
	}
	b.restored(before...)
}

// TestCtrlCWhileWriting interrupts the program as it is shipped, while no write is answered. It ends all the same, says that it does not know
// what became of them, and the receipt takes back whatever was done.
func TestCtrlCWhileWriting(t *testing.T) {
	b, before := items(t)
	p := b.proxy()
	stalled, letGo := p.stallAfter(5)
	receipt := filepath.Join(t.TempDir(), "receipt.jsonl")
	cmd := exec.CommandContext(t.Context(), built.path(t), "adopt", "--kubeconfig", p.kubeconfig, "--yes", "--receipt", receipt)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, "five objects are written", stalled)
	awaitReceipt(t, receipt, 5)
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if got := waitFor(t, cmd); got != 3 {
		t.Errorf("status %d, want 3", got)
	}
	letGo()
	says(t, "stdout", stdout.String(), fmt.Sprintf("Adopted 5 of %d objects", many), "whether it was written is not known")
	says(t, "stderr", stderr.String(), "interrupted: the server did not answer", "were not tried", "--undo "+receipt)
	done := b.stamped(before)
	if objects, settled := outcomes(t, receipt); objects != many || settled["Done"] != 5 || settled["Failed unanswered"] == 0 || done != 5 {
		t.Errorf("%d objects were adopted; the receipt names %d, and as settled %v", done, objects, settled)
	}
	if undone := b.undo(receipt); undone.status != 0 || undone.document.Summary.Done != done {
		t.Errorf("undoing: status %d, %+v: %s", undone.status, undone.document.Summary, undone.stderr)
	}
	b.restored(before...)
}

// TestTwoAtOnce runs two adoptions of the same objects at the same time. Each object is adopted once, both say so, and either can be undone.
func TestTwoAtOnce(t *testing.T) {
	b, before := items(t)
	p := b.proxy()
	both := barrier(t, 2*adopt.Concurrency)
	p.intercept(func(r *http.Request) {
		if r.Method == http.MethodPatch {
			both()
		}
	})
	var group errgroup.Group
	results, receipts := make([]result, 2), make([]string, 2)
	for i := range results {
		receipts[i] = filepath.Join(t.TempDir(), "receipt.jsonl")
		group.Go(func() error {
			results[i] = run(t.Context(), t, "adopt", "--kubeconfig", p.kubeconfig, "--yes", "-o", "json", "--receipt", receipts[i])
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		a := adoption{result: r, document: adoptionOf(t, r.stdout)}
		if a.status != 0 || a.document == nil || a.document.Summary.Done != many {
			t.Errorf("status %d: %s%s", a.status, a.stdout, a.stderr)
		}
	}
	stored := 0
	for _, r := range p.seen() {
		if r.method == http.MethodPatch && r.status == http.StatusOK {
			stored++
		}
	}
	if stored != many {
		t.Errorf("%d writes were stored for %d objects", stored, many)
	}
	b.onlyMarks(b.stamps(), before...)
	for i, done := range []int{many, 0} {
		if u := b.undo(receipts[i]); u.status != 0 || u.document.Summary.Done != done {
			t.Errorf("undo %d: status %d, %+v", i+1, u.status, u.document.Summary)
		}
	}
	b.restored(before...)
}

// barrier delays each caller until there are n; later callers pass.
func barrier(t *testing.T, n int) func() {
	var mu sync.Mutex
	open := make(chan struct{})
	return func() {
		mu.Lock()
		if n--; n == 0 {
			close(open)
		}
		mu.Unlock()
		select {
		case <-open:
		case <-time.After(poll.Deadline): // an emergency stop
			t.Error("fewer callers than expected arrive at the same time")
		}
	}
}

// TestReceiptsOfOneSecond begins a second adoption within a second of the first: its receipt gets another name.
func TestReceiptsOfOneSecond(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("guestbook", guestbook)
	f.strip(parts()...)
	before := f.getAll(parts()...)
	t.Chdir(t.TempDir())
	now := time.Now().UTC()
	name := "fleetdoctor-adopt-" + now.Format("20060102-150405")
	if err := os.WriteFile(name+".jsonl", []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	stopped := func(env *verb.Environment) { env.Now = func() time.Time { return now } }
	r := runWith(t.Context(), t, []cmd.Option{stopped}, "adopt", "--kubeconfig", f.kubeconfig, "--yes", "-o", "json")
	a := adoptionOf(t, r.stdout)
	if r.status != 0 || a == nil || a.Receipt != name+"-2.jsonl" {
		t.Fatalf("status %d, %+v: %s", r.status, a, r.stderr)
	}
	b.onlyMarks(b.stamps(), before...)
	if u := f.undo(a.Receipt); u.status != 0 || u.document.Summary.Done != 3 {
		t.Errorf("undoing %s: status %d: %s", a.Receipt, u.status, u.stderr)
	}
	f.restored(before...)
}

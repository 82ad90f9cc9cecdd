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

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/repair"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
)

// itemCount is the number of objects in tests that interrupt writes. It is larger than the number of parallel
// writes.
const itemCount = 20

// unownedItems deploys a bundle of itemCount objects and removes their ownership metadata.
func unownedItems(t *testing.T) (b *bundle, before []*unstructured.Unstructured) {
	t.Helper()
	f := newFleet(t, shared)
	objs, manifest := configMaps(itemCount)
	b = f.deploy("items", manifest)
	f.removeOwnership(objs...)
	return b, f.getAll(objs...)
}

// countOwned counts the objects with the bundle's ownership metadata.
func (b *bundle) countOwned(objs []*unstructured.Unstructured) int {
	b.t.Helper()
	n := 0
	for _, now := range b.getAll(objs...) {
		if cmp.Equal(ownershipOf(now), b.ownership()) {
			n++
		}
	}
	return n
}

// kill starts the program behind a proxy, and kills it when n objects are written and the next request is sent.
// ready is called before that.
func (b *bundle) kill(n int, ready func(), args ...string) {
	b.t.Helper()
	b.killVerb("adopt", n, ready, args...)
}

// killVerb is kill for a verb.
func (b *bundle) killVerb(verb string, n int, ready func(), args ...string) {
	b.t.Helper()
	p := b.proxy()
	stalled, _ := p.stallAfter(n)
	cmd := exec.CommandContext(b.t.Context(), built.path(b.t),
		append([]string{verb, "--kubeconfig", p.kubeconfig, "--yes"}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	await(b.t, fmt.Sprintf("%d objects are written, and the next request is sent", n), stalled)
	ready()
	if err := cmd.Process.Kill(); err != nil {
		b.t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		b.t.Errorf("the program ended before it was killed: %s", &stderr)
	}
}

// TestKilledWhileWriting kills the program after the receipt is written, after some writes, and after all writes.
func TestKilledWhileWriting(t *testing.T) {
	b, before := unownedItems(t)
	for _, n := range []int{0, 7, itemCount} {
		t.Run(fmt.Sprintf("after %d writes", n), func(t *testing.T) {
			receipt := filepath.Join(t.TempDir(), "receipt.jsonl")
			b.kill(n, func() { awaitReceipt(t, receipt, n) }, "--receipt", receipt)
			if got := b.countOwned(before); got != n {
				t.Fatalf("%d objects were adopted, want %d", got, n)
			}
			if objects, settled := receiptOutcomes(t, receipt); objects != itemCount || settled["Done"] != n {
				t.Errorf("the receipt has %d objects and the outcomes %v, want %d and %d", objects, settled, itemCount,
					n)
			}
			a := b.adopt("--yes")
			if a.status != 0 || a.document.Summary.Done != itemCount-n {
				t.Errorf("adopting again: status %d, %+v: %s", a.status, a.document.Summary, a.stderr)
			}
			b.expectOnlyOwnership(b.ownership(), before...)

			// the receipt of the killed run also undoes the writes of the second run
			b.kill(itemCount/2, func() {}, "--undo", receipt)
			if got := b.countOwned(before); got != itemCount/2 {
				t.Errorf("%d objects are adopted after half of them were undone", got)
			}
			undone := b.undo(receipt)
			if s := undone.document.Summary; undone.status != 0 || s.Done != itemCount/2 || s.Unchanged != itemCount/2 {
				t.Errorf("undoing: status %d, %+v: %s", undone.status, s, undone.stderr)
			}
			b.expectRestored(before...)
			if n < itemCount {
				again := b.undo(a.receipt)
				if again.status != 0 || again.document.Summary.Unchanged != itemCount-n {
					t.Errorf("undoing again: status %d, %+v", again.status, again.document.Summary)
				}
			}
		})
	}
}

// awaitReceipt returns when a receipt of itemCount objects has the results of n writes.
func awaitReceipt(t *testing.T, receipt string, n int) {
	t.Helper()
	poll.Until(t, func() error {
		content, err := os.ReadFile(receipt)
		// a header, the objects, the results
		if lines := bytes.Count(content, []byte("\n")); err == nil && lines != 1+itemCount+n {
			err = fmt.Errorf("the receipt has %d lines, want %d", lines, 1+itemCount+n)
		}
		return err
	})
}

// TestUndoAfterKill undoes the receipt of a run that was killed, without finishing the adoption first.
func TestUndoAfterKill(t *testing.T) {
	b, before := unownedItems(t)
	receipt := filepath.Join(t.TempDir(), "receipt.jsonl")
	b.kill(5, func() {}, "--receipt", receipt)
	undone := b.undo(receipt)
	if s := undone.document.Summary; undone.status != 0 || s.Done != 5 || s.Unchanged != itemCount-5 {
		t.Errorf("status %d, %+v: %s", undone.status, s, undone.stderr)
	}
	b.expectRestored(before...)
}

// TestWritesInterrupted interrupts the program while it writes: it finishes the writes in progress, starts no
// other, and reports what was done.
func TestWritesInterrupted(t *testing.T) {
	b, before := unownedItems(t)
	p := b.proxy()
	stalled, release := p.stallAfter(5)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	go func() {
		defer release()
		select {
		case <-stalled:
		case <-ctx.Done():
		}
		interrupt()
	}()
	receipt := filepath.Join(t.TempDir(), "receipt.jsonl")
	a := adoption{result: run(ctx, t, "adopt", "--kubeconfig", p.kubeconfig, "--yes", "-o", "json", "--receipt",
		receipt)}
	a.document = decodeAdoption(t, a.stdout)
	if a.status != 3 || a.document == nil {
		t.Fatalf("status %d, stdout %s, stderr %s", a.status, a.stdout, a.stderr)
	}
	expectContains(t, "stderr", a.stderr, "interrupted: ", "were not tried", "--undo "+receipt)
	done := b.countOwned(before)
	if s := a.document.Summary; s.Done != done || s.Change != itemCount || s.Failed != 0 || done < 5 ||
		done > 5+repair.Concurrency {
		t.Errorf("%d objects were adopted, and the summary is %+v", done, s)
	}
	if objects, settled := receiptOutcomes(t, receipt); objects != itemCount || settled["Done"] != done {
		t.Errorf("the receipt has %d objects and the outcomes %v; want %d", objects, settled, done)
	}
	if undone := b.undo(receipt); undone.status != 0 || undone.document.Summary.Done != done {
		t.Errorf("undoing: status %d, %+v", undone.status, undone.document.Summary)
	}
	b.expectRestored(before...)
}

// TestInterruptWithoutResponse interrupts the program while the server answers no write. The program ends, reports
// that the result of these writes is not known, and the receipt can undo what was done.
func TestInterruptWithoutResponse(t *testing.T) {
	b, before := unownedItems(t)
	p := b.proxy()
	stalled, release := p.stallAfter(5)
	receipt := filepath.Join(t.TempDir(), "receipt.jsonl")
	cmd := exec.CommandContext(t.Context(), built.path(t), "adopt", "--kubeconfig", p.kubeconfig, "--yes", "--receipt",
		receipt)
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
	release()
	expectContains(t, "stdout", stdout.String(), fmt.Sprintf("Adopted 5 of %d objects", itemCount),
		"whether it was written is not known")
	expectContains(t, "stderr", stderr.String(), "interrupted: the server did not answer", "were not tried",
		"--undo "+receipt)
	done := b.countOwned(before)
	if objects, settled := receiptOutcomes(t, receipt); objects != itemCount || settled["Done"] != 5 ||
		settled["Failed unanswered"] == 0 || done != 5 {
		t.Errorf("%d objects were adopted; the receipt has %d objects and the outcomes %v", done, objects, settled)
	}
	if undone := b.undo(receipt); undone.status != 0 || undone.document.Summary.Done != done {
		t.Errorf("undoing: status %d, %+v: %s", undone.status, undone.document.Summary, undone.stderr)
	}
	b.expectRestored(before...)
}

// TestParallelAdoptions runs two adoptions of the same objects at the same time. Each object is written once, both
// runs report success, and both can be undone.
func TestParallelAdoptions(t *testing.T) {
	b, before := unownedItems(t)
	p := b.proxy()
	both := barrier(t, 2*repair.Concurrency)
	p.onRequest(func(r *http.Request) {
		if r.Method == http.MethodPatch {
			both()
		}
	})
	var group errgroup.Group
	results, receipts := make([]result, 2), make([]string, 2)
	for i := range results {
		receipts[i] = filepath.Join(t.TempDir(), "receipt.jsonl")
		group.Go(func() error {
			results[i] = run(t.Context(), t, "adopt", "--kubeconfig", p.kubeconfig, "--yes", "-o", "json", "--receipt",
				receipts[i])
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		a := adoption{result: r, document: decodeAdoption(t, r.stdout)}
		if a.status != 0 || a.document == nil || a.document.Summary.Done != itemCount {
			t.Errorf("status %d: %s%s", a.status, a.stdout, a.stderr)
		}
	}
	stored := 0
	for _, r := range p.seen() {
		if r.method == http.MethodPatch && r.status == http.StatusOK {
			stored++
		}
	}
	if stored != itemCount {
		t.Errorf("%d writes were stored for %d objects", stored, itemCount)
	}
	b.expectOnlyOwnership(b.ownership(), before...)
	for i, done := range []int{itemCount, 0} {
		if u := b.undo(receipts[i]); u.status != 0 || u.document.Summary.Done != done {
			t.Errorf("undo %d: status %d, %+v", i+1, u.status, u.document.Summary)
		}
	}
	b.expectRestored(before...)
}

// barrier delays each caller until there are n; later callers pass.
func barrier(t *testing.T, n int) func() {
	t.Helper()
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

// TestReceiptNameExists starts an adoption when the default name of its receipt exists. The receipt gets another
// name.
func TestReceiptNameExists(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("guestbook", guestbook)
	f.removeOwnership(guestbookObjects()...)
	before := f.getAll(guestbookObjects()...)
	t.Chdir(t.TempDir())
	now := time.Now().UTC()
	name := "fleetdoctor-adopt-" + now.Format("20060102-150405")
	if err := os.WriteFile(name+".jsonl", []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := runWith(t.Context(), t, cli.Environment{Now: func() time.Time { return now }}, "adopt", "--kubeconfig",
		f.kubeconfig, "--yes", "-o", "json")
	a := decodeAdoption(t, r.stdout)
	if r.status != 0 || a == nil || a.Receipt != name+"-2.jsonl" {
		t.Fatalf("status %d, %+v: %s", r.status, a, r.stderr)
	}
	b.expectOnlyOwnership(b.ownership(), before...)
	if u := f.undo(a.Receipt); u.status != 0 || u.document.Summary.Done != 3 {
		t.Errorf("undoing %s: status %d: %s", a.Receipt, u.status, u.stderr)
	}
	f.expectRestored(before...)
}

// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/view"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/journal"
)

const (
	// namePrefix begins the names of the ConfigMaps. The time at which each was begun follows.
	namePrefix = "fleetdoctor-journal-"
	// managedBy is the label of the program that keeps an object.
	managedBy = "app.kubernetes.io/managed-by"
	// maxConfigMaps is the number of ConfigMaps.
	maxConfigMaps = 20
	// maxEntries and maxBytes limit one of them. The limit of the API is 1 MiB.
	maxEntries      = 1000
	maxJournalBytes = 512 << 10
	// maxShare is the number of bytes of the entries about the releases of one namespace from which on no more are
	// added. So who can write releases in one namespace cannot push out what is known about others.
	maxShare = 5 << 19 // a quarter of all
	// maxWaitingEntries is the number of entries that wait to be written.
	maxWaitingEntries = 1000
	// pruneAfter is how often ConfigMaps with only old entries are searched for.
	pruneAfter = time.Hour
)

// Journal writes the journal. Its methods are safe for concurrent use. Only one Journal may write in a namespace.
type Journal struct {
	client  client.ConfigMapInterface
	options Options

	mu      sync.Mutex
	waiting []journal.Entry
	// used are the bytes of the entries in books, by the namespace of the release.
	used map[string]int

	// books are the ConfigMaps, the oldest one first; nil if they must be read. Only Write uses them.
	books  []*corev1.ConfigMap
	pruned time.Time
}

// NewJournal makes a Journal. It writes nothing before Write.
func NewJournal(c client.ConfigMapsGetter, o Options) *Journal {
	o.Log = o.Log.WithName("journal")
	return &Journal{client: c.ConfigMaps(o.Namespace), options: o}
}

// Update adds what vanished in a step. It does not block.
func (w *Journal) Update(s *view.Step) {
	w.mu.Lock()
	defer w.mu.Unlock()
	found := slices.DeleteFunc(entriesOf(s), w.overShare)
	n := min(len(found), maxWaitingEntries-len(w.waiting))
	w.waiting = append(w.waiting, found[:n]...)
	if dropped := len(found) - n; dropped > 0 {
		w.options.Log.Info("The journal will lack entries, because too many wait to be written", "entries", dropped)
	}
}

// overShare reports whether an entry is one too many about the releases of its namespace. The caller holds mu.
func (w *Journal) overShare(e journal.Entry) bool {
	namespace := namespaceOf(e)
	over := w.used[namespace] >= maxShare
	if over {
		w.options.Log.Info("The journal lacks an entry, because there are too many about the releases of its namespace",
			"namespace", namespace, "release", e.Release, "bytes", maxShare)
	}
	return over
}

// count changes what the entries of a text use, by its bytes (sign 1) or the negative (sign -1).
func (w *Journal) count(text string, sign int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for line := range strings.Lines(text) {
		entries, _ := journal.Decode(line)
		for _, e := range entries {
			w.used[namespaceOf(e)] += sign * len(line)
		}
	}
}

// namespaceOf returns the namespace of the release of an entry or, without a release, of its bundle deployment.
func namespaceOf(e journal.Entry) string {
	namespace, _ := view.Split(cmp.Or(e.Release, e.BundleDeployment))
	return namespace
}

// Discard discards entries of what vanished before a time and is not written.
func (w *Journal) Discard(before time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting = slices.DeleteFunc(w.waiting, func(e journal.Entry) bool { return e.To.Before(before) })
}

// Write writes the entries that wait, and removes what is too old. It sends no request if there is nothing to do. After
// an error, the entries still wait.
func (w *Journal) Write(ctx context.Context) error {
	w.mu.Lock()
	entries := slices.Clone(w.waiting)
	w.mu.Unlock()
	now := w.options.Now()
	if len(entries) == 0 && now.Sub(w.pruned) < pruneAfter {
		return nil
	}
	if err := w.write(ctx, entries, now); err != nil {
		w.books = nil // read them again: another writer may have changed them
		return err
	}
	w.pruned = now
	return nil
}

func (w *Journal) write(ctx context.Context, entries []journal.Entry, now time.Time) error {
	if err := w.load(ctx); err != nil {
		return err
	}
	written := w.newest()
	for len(entries) > 0 {
		if slices.ContainsFunc(written, func(x journal.Entry) bool { return x.Same(&entries[0]) }) {
			entries = w.done(entries, 1)
			continue
		}
		n, err := w.append(ctx, entries, now)
		if err != nil {
			return err
		}
		entries = w.done(entries, n)
	}
	return w.prune(ctx, now)
}

// done removes the first entries, which are in the journal.
func (w *Journal) done(entries []journal.Entry, n int) []journal.Entry {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting = w.waiting[min(n, len(w.waiting)):] // Discard may have removed some
	return entries[n:]
}

// newest returns the entries of the newest ConfigMap. The former leader may have written some of those that wait; their
// times differ, because each replica evaluates at its own times.
func (w *Journal) newest() []journal.Entry {
	if len(w.books) == 0 {
		return nil
	}
	entries, _ := journal.Decode(w.books[len(w.books)-1].Data[journal.Key])
	return entries
}

// load reads the ConfigMaps.
func (w *Journal) load(ctx context.Context) error {
	if w.books != nil {
		return nil
	}
	list, err := w.client.List(ctx, metav1.ListOptions{LabelSelector: journal.Label + "=true"})
	if err != nil {
		return fmt.Errorf("listing the ConfigMaps of the journal in namespace %s: %w", w.options.Namespace, err)
	}
	w.books = []*corev1.ConfigMap{}
	w.mu.Lock()
	w.used = map[string]int{}
	w.mu.Unlock()
	for i := range list.Items {
		w.books = append(w.books, &list.Items[i])
		w.count(list.Items[i].Data[journal.Key], 1)
	}
	slices.SortFunc(w.books, func(x, y *corev1.ConfigMap) int { return cmp.Compare(x.Name, y.Name) })
	return nil
}

// append writes as many of the entries as fit into the newest ConfigMap, or into a new one, and returns their number.
func (w *Journal) append(ctx context.Context, entries []journal.Entry, now time.Time) (int, error) {
	text := ""
	if len(w.books) > 0 {
		text = w.books[len(w.books)-1].Data[journal.Key]
	}
	more, n, err := fitting(text, entries)
	if err != nil {
		return 0, err
	}
	if n > 0 && len(w.books) > 0 {
		book := w.books[len(w.books)-1].DeepCopy()
		book.Data = map[string]string{journal.Key: text + more}
		written, err := w.client.Update(ctx, book, metav1.UpdateOptions{})
		if err != nil {
			return 0, fmt.Errorf("updating ConfigMap %s/%s: %w", book.Namespace, book.Name, err)
		}
		w.books[len(w.books)-1] = written
		w.count(more, 1)
		return n, nil
	}
	more, n, err = fitting("", entries)
	if err != nil {
		return 0, err
	}
	book := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.options.Namespace,
		Name:   namePrefix + strings.ReplaceAll(now.UTC().Format("20060102-150405.000"), ".", "-"),
		Labels: map[string]string{journal.Label: "true", managedBy: source}},
		Data: map[string]string{journal.Key: more}}
	written, err := w.client.Create(ctx, book, metav1.CreateOptions{})
	if err != nil {
		return 0, fmt.Errorf("creating ConfigMap %s/%s: %w", book.Namespace, book.Name, err)
	}
	w.books = append(w.books, written)
	w.count(more, 1)
	return n, nil
}

// fitting encodes as many of the entries as fit behind a text, and returns their number. One entry fits behind an empty
// text.
func fitting(text string, entries []journal.Entry) (more string, n int, err error) {
	var b strings.Builder
	lines := strings.Count(text, "\n")
	for i := range entries {
		line, err := json.Marshal(&entries[i])
		if err != nil {
			return "", 0, err
		}
		full := lines+i >= maxEntries || len(text)+b.Len()+len(line) >= maxJournalBytes
		if full && len(text)+i > 0 {
			return b.String(), i, nil
		}
		b.Write(append(line, '\n'))
	}
	return b.String(), len(entries), nil
}

// prune removes the ConfigMaps with only old entries, and the oldest ones of too many.
func (w *Journal) prune(ctx context.Context, now time.Time) error {
	for len(w.books) > 0 && (len(w.books) > maxConfigMaps || old(w.books[0], now)) {
		err := w.client.Delete(ctx, w.books[0].Name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("deleting ConfigMap %s/%s: %w", w.options.Namespace, w.books[0].Name, err)
		}
		w.count(w.books[0].Data[journal.Key], -1)
		w.books = w.books[1:]
	}
	return nil
}

// old reports whether all entries of a ConfigMap are older than they are kept. One without entries is old.
func old(book *corev1.ConfigMap, now time.Time) bool {
	entries, _ := journal.Decode(book.Data[journal.Key])
	return !slices.ContainsFunc(entries, func(e journal.Entry) bool { return now.Sub(e.To) < journal.Kept })
}

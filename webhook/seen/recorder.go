// SPDX-License-Identifier: Apache-2.0

// Package seen writes down who deleted objects of Fleet's releases, or took ownership metadata from them. It writes an
// Event about the object, and a line in a ConfigMap that only the webhook and administrators can write.
package seen

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/lru"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/journal"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

const (
	// pause is how long a second request for the same object and verb is left out.
	pause = time.Minute
	// maxKnown bounds the objects whose last request is known.
	maxKnown = 4096
	// maxWaiting bounds the requests that wait to be written.
	maxWaiting = 1000
	// maxLines and maxBytes bound the ConfigMap. The limit of the API is 1 MiB.
	maxLines, maxBytes = 2000, 512 << 10
	// writeEvery is how often requests are written. lastWrite limits the last write before the end.
	writeEvery, lastWrite = time.Second, 3 * time.Second
)

// ConfigMaps is the part of a client that is used.
type ConfigMaps interface {
	Get(ctx context.Context, name string, o metav1.GetOptions) (*corev1.ConfigMap, error)
	Update(ctx context.Context, m *corev1.ConfigMap, o metav1.UpdateOptions) (*corev1.ConfigMap, error)
}

// Recorder writes down requests. Its methods are safe for concurrent use. Several replicas may write to the same
// ConfigMap.
type Recorder struct {
	client ConfigMaps
	// event records an Event. It does not block.
	event func(about corev1.ObjectReference, s journal.Seen)
	// dropped is called for each request that is not written down, because too many wait.
	dropped func()
	log     logr.Logger

	mu      sync.Mutex
	waiting []journal.Seen
	known   *lru.Cache // subject -> time.Time

	failed string // the last error; only Start uses it
}

type subject struct {
	object object.Key
	verb   journal.Verb
}

// New makes a Recorder.
func New(c ConfigMaps, event func(corev1.ObjectReference, journal.Seen), dropped func(), log logr.Logger) *Recorder {
	return &Recorder{client: c, event: event, dropped: dropped, log: log, known: lru.New(maxKnown)}
}

// Add adds a request. It does not block. A second request for the same object and verb within a minute is left out.
func (r *Recorder) Add(s journal.Seen, about corev1.ObjectReference) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := subject{s.Key(), s.Verb}
	last, isKnown := r.known.Get(k)
	if before, ok := last.(time.Time); isKnown && ok && s.Time.Sub(before) < pause {
		return
	}
	r.known.Add(k, s.Time)
	if len(r.waiting) >= maxWaiting {
		r.dropped()
		return
	}
	r.waiting = append(r.waiting, s)
	r.event(about, s)
}

// Start writes what was added, until the context ends. It implements manager.Runnable.
func (r *Recorder) Start(ctx context.Context) error {
	tick := time.NewTicker(writeEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			last, stop := context.WithTimeout(context.WithoutCancel(ctx), lastWrite)
			r.attempt(last)
			stop()
			return nil
		case <-tick.C:
		}
		r.attempt(ctx)
	}
}

// attempt writes what waits, and logs an error when it begins or changes.
func (r *Recorder) attempt(ctx context.Context) {
	text, err := "", r.write(ctx)
	if err != nil {
		text = err.Error()
	}
	if text != "" && text != r.failed {
		r.log.Error(err, "requests could not be written down; they wait")
	}
	r.failed = text
}

// write writes what waits. After an error, it still waits.
func (r *Recorder) write(ctx context.Context) error {
	r.mu.Lock()
	added := r.waiting
	r.mu.Unlock()
	if len(added) == 0 {
		return nil
	}
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		m, err := r.client.Get(ctx, journal.SeenName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		text, err := encode(bounded(append(journal.DecodeSeen(m.Data[journal.SeenKey]), added...)))
		if err != nil {
			return err
		}
		m.Data = map[string]string{journal.SeenKey: text}
		_, err = r.client.Update(ctx, m, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("writing ConfigMap %s: %w", journal.SeenName, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting = r.waiting[len(added):]
	return nil
}

// bounded leaves out requests until the others fit: too old ones, and then the oldest one of the namespace with the
// most. So who may delete objects in one namespace cannot push out what is known about others.
func bounded(all []journal.Seen) []journal.Seen {
	used, bytes := map[string]int{}, 0
	sizes := make([]int, len(all))
	drop := make([]bool, len(all))
	newest := all[len(all)-1].Time
	for i := range all {
		sizes[i] = size(&all[i])
		used[all[i].Namespace]++
		bytes += sizes[i]
	}
	lines := len(all)
	remove := func(i int) {
		drop[i] = true
		used[all[i].Namespace]--
		lines, bytes = lines-1, bytes-sizes[i]
	}
	for i := range all {
		if newest.Sub(all[i].Time) > journal.Kept {
			remove(i)
		}
	}
	for lines > maxLines || bytes > maxBytes {
		most := ""
		for namespace, n := range used {
			if n > used[most] || n == used[most] && namespace < most {
				most = namespace
			}
		}
		for i := range all {
			if !drop[i] && all[i].Namespace == most {
				remove(i)
				break
			}
		}
	}
	var out []journal.Seen
	for i := range all {
		if !drop[i] {
			out = append(out, all[i])
		}
	}
	return out
}

// size is the number of bytes of a line.
func size(s *journal.Seen) int {
	line, err := json.Marshal(s)
	if err != nil {
		return 0
	}
	return len(line) + 1
}

func encode(all []journal.Seen) (string, error) {
	var b strings.Builder
	for i := range all {
		line, err := json.Marshal(&all[i])
		if err != nil {
			return "", err
		}
		b.Write(append(line, '\n'))
	}
	return b.String(), nil
}

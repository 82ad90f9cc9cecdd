// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// Releases keeps an Index current. It reduces each Secret to a Revision on arrival, so that only a few Secrets are in memory
// at a time.
type Releases struct {
	watches []*releaseWatch
	reader  *recordReader
	log     logr.Logger
}

// NewReleases makes a Releases for the release records of some namespaces; none means all. The Index must be made for the
// same namespaces. The rate limit of a client applies to the pages of lists: if the API server cannot stream lists, a client
// with client-go's default of five requests per second needs two seconds for a hundred records.
func NewReleases(client typedcorev1.SecretsGetter, namespaces []string, into *Index, log logr.Logger) *Releases {
	if len(namespaces) == 0 {
		namespaces = []string{""}
	}
	r := &Releases{log: log, reader: newRecordReader(into, log, fetcher(client))}
	for _, ns := range slices.Compact(slices.Sorted(slices.Values(namespaces))) {
		r.watches = append(r.watches, newReleaseWatch(client, ns, log, r.reader))
	}
	return r
}

// fetchTimeout bounds the wait for one Secret, because no other record is read during this wait.
const fetchTimeout = 2 * time.Second

// fetcher returns a function that fetches one Secret; nil if the Secret does not exist. It lists, because the role does not
// allow the verb get.
func fetcher(client typedcorev1.SecretsGetter) func(context.Context, cache.ObjectName) (*corev1.Secret, error) {
	return func(ctx context.Context, name cache.ObjectName) (*corev1.Secret, error) {
		ctx, stop := context.WithTimeout(ctx, fetchTimeout)
		defer stop()
		selector := fields.AndSelectors(releaseSecrets, fields.OneTermEqualSelector("metadata.name", name.Name)).String()
		list, err := client.Secrets(name.Namespace).List(ctx, metav1.ListOptions{FieldSelector: selector})
		if err != nil || len(list.Items) == 0 {
			return nil, err
		}
		return &list.Items[0], nil
	}
}

// Start watches until ctx is done, and returns nil. It is called once.
func (r *Releases) Start(ctx context.Context) error {
	ctx = klog.NewContext(ctx, r.log)
	var running sync.WaitGroup
	running.Go(func() { r.reader.run(ctx) })
	for _, w := range r.watches {
		running.Go(func() { w.reflector.RunWithContext(ctx) })
	}
	running.Wait()
	return nil
}

// Synced reports whether all records were read once. It stays true while the API server cannot be reached.
func (r *Releases) Synced() bool {
	return !slices.ContainsFunc(r.watches, func(w *releaseWatch) bool { return !w.synced.Load() })
}

// Live reports whether changes are received as they happen, and all received records of a namespace are read; the namespace
// "" means all. If not, the Index may be out of date.
func (r *Releases) Live(namespace string) bool {
	return !slices.ContainsFunc(r.watches, func(w *releaseWatch) bool { return !w.state.live() }) && !r.reader.behindIn(namespace)
}

// Waiting is the number of records that were received and are not read yet.
func (r *Releases) Waiting() int { return r.reader.waiting() }

// LastMessage returns the time of the API server's last message about the namespace with the oldest one. Without changes the
// API server sends a bookmark about once a minute. The time is zero until a message about each namespace was received.
func (r *Releases) LastMessage() time.Time {
	var oldest time.Time
	for i, w := range r.watches {
		nanoseconds := w.lastMessage.Load()
		if nanoseconds == 0 {
			return time.Time{}
		}
		if t := time.Unix(0, nanoseconds); i == 0 || t.Before(oldest) {
			oldest = t
		}
	}
	return oldest
}

// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// resourceClient is the part of a typed or dynamic client that an informer needs.
type resourceClient[L runtime.Object] interface {
	List(context.Context, metav1.ListOptions) (L, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
}

// newInformer watches the object with a name. It lists by name, because the role allows only this. client is the client
// that made resource.
func newInformer[L runtime.Object](client any, resource resourceClient[L], name string, object runtime.Object,
	handler cache.ResourceEventHandler, log *logr.Logger) (cache.Store, cache.Controller) {
	selector := fields.OneTermEqualSelector("metadata.name", name).String()
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector = selector
			return resource.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector = selector
			return resource.Watch(ctx, o)
		},
	}
	// The fakes of client-go cannot stream lists; ToListWatcherWithWatchListSemantics asks the client.
	return cache.NewInformerWithOptions(cache.InformerOptions{Logger: log, ObjectType: object, Handler: handler,
		ListerWatcher: cache.ToListWatcherWithWatchListSemantics(source, client)})
}

// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
)

// TestListExpires checks that a list that expires between two pages is an error, and never a short list.
func TestListExpires(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		// pages are the responses: the names of the objects, or "expired". Each page except the last one has a continue
		// token.
		pages     []string
		want      []string
		wantError bool
	}{
		{name: "not expired", pages: []string{"a b", "c"}, want: []string{"a", "b", "c"}},
		{name: "expired", pages: []string{"a b", "expired", "c"}, want: []string{"a", "b"}, wantError: true},
		{name: "expired on the first page", pages: []string{"expired", "a"}, wantError: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			kind := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
			client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
				map[schema.GroupVersionResource]string{{Version: "v1", Resource: "configmaps"}: "ConfigMapList"})
			asked, token := 0, ""
			client.PrependReactor("list", "configmaps", func(action clienttesting.Action) (bool, runtime.Object,
				error) {
				if got := optionsOf(action).Continue; got != token {
					t.Errorf("request %d continues at %q, want %q", asked+1, got, token)
				}
				page := tc.pages[asked]
				asked++
				token = ""
				if page == "expired" {
					return true, nil, apierrors.NewResourceExpired("too old")
				}
				list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1",
					"kind": "ConfigMapList"}}
				for name := range strings.FieldsSeq(page) {
					u := unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
					u.SetName(name)
					u.SetNamespace("shop")
					list.Items = append(list.Items, u)
				}
				if asked < len(tc.pages) {
					token = "after " + page
					list.SetContinue(token)
				}
				return true, list, nil
			})
			var got []string
			var err error
			for u, failed := range (&Cluster{Dynamic: client}).List(t.Context(), kind, "shop",
				metav1.ListOptions{}) {
				if err = failed; err == nil {
					got = append(got, u.GetName())
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
			if (err != nil) != tc.wantError || err != nil && !apierrors.IsResourceExpired(err) {
				t.Errorf("error %v, want an error: %t", err, tc.wantError)
			}
		})
	}
}

// optionsOf returns the options of a LIST, and zero values for another request.
func optionsOf(action clienttesting.Action) metav1.ListOptions {
	list, _ := action.(clienttesting.ListActionImpl)
	return list.ListOptions
}

// TestListEndless checks that a list that a server never ends is an error.
func TestListEndless(t *testing.T) {
	t.Parallel()
	kind := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	pages := 0
	reader := pageReader(func() *unstructured.UnstructuredList {
		pages++
		list := &unstructured.UnstructuredList{Object: map[string]any{}}
		list.SetContinue("A")
		return list
	})
	var err error
	for _, err = range (&Cluster{Dynamic: reader}).List(t.Context(), kind, "shop", metav1.ListOptions{}) {
	}
	if !errors.Is(err, errEndless) || pages != maxPages {
		t.Errorf("%d pages: %v", pages, err)
	}
}

// pageReader is a client that returns these pages for each list.
type pageReader func() *unstructured.UnstructuredList

func (r pageReader) Resource(schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return pagedResource{nil, r}
}

type pagedResource struct {
	dynamic.NamespaceableResourceInterface
	read pageReader
}

func (r pagedResource) Namespace(string) dynamic.ResourceInterface { return r }

func (r pagedResource) List(context.Context, metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	return r.read(), nil
}

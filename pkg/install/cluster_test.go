// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
)

// TestListExpires checks that a list that expires between two pages is read again, once, and that each object is
// returned once.
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
		{name: "expired once", pages: []string{"a b", "expired", "a b", "c"}, want: []string{"a", "b", "c"}},
		{name: "expired once, and the objects have changed", pages: []string{"a b", "c", "expired", "b d", "e"},
			want: []string{"a", "b", "c", "d", "e"}},
		{name: "expired twice", pages: []string{"a", "expired", "a", "expired", "a"}, want: []string{"a"},
			wantError: true},
		{name: "expired on the first page", pages: []string{"expired", "a"}, wantError: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			kind := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
			mapper := meta.NewDefaultRESTMapper(nil)
			mapper.Add(kind, meta.RESTScopeNamespace)
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
			for u, failed := range (&Cluster{Dynamic: client, Mapper: mapper}).List(t.Context(), kind, "shop",
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
	for name, test := range map[string]struct {
		token func(page int) string
		pages int
	}{
		"the same token":     {func(int) string { return "A" }, 2},
		"always a new token": {strconv.Itoa, maxPages},
	} {
		kind := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
		mapper := meta.NewDefaultRESTMapper(nil)
		mapper.Add(kind, meta.RESTScopeNamespace)
		pages, yields := 0, 0
		reader := pageReader(func() *unstructured.UnstructuredList {
			pages++
			u := unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
			u.SetName("a")
			list := &unstructured.UnstructuredList{Object: map[string]any{}, Items: []unstructured.Unstructured{u}}
			list.SetContinue(test.token(pages))
			return list
		})
		var err error
		for _, failed := range (&Cluster{Dynamic: reader, Mapper: mapper}).List(t.Context(), kind, "shop",
			metav1.ListOptions{}) {
			if err = failed; err == nil {
				yields++
			}
		}
		if !errors.Is(err, errEndless) || pages != test.pages || yields != 1 {
			t.Errorf("%s: %d pages, %d objects: %v", name, pages, yields, err)
		}
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

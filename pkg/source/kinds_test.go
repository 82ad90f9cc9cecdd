// SPDX-License-Identifier: Apache-2.0

package source

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestCalled(t *testing.T) {
	deployment := Kind{GroupVersionKind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"},
		Resource: "deployments", ShortNames: []string{"deploy"}}
	for word, want := range map[string]bool{
		"deployment": true, "Deployment": true, "deployments": true, "deploy": true, "deployments.apps": true,
		"deployment.apps": true, "deploy.apps": true,
		"deployment.extensions": false, "pod": false, "": false, "apps": false, "deployment.": false,
	} {
		if got := deployment.Called(word); got != want {
			t.Errorf("%q: %v", word, got)
		}
	}
	pod := Kind{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, Resource: "pods"}
	if !pod.Called("pods") || pod.Called("pods.apps") {
		t.Error("a kind of the core group was found with a group")
	}
	crd := Kind{GroupVersionKind: schema.GroupVersionKind{Group: "storage.example.com", Version: "v1",
		Kind: "Filesystem"}, Resource: "filesystems"}
	if !crd.Called("filesystem.storage.example.com") || crd.Called("filesystem.storage") {
		t.Error("only the whole group is accepted")
	}
}

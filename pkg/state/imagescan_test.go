// SPDX-License-Identifier: Apache-2.0

package state

import (
	"fmt"
	"testing"

	"k8s.io/utils/ptr"
)

// TestImageScan reads whether images are scanned from the environment of the controller.
func TestImageScan(t *testing.T) {
	for env, want := range map[string]*bool{
		`"env":[]`: ptr.To(false),
		`"env":[{"name":"IMAGESCAN_ENABLED","value":"true"}]`:  ptr.To(true),
		`"env":[{"name":"IMAGESCAN_ENABLED","value":"false"}]`: ptr.To(false),
		`"env":[{"name":"IMAGESCAN_ENABLED","value":"***"}]`:   nil,
		`"env":[{"name":"IMAGESCAN_ENABLED","valueFrom":{}}]`:  nil,
		`"envFrom":[{}]`: nil,
	} {
		f := &Fleet{}
		if err := f.AddController(fmt.Appendf(nil, `{"metadata":{"name":"fleet-controller"},`+
			`"spec":{"template":{"spec":{"containers":[{%s}]}}}}`, env)); err != nil {
			t.Fatal(err)
		}
		if !ptr.Equal(f.ImageScan, want) {
			t.Errorf("%s: got %v, want %v", env, ptr.Deref(f.ImageScan, false), want)
		}
	}
}

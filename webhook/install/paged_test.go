// SPDX-License-Identifier: Apache-2.0

package install

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestPagedEnds holds that a list which a server never ends is an error.
func TestPagedEnds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		token func(n int) string
		reads int
	}{
		"the same token":    {func(int) string { return "A" }, 2},
		"a new one forever": {func(n int) string { return fmt.Sprint(n) }, maxPages},
	} {
		reads, yields := 0, 0
		read := func(metav1.ListOptions) ([]*metav1.PartialObjectMetadata, string, error) {
			if reads++; reads > maxPages {
				t.Fatalf("%s: it was read %d times", name, reads)
			}
			return []*metav1.PartialObjectMetadata{{ObjectMeta: metav1.ObjectMeta{Name: "a"}}}, test.token(reads), nil
		}
		err := paged("Role", metav1.ListOptions{}, read, func(*metav1.PartialObjectMetadata) error { yields++; return nil })
		if err == nil || !strings.Contains(err.Error(), "the list was given up") || reads != test.reads || yields != 1 {
			t.Errorf("%s: %d reads, %d objects: %v", name, reads, yields, err)
		}
	}
}

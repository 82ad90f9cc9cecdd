// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// TestLongErrors checks that the message of a server is cut, and that its details are kept only if they are short.
func TestLongErrors(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 1<<18)
	for name, details := range map[string]*metav1.StatusDetails{
		"long details":  {Causes: []metav1.StatusCause{{Field: "spec", Message: long}}},
		"short details": {Causes: []metav1.StatusCause{{Field: "spec", Message: "field is immutable"}}},
	} {
		refuse := jsonAnswer(http.StatusUnprocessableEntity,
			metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
				Status: metav1.StatusFailure, Reason: metav1.StatusReasonInvalid, Code: http.StatusUnprocessableEntity,
				Message: long, Details: details})
		s := serve(t, map[string][]answer{refPath: {refuse}, configMaps: {refuse}})
		c := s.open()
		_, err := c.Get(t.Context(), configMap, ref)
		e, ok := errors.AsType[*apierrors.StatusError](err)
		if !ok || !apierrors.IsInvalid(err) || len(err.Error()) > 9<<10 || !strings.HasSuffix(err.Error(),
			"é… (shortened)") {
			t.Fatalf("%s: %d bytes: %.100v", name, len(err.Error()), err)
		}
		if kept := e.ErrStatus.Details != nil; kept != (name == "short details") {
			t.Errorf("%s: kept %v", name, kept)
		}
		cover, err := c.List(t.Context(), source.Query{Kind: configMapKind}, func(source.Object) error { return nil })
		if f, covered := cover.Of(""); err != nil || covered || len(f.Detail) > 9<<10 {
			t.Errorf("%s: the list is covered: %v; %d bytes, error %v", name, covered, len(f.Detail), err)
		}
	}
}

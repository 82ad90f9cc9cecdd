// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"errors"
	"fmt"
	"net/url"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/transport"
)

// TestUnreachable checks the errors after which no more requests are sent.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{errors.New("connection refused"), false}, // the text of an error does not count
		{&url.Error{Op: "Get", Err: errors.New("connection refused")}, true},
		{&url.Error{Op: "Get", Err: &transport.RedirectError{}}, true},
		{fmt.Errorf("listing: %w", &transport.SizeError{Most: maxAnswer}), true},
		{apierrors.NewUnauthorized("unauthorized"), true},
		{apierrors.NewForbidden(schema.GroupResource{}, "a", nil), false},
	} {
		if got := unreachable(test.err); got != test.want {
			t.Errorf("%v: %t", test.err, got)
		}
	}
}

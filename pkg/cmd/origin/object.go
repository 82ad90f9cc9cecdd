// SPDX-License-Identifier: Apache-2.0

package origin

import (
	"fmt"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
)

// Object is one object as it is typed: KIND/NAME, or KIND/NAMESPACE/NAME.
type Object struct {
	Kind, Namespace, Name string
}

// ParseObject reads an argument that names an object. No part may be empty: an empty namespace, of a variable that is not set, would stand for
// all of them. Its errors are usage errors.
func ParseObject(arg string) (Object, error) {
	parts := strings.Split(arg, "/")
	for _, p := range parts {
		if p == "" {
			return Object{}, badObject(arg)
		}
	}
	switch len(parts) {
	case 2:
		return Object{Kind: parts[0], Name: parts[1]}, nil
	case 3:
		return Object{Kind: parts[0], Namespace: parts[1], Name: parts[2]}, nil
	}
	return Object{}, badObject(arg)
}

func badObject(arg string) error {
	return exit.UsageError(fmt.Errorf("reading argument %q: want KIND/NAME or KIND/NAMESPACE/NAME", arg))
}

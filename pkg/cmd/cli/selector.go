// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"
)

// AddSelector adds the flag --selector. kinds are the objects that it selects.
func AddSelector(fs *pflag.FlagSet, value *string, kinds string) {
	fs.StringVarP(value, "selector", "l", "", "Only the "+kinds+" with these labels")
}

// ParseSelector parses the value of --selector; nil if it is empty.
func ParseSelector(value string) (labels.Selector, error) {
	if value == "" {
		return nil, nil
	}
	s, err := labels.Parse(value)
	if err != nil {
		return nil, fmt.Errorf("parsing --selector %q: %w", value, err)
	}
	return s, nil
}

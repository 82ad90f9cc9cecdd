// SPDX-License-Identifier: Apache-2.0

package input_test

import (
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
)

// TestSplit checks which arguments name objects of Fleet by their kind, and which are other names.
func TestSplit(t *testing.T) {
	for args, want := range map[string]struct{ targets, others string }{
		"":                                {},
		"theme":                           {"", "ns/theme"},
		"gitrepo":                         {"gitrepo", ""},
		"gitrepo a b":                     {"gitrepo a b", ""},
		"bundle team/a bd/b":              {"bundle team/a bd/b", ""},
		"bundle/a service/b":              {"bundle/a", "service/ns/b"},
		"bundle a service/b":              {"bundle a service/b", ""}, // a namespace and a name after a kind
		"bundle a service/ns/b":           {"bundle a", "service/ns/b"},
		"service/a bundle b c":            {"bundle b c", "service/ns/a"},
		"bundle a gitrepo/b service/ns/c": {"bundle a gitrepo/b", "service/ns/c"},
		"service a b":                     {"", "service/ns/a service/ns/b"},
		"gitreop/a":                       {"gitreop/a", ""},
		"gitreop a":                       {"gitreop a", ""},
		"bundle/a theme":                  {"bundle/a theme", ""},
	} {
		targets, others, err := input.Split(strings.Fields(args), "ns")
		var names []string
		for _, o := range others {
			names = append(names, o.String())
		}
		if err != nil || strings.Join(targets, " ") != want.targets || strings.Join(names, " ") != want.others {
			t.Errorf("%q: %q and %q, want %q and %q: %v", args, targets, names, want.targets, want.others, err)
		}
	}
	for _, args := range []string{"service//a", "bundle a service/ns/b c"} {
		if _, _, err := input.Split(strings.Fields(args), ""); err == nil {
			t.Errorf("%s is accepted", args)
		}
	}
}

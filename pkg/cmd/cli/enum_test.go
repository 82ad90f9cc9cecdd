// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func TestEnum(t *testing.T) {
	e := NewEnum("warning", "none", "warning", "error")
	set := pflag.NewFlagSet("test", pflag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.Var(e, "fail-on", "Exit with 1 on findings of this severity or above")
	if e.String() != "warning" {
		t.Errorf("the default is %q", e)
	}
	if err := set.Parse([]string{"--fail-on=error"}); err != nil || e.String() != "error" {
		t.Errorf("%q, error %v", e, err)
	}
	for _, word := range []string{"fatal", "Error", "", "none,error"} {
		err := set.Parse([]string{"--fail-on=" + word})
		if err == nil || !strings.Contains(err.Error(), "--fail-on") || !strings.Contains(err.Error(),
			"none, warning, error") {
			t.Errorf("%q: error %v", word, err)
		}
		if e.String() != "error" {
			t.Errorf("%q was refused and changed the flag to %q", word, e)
		}
	}
	if usage := set.FlagUsages(); !strings.Contains(usage, "none|warning|error") ||
		!strings.Contains(usage, "default warning") {
		t.Errorf("usage %q", usage)
	}
	words, directive := e.Complete(nil, nil, "")
	if !slices.Equal(words, []string{"none", "warning", "error"}) || directive != cobra.ShellCompDirectiveNoFileComp {
		t.Errorf("completion %v, %v", words, directive)
	}
}

// TestFleetVersion checks which versions of Fleet are accepted: those whose rules are known.
func TestFleetVersion(t *testing.T) {
	for version, want := range map[string]string{
		"0.10": "v0.10.0", "0.13.2": "v0.13.2", "v0.16.1": "v0.16.1", "0.16.0-rc.1": "v0.16.0-rc.1",
		"0.99": "", "0.17": "", "0.9": "", "1.2": "", "dev": "", "": "",
	} {
		var v FleetVersion
		if err := v.Set(version); (err == nil) != (want != "") || v.String() != want {
			t.Errorf("%q: %q, error %v, want %q", version, v.String(), err, want)
		}
	}
	var v FleetVersion
	if err := v.Set("0.99"); err == nil || !strings.Contains(err.Error(), "0.10 to 0.16") {
		t.Errorf("the error does not name the versions that are known: %v", err)
	}
}

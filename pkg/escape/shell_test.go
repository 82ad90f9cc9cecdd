// SPDX-License-Identifier: Apache-2.0

package escape_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
)

// arguments are names that a server or a capture may have. The first is a Role that ran a command in fish.
var arguments = []string{
	`x\'"; echo run; #`, "guestbook", "system:node-proxier", "", " ", `\`, `\\`, `\\\'`, `'`, `''`, `a''b`, `'"'"'`,
	`\'`, `a\nb`, `x'\''; echo run; '`,
	"=ls", "%self", "%1", "~", "~root", "-n", "--", "a=~root", "$HOME", "$(echo run)", "`echo run`", "(echo run)",
	"{a,b}", "{echo,run}", "*", "?", "[a-z]*",
	"!!", "!echo", "^a^b", "a;b", "a|b", "a&b", "a&", "a>b", "<a", "<(echo run)", "#", "a#b", "a b\tc", "a\nb",
	"a\r\nb", "größe 見る", `"`, `"$HOME"`, `\$HOME`,
	`{"metadata":{"labels":{"a":"\"b\\"}}}`, `{.items[?(@.name=="x")].value}`, "end\\", "\\begin", "\\\n", "\\u0041",
	`\x41\101`, "'\n'", "$'a'", "@a", "a@b", "a:b/c",
}

// TestShell checks that every shell of this machine reads each quoted argument as it was. There is always a shell named
// sh.
func TestShell(t *testing.T) {
	t.Parallel()
	var tested []string
	for _, shell := range []string{"sh", "bash", "dash", "fish", "zsh", "ksh", "busybox"} {
		command := []string{shell, "-c"}
		if shell == "busybox" {
			command = []string{shell, "sh", "-c"}
		}
		if _, err := exec.LookPath(shell); err != nil {
			continue
		}
		tested = append(tested, shell)
		for _, a := range arguments {
			line := `printf '%s|' ` + escape.ShellWords([]string{a, "--flag=" + a, a})
			out, err := exec.CommandContext(t.Context(), command[0], append(command[1:], line)...).CombinedOutput()
			if want := a + "|--flag=" + a + "|" + a + "|"; err != nil || string(out) != want {
				t.Errorf("%s reads %s as %q, want %q: %v", shell, line, out, want, err)
			}
		}
	}
	if !slices.Contains(tested, "sh") {
		t.Error("there is no sh")
	}
	t.Logf("tested with %s", strings.Join(tested, ", "))
}

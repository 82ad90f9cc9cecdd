// SPDX-License-Identifier: Apache-2.0

package escape

import (
	"regexp"
	"strings"
)

var (
	// bare matches an argument that no shell changes. At its begin, zsh expands "=" and fish "%".
	bare = regexp.MustCompile(`^[\w@+:,./-][\w@%+=:,./-]*$`)
	// pieces divides an argument into the characters that fish escapes within single quotes, and the text between them.
	pieces = regexp.MustCompile(`[\\']|[^\\']+`)
)

// Shell quotes an argument of a command line so that bash, dash, fish and zsh read the same text. Within single quotes,
// fish reads \' and \\ as escapes, and the other shells do not. So backslashes and single quotes are escaped outside of
// quotes.
func Shell(argument string) string {
	if bare.MatchString(argument) {
		return argument
	}
	if argument == "" {
		return "''"
	}
	return pieces.ReplaceAllStringFunc(argument, func(piece string) string {
		if piece == `\` || piece == `'` {
			return `\` + piece
		}
		return "'" + piece + "'"
	})
}

// ShellWords quotes several arguments.
func ShellWords(arguments []string) string {
	words := make([]string, len(arguments))
	for i, a := range arguments {
		words[i] = Shell(a)
	}
	return strings.Join(words, " ")
}

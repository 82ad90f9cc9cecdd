// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
)

// The limits of a result, in bytes.
const (
	// maxText is the size of a text. Clients limit results to some 10,000 words.
	maxText = 32 << 10
	// maxDocument is the size of a document. A document that was cut would not be JSON.
	maxDocument = 64 << 10
	// maxErrors is the size of the errors of a call.
	maxErrors = 4 << 10
)

// answer is what a verb printed.
type answer struct {
	status      int
	out, errOut string
	narrower    string // how to get a shorter result
}

// text returns the result of a call for text.
func (a answer) text() *mcp.CallToolResult { return a.result(shortened(a.out, maxText, a.narrower)) }

// document returns the result of a call for JSON. As clients may know only one of the two, the document is the
// structured content and also a text.
func (a answer) document() *mcp.CallToolResult {
	if len(a.out) > maxDocument {
		a.status, a.out = cli.ExitFailed, ""
		a.errOut = fmt.Sprintf("error: the document has %d KiB, and the limit is %d KiB: %s, or ask for the text\n%s",
			kibibytes(len(a.out)), maxDocument>>10, a.narrower, a.errOut)
	}
	result := a.result(a.out)
	if a.out != "" {
		result.StructuredContent = json.RawMessage(a.out)
	}
	return result
}

// result returns the result with a text, followed by the errors.
func (a answer) result(text string) *mcp.CallToolResult {
	result := &mcp.CallToolResult{Content: []mcp.Content{}, IsError: a.failed()}
	for _, part := range []string{text, shortened(a.errOut, maxErrors, "correct the first error")} {
		if part != "" {
			result.Content = append(result.Content, &mcp.TextContent{Text: part})
		}
	}
	return result
}

// failed reports whether a call failed, or could not read everything. Findings alone are a result.
func (a answer) failed() bool {
	found := a.status == cli.ExitFound && a.errOut == ""
	return a.status != cli.ExitOK && !found
}

// shortened returns a text that is not longer than a limit, but for a last line that says what was left out, and how to
// get less. It keeps whole lines.
func shortened(text string, limit int, narrower string) string {
	if len(text) <= limit {
		return text
	}
	kept := text[:strings.LastIndexByte(text[:limit], '\n')+1]
	if kept == "" { // one long line
		kept = strings.ToValidUTF8(text[:limit], "") + "\n"
	}
	return fmt.Sprintf("%s… %d of %d KiB are left out. To get less, %s.\n", kept, kibibytes(len(text)-len(kept)),
		kibibytes(len(text)), narrower)
}

// kibibytes rounds up.
func kibibytes(bytes int) int { return (bytes + 1<<10 - 1) >> 10 }

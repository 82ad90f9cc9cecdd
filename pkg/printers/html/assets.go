// SPDX-License-Identifier: Apache-2.0

package html

import (
	"crypto/sha256"
	_ "embed" // the template, the style and the script
	"encoding/base64"
)

var (
	//go:embed report.html.tmpl
	layout string
	//go:embed report.css
	style string
	//go:embed report.js
	script string
)

// policy permits the style and the script of the document, and no request at all.
func policy() string {
	return "default-src 'none'; style-src " + source(style) + "; script-src " + source(script) +
		"; base-uri 'none'; form-action 'none'"
}

// source is a content security policy's source for an inline element with this content.
func source(content string) string {
	sum := sha256.Sum256([]byte(content))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

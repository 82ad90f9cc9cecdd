// SPDX-License-Identifier: Apache-2.0

package secret_test

import (
	"encoding/base64"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
)

// FuzzBeginnings checks that no Secret is passed over that AddQuoted would add values of, and that none is passed over
// of which a text has a form of a value.
func FuzzBeginnings(f *testing.F) {
	f.Add("invented value", "a text with an invented value in it", uint8(0), false)
	f.Add("password: invented <value>\n", "", uint8(3), true)
	f.Add("two\n\n lines   ", "two lines", uint8(9), false)
	f.Fuzz(func(t *testing.T, v, text string, form uint8, helmValues bool) {
		content := map[string]any{"data": map[string]any{"key": base64.StdEncoding.EncodeToString([]byte(v))}}
		beginnings := secret.BeginningsOf(content, helmValues)
		var quotes secret.Quotes
		quotes.Add(text)
		forms := secret.Forms(v)
		chosen := forms[int(form)%len(forms)]
		var quoting secret.Quotes
		quoting.Add("before " + chosen + " after")
		var s secret.Values
		s.AddQuoted(content, &quotes, nil, helmValues)
		if s.Redactor(document{texts: []string{text}})(text) != text && !quotes.MayQuote(beginnings) {
			t.Errorf("%q hides a part of %q, but was passed over", v, text)
		}
		if len(chosen) >= secret.MinLength && len(v) >= secret.MinLength && !quoting.MayQuote(beginnings) {
			t.Errorf("%q is quoted as %q, but was passed over", v, chosen)
		}
	})
}

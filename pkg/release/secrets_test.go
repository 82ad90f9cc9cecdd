// SPDX-License-Identifier: Apache-2.0

package release

import (
	"strings"
	"testing"
)

func TestSecrets(t *testing.T) {
	const secret = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: "
	r := Record{Manifest: "---\n" + secret + "one\n---\nkind: Secret\n  broken: [\n---\napiVersion: v1\nkind: " +
		"ConfigMap\nmetadata:\n  name: Secret\n" +
		"---\n" + secret + "large\ndata:\n  a: " + strings.Repeat("a",
		maxSecret) + "\n---\napiVersion: example.com/v1\nkind: Secret\nmetadata:\n  name: other\n" +
		"---\n" + secret + "two\n", Hooks: []Hook{{Kind: "Secret", Name: "hook", Manifest: secret + "hook\n"},
		{Kind: "Job", Name: "job"}}}
	for all, want := range map[bool]string{false: "hook", true: "hook one two"} {
		var names []string
		for _, o := range r.Secrets(all) {
			names = append(names, o.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("all %v: %q, want %q", all, got, want)
		}
	}
	many := Record{Manifest: strings.Repeat("---\n"+secret+"a\ndata:\n  a: "+strings.Repeat("a", 1<<20)+"\n", 12)}
	if n := len(many.Secrets(true)); n != 7 {
		t.Errorf("%d Secrets of more than a MiB each were read, want 7: the limit is %d bytes", n, maxParsed)
	}
}

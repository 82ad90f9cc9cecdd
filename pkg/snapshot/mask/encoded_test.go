// SPDX-License-Identifier: Apache-2.0

package mask_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// quoted returns a text as JSON in n strings of JSON.
func quoted(t *testing.T, text string, n int) string {
	t.Helper()
	for range n {
		out, err := json.Marshal(text)
		must(t, err)
		text = string(out)
	}
	return text
}

func TestEncodedTwice(t *testing.T) {
	const v = "planted-p\"ss<word>/é 1"
	secret := obj(t, "v1", "Secret", "apps", "web", map[string]any{"data": map[string]any{"password": b64(v),
		"address": b64("postgres://u:planted-in-address@db/x"), "escaped": b64("https://u:planted%2Fescaped@db/x"),
		".env": b64("export DB_PASSWORD=planted-in-env\n"), "app.properties": b64("spring.password = planted-in-properties\n")}})
	all := map[string][]byte{"secret": secret}
	wrapped := b64(v + v)
	for name, text := range map[string]string{
		"base64 of base64": b64(b64(v)), "three times": b64(b64(b64(v))), "within base64 of base64": b64("x" + b64("yy"+v+"z")), "in a sentence": "got " + b64(b64(v)) + ".",
		"gzip of base64": b64(gz(t, b64(b64(v)))), "gzip of gzip": b64(gz(t, b64(gz(t, v)))), "gzip in a sentence": "got " + b64(gz(t, v)),
		"JSON": quoted(t, v, 1), "JSON in JSON": quoted(t, v, 2), "JSON in JSON in JSON": quoted(t, v, 3), "line breaks": wrapped[:20] + "\n" + wrapped[20:],
		"Go": `planted-p\"ss<word>/\u00e9 1`, "shell": `planted-p\"ss\<word\>/é\ 1`,
		"the password of an address": "login planted-in-address", "an escaped password": "login planted/escaped", "a line of .env": "planted-in-env", "a line of a file": "x planted-in-properties",
	} {
		all[name] = obj(t, "v1", "ConfigMap", "apps", "a", map[string]any{"data": map[string]any{"x": text}})
	}
	for _, key := range []string{"reason", "state", "status", "phase", "type", "name"} {
		all["an error in "+key] = obj(t, "example.com/v1", "Thing", "apps", "a", map[string]any{"status": map[string]any{key: "cannot log in with " + v}})
	}
	_, out := masked(t, all)
	for name, text := range out {
		if bytes.Equal(text, all[name]) || bytes.Contains(text, []byte("planted")) {
			t.Errorf("%s: %s", name, text)
		}
	}
}

func TestNoFalseMatch(t *testing.T) {
	text := `{"a":"C:\\dir\\n","b":"` + b64("any other text that is long") + `","c":"` + strings.Repeat("aB3/", 50) + `%20"}`
	all := map[string][]byte{
		"secret": obj(t, "v1", "Secret", "apps", "web", map[string]any{"data": map[string]any{"password": b64(plain)}}),
		"other":  obj(t, "v1", "ConfigMap", "apps", "a", map[string]any{"data": map[string]any{"x": text}}),
		"status": obj(t, "v1", "Pod", "apps", "a", map[string]any{"status": map[string]any{"phase": "Running", "reason": "ok: no"}}),
	}
	_, out := masked(t, all)
	for _, name := range []string{"other", "status"} {
		var before, after any
		must(t, json.Unmarshal(all[name], &before))
		must(t, json.Unmarshal(out[name], &after))
		if !bytes.Equal(mustJSON(t, before), mustJSON(t, after)) {
			t.Errorf("%s was changed: %s", name, out[name])
		}
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	out, err := json.Marshal(v)
	must(t, err)
	return out
}

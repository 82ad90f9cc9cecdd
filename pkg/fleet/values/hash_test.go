// SPDX-License-Identifier: Apache-2.0

package values

import (
	"strings"
	"testing"
)

// TestHash has the examples of docs/fleet-behavior.md, 6.1 and 6.2.
func TestHash(t *testing.T) {
	deployment := func(values, staged string) map[string][]byte {
		return map[string][]byte{KeyValues: []byte(values), KeyStaged: []byte(staged)}
	}
	bundle := func(pairs ...string) map[string][]byte {
		out := map[string][]byte{}
		for i := 0; i < len(pairs); i += 2 {
			out[pairs[i]] = []byte(pairs[i+1])
		}
		return out
	}
	for _, tt := range []struct {
		name, secretType string
		data             map[string][]byte
		want             string
	}{
		{"values and a target", BundleType, bundle("values.yaml", `{"key":"value"}`, "target", `{"newkey":"value"}`),
			"17e05a97acde825d03ca37c2b8fc1aecf3f8f9fde28c21702492c56d4d4a68f1"},
		{"the order of keys", BundleType, bundle("target", `{"newkey":"value"}`, "values.yaml", `{"key":"value"}`),
			"17e05a97acde825d03ca37c2b8fc1aecf3f8f9fde28c21702492c56d4d4a68f1"},
		{"values alone", BundleType, bundle("values.yaml", `{"replicas":2}`),
			"c75d165561414f510a2709f504933f7e6119b9bb6a10256809e9f55bdfba02ff"},
		{"a bundle without values", BundleType, nil, ""},
		{"only values", DeploymentType, deployment(`{"key":"value"}`, ""),
			"e43abcf3375244839c012f9633f95862d232a95b00d5bc7348b3098b9fed7f32"},
		{"only staged values", DeploymentType, deployment("", `{"newkey":"value"}`),
			"20e7c7fa9bae9e0ccb9c970bb73f43159e6c91470aab32492ea74bce9ceed4fb"},
		{"staged values that differ", DeploymentType, deployment(`{"key":"value"}`, `{"newkey":"value"}`),
			"01c44d8a446abccb870503db292e07cb2b8da135b6fec52b21048bdab8c84a7c"},
		{"both equal", DeploymentType, deployment(`{"key":"value"}`, `{"key":"value"}`),
			"3e595e3b9aececead659294e162b71ffeb4390a932d57dcad86b5974a515a77e"},
		{"null or {}, which are stored as empty", DeploymentType, deployment("", ""), ""},
		{"no keys", DeploymentType, nil, ""},
		{"{} as it is", DeploymentType, deployment("{}", ""),
			"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"},
	} {
		got, err := Hash(tt.secretType, tt.data)
		if err != nil || got != tt.want {
			t.Errorf("%s: %q, error %v, want %q", tt.name, got, err, tt.want)
		}
	}
}

// TestHashIgnores and distinguishes what Fleet's formula does.
func TestHashIgnores(t *testing.T) {
	if DeploymentHash([]byte("ab"), nil) != DeploymentHash([]byte("a"), []byte("b")) {
		t.Error("the hash shows where the first value ends")
	}
	for name, pair := range map[string][2]string{
		"HTML characters": {`{"a":"<&>"}`, "{\"a\":\"\\u003c\\u0026\\u003e\"}"},
		"unicode":         {`{"a":"ü"}`, "{\"a\":\"\\u00fc\"}"},
		"order of keys":   {`{"a":1,"b":2}`, `{"b":2,"a":1}`},
		"nested empty":    {`{"a":{}}`, `{"a":null}`},
	} {
		if DeploymentHash([]byte(pair[0]), nil) == DeploymentHash([]byte(pair[1]), nil) {
			t.Errorf("%s: the hash is not of the bytes", name)
		}
	}
	one, _ := BundleHash(map[string][]byte{"values.yaml": []byte("{}"), "<target>": []byte(`{"a":1}`)})
	// a target named values.yaml replaces the values of the bundle
	other, _ := BundleHash(map[string][]byte{"values.yaml": []byte(`{"a":1}`)})
	if one == other || len(one) != 64 {
		t.Error("the keys are not part of the hash")
	}
	large := []byte(`{"a":"` + strings.Repeat("x", 1<<20) + `"}`)
	if DeploymentHash(large, large) == DeploymentHash(large, nil) {
		t.Error("large values are truncated")
	}
}

// TestLostValues recognises staged values without current ones, which only the Secret of a BundleDeployment can have.
func TestLostValues(t *testing.T) {
	for _, tt := range []struct {
		secretType, values, staged string
		want                       bool
	}{
		{DeploymentType, "", "{}", true},
		{DeploymentType, "{}", "{}", false},
		{DeploymentType, "{}", "", false},
		{DeploymentType, "", "", false},
		{BundleType, "", "{}", false},
	} {
		data := map[string][]byte{KeyValues: []byte(tt.values), KeyStaged: []byte(tt.staged)}
		if got := LostValues(tt.secretType, data); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}

// TestMasked recognises data that Fleet did not write.
func TestMasked(t *testing.T) {
	for _, tt := range []struct {
		name, secretType string
		data             map[string][]byte
		want             bool
	}{
		{"values", DeploymentType, map[string][]byte{KeyValues: []byte(`{"a":{"b":[1,null]}}`), KeyStaged: {}}, false},
		{"only metadata", DeploymentType, nil, true},
		{"one key", DeploymentType, map[string][]byte{KeyValues: []byte(`{"a":1}`)}, true},
		{"a word that is base64", DeploymentType, map[string][]byte{KeyValues: []byte("\x44\x40\xc4"),
			KeyStaged: []byte("\x44\x40\xc4")}, true},
		{"a word", DeploymentType, map[string][]byte{KeyValues: []byte("REDACTED"), KeyStaged: []byte(`{"a":1}`)},
			true},
		{"a JSON string", DeploymentType, map[string][]byte{KeyValues: []byte(`"***"`), KeyStaged: []byte(`"***"`)},
			true},
		{"all values removed", DeploymentType, map[string][]byte{KeyValues: {}, KeyStaged: {}}, true},
		{"a truncated value", DeploymentType, map[string][]byte{KeyValues: []byte(`{"a":`), KeyStaged: {}}, true},
		{"a bundle", BundleType, map[string][]byte{"values.yaml": []byte(`{"a":1}`), "target": []byte(`{}`)}, false},
		{"a bundle without data", BundleType, nil, true},
		{"a bundle with an empty value", BundleType, map[string][]byte{"values.yaml": {}}, true},
	} {
		if got := Masked(tt.secretType, tt.data); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

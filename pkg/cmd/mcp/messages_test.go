// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const ping = `{"jsonrpc":"2.0","id":7,"method":"ping"}`

// TestMessages reads a malformed message and then a request. The first one is answered, and the second one passed on.
func TestMessages(t *testing.T) {
	parse := `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error`
	invalid := func(id string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32600,"message":"invalid request`
	}
	for name, tc := range map[string]struct{ message, want string }{
		"no JSON":             {"not json", parse},
		"no UTF-8":            {"\xff\xfe{}", parse},
		"cut":                 {`{"jsonrpc":"2.0",`, parse},
		"deep":                {`{"a":` + strings.Repeat("[", 20000), parse},
		"empty array":         {"[]", invalid("null")},
		"batch":               {"[" + ping + "]", invalid("null")},
		"number":              {"1", invalid("null")},
		"null":                {"null", invalid("null")},
		"no version":          {`{"id":5,"method":"ping"}`, invalid("5")},
		"id null":             {`{"jsonrpc":"2.0","id":null,"method":"ping"}`, invalid("null")},
		"id with a fraction":  {`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, invalid("1.5")},
		"id with an exponent": {`{"jsonrpc":"2.0","id":1e3,"method":"ping"}`, invalid("1e3")},
		"id too large": {`{"jsonrpc":"2.0","id":92233720368547758070,"method":"ping"}`,
			invalid("92233720368547758070")},
		"id an object":    {`{"jsonrpc":"2.0","id":{},"method":"ping"}`, invalid("null")},
		"method a number": {`{"jsonrpc":"2.0","id":"a","method":5}`, invalid(`"a"`)},
		"a response":      {`{"jsonrpc":"2.0","id":5,"result":{}}`, invalid("5")},
		"a name twice":    {`{"jsonrpc":"2.0","id":5,"id":6,"method":"ping"}`, invalid("null")},
		"too long":        {`{"a":"` + strings.Repeat("a", maxRequest) + `"}`, invalid("null")},
		"blank":           {"  ", ""},
	} {
		var out bytes.Buffer
		m := &messages{in: bufio.NewReader(strings.NewReader(tc.message + "\n" + ping + "\n")), out: &out}
		passed, err := io.ReadAll(m)
		if err != nil || string(passed) != ping+"\n" {
			t.Errorf("%s: passed on %q, error %v", name, passed, err)
		}
		answered := out.String()
		if !strings.HasPrefix(answered, tc.want) || (answered == "") != (tc.want == "") {
			t.Errorf("%s: answered %q, want %q", name, answered, tc.want)
		}
	}
}

// FuzzMessages checks that the library reads each message that is passed on, with the same id.
func FuzzMessages(f *testing.F) {
	for _, seed := range []string{ping, `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"audit"}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"jsonrpc":"2.0","id":-0,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":1.0,"method":"ping","params":[]}`, `{"JSONRPC":"2.0","id":1,"method":"ping"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if len(bytes.TrimSpace(line)) == 0 || bytes.ContainsRune(line, '\n') || check(line) != nil {
			return
		}
		decoded, err := jsonrpc.DecodeMessage(line)
		if err != nil {
			t.Fatalf("%q is passed on, and the library fails: %v", line, err)
		}
		var stated map[string]any
		d := json.NewDecoder(bytes.NewReader(line))
		d.UseNumber()
		if err := d.Decode(&stated); err != nil {
			t.Fatal(err)
		}
		request, ok := decoded.(*jsonrpc.Request)
		if !ok {
			t.Fatalf("%q is passed on, and is a %T", line, decoded)
		}
		got, err := json.Marshal(request.ID.Raw())
		if want, wantErr := json.Marshal(stated["id"]); err != nil || wantErr != nil || !bytes.Equal(got, want) {
			t.Errorf("%q: id %s, want %s", line, got, want)
		}
	})
}

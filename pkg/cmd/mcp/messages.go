// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// maxRequest is the size of one message of the client in bytes.
const maxRequest = 256 << 10

// The errors of JSON-RPC 2.0 for a message that is no request.
const (
	parseError     = -32700
	invalidRequest = -32600
)

// messages reads the messages of the client, one on each line. The library ends the session at a malformed message, so
// messages answers it itself, and passes on only those that the library can read.
type messages struct {
	in   *bufio.Reader
	out  io.Writer
	rest []byte // of a message that was passed on in part
}

// Read implements io.Reader.
func (m *messages) Read(p []byte) (int, error) {
	for len(m.rest) == 0 {
		line, err := m.next()
		if err != nil {
			return 0, err
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if bad := check(line); bad != nil {
			if err := bad.answer(m.out); err != nil {
				return 0, err
			}
			continue
		}
		m.rest = append(bytes.TrimSpace(line), '\n')
	}
	n := copy(p, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

// next reads a line. Of one that is too long, it keeps the beginning: more than the limit.
func (m *messages) next() ([]byte, error) {
	var line []byte
	for {
		part, err := m.in.ReadSlice('\n')
		if len(line) <= maxRequest {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(line) > 0:
			return line, nil
		default:
			return line, err
		}
	}
}

// malformed is a message that is no request or notification.
type malformed struct {
	code    int
	message string
	id      jsontext.Value // null if it could not be read
}

// answer writes the error of JSON-RPC for the message.
func (m *malformed) answer(out io.Writer) error {
	text, err := json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   any             `json:"error"`
	}{"2.0", json.RawMessage(m.id), map[string]any{"code": m.code, "message": m.message}})
	if err != nil {
		return fmt.Errorf("answering a malformed message: %w", err)
	}
	_, err = out.Write(append(text, '\n'))
	return err
}

var null = jsontext.Value("null")

// wholeNumber are the numbers that the library reads without a change.
var wholeNumber = regexp.MustCompile(`^(0|-?[1-9][0-9]{0,17})$`)

// check returns what is wrong with a message; nil for a message that the library can read.
func check(line []byte) *malformed {
	if len(line) > maxRequest {
		message := fmt.Sprintf("invalid request: it is longer than %d KiB", maxRequest>>10)
		return &malformed{invalidRequest, message, null}
	}
	text := jsontext.Value(bytes.TrimSpace(line))
	var members map[string]json.RawMessage
	switch {
	case !text.IsValid(jsontext.AllowDuplicateNames(true)):
		return &malformed{parseError, "parse error: the message is not JSON", null}
	case !text.IsValid(): // the library might read another of the values
		return &malformed{invalidRequest, "invalid request: it repeats a name in an object", null}
	case text.Kind() == '[':
		return &malformed{invalidRequest, "invalid request: batches are not supported", null}
	case text.Kind() != '{', json.Unmarshal(text, &members) != nil:
		return &malformed{invalidRequest, "invalid request: it is not an object", null}
	}
	return checkMembers(members)
}

// checkMembers checks the version, the id and the method of a message. The server sends no requests, so it expects no
// responses.
func checkMembers(members map[string]json.RawMessage) *malformed {
	id, shown := jsontext.Value(members["id"]), null
	if kind := id.Kind(); kind == '"' || kind == '0' {
		shown = id
	}
	badID := len(id) > 0 && id.Kind() != '"' && !wholeNumber.Match(id)
	switch {
	case string(members["jsonrpc"]) != `"2.0"`:
		return &malformed{invalidRequest, `invalid request: the member jsonrpc must be "2.0"`, shown}
	case badID:
		return &malformed{invalidRequest, "invalid request: the id must be a string or an integer", shown}
	case jsontext.Value(members["method"]).Kind() != '"':
		return &malformed{invalidRequest, "invalid request: the member method must be a string", shown}
	}
	return nil
}

// locked is a writer for the library and for messages. Each writes a whole message at once.
type locked struct {
	io.Writer
	mu sync.Mutex
}

// Write implements io.Writer.
func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Writer.Write(p)
}

// Close implements io.Closer. Standard output stays open.
func (*locked) Close() error { return nil }

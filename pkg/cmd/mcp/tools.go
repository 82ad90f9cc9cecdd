// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/repair"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// The limits of the arguments of a call.
const (
	// maxWords is the number of objects or words.
	maxWords = 100
	// maxWord is the length of a text in characters. The longest KIND/NAMESPACE/NAME has less.
	maxWord = 1000
)

// reach says which sources a tool reads. The flags of the server that name other sources are left out.
type reach int

const (
	nothing     reach = iota
	source            // the cluster or the snapshot
	allClusters       // also the other clusters of the command line
)

// tool is a verb that only reads, with the parts of its command line that a client can set.
type tool struct {
	name, title, description string

	verb  string
	fixed []string // flags of each call
	reads reach
	// words is the argument with the arguments of the verb. required says that there must be one.
	words    string
	required bool
	// flags are the other arguments. Each sets the flag of the verb with the same name.
	flags []string
	// narrower says how to get a shorter result.
	narrower string
}

// formatArgument selects the format of every tool.
const (
	formatArgument = "format"
	textFormat     = "text"
	jsonFormat     = "json"
)

var tools = []tool{
	{name: "audit", title: "Audit Fleet", verb: "audit", reads: allClusters, words: "objects",
		description: "Compare live objects with what the bundles of Fleet specify: missing, modified, unowned and " +
			"orphaned objects, with a line or two for each cause. With objects or all: who caused each, and the next " +
			"commands.",
		fixed:    []string{"--ignore-file="}, // the file would be that of the client's directory
		flags:    []string{"namespace", "selector", "severity", "code", "since", "by", "all", "summary", "diff"},
		narrower: "name objects, or set severity, code, namespace or summary"},
	{name: "why", title: "Why is it not ready?", verb: "why", reads: allClusters, words: "objects", required: true,
		description: "Find the root cause for which a GitRepo, HelmOp, bundle, bundle deployment, cluster or " +
			"deployed object is not ready, as a chain of steps.",
		flags: []string{"namespace"}, narrower: "name fewer objects"},
	{name: "owner", title: "Who owns the object?", verb: "owner", reads: source, words: "objects", required: true,
		description: "Show which bundle owns a deployed object and why, which bundles desire it, and what its " +
			"ownership metadata means.",
		flags: []string{"namespace"}, narrower: "name fewer objects"},
	{name: "explain", title: "Explain a word", verb: "explain", words: "words",
		description: "Explain codes, states, reasons and causes of the results, with causes and remedies. Without " +
			"words: a list of all.",
		narrower: "name one word"},
	{name: "targets", title: "Targets of a bundle", verb: "targets", reads: source, words: "bundles", required: true,
		description: "Show which clusters a bundle targets, and why each other cluster is not a target.",
		flags:       []string{"namespace"}, narrower: "name one bundle"},
	{name: "preflight", title: "Predict a rollout", verb: "preflight", reads: source, words: "objects",
		description: "Predict what the next rollout of bundles would meet: conflicts, refusals, objects that it " +
			"takes over or changes. The API server is not asked.",
		fixed: []string{"--server-check=never"},
		flags: []string{"namespace", "selector", "diff"}, narrower: "name objects, or set namespace or selector"},
	{name: "agents", title: "Agents of Fleet", verb: "agents", reads: source, words: "clusters",
		description: "Show the heartbeats of Fleet's agents, and which agents the controller would import again.",
		flags:       []string{"namespace", "selector"}, narrower: "name clusters, or set namespace or selector"},
	{name: "adoption_plan", title: "Plan of an adoption", verb: "adopt", reads: source, words: "objects",
		description: "Show which existing objects an adoption would assign to the bundle that desires them, with " +
			"each change of metadata, and what it refuses. It is only a plan: no tool applies it.",
		fixed: []string{"--dry-run=client"},
		flags: []string{"namespace", "selector", "policy", "diff"}, narrower: "name objects, or set namespace or " +
			"selector"},
	{name: "repair_plan", title: "Plan of a repair", verb: "repair", reads: allClusters, words: "objects",
		description: "Show the steps that would repair what audit found, in their order, with each change, and what " +
			"is refused and why. The API server is not asked whether it accepts them. It is only a plan: no tool " +
			"applies it.",
		fixed:    []string{"--dry-run=client"},
		flags:    []string{"namespace", "selector", "code", "allow", "diff"},
		narrower: "name objects, or set code, namespace or selector"},
}

// object describes the arguments that name objects of Fleet or deployed objects.
const object = "KIND/NAME or KIND/NAMESPACE/NAME. KIND is gitrepo, helmop, bundle, bundledeployment or cluster, or " +
	"the kind of a deployed object, such as deployment"

// properties are the schemas of the arguments of all tools.
var properties = map[string]*jsonschema.Schema{
	"objects":  list(object),
	"bundles":  list("bundle/NAME or bundle/NAMESPACE/NAME"),
	"clusters": list("NAME of a Cluster of Fleet; without any, all"),
	"words":    list("such as FD101, Unowned or SpecDrift"),

	"namespace": text("Workspace of the objects of Fleet, or namespace of the deployed objects; without it, all"),
	"selector":  text("label selector, such as env=prod"),
	"severity":  choice("only findings of this severity or above", report.Info, report.Warning, report.Error),
	"code":      list("only findings with these codes or names, such as FD104 or Modified"),
	"since":     text("hide findings whose recorded change is older, such as 2h or 3d"),
	"by":        choice("count the bundle deployments by their states", printers.By...),
	"all":       {Type: "boolean", Description: "everything in detail, also what is well"},
	"summary":   {Type: "boolean", Description: "only the result: what is ready, and the number of findings"},
	"diff":      {Type: "boolean", Description: "the fields that differ, with who wrote them and when"},
	"policy": choice("which objects to take: those without another owner (unmarked), also those of an owner that is "+
		"gone (if-unowned, the default), or of these only objects without a difference (if-no-diff)",
		ownership.IfUnowned, ownership.TakeUnmarked, ownership.IfNoDiff),
	"allow": {Type: "array", Items: choice("", repair.Allowed()...), MaxItems: new(maxWords),
		Description: "also plan these steps: ask Fleet's agents and controllers to deploy (deploy), delete objects " +
			"and create them again (recreate), delete what is left over (delete)"},
	formatArgument: choice("text (the default), or the whole document as JSON, which is longer", textFormat,
		jsonFormat),
}

// text returns the schema of a text.
func text(description string) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Description: description, MaxLength: new(maxWord)}
}

// list returns the schema of a list of texts.
func list(description string) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "array", Description: description, Items: text(""), MaxItems: new(maxWords)}
}

// choice returns the schema of one of some values.
func choice[T ~string](description string, values ...T) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string", Description: description}
	for _, v := range values {
		s.Enum = append(s.Enum, string(v))
	}
	return s
}

// describe returns the tool as clients see it. Arguments that its schema does not have are refused.
func (t *tool) describe() *mcp.Tool {
	schema := &jsonschema.Schema{Type: "object", AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}}}
	schema.Properties = maps.Clone(properties)
	taken := append([]string{t.words, formatArgument}, t.flags...)
	maps.DeleteFunc(schema.Properties, func(name string, _ *jsonschema.Schema) bool {
		return !slices.Contains(taken, name)
	})
	if t.required {
		words := *schema.Properties[t.words]
		words.MinItems = new(1)
		schema.Properties[t.words], schema.Required = &words, []string{t.words}
	}
	return &mcp.Tool{Name: t.name, Title: t.title, Description: t.description, InputSchema: schema,
		Annotations: &mcp.ToolAnnotations{Title: t.title, ReadOnlyHint: true}}
}

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

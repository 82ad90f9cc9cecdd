// SPDX-License-Identifier: Apache-2.0

// Package output prints the results of verbs: the flag -o and its printers, colours, a progress line, and questions on
// a terminal.
package output

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/util/jsonpath"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
)

// field is a field of a JSON object.
type field struct {
	name string
	row  reflect.Type
}

// fieldsOf returns the fields of a type in JSON, those of embedded types too. It is empty for a type that is not a
// struct, and for one with a form of its own.
func fieldsOf(t reflect.Type) []field {
	if t.Kind() != reflect.Struct || t.Implements(reflect.TypeFor[json.Marshaler]()) {
		return nil
	}
	var out []field
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() && name != "" && name != "-" {
			out = append(out, field{name, value(f.Type)})
		}
	}
	return out
}

// value returns the type that a pointer points to.
func value(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// lists returns the names of the fields that are lists of objects, in the order of the type, and the types of their
// elements.
func lists(document reflect.Type) (names []string, elements map[string]reflect.Type) {
	elements = map[string]reflect.Type{}
	for _, f := range fieldsOf(document) {
		if f.row.Kind() == reflect.Slice && len(fieldsOf(value(f.row.Elem()))) > 0 {
			names = append(names, f.name)
			elements[f.name] = value(f.row.Elem())
		}
	}
	return names, elements
}

// unknownFieldError is a part of a path that names no field.
type unknownFieldError struct {
	path  string   // the path up to the field
	name  string   // the field
	known []string // the fields that exist there
	list  bool     // the path before the field is a list
}

// Error implements error.
func (e *unknownFieldError) Error() string {
	if e.list {
		return fmt.Sprintf("%s is a list: write %s[*].%s", e.path, e.path, e.name)
	}
	return fmt.Sprintf("there is no field %s.%s", e.path, e.name)
}

// hint lists the fields that exist.
func (e *unknownFieldError) hint() string {
	if e.list {
		return ""
	}
	where := ""
	if e.path != "" {
		where = " of " + e.path
	}
	out := "Fields" + where + ": " + strings.Join(slices.Sorted(slices.Values(e.known)), ", ")
	if near := cli.HintIn(e.path+".", e.name, "", e.known); near != "" {
		out = near + "\n" + out
	}
	return out
}

// checkPath returns an *unknownFieldError as the error if a path names a field that no value of the type can have. It
// follows the path up to the first part that is more than a name or an index.
func checkPath(path string, t reflect.Type) error {
	parsed, err := jsonpath.Parse("path", bracketed(path))
	if err != nil {
		return err
	}
	field := ""
	for _, node := range parsed.Root.Nodes {
		list, ok := node.(*jsonpath.ListNode)
		if !ok {
			return nil
		}
		for _, node := range list.Nodes {
			if t, field, err = step(node, t, field); t == nil || err != nil {
				return err
			}
		}
	}
	return nil
}

// step follows one part of a path. The type is nil if the rest cannot be checked.
func step(node jsonpath.Node, t reflect.Type, path string) (reflect.Type, string, error) {
	isList := t.Kind() == reflect.Slice
	switch n := node.(type) {
	case *jsonpath.ArrayNode, *jsonpath.WildcardNode:
		if isList {
			return value(t.Elem()), path + "[*]", nil
		}
	case *jsonpath.FieldNode:
		return stepInto(n.Value, t, path, isList)
	}
	return nil, "", nil
}

func stepInto(name string, t reflect.Type, path string, isList bool) (reflect.Type, string, error) {
	if isList && len(fieldsOf(value(t.Elem()))) > 0 {
		return nil, "", &unknownFieldError{path: path, name: name, list: true}
	}
	fields := fieldsOf(t)
	if len(fields) == 0 {
		return nil, "", nil // a map, or a type with a form of its own
	}
	var known []string
	for _, f := range fields {
		if f.name == name {
			return f.row, path + "." + name, nil
		}
		known = append(known, f.name)
	}
	return nil, "", &unknownFieldError{path: path, name: name, known: known}
}

// bracketed is the path as a template: {.name}.
func bracketed(path string) string {
	bare := strings.TrimSuffix(strings.TrimPrefix(path, "{"), "}")
	return "{." + strings.TrimPrefix(bare, ".") + "}"
}

const (
	// progressDelay is how long an operation may take before the line appears.
	progressDelay = time.Second
	// progressRefresh is the shortest time between two changes of the line.
	progressRefresh = 100 * time.Millisecond
	// eraseLine empties the line that the cursor is in (ECMA-48: carriage return, erase in line).
	eraseLine = "\r\x1b[K"
)

// Progress is one line on a terminal that is overwritten, and erased at the end. A timer draws it, not the events,
// because a server that hangs causes no events.
type Progress struct {
	out   io.Writer
	width func() int

	mu      sync.Mutex
	text    string
	objects int

	clear sync.Once
	stop  chan struct{} // closed to erase the line
	done  chan struct{} // closed when it is erased
}

// StartProgress starts to show a text on a stream, if the stream is a terminal. Clear must be called.
func StartProgress(out io.Writer, text string) *Progress {
	if !IsTerminal(out) {
		out = nil
	}
	return startProgress(out, func() int { return terminalWidth(out) }, text)
}

// startProgress shows nothing if out is nil.
func startProgress(out io.Writer, width func() int, text string) *Progress {
	p := &Progress{out: out, width: width, text: text, stop: make(chan struct{}), done: make(chan struct{})}
	if out == nil {
		close(p.done)
		return p
	}
	go p.draw()
	return p
}

// Show changes the text. objects is the number of objects that were processed; 0 is not shown. It may be called from
// several goroutines.
func (p *Progress) Show(text string, objects int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text, p.objects = text, objects
}

// Clear erases the line. After it returns, nothing is drawn. It may be called again.
func (p *Progress) Clear() {
	p.clear.Do(func() { close(p.stop) })
	<-p.done
}

func (p *Progress) draw() {
	defer close(p.done)
	timer := time.NewTimer(progressDelay)
	defer timer.Stop()
	select {
	case <-p.stop:
		return
	case <-timer.C:
	}
	ticker := time.NewTicker(progressRefresh)
	defer ticker.Stop()
	shown := p.line()
	fmt.Fprint(p.out, shown) // without erasing: the line can have the question of a credential plugin
	for {
		select {
		case <-p.stop:
			fmt.Fprint(p.out, eraseLine)
			return
		case <-ticker.C:
		}
		if line := p.line(); line != shown {
			fmt.Fprint(p.out, eraseLine+line)
			shown = line
		}
	}
}

// line is the text, shortened to less than the width of the terminal: a wrapped line cannot be erased.
func (p *Progress) line() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.text
	if p.objects > 0 {
		s += fmt.Sprintf(" (%d objects)", p.objects)
	}
	r := []rune(escape.Line(s))
	return string(r[:min(len(r), max(p.width()-1, 0))])
}

// descriptor is a file, or a stream with the descriptor of a file.
type descriptor interface{ Fd() uintptr }

// IsTerminal reports whether a stream, a reader or a writer, is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(descriptor)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Redraws reports whether a stream is a terminal on which the cursor can be moved.
func Redraws(out io.Writer) bool { return os.Getenv("TERM") != "dumb" && IsTerminal(out) }

// Width returns the number of columns of a stream; 0 if it is no terminal.
func Width(out io.Writer) int {
	if !IsTerminal(out) {
		return 0
	}
	return terminalWidth(out)
}

// terminalWidth is the number of columns of a terminal, 80 if the terminal does not report it.
func terminalWidth(w io.Writer) int {
	columns, _ := Size(w)
	return columns
}

// minRows is the number of lines that a terminal has at least: a document that scrolls is read on a smaller one.
const minRows = 24

// Rows returns the number of lines of a stream beside the line of the prompt; 0 if it is no terminal.
func Rows(out io.Writer) int {
	if !IsTerminal(out) {
		return 0
	}
	_, lines := Size(out)
	return max(lines, minRows) - 1
}

// Size returns the number of columns and of lines of a terminal, 80 and 24 if the terminal does not report them.
func Size(w io.Writer) (columns, lines int) {
	if f, ok := w.(descriptor); ok {
		if n, m, err := term.GetSize(int(f.Fd())); err == nil && n > 0 && m > 0 {
			return n, m
		}
	}
	return 80, 24
}

// Ask asks a question on the terminal. Only the answers y and yes return true. Its error is that of the context, which
// an interrupt ends.
func Ask(ctx context.Context, streams genericiooptions.IOStreams, question string) (bool, error) {
	fmt.Fprintf(streams.ErrOut, "%s [y/N] ", escape.Text(question))
	answers := make(chan string, 1)
	go func() { // a read cannot be interrupted: the goroutine ends with the program
		line, _ := bufio.NewReader(streams.In).ReadString('\n')
		answers <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(streams.ErrOut)
		return false, ctx.Err()
	case answer := <-answers:
		return answer == "y" || answer == "yes", nil
	}
}

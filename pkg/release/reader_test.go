// SPDX-License-Identifier: Apache-2.0

package release

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/kio"
	sigsyaml "sigs.k8s.io/yaml"
)

// direct converts a document without the library.
func direct(doc string) ([]byte, error) {
	return (&reader{limits: objectLimits}).usual(doc)
}

// compareWithLibrary fails the test if the reader accepts a document and returns another result than the library. It
// reports whether the reader accepts the document.
func compareWithLibrary(t *testing.T, doc string) (accepted bool) {
	t.Helper()
	got, err := direct(doc)
	if err != nil {
		if !errors.Is(err, errUnusual) {
			t.Errorf("error %v, want %v, of %q", err, errUnusual, doc)
		}
		return false
	}
	want, err := sigsyaml.YAMLToJSON([]byte(doc))
	if err != nil {
		t.Errorf("the reader returns %s of %q, the library error %v", got, doc, err)
	} else if string(got) != string(want) {
		t.Errorf("%q (-library +reader):\n%s", doc, cmp.Diff(string(want), string(got)))
	}
	return true
}

// usual is a document in the usual form, with examples of all its parts.
const usual = `# Source: guestbook/templates/all.yaml
apiVersion: v1
data:
  "8080": web
  ".hidden": 'it''s: "quoted"'
  script: |-
    kind: NotThis
    "and an open quote
      deeper
    # no comment

    last
  clipped: |
    <b>&
  kept: |+
    a

  blank: |2

     b
  indented: |2-
      a
    b
  escaped: "\tn\x1b\x00\x85 \U0001F600\"\\"
  unicode: žluťoučký 🐎
  long: some text that goes on
    and on
  folded: 'some quoted text
    that goes on'
  folded too: "a \"text\"
    that goes on"
kind: ConfigMap
metadata:
  annotations: {}
  creationTimestamp: null
  name: a
spec:
  # a comment
  empty: []
  numbers:
  - 0
  - -12
  - 123456789012345678
  sequences:
  - - a
    - b: c
      d:
      - e
    - ""
  texts:
  - 100m
  - 10.0.0.1
  - 2026-01-02
  - 52c94e17de42f0d0c4b9e3c2ac4de69be94614d6
  - --flag=a
  - http://example.com:80/#a
  - 'true'
  truth: true
zero:
`

// TestReader checks that the usual form is converted without the library.
func TestReader(t *testing.T) {
	for doc := range strings.SplitSeq(usual, "~") {
		if !compareWithLibrary(t, doc) {
			t.Errorf("the reader does not accept:\n%s", doc)
		}
	}
}

// TestReaderReadsWriters checks that the reader accepts objects from the real writers: the library of Fleet's agent,
// and then the library of Helm 4.
func TestReaderReadsWriters(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("some words ", 40))
	data := map[string]any{"": "empty key", "8080": "number", "true": "word", "a b": "blank", "key10": 10, "key9": 9,
		"Upper": nil, "nested": map[string]any{
			"list": []any{map[string]any{"b": []any{}, "a": map[string]any{}}, []any{"x", []any{true}}, 1 << 40, -1, "",
				nil, map[string]any{"list": []any{"a\n"}}}}}
	for i, text := range []string{"", " ", "a ", " a", "a: b", "a #b", "- a", "-a", "#a", "it's", `say "so"`, `C:\dir`,
		"true", "12", "1e5", "0x1F", "10.0.0.1", "100m", "2026-01-02",
		"52c94e17de42f0d0c4b9e3c2ac4de69be94614d6", ".spec", "*", "&a", "!a", "%a", "@a", "`a`", "{a}", "[a]", "a,b",
		"?", ":", "a:", "<a>&b", "é€", "a\tb", "a\n", "a\n\n", "\na",
		" a\nb", "a\n  b\n c", "a\r\nb", "\a", long, long + ": " + long, "'" + long + "'", `"` + long + "\t" + long,
		long + "\n" + long + "\n", "---"} {
		data[fmt.Sprint("text", i)] = text
	}
	fleet, err := sigsyaml.Marshal(map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "a"}, "data": data})
	if err != nil {
		t.Fatal(err)
	}
	nodes, err := kio.ParseAll(string(fleet))
	if err != nil {
		t.Fatal(err)
	}
	helm, err := kio.StringAll(nodes)
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range []string{string(fleet), "# Source: a.yaml\n" + helm + "\n"} {
		if !compareWithLibrary(t, doc) {
			t.Errorf("the reader does not accept:\n%s", doc)
		}
	}
}

// TestReaderLeavesToLibrary checks which documents are not in the usual form: the library interprets them in another
// way than their lines suggest, or no writer of manifests writes them.
func TestReaderLeavesToLibrary(t *testing.T) {
	for name, doc := range map[string]string{
		"empty":                            "",
		"only comments":                    "# comment\n",
		"no line feed at the end":          "kind: a",
		"JSON":                             `{"apiVersion":"v1"}` + "\n",
		"text":                             "text\n",
		"sequence":                         "- kind: a\n",
		"indented mapping":                 "  kind: a\n",
		"directive":                        "%YAML 1.1\n",
		"end of a document":                "kind: a\n...\n",
		"text after the end":               "kind: a\n... b: c\n",
		"content after the marker":         "--- a: b\n",
		"merged mapping":                   "kind: a\n<<: {kind: b}\n",
		"merged block":                     "a:\n  <<:\n    b: c\n",
		"complex key":                      "? kind\n: a\n",
		"anchor":                           "a: &a\n  name: b\nmetadata:\n  labels: *a\n",
		"anchored entry":                   "a:\n- &a b\n",
		"tag":                              "a: !!str b\n",
		"flow mapping":                     "a: {b: c}\n",
		"flow mapping over lines":          "a: {\nkind: b\n }\n",
		"flow sequence over lines":         "a:\n  b: [\nkind: b,\n  ]\n",
		"flow mapping in an entry":         "a:\n- {b: c}\n",
		"text after a quote":               "a: \"b\" {\n",
		"comment after a value":            "a: b # c\n",
		"quote without indentation":        "a: \"b\nkind: c\n  \"\n",
		"single quote":                     "a:\n  b: 'c\nkind: d'\n",
		"quote without end":                "a: 'b\n",
		"empty line in quotes":             "a: 'b\n\n  c'\n",
		"escaped line feed":                "a: \"b\\\n  c\"\n",
		"unknown escape":                   "a: \"\\q\"\n",
		"surrogate":                        "a: \"\\uD83D\\uDE00\"\n",
		"key with an escape":               "\"\\x61\": b\n",
		"long key":                         strings.Repeat("a", maxKey+1) + ": b\n",
		"scalar on its own line":           "a:\n  b\n  \"c\n",
		"literal on its own line":          "a:\n  |\n  b\n",
		"folded block scalar":              "a: >\n  b\n",
		"empty literal":                    "a: |\nb: c\n",
		"literal after blanks":             "a: |\n    \n  b\n",
		"another order in a header":        "a: |-2\n  b\n",
		"tab":                              "a:\n  b:\t\"c\n",
		"tab in a literal":                 "a: |\n  b\tc\n",
		"carriage return":                  "a: b\rkind: c\n",
		"lines that end in CR LF":          "a: b\r\n",
		"next-line character":              "a: |\n  b\u0085kind: c\n",
		"line-separator character":         "a: |\n  b\u2028kind: c\n",
		"byte order mark":                  "\ufeffkind: c\n",
		"control character":                "a: b\x7f\n",
		"another encoding":                 "a: \xff\n",
		"duplicate key":                    "a: 1\nb: 2\na: 3\n",
		"number as a key":                  "1: a\n",
		"boolean as a key":                 "true: a\n",
		"two keys in a line":               "a: b: c\n",
		"entry after a key":                "a: - b\n",
		"empty entry":                      "a:\n-\n  b: c\n",
		"blanks after a dash":              "a:\n-   b: c\n",
		"blanks after a value":             "a: b \n",
		"line with too much indentation":   "a: b\n\n  c\n",
		"line with too little indentation": "a:\n  - b: c\n   d: e\n",
		"octal number":                     "a: 0755\n",
		"hexadecimal number":               "a: 0x10\n",
		"binary number":                    "a: 0b1\n",
		"number with an underscore":        "a: 1_000\n",
		"number with a plus":               "a: +1\n",
		"negative zero":                    "a: -0\n",
		"large number":                     "a: 12345678901234567890\n",
		"exponent":                         "a: 1e+06\n",
		"trailing zero":                    "a: 1.50\n",
		"small fraction":                   "a: 0.0000001\n",
		"long fraction":                    "a: 0.12345678901234567\n",
		"no digit before the point":        "a: .5\n",
		"negative infinity":                "a: -.inf\n",
		"not a number":                     "a: .NaN\n",
		"yes as a boolean":                 "a: yes\n",
		"another spelling of true":         "a: TRUE\n",
		"tilde":                            "a: ~\n",
		"nested too deeply":                "a:\n" + strings.Repeat("- ", maxDepth+1) + "b\n",
	} {
		if got, err := direct(doc); !errors.Is(err, errUnusual) {
			t.Errorf("%s: %s, error %v", name, got, err)
		}
	}
}

// TestReaderEnumerated compares the reader with the library for all short documents from difficult parts.
func TestReaderEnumerated(t *testing.T) {
	blanksAnd := func(parts string) []string { return append(strings.Fields(parts), " ") }
	for _, tc := range []struct {
		before, after string
		parts         []string
		most          int
	}{
		{"a: ", "\n", blanksAnd("0 1 . - + _ e x b o i n f y ~ : # a ' | < ["), 3},
		{"", ": a\n", blanksAnd("0 1 . - ? : # a ' \" < & % ,"), 3},
		{"a: \"", "\"\n", append(blanksAnd(`a \ n x 1 u " ' #`), "\n  "), 4},
		{"a: '", "'\n", append(blanksAnd("a \\ ' :"), "\n  "), 5},
		{"a:\n- |", "\n", append(blanksAnd("- + 2 a # b:"), "\n", "\n  "), 4},
		{"a:\n", "", []string{"a:\n", "b: x\n", "- c\n", "- d: |\n", "  ", " ", "\n", "# h\n", "- ", "t\n", "'l\n",
			"...\n"}, 4},
	} {
		accepted := 0
		var enumerate func(doc string, most int)
		enumerate = func(doc string, most int) {
			if compareWithLibrary(t, tc.before+doc+tc.after) {
				accepted++
			}
			for _, part := range tc.parts {
				if most > 0 && !t.Failed() {
					enumerate(doc+part, most-1)
				}
			}
		}
		if enumerate("", tc.most); accepted == 0 {
			t.Errorf("the reader accepts no document that begins with %q", tc.before)
		}
	}
}

// FuzzReader checks that the reader returns the same as the library, and that ObjectMetadata returns the metadata of
// Objects.
func FuzzReader(f *testing.F) {
	for doc := range strings.SplitSeq(usual, "~") {
		f.Add(doc)
		f.Add("---\n" + doc + "---\n# Source: b\nkind: a\napiVersion: b\nmetadata: {name: c}\n")
	}
	f.Add("a: |1\n b\n  \"\nkind: b\napiVersion: c\nmetadata:\n name: d\n")
	f.Add("a: b\n  'c\nkind: b\napiVersion: c\n")
	f.Add("a:\n- b: |\n    \"\n  c: '\n   kind: x'\nkind: b\napiVersion: c\nmetadata:\n  name: e\n  labels:\n    x: " +
		"\"y\\\n      z\"\n")
	f.Add("a: {\nkind: b\n }\napiVersion: c\n")
	f.Add("a: \"\nkind: b\n \"\napiVersion: c\n")
	f.Add("a: &a {kind: b}\n<<: *a\napiVersion: c\n")
	f.Add("a:\n  b\n  \"c: d\nkind: b\napiVersion: c\n")
	f.Add("a: - b\n- c: >+\n\n\n   d\nkind: b\napiVersion: c\n")
	f.Add("apiVersion: v1\nkind: List\nitems:\n- kind: a\n  apiVersion: b\n")
	f.Add("? a\n: b\nkind: c\napiVersion: d\n")
	f.Fuzz(compareManifest)
}

// compareManifest compares the results of different ways to read a manifest.
func compareManifest(t *testing.T, manifest string) {
	t.Helper()
	for doc := range documents(manifest) {
		compareWithLibrary(t, doc)
	}
	r := Record{Manifest: manifest}
	want, err := r.Objects()
	if err != nil {
		return // the error may be in a part that ObjectMetadata does not read
	}
	got, err := r.ObjectMetadata()
	if errors.Is(err, errManyMetadataNodes) {
		return // possible with aliases
	}
	if err != nil {
		t.Fatalf("ObjectMetadata: error %v, but none of Objects\n%q", err, manifest)
	}
	if diff := cmp.Diff(metadataOf(t, want), metadataOf(t, got)); diff != "" {
		t.Errorf("metadata of %q (-want +got):\n%s", manifest, diff)
	}
}

// fragments are difficult parts of documents.
var fragments = []string{
	"\n", "\n", "\n ", "\n  ", "\n    ", " ", "- ", "-", "a: ", "a:", "b: x", "x", "\"", "'", "''", "\\", "|", ">-",
	"|2", "{", "}", "{}", "[", "]", ",", "# c", " # c",
	"&a", "*a", "!!str ", "? ", ": ", ":", "\nkind: k\n", "\napiVersion: v\n", "\nmetadata:\n  name: n\n",
	"\nmetadata:", "\n---\n", "\nitems:\n", "kind: l", "\t", "%", "~",
	"\n- ", "\n  - ", "|-", "|+", "|1", "-2\n", "\n\n", "\\n", "\\u2028", "\\x0", "0", "1", "12", ".", "e", "_", "+",
	"true", "no", "null", "<<", "Z", "\u0085", "é", "b:", "c: ", "\"c\": ", "  ",
}

// FuzzReaderFragments is FuzzReader with documents that are more often valid YAML: each byte stands for a fragment.
func FuzzReaderFragments(f *testing.F) {
	for i := range fragments {
		f.Add([]byte{byte(i), byte(i * 7), byte(i * 3)})
	}
	f.Fuzz(func(t *testing.T, which []byte) {
		doc := textOf(which)
		compareWithLibrary(t, "a: "+doc+"\n")
		compareWithLibrary(t, "- "+doc+"\n")
		compareManifest(t, "a: b\nkind: c\napiVersion: d\n"+doc+"\nkind: e\nmetadata:\n  name: f\n")
	})
}

func textOf(which []byte) string {
	var out strings.Builder
	for _, i := range which {
		out.WriteString(fragments[int(i)%len(fragments)])
	}
	return out.String()
}

// bytesOf returns its bytes one after another, and then zeros.
type bytesOf []byte

func (b *bytesOf) next() int {
	if len(*b) == 0 {
		return 0
	}
	first := (*b)[0]
	*b = (*b)[1:]
	return int(first)
}

// text returns some text.
func (b *bytesOf) text() string {
	n := min(b.next()%12, len(*b))
	which := (*b)[:n]
	*b = (*b)[n:]
	if n > 1 && which[0]%8 == 0 {
		return strings.ToValidUTF8(string(which[1:]), "?")
	}
	return textOf(which)
}

// value returns a value of an object.
func (b *bytesOf) value(depth int) any {
	kind := b.next()
	if depth == 0 {
		kind %= 10
	}
	switch kind % 16 {
	case 0:
		return nil
	case 1:
		return kind&16 == 0
	case 2:
		return b.next() - 100
	case 3:
		return float64(b.next()*256+b.next()) / float64(1+b.next())
	case 4:
		return strings.Repeat(b.text(), 1+b.next()%20)
	case 5, 6, 7, 8, 9:
		return b.text()
	case 10, 11, 12:
		list := []any{}
		for range b.next() % 6 {
			list = append(list, b.value(depth-1))
		}
		return list
	default:
		return b.object(depth - 1)
	}
}

// object returns a JSON object.
func (b *bytesOf) object(depth int) map[string]any {
	out := map[string]any{}
	for range b.next() % 8 {
		out[b.text()] = b.value(depth)
	}
	return out
}

// FuzzWritten is FuzzReader with documents from the real writers, the library of Fleet's agent and then the library of
// Helm 4, and with changes in one place of them.
func FuzzWritten(f *testing.F) {
	f.Add([]byte("spec"), uint(0), "")
	f.Add([]byte{5, 3, 9, 9, 9, 13, 4, 2, 1, 1, 11, 3, 5, 2, 10, 10, 13, 2, 2, 8, 9, 2, 99, 2, 7, 8, 3, 99, 99, 7},
		uint(40), "x")
	f.Add([]byte("\x03\x01\x0b\x04\x08ab\ncd ef\x13\x0a\x02\x05\x03\x0c\x0d\x0e\x05\x04\x10\x11\x12\x13"), uint(90),
		" #")
	f.Fuzz(func(t *testing.T, from []byte, at uint, change string) {
		b := bytesOf(from)
		o := b.object(5)
		o["apiVersion"], o["kind"] = "v1", "ConfigMap"
		o["metadata"] = map[string]any{"name": "a", "labels": b.object(0)}
		fleet, err := sigsyaml.Marshal(o)
		if err != nil {
			return // the library parses JSON as YAML, which fails for some JSON
		}
		docs := []string{string(fleet)}
		if nodes, err := kio.ParseAll(string(fleet)); err == nil && len(nodes) == 1 {
			if helm, err := kio.StringAll(nodes); err == nil {
				docs = append(docs, "# Source: a.yaml\n"+helm+"\n")
			}
		}
		for _, doc := range docs {
			compareManifest(t, doc)
			i := int(at % uint(len(doc)+1))
			for _, change := range []string{change, textOf([]byte(change))} {
				compareManifest(t, doc[:i]+change+doc[i:])
				compareManifest(t, doc[:i]+change+doc[min(len(doc), i+len(change)):])
			}
		}
	})
}

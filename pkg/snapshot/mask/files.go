// SPDX-License-Identifier: Apache-2.0

package mask

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tidwall/pretty"
	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// bundle masks a Bundle in place. raw is its JSON as it was read; nil for a copy of a Bundle.
func (m *Masker) bundle(o map[string]any, raw []byte) {
	meta, _ := o["metadata"].(map[string]any)
	spec, _ := o["spec"].(map[string]any)
	resources, listed := spec["resources"].([]any)
	delete(spec, "resources") // fields would mask the encoded files
	m.fields(o)
	complete := true
	for i, e := range resources {
		file, whole := m.resource(e)
		resources[i], complete = file, complete && whole
	}
	if listed {
		spec["resources"] = resources
	}
	if raw == nil || !m.ready {
		return
	}
	result := source.BundleResult{Size: compactSize(raw)}
	if complete {
		result.Content = contentOf(raw)
	}
	namespace, _ := meta["namespace"].(string)
	name, _ := meta["name"].(string)
	put(&m.Unmasked.Bundles, namespace+"/"+name, result)
}

func put[V any](into *map[string]V, key string, v V) {
	if *into == nil {
		*into = map[string]V{}
	}
	(*into)[key] = v
}

func compactSize(raw []byte) int {
	var out bytes.Buffer
	if json.Compact(&out, raw) != nil {
		return len(raw)
	}
	return out.Len()
}

// contentOf returns the name of the Content with the files of a Bundle.
func contentOf(raw []byte) string {
	var b v1alpha1.BundleContents
	if json.Unmarshal(raw, &b) != nil || len(b.Spec.Resources) == 0 {
		return ""
	}
	id, err := render.ManifestID(b.Spec.Resources)
	if err != nil {
		return ""
	}
	return id
}

// content masks a Content in place.
func (m *Masker) content(o map[string]any) {
	meta, _ := o["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	text, _ := o["content"].(string)
	sum, _ := o["sha256sum"].(string)
	delete(o, "content")
	m.fields(o)
	if text == "" {
		return
	}
	packed, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		packed = nil
	}
	c := v1alpha1.Content{Content: packed, SHA256Sum: sum}
	c.Name = name
	_, err = render.DecodeContent(&c)
	var document struct {
		Resources []any `json:"resources"`
	}
	if plain, unpacked := unpack(packed); err == nil && (unpacked != nil || json.Unmarshal(plain, &document) != nil) {
		err = fmt.Errorf("decoding content %s: it is damaged", name)
	}
	if err != nil {
		why := source.Unreadable{Damaged: err.Error()}
		if render.TooLarge(err) {
			why = source.Unreadable{Limit: err.Error()}
		}
		m.leftOut(name, why)
		o["content"] = ""
		return
	}
	for i, e := range document.Resources {
		file, whole := m.resource(e)
		if document.Resources[i] = file; !whole {
			m.leftOut(name, source.Unreadable{Limit: fmt.Sprintf("content %s has compressed files with values of Secrets, which are not in the snapshot", name)})
		}
	}
	plain, err := encode(document)
	if err != nil {
		return // it was decoded from JSON
	}
	o["content"] = base64.StdEncoding.EncodeToString(pack(plain, gzip.DefaultCompression))
	if sum != "" {
		o["sha256sum"] = fmt.Sprintf("%x", sha256.Sum256(plain))
	}
}

// leftOut records why a Content is not as it was.
func (m *Masker) leftOut(name string, why source.Unreadable) {
	if m.ready {
		put(&m.Unmasked.Contents, name, why)
	}
}

// resource masks one file of a bundle. whole is false if the file had to be left out.
func (m *Masker) resource(v any) (out any, whole bool) {
	r, ok := v.(map[string]any)
	if !ok {
		return v, true
	}
	text, _ := r["content"].(string)
	encoding, _ := r["encoding"].(string)
	name, _ := r["name"].(string)
	data := []byte(text)
	var err error
	if strings.HasPrefix(encoding, "base64") {
		data, err = base64.StdEncoding.DecodeString(text)
	}
	if err == nil && strings.HasSuffix(encoding, "gz") {
		data, err = unpack(data)
	}
	if err != nil {
		delete(r, "content")
		return r, false
	}
	if isPacked(data) {
		if m.ready && m.packs(data) {
			delete(r, "content")
			return r, false
		}
		return r, true
	}
	masked := []byte(m.file(name, string(data)))
	if string(masked) == string(data) {
		return r, true
	}
	if strings.HasSuffix(encoding, "gz") {
		masked = pack(masked, gzip.DefaultCompression)
	}
	if strings.HasPrefix(encoding, "base64") {
		masked = []byte(base64.StdEncoding.EncodeToString(masked))
	}
	r["content"] = string(masked)
	return r, true
}

// markLine is a line that begins a new document.
var markLine = regexp.MustCompile(`(?m)^---`)

// file masks a file of a bundle: manifests, templates of manifests, Helm values, or any text.
func (m *Masker) file(name, text string) string {
	if !m.ready && strings.Contains(name, "values") {
		m.learnValues(text)
	}
	if !strings.Contains(text, "Secret") {
		return m.text(text)
	}
	var out strings.Builder
	begin := 0
	for _, at := range append(markLine.FindAllStringIndex(text, -1), []int{len(text), len(text)}) {
		out.WriteString(m.document(text[begin:at[0]]))
		begin = at[0]
	}
	return out.String()
}

// document masks a YAML document of a file, with the line "---" before it.
func (m *Masker) document(text string) string {
	if !strings.Contains(text, "Secret") {
		return m.text(text)
	}
	rec := release.Record{Manifest: text}
	objects, err := rec.Objects()
	if err != nil {
		if secretKind.MatchString(text) {
			text = m.lines(text) // a template
		}
		return m.text(text)
	}
	changed := false
	for _, o := range objects {
		changed = changed || o.IsSecret() || strings.Contains(string(o.Raw), `"kind":"Secret"`)
	}
	if !changed {
		if secretKind.MatchString(text) { // a patch without an apiVersion
			text = m.lines(text)
		}
		return m.text(text)
	}
	return m.manifest(objects)
}

// manifest returns masked objects as documents in YAML.
func (m *Masker) manifest(objects []release.Object) string {
	return m.documents(objects, func(out *bytes.Buffer, raw []byte) {
		text, err := yaml.JSONToYAML(raw)
		if err != nil || !reads(text, raw) {
			text = raw
		}
		out.Write(bytes.TrimSuffix(text, []byte("\n")))
	})
}

// recorded returns masked objects as documents in JSON, which needs a third of the time.
func (m *Masker) recorded(objects []release.Object) string {
	return m.documents(objects, func(out *bytes.Buffer, raw []byte) {
		out.Write(bytes.TrimSuffix(pretty.PrettyOptions(raw, &pretty.Options{Indent: " "}), []byte("\n")))
	})
}

// documents masks objects, and writes each document with a function. Each object stays in the document with its number,
// because commands name it.
func (m *Masker) documents(objects []release.Object, write func(out *bytes.Buffer, raw []byte)) string {
	var out bytes.Buffer
	separators := 0
	for len(objects) > 0 {
		number, masked := objects[0].Document, [][]byte(nil)
		for len(objects) > 0 && objects[0].Document == number {
			if raw, err := m.mask(objects[0].Raw); err == nil && m.ready { // the reader of manifests yields only JSON objects
				masked = append(masked, raw)
			}
			objects = objects[1:]
		}
		for ; separators < number; separators++ {
			out.WriteString("---\n")
		}
		switch len(masked) {
		case 0:
			continue
		case 1:
			write(&out, masked[0])
		default:
			write(&out, slices.Concat([]byte(`{"apiVersion":"v1","kind":"List","items":[`), bytes.Join(masked, []byte(",")),
				[]byte("]}")))
		}
		out.WriteByte('\n')
	}
	return out.String()
}

// reads reports whether the reader of manifests reads exactly the JSON raw from a YAML document.
func reads(text, raw []byte) bool {
	rec := release.Record{Manifest: string(text)}
	objects, err := rec.Objects()
	if err != nil || len(objects) != 1 {
		return false
	}
	read, ok := decode(objects[0].Raw)
	same, err := encode(read)
	return ok && err == nil && string(same) == string(raw)
}

var (
	secretKind = regexp.MustCompile(`(?m)^\s*(- )?"?kind"?:\s*["']?Secret\b`)
	// dataLine matches the line that begins the data of a Secret, valueLine a line with a key and a value.
	dataLine  = regexp.MustCompile(`^(\s*)["']?(data|stringData)["']?:\s*$`)
	valueLine = regexp.MustCompile(`^(\s*["']?[-._a-zA-Z0-9]+["']?:\s+)(.*?)(\s*)$`)
)

// lines masks the values of a Secret in a template, which is not YAML. Values that the template computes stay.
func (m *Masker) lines(text string) string {
	var out strings.Builder
	field, indent, key, skip := "", 0, -1, false
	for line := range strings.Lines(text) {
		blank := strings.TrimSpace(line) == "" || strings.HasPrefix(strings.TrimSpace(line), "{{")
		depth := len(line) - len(strings.TrimLeft(line, " "))
		switch data := dataLine.FindStringSubmatch(line); {
		case data != nil:
			field, indent, key, skip = data[2], len(data[1]), -1, false
		case blank, field == "":
		case depth <= indent:
			field = ""
		default:
			if key < 0 {
				key = depth
			}
			if depth > key { // a block scalar, or a value on several lines
				if skip {
					m.learn(strings.TrimSpace(line))
					continue
				}
				break
			}
			line, skip = m.line(line, field)
		}
		out.WriteString(line)
	}
	return out.String()
}

// line masks one key of a Secret in a template. block is true if its value is on the next lines.
func (m *Masker) line(line, field string) (masked string, block bool) {
	parts := valueLine.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
	if len(parts) == 0 || strings.Contains(parts[2], "{{") {
		return line, false
	}
	value := strings.Trim(parts[2], `"'`)
	if block = strings.HasPrefix(value, "|") || strings.HasPrefix(value, ">"); block {
		value = parts[1] + value
	}
	if value == "" {
		return line, false
	}
	s := secretData{Masker: m}
	if field == "data" && !block {
		if plain, err := base64.StdEncoding.DecodeString(value); err == nil {
			return parts[1] + base64.StdEncoding.EncodeToString([]byte(s.value("", string(plain)))) + "\n", block
		}
	}
	token := s.Masker.value(value)
	if field == "data" {
		token = base64.StdEncoding.EncodeToString([]byte(token))
	}
	return parts[1] + token + "\n", block
}

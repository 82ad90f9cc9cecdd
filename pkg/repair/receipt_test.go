// SPDX-License-Identifier: Apache-2.0

package repair

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// two returns two objects to adopt, and a refused one between them.
func two() []Item {
	items := []Item{item(), item(), item()}
	items[1].Action, items[1].Name = report.ActionRefuse, "refused"
	items[2].Name, items[2].UID = "other", "u-2"
	items[2].Before = ownership.FromValues(map[string]string{"objectset.rio.cattle.io/id": "",
		"app.kubernetes.io/managed-by": "<hand>"})
	return items
}

var header = Header{TakenAt: "2026-01-02T03:04:05Z", Version: "test", Server: "https://cluster.example.com",
	ClusterUID: "u-0", Digest: "abc"}

func receipt(t *testing.T) (path string, items []Item) {
	t.Helper()
	path, items = filepath.Join(t.TempDir(), "receipt.jsonl"), two()
	r, err := CreateReceipt(path, header, items, nil)
	if err != nil {
		t.Fatal(err)
	}
	items[0].Outcome, items[0].Unanswered, items[0].Message = report.OutcomeFailed, true, "interrupted"
	items[2].Outcome, items[2].Message = report.OutcomeFailed, "forbidden" // which may quote a Secret's value
	for i, x := range items {
		if !x.Writes() {
			continue
		}
		if err := r.Settled(i, x); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return path, items
}

func TestReceipt(t *testing.T) {
	path, items := receipt(t)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	h, entries, err := ReadReceipt(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	want := header
	want.APIVersion, want.Kind, want.Format, want.Objects = "fleetdoctor.io/v1alpha1", "RepairReceipt", 3, 2
	if diff := cmp.Diff(want, h); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
	entry := func(i Item) Entry {
		return i.entry("")
	}
	if diff := cmp.Diff([]Entry{entry(items[0]), entry(items[2])}, entries); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	outcomes := strings.SplitAfterN(string(raw), "\n", 4)[3]
	if want := `{"entry":1,"outcome":"Failed","unanswered":true}` + "\n" + `{"entry":2,"outcome":"Failed"}` +
		"\n"; outcomes != want {
		t.Errorf("outcomes %s, want %s", outcomes, want)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, error %v", info.Mode(), err)
	}
	// A receipt may be the only way to undo an adoption: it is never overwritten.
	if _, err := CreateReceipt(path, header, items, nil); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a second receipt with the same name: error %v", err)
	}
	if _, err := CreateReceipt(filepath.Join(t.TempDir(), "not", "there"), header, items, nil); err == nil {
		t.Error("a receipt was created in a directory that does not exist")
	}
}

// TestReceiptCut checks that the remaining entries of a truncated receipt are read, wherever it was truncated.
func TestReceiptCut(t *testing.T) {
	path, _ := receipt(t)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, whole, err := ReadReceipt(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	for n := range raw {
		h, entries, err := ReadReceipt(bytes.NewReader(raw[:n]))
		if err != nil {
			if len(entries) > 0 || n > bytes.IndexByte(raw, '\n') {
				t.Fatalf("cut at byte %d: %d entries, error %v", n, len(entries), err)
			}
			continue
		}
		if len(entries) > h.Objects || cmp.Diff(whole[:len(entries)], entries, cmpopts.EquateEmpty()) != "" {
			t.Fatalf("cut at byte %d: entries %v", n, entries)
		}
	}
}

// sealed returns a receipt: the lines with their digests.
func sealed(lines ...string) string {
	var c chain
	var b strings.Builder
	for _, line := range lines {
		b.Write(append(c.seal([]byte(strings.TrimSuffix(line, "}"))), '\n'))
	}
	return b.String()
}

func TestReceiptRefuses(t *testing.T) {
	const head = `{"apiVersion":"fleetdoctor.io/v1alpha1","kind":"AdoptionReceipt","format":2,"objects":2}`
	const good = `{"apiVersion":"v1","kind":"ConfigMap","name":"a","uid":"u","before":{},` +
		`"after":{"objectset.rio.cattle.io/hash":"x"}}`
	for name, tc := range map[string]struct{ text, err string }{
		"empty":            {"", "it is empty"},
		"another document": {`{"apiVersion":"v1","kind":"ConfigMap"}`, "line 1 is not the header"},
		"of another version": {`{"apiVersion":"fleetdoctor.io/v2","kind":"AdoptionReceipt","objects":1}`,
			"line 1 is not the header"},
		"not JSON": {"receipt", "line 1 is not the header"},
		"without digests": {
			`{"apiVersion":"fleetdoctor.io/v1alpha1","kind":"AdoptionReceipt","objects":2}` + "\n" + good,
			"line 1 states no format",
		},
		"of a newer format": {
			sealed(`{"apiVersion":"fleetdoctor.io/v1alpha1","kind":"AdoptionReceipt","format":4,"objects":2}`),
			"line 1 states format 4",
		},
		"a header without its digest": {head + "\n" + sealed(good), "line 1 is damaged"},
		"a damaged line":              {sealed(head, good) + "{hidden-value\n" + sealed(good), "line 3 is damaged"},
		"a line without its digest":   {sealed(head, good) + good + "\n", "line 3 is damaged"},
		"without the previous values": {sealed(head,
			`{"apiVersion":"v1","kind":"ConfigMap","name":"a","uid":"u","after":{}}`, good), "line 2 is damaged"},
		"a key of another version": {sealed(head,
			`{"apiVersion":"v1","kind":"ConfigMap","name":"a","uid":"u","before":{"x":"y"},"after":{}}`, good),
			"line 2 is damaged"},
		"a line without an object": {sealed(head, `{"a":"b"}`, good), "line 2 is damaged"},
		"a line that is too long":  {sealed(head) + `{"name":"` + strings.Repeat("x", maxLine) + `"}`, "line 2"},
	} {
		_, entries, err := ReadReceipt(strings.NewReader(tc.text))
		if err == nil || !strings.Contains(err.Error(), tc.err) || strings.Contains(err.Error(), "hidden-value") ||
			len(entries) > 0 {
			t.Errorf("%s: %d entries, error %v", name, len(entries), err)
		}
	}
}

// FuzzReadReceipt checks that any text is read or refused, that every entry names an object, and that no error quotes
// the text.
func FuzzReadReceipt(f *testing.F) {
	f.Add(`{"apiVersion":"fleetdoctor.io/v1alpha1","kind":"AdoptionReceipt","objects":1}` + "\n" +
		`{"apiVersion":"v1","kind":"ConfigMap","name":"a","uid":"u","before":{"objectset.rio.cattle.io/id":"b"},` +
		`"after":{}}`)
	f.Add(`{"apiVersion":"fleetdoctor.io/v1alpha1","kind":"AdoptionReceipt","objects":-1}` + "\n\n{")
	f.Add(sealed(`{"apiVersion":"fleetdoctor.io/v1alpha1","kind":"AdoptionReceipt","format":2,"objects":1}`,
		`{"apiVersion":"v1","kind":"ConfigMap","name":"a","uid":"u","before":{"objectset.rio.cattle.io/id":"b"},`+
			`"after":{}}`))
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		const marker = "q7x9z-quoted-k3v8"
		h, entries, err := ReadReceipt(strings.NewReader(text))
		if len(entries) > max(h.Objects, 0) {
			t.Errorf("%d entries of %d", len(entries), h.Objects)
		}
		for _, e := range entries {
			if (e.Ref == object.Ref{}) || e.Name == "" || e.UID == "" {
				t.Errorf("entry %+v", e)
			}
			m := &object.Meta{} // an undo can be planned for any state of the object
			m.Metadata.UID = e.UID
			Undo{}.object(NoFacts{}, &Item{Before: ownership.FromValues(e.After),
				After: ownership.FromValues(e.Before), RepairedObject: report.RepairedObject{Ref: e.Ref, UID: e.UID}},
				m,
				source.Object{Item: object.Item{Raw: []byte("{}")}})
		}
		if _, _, err2 := ReadReceipt(strings.NewReader(strings.ReplaceAll(text, "a", marker))); err2 != nil &&
			strings.Contains(err2.Error(), marker) {
			t.Errorf("the error quotes the receipt: %v (before: %v)", err2, err)
		}
	})
}

func digestOf(items ...Item) string {
	d := &report.Repair{}
	for _, i := range items {
		d.Objects = append(d.Objects, i.RepairedObject)
	}
	return Digest(d)
}

// TestDigest checks that the digest of a plan covers what the user was shown of it, and not what changes without an
// effect.
func TestDigest(t *testing.T) {
	plan := func(change func(*report.Repair)) string {
		i := item()
		i.Effects = []string{"uninstalling release web/guestbook deletes it"}
		i.Overwrites = []report.Difference{{Path: "data.a", Manager: "kubectl", Time: "2026-01-02T03:04:05Z"}}
		p := &report.Repair{Objects: []report.RepairedObject{i.RepairedObject}, Notes: []string{"a note"},
			Gaps: []report.Gap{{What: "secrets", Detail: "timeout"}}}
		change(p)
		return Digest(p)
	}
	digest := plan(func(*report.Repair) {})
	for name, change := range map[string]func(*report.Repair){
		"effect": func(p *report.Repair) {
			p.Objects[0].Effects = append(p.Objects[0].Effects, "1 field differs from the bundle")
		},
		"field":    func(p *report.Repair) { p.Objects[0].Overwrites[0].Path = "data.b" },
		"writer":   func(p *report.Repair) { p.Objects[0].Overwrites[0].Manager = "argocd" },
		"owner":    func(p *report.Repair) { p.Objects[0].Owner = &report.Owner{SetID: "x"} },
		"message":  func(p *report.Repair) { p.Objects[0].Message = "x" },
		"note":     func(p *report.Repair) { p.Notes = append(p.Notes, "other bundles may desire these objects") },
		"gap":      func(p *report.Repair) { p.Gaps = append(p.Gaps, report.Gap{What: "configmaps"}) },
		"policy":   func(p *report.Repair) { p.Policy = "if-no-diff" },
		"new item": func(p *report.Repair) { p.Objects = append(p.Objects, item().RepairedObject) },
	} {
		if plan(change) == digest {
			t.Errorf("another %s gives the same digest", name)
		}
	}
	for name, change := range map[string]func(*report.Repair){
		"time of a write":  func(p *report.Repair) { p.Objects[0].Overwrites[0].Time = "2026-01-02T03:04:06Z" },
		"message of a gap": func(p *report.Repair) { p.Gaps[0].Detail = "connection refused" },
		"time of the plan": func(p *report.Repair) { p.TakenAt = "2026-01-02T03:04:05Z" },
		"refused object": func(p *report.Repair) {
			p.Objects = append(p.Objects, report.RepairedObject{Action: report.ActionRefuse})
		},
	} {
		if plan(change) != digest {
			t.Errorf("another %s gives another digest", name)
		}
	}
}

// FuzzDigest checks that plans with different writes have different digests.
func FuzzDigest(f *testing.F) {
	f.Add("u-1", "guestbook", "theme", "old")
	f.Add("", "\x00", "a\"b", "\u2028")
	f.Fuzz(func(t *testing.T, uid, release, name, old string) {
		base := item()
		base.UID, base.Name = uid, name
		base.After = ownership.Desired("default-"+release, release, "web")
		base.Before = ownership.FromValues(map[string]string{"app.kubernetes.io/managed-by": old})
		base.Changes = changes(base.Before, base.After)
		digest := digestOf(base)
		for name, change := range map[string]func(*Item){
			"uid":       func(i *Item) { i.UID += "x" },
			"name":      func(i *Item) { i.Name += "x" },
			"situation": func(i *Item) { i.Situation += "x" },
			"bundle":    func(i *Item) { i.BundleDeployment += "x" },
			"old value": func(i *Item) {
				i.Before = ownership.FromValues(map[string]string{"app.kubernetes.io/managed-by": old + "x"})
				i.Changes = changes(i.Before, i.After)
			},
			"action": func(i *Item) { i.Action = report.ActionRestore },
		} {
			other := base
			change(&other)
			if strings.ToValidUTF8(old, "\ufffd") != old || strings.ToValidUTF8(uid, "\ufffd") != uid ||
				strings.ToValidUTF8(name, "\ufffd") != name {
				continue // an API server does not accept such text
			}
			if old+"x" == "Helm" && name == "old value" {
				continue // the old value is the desired value: there is no change
			}
			if digestOf(other) == digest {
				t.Errorf("another %s gives the same digest", name)
			}
		}
		if digestOf(base, base) == digest {
			t.Error("a second copy of the object gives the same digest")
		}
	})
}

// TestReceiptInATerminal checks that the text of a receipt has no effect on a terminal, and that the original values
// are read from it.
func TestReceiptInATerminal(t *testing.T) {
	const hostile = "a\x1b[2J\u009b\u202e\u2028"
	path := filepath.Join(t.TempDir(), "receipt.jsonl")
	i := item()
	i.Before = ownership.Metadata{SetID: hostile}
	h := header
	h.Server = hostile
	r, err := CreateReceipt(path, h, []Item{i}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.ContainsFunc(raw, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) {
		t.Errorf("receipt %q", raw)
	}
	read, entries, err := ReadReceipt(bytes.NewReader(raw))
	if err != nil || read.Server != hostile || len(entries) != 1 ||
		entries[0].Before["objectset.rio.cattle.io/id"] != hostile {
		t.Errorf("read as %+v, %+v: %v", read, entries, err)
	}
}

// SPDX-License-Identifier: Apache-2.0

package repair

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// lines returns the lines of a receipt of two objects: a header, the objects, and two outcomes.
func lines(t *testing.T) [][]byte {
	t.Helper()
	path, _ := receipt(t)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out := bytes.SplitAfter(raw, []byte("\n"))
	return out[:len(out)-1]
}

// TestReceiptChanged checks that a receipt that was changed is refused, and that the error names the line.
func TestReceiptChanged(t *testing.T) {
	all, other := lines(t), lines(t)
	edit := func(line []byte, old, replacement string) []byte {
		t.Helper()
		if !bytes.Contains(line, []byte(old)) {
			t.Fatalf("no %q in %s", old, line)
		}
		return bytes.Replace(line, []byte(old), []byte(replacement), 1)
	}
	for name, tc := range map[string]struct {
		lines [][]byte
		err   string
	}{
		"another value": {[][]byte{all[0], all[1], edit(all[2], `"<hand>"`, `"Helm"`), all[3]},
			"line 3 is damaged: its digest does not match"},
		"another object": {[][]byte{all[0], all[1], edit(all[2], `"uid":"u-2"`, `"uid":"u-9"`), all[3]},
			"line 3 is damaged"},
		"another name": {[][]byte{all[0], edit(all[1], `"name":"theme"`, `"name":"victim"`), all[2]},
			"line 2 is damaged"},
		"another cluster": {[][]byte{edit(all[0], `"clusterUID":"u-0"`, `"clusterUID":"u-1"`), all[1], all[2]},
			"line 1 is damaged"},
		"another count": {[][]byte{edit(all[0], `"objects":2`, `"objects":1`), all[1], all[2]},
			"line 1 is damaged"},
		"a line left out":         {[][]byte{all[0], all[2], all[3]}, "line 2 is damaged"},
		"the last object removed": {[][]byte{all[0], all[1], all[3]}, "line 3 is damaged"},
		"a line twice":            {[][]byte{all[0], all[1], all[1], all[2]}, "line 3 is damaged"},
		"another order":           {[][]byte{all[0], all[2], all[1]}, "line 2 is damaged"},
		"one object more": {[][]byte{all[0], all[1], all[2], all[2], all[3]},
			"line 4 is one object more than the 2 of the header"},
		"one object at the end": {append(append([][]byte{}, all...), all[1]),
			"line 6 is one object more than the 2 of the header"},
		"two receipts":         {append(append([][]byte{}, all...), other...), "line 6 begins another receipt"},
		"two without outcomes": {append(append([][]byte{}, all[:3]...), other...), "line 4 begins another receipt"},
		"two, the first cut":   {append(append([][]byte{}, all[:2]...), other...), "line 3 begins another receipt"},
	} {
		_, entries, err := ReadReceipt(bytes.NewReader(bytes.Join(tc.lines, nil)))
		if err == nil || !strings.Contains(err.Error(), tc.err) || len(entries) > 0 {
			t.Errorf("%s: %d objects, error %v; want %q", name, len(entries), err, tc.err)
		}
	}
}

// TestReceiptUndamaged checks that a receipt is read if only its outcomes are damaged or of an earlier version, or if
// its line ends differ.
func TestReceiptUndamaged(t *testing.T) {
	all := lines(t)
	for name, raw := range map[string][]byte{
		"damaged outcomes": bytes.Join([][]byte{all[0], all[1], all[2], []byte("\x00\x00\n{\"en\n"), all[4],
			[]byte("\x00\x00")}, nil),
		"no outcome": bytes.Join(all[:3], nil),
		"a message": bytes.ReplaceAll(bytes.Join(all, nil), []byte(`"unanswered":true`),
			[]byte(`"message":"interrupted before the server answered"`)),
		"CRLF": bytes.ReplaceAll(bytes.Join(all, nil), []byte("\n"), []byte("\r\n")),
	} {
		if _, entries, err := ReadReceipt(bytes.NewReader(raw)); err != nil || len(entries) != 2 {
			t.Errorf("%s: %d objects, error %v", name, len(entries), err)
		}
	}
}

// TestReceiptOfEarlierVersion checks that the receipt of an earlier version is read. Its outcomes do not say whether
// the server answered.
func TestReceiptOfEarlierVersion(t *testing.T) {
	const text = `{"apiVersion":"fleetdoctor.io/v1alpha1","kind":"AdoptionReceipt","format":2,` +
		`"takenAt":"2026-01-02T03:04:05Z","version":"0.3.1","clusterUID":"u-0","digest":"abc","objects":1,` +
		`"chain":"cc67c07ec4aef154dda9dff7a8d4bba43fcc5db0fd090a8f2ac1457f647b0e2c"}
{"apiVersion":"v1","kind":"ConfigMap","namespace":"web","name":"theme","uid":"u-1",` +
		`"bundleDeployment":"cluster-one/guestbook","release":"web/guestbook","before":{},` +
		`"after":{"objectset.rio.cattle.io/hash":"x"},` +
		`"chain":"14093325b5ba87a8af63a8b58f9c4b4ff2b9d5817b15ab8b4cab3f7c64426a16"}
{"entry":1,"outcome":"Failed"}
`
	h, entries, err := ReadReceipt(strings.NewReader(text))
	if err != nil || h.Version != "0.3.1" || len(entries) != 1 || entries[0].Ref != theme ||
		entries[0].After["objectset.rio.cattle.io/hash"] != "x" {
		t.Errorf("header %+v, entries %+v, error %v", h, entries, err)
	}
}

// TestReceiptNotThroughLink checks that a receipt is not written through a symbolic link.
func TestReceiptNotThroughLink(t *testing.T) {
	dir := t.TempDir()
	link, target := filepath.Join(dir, "receipt.jsonl"), filepath.Join(dir, "target")
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	if _, err := CreateReceipt(link, header, two(), nil); err == nil || !strings.Contains(err.Error(), link) {
		t.Errorf("error %v", err)
	}
	if _, err := os.Lstat(target); !os.IsNotExist(err) {
		t.Errorf("the target of the link: %v", err)
	}
}

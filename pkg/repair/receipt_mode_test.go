// SPDX-License-Identifier: Apache-2.0

//go:build unix

package repair

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestReceiptMode checks the mode of a receipt for several umasks, and that an existing file is not used.
func TestReceiptMode(t *testing.T) {
	for _, mask := range []int{0, 0o022, 0o077, 0o277, 0o777} {
		path := filepath.Join(t.TempDir(), "receipt.jsonl")
		before := syscall.Umask(mask)
		r, err := CreateReceipt(path, Header{}, []Item{item()}, nil)
		syscall.Umask(before)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("umask %04o: mode %v, error %v", mask, info.Mode(), err)
		}
		if _, err := CreateReceipt(path, Header{}, nil, nil); !errors.Is(err, fs.ErrExist) {
			t.Error("an existing file was used")
		}
	}
}

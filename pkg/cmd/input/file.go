// SPDX-License-Identifier: Apache-2.0

package input

import (
	"fmt"
	"io"
	"os"
)

// ReadFile reads a file of at most that many bytes.
func ReadFile(name string, most int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	return ReadLimited(name, f, most)
}

// ReadLimited reads a stream of at most that many bytes. name is for the error.
func ReadLimited(name string, in io.Reader, most int64) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(in, most+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", name, err)
	case int64(len(content)) > most:
		return nil, fmt.Errorf("reading %s: it has more than %d MiB", name, most>>20)
	}
	return content, nil
}

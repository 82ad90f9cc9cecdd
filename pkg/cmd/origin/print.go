// SPDX-License-Identifier: Apache-2.0

package origin

import (
	"bytes"
	"context"
	"fmt"
	"io"
)

// Print writes a document to standard output once it is whole: of one that was interrupted while it was made there is nothing, not a half.
func (f *Flags) Print(ctx context.Context, show func(io.Writer) error) error {
	var out bytes.Buffer
	if err := show(&out); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if _, err := f.Streams.Out.Write(out.Bytes()); err != nil {
		return fmt.Errorf("writing to standard output: %w", err)
	}
	return nil
}

// SPDX-License-Identifier: Apache-2.0

package install

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// maxLine is the limit of a line of metrics, in bytes.
const maxLine = 1 << 20

// ReadMetrics reads the samples of the metrics whose name begins with a prefix. It skips all other metrics, which may
// be megabytes, unparsed.
func ReadMetrics(from io.Reader, prefix string) (model.Vector, error) {
	var kept bytes.Buffer
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		l := lines.Bytes()
		if bytes.Contains(l[:min(len(l), 80)], []byte(prefix)) {
			kept.Write(l)
			kept.WriteByte('\n')
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading metrics: %w", err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(&kept)
	if err != nil {
		return nil, fmt.Errorf("reading metrics: %w", err)
	}
	samples, err := expfmt.ExtractSamples(&expfmt.DecodeOptions{}, slices.Collect(maps.Values(families))...)
	if err != nil {
		return nil, fmt.Errorf("reading metrics: %w", err)
	}
	return samples, nil
}

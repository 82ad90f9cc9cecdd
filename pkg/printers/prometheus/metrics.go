// SPDX-License-Identifier: Apache-2.0

package prometheus

import (
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
)

type label struct{ name, value string }

// with returns the labels with others; the arguments are not changed.
func with(labels []label, others ...label) []label { return slices.Concat(labels, others) }

// metrics collects the families of gauges by their names.
type metrics struct {
	families map[string]*family
	names    []string // in the order of their first series
}

// family is the family of a metric. Two series with the same labels would be an error: node_exporter refuses the whole
// file then.
type family struct {
	*dto.MetricFamily
	series map[string]*dto.Metric
}

// set sets the value of a series.
func (m *metrics) set(name, help string, value float64, labels ...label) {
	*m.series(name, help, labels).Gauge.Value = value
}

// add adds to the value of a series, which begins at zero.
func (m *metrics) add(name, help string, value float64, labels ...label) {
	*m.series(name, help, labels).Gauge.Value += value
}

func (m *metrics) series(name, help string, labels []label) *dto.Metric {
	f := m.families[name]
	if f == nil {
		f = &family{&dto.MetricFamily{Name: &name, Help: &help, Type: dto.MetricType_GAUGE.Enum()},
			map[string]*dto.Metric{}}
		m.families[name], m.names = f, append(m.names, name)
	}
	var key strings.Builder
	pairs := make([]*dto.LabelPair, 0, len(labels))
	for _, l := range labels {
		value := escape.Line(l.value)
		pairs = append(pairs, &dto.LabelPair{Name: &l.name, Value: &value})
		key.WriteString(value + "\x00")
	}
	series := f.series[key.String()]
	if series == nil {
		series = &dto.Metric{Label: pairs, Gauge: &dto.Gauge{Value: new(float64)}}
		f.series[key.String()], f.Metric = series, append(f.Metric, series)
	}
	return series
}

// inOrder returns the families in the order in which they were added.
func (m *metrics) inOrder() []*dto.MetricFamily {
	out := make([]*dto.MetricFamily, 0, len(m.names))
	for _, name := range m.names {
		out = append(out, m.families[name].MetricFamily)
	}
	return out
}

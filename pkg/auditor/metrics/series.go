// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
)

// descriptions are the metrics by their names, for the client of Prometheus.
type descriptions map[string]description

type description struct {
	*prometheus.Desc
	kind prometheus.ValueType
}

func describe() descriptions {
	out := descriptions{}
	for _, f := range Families() {
		out[f.Name] = description{prometheus.NewDesc(f.Name, f.Help, f.Labels, nil), f.Type()}
	}
	return out
}

// series are the series of one collection, by name and labels. Prometheus refuses a collection with two equal series,
// so values with the same labels are added.
type series struct {
	samples map[string]*sample
	sorted  []*sample
}

type sample struct {
	name   string
	labels []string
	value  float64
}

// add adds to the value of a series, which begins at zero.
func (s *series) add(name string, value float64, labels ...string) {
	s.get(name, labels).value += value
}

// earliest sets the value of a series to a time, unless it has an earlier one.
func (s *series) earliest(name string, when time.Time, labels ...string) {
	x, value := s.get(name, labels), float64(when.Unix())
	if x.value == 0 || value < x.value {
		x.value = value
	}
}

func (s *series) get(name string, labels []string) *sample {
	values := make([]string, len(labels))
	for i, l := range labels {
		values[i] = escape.Line(l)
	}
	key := name + "\x00" + strings.Join(values, "\x00")
	x := s.samples[key]
	if x == nil {
		x = &sample{name: name, labels: values}
		s.samples[key], s.sorted = x, append(s.sorted, x)
	}
	return x
}

// send sends the series.
func (s *series) send(all descriptions, ch chan<- prometheus.Metric) {
	for _, x := range s.sorted {
		d := all[x.name]
		m, err := prometheus.NewConstMetric(d.Desc, d.kind, x.value, x.labels...)
		if err != nil {
			m = prometheus.NewInvalidMetric(d.Desc, err)
		}
		ch <- m
	}
}

// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
)

// Memory is what audits of one cluster remember of its objects. nil remembers nothing.
type Memory struct {
	evaluated *evaluate.Memory
	searched  collect.SecretMemory
}

// NewMemory returns an empty Memory.
func NewMemory() *Memory { return &Memory{evaluated: evaluate.NewMemory()} }

func (m *Memory) objects() *evaluate.Memory {
	if m == nil {
		return nil
	}
	return m.evaluated
}

func (m *Memory) secrets() *collect.SecretMemory {
	if m == nil {
		return nil
	}
	return &m.searched
}

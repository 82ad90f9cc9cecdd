// SPDX-License-Identifier: Apache-2.0

package report

import (
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/agentconfig"
)

// KindAgents is the kind of an Agents.
const KindAgents = "AgentsReport"

// Agents reports the heartbeats of the agents of Clusters, and predicts which agents the controller imports again.
type Agents struct {
	Head
	Summary AgentsSummary `json:"summary"`
	Agents  []Agent       `json:"agents"`
	Gaps    []Gap         `json:"gaps"`
	// Notes are information for the reader that is not a gap.
	Notes []string `json:"notes,omitempty"`
}

// AgentsSummary counts the agents.
type AgentsSummary struct {
	Clusters int `json:"clusters"`
	// Stale agents have stopped reporting. NeverSeen agents were imported or register themselves, and have never
	// reported.
	Stale     int `json:"stale"`
	NeverSeen int `json:"neverSeen"`
	// ReImported are the agents that a restart of the controller imports again. ReImportedAfterUpgrade are those that
	// the start of a controller of Fleet 0.13 or later imports again. Unknown are those of which it is not known.
	ReImported             int `json:"reImported"`
	ReImportedAfterUpgrade int `json:"reImportedAfterUpgrade"`
	Unknown                int `json:"unknown"`
}

// Agent is the agent of one Cluster.
type Agent struct {
	// Namespace and Name are those of the Cluster.
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// AgentNamespace is the namespace of the agent on its cluster, as it reported it.
	AgentNamespace string `json:"agentNamespace,omitempty"`
	// Version is the image tag of the agent, if its cluster was read.
	Version string `json:"version,omitempty"`
	// Idle is why no pod of the agent runs, a sentence, if its cluster was read.
	Idle      string    `json:"idle,omitempty"`
	Heartbeat Heartbeat `json:"heartbeat"`
	// Now is what a restart of the controller does to the agent.
	Now Prediction `json:"now"`
	// AfterUpgrade is what the start of a controller of Fleet 0.13 does. It is the same as Now if the controller has
	// that version or a later one.
	AfterUpgrade Prediction `json:"afterUpgrade"`
	// Findings are the codes of the findings that an audit reports about the agent.
	Findings []string `json:"findings,omitempty"`
}

// Heartbeat is the last heartbeat of an agent.
type Heartbeat struct {
	// State is alive, stale (it is older than the limit), never (there was none), ahead (it is later than the time of
	// the data: a clock is wrong), disabled (the configuration disables the agent) or unknown.
	State string `json:"state"`
	// LastSeen is its time (RFC 3339), absent if there was none.
	LastSeen string `json:"lastSeen,omitempty"`
	// AgeSeconds is the time between the heartbeat and takenAt, absent if there was none or it is later.
	AgeSeconds int64 `json:"ageSeconds,omitempty"`
	// IntervalSeconds is the interval of heartbeats, absent if it was not read. LimitSeconds is the age from which the
	// agent is stale.
	IntervalSeconds int64 `json:"intervalSeconds,omitempty"`
	LimitSeconds    int64 `json:"limitSeconds"`
}

// Prediction is what the controller does to an agent when it starts.
type Prediction struct {
	// Result is re-import, import (for the first time), none, blocked (the controller cannot import the agent) or
	// unknown (a fact that decides was not read).
	Result string `json:"result"`
	// Reasons are the fields that cause the import. With the result unknown, they may cause it.
	Reasons []ImportReason `json:"reasons,omitempty"`
	// Why is a sentence if the result does not follow from the reasons alone.
	Why string `json:"why,omitempty"`
}

// ImportReason is a field that causes the import of an agent.
type ImportReason struct {
	Field string `json:"field"`
	// Recorded is the value in the status of the Cluster. Present is the value in the configuration of the controller
	// or in the spec of the Cluster. For a CA and for settings of the agent, both are hashes.
	Recorded string `json:"recorded"`
	Present  string `json:"present"`
	// CA describes the present CA.
	CA *CA `json:"ca,omitempty"`
}

// CA describes a CA bundle.
type CA struct {
	Certificates int `json:"certificates"`
	// Subject and NotAfter (RFC 3339) are those of the first certificate.
	Subject  string `json:"subject,omitempty"`
	NotAfter string `json:"notAfter,omitempty"`
}

// Add adds an agent.
func (a *Agents) Add(x evaluate.Agent) {
	h := x.Heartbeat
	out := Agent{Namespace: x.Cluster.Namespace, Name: x.Cluster.Name, AgentNamespace: x.Cluster.Status.Agent.Namespace,
		Version: x.Version, Idle: facts.IdleOf(x),
		Heartbeat: Heartbeat{State: string(h.State), AgeSeconds: seconds(h.Age), IntervalSeconds: seconds(h.Interval),
			LimitSeconds: seconds(h.Limit)},
		Now: newPrediction(x.Now), AfterUpgrade: newPrediction(x.Upgraded), Findings: check.OfAgent(x)}
	out.Heartbeat.LastSeen = Time(h.LastSeen)
	a.Agents = append(a.Agents, out)
	s := &a.Summary
	s.Clusters++
	for _, n := range []struct {
		of      *int
		applies bool
	}{
		{&s.Stale, facts.Stopped(x)}, {&s.NeverSeen, x.Silent},
		{&s.ReImported, x.Now.Result == agentconfig.ReImport},
		{&s.ReImportedAfterUpgrade, x.Upgraded.Result == agentconfig.ReImport},
		{&s.Unknown, x.Now.Result == agentconfig.Unknown},
	} {
		if n.applies {
			*n.of++
		}
	}
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }

func newPrediction(p agentconfig.Prediction) Prediction {
	out := Prediction{Result: string(p.Result), Why: p.Why}
	for _, r := range p.Reasons {
		reason := ImportReason{Field: string(r.Field), Recorded: r.Recorded, Present: r.Present}
		if r.CA != nil {
			reason.CA = &CA{Certificates: r.CA.Certificates, Subject: r.CA.Subject, NotAfter: Time(r.CA.NotAfter)}
		}
		out.Reasons = append(out.Reasons, reason)
	}
	return out
}

// Complete makes lists that are nil empty. Call it once, after all agents were added.
func (a *Agents) Complete() { complete(a) }

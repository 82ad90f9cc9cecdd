// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"maps"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/install"
)

// namespaces looks at the labels that users set.
func (j *judgement) namespaces() {
	if j.LabelsReason != "" {
		j.add("namespaces", Unknown, "the Namespaces could not be read: "+j.LabelsReason)
		return
	}
	var wrong, notes []string
	for _, name := range slices.Sorted(maps.Keys(j.Labels)) {
		for _, label := range slices.Sorted(maps.Keys(j.Labels[name])) {
			value := j.Labels[name][label]
			text := fmt.Sprintf("%s: %s=%s", name, label, value)
			switch {
			case label == admission.IgnoreLabel && value == "true":
				notes = append(notes, text+", the webhook is not called here")
			case label == admission.IgnoreLabel:
				wrong = append(wrong, text+" is no value that means anything: only true does")
			case label == admission.GuardLabel && !slices.Contains(admission.GuardModes(), admission.GuardMode(value)):
				wrong = append(wrong, text+" is no mode: off, warn or deny")
			case label == adoptLabel && value != "exact":
				wrong = append(wrong, text+" is no value that means anything: only exact does")
			case label == adoptLabel && !j.has(install.ExactWebhook) && j.has(install.StampWebhook):
				wrong = append(wrong, text+" has no effect: `webhook install --exact` adds the webhook for it")
			default:
				notes = append(notes, text)
			}
		}
	}
	switch {
	case len(wrong) > 0:
		j.add("namespaces", Wrong, plural(len(wrong), "label")+" without effect", append(wrong, notes...)...)
	case len(notes) > 0:
		j.add("namespaces", Note, "set by labels:", notes...)
	default:
		j.add("namespaces", OK, "no namespace opts out or sets a mode")
	}
}

func (j *judgement) has(name string) bool {
	return slices.ContainsFunc(j.status.Webhooks, func(w WebhookStatus) bool { return w.Name == name })
}

// calls tells what an API server counted. The counters never fall: what they say may be over, so it is wrong only where nothing went well.
func (j *judgement) calls() {
	if j.CallsReason != "" {
		j.add("calls", Unknown, "the API server's /metrics could not be read: "+j.CallsReason)
		return
	}
	for i := range j.status.Webhooks {
		w := &j.status.Webhooks[i]
		c, ok := j.Calls[w.Name]
		if !ok || c.Total == 0 {
			j.add("calls", Note, w.Name+": not called since that API server was started")
			continue
		}
		w.Calls = &c
		state := OK
		message := fmt.Sprintf("%s: %s, %.1f ms each", w.Name, plural(int(c.Total), "call"), c.MeanSeconds*1000)
		var details []string
		if c.FailedOpen+c.Failed > 0 {
			state = Note
			details = append(details, fmt.Sprintf("without an answer: %d, of which %d were refused for it and the others went on; since that API server was started "+
				"(`webhook test` says whether it answers now)", c.FailedOpen+c.Failed, c.Failed))
			if c.FailedOpen+c.Failed >= c.Total {
				state = Wrong
			}
		}
		if c.Refused > 0 {
			details = append(details, fmt.Sprintf("denied: %d", c.Refused))
		}
		j.add("calls", state, message, details...)
	}
}

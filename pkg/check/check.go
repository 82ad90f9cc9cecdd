// SPDX-License-Identifier: Apache-2.0

// Package check turns the result of an evaluation into findings. There is one file for each check, with its stable
// code. The documentation is generated from the catalogue of the checks. A check is a pure function of the Input.
package check

import (
	"slices"
)

// Run runs the checks of the scopes, of all scopes if it is called with none. It returns their findings in the order of
// the codes.
func Run(in *Input, scopes ...Scope) []Finding {
	var out []Finding
	for _, r := range catalogue {
		if len(scopes) > 0 && !slices.Contains(scopes, r.scope) {
			continue
		}
		var reported found
		r.check(in, &reported)
		for _, f := range reported.findings {
			out = append(out, in.as(f, r.code))
		}
	}
	return out
}

// as returns a finding with a code and what the catalogue has for it.
func (in *Input) as(f Finding, code string) Finding {
	check := checks()[slices.IndexFunc(checks(), func(c Check) bool { return c.Code == code })]
	f.Code, f.Severity, f.Urgency, f.Title = check.Code, check.Severity, check.Urgency, check.Title
	f.Remedies = slices.Clone(f.Remedies)
	in.addSteps(&f)
	for i := range f.Remedies {
		f.Remedies[i].URL = URL(f.Code)
	}
	return f
}

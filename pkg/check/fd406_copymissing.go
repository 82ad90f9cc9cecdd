// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"strings"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/values"
)

func (in *pass) copyMissing() {
	for i := range in.Copies {
		c := &in.Copies[i]
		now := in.ReadAt(c.Deployment.On)
		switch since := now.Sub(c.Deployed); {
		case !c.Read, c.Equal, now.IsZero(), since <= values.Window: // or it is not known
		case !c.Changed.IsZero() && now.Sub(c.Changed) <= values.Window: // it may be copied now
		case !c.Exists:
			in.report(in.wrongCopy(c, "is missing"))
		case !c.Changed.IsZero():
			in.report(in.wrongCopy(c, "does not have the data of the original"))
		}
	}
}

func (in *Input) wrongCopy(c *evaluate.Copy, what string) Finding {
	kind := strings.ToLower(c.Copied.Kind)
	f := about(&c.Deployment.Deployment, c.Copied, "%s %s/%s, a copy of %s/%s for %s, %s", kind, c.Copied.Namespace,
		c.Copied.Name,
		c.Original.Namespace, c.Original.Name, c.Deployment.Key(), what)
	f.Evidence = []string{"the present deployment was complete at " + c.Deployed.UTC().Format(time.RFC3339)}
	if !c.Changed.IsZero() {
		f.Evidence = append(f.Evidence, "the last change of the original was at "+c.Changed.UTC().Format(time.RFC3339))
	}
	if v := in.Controller(); v.Known && v.Before(15, 0) {
		f.Evidence = append(f.Evidence, fmt.Sprintf("%s: it copies them only when it deploys the bundle",
			in.controllerVersion()))
	}
	f.Remedies = in.Redeploy(c.Deployment)
	return f
}

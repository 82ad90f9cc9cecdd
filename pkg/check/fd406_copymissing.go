// SPDX-License-Identifier: Apache-2.0

package check

import (
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/values"
)

func (in *Input) copyMissing(out *found) {
	for i := range in.Result.Copies {
		c := &in.Result.Copies[i]
		now := in.Facts.ReadAt(c.Deployment.ClusterID)
		switch since := now.Sub(c.Deployed); {
		case !c.Read, c.Equal, now.IsZero(), since <= values.Window: // or it is not known
		case !c.Changed.IsZero() && now.Sub(c.Changed) <= values.Window: // it may be copied now
		case !c.Exists:
			in.wrongCopy(out, c, "is missing")
		case !c.Changed.IsZero():
			in.wrongCopy(out, c, "does not have the data of the original")
		}
	}
}

func (in *Input) wrongCopy(out *found, c *evaluate.Copy, what string) {
	f := about(c.Deployment, c.Copied, "%s %s/%s, a copy of %s/%s for %s, %s", strings.ToLower(c.Copied.Kind),
		c.Copied.Namespace, c.Copied.Name, c.Original.Namespace, c.Original.Name, c.Deployment.Key(), what)
	f.say("the present deployment was complete at %s", facts.Time(c.Deployed))
	f.sayIf(!c.Changed.IsZero(), "the last change of the original was at "+facts.Time(c.Changed))
	v := in.Facts.Controller()
	f.sayIf(v.Known && v.Before(15, 0), in.controllerVersion()+": it copies them only when it deploys the bundle")
	out.report(f, in.Steps.Redeploy(c.Deployment)...)
}

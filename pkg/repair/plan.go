// SPDX-License-Identifier: Apache-2.0

package repair

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Plan decides about the steps that findings of a result ask for. The result must have predictions. notOwners are as
// for Adoptions.
func Plan(c *evaluate.Result, findings []check.Finding, o Options) (items []Item, notOwners []string) {
	p := planner{result: c, options: o, adopts: map[string]adoption{}, known: map[string]int{}}
	for i := range findings {
		p.finding(&findings[i])
	}
	adoptions, notOwners := Adoptions(c, Options{Policy: o.Policy, TakeFrom: o.TakeFrom})
	for _, a := range adoptions {
		by := cmp.Or(p.adopts[key(a.ClusterID, a.BundleDeployment, "")],
			p.adopts[key(a.ClusterID, a.BundleDeployment, a.Key().String())])
		if by.code != "" {
			p.makesWay = by.makesWay
			p.add(a, by.code)
		}
	}
	holdDeploys(p.items)
	sortItems(p.items)
	return p.items, notOwners
}

// holdDeploys refuses the deploys that Helm would refuse again: a step that makes way for them is refused.
func holdDeploys(items []Item) {
	held := map[string]bool{}
	for i := range items {
		if x := &items[i]; x.makesWay && x.Action == report.ActionRefuse {
			held[x.BundleDeployment] = true
		}
	}
	for i := range items {
		if x := &items[i]; x.Writes() && x.Step == remedy.StepDeploy && held[x.BundleDeployment] {
			x.refuse("Helm refuses it again: a step that makes way for it is refused")
		}
	}
}

// planner collects the steps of findings.
type planner struct {
	result  *evaluate.Result
	options Options
	items   []Item
	known   map[string]int // the indexes of items, by what they write
	// adopts are the findings that ask to adopt an object, or all objects of a bundle deployment, by key.
	adopts map[string]adoption
	// makesWay is true if another step of the finding follows that which is planned.
	makesWay bool
}

// adoption is the code of a finding that asks to adopt objects, and whether it asks for a deploy after that.
type adoption struct {
	code     string
	makesWay bool
}

// key identifies an object of a bundle deployment on a cluster, or all of them with an empty object.
func key(cluster object.ClusterID, deployment, object string) string {
	return strings.Join([]string{string(cluster), deployment, object}, "|")
}

func (p *planner) finding(f *check.Finding) {
	if len(p.options.Codes) > 0 && !slices.Contains(p.options.Codes, f.Code) {
		return
	}
	for n, step := range f.Steps {
		p.makesWay = step.More() && n+1 < len(f.Steps)
		writes := slices.Contains([]remedy.StepKind{remedy.StepAdopt, remedy.StepCreate, remedy.StepRestore,
			remedy.StepRecreate}, step.Kind)
		switch {
		case writes && step.Patch == "":
			p.object(f, step)
		case !p.picks(f.Object):
		case step.Kind == remedy.StepRemove || step.Kind == remedy.StepUnblock:
			p.add(p.removal(f, step), f.Code)
		default:
			p.add(p.request(f, step), f.Code)
		}
		if !step.More() {
			return // the other ways to proceed are alternatives
		}
	}
}

func (p *planner) picks(r object.Ref) bool { return p.options.Pick == nil || p.options.Pick(r) }

// isOf reports whether a finding is about a bundle deployment.
func isOf(f *check.Finding, d *evaluate.BundleDeployment) bool {
	return d.Key() == f.BundleDeployment && d.Cluster == f.Cluster
}

// object plans a step about a desired object.
func (p *planner) object(f *check.Finding, step remedy.Step) {
	for _, d := range p.result.Deployments {
		if !isOf(f, d) || !d.Placed {
			continue
		}
		if step.Kind == remedy.StepAdopt && f.Object == d.Ref() {
			p.adopts[key(d.ClusterID, d.Key(), "")] = adoption{f.Code, p.makesWay}
			continue
		}
		for i := range d.Objects {
			x := &d.Objects[i]
			switch {
			case x.Ref != step.Object || !p.picks(x.Ref):
			case step.Kind == remedy.StepAdopt:
				p.adopts[key(d.ClusterID, d.Key(), x.Key().String())] = adoption{f.Code, p.makesWay}
			default:
				p.add(p.writes(d, x, step.Kind), f.Code)
			}
		}
	}
}

// add adds an item, unless another finding asked for the same.
func (p *planner) add(i Item, code string) {
	id := key(i.ClusterID, i.BundleDeployment, string(i.Step)+" "+i.Key().String())
	if n, known := p.known[id]; known {
		p.items[n].makesWay = p.items[n].makesWay || p.makesWay
		if !slices.Contains(p.items[n].Codes, code) {
			p.items[n].Codes = append(p.items[n].Codes, code)
		}
		return
	}
	i.Codes, i.makesWay = []string{code}, p.makesWay
	if flag := i.Step.Allowed(); flag != "" && !slices.Contains(p.options.Allow, flag) && i.Writes() {
		i.refuse(fmt.Sprintf("the step %s needs --allow=%s", i.Step, flag))
	}
	p.known[id] = len(p.items)
	p.items = append(p.items, i)
}

// writes plans to create, restore or recreate a desired object.
func (p *planner) writes(d *evaluate.BundleDeployment, x *evaluate.Object, kind remedy.StepKind) Item {
	if kind == remedy.StepRestore && x.Live != nil && len(x.Live.Fixed) > 0 {
		kind = remedy.StepRecreate
	}
	isJob := x.Kind == "Job" && object.Group(x.APIVersion) == "batch"
	if kind == remedy.StepCreate && isJob {
		kind = remedy.StepRecreate
	}
	out := newItem(d, x, kind)
	w := written{deployment: d, object: x, secret: x.IsSecret()}
	switch kind {
	case remedy.StepCreate:
		out.do = &creation{written: w}
	case remedy.StepRestore:
		out.Restores, out.do = x.Differences, &restoration{written: w}
	default:
		out.Restores, out.do = x.Differences, &recreation{creation: creation{written: w}}
		out.refuse(neverDeleted(x.Ref)...)
		if isJob {
			out.Effects = append(out.Effects, "the Job runs again")
		}
	}
	out.Effects = append(out.Effects, w.effects(kind)...)
	out.refuse(p.refusals(d, x)...)
	return out
}

// refusals are the reasons for which a desired object is not written.
func (p *planner) refusals(d *evaluate.BundleDeployment, x *evaluate.Object) []string {
	out := d.NeverAdopted(x)
	scales := func(diff evaluate.Difference) bool { return diff.Path == ".spec.replicas" }
	if x.Autoscaled && slices.ContainsFunc(x.Differences, scales) {
		out = append(out, "an autoscaler scales it, or may do so: it would change .spec.replicas again")
	}
	out = append(out, fights(d, x)...)
	if others := p.result.Desired.On(d.ClusterID).Confirmed(x.Key()); len(others) > 1 {
		out = append(out, fmt.Sprintf("%d bundles desire it: remove it from all but one", len(others)))
	}
	if !d.Evidence.Confirmed() || !d.Evidence.Confirms(x.Key()) {
		out = append(out, "only a release record that nothing confirms states it: who may write Secrets in one "+
			"namespace may have written the record")
	}
	return out
}

// atOnce is the time within which a controller reacts to a change of its field. A person is slower.
const atOnce = 5 * time.Second

// fights names a manager that changed a field again at once after the agent, or a repair, had restored the object.
func fights(d *evaluate.BundleDeployment, x *evaluate.Object) []string {
	if x.Live == nil || !x.Live.Restored.After(d.Deployed.Add(atOnce)) {
		return nil
	}
	for _, diff := range x.Differences {
		when, err := time.Parse(time.RFC3339, diff.Time)
		if err != nil || diff.ByAgent() || diff.Manager == ownership.FieldManager {
			continue
		}
		if after := when.Sub(x.Live.Restored); after >= 0 && after <= atOnce {
			return []string{fmt.Sprintf("%s wrote %s again at %s, at once after it had been restored at %s: it would "+
				"do so again", diff.Manager, diff.Path, diff.Time, x.Live.Restored.Format(time.RFC3339))}
		}
	}
	return nil
}

// asked returns the item of a step that writes no desired object.
func (p *planner) asked(f *check.Finding, step remedy.Step, do maker) Item {
	cluster := p.clusterOf(f, step)
	out := Item{ClusterID: cluster, do: do, RepairedObject: report.RepairedObject{Ref: step.Object,
		Cluster: string(cluster), Step: step.Kind, Action: actions[step.Kind], BundleDeployment: f.BundleDeployment}}
	if step.Effect != "" {
		out.Effects = []string{step.Effect}
	}
	return out
}

// removal plans to delete what is left over.
func (p *planner) removal(f *check.Finding, step remedy.Step) Item {
	do := &removal{secret: step.Object.IsSecret(), key: step.Object.Key()}
	for _, d := range p.result.Deployments {
		if step.Downstream && step.Kind == remedy.StepRemove && isOf(f, d) {
			do.orphanOf = d
		}
	}
	out := p.asked(f, step, do)
	out.refuse(neverDeleted(step.Object)...)
	return out
}

// request plans to ask one of Fleet's controllers or agents, through an object of Fleet.
func (p *planner) request(f *check.Finding, step remedy.Step) Item {
	out := p.asked(f, step, &request{step: step})
	switch {
	case step.Kind == remedy.StepRestore:
		out.Effects = f.Evidence
	case step.Effect == "" && step.Kind == remedy.StepDeploy:
		out.Effects = append(p.unread(f), p.agent(f)...)
	}
	return out
}

// unread says what is not known of a deploy on a cluster that is not read.
func (p *planner) unread(f *check.Finding) []string {
	for _, d := range p.result.Deployments {
		if isOf(f, d) && !d.Placed {
			return []string{"the cluster is not read: Helm refuses the deploy if another manager owns a field that " +
				"it changes. FD604 then has the words, and repair on that cluster takes the field"}
		}
	}
	return nil
}

// silentAfter is the time without a report after which the plan says so. An agent reports every 15 minutes.
const silentAfter = 30 * time.Minute

// agent says which agent makes a deploy, and since when it has not reported.
func (p *planner) agent(f *check.Finding) []string {
	for _, c := range p.result.Desired.Fleet.Clusters {
		if c.Namespace+"/"+c.Name != f.Cluster || f.BundleDeployment == "" {
			continue
		}
		seen, err := time.Parse(time.RFC3339, c.Status.Agent.LastSeen)
		switch {
		case err != nil:
			return []string{"the agent of cluster " + f.Cluster + " has never reported: it deploys when it does"}
		case p.result.Now().Sub(seen) > silentAfter:
			return []string{fmt.Sprintf("the agent of cluster %s reported last at %s: it deploys when it reports again",
				f.Cluster, c.Status.Agent.LastSeen)}
		}
	}
	return nil
}

// Asked names the clusters that are not read, and whose agents a plan asks to deploy. It says whether these agents
// report. It is empty if there are none, and has no times: the digest of a plan must not change with each report.
func Asked(c *evaluate.Result, items []Item) string {
	asks := map[string]bool{}
	for i := range items {
		if x := &items[i]; x.Step == remedy.StepDeploy && x.Writes() {
			asks[x.BundleDeployment] = true
		}
	}
	asked := map[string]bool{}
	for _, d := range c.Deployments {
		if !d.Placed && asks[d.Key()] {
			asked[d.Cluster] = true
		}
	}
	var names []string
	silent := 0
	for _, x := range c.Desired.Fleet.Clusters {
		if !asked[x.Namespace+"/"+x.Name] {
			continue
		}
		names = append(names, x.Name)
		seen, err := time.Parse(time.RFC3339, x.Status.Agent.LastSeen)
		if err != nil || c.Now().Sub(seen) > silentAfter {
			silent++
		}
	}
	if len(names) == 0 {
		return ""
	}
	heard := "each has reported within 30 minutes"
	if silent > 0 {
		heard = fmt.Sprintf("%d without a report within 30 minutes", silent)
	}
	const most = 5
	all, more := len(names), ""
	if all > most {
		names, more = names[:most], fmt.Sprintf(" and %d more", all-most)
	}
	return fmt.Sprintf("clusters that are not read, of which the agents are asked: %d (%s%s); %s", all,
		strings.Join(names, ", "), more, heard)
}

// clusterOf returns the cluster that the object of a step is on.
func (p *planner) clusterOf(f *check.Finding, step remedy.Step) object.ClusterID {
	for _, d := range p.result.Deployments {
		if step.Downstream && isOf(f, d) && d.Placed {
			return d.ClusterID
		}
	}
	return ""
}

// SPDX-License-Identifier: Apache-2.0

package check

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/inventory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// TestCatalogue holds codes, names and severities against the table of the design, and that every check explains itself.
func TestCatalogue(t *testing.T) {
	want := map[string]report.Severity{
		"FD101 Missing": report.Error, "FD102 Unowned": report.Error, "FD103 Contested": report.Error, "FD104 Modified": report.Warning,
		"FD105 Orphaned": report.Warning, "FD106 Abandoned": report.Warning, "FD107 NotReady": report.Warning, "FD108 IdMismatch": report.Info,
		"FD109 CopiedHash": report.Info, "FD111 ExpiredJob": report.Info, "FD504 ScopeUnproven": report.Warning, "FD205 ClusterCounts": report.Warning, "FD207 Truncated": report.Info, "FD208 Frozen": report.Info,
		"FD602 ReleaseRecord": report.Error, "FD606 LeftoverRelease": report.Warning, "FD607 Unread": report.Warning, "FD701 SecretInStatus": report.Error,
	}
	got := map[string]report.Severity{}
	var codes []string
	for _, c := range Catalogue() {
		if got[c.Code+" "+c.Name] != "" {
			t.Errorf("%s is there twice", c.Code)
		}
		got[c.Code+" "+c.Name] = c.Severity
		codes = append(codes, c.Code)
		if !regexp.MustCompile(`^FD([1-7]0[1-9]|11[01])$`).MatchString(c.Code) || !regexp.MustCompile(`^[A-Z][A-Za-z]+$`).MatchString(c.Name) {
			t.Errorf("%s %s is no code and name", c.Code, c.Name)
		}
		if c.Title == "" || strings.HasSuffix(c.Title, ".") || !strings.HasSuffix(c.Explain, ".") {
			t.Errorf("%s: a title has no full stop, an explanation has one: %q, %q", c.Code, c.Title, c.Explain)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("catalogue (-want +got):\n%s", diff)
	}
	if !slices.IsSorted(codes) {
		t.Errorf("the codes are not in order: %v", codes)
	}
}

// deployment is a deployment as the checks see it.
func deployment() *Deployment {
	bd := &v1alpha1.BundleDeployment{}
	bd.Namespace, bd.Name = "cluster-one", "guestbook"
	return &Deployment{Deployment: &inventory.Deployment{
		Namespace: "cluster-one", Name: "guestbook", BD: bd, Bundle: "fleet-local/guestbook", GitRepo: "fleet-local/apps",
		Release: release.Name{Namespace: "web", Name: "guestbook", Revision: 1}, Ownership: ownership.Desired("default-guestbook", "guestbook", "web"),
	}}
}

// caseOf is a case of one deployment with desired objects in a state.
func caseOf(d *Deployment, state report.State, refs ...object.Ref) *Case {
	inv := &inventory.Inventory{Wants: map[object.Key][]*inventory.Want{}, Sets: map[string][]*inventory.Deployment{d.Ownership.Hash: {d.Deployment}},
		Releases: map[string]bool{}, SetsComplete: true, Deployments: []*inventory.Deployment{d.Deployment}}
	for _, ref := range refs {
		w := &inventory.Want{Ref: ref, Deployment: d.Deployment}
		d.Objects = append(d.Objects, Object{Want: w, State: state})
		inv.Wants[ref.Key()] = append(inv.Wants[ref.Key()], w)
	}
	return &Case{Inventory: inv, Deployments: []*Deployment{d}, Commands: CommandsOf("kubectl fleetdoctor"), Whole: true}
}

// TestCommandsAreQuoted holds that no name can end a suggested command and begin another one. Roles may have nearly any name, and a
// capture may hold anything: `kubectl delete clusterrole.../x;reboot` is not to be pasted into a shell.
func TestCommandsAreQuoted(t *testing.T) {
	const name = "edge; $(reboot) `reboot` | sh & > x"
	ref := object.Ref{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: name}
	said := map[string]bool{}
	for _, state := range []report.State{report.Missing, report.Unowned, report.Modified, report.NotReady, report.Ready} {
		d := deployment()
		d.GitRepo, d.Name = "fleet-local/"+name, name
		d.BD.Name, d.BD.Status.ModifiedStatus = name, []v1alpha1.ModifiedStatus{{APIVersion: "v1", Kind: "Secret", Name: name, Patch: "{"}}
		d.Ownership.SetID = name
		c := caseOf(d, state, ref)
		c.Deployments[0].Objects[0].IDMismatch = true
		d.Trouble = []inventory.Trouble{{Record: d.Release, Status: "failed"}}
		c.Marked = []Marked{{Ref: ref, Metadata: ownership.Metadata{Hash: d.Ownership.Hash, ReleaseName: "guestbook", ReleaseNamespace: "web"}},
			{Ref: ref, Metadata: ownership.Metadata{Hash: "other", SetID: "default-gone"}}}
		c.Inventory.Leftovers = []*inventory.Record{{Record: release.Record{Name: release.Name{Namespace: "web", Name: name, Revision: 1}}}}
		for _, f := range Run(c) {
			command, ok := strings.CutPrefix(f.Remediation, "kubectl")
			if !ok {
				command, ok = strings.CutPrefix(f.Remediation, "helm")
			}
			if !ok {
				continue
			}
			bare := regexp.MustCompile(`'[^']*'`).ReplaceAllString(command, "")
			if strings.ContainsAny(bare, ";$`|&>") && !said[f.Remediation] {
				said[f.Remediation] = true
				t.Errorf("%s: %s", f.Code, f.Remediation)
			}
		}
	}
}

func TestPathList(t *testing.T) {
	ds := []report.Difference{{Path: ".a"}, {Path: ".b"}, {Path: ".c"}, {Path: ".d"}, {Path: ".e"}}
	for n, want := range []string{"", ".a", ".a, .b", ".a, .b, .c", ".a, .b, .c, 1 more field", ".a, .b, .c, 2 more fields"} {
		if got := pathList(ds[:n]); got != want {
			t.Errorf("%d paths: %q, want %q", n, got, want)
		}
	}
}

func TestList(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e"}
	for n, want := range []string{"", "a", "a, b", "a, b, c", "a, b, c and 1 more", "a, b, c and 2 more"} {
		if got := list(names[:n]); got != want {
			t.Errorf("%d names: %q, want %q", n, got, want)
		}
	}
}

func TestIsOrphan(t *testing.T) {
	ref := object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "web", Name: "dropped"}
	ours := ownership.Desired("default-guestbook", "guestbook", "web")
	was := map[inventory.KindName]bool{{Kind: "ConfigMap", Name: "dropped"}: true}
	for _, tc := range []struct {
		name   string
		change func(*inventory.Deployment, *Marked)
		want   bool
	}{
		{"in the earlier revision", func(*inventory.Deployment, *Marked) {}, true},
		{"in no revision", func(d *inventory.Deployment, _ *Marked) { d.Earlier = nil }, false},
		{"left alone", func(_ *inventory.Deployment, m *Marked) { m.NoPrune = true }, false},
		{"a hook", func(d *inventory.Deployment, _ *Marked) { d.Hooks = was }, false},
		{"of a deployment that could not be read", func(d *inventory.Deployment, _ *Marked) { d.Problem = inventory.NoReleaseRecord }, false},
		{"the earlier revision pruned, Helm's marks there", func(d *inventory.Deployment, _ *Marked) { d.Earlier, d.EarlierKnown = nil, false }, true},
		{"the earlier revision pruned, of another release", func(d *inventory.Deployment, m *Marked) {
			d.Earlier, d.EarlierKnown, m.Metadata.ReleaseName = nil, false, "other"
		}, false},
		{"the earlier revision pruned, a child", func(d *inventory.Deployment, m *Marked) {
			d.Earlier, d.EarlierKnown, m.Controlled = nil, false, true
		}, false},
		{"the earlier revision pruned, no marks of Helm's", func(d *inventory.Deployment, m *Marked) {
			d.Earlier, d.EarlierKnown, m.Metadata = nil, false, ownership.Metadata{Hash: ours.Hash}
		}, false},
	} {
		d := deployment().Deployment
		d.Earlier, d.EarlierKnown = was, true
		m := Marked{Ref: ref, Metadata: ours}
		tc.change(d, &m)
		if got := len(Orphans(d, []Marked{m})) == 1; got != tc.want {
			t.Errorf("%s: orphan %v, want %v", tc.name, got, tc.want)
		}
	}
}

// TestContested holds who is said to hold an object that two bundles want.
func TestContested(t *testing.T) {
	ref := object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "web", Name: "shared"}
	const id = "default-guestbook"
	for _, tc := range []struct {
		name   string
		state  report.State
		reason ownership.Reason
		owner  *report.Owner
		want   string
	}{
		{"one of them", report.Modified, "", nil, "cluster-one/guestbook holds it now"},
		{"gone", report.Missing, "", nil, "nobody holds it now"},
		{"not read", report.Unknown, "", nil, "could not be read"},
		{"unmarked", report.Unowned, ownership.Unmarked, nil, "nobody holds it now"},
		{"another bundle", report.Unowned, ownership.ForeignOwner, &report.Owner{SetID: "default-other", BundleDeployment: "cluster-one/other"},
			"it is held by bundle deployment cluster-one/other"},
		{"its own id, without hash", report.Unowned, ownership.HashStripped, &report.Owner{SetID: id}, "nobody holds it now"},
		{"its own id, another bundle's hash", report.Unowned, ownership.Inconsistent, &report.Owner{SetID: id, Hash: "1234", BundleDeployment: "cluster-one/other"},
			"it is held by bundle deployment cluster-one/other"},
		{"its own id, nobody's hash", report.Unowned, ownership.Inconsistent, &report.Owner{SetID: id, Hash: "1234"}, "nobody holds it now"},
	} {
		c := caseOf(deployment(), tc.state, ref)
		o := &c.Deployments[0].Objects[0]
		o.Reason, o.Owner = string(tc.reason), tc.owner
		c.Inventory.Wants[ref.Key()] = append(c.Inventory.Wants[ref.Key()], &inventory.Want{Ref: ref, Deployment: &inventory.Deployment{Name: "other"}})
		var got []string
		for _, f := range contested.run(c) {
			got = append(got, f.Message)
		}
		if len(got) != 1 || !strings.HasSuffix(got[0], tc.want) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

// TestUnread holds that the next command is about something that is there: a release alone has no BundleDeployment to describe.
func TestUnread(t *testing.T) {
	for _, alone := range []bool{false, true} {
		d := deployment()
		d.Problem, d.Detail = inventory.NoReleaseRecord, "no revision is deployed"
		want := "kubectl -n cluster-one describe bundledeployment guestbook"
		if alone {
			d.BD, d.Namespace, want = nil, "", "helm -n web history guestbook"
		}
		got := unread.run(caseOf(d, report.Ready))
		if len(got) != 1 || got[0].Remediation != want {
			t.Errorf("release alone %v: %+v, want %q", alone, got, want)
		}
	}
}

// TestAbandonedSets holds that an object is not said to be of a set that no release has, if one here has it.
func TestAbandonedSets(t *testing.T) {
	ref := object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "web", Name: "old"}
	for _, tc := range []struct {
		name  string
		marks ownership.Metadata
		want  int
	}{
		{"a set that is gone", ownership.Desired("default-gone", "gone", "web"), 1},
		{"the id of a set that is here, another hash", ownership.Metadata{SetID: "default-guestbook", Hash: "1234"}, 0},
	} {
		c := caseOf(deployment(), report.Ready)
		c.Marked = []Marked{{Ref: ref, Metadata: tc.marks}}
		if got := abandoned.run(c); len(got) != tc.want {
			t.Errorf("%s: %+v, want %d", tc.name, got, tc.want)
		}
	}
}

// TestTruncated holds that a list is never said to be longer than what it is a part of.
func TestTruncated(t *testing.T) {
	ten := make([]v1alpha1.NonReadyStatus, 10)
	for _, tc := range []struct {
		name   string
		status v1alpha1.BundleDeploymentStatus
		want   string // "" for no finding
	}{
		{"ten of twelve", v1alpha1.BundleDeploymentStatus{IncompleteState: true, NonReadyStatus: ten, ResourceCounts: &v1alpha1.ResourceCounts{NotReady: 12}}, "lists 10 objects of 12"},
		{"ten of ten", v1alpha1.BundleDeploymentStatus{NonReadyStatus: ten, ResourceCounts: &v1alpha1.ResourceCounts{NotReady: 10}}, ""},
		{"sticky", v1alpha1.BundleDeploymentStatus{IncompleteState: true, NonReadyStatus: ten[:3], ResourceCounts: &v1alpha1.ResourceCounts{NotReady: 3}}, ""},
		{"sticky, exactly ten", v1alpha1.BundleDeploymentStatus{IncompleteState: true, NonReadyStatus: ten, ResourceCounts: &v1alpha1.ResourceCounts{NotReady: 10}}, ""},
		{"before 0.12", v1alpha1.BundleDeploymentStatus{NonReadyStatus: ten}, "lists 10 objects of an unknown number"},
		{"before 0.12, nine", v1alpha1.BundleDeploymentStatus{NonReadyStatus: ten[:9]}, ""},
	} {
		d := deployment()
		d.BD.Status = tc.status
		c := caseOf(d, report.Ready)
		c.Whole = false
		var got []string
		for _, f := range Run(c) {
			if f.Code == "FD207" {
				got = append(got, f.Message)
			}
		}
		if (tc.want == "") != (len(got) == 0) || len(got) == 1 && !strings.Contains(got[0], tc.want) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

// TestInFleetsTerms holds that our unowned is Fleet's missing (Fleet's facts, status-math 4.2), and that an unknown part makes no sum.
func TestInFleetsTerms(t *testing.T) {
	d := deployment()
	d.Counts = report.Counts{Desired: 7, Ready: 1, Missing: 2, Unowned: 1, Modified: 1, NotReady: 2, Orphaned: 3}
	got, ok := InFleetsTerms(d)
	want := v1alpha1.ResourceCounts{DesiredReady: 7, Ready: 1, Missing: 3, Modified: 1, NotReady: 2, Orphaned: 3}
	if got != want || !ok {
		t.Errorf("%+v, known %v, want %+v", got, ok, want)
	}
	d.Counts.Unknown = 1
	if _, ok := InFleetsTerms(d); ok {
		t.Error("a sum with an unknown part is known")
	}
	d.BD.Status.ResourceCounts = &v1alpha1.ResourceCounts{DesiredReady: 9}
	if got, ok := InFleetsTerms(d); !ok || got.DesiredReady != 9 {
		t.Errorf("%+v, known %v, want what the status says", got, ok)
	}
}

// TestSecretsShown holds which patches in a status show a Secret's value.
func TestSecretsShown(t *testing.T) {
	for patch, want := range map[string]bool{
		`{"data":{"a":"eA=="}}`:             true,
		`{"data":{"a":null,"b":"eA=="}}`:    true,
		`{"stringData":{"a":"x"}}`:          true,
		`{"data":{"a":null}}`:               false,
		`{"data":{"a":""}}`:                 false,
		`{"data":null}`:                     false,
		`{"metadata":{"labels":{"a":"x"}}}`: false,
		`{"type":"Opaque"}`:                 false,
		``:                                  false,
		`{"data":{"a":1}}`:                  true, // not what it should be: better said once too often
		`{"data":`:                          true,
		`{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}"}}}`: true,
		`{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":null}}}`: false,
	} {
		got := secretsShown([]v1alpha1.ModifiedStatus{{APIVersion: "v1", Kind: "Secret", Namespace: "web", Name: "smtp", Patch: patch}})
		if (len(got) > 0) != want {
			t.Errorf("%s: %v, want %v", patch, got, want)
		}
	}
}

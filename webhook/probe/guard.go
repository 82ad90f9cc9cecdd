// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"errors"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/install"
)

// GuardAnswer is what the guard made of a deletion.
type GuardAnswer string

// The answers of the guard.
const (
	GuardWarned GuardAnswer = "warned"
	GuardDenied GuardAnswer = "denied"
	// GuardSilent: it should have spoken, and did not.
	GuardSilent GuardAnswer = "not called"
	// GuardOff: a label switches it off, or the installation does where there is none.
	GuardOff        GuardAnswer = "off for this namespace"
	GuardOffDefault GuardAnswer = "off by default"
	// GuardUnknown: what came back says nothing of it. Why says more.
	GuardUnknown GuardAnswer = "not known"
)

// Guard is what a test found of the guard.
type Guard struct {
	Answer GuardAnswer
	// Why is a reason, of an answer that is not the guard's own; else what it said.
	Why string
}

// spoke says whether it was the guard that answered.
func (g *Guard) spoke() bool { return g.Answer == GuardWarned || g.Answer == GuardDenied }

// together is the verdict of both requests: works needs the stamp, and a guard that is not known to be silent.
func together(v Verdict, g *Guard) Verdict {
	switch {
	case v == Works && g.Answer == GuardSilent:
		return StampOnly
	case v == NotCalled && g.spoke():
		return GuardOnly
	}
	return v
}

// guard sends a server-side dry run that deletes the object of a trial, and says what the guard made of it. Nothing is changed.
func (t *Tester) guard(ctx context.Context, trial *Trial) *Guard {
	labels, known := t.labels(ctx, trial.live)
	options, sure := t.options(ctx)
	switch {
	case known && install.Options{}.GuardOff(labels):
		return &Guard{Answer: GuardOff}
	case known && sure && options.GuardOff(labels):
		return &Guard{Answer: GuardOffDefault}
	}
	r := t.reachOf(ctx, "ValidatingWebhookConfiguration", install.GuardWebhook)
	if !r.configured {
		return &Guard{GuardSilent, "no webhook configuration with the label " + install.Selector + " holds " + install.GuardWebhook}
	}
	if !t.heedsDryRun(ctx, trial.Object) {
		return &Guard{GuardUnknown, "whether the server of " + trial.Object.Kind + " heeds a dry run is not known, and nothing was sent to it"}
	}
	g := t.remove(ctx, trial)
	if g.Answer != GuardSilent || g.Why != "" {
		return g
	}
	if why := t.silence(ctx, trial); why != "" {
		return &Guard{GuardUnknown, why}
	}
	if !known || !sure {
		return &Guard{GuardUnknown, "it said nothing, and whether it is switched off could not be read"}
	}
	g.Why = "nothing was said when " + trial.Object.Key().String() + " was to be deleted: " + install.GuardWebhook + " was not called, or did not answer"
	for _, why := range []string{r.excludes(trial.live), t.shuts(ctx, r, trial.Object.Namespace)} {
		if why != "" {
			g.Why = why
		}
	}
	return g
}

// remove sends the deletion. The answer is GuardSilent, without a reason, where nobody of ours said anything.
func (t *Tester) remove(ctx context.Context, trial *Trial) *Guard {
	r, err := t.Cluster.Resource(trial.Object.GroupVersionKind(), trial.Object.Namespace)
	if err != nil {
		return &Guard{GuardUnknown, err.Error()}
	}
	uid := trial.live.GetUID()
	t.Warnings.Take()
	err = r.Delete(ctx, trial.Object.Name, metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}, Preconditions: &metav1.Preconditions{UID: &uid}})
	return judgeRemoval(trial.Object.Key(), err, t.Warnings.Take())
}

// judgeRemoval judges what came back of a deletion.
func judgeRemoval(key object.Key, err error, warnings []string) *Guard {
	said := slices.IndexFunc(warnings, func(text string) bool { _, guard := spoke([]string{text}, key); return guard })
	switch {
	case err != nil && strings.Contains(err.Error(), `admission webhook "`+install.GuardWebhook+`" denied the request`):
		return &Guard{GuardDenied, err.Error()}
	case said >= 0:
		return &Guard{GuardWarned, warnings[said]}
	case err != nil && strings.Contains(err.Error(), `failed calling webhook "`+install.GuardWebhook+`"`):
		return &Guard{GuardSilent, err.Error()}
	case err != nil:
		return &Guard{GuardUnknown, "a dry run that deletes the object was refused, and not by this webhook: " + err.Error()}
	}
	return &Guard{Answer: GuardSilent}
}

// labels are those by which the guard's mode is stated: of the namespace, or of an object that is in none.
func (t *Tester) labels(ctx context.Context, live *unstructured.Unstructured) (labels map[string]string, known bool) {
	if live.GetNamespace() == "" {
		return live.GetLabels(), true
	}
	o, err := t.Cluster.Get(ctx, object.Ref{APIVersion: "v1", Kind: "Namespace", Name: live.GetNamespace()})
	if err != nil || o == nil {
		return nil, false
	}
	return o.GetLabels(), true
}

// options are those of the installation; sure says that its Deployment was read, which shows the guard's default.
func (t *Tester) options(ctx context.Context) (o install.Options, sure bool) {
	home := t.home(ctx)
	if home == "" {
		return o, false
	}
	deployment, err := t.Cluster.Get(ctx, object.Ref{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "Deployment", Namespace: home, Name: install.Name})
	if err != nil || deployment == nil {
		return o, false
	}
	return install.OptionsOf(home, deployment), true
}

// heedsDryRun says whether a deletion that is a dry run deletes nothing for certain: of kinds that Kubernetes serves itself, custom ones among
// them. What stands behind another API service may never have heard of it.
func (t *Tester) heedsDryRun(ctx context.Context, ref object.Ref) bool {
	gv := ref.GroupVersionKind().GroupVersion()
	if scheme.Scheme.IsGroupRegistered(gv.Group) {
		return true
	}
	services := schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
	o, err := t.Cluster.Dynamic.Resource(services).Get(ctx, gv.Version+"."+gv.Group, metav1.GetOptions{})
	if err != nil {
		return false
	}
	service, _, err := unstructured.NestedMap(o.Object, "spec", "service")
	return err == nil && service == nil
}

// silence says why the guard may rightly have said nothing, "" where it should have spoken: it speaks to those who are not Fleet, of objects whose
// mark is that of a release which desires them.
func (t *Tester) silence(ctx context.Context, trial *Trial) string {
	if trial.Answer == Warned || trial.Answer == Stamped && !trial.kept {
		return "it says nothing of an object whose mark is not that of the release that desires it"
	}
	user, err := t.user(ctx)
	if err != nil {
		return "it said nothing, and whether it passes this user could not be read: " + err.Error()
	}
	namespace, account, ok := strings.Cut(strings.TrimPrefix(user, serviceAccount), ":")
	if !strings.HasPrefix(user, serviceAccount) || !ok {
		return ""
	}
	passed := false
	_, err = t.desired(ctx, func(w wanted) error {
		if w.Key() != trial.Object.Key() || w.agent.namespace != namespace {
			return nil
		}
		if passed = account == w.agent.account || account == fleet.AgentName || account == fleet.DefaultAccount; passed {
			return errEnough
		}
		return nil
	})
	switch {
	case passed:
		return "it passes " + user + ", as which Fleet deploys the object"
	case err != nil:
		return "it said nothing, and whether Fleet deploys the object as " + user + " could not be read: " + err.Error()
	}
	return ""
}

const serviceAccount = "system:serviceaccount:"

// user is who sends the requests, as the API server knows him.
func (t *Tester) user(ctx context.Context) (string, error) {
	review := &unstructured.Unstructured{Object: map[string]any{"apiVersion": authenticationv1.SchemeGroupVersion.String(), "kind": "SelfSubjectReview"}}
	got, err := t.Cluster.Dynamic.Resource(authenticationv1.SchemeGroupVersion.WithResource("selfsubjectreviews")).Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	name, _, _ := unstructured.NestedString(got.Object, "status", "userInfo", "username")
	if name == "" {
		return "", errors.New("the API server names none")
	}
	return name, nil
}

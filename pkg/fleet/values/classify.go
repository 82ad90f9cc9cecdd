// SPDX-License-Identifier: Apache-2.0

// Package values knows the Secrets in which Fleet stores Helm values: their types and hashes, and the state of such a
// Secret together with the BundleDeployment or Bundle that needs it. It keeps no value. Source: docs/fleet-behavior.md,
// 6.
package values

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
)

// Window is how long the Secret and the hash may differ in an ordinary update: Fleet writes them in two requests.
const Window = time.Minute

// captureWindow is how long a capture may take. It reads Secrets later than their owners, so that an update in between
// looks like a mismatch.
const captureWindow = 10 * time.Minute

// Owner is what a BundleDeployment or a Bundle states about its values Secret.
type Owner struct {
	Kind, UID string
	// Hash is spec.valuesHash; empty if it has no values.
	Hash string
	// Waiting is spec.waitingForValues of a BundleDeployment.
	Waiting bool
	// Deleting is true if it is being deleted.
	Deleting bool
	// Behind is true if the Bundle's controller has not observed the present spec of the Bundle.
	Behind bool
	// Current is true if deploymentID equals stagedDeploymentID, so that the current values are the staged ones.
	Current bool
	// Changed is the time of the last change of its spec or metadata; zero if it is not known.
	Changed time.Time
	// Used is the last time at which Fleet is known to have used the Secret with this hash; zero if it is not known.
	Used time.Time
}

// Secret is what is known of a Secret. It has no value.
type Secret struct {
	Type string
	// Version is its resourceVersion.
	Version string
	// Hash is the valuesHash for its data. It is not known if HashKnown is false.
	Hash      string
	HashKnown bool
	// Emptied is true if it has staged values and no current ones.
	Emptied bool
	// OwnerKind and OwnerUID are those of its controller or, without a controller, of its first owner.
	OwnerKind, OwnerUID string
	Deleting            bool
	// Changed is the time of its last change; zero if it is not known.
	Changed time.Time
	// Editor is the field manager that changed its data last, at the time Edited. It is empty if that was Fleet, or is
	// not known.
	Editor string
	Edited time.Time
}

// Facts are the input of Classify.
type Facts struct {
	// Type is the type that Fleet gives the Secret.
	Type  string
	Owner Owner
	// Secret is nil if it does not exist, provided that Read is true. Read is false if it is not known whether it
	// exists.
	Secret *Secret
	Read   bool
	// Captured is true if they are from a capture, which is not of one moment.
	Captured bool
}

// State is the state of a values Secret.
type State string

// The states.
const (
	OK       State = "OK"
	Pending  State = "Pending"  // an update is or may be in progress
	Missing  State = "Missing"  // it is needed and does not exist
	Mismatch State = "Mismatch" // it does not have the hash that its owner states
	Leftover State = "Leftover" // it exists and is not needed
	Foreign  State = "Foreign"  // a Secret of another type has its name
	Emptied  State = "Emptied"  // it has the stated hash, and lost the current values
	Unknown  State = "Unknown"  // it could not be read
	Repair   State = "Repair"   // the controller has discarded the hash, and writes the values again
)

// Reason is why a Secret has its state.
type Reason string

// The reasons. For OK, an owner reason means that the Secret does not have the owner that Fleet gives it.
const (
	NotNeeded    Reason = "NotNeeded"
	Equal        Reason = "Equal"
	OwnerDeleted Reason = "OwnerDeleted" // nothing needs it any more
	Inline       Reason = "Inline"       // this version of Fleet does not use the Secret
	NoOwner      Reason = "NoOwner"      // Kubernetes does not delete it together with its owner
	OtherOwner   Reason = "OtherOwner"   // Kubernetes deletes it, because its owner does not exist
	Recent       Reason = "Recent"       // the Secret or its owner changed within the Window
	NoTime       Reason = "NoTime"       // it is not known when they last changed
	OwnerBehind  Reason = "OwnerBehind"  // the controller has not observed the present spec of the Bundle
	Lasting      Reason = "Lasting"      // neither the Secret nor its owner changed within the Window
	Edited       Reason = "Edited"       // somebody else changed the Secret after Fleet changed its owner
	UsedSince    Reason = "UsedSince"    // Fleet used the Secret with that hash after the last recorded change of both
	WaitsForIt   Reason = "WaitsForIt"   // waitingForValues is set
	NotRead      Reason = "NotRead"
	HashUnknown  Reason = "HashUnknown" // a capture replaced the data of the Secret
)

// Result is the state of a values Secret.
type Result struct {
	State  State
	Reason Reason
	// Since is the last change of the Secret or its owner; zero if it is not known.
	Since time.Time
}

// Classify returns the state of a values Secret at the time when the data were taken. Source: docs/fleet-behavior.md,
// 6.3 and 6.4.
func Classify(f Facts, now time.Time, c Controller) Result {
	o, s := f.Owner, f.Secret
	absent := s == nil || s.Type != f.Type || s.Deleting
	switch {
	case c.Inline():
		return Result{State: OK, Reason: Inline}
	case o.Deleting:
		return Result{State: OK, Reason: OwnerDeleted}
	case o.Hash == "" && o.Waiting:
		return Result{State: Repair, Reason: WaitsForIt, Since: o.Changed}
	case o.Hash == "" && absent:
		return Result{State: OK, Reason: NotNeeded}
	case !f.Read:
		return Result{State: Unknown, Reason: NotRead}
	case o.Hash == "":
		return f.lasting(now, Leftover)
	case s == nil && o.Waiting:
		o.Used = time.Time{} // the hash was used before the controller found that the Secret is gone
		f.Owner = o
		return f.lasting(now, Missing)
	case s == nil:
		return f.lasting(now, Missing)
	case s.Type == "": // the API server sets a type, so the capture is not complete
		return Result{State: Unknown, Reason: HashUnknown}
	case s.Type != f.Type && (!s.HashKnown || s.Hash != o.Hash):
		return Result{State: Foreign, Since: s.Changed}
	case !s.HashKnown:
		return Result{State: Unknown, Reason: HashUnknown}
	case s.Hash != o.Hash && o.Behind:
		return Result{State: Pending, Reason: OwnerBehind, Since: f.changed()}
	case s.Hash != o.Hash:
		return f.lasting(now, Mismatch)
	case s.Type != f.Type:
		return Result{State: Foreign, Reason: Equal, Since: s.Changed}
	case o.Waiting:
		return Result{State: Repair, Reason: WaitsForIt, Since: f.changed()}
	case s.Emptied && o.Current:
		return f.lasting(now, Emptied)
	}
	return f.owned(now)
}

// owned returns the state of a Secret with the right hash, by its owner.
func (f Facts) owned(now time.Time) Result {
	o, s := f.Owner, f.Secret
	out := Result{State: OK, Reason: Equal}
	uidsKnown := s.OwnerUID != "" && o.UID != ""
	switch {
	case s.OwnerUID == "" && s.OwnerKind == "":
		out.Reason = NoOwner
	case s.OwnerKind != o.Kind, uidsKnown && s.OwnerUID != o.UID:
		out.Reason = OtherOwner
	default:
		return out
	}
	out.Since = s.Changed
	switch {
	case s.Changed.IsZero() || now.IsZero():
		return Result{State: OK, Reason: Equal}
	case now.Sub(s.Changed) <= Window:
		// a new BundleDeployment owns its Secret only later
		return Result{State: Pending, Reason: Recent, Since: s.Changed}
	}
	return out
}

// edited reports whether another program changed the Secret after the last recorded change of its owner.
func (f Facts) edited() bool {
	if f.Secret.Editor == "" || f.Owner.Changed.IsZero() {
		return false
	}
	return !f.Owner.Changed.After(f.Secret.Edited)
}

// longBefore reports whether a known time is so long before a known present that no update is in progress.
func longBefore(when, now time.Time) bool {
	return !when.IsZero() && !now.IsZero() && now.Sub(when) > Window
}

// lasting returns the state if it is not that of an update in progress.
func (f Facts) lasting(now time.Time, state State) Result {
	since := f.changed()
	out := Result{State: state, Since: since}
	used := f.Owner.Used
	timed := !since.IsZero() && !now.IsZero()
	switch {
	case state == Mismatch && f.edited():
		out.Reason = Edited
	case state != Leftover && !since.IsZero() && used.After(since):
		out.Reason = UsedSince
	case timed && now.Sub(since) > f.window(state):
		out.Reason = Lasting
	case state == Missing && since.IsZero() && longBefore(used, now):
		// a capture without managedFields: the deployment that needs it was complete, and nothing is in progress
		out.Reason = UsedSince
	case !timed:
		out.State, out.Reason = Pending, NoTime
	default:
		out.State, out.Reason = Pending, Recent
	}
	return out
}

// window returns how long an update in progress explains the state.
func (f Facts) window(state State) time.Duration {
	if f.Captured && state == Mismatch && f.Secret.Changed.After(f.Owner.Changed) {
		return captureWindow
	}
	return Window
}

// changed returns the last change of the Secret and its owner; zero if one of the two is not known.
func (f Facts) changed() time.Time {
	last := f.Owner.Changed
	if last.IsZero() || f.Secret == nil {
		return last
	}
	if f.Secret.Changed.IsZero() || f.Secret.Changed.After(last) {
		return f.Secret.Changed
	}
	return last
}

// Controller is the version of fleet-controller, which writes the Secrets of BundleDeployments. Known is false if it
// could not be determined: then no method returns true. Source: docs/fleet-behavior.md, 8.2.
type Controller struct {
	fleet.Version
	Known bool
}

// ControllerOf returns the version in the tag of the controller's image.
func ControllerOf(tag string) Controller {
	v, known := fleet.ParseVersion(tag)
	return Controller{Version: v, Known: known}
}

// Inline reports whether the controller keeps values in the specs of Bundles and BundleDeployments, and uses no Secret.
func (c Controller) Inline() bool {
	switch c.Minor {
	case 10:
		return c.Known && c.Before(10, 11)
	case 11:
		return c.Known && c.Before(11, 6)
	}
	return c.Known && c.Before(12, 1)
}

// Waits reports whether the controller sets waitingForValues if the Secret does not exist, so that the agent deploys
// nothing without the values.
func (c Controller) Waits() bool { return c.Known && !c.Before(14, 4) }

// RepairsMismatch reports whether the controller writes the Secret and the hash again if they differ.
func (c Controller) RepairsMismatch() bool { return c.Known && !c.Before(15, 3) }

// LosesValues reports whether the controller skips values that it cannot load, and may then store the Secret with empty
// values.
func (c Controller) LosesValues() bool { return c.Known && !c.Before(14, 1) && c.Before(14, 4) }

// The types of the Secrets. A Secret has the namespace and the name of the Bundle or BundleDeployment that owns it.
const (
	BundleType     = "fleet.cattle.io/bundle-values/v1alpha1"
	DeploymentType = "fleet.cattle.io/bundle-deployment/v1alpha1"
)

// The keys of the Secret of a BundleDeployment. Both always exist; an empty value means that there are no values. The
// agent uses only Values.
const (
	KeyValues = "values"
	KeyStaged = "stagedValues"
)

// BundleHash returns the valuesHash of a Bundle for the data of its Secret: the SHA-256, in hexadecimal, of the JSON
// object of keys and values in base64, with the keys in order. It is empty if there are no data.
func BundleHash(data map[string][]byte) (string, error) {
	if len(data) == 0 {
		return "", nil
	}
	text, err := json.Marshal(data)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// DeploymentHash returns the valuesHash of a BundleDeployment for the two values of its Secret: the SHA-256, in
// hexadecimal, of the bytes of values followed by those of staged. It is empty if both are. The hash does not show
// where the first one ends.
func DeploymentHash(values, staged []byte) string {
	if len(values)+len(staged) == 0 {
		return ""
	}
	h := sha256.New()
	h.Write(values)
	h.Write(staged)
	return hex.EncodeToString(h.Sum(nil))
}

// Hash returns the valuesHash for the data of a Secret that takes the place of a Secret of a type.
func Hash(secretType string, data map[string][]byte) (string, error) {
	if secretType == BundleType {
		return BundleHash(data)
	}
	return DeploymentHash(data[KeyValues], data[KeyStaged]), nil
}

// LostValues reports whether the Secret of a BundleDeployment has staged values and no current ones.
func LostValues(secretType string, data map[string][]byte) bool {
	return secretType == DeploymentType && len(data[KeyValues]) == 0 && len(data[KeyStaged]) > 0
}

// Masked reports whether a capture replaced the data of a Secret: Fleet stores each value as a JSON object, and a
// Secret without values only if it is not needed. The hash of such a Secret is not known.
func Masked(secretType string, data map[string][]byte) bool {
	if secretType == DeploymentType {
		_, values := data[KeyValues]
		_, staged := data[KeyStaged]
		if !values || !staged {
			return true
		}
		data = maps.Clone(data)
		maps.DeleteFunc(data, func(_ string, v []byte) bool { return len(v) == 0 })
	}
	for _, v := range data {
		if raw := jsontext.Value(v); raw.Kind() != jsontext.KindBeginObject ||
			!raw.IsValid(jsontext.AllowDuplicateNames(true)) {
			return true
		}
	}
	return len(data) == 0
}

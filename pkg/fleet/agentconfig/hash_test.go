// SPDX-License-Identifier: Apache-2.0

package agentconfig

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestHashCA has the hashes of docs/fleet-behavior.md, 7.2. The controller distinguishes an absent key from an empty
// one.
func TestHashCA(t *testing.T) {
	for _, tc := range []struct {
		name string
		ca   []byte
		want string
	}{
		{"empty", []byte{}, emptyCA},
		{"absent", nil, absentCA},
		{"foo", []byte("foo"), "10a98acee3877e0d0f97c1e17ef4f7228193a707e9f6d943947f90fc"},
	} {
		if got := HashCA(tc.ca); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

const (
	emptyCA  = "106eab90d1bb9f41a6bc937ccb191f4ff67809fffb93ce4a6e81822d"
	absentCA = "a7408a8b23aff882d8b95165eb24c3a6b519468539eb2b3072f529cb"
)

func TestHashSettings(t *testing.T) {
	for _, tc := range []struct {
		raw, want string
	}{
		{`[{"name":"FOO","value":"bar"}]`, "b2d520a40b379ff5bdbf5440a0611debf770dfecdfe3eddaec073255"},
		{`[{"value":"bar","name":"FOO"}]`, "b2d520a40b379ff5bdbf5440a0611debf770dfecdfe3eddaec073255"},
		{`[]`, ""}, {`null`, ""}, {``, ""},
	} {
		got, sorted, err := hashList[corev1.EnvVar](json.RawMessage(tc.raw), nil)
		if err != nil || got != tc.want || sorted != got {
			t.Errorf("environment %s: %q, sorted %q, error %v; want %q", tc.raw, got, sorted, err, tc.want)
		}
	}
	for _, tc := range []struct {
		raw, want string
	}{
		{`[{"key":"k","operator":"Exists","effect":"NoSchedule"}]`, keyToleration},
		// the order of the fields is that of the Go type
		{`[{"effect":"NoSchedule","operator":"Exists","key":"k"}]`, keyToleration},
		{`[]`, ""},
	} {
		if got, _, err := hashList(json.RawMessage(tc.raw), byKey); err != nil || got != tc.want {
			t.Errorf("tolerations %s: %q, error %v; want %q", tc.raw, got, err, tc.want)
		}
	}
	for _, raw := range []string{"", "null", " null "} {
		if got, err := hashStruct[corev1.Affinity](json.RawMessage(raw)); err != nil || got != "" {
			t.Errorf("affinity %q: %q, error %v", raw, got, err)
		}
	}
	if got, err := hashStruct[corev1.Affinity](json.RawMessage(`{}`)); err != nil || got == "" {
		t.Errorf("an empty affinity is not an absent one: %q, error %v", got, err)
	}
	if _, err := hashStruct[corev1.Affinity](json.RawMessage(`[]`)); err == nil {
		t.Error("a list is no affinity")
	}
}

const keyToleration = "6403e235957e7b53e4708bf4f3bd82e3b9125c3c66b386c24a356111"

// TestTolerationOrder: the order of a list is part of its hash.
func TestTolerationOrder(t *testing.T) {
	one, oneSorted, err := hashList(json.RawMessage(`[{"key":"b","operator":"Exists"},`+
		`{"key":"a","operator":"Exists"}]`), byKey)
	other, otherSorted, otherErr := hashList(json.RawMessage(`[{"key":"a","operator":"Exists"},`+
		`{"key":"b","operator":"Exists"}]`), byKey)
	if err != nil || otherErr != nil || one == other || oneSorted != otherSorted || other != otherSorted {
		t.Errorf("%s and %s; sorted %s and %s; errors %v, %v", one, other, oneSorted, otherSorted, err, otherErr)
	}
	seconds := int64(5)
	a, b := corev1.Toleration{Key: "k"}, corev1.Toleration{Key: "k", TolerationSeconds: &seconds}
	if byKey(a, b) >= 0 || byKey(b, a) <= 0 || byKey(b, b) != 0 {
		t.Error("a toleration without seconds is the first one")
	}
}

func FuzzReadConfig(f *testing.F) {
	f.Add(`{"apiServerURL":"https://rancher.example","apiServerCA":"Zm9v","agentCheckinInterval":"15m"}`)
	f.Add(`apiServerCA: ""`)
	f.Fuzz(func(t *testing.T, data string) {
		c, err := ReadConfig(data)
		if (c == nil) != (err != nil) {
			t.Errorf("configuration %v, error %v", c, err)
		}
	})
}

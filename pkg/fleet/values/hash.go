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

	"github.com/go-json-experiment/json/jsontext"
)

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

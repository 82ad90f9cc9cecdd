// SPDX-License-Identifier: Apache-2.0

package source

// Unmasked has results that were computed before a snapshot masked the values of Secrets, because the masked data would yield other results. It has
// no value of a Secret. Objects are named NAMESPACE/NAME. The methods accept nil.
type Unmasked struct {
	// ValuesSecrets are the results of the Secrets with Helm values. The key is the type that the Secret should have, a space and its name.
	ValuesSecrets map[string]ValuesResult `json:"valuesSecrets,omitempty"`
	// Contents are the Contents that could not be read, or of which files are left out, by their names. Another Content was intact.
	Contents map[string]Unreadable `json:"contents,omitempty"`
	// Records are the release records that could not be read, by the names of their Secrets.
	Records map[string]Unreadable `json:"records,omitempty"`
	// Bundles are the results of the files of Bundles.
	Bundles map[string]BundleResult `json:"bundles,omitempty"`
}

// ValuesResult is the result of a Secret with Helm values.
type ValuesResult struct {
	// Hash is the valuesHash of the data if the owner of the Secret states the same hash. It is empty if the owner states another one.
	Hash string `json:"hash,omitempty"`
	// Emptied is true if the Secret has staged values and no current ones.
	Emptied bool `json:"emptied,omitempty"`
}

// Unreadable is a release record or a Content that could not be read.
type Unreadable struct {
	// Damaged is the reason why it could not be decoded, Manifest the reason why the manifest of a record could not be read.
	Damaged  string `json:"damaged,omitempty"`
	Manifest string `json:"manifest,omitempty"`
	// Limit is the limit that it exceeds, or the reason why not all of it is in the snapshot. Then it is not known to be damaged.
	Limit string `json:"limit,omitempty"`
}

// BundleResult is the result of the files of a Bundle.
type BundleResult struct {
	// Size is the size of the Bundle as compact JSON, in bytes.
	Size int `json:"size"`
	// Content is the name of the Content with the same files.
	Content string `json:"content,omitempty"`
}

// Values returns the result of a Secret with Helm values.
func (u *Unmasked) Values(secretType, namespace, name string) (ValuesResult, bool) {
	if u == nil {
		return ValuesResult{}, false
	}
	v, ok := u.ValuesSecrets[ValuesName(secretType, namespace, name)]
	return v, ok
}

// ValuesName is the key of a Secret in ValuesSecrets.
func ValuesName(secretType, namespace, name string) string {
	return secretType + " " + namespace + "/" + name
}

// Content returns why a Content could not be read.
func (u *Unmasked) Content(name string) (Unreadable, bool) {
	if u == nil {
		return Unreadable{}, false
	}
	v, ok := u.Contents[name]
	return v, ok
}

// Record returns the result of a release record that could not be read.
func (u *Unmasked) Record(namespace, secret string) (Unreadable, bool) {
	if u == nil {
		return Unreadable{}, false
	}
	v, ok := u.Records[namespace+"/"+secret]
	return v, ok
}

// Bundle returns the result of the files of a Bundle.
func (u *Unmasked) Bundle(namespace, name string) (BundleResult, bool) {
	if u == nil {
		return BundleResult{}, false
	}
	v, ok := u.Bundles[namespace+"/"+name]
	return v, ok
}

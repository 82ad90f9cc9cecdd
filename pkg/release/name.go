// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"
	"strconv"
	"strings"
)

// Name is the name of one revision of a release.
type Name struct {
	Namespace, Name string
	Revision        int
}

// String returns the name in the format of Fleet's status.release: "namespace/name:revision".
func (n Name) String() string { return fmt.Sprintf("%s/%s:%d", n.Namespace, n.Name, n.Revision) }

// Release returns the name without the revision.
func (n Name) Release() string { return n.Namespace + "/" + n.Name }

// SecretName returns the name of the Secret with the record of this revision.
func (n Name) SecretName() string {
	return fmt.Sprintf("sh.helm.release.v1.%s.v%d", n.Name, n.Revision)
}

// ParseName parses a name in the format of String.
func ParseName(s string) (Name, error) {
	ns, rest, _ := strings.Cut(s, "/")
	name, rev, _ := strings.Cut(rest, ":")
	n, err := strconv.Atoi(rev) // fails without a separator
	if err != nil || ns == "" || name == "" {
		return Name{}, fmt.Errorf("parsing release %q: it is not in the format namespace/name:revision", s)
	}
	return Name{ns, name, n}, nil
}

// ParseSecretName parses the name of a record's Secret: "sh.helm.release.v1.NAME.vREVISION".
func ParseSecretName(namespace, secret string) (Name, error) {
	rest, ok := strings.CutPrefix(secret, "sh.helm.release.v1.")
	if i := strings.LastIndex(rest, ".v"); ok && i > 0 {
		revision, err := strconv.Atoi(rest[i+2:])
		n := Name{namespace, rest[:i], revision}
		if err == nil && revision > 0 && n.SecretName() == secret { // not ".v01"
			return n, nil
		}
	}
	const format = "sh.helm.release.v1.NAME.vREVISION"
	return Name{}, fmt.Errorf("parsing secret name %q: it is not in the format %s", secret, format)
}

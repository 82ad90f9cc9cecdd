// SPDX-License-Identifier: Apache-2.0

package escape_test

import (
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
)

func TestAddress(t *testing.T) {
	for in, want := range map[string]string{
		"https://host:6443":                      "https://host:6443",
		"https://host/k8s/clusters/c-1":          "https://host/k8s/clusters/c-1",
		"https://[::1]:6443":                     "https://[::1]:6443",
		"10.0.0.1:6443":                          "10.0.0.1:6443",
		"https://host/%23s3cret":                 escape.NoAddress,
		"https://[fe80::1%25eth0]:6443":          "https://[fe80::1%25eth0]:6443",
		"https://[::1":                           "https://[::1",
		"localhost":                              "localhost",
		"https://s3cret-t0ken@host:6443":         "https://host:6443",
		"https://user:s3cret@host/path":          "https://host/path",
		"user:s3cret@host:6443":                  "host:6443",
		"https://host/?token=s3cret":             "https://host/",
		"https://host/a?token=s3cret#s3cret":     "https://host/a",
		"https://user:s3cret%zz@host":            escape.NoAddress,
		"https://user:s3 cret\x01@host":          escape.NoAddress,
		"https://user:12/s3cret@host":            escape.NoAddress,
		"https://user:12?s3cret@host":            escape.NoAddress,
		"https://user:12#s3cret@host":            escape.NoAddress,
		"https:///no-host?token=s3cret":          escape.NoAddress,
		"https://user:s3cret/more@host:6443/api": escape.NoAddress,
	} {
		if got := escape.Address(in); got != want {
			t.Errorf("%q is shown as %q, want %q", in, got, want)
		}
	}
}

func TestWithoutCredentials(t *testing.T) {
	for in, want := range map[string]string{
		`Get "https://s3cret@host/api": dial tcp`:                 `Get "https://host/api": dial tcp`,
		`parse "https://user:s3cret%zz@host": invalid URL escape`: `parse "https://host": invalid URL escape`,
		`"https://host/api?limit=5&token=s3cret&b=c": EOF`:        `"https://host/api?limit=5&token=***&b=c": EOF`,
		`Get "https://host?access_token=s3cret": EOF`:             `Get "https://host?access_token=***": EOF`,
		`"https://host/api" is forbidden to bob@example.com`:      `"https://host/api" is forbidden to bob@example.com`,
	} {
		if got := escape.WithoutCredentials(in); got != want {
			t.Errorf("%s becomes %s, want %s", in, got, want)
		}
	}
}

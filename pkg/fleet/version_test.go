// SPDX-License-Identifier: Apache-2.0

package fleet

import "testing"

func TestVersion(t *testing.T) {
	for tag, want := range map[string]struct {
		version  Version
		known    bool
		collects bool
	}{
		"v0.14.3":            {Version{14, 3, false}, true, true},
		"0.15.5":             {Version{15, 5, false}, true, true},
		"v0.15.6":            {Version{15, 6, false}, true, false},
		"v0.15.6-rc.1":       {Version{15, 6, true}, true, true},
		"v0.16.0":            {Version{16, 0, false}, true, true},
		"v0.16.1":            {Version{16, 1, false}, true, false},
		"v0.17.0-alpha.1":    {Version{17, 0, true}, true, false},
		"v105.0.0-up0.12.0":  {Version{12, 0, false}, true, true},
		"v108.0.1-up0.16.1":  {Version{16, 1, false}, true, false},
		"dev":                {},
		"":                   {},
		"v1.16.1":            {},
		"99999999999999.0.1": {},
	} {
		got, known := ParseVersion(tag)
		if got != want.version || known != want.known || known && got.CollectsByBundleName() != want.collects {
			t.Errorf("%q: %+v, known %v, collects by bundle name %v; want %+v", tag, got, known,
				got.CollectsByBundleName(), want)
		}
	}
	if got, known := ParseBuild("dev"); !known || got.Before(NewestKnown, 999) {
		t.Errorf("dev is %+v, known %v; want newer than every known version", got, known)
	}
	if got, known := ParseBuild("v0.14.3"); !known || got.Minor != 14 {
		t.Errorf("v0.14.3 is %+v, known %v", got, known)
	}
	v := Version{16, 0, true}
	if !v.Before(16, 0) || v.Before(15, 9) || !(Version{16, 0, false}).Before(16, 1) ||
		(Version{16, 0, false}).Before(16, 0) {
		t.Error("Before returns a wrong result")
	}
}

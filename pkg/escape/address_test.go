// SPDX-License-Identifier: Apache-2.0

package escape_test

import (
	"strings"
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
		"https://user%3As3cret%40host/path":      escape.NoAddress,
		"https://user%253As3cret%2540host/path":  escape.NoAddress,
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

// TestCredentials checks which parts of a text are credentials in addresses: $S and $T.
func TestCredentials(t *testing.T) {
	const hash = "0123456789abcdef0123456789abcdef01234567"
	const key = "Zk7vT4mXw9Rb2ZpLs8Ny3Gc6"
	for in, want := range map[string]string{
		// the login of a URL
		`Get "https://$S@host/api": dial tcp`:                 `Get "https://***@host/api": dial tcp`,
		`parse "https://user:$S%zz@host": invalid URL escape`: `parse "https://***@host": invalid URL escape`,
		`https://user:$S@git.example.com/x`:                   `https://***@git.example.com/x`,
		`https://git:$S@git.example.com/x`:                    `https://***@git.example.com/x`,
		`https://user:$S@git:8443/x`:                          `https://***@git:8443/x`,
		`https://user:$S@[::1]:6443/x`:                        `https://***@[::1]:6443/x`,
		`git+ssh://user:$S@h/x`:                               `git+ssh://***@h/x`,
		`oci://user:$S@reg.example.com/a@sha256:12`:           `oci://***@reg.example.com/a@sha256:12`,
		`oci://user:$S@reg/a@sha256:12`:                       `oci://***@reg/a@sha256:12`,
		`https://user:$S@reg.example.com/@scope/a`:            `https://***@reg.example.com/@scope/a`,
		`git::https://user:$S@h.example.com//a?ref=main`:      `git::https://***@h.example.com//a?ref=main`,
		`https://user:p@$S@git.example.com/x`:                 `https://***@git.example.com/x`,
		`https://user:p/$S@git.example.com/x`:                 `https://***@git.example.com/x`,
		`https://user:p@a/$S@git.example.com/x`:               `https://***@git.example.com/x`,
		`https://user:p@a/$S@host/x`:                          `https://***@host/x`,
		`https://user:12/$S@127.0.0.1:1`:                      `https://***@127.0.0.1:1`,
		`https://user:12?x=$S@127.0.0.1:1`:                    `https://***@127.0.0.1:1`,
		`https://user:a://$S@git.example.com`:                 `https://***@git.example.com`,
		`https://us'er:$S'x@git.example.com`:                  `https://***@git.example.com`,
		`https://$S@`:                                         `https://***@`,
		`postgres://u:$S@a:5432,b:5432/x`:                     `postgres://***@a:5432,b:5432/x`,
		// escaped for URLs or JSON
		`https://user%3A$S%40git.example.com/x`:                  `https://***%40git.example.com/x`,
		`https://user:$S%40git.example.com/x`:                    `https://***%40git.example.com/x`,
		`https://user%253A$S%2540git.example.com/x`:              `https://***%2540git.example.com/x`,
		`https://user:p%2F$S@git.example.com/x`:                  `https://***@git.example.com/x`,
		`https://h.example.com/?to=https%3A%2F%2Fu%3A$S%40i%2Fx`: `https://h.example.com/?to=https%3A%2F%2F***%40i%2Fx`,
		`{"repo":"https:\/\/user:$S@h\/x"}`:                      `{"repo":"https:\/\/***@h\/x"}`,
		`{\"repo\":\"https://user:$S@h/x\",\"b\":\"c@d.org\"}`:   `{\"repo\":\"https://***@h/x\",\"b\":\"c@d.org\"}`,
		// scp
		`user:$S@git.example.com:x/y`:           `***@git.example.com:x/y`,
		`user%3A$S@git.example.com:x/y`:         `***@git.example.com:x/y`,
		`user:$S%40git.example.com:x/y`:         `***%40git.example.com:x/y`,
		`failed to clone 'user:p@=$S@h:x': 401`: `failed to clone '***@h:x': 401`,
		`user:$S@git.example.com/x/y`:           `***@git.example.com/x/y`,
		`bob@example.com:$S@git.example.com:x`:  `***@git.example.com:x`,
		`repo=user:$S@[::1]:x/y`:                `repo=***@[::1]:x/y`,
		`user:$S@reg:5000/a@sha256:12`:          `***@reg:5000/a@sha256:12`,
		key + `@git.example.com:x/y`:            `***@git.example.com:x/y`,
		// parameters
		`"https://h/api?limit=5&token=$S&b=c": EOF`: `"https://h/api?limit=5&token=***&b=c": EOF`,
		`Get "https://h?access_token=$S": EOF`:      `Get "https://h?access_token=***": EOF`,
		`https://h/x?X-Amz-Date=20260101T000000Z&X-Amz-Signature=$S&x=y`: `https://h/x?X-Amz-Date=20260101T000000Z&` +
			`X-Amz-Signature=***&x=y`,
		`https://h/x?a=b\u0026sig=$S\u0026c=d`:           `https://h/x?a=b\u0026sig=***\u0026c=d`,
		`https://h/x?a=b&amp;sig=$S&amp;c=d`:             `https://h/x?a=b&amp;sig=***&amp;c=d`,
		`https://h/x?access%5Ftoken=$S`:                  `https://h/x?access%5Ftoken=***`,
		`https://h/x?t=` + key + `&ref=main`:             `https://h/x?t=***&ref=main`,
		`https://h/x#token=$S`:                           `https://h/x#token=***`,
		`https://h/x#` + key:                             `https://h/x#***`,
		`https://h/x?password=$S#section`:                `https://h/x?password=***#section`,
		`fetch https://h/c.tgz?key=$S: 401`:              `fetch https://h/c.tgz?key=***: 401`,
		`https://h/x?to=https%3A%2F%2Fi%2F%3Ftoken%3D$S`: `https://h/x?to=https%3A%2F%2Fi%2F%3Ftoken%3D***`,
		// several, and what surrounds them
		`https://u:$S@a.org/x and git@b.org:y, http://$T@c.org?token=$S`: `https://***@a.org/x and git@b.org:y, ` +
			`http://***@c.org?token=***`,
		`https://u:$S@a.org,https://v:$T@b.org`: `https://***@a.org,https://***@b.org`,
		`(https://u:$S@a.org/x) <https://$T@b.org> [x](http://$S@c)`: `(https://***@a.org/x) ` +
			`<https://***@b.org> [x](http://***@c)`,
		`'https://u:$S@a.org/x?token=$T' and "c@d.org"`: `'https://***@a.org/x?token=***' and "c@d.org"`,
		// no credentials
		`https://h/x?ref=main`:                                      "",
		`git::https://h.example.com//a/b?ref=v1.2.3`:                "",
		`https://h/x?ref=` + hash:                                   "",
		`https://h/x?ref=release-1.2.3-rc.4-fix`:                    "",
		`https://h/x.git#` + hash:                                   "",
		`https://h/x#section-2`:                                     "",
		`oci://reg.example.com/a@sha256:` + hash:                    "",
		`oci://reg.example.com:5000/a:1.2@sha256:12`:                "",
		`docker-pullable://web:1.2@sha256:` + hash:                  "",
		`registry.example.com:5000/web:1.2@sha256:` + hash:          "",
		`https://h/a/@b`:                                            "",
		`https://h.example.com:8080/a/@b`:                           "",
		`http://verdaccio:4873/@scope/a`:                            "",
		`https://registry.example.com/%40scope%2fa`:                 "",
		`https://h:8080/x?mail=bob@example`:                         "",
		`https://h/x?mail=bob@example.com`:                          "",
		`https://[::1]:6443/a@b.org`:                                "",
		`https://[fe80::1%25eth0]:6443/a`:                           "",
		`git@git.example.com:x/y`:                                   "",
		`git@a.org:x/y,git@b.org:y`:                                 "",
		`alice@git.example.com:x/y`:                                 "",
		`ssh://git@git.example.com/a`:                               "",
		`user@example.com`:                                          "",
		`"npm/left-pad@1.3.0/index.js:1:2"`:                         "",
		`mailto:user@example.com`:                                   "",
		`"https://h/api" is forbidden to bob@example.com: no`:       "",
		`User "oidc:alice@example.com" cannot list pods`:            "",
		`at 12:30: a@b, 50% of c: d#e?`:                             "",
		`https://h/api?fieldSelector=spec.nodeName%3Dnode1&limit=5`: "",
		`https://h/api?labelSelector=app%3Dweb&watch=true&resourceVersion=12345678901234567890`: "",
		`fn@webpack:///./src/a.js:1:2`: "",
	} {
		if want == "" {
			want = in
		}
		in = strings.NewReplacer("$S", "s3cret", "$T", "t0ken").Replace(in)
		if got := escape.WithoutCredentials(in); got != want {
			t.Errorf("%s becomes\n%s, want\n%s", in, got, want)
		}
	}
}

// FuzzCredentials checks that replacing credentials twice changes nothing more, that the result is at most three times
// as long, and that a text without an address is not changed.
func FuzzCredentials(f *testing.F) {
	for _, text := range []string{"https://user:s3cret@host:1/x?token=a%26b#c", "a:b@c:d@sha256:1", "user%253Ap%2540h",
		"https%3A%2F%2Fu%3Ap%40h%2Fx%3Fsig%3Da", "git::https://a:b://c@d.org,http://[::1]:1/@e?f=g\\u0026key=h",
		"https://h/x?key=%25252525;sid=.,", "'https://a'b@c.d' e@f:g", "A00000000000000a@0:0,@0:0"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := escape.WithoutCredentials(text)
		if again := escape.WithoutCredentials(got); again != got {
			t.Errorf("%q becomes %q, then %q", text, got, again)
		}
		if len(got) > 3*len(text) {
			t.Errorf("%q becomes %d bytes", text, len(got))
		}
		if !strings.ContainsAny(text, "@?#%") && got != text {
			t.Errorf("%q becomes %q", text, got)
		}
	})
}

// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/base64"
	"errors"
	"fmt"
	"text/template"
	"time"
)

// maxRandom is the maximum length of a random text in a template.
const maxRandom = 1 << 20

// variation replaces the template functions that depend on randomness, the time, the cluster or the network. With
// Helm's own functions, two renderings can be equal by accident, for example if dates are in the same second. The
// results of these functions differ between the passes whenever that is possible. Keys, certificates and UUIDs of Helm
// always differ.
type variation struct {
	pass  int
	count int
	now   time.Time
}

// funcs returns the functions. The one that needs the network reports a gap and returns an empty value.
func (c *variation) funcs(gap func(string), lookup func(Lookup) (map[string]any, error)) template.FuncMap {
	const digits, letters = "0123456789", "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	const ascii = " !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~" + digits + letters
	return template.FuncMap{
		"randNumeric":  func(n int) (string, error) { return c.text(digits, n) },
		"randAlpha":    func(n int) (string, error) { return c.text(letters, n) },
		"randAlphaNum": func(n int) (string, error) { return c.text(letters+digits, n) },
		"randAscii":    func(n int) (string, error) { return c.text(ascii, n) },
		"randBytes": func(n int) (string, error) {
			s, err := c.text(ascii, n)
			return base64.StdEncoding.EncodeToString([]byte(s)), err
		},
		"randInt":        c.number,
		"shuffle":        c.shuffle,
		"now":            c.time,
		"ago":            func(date any) string { return c.time().Sub(c.at(date)).Round(time.Second).String() },
		"date":           func(layout string, date any) string { return inZone(layout, c.at(date), "Local") },
		"htmlDate":       func(date any) string { return inZone(time.DateOnly, c.at(date), "Local") },
		"dateInZone":     func(layout string, date any, zone string) string { return inZone(layout, c.at(date), zone) },
		"date_in_zone":   func(layout string, date any, zone string) string { return inZone(layout, c.at(date), zone) },
		"htmlDateInZone": func(date any, zone string) string { return inZone(time.DateOnly, c.at(date), zone) },
		"lookup": func(apiVersion, kind, namespace, name string) (map[string]any, error) {
			return lookup(Lookup{APIVersion: apiVersion, Kind: kind, Namespace: namespace, Name: name})
		},
		"getHostByName": func(string) string {
			gap("a template resolves a host name")
			return ""
		},
	}
}

// text returns n characters of the alphabet. Each differs from the character at the same index in the other pass.
func (c *variation) text(alphabet string, n int) (string, error) {
	if n < 0 || n > maxRandom {
		return "", errors.New("invalid length of a random text")
	}
	out := make([]byte, n)
	for i := range out {
		out[i] = alphabet[(c.next()+c.pass)%len(alphabet)]
	}
	return string(out), nil
}

func (c *variation) number(low, high int) (int, error) {
	n := high - low
	if n <= 0 {
		return 0, fmt.Errorf("invalid range of a random number: %d to %d", low, high)
	}
	return low + (c.next()+c.pass)%n, nil
}

// shuffle returns the text unchanged, or rotated by one.
func (c *variation) shuffle(s string) string {
	if r := []rune(s); c.pass > 0 && len(r) > 1 {
		return string(append(r[1:], r[0]))
	}
	return s
}

// next returns numbers with distances between them, so that two consecutive names do not collide.
func (c *variation) next() int {
	c.count++
	const prime = 7919
	return c.count * prime % (1 << 30)
}

// time returns the present. In the other pass every part of the date and of the time differs, and also the day of the
// week.
func (c *variation) time() time.Time {
	t := c.now
	if t.IsZero() {
		t = time.Date(2026, time.February, 3, 4, 5, 6, 7, time.UTC)
	}
	if c.pass > 0 {
		t = t.AddDate(1, 1, 1).Add(time.Hour + time.Minute + time.Second + time.Millisecond)
	}
	return t
}

// at converts the argument of Helm's date functions. Any other value means the present.
func (c *variation) at(date any) time.Time {
	switch d := date.(type) {
	case time.Time:
		return d
	case *time.Time:
		if d != nil {
			return *d
		}
	case int64:
		return time.Unix(d, 0)
	case int32:
		return time.Unix(int64(d), 0)
	case int:
		return time.Unix(int64(d), 0)
	}
	return c.time()
}

func inZone(layout string, t time.Time, zone string) string {
	loc, err := time.LoadLocation(zone)
	if err != nil {
		loc = time.UTC
	}
	return t.In(loc).Format(layout)
}

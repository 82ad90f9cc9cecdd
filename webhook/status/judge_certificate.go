// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/install"
)

// soon is how long before its end a certificate is worth a word: all who make one renew it earlier.
const soon = 7 * 24 * time.Hour

// certificate judges the webhook's own certificate.
func (j *judgement) certificate() {
	secret := j.secret()
	switch {
	case secret.Reason != "":
		j.add("certificate", Unknown, "Secret "+install.SecretName+" could not be read: "+secret.Reason)
		return
	case secret.Object == nil:
		j.add("certificate", Wrong, "Secret "+install.SecretName+" is not there")
		return
	}
	chain, err := certificates(secret.Object)
	if err != nil {
		j.add("certificate", Wrong, "Secret "+install.SecretName+": "+err.Error())
		return
	}
	c, now := chain[0], j.TakenAt
	// When it was made is not told: its beginning is set back, for clocks that are slow.
	text := fmt.Sprintf("expires in %s, on %s", days(c.NotAfter.Sub(now)), c.NotAfter.UTC().Format(time.DateOnly))
	switch {
	case now.Before(c.NotBefore):
		j.add("certificate", Wrong, "it is not valid before "+c.NotBefore.UTC().Format(time.RFC3339))
	case now.After(c.NotAfter):
		j.add("certificate", Wrong, fmt.Sprintf("it expired %s ago, on %s", days(now.Sub(c.NotAfter)), c.NotAfter.UTC().Format(time.DateOnly)))
	case c.NotAfter.Sub(now) < soon:
		j.add("certificate", Wrong, text+": it should have been renewed")
	default:
		j.add("certificate", OK, text)
	}
}

// days is a duration in words: in hours below two days.
func days(d time.Duration) string {
	if d < 48*time.Hour {
		return plural(int(d.Hours()), "hour")
	}
	return plural(int(d.Hours()/24), "day")
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

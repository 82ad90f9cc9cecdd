// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"encoding/base64"
	"fmt"
	"testing"
)

// TestMasks checks that masked data are not compared with those of another snapshot, in which the same value has
// another mask.
func TestMasks(t *testing.T) {
	for text, masked := range map[string]bool{"hmac_0123456789abcdef": true, "hmac_zyxw": true, "hmackery": false,
		"planted": false} {
		secret := fmt.Sprintf(`{"data":{"a":%q}}`, base64.StdEncoding.EncodeToString([]byte(text)))
		configMap := fmt.Sprintf(`{"data":{"a":"u:%s"}}`, text)
		for raw, isSecret := range map[string]bool{secret: true, configMap: false} {
			data, ok := dataOf([]byte(raw), isSecret, false)
			if !ok || masks(data) != masked {
				t.Errorf("%s: masked %t, want %t", raw, masks(data), masked)
			}
		}
	}
}

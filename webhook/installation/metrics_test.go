// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const sampleMetrics = `# HELP apiserver_admission_webhook_admission_duration_seconds [STABLE] Admission webhook latency
# TYPE apiserver_admission_webhook_admission_duration_seconds histogram
apiserver_admission_webhook_admission_duration_seconds_bucket{name="stamp.fleetdoctor.io",operation="CREATE",rejected="false",type="admit",le="0.005"} 2
apiserver_admission_webhook_admission_duration_seconds_bucket{name="stamp.fleetdoctor.io",operation="CREATE",rejected="false",type="admit",le="+Inf"} 3
apiserver_admission_webhook_admission_duration_seconds_sum{name="stamp.fleetdoctor.io",operation="CREATE",rejected="false",type="admit"} 2.5
apiserver_admission_webhook_admission_duration_seconds_count{name="stamp.fleetdoctor.io",operation="CREATE",rejected="false",type="admit"} 3
apiserver_admission_webhook_admission_duration_seconds_bucket{name="stamp.fleetdoctor.io",operation="UPDATE",rejected="false",type="admit",le="+Inf"} 1
apiserver_admission_webhook_admission_duration_seconds_sum{name="stamp.fleetdoctor.io",operation="UPDATE",rejected="false",type="admit"} 0.5
apiserver_admission_webhook_admission_duration_seconds_count{name="stamp.fleetdoctor.io",operation="UPDATE",rejected="false",type="admit"} 1
apiserver_admission_webhook_admission_duration_seconds_bucket{name="else.example.com",operation="UPDATE",rejected="false",type="admit",le="+Inf"} 9
apiserver_admission_webhook_admission_duration_seconds_sum{name="else.example.com",operation="UPDATE",rejected="false",type="admit"} 9
apiserver_admission_webhook_admission_duration_seconds_count{name="else.example.com",operation="UPDATE",rejected="false",type="admit"} 9
# HELP apiserver_admission_webhook_fail_open_count [ALPHA] Admission webhook fail open count
# TYPE apiserver_admission_webhook_fail_open_count counter
apiserver_admission_webhook_fail_open_count{name="stamp.fleetdoctor.io",type="admit"} 2
# HELP apiserver_admission_webhook_rejection_count [ALPHA] Admission webhook rejection count
# TYPE apiserver_admission_webhook_rejection_count counter
apiserver_admission_webhook_rejection_count{error_type="no_error",name="guard.fleetdoctor.io",operation="DELETE",rejection_code="403",type="validating"} 4
apiserver_admission_webhook_rejection_count{error_type="calling_webhook_error",name="guard.fleetdoctor.io",operation="DELETE",rejection_code="0",type="validating"} 1
# TYPE etcd_request_duration_seconds histogram
etcd_request_duration_seconds_count 12
`

func TestParseMetrics(t *testing.T) {
	t.Parallel()
	got, err := parseMetrics(strings.NewReader(sampleMetrics), StampWebhook, GuardWebhook)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Calls{StampWebhook: {Total: 4, FailedOpen: 2, MeanSeconds: 0.75},
		GuardWebhook: {Refused: 4, Failed: 1}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if _, err := parseMetrics(strings.NewReader("apiserver_admission_webhook_fail_open_count{ 1\n")); err == nil {
		t.Error("an invalid metric was accepted")
	}
}

func FuzzParseMetrics(f *testing.F) {
	f.Add(sampleMetrics)
	f.Add("apiserver_admission_webhook_fail_open_count 1")
	f.Fuzz(func(_ *testing.T, text string) { // it must return
		_, _ = parseMetrics(strings.NewReader(text), StampWebhook)
	})
}

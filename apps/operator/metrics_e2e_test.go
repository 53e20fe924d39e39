package operator_test

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/assay-dev/assay/adapters/testbed"
)

// TestMetricsAreServedToThoseWhoMay scrapes the operator as nobody, as a service account
// without the role, and as one that has it.
func TestMetricsAreServedToThoseWhoMay(t *testing.T) {
	t.Parallel()
	s := newStage(t, testbed.Require(t), map[string]testbed.Template{"startup": testbed.StartupFails()})
	s.controlPlane()
	for _, account := range []string{"scraper", "stranger"} {
		s.kubectl("--namespace", s.namespace, "create", "serviceaccount", account)
	}
	s.kubectl("create", "clusterrolebinding", s.namespace+"-scraper", "--clusterrole=assay-operator-metrics-reader", "--serviceaccount="+s.namespace+":scraper")
	s.kubectl("create", "clusterrolebinding", s.namespace+"-auth", "--clusterrole=system:auth-delegator", "--user="+operatorUser)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	o := s.operate("--metrics-bind-address", address)
	s.test("startup", "startup", "")
	s.awaitEnd("startup")

	token := func(account string) string {
		return strings.TrimSpace(s.kubectl("--namespace", s.namespace, "create", "token", account))
	}
	if code, _ := scrape(t, address, ""); code != http.StatusUnauthorized {
		t.Errorf("nobody's scrape is answered with %d, want 401", code)
	}
	if code, _ := scrape(t, address, token("stranger")); code != http.StatusForbidden {
		t.Errorf("a stranger's scrape is answered with %d, want 403", code)
	}
	code, body := scrape(t, address, token("scraper"))
	if code != http.StatusOK {
		t.Fatalf("the scraper is answered with %d: %s", code, body)
	}
	for _, want := range []string{
		`assay_test_results_total{class="TemplateFailed",phase="Failed",reason="AgentStartError"} 1`,
		`assay_tests{class="TemplateFailed",phase="Failed"} 1`, "assay_tests_leak_risk 0", "assay_tests_cleanup_pending 0",
		`assay_test_stage_seconds_count{stage="cleanup"} 1`,
		`assay_coder_requests_total{code="201",method="POST",route="/users/{user}/workspaces"} 1`,
		"controller_runtime_reconcile_total",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
	for what, secret := range map[string]string{"token": s.tester.Token, "tester": s.tester.ID.String(), "template": s.templates["startup"]} {
		if strings.Contains(body, secret) {
			t.Errorf("the %s is in the metrics", what)
		}
	}
	if t.Failed() {
		for line := range strings.Lines(body) {
			if strings.HasPrefix(line, "assay_") && !strings.Contains(line, "_bucket") {
				t.Log(line)
			}
		}
	}
	o.stop(t)
	s.requireClean()
}

// scrape asks for the metrics; an empty token sends none. The certificate is the
// operator's own.
func scrape(t *testing.T, address, token string) (code int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	client := &http.Client{
		Timeout:   30 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}, //nolint:gosec // self-signed
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(content)
}

package serving

import (
	"net/http"
	"strings"
	"testing"
)

const printed = `Running 1s test @ http://127.0.0.1:8080/
  1 threads and 32 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.10ms    1.30ms  30.52ms   97.10%
    Req/Sec    27.99k     2.10k   31.05k    70.00%
  Latency Distribution
     50%    0.95ms
     75%    1.20ms
     90%    1.61ms
     99%  812.00us
  27991 requests in 1.00s, 61.50MB read
Requests/sec:  27991.12
Transfer/sec:     61.50MB
`

func TestParse(t *testing.T) {
	for name, test := range map[string]struct {
		printed string
		status  int
		want    result
		err     string
	}{
		"answers": {printed, http.StatusOK, result{27991.12, 0.812, 61.5 * megabytes["MB"]}, ""},
		"expected 404": {strings.Replace(printed, "Requests/sec", "  Non-2xx or 3xx responses: 27991\nRequests/sec", 1),
			http.StatusNotFound, result{27991.12, 0.812, 61.5 * megabytes["MB"]}, ""},
		"unexpected 404": {strings.Replace(printed, "Requests/sec", "  Non-2xx or 3xx responses: 3\nRequests/sec", 1),
			http.StatusOK, result{}, "3 of 27991 answers"},
		"some 404 of all": {strings.Replace(printed, "Requests/sec", "  Non-2xx or 3xx responses: 3\nRequests/sec", 1),
			http.StatusNotFound, result{}, "want 27991"},
		"failed requests": {strings.Replace(printed, "Requests/sec",
			"  Socket errors: connect 0, read 2, write 0, timeout 0\nRequests/sec", 1), http.StatusOK, result{}, "read 2"},
		"no result": {"unable to connect", http.StatusOK, result{}, "no result"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parse(test.printed, test.status)
			if got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
			if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
				t.Errorf("got error %v, want %q", err, test.err)
			}
		})
	}
}

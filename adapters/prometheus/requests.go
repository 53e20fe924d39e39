package prometheus

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// requestBuckets are in seconds, up to the timeout of a request.
var requestBuckets = []float64{0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30}

// Requests counts and measures requests to Coder.
type Requests struct {
	total   *prometheus.CounterVec
	seconds *prometheus.HistogramVec
}

var _ prometheus.Collector = (*Requests)(nil)

// NewRequests makes a collector that saw no request yet.
func NewRequests() *Requests {
	return &Requests{
		total: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "assay_coder_requests_total",
			Help: "Requests to Coder, by method, route and HTTP status code; the code is error when no answer came.",
		}, []string{"method", "route", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "assay_coder_request_seconds",
			Help:    "How long Coder took to answer, up to the answer's headers, by method and route.",
			Buckets: requestBuckets,
		}, []string{"method", "route"}),
	}
}

// Observe notes a request. The route is a pattern without IDs and names; status is 0 when
// no answer came.
func (r *Requests) Observe(method, route string, status int, took time.Duration) {
	code := "error"
	if status != 0 {
		code = strconv.Itoa(status)
	}
	r.total.WithLabelValues(method, route, code).Inc()
	r.seconds.WithLabelValues(method, route).Observe(took.Seconds())
}

// Describe implements prometheus.Collector.
func (r *Requests) Describe(into chan<- *prometheus.Desc) {
	r.total.Describe(into)
	r.seconds.Describe(into)
}

// Collect implements prometheus.Collector.
func (r *Requests) Collect(into chan<- prometheus.Metric) {
	r.total.Collect(into)
	r.seconds.Collect(into)
}

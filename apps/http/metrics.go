package server

import (
	"context"
	"time"

	promclient "github.com/prometheus/client_golang/prometheus"

	"github.com/assay-dev/assay/ports"
)

// collectTime bounds what the store is asked for a scrape.
const collectTime = 5 * time.Second

// collector measures what this server holds. What the store cannot answer in time is left
// out of the scrape.
type collector struct {
	tests  ports.TestFinder
	outbox ports.Outbox
	driven func() int

	byPhase, running, waiting *promclient.Desc
}

func newCollector(tests ports.TestFinder, outbox ports.Outbox, driven func() int) *collector {
	return &collector{
		tests: tests, outbox: outbox, driven: driven,
		byPhase: promclient.NewDesc("assay_server_tests", "Stored tests by phase, of all servers that share the store.", []string{"phase"}, nil),
		running: promclient.NewDesc("assay_server_running_tests", "Tests that this server runs.", nil, nil),
		waiting: promclient.NewDesc("assay_server_webhooks_waiting", "Messages that a receiver has not taken yet, of all servers.", []string{"receiver"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(into chan<- *promclient.Desc) {
	into <- c.byPhase
	into <- c.running
	into <- c.waiting
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(into chan<- promclient.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), collectTime)
	defer cancel()
	into <- promclient.MustNewConstMetric(c.running, promclient.GaugeValue, float64(c.driven()))
	if counts, err := c.tests.CountTests(ctx); err == nil {
		for phase, count := range counts {
			into <- promclient.MustNewConstMetric(c.byPhase, promclient.GaugeValue, float64(count), string(phase))
		}
	}
	if counts, err := c.outbox.CountNotices(ctx); err == nil {
		for receiver, count := range counts {
			into <- promclient.MustNewConstMetric(c.waiting, promclient.GaugeValue, float64(count), receiver)
		}
	}
}

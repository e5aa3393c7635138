package telemetry

import (
	"maps"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics are the service's, in a registry of their own. No label ever names an account.
type Metrics struct {
	registry *prometheus.Registry

	requests *prometheus.CounterVec
	latency  *prometheus.HistogramVec
	runs     *prometheus.HistogramVec
	fetches  *prometheus.HistogramVec
	machines *prometheus.HistogramVec
	panics   *prometheus.CounterVec
	webhooks *prometheus.CounterVec
	ticks    *prometheus.CounterVec
	mails    *prometheus.CounterVec
	logins   *prometheus.CounterVec

	answers found[answer, answered]
	ended   found[string, prometheus.Observer] // runs, by their state
}

// NewMetrics returns metrics of the process, and of what it is told.
func NewMetrics(version string) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ql_http_requests_total", Help: "Requests answered, by route and status.",
		}, []string{"route", "code"}),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "ql_http_request_duration_seconds", Help: "How long requests took, by route.", Buckets: durationBuckets,
		}, []string{"route"}),
		runs: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "ql_run_duration_seconds", Help: "How long scripts ran, by how they ended.", Buckets: durationBuckets,
		}, []string{"state"}),
		fetches: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "ql_fetch_duration_seconds", Help: "How long calls of scripts to other servers took, by how they ended.", Buckets: durationBuckets,
		}, []string{"outcome"}),
		machines: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "ql_machine_duration_seconds", Help: "How long commands and copies of scripts on machines took, by the kind of the machine and how they ended.", Buckets: durationBuckets,
		}, []string{"kind", "outcome"}),
		panics: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ql_panics_total", Help: "Panics that were recovered, by the part of the service; the log has each with its stack.",
		}, []string{"part"}),
		mails: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ql_mail_attempts_total", Help: "Attempts to send a mail, by what became of it; unreached where the mail server could not be asked.",
		}, []string{"outcome"}),
		webhooks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ql_webhook_attempts_total", Help: "Attempts to deliver a webhook, by what became of the delivery.",
		}, []string{"outcome"}),
		ticks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ql_schedule_ticks_total", Help: "Ticks of schedules, by what became of them: started, or skipped by overlap, missed or refused.",
		}, []string{"outcome"}),
		logins: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ql_login_failures_total", Help: "Log-ins that failed, by the code of the answer.",
		}, []string{"code"}),
	}
	// What was never counted is 0, not missing: a rate sees the first of its kind then.
	for _, state := range []string{"complete", "failed", "declined", "cancelled", "expired"} {
		m.runs.WithLabelValues(state)
	}
	m.fetches.WithLabelValues("ok")
	m.machines.WithLabelValues("ssh", "ok")
	for _, part := range []string{"http", "job", "jobs", "mail", "recorder", "schedules", "upkeep", "webhook"} {
		m.panics.WithLabelValues(part)
	}
	for _, outcome := range []string{"sent", "retry", "failed", "unreached"} {
		m.mails.WithLabelValues(outcome)
	}
	for _, outcome := range []string{"delivered", "retried", "stopped", "exhausted"} {
		m.webhooks.WithLabelValues(outcome)
	}
	for _, outcome := range []string{"started", "overlap", "missed", "refused"} {
		m.ticks.WithLabelValues(outcome)
	}
	for _, code := range []string{"bad_credentials", "rate_limited", "overloaded"} {
		m.logins.WithLabelValues(code)
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "ql_build_info", Help: "Which version runs; always 1.", ConstLabels: prometheus.Labels{"version": version},
	})
	build.Set(1)
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		m.requests, m.latency, m.runs, m.fetches, m.machines, m.panics, m.webhooks, m.ticks, m.mails, m.logins, build)
	return m
}

// durationBuckets are in seconds.
var durationBuckets = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 120}

// ObserveRun counts a run of a script, which ended in a state.
func (m *Metrics) ObserveRun(state string, took time.Duration) {
	m.ended.find(state, func() prometheus.Observer { return m.runs.WithLabelValues(state) }).Observe(took.Seconds())
}

// ObserveFetch counts a call of a script to another server, by how it ended: ok, or
// the code of an error.
func (m *Metrics) ObserveFetch(how string, took time.Duration) {
	m.fetches.WithLabelValues(how).Observe(took.Seconds())
}

// ObserveMachine counts a command or a copy of a script on a machine, by how it ended: ok, or the
// code of an error.
func (m *Metrics) ObserveMachine(kind, how string, took time.Duration) {
	m.machines.WithLabelValues(kind, how).Observe(took.Seconds())
}

// CountPanic counts a panic in a part of the service, which was recovered.
func (m *Metrics) CountPanic(part string) { m.panics.WithLabelValues(part).Inc() }

// CountMail counts an attempt to send a mail: sent, retry, failed or unreached.
func (m *Metrics) CountMail(outcome string) { m.mails.WithLabelValues(outcome).Inc() }

// CountWebhook counts an attempt to deliver a webhook: delivered, retried, stopped or
// exhausted.
func (m *Metrics) CountWebhook(outcome string) { m.webhooks.WithLabelValues(outcome).Inc() }

// CountTicks counts ticks of schedules: started, overlap, missed or refused.
func (m *Metrics) CountTicks(outcome string, count int64) {
	m.ticks.WithLabelValues(outcome).Add(float64(count))
}

// CountLoginFailure counts a log-in that failed, by the code of its answer.
func (m *Metrics) CountLoginFailure(code string) { m.logins.WithLabelValues(code).Inc() }

// ObserveRequest counts a request that was answered; route is "" for one to an address
// that is not there.
func (m *Metrics) ObserveRequest(route string, code int, took time.Duration) {
	if route == "" {
		route = "none"
	}
	a := m.answers.find(answer{route, code}, func() answered {
		return answered{m.requests.WithLabelValues(route, strconv.Itoa(code)), m.latency.WithLabelValues(route)}
	})
	a.count.Inc()
	a.latency.Observe(took.Seconds())
}

// answer is what requests are counted by, and answered where: to look that up by its labels takes longer than to count.
type answer struct {
	route string
	code  int
}

type answered struct {
	count   prometheus.Counter
	latency prometheus.Observer
}

// found remembers what labels lead to: routes, codes and states are few.
type found[K comparable, V any] struct {
	known atomic.Pointer[map[K]V]
	mu    sync.Mutex // of who adds to it
}

func (f *found[K, V]) find(key K, make func() V) V {
	if known := f.known.Load(); known != nil {
		if v, ok := (*known)[key]; ok {
			return v
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	more := map[K]V{}
	if known := f.known.Load(); known != nil {
		more = maps.Clone(*known)
	}
	v := make()
	more[key] = v
	f.known.Store(&more)
	return v
}

// Metric is a number that another part counts, read whenever metrics are scraped.
type Metric struct {
	Name string
	Help string
	// Label and LabelValue tell several values of one name apart; both may be "".
	Label, LabelValue string
	// Counter says that it only ever grows; others are gauges.
	Counter bool
	Read    func() float64
}

// Register adds metrics. A name with its label may be added once.
func (m *Metrics) Register(metrics ...Metric) error {
	for _, v := range metrics {
		var labels prometheus.Labels
		if v.Label != "" {
			labels = prometheus.Labels{v.Label: v.LabelValue}
		}
		var c prometheus.Collector
		if v.Counter {
			c = prometheus.NewCounterFunc(prometheus.CounterOpts{Name: v.Name, Help: v.Help, ConstLabels: labels}, v.Read)
		} else {
			c = prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: v.Name, Help: v.Help, ConstLabels: labels}, v.Read)
		}
		if err := m.registry.Register(c); err != nil {
			return err
		}
	}
	return nil
}

// mostScrapes is how many read the metrics at once; others are told to come again. A few
// scrapers are usual, and each makes a page of all metrics.
const mostScrapes = 16

// Handler shows the metrics to a scraper.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Timeout: 10 * time.Second, MaxRequestsInFlight: mostScrapes})
}

//! Metrics in the OpenMetrics text format, for Prometheus.
//!
//! Each label has a fixed set of values, so that clients can't create more of them: an unknown
//! method counts as `other`.

use crate::jsonrpc::Message;
use crate::server::method_names;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry, Unit};
use std::fmt;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, SystemTime};

/// The values of the label `method`, besides the methods of requests and `other`.
const EXTRA_METHOD_LABELS: [&str; 4] = [
    "batch",
    "notifications/cancelled",
    "notifications/initialized",
    "response",
];

/// The upper bounds of the buckets of request durations, in seconds.
const DURATION_BUCKETS: [f64; 12] = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5, 10.0,
];

/// The metrics of the server process. For their meaning, see the help texts in [`Metrics::new`].
pub(super) struct Metrics {
    registry: Registry,
    requests: Family<Labels<3>, Counter>,
    durations: Family<Labels<1>, Histogram, fn() -> Histogram>,
    responses: Family<Labels<1, u16>, Counter>,
    event_streams: Gauge,
    pub(super) websockets: Gauge,
    pub(super) connections: Gauge,
    /// A family without labels instead of a gauge, because a family can have no value: there is
    /// none until a database has answered.
    store_age: Family<Labels<0>, Gauge<f64, AtomicU64>>,
}

/// `N` labels, as pairs of a name and a value.
type Labels<const N: usize, V = &'static str> = [(&'static str, V); N];

/// A message that the server has handled.
pub(super) struct HandledMessage {
    /// `http` or `websocket`.
    pub(super) transport: &'static str,
    /// The [`method_label`] of the message, or the label of an API route.
    pub(super) method: &'static str,
    /// Whether the answer is an error. `false` for a notification that was accepted.
    pub(super) is_error: bool,
    /// The time from the message to its answer.
    pub(super) duration: Duration,
}

/// Decrements a gauge on drop.
pub(super) struct OpenCount(Gauge);

impl Drop for OpenCount {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl Metrics {
    /// Creates and registers all metrics.
    pub(super) fn new() -> Metrics {
        let mut registry = Registry::with_prefix("prompt_expander");
        let durations: Family<_, _, fn() -> Histogram> =
            Family::new_with_constructor(|| Histogram::new(DURATION_BUCKETS));
        registry.register_with_unit(
            "request_duration",
            "The time from a message to its answer, without the network",
            Unit::Seconds,
            durations.clone(),
        );
        let store_age = Family::default();
        registry.register_with_unit(
            "store_age",
            "How long ago the database of the prompts last answered",
            Unit::Seconds,
            store_age.clone(),
        );
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        registry.register_with_unit(
            "start_time",
            "When the server started, since 1970",
            Unit::Seconds,
            ConstGauge::new(now.as_secs_f64()),
        );
        let requests = register_metric(
            &mut registry,
            "requests",
            "Messages of clients, by method and outcome",
        );
        let responses =
            register_metric(&mut registry, "http_responses", "HTTP responses, by status");
        let event_streams = register_metric(
            &mut registry,
            "event_streams",
            "Event streams of notifications that are open",
        );
        let websockets = register_metric(&mut registry, "websockets", "WebSockets that are open");
        let connections = register_metric(
            &mut registry,
            "connections",
            "TCP connections that are open",
        );
        Metrics {
            registry,
            requests,
            durations,
            responses,
            event_streams,
            websockets,
            connections,
            store_age,
        }
    }

    /// Counts a message and records how long its answer took.
    pub(super) fn count_message(&self, message: &HandledMessage) {
        let method = ("method", message.method);
        let outcome = if message.is_error { "error" } else { "ok" };
        let labels = [
            ("transport", message.transport),
            method,
            ("outcome", outcome),
        ];
        self.requests.get_or_create(&labels).inc();
        self.durations
            .get_or_create(&[method])
            .observe(message.duration.as_secs_f64());
    }

    /// Counts an HTTP response.
    pub(super) fn count_response(&self, status: u16) {
        self.responses.get_or_create(&[("status", status)]).inc();
    }

    /// Returns all metrics as OpenMetrics text. The parameters are the metrics that are only
    /// measured when they are needed: how many event streams are open, and how long ago the
    /// database last answered, if it ever has.
    ///
    /// # Errors
    /// Fails only because of a bug in a metric.
    pub(super) fn encode(
        &self,
        open_event_streams: usize,
        store_age: Option<Duration>,
    ) -> Result<String, fmt::Error> {
        if let Some(age) = store_age {
            self.store_age.get_or_create(&[]).set(age.as_secs_f64());
        }
        self.event_streams.set(open_event_streams as i64);
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

/// Returns the label `method` of a message: its method, e.g. `prompts/get`, or `response`, `batch`,
/// or `other` for a method that the server doesn't have.
pub(super) fn method_label(message: &Message) -> &'static str {
    let method = match message {
        Message::Request(request) => &request.method,
        Message::Notification { method, .. } => method,
        Message::Response => "response",
        Message::Batch(_) => "batch",
    };
    method_names()
        .chain(EXTRA_METHOD_LABELS)
        .find(|label| *label == method)
        .unwrap_or("other")
}

/// Creates a metric and registers it with a name and a help text.
fn register_metric<M: Metric + Clone + Default>(
    registry: &mut Registry,
    name: &str,
    help: &str,
) -> M {
    let metric = M::default();
    registry.register(name, help, metric.clone());
    metric
}

/// Counts something as open, e.g. a connection, until the result is dropped.
pub(super) fn count_open(gauge: &Gauge) -> OpenCount {
    gauge.inc();
    OpenCount(gauge.clone())
}

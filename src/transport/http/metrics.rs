//! `/metrics`, in the text format of OpenMetrics, which Prometheus reads.
//!
//! Each label has few values, whatever clients send: a method that the server does not know counts
//! as `other`.

use crate::jsonrpc::Message;
use crate::server::methods;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry, Unit};
use std::fmt;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, SystemTime};

/// Further labels of messages, besides the methods.
const OTHERS: [&str; 4] = [
    "batch",
    "notifications/cancelled",
    "notifications/initialized",
    "response",
];

/// The upper bounds of the buckets of times, in seconds.
const BUCKETS: [f64; 12] = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5, 10.0,
];

/// The metrics of a process.
pub(super) struct Metrics {
    registry: Registry,
    requests: Family<Labels<3>, Counter>,
    times: Family<Labels<1>, Histogram, fn() -> Histogram>,
    responses: Family<Labels<1, u16>, Counter>,
    event_streams: Gauge,
    pub(super) websockets: Gauge,
    pub(super) connections: Gauge,
    /// Has no value before the store has answered, or without a store.
    store_age: Family<Labels<0>, Gauge<f64, AtomicU64>>,
}

/// Names of labels with their values.
type Labels<const N: usize, V = &'static str> = [(&'static str, V); N];

/// A message that the server has handled.
pub(super) struct HandledMessage {
    /// `http` or `websocket`.
    pub(super) transport: &'static str,
    /// The [`label`] of the message, or the name of a route.
    pub(super) method: &'static str,
    /// Whether the answer is an error. A notification has no answer, and no error.
    pub(super) is_error: bool,
    /// The time from the message to its answer.
    pub(super) duration: Duration,
}

/// Something that is open, and counted until this is dropped.
pub(super) struct Open(Gauge);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl Metrics {
    /// Registers all metrics, with their descriptions.
    pub(super) fn new() -> Metrics {
        let mut registry = Registry::with_prefix("prompt_expander");
        let times: Family<_, _, fn() -> Histogram> =
            Family::new_with_constructor(|| Histogram::new(BUCKETS));
        registry.register_with_unit(
            "request_duration",
            "The time from a message to its answer, without the network",
            Unit::Seconds,
            times.clone(),
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
        let requests = registered(
            &mut registry,
            "requests",
            "Messages of clients, by method and outcome",
        );
        let responses = registered(&mut registry, "http_responses", "HTTP responses, by status");
        let event_streams = registered(
            &mut registry,
            "event_streams",
            "Event streams of notifications that are open",
        );
        let websockets = registered(&mut registry, "websockets", "WebSockets that are open");
        let connections = registered(
            &mut registry,
            "connections",
            "TCP connections that are open",
        );
        Metrics {
            registry,
            requests,
            times,
            responses,
            event_streams,
            websockets,
            connections,
            store_age,
        }
    }

    /// Counts a message of a client, by transport, method and outcome, and the time of its answer.
    pub(super) fn count_message(&self, message: &HandledMessage) {
        let method = ("method", message.method);
        let outcome = if message.is_error { "error" } else { "ok" };
        let labels = [
            ("transport", message.transport),
            method,
            ("outcome", outcome),
        ];
        self.requests.get_or_create(&labels).inc();
        self.times
            .get_or_create(&[method])
            .observe(message.duration.as_secs_f64());
    }

    /// Counts an HTTP response with this status.
    pub(super) fn responded(&self, status: u16) {
        self.responses.get_or_create(&[("status", status)]).inc();
    }

    /// Returns all metrics, in the text format of OpenMetrics. `event_streams` streams are open,
    /// and the database of the prompts last answered `store_age` ago.
    ///
    /// # Errors
    /// The metrics cannot be written as text.
    pub(super) fn encode(
        &self,
        event_streams: usize,
        store_age: Option<Duration>,
    ) -> Result<String, fmt::Error> {
        if let Some(age) = store_age {
            self.store_age.get_or_create(&[]).set(age.as_secs_f64());
        }
        self.event_streams.set(event_streams as i64);
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

/// Returns the label of a message in metrics: its method, such as `prompts/get`, or `response`,
/// `batch`, or `other` for a method that the server does not know.
pub(super) fn label(message: &Message) -> &'static str {
    let method = match message {
        Message::Request(request) => &request.method,
        Message::Notification { method, .. } => method,
        Message::Response => "response",
        Message::Batch(_) => "batch",
    };
    methods()
        .chain(OTHERS)
        .find(|known| *known == method)
        .unwrap_or("other")
}

/// Returns a new metric, which is registered under this name. `help` is its description for
/// operators.
fn registered<M: Metric + Clone + Default>(registry: &mut Registry, name: &str, help: &str) -> M {
    let metric = M::default();
    registry.register(name, help, metric.clone());
    metric
}

/// Counts something that has opened, such as a connection, until the result is dropped.
pub(super) fn open(gauge: &Gauge) -> Open {
    gauge.inc();
    Open(gauge.clone())
}

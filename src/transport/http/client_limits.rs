//! How much each client may ask for, and all of them together.

use super::budget::{Budget, Reservation, too_busy};
use super::half_requests::HalfRequests;
use super::proxy::{Client, network};
use super::refusal::Refusal;
use crate::jsonrpc::{MAX_VALUES, Message, Request};
use crate::library::Caller;
use crate::lock::lock;
use crate::server;
use crate::wording::{format_size, or_list, quoted};
use axum::body::{Body, Bytes};
use axum::http::header::CONNECTION;
use axum::http::{HeaderValue, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Body as HttpBody;
use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

/// The longest body of a request, in bytes, if no other is given.
pub const MAX_BODY: usize = 32 * 1024 * 1024;

/// How many bytes of bodies and answers may be in memory.
const MAX_MEMORY: usize = 512 * 1024 * 1024;

/// How many bytes of memory a value of JSON may take with its name, besides texts.
const VALUE: usize = 256;

/// How many requests may be handled, or be waiting to be, at once.
const MAX_REQUESTS: usize = 1_000;

/// How long a client may take to send a body.
pub(super) const BODY_WITHIN: Duration = Duration::from_secs(30);

/// For how long a body that is too long is read, and dropped.
const DRAIN_WITHIN: Duration = Duration::from_secs(2);

/// How many callers a rate limit remembers; while there are more, the others share one limit.
const MAX_CALLERS: usize = 10_000;

/// A rate limit for each caller: `[METHOD=]N/minute[,burst=B]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateLimit {
    /// `None`: all messages together.
    method: Option<&'static str>,
    per_minute: NonZeroU32,
    /// How many messages may come at once after a pause.
    burst: NonZeroU32,
}

impl RateLimit {
    /// Returns a limit for all messages together, all of which may come at once.
    pub(super) fn of(per_minute: NonZeroU32) -> RateLimit {
        RateLimit {
            method: None,
            per_minute,
            burst: per_minute,
        }
    }
}

const RATE_FORM: &str = "it must be like `600/minute` or `prompts/list=30/minute,burst=5`";

impl FromStr for RateLimit {
    type Err = String;

    /// Parses a limit: `600/minute`, or `prompts/list=30/minute,burst=5` for one method. Without a
    /// burst, all messages of a minute may come at once.
    ///
    /// # Errors
    /// The form that the text must have, or the methods that exist.
    fn from_str(text: &str) -> Result<RateLimit, String> {
        let (method_and_rate, burst) = match text.split_once(",burst=") {
            Some((before, burst)) => (before, Some(burst)),
            None => (text, None),
        };
        let (method, rate) = match method_and_rate.split_once('=') {
            Some((method, rate)) => (Some(known_method(method)?), rate),
            None => (None, method_and_rate),
        };
        let Some(number) = rate.strip_suffix("/minute") else {
            return Err(RATE_FORM.to_owned());
        };
        let per_minute = parse_rate(number)?;
        let burst = match burst {
            Some(number) => parse_rate(number)?,
            None => per_minute,
        };
        Ok(RateLimit {
            method,
            per_minute,
            burst,
        })
    }
}

/// Parses a number of messages, which is at least 1.
fn parse_rate(number: &str) -> Result<NonZeroU32, String> {
    number.parse().map_err(|_| RATE_FORM.to_owned())
}

/// Returns the method of MCP with this name.
///
/// # Errors
/// The method does not exist; the error names those that do.
fn known_method(name: &str) -> Result<&'static str, String> {
    match server::methods().find(|known| *known == name) {
        Some(method) => Ok(method),
        None => {
            let known = or_list(&server::methods().collect::<Vec<_>>());
            Err(format!("no method {}; use {known}", quoted(name)))
        }
    }
}

/// Parses a number of bytes: `1048576`, or with a unit, `1024KiB`, `1MiB` or `1GiB`.
///
/// # Errors
/// The text is not a number of bytes, or is zero.
pub fn parse_bytes(text: &str) -> Result<usize, String> {
    let mut number = text;
    let mut factor = 1_usize;
    for (unit, bytes) in [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)] {
        if let Some(before) = text.strip_suffix(unit) {
            number = before.trim_end();
            factor = bytes;
        }
    }
    if let Ok(number) = number.parse::<usize>()
        && let Some(bytes) = number.checked_mul(factor)
        && bytes > 0
    {
        return Ok(bytes);
    }
    Err("it must be a number of bytes such as `1048576` or `1MiB`".to_owned())
}

/// The key of all callers beyond [`MAX_CALLERS`].
const OTHERS: u128 = u128::MAX;

/// Returns the key by which limits know a caller: their token, or else their network.
pub(super) fn key_of(caller: &Caller, address: IpAddr) -> u128 {
    match &caller.token {
        Some(token) => u128::from_be_bytes(token.id),
        None => network(address),
    }
}

/// Stands for the method of a message that has none, such as one that is not JSON.
pub(super) const NO_METHOD: &str = "";

/// Returns the methods of a message; of a batch, the method of each message in it.
pub(super) fn methods(message: &Message) -> Vec<&str> {
    match message {
        Message::Request(Request { method, .. }) | Message::Notification { method, .. } => {
            vec![method]
        }
        Message::Response => vec![NO_METHOD],
        Message::Batch(messages) => messages
            .iter()
            .map(|message| message["method"].as_str().unwrap_or(NO_METHOD))
            .collect(),
    }
}

/// The rate limits of all callers.
#[derive(Debug)]
pub struct RateLimits(Vec<Limiter>);

/// One rate limit, and what it has to know about each caller.
#[derive(Debug)]
pub(super) struct Limiter {
    limit: RateLimit,
    ends: Mutex<Ends>,
}

/// For each caller, the time at which its messages would end if they had come at the rate of the
/// limit: the theoretical arrival time of the generic cell rate algorithm (GCRA).
#[derive(Debug, Default)]
struct Ends(HashMap<u128, Instant>);

impl RateLimits {
    /// Returns rate limits for callers who have sent nothing yet.
    pub fn new(limits: Vec<RateLimit>) -> RateLimits {
        RateLimits(limits.into_iter().map(Limiter::new).collect())
    }

    /// Forgets the callers who have sent nothing for long. Call this each second.
    pub(super) fn forget(&self) {
        for limiter in &self.0 {
            limiter.forget();
        }
    }

    /// Counts messages of a caller with these methods. If a limit refuses them, no limit counts any
    /// of them. All limits that apply stay locked meanwhile, so that two calls cannot use the same
    /// rest of a limit.
    ///
    /// # Errors
    /// 429: the caller has sent more than a limit allows. None of the messages may be answered.
    pub(super) fn take(&self, caller: u128, methods: &[&str]) -> Result<(), Refusal> {
        let now = Instant::now();
        let mut allowed = Vec::new();
        let mut strictest: Option<(Duration, &RateLimit)> = None;
        for limiter in &self.0 {
            let limit = &limiter.limit;
            let messages = limit.count(methods);
            if messages == 0 {
                continue;
            }
            let ends = lock(&limiter.ends);
            let wait = limit.wait(ends.of(caller, now), messages, now);
            if wait.is_zero() {
                allowed.push((ends, limit, messages));
            } else if strictest.is_none_or(|(longest, _)| wait > longest) {
                strictest = Some((wait, limit));
            }
        }
        if let Some((wait, limit)) = strictest {
            return Err(limit.refusal(wait));
        }
        for (mut ends, limit, messages) in allowed {
            ends.add(caller, limit.time_of(messages), now);
        }
        Ok(())
    }
}

impl RateLimit {
    /// Returns how many messages with these methods the limit counts.
    fn count(&self, methods: &[&str]) -> u32 {
        let count = match self.method {
            Some(own) => methods.iter().filter(|method| **method == own).count(),
            None => methods.len(),
        };
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// Returns the time that a number of messages takes at the rate of the limit.
    fn time_of(&self, messages: u32) -> Duration {
        Duration::from_secs(60) / self.per_minute.get() * messages
    }

    /// Returns how long to wait before a number of messages is allowed. `end` is the time at which
    /// the earlier messages would end.
    ///
    /// For example, at 60 a minute and a burst of 5, a message takes 1 s, and the messages may end
    /// 5 s from now. If the earlier ones end in 5 s, one more message would end in 6 s, so it waits
    /// 1 s.
    ///
    /// More messages than the burst are allowed after a pause that would allow the whole burst.
    /// They are counted in full, so that the caller keeps to the rate.
    fn wait(&self, end: Instant, messages: u32, now: Instant) -> Duration {
        let burst = self.burst.get();
        let end = end + self.time_of(messages.min(burst));
        end.saturating_duration_since(now + self.time_of(burst))
    }

    /// Returns the refusal of messages that are allowed after a wait.
    fn refusal(&self, wait: Duration) -> Refusal {
        let seconds = rounded_up(wait);
        let messages = match self.method {
            Some(method) => format!("more messages of {}", quoted(method)),
            None => "more messages".to_owned(),
        };
        let message = format!(
            "{messages} than the limit of {} a minute, {} at once: try again in {seconds} s",
            self.per_minute, self.burst
        );
        Refusal::new(StatusCode::TOO_MANY_REQUESTS, message).with_retry_after(seconds)
    }
}

impl Ends {
    /// Returns the time at which the messages of a caller would end, or now if they have ended.
    fn of(&self, caller: u128, now: Instant) -> Instant {
        match self.0.get(&self.key(caller)) {
            Some(end) => now.max(*end),
            None => now,
        }
    }

    /// Adds messages of a caller, which take `time` at the rate of the limit.
    fn add(&mut self, caller: u128, time: Duration, now: Instant) {
        let end = self.of(caller, now) + time;
        self.0.insert(self.key(caller), end);
    }

    /// Returns the key of a caller, or the common key [`OTHERS`] if too many callers are
    /// remembered.
    fn key(&self, caller: u128) -> u128 {
        if self.0.len() < MAX_CALLERS || self.0.contains_key(&caller) {
            caller
        } else {
            OTHERS
        }
    }
}

/// Returns a wait in whole seconds, for `Retry-After`: 1.2 s → 2.
fn rounded_up(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}

impl Limiter {
    /// Returns the limiter for a limit. No caller has sent anything yet.
    pub(super) fn new(limit: RateLimit) -> Limiter {
        Limiter {
            limit,
            ends: Mutex::default(),
        }
    }

    /// Counts one message, if it is allowed.
    ///
    /// # Errors
    /// The number of seconds to wait.
    pub(super) fn take(&self, caller: u128) -> Result<(), u64> {
        self.check(caller)?;
        lock(&self.ends).add(caller, self.limit.time_of(1), Instant::now());
        Ok(())
    }

    /// Checks that one message is allowed, and does not count it.
    ///
    /// # Errors
    /// The number of seconds to wait.
    pub(super) fn check(&self, caller: u128) -> Result<(), u64> {
        let now = Instant::now();
        let end = lock(&self.ends).of(caller, now);
        let wait = self.limit.wait(end, 1, now);
        if wait.is_zero() {
            Ok(())
        } else {
            Err(rounded_up(wait))
        }
    }

    /// Forgets the callers who have sent nothing for long.
    pub(super) fn forget(&self) {
        let now = Instant::now();
        lock(&self.ends).0.retain(|_, end| *end > now);
    }
}

/// How many requests there may be at once, and how much memory they may take together.
#[derive(Debug)]
pub(super) struct Requests {
    /// A permit for each request that may still come before others are answered.
    pub(super) free: Semaphore,
    /// The memory for bodies and answers.
    pub(super) memory: Budget,
    /// The connections whose request is not complete.
    pub(super) half: Arc<HalfRequests>,
    /// The longest body, in bytes.
    pub(super) max_body: usize,
}

/// The whole body of a request. Until this is dropped, it counts as a request that is handled, and
/// as bytes in memory.
pub(super) struct ReceivedBody<'r> {
    pub(super) bytes: Bytes,
    reservation: Reservation,
    _request: SemaphorePermit<'r>,
}

impl Requests {
    /// Returns the counts of a server that has no request yet. `max_body` is the longest body, in
    /// bytes.
    pub(super) fn new(max_body: usize) -> Requests {
        Requests {
            free: Semaphore::new(MAX_REQUESTS),
            memory: Budget::new(MAX_MEMORY.max(max_body)),
            half: Arc::default(),
            max_body,
        }
    }

    /// Reads the body of a request.
    ///
    /// # Errors
    /// 400, 408, 413: the body is too long, does not come in time, or cannot be read. 503: there
    /// are too many requests, or bytes in memory.
    pub(super) async fn read(
        &self,
        client: &Client,
        body: Body,
    ) -> Result<ReceivedBody<'_>, Refusal> {
        // This is the header Content-Length, if there is one.
        let announced = body.size_hint().lower();
        if announced > self.max_body as u64 {
            drain(body).await;
            return Err(self.too_long());
        }
        let mut reservation = self.memory.empty_reservation();
        let half_request = client.half_request(&self.half);
        let Ok(collected) = timeout(BODY_WITHIN, self.collect(body, &mut reservation)).await else {
            let seconds = BODY_WITHIN.as_secs();
            let message = format!("the body was not sent within {seconds} seconds");
            return Err(closing(StatusCode::REQUEST_TIMEOUT, message));
        };
        let bytes = collected?;
        client.peer.request_is_complete();
        drop(half_request);
        // Not before: a client that sends its body slowly takes nothing from others.
        let request = self.free.try_acquire().map_err(|_| too_busy())?;
        Ok(ReceivedBody {
            bytes,
            reservation,
            _request: request,
        })
    }

    /// Reads all of a body, and reserves memory for the bytes that have come.
    ///
    /// # Errors
    /// 400: the body is incomplete. 413: it is too long. 503: too many bytes are in memory.
    async fn collect(
        &self,
        mut body: Body,
        reservation: &mut Reservation,
    ) -> Result<Bytes, Refusal> {
        let mut bytes = Vec::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| {
                let message = format!("the body is incomplete: {error}");
                closing(StatusCode::BAD_REQUEST, message)
            })?;
            let Ok(data) = frame.into_data() else {
                continue;
            };
            if bytes.len() + data.len() > self.max_body {
                return Err(self.too_long());
            }
            // A frame keeps all that was read with it in memory, so it is copied.
            bytes.extend_from_slice(&data);
            reservation
                .set(bytes.capacity())
                .map_err(|refusal| refusal.with_header(CONNECTION, CLOSE))?;
        }
        Ok(bytes.into())
    }

    /// Returns the refusal of a body that is too long.
    fn too_long(&self) -> Refusal {
        let max = format_size(self.max_body);
        let message = format!(
            "the body is longer than {max}; shorten it, or ask the operator of the server to allow more (max-body)"
        );
        closing(StatusCode::PAYLOAD_TOO_LARGE, message)
    }
}

/// Reads a body that is too long, for a while. A client that sends all of its body before it reads
/// would otherwise see a broken connection instead of the refusal.
async fn drain(mut body: Body) {
    let read_all = async { while let Some(Ok(_)) = body.frame().await {} };
    // After that time, the client gets the refusal in any case.
    let _ = timeout(DRAIN_WITHIN, read_all).await;
}

impl ReceivedBody<'_> {
    /// Reserves further memory for the values of the message in the body.
    ///
    /// # Errors
    /// 503: too many bytes are in memory.
    pub(super) fn count_values(&mut self) -> Result<(), Refusal> {
        self.reservation
            .set(self.reservation.bytes() + bytes_of_values(&self.bytes))
    }
}

/// Returns how many bytes of memory the values of a message may take, besides texts. They are
/// counted by the characters before them: `{"a":[1,2]}` has 4 at most.
pub(super) fn bytes_of_values(json: &[u8]) -> usize {
    let mut values = 1;
    for byte in json {
        // Each value but the first follows one of these.
        if matches!(byte, b'{' | b'[' | b',') {
            values += 1;
        }
    }
    MAX_VALUES.min(values) * VALUE
}

const CLOSE: HeaderValue = HeaderValue::from_static("close");

/// Returns a refusal after which the connection ends, because its body was not read to the end.
fn closing(status: StatusCode, message: String) -> Refusal {
    Refusal::new(status, message).with_header(CONNECTION, CLOSE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::Token;

    fn limits(texts: &[&str]) -> RateLimits {
        RateLimits::new(texts.iter().map(|text| text.parse().unwrap()).collect())
    }

    fn of_token(id: u8) -> Caller {
        Caller {
            token: Some(Token {
                id: [id; 16],
                name: "x".into(),
            }),
            ..Caller::local()
        }
    }

    fn batch(method: &str, messages: usize) -> Message {
        Message::Batch(vec![
            serde_json::json!({"jsonrpc": "2.0", "method": method});
            messages
        ])
    }

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    #[test]
    fn an_invalid_rate_limit_is_refused_with_an_example() {
        let limit: RateLimit = "prompts/list=30/minute,burst=5".parse().unwrap();
        assert_eq!(
            (limit.method, limit.per_minute.get(), limit.burst.get()),
            (Some("prompts/list"), 30, 5)
        );
        let limit: RateLimit = "600/minute".parse().unwrap();
        assert_eq!(
            (limit.method, limit.per_minute.get(), limit.burst.get()),
            (None, 600, 600)
        );
        for text in [
            "",
            "600",
            "0/minute",
            "-1/minute",
            "600/hour",
            "600/minute,burst=0",
            "600/minute,",
            "5000000000/minute",
        ] {
            assert!(
                text.parse::<RateLimit>()
                    .unwrap_err()
                    .contains("`600/minute`"),
                "{text}"
            );
        }
        let unknown = "prompts/lists=30/minute".parse::<RateLimit>().unwrap_err();
        assert!(
            unknown.contains("`prompts/lists`") && unknown.contains("`prompts/list`, "),
            "{unknown}"
        );
    }

    #[test]
    fn each_token_or_else_each_address_has_a_limit_of_its_own() {
        let limits = limits(&["60/minute,burst=2"]);
        let take = |caller: &Caller, address| limits.take(key_of(caller, address), &["ping"]);
        for caller in [of_token(1), of_token(2), Caller::local()] {
            take(&caller, HERE).unwrap();
            take(&caller, HERE).unwrap();
            let refusal = take(&caller, HERE).unwrap_err();
            assert_eq!(refusal.status, 429);
            assert_eq!(refusal.headers["retry-after"], "1");
            assert!(
                refusal.message.ends_with("try again in 1 s"),
                "{}",
                refusal.message
            );
        }
        assert!(take(&of_token(1), "192.0.2.1".parse().unwrap()).is_err());
        take(&Caller::local(), "192.0.2.1".parse().unwrap()).unwrap();
    }

    #[test]
    fn all_addresses_of_one_ipv6_network_share_a_limit() {
        let limits = limits(&["60/minute,burst=2"]);
        let take = |address: &str| limits.take(network(address.parse().unwrap()), &["ping"]);
        take("2001:db8::1").unwrap();
        take("2001:db8::ffff:1").unwrap();
        assert!(take("2001:db8::2").is_err());
        take("2001:db8:0:1::1").unwrap();
        take("::ffff:192.0.2.1").unwrap();
        take("192.0.2.1").unwrap();
        assert!(take("192.0.2.1").is_err());
    }

    /// Takes a batch; returns after how many seconds to try again, or 0 if it is allowed.
    fn wait_for(limits: &RateLimits, method: &str, messages: usize) -> u64 {
        let Err(refusal) = limits.take(1, &methods(&batch(method, messages))) else {
            return 0;
        };
        assert_eq!(refusal.status, 429);
        let seconds = refusal.headers["retry-after"].to_str().unwrap().to_owned();
        assert!(refusal.message.ends_with(&format!(" in {seconds} s")));
        seconds.parse().unwrap()
    }

    #[test]
    fn each_message_of_a_batch_counts_for_its_method_and_for_all() {
        let limits = limits(&["ping=1/minute,burst=2", "10/minute"]);
        assert_eq!(wait_for(&limits, "ping", 2), 0);
        assert_eq!(wait_for(&limits, "ping", 1), 60);
        assert_eq!(wait_for(&limits, "tools/list", 8), 0);
        assert_eq!(wait_for(&limits, "tools/list", 1), 6);
    }

    #[test]
    fn what_one_limit_refuses_counts_for_none() {
        let limits = limits(&["10/minute", "ping=1/minute,burst=1"]);
        assert_eq!(wait_for(&limits, "ping", 1), 0);
        for _ in 0..20 {
            assert_eq!(wait_for(&limits, "ping", 1), 60);
        }
        assert_eq!(wait_for(&limits, "tools/list", 9), 0);
    }

    #[test]
    fn the_wait_is_that_of_the_strictest_limit() {
        let limits = limits(&["60/minute,burst=1", "ping=1/minute,burst=1"]);
        assert_eq!(wait_for(&limits, "ping", 1), 0);
        assert_eq!(wait_for(&limits, "ping", 1), 60);
    }

    #[test]
    fn a_batch_longer_than_the_burst_is_allowed_after_a_pause_and_counts_in_full() {
        let limits = limits(&["60/minute,burst=2"]);
        assert_eq!(wait_for(&limits, "ping", 5), 0);
        // The five take 5 s, and one more is allowed 1 s before they end.
        assert_eq!(wait_for(&limits, "ping", 1), 4);
        assert_eq!(wait_for(&limits, "ping", 5), 5);
    }

    #[test]
    fn very_many_addresses_take_little_memory() {
        let limits = limits(&["1/minute"]);
        for number in 0..MAX_CALLERS as u32 + 100 {
            let _ = limits.take(u128::from(number), &["ping"]);
        }
        limits.forget();
        assert_eq!(lock(&limits.0[0].ends).0.len(), MAX_CALLERS + 1);
    }

    #[test]
    fn a_number_of_bytes_may_have_a_unit() {
        for (text, bytes) in [
            ("1", 1),
            ("33554432", MAX_BODY),
            ("32MiB", MAX_BODY),
            ("4 KiB", 4096),
            ("1GiB", 1 << 30),
        ] {
            assert_eq!(parse_bytes(text), Ok(bytes));
        }
        for text in ["", "0", "-1", "1MB", "MiB", "1.5GiB", "99999999999999GiB"] {
            assert!(parse_bytes(text).is_err(), "{text}");
        }
    }
}

//! Limits for clients: rate limits for each caller, and how many requests and bytes all of them
//! together may have in progress.

use super::budget::{Budget, Reservation, too_busy};
use super::incomplete_requests::IncompleteRequests;
use super::proxy::{Client, network_key};
use super::refusal::Refusal;
use crate::jsonrpc::{MAX_VALUES, Message, Request};
use crate::library::Caller;
use crate::lock::lock;
use crate::server;
use crate::wording::{format_size, or_list, quoted};
use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use http_body_util::BodyExt;
use hyper::body::Body as HttpBody;
use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

/// The default for the maximum length of a request body.
pub const DEFAULT_MAX_BODY_BYTES: usize = 32 * 1024 * 1024;

/// How many bytes of request bodies and answers may be in memory. If the maximum body is longer,
/// the limit is raised to that.
const MAX_MEMORY_BYTES: usize = 512 * 1024 * 1024;

/// The memory that one parsed JSON value and its key can take, besides the text of strings.
const MAX_BYTES_PER_VALUE: usize = 256;

/// How many requests may be queued or running at the same time.
const MAX_REQUESTS: usize = 1_000;

/// How long a client may take to send a request body or a WebSocket message.
pub(super) const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// How many callers a rate limit tracks separately. Further callers share one limit.
const MAX_TRACKED_CALLERS: usize = 10_000;

/// A rate limit that applies to each caller: `[METHOD=]N/minute[,burst=B]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateLimit {
    /// The only method that counts. If it is `None`, all messages count.
    method: Option<&'static str>,
    per_minute: NonZeroU32,
    /// How many messages a caller may send at once after a pause.
    burst: NonZeroU32,
}

impl RateLimit {
    /// Returns a limit for messages of any method. A minute's worth of them may come at once.
    pub(super) fn for_all_messages(per_minute: NonZeroU32) -> RateLimit {
        RateLimit {
            method: None,
            per_minute,
            burst: per_minute,
        }
    }
}

const RATE_SYNTAX: &str = "it must be like `600/minute` or `prompts/list=30/minute,burst=5`";

impl FromStr for RateLimit {
    type Err = String;

    /// Parses a limit for all messages, `600/minute`, or for one method,
    /// `prompts/list=30/minute,burst=5`. The burst defaults to the messages of a minute.
    ///
    /// # Errors
    /// Fails if the syntax is invalid or the method is unknown. The error shows the syntax or lists
    /// the methods.
    fn from_str(text: &str) -> Result<RateLimit, String> {
        let (method_and_rate, burst) = match text.split_once(",burst=") {
            Some((method_and_rate, burst)) => (method_and_rate, Some(burst)),
            None => (text, None),
        };
        let (method, rate) = match method_and_rate.split_once('=') {
            Some((method, rate)) => (Some(known_method(method)?), rate),
            None => (None, method_and_rate),
        };
        let Some(per_minute) = rate.strip_suffix("/minute") else {
            return Err(RATE_SYNTAX.to_owned());
        };
        let per_minute = parse_message_count(per_minute)?;
        let burst = match burst {
            Some(burst) => parse_message_count(burst)?,
            None => per_minute,
        };
        Ok(RateLimit {
            method,
            per_minute,
            burst,
        })
    }
}

fn parse_message_count(number: &str) -> Result<NonZeroU32, String> {
    number.parse().map_err(|_| RATE_SYNTAX.to_owned())
}

/// Returns the static name of an MCP method.
///
/// # Errors
/// Fails if the server has no such method. The error lists those that it has.
fn known_method(name: &str) -> Result<&'static str, String> {
    match server::method_names().find(|method| *method == name) {
        Some(method) => Ok(method),
        None => {
            let methods = or_list(&server::method_names().collect::<Vec<_>>());
            Err(format!("no method {}; use {methods}", quoted(name)))
        }
    }
}

/// Parses a size in bytes, with an optional unit: `1048576`, `1024KiB`, `1 MiB` or `1GiB`.
///
/// # Errors
/// Fails if the text is not a size, or if the size is zero or doesn't fit into a `usize`.
pub fn parse_bytes(text: &str) -> Result<usize, String> {
    let mut number = text;
    let mut bytes_per_unit = 1_usize;
    for (unit, bytes) in [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)] {
        if let Some(before_unit) = text.strip_suffix(unit) {
            number = before_unit.trim_end();
            bytes_per_unit = bytes;
        }
    }
    if let Ok(number) = number.parse::<usize>()
        && let Some(bytes) = number.checked_mul(bytes_per_unit)
        && bytes > 0
    {
        return Ok(bytes);
    }
    Err("it must be a number of bytes such as `1048576` or `1MiB`".to_owned())
}

/// The key that callers share once [`MAX_TRACKED_CALLERS`] are tracked.
const SHARED_KEY: u128 = u128::MAX;

/// Returns the key under which limits track a caller: the id of its token, or its network if it has
/// no token.
pub(super) fn caller_key(caller: &Caller, address: IpAddr) -> u128 {
    match &caller.token {
        Some(token) => u128::from_be_bytes(token.id),
        None => network_key(address),
    }
}

/// Stands in for the method of a message that has none, e.g. because it isn't valid JSON. Only
/// limits for all messages count it.
pub(super) const NO_METHOD: &str = "";

/// Returns the method of a message, or the methods of all messages in a batch.
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

/// The rate limits of the server. A message must satisfy all that apply to its method.
#[derive(Debug)]
pub struct RateLimits(Vec<Limiter>);

/// A rate limit and its state for each caller.
#[derive(Debug)]
pub(super) struct Limiter {
    limit: RateLimit,
    arrival_times: Mutex<ArrivalTimes>,
}

/// The theoretical arrival time (TAT) of each caller's next message, as in the generic cell rate
/// algorithm (GCRA): when it would arrive if the caller had sent all messages at exactly the
/// limit's rate. The further it lies in the future, the more of its burst the caller has used up.
#[derive(Debug, Default)]
struct ArrivalTimes(HashMap<u128, Instant>);

impl RateLimits {
    /// Starts with no messages counted.
    pub fn new(limits: Vec<RateLimit>) -> RateLimits {
        RateLimits(limits.into_iter().map(Limiter::new).collect())
    }

    /// Forgets callers who have their full burst again. Call this every second.
    pub(super) fn forget_idle_callers(&self) {
        for limiter in &self.0 {
            limiter.forget_idle_callers();
        }
    }

    /// Counts a caller's messages, given their methods, unless that would exceed a limit. Counts
    /// either all of the messages or none.
    ///
    /// # Errors
    /// Fails with 429 if a limit would be exceeded. None of the messages may be handled then.
    pub(super) fn try_consume(&self, caller_key: u128, methods: &[&str]) -> Result<(), Refusal> {
        let now = Instant::now();
        // Each check keeps its limit locked until the messages are counted. Otherwise two threads
        // could both pass the check and use the same part of the limit. All threads lock the
        // limits in the same order, so none waits for another forever.
        let mut checks = Vec::new();
        for limiter in &self.0 {
            let message_count = limiter.limit.count_matching(methods);
            if message_count > 0 {
                checks.push(limiter.check_messages(caller_key, message_count, now));
            }
        }
        if let Some(exceeded) = most_exceeded(&checks) {
            return Err(exceeded.limit.refusal(exceeded.wait));
        }
        for mut check in checks {
            let time = check.limit.time_for(check.message_count);
            check.arrival_times.advance(caller_key, time, now);
        }
        Ok(())
    }
}

/// The check of a rate limit for the messages that it counts.
struct LimitCheck<'l> {
    limit: &'l RateLimit,
    /// Locks the limit until the check is dropped.
    arrival_times: MutexGuard<'l, ArrivalTimes>,
    message_count: u32,
    /// How long the caller has to wait before it may send the messages.
    wait: Duration,
}

/// Returns the check with the longest wait, or `None` if the messages exceed no limit.
fn most_exceeded<'c, 'l>(checks: &'c [LimitCheck<'l>]) -> Option<&'c LimitCheck<'l>> {
    let mut longest_wait = Duration::ZERO;
    let mut most_exceeded = None;
    for check in checks {
        if check.wait > longest_wait {
            longest_wait = check.wait;
            most_exceeded = Some(check);
        }
    }
    most_exceeded
}

impl RateLimit {
    /// Returns how many of the messages with these methods count.
    fn count_matching(&self, methods: &[&str]) -> u32 {
        let count = match self.method {
            Some(limited) => methods.iter().filter(|method| **method == limited).count(),
            None => methods.len(),
        };
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// Returns how long it takes to send this many messages at the limit's rate.
    fn time_for(&self, message_count: u32) -> Duration {
        Duration::from_secs(60) / self.per_minute.get() * message_count
    }

    /// Returns how long a caller has to wait before it may send this many messages. `time_ahead` is
    /// how far its arrival time already lies in the future.
    ///
    /// The new messages must not move the caller's arrival time further than one burst into the
    /// future. For example, with 60 a minute and a burst of 5, each message takes 1 s. If the
    /// arrival time is 5 s ahead, one more message would make it 6 s, so the wait is 1 s.
    ///
    /// A batch longer than the burst only has to wait for the full burst, or it could never be
    /// sent. It moves the arrival time by its full length nevertheless, so the rate is kept.
    fn wait(&self, time_ahead: Duration, message_count: u32) -> Duration {
        let burst = self.burst.get();
        let time_ahead_after = time_ahead + self.time_for(message_count.min(burst));
        time_ahead_after.saturating_sub(self.time_for(burst))
    }

    /// Returns the 429 refusal for a caller that has to wait this long.
    fn refusal(&self, wait: Duration) -> Refusal {
        let RetryAfter { seconds } = RetryAfter::new(wait);
        let what = match self.method {
            Some(method) => format!("{} messages", quoted(method)),
            None => "messages".to_owned(),
        };
        let message = format!(
            "too many {what}: the limit is {} a minute and {} at once; try again in {seconds} s",
            self.per_minute, self.burst
        );
        Refusal::new(StatusCode::TOO_MANY_REQUESTS, message).with_retry_after_seconds(seconds)
    }
}

impl ArrivalTimes {
    /// Returns how far a caller's arrival time lies in the future. This is zero if it is in the
    /// past or the caller is not tracked.
    fn time_ahead(&self, caller_key: u128, now: Instant) -> Duration {
        match self.0.get(&self.tracked_key(caller_key)) {
            Some(arrival_time) => arrival_time.saturating_duration_since(now),
            None => Duration::ZERO,
        }
    }

    /// Moves a caller's arrival time further into the future: by `time`, from `now` if it is in the
    /// past.
    fn advance(&mut self, caller_key: u128, time: Duration, now: Instant) {
        let arrival_time = now + self.time_ahead(caller_key, now) + time;
        self.0.insert(self.tracked_key(caller_key), arrival_time);
    }

    /// Returns the caller's own key, or [`SHARED_KEY`] if the caller is new and too many callers
    /// are tracked already.
    fn tracked_key(&self, caller_key: u128) -> u128 {
        if self.0.len() < MAX_TRACKED_CALLERS || self.0.contains_key(&caller_key) {
            caller_key
        } else {
            SHARED_KEY
        }
    }
}

/// When a caller that has exceeded a limit may try again.
#[derive(Debug, Clone, Copy)]
pub(super) struct RetryAfter {
    /// The time to wait, in whole seconds.
    pub(super) seconds: u64,
}

impl RetryAfter {
    /// Rounds up, e.g. 1.2 s to 2, so that a client that waits this long isn't early.
    fn new(wait: Duration) -> RetryAfter {
        RetryAfter {
            seconds: wait.as_secs() + u64::from(wait.subsec_nanos() > 0),
        }
    }
}

/// The message count of a [`Limiter`] that counts messages one by one.
const ONE_MESSAGE: u32 = 1;

impl Limiter {
    pub(super) fn new(limit: RateLimit) -> Limiter {
        Limiter {
            limit,
            arrival_times: Mutex::default(),
        }
    }

    /// Checks how long a caller has to wait before it may send this many messages. Counts nothing.
    fn check_messages(&self, caller_key: u128, message_count: u32, now: Instant) -> LimitCheck<'_> {
        let arrival_times = lock(&self.arrival_times);
        let time_ahead = arrival_times.time_ahead(caller_key, now);
        LimitCheck {
            limit: &self.limit,
            arrival_times,
            message_count,
            wait: self.limit.wait(time_ahead, message_count),
        }
    }

    /// Counts one message, unless that would exceed the limit.
    ///
    /// # Errors
    /// Fails if the limit would be exceeded. The error says when to try again.
    pub(super) fn try_consume(&self, caller_key: u128) -> Result<(), RetryAfter> {
        let now = Instant::now();
        // Stays locked from the check to the count, so that no other thread counts in between.
        let mut arrival_times = lock(&self.arrival_times);
        self.check_one_message(arrival_times.time_ahead(caller_key, now))?;
        arrival_times.advance(caller_key, self.limit.time_for(ONE_MESSAGE), now);
        Ok(())
    }

    /// Checks whether [`try_consume`](Self::try_consume) would succeed, but counts nothing.
    ///
    /// # Errors
    /// Fails if the limit would be exceeded. The error says when to try again.
    pub(super) fn check(&self, caller_key: u128) -> Result<(), RetryAfter> {
        let time_ahead = lock(&self.arrival_times).time_ahead(caller_key, Instant::now());
        self.check_one_message(time_ahead)
    }

    /// Checks whether a caller whose arrival time lies this far in the future may send a message.
    fn check_one_message(&self, time_ahead: Duration) -> Result<(), RetryAfter> {
        let wait = self.limit.wait(time_ahead, ONE_MESSAGE);
        if wait.is_zero() {
            Ok(())
        } else {
            Err(RetryAfter::new(wait))
        }
    }

    /// Forgets callers who have their full burst again.
    pub(super) fn forget_idle_callers(&self) {
        let now = Instant::now();
        let mut arrival_times = lock(&self.arrival_times);
        arrival_times
            .0
            .retain(|_, arrival_time| *arrival_time > now);
    }
}

/// Limits for the requests of all clients together.
#[derive(Debug)]
pub(super) struct RequestLimits {
    /// One permit for each request that may still be accepted.
    pub(super) permits: Semaphore,
    /// The memory for request bodies and answers.
    pub(super) memory: Budget,
    /// The connections whose request hasn't arrived completely.
    pub(super) incomplete: Arc<IncompleteRequests>,
    pub(super) max_body_bytes: usize,
}

/// A request body. Until it is dropped, its request holds a permit and its bytes are reserved.
pub(super) struct ReceivedBody<'r> {
    pub(super) bytes: Bytes,
    reservation: Reservation,
    _permit: SemaphorePermit<'r>,
}

impl RequestLimits {
    pub(super) fn new(max_body_bytes: usize) -> RequestLimits {
        RequestLimits {
            permits: Semaphore::new(MAX_REQUESTS),
            memory: Budget::new(MAX_MEMORY_BYTES.max(max_body_bytes)),
            incomplete: Arc::default(),
            max_body_bytes,
        }
    }

    /// Reads the body of a request, then takes a permit for the request.
    ///
    /// # Errors
    /// Fails with 400 if the body is incomplete, 408 if it doesn't arrive in time, 413 if it is too
    /// long, and 503 if the server has too many requests or too little memory.
    pub(super) async fn read_body(
        &self,
        client: &Client,
        body: Body,
    ) -> Result<ReceivedBody<'_>, Refusal> {
        let content_length = body.size_hint().lower(); // 0 if there is no such header
        if content_length > self.max_body_bytes as u64 {
            return Err(self.body_too_long());
        }
        let mut reservation = self.memory.empty_reservation();
        let incomplete_request = client.track_incomplete_request(&self.incomplete);
        let collected = timeout(BODY_TIMEOUT, self.collect(body, &mut reservation)).await;
        let Ok(collected) = collected else {
            let seconds = BODY_TIMEOUT.as_secs();
            let message = format!("the body was not sent within {seconds} seconds");
            return Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, message));
        };
        let bytes = collected?;
        // The request is complete: its connection may no longer be closed to make room for others.
        client.peer.complete_request();
        drop(incomplete_request);
        // Take the permit only now: a client that sends its body slowly must not hold one.
        let permit = self.permits.try_acquire().map_err(|_| too_busy())?;
        Ok(ReceivedBody {
            bytes,
            reservation,
            _permit: permit,
        })
    }

    /// Reads a body to its end. The reservation grows with the bytes that have arrived.
    ///
    /// # Errors
    /// Fails with 400 if the body is incomplete, 413 if it is too long, and 503 if the server has
    /// too little memory.
    async fn collect(
        &self,
        mut body: Body,
        reservation: &mut Reservation,
    ) -> Result<Bytes, Refusal> {
        let mut bytes = Vec::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| {
                let message = format!("the body is incomplete: {error}");
                Refusal::new(StatusCode::BAD_REQUEST, message)
            })?;
            let Ok(data) = frame.into_data() else {
                continue; // trailers
            };
            if bytes.len() + data.len() > self.max_body_bytes {
                return Err(self.body_too_long());
            }
            // Copy the data: a frame keeps the whole read buffer that it is part of in memory.
            bytes.extend_from_slice(&data);
            reservation.resize(bytes.capacity())?;
        }
        Ok(bytes.into())
    }

    fn body_too_long(&self) -> Refusal {
        let max = format_size(self.max_body_bytes);
        let message = format!(
            "the body is longer than {max}; shorten it, or ask the operator of the server to allow more (max-body)"
        );
        Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, message)
    }
}

impl ReceivedBody<'_> {
    /// Reserves additional memory for the JSON values that will be parsed from the body.
    ///
    /// # Errors
    /// Fails with 503 if there is too little memory.
    pub(super) fn reserve_for_values(&mut self) -> Result<(), Refusal> {
        let total_bytes = self.reservation.bytes() + max_bytes_of_values(&self.bytes);
        self.reservation.resize(total_bytes)
    }
}

/// Returns an upper bound for the memory that the values of a JSON text take when parsed, besides
/// the text of strings.
///
/// `{`, `[` and `,` precede every value but the first, so `{"a":[1,2]}` counts as 4 values.
/// Characters within strings count, too, which can only make the bound higher.
pub(super) fn max_bytes_of_values(json: &[u8]) -> usize {
    let mut max_values = 1;
    for byte in json {
        if matches!(byte, b'{' | b'[' | b',') {
            max_values += 1;
        }
    }
    // The parser rejects more than `MAX_VALUES`.
    MAX_VALUES.min(max_values) * MAX_BYTES_PER_VALUE
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::Token;

    fn limits(texts: &[&str]) -> RateLimits {
        RateLimits::new(texts.iter().map(|text| text.parse().unwrap()).collect())
    }

    fn caller_with_token(id: u8) -> Caller {
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

    const LOCALHOST: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

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
    fn each_token_and_each_address_without_one_has_its_own_limit() {
        let limits = limits(&["60/minute,burst=2"]);
        let take =
            |caller: &Caller, address| limits.try_consume(caller_key(caller, address), &["ping"]);
        for caller in [caller_with_token(1), caller_with_token(2), Caller::local()] {
            take(&caller, LOCALHOST).unwrap();
            take(&caller, LOCALHOST).unwrap();
            let refusal = take(&caller, LOCALHOST).unwrap_err();
            assert_eq!(refusal.status, 429);
            assert_eq!(refusal.headers["retry-after"], "1");
            assert!(
                refusal.message.ends_with("try again in 1 s"),
                "{}",
                refusal.message
            );
        }
        assert!(take(&caller_with_token(1), "192.0.2.1".parse().unwrap()).is_err());
        take(&Caller::local(), "192.0.2.1".parse().unwrap()).unwrap();
    }

    #[test]
    fn all_addresses_of_one_ipv6_network_share_a_limit() {
        let limits = limits(&["60/minute,burst=2"]);
        let take =
            |address: &str| limits.try_consume(network_key(address.parse().unwrap()), &["ping"]);
        take("2001:db8::1").unwrap();
        take("2001:db8::ffff:1").unwrap();
        assert!(take("2001:db8::2").is_err());
        take("2001:db8:0:1::1").unwrap();
        take("::ffff:192.0.2.1").unwrap();
        take("192.0.2.1").unwrap();
        assert!(take("192.0.2.1").is_err());
    }

    /// Sends a batch. Returns the seconds to wait, or 0 if the batch is allowed.
    fn wait_for(limits: &RateLimits, method: &str, messages: usize) -> u64 {
        let Err(refusal) = limits.try_consume(1, &methods(&batch(method, messages))) else {
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
    fn messages_that_one_limit_refuses_do_not_count_for_another() {
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
        for number in 0..MAX_TRACKED_CALLERS as u32 + 100 {
            let _ = limits.try_consume(u128::from(number), &["ping"]);
        }
        limits.forget_idle_callers();
        assert_eq!(
            lock(&limits.0[0].arrival_times).0.len(),
            MAX_TRACKED_CALLERS + 1
        );
    }

    #[test]
    fn a_size_may_have_a_unit() {
        for (text, bytes) in [
            ("1", 1),
            ("33554432", DEFAULT_MAX_BODY_BYTES),
            ("32MiB", DEFAULT_MAX_BODY_BYTES),
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

//! How much each client may ask for, and all of them together.

use super::refusal::Refusal;
use crate::jsonrpc::{Message, Request};
use crate::library::Caller;
use crate::server::methods;
use crate::wording::{alternatives, count, quoted};
use axum::http::StatusCode;
use governor::clock::{Clock, MonotonicClock};
use governor::state::keyed::HashMapStateStore;
use governor::{Quota, RateLimiter};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::str::FromStr;

/// The longest body of a request, in bytes, if no other is given.
pub const MAX_BODY: usize = 32 * 1024 * 1024;

/// How many connections may be open: 10,000 clients with a stream each, and their requests.
pub(crate) const MAX_CONNECTIONS: usize = 20_000;

/// The answer to a connection that is one too many.
pub(crate) const TOO_MANY_CONNECTIONS: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// How many requests may be handled, or be waiting to be, at once.
pub(crate) const MAX_REQUESTS: usize = 1_000;

/// How many callers are remembered by a rate limit; if more send messages within a minute, the others share one limit.
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

impl FromStr for RateLimit {
    type Err = String;

    fn from_str(text: &str) -> Result<RateLimit, String> {
        let form = || "it must be like `600/minute` or `prompts/list=30/minute,burst=5`".to_owned();
        let (rate, burst) = match text.split_once(",burst=") {
            Some((rate, burst)) => (rate, Some(burst.parse().map_err(|_| form())?)),
            None => (text, None),
        };
        let (method, rate) = match rate.split_once('=') {
            Some((method, rate)) => (Some(method), rate),
            None => (None, rate),
        };
        let per_minute = rate.strip_suffix("/minute").and_then(|number| number.parse().ok()).ok_or_else(form)?;
        let known = |method: &str| {
            let known = methods().into_iter().find(|known| *known == method);
            known.ok_or_else(|| format!("no method {}; use {}", quoted(method), alternatives(&methods())))
        };
        let method = method.map(known).transpose()?;
        Ok(RateLimit { method, per_minute, burst: burst.unwrap_or(per_minute) })
    }
}

/// A number of bytes: `1000000`, or with a unit, `KiB`, `MiB` or `GiB`.
///
/// # Errors
/// It is none, or zero.
pub fn parse_bytes(text: &str) -> Result<usize, String> {
    let units = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];
    let with_unit = units.into_iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)));
    let (number, factor) = with_unit.unwrap_or((text, 1));
    let bytes = number.trim_end().parse::<usize>().ok().and_then(|number| number.checked_mul(factor));
    bytes
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| "it must be a number of bytes such as `1048576` or `1MiB`".to_owned())
}

/// The rate limits of all callers.
#[derive(Debug)]
pub struct RateLimits {
    /// For all messages together.
    all: Option<Limiter>,
    by_method: BTreeMap<&'static str, Limiter>,
}

/// Whose messages are counted together.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    Token([u8; 16]),
    Address(IpAddr),
    /// Everybody else when there are too many.
    Others,
}

#[derive(Debug)]
struct Limiter {
    limit: RateLimit,
    limiter: RateLimiter<Key, HashMapStateStore<Key>, MonotonicClock>,
}

impl RateLimits {
    /// # Errors
    /// Two limits are for the same messages.
    pub fn new(limits: Vec<RateLimit>) -> Result<RateLimits, String> {
        let mut new = RateLimits { all: None, by_method: BTreeMap::new() };
        for limit in limits {
            let method = limit.method;
            let limiter = Limiter::new(limit);
            let previous = match method {
                Some(method) => new.by_method.insert(method, limiter),
                None => new.all.replace(limiter),
            };
            if previous.is_some() {
                let what = method.map_or("all messages".to_owned(), quoted);
                return Err(format!("there are two rate limits for {what}; leave out one"));
            }
        }
        Ok(new)
    }

    /// Counts a message, of a batch each element.
    ///
    /// # Errors
    /// 429: the caller has sent more than a limit allows. The request is refused as a whole.
    pub(crate) fn take(&self, caller: &Caller, address: IpAddr, message: &Message) -> Result<(), Refusal> {
        if self.all.is_none() && self.by_method.is_empty() {
            return Ok(());
        }
        let methods = match message {
            Message::Request(Request { method, .. }) | Message::Notification { method, .. } => vec![method.as_str()],
            Message::Response => vec![""],
            Message::Batch(messages) => messages.iter().map(|it| it["method"].as_str().unwrap_or_default()).collect(),
        };
        self.take_all(caller, address, &methods)
    }

    /// Counts a request that is no message, as a message with this method.
    ///
    /// # Errors
    /// Those of [`take`](RateLimits::take).
    pub(crate) fn take_one(&self, caller: &Caller, address: IpAddr, method: &str) -> Result<(), Refusal> {
        self.take_all(caller, address, &[method])
    }

    fn take_all(&self, caller: &Caller, address: IpAddr, methods: &[&str]) -> Result<(), Refusal> {
        let key = caller.token.as_ref().map_or(Key::Address(address.to_canonical()), |token| Key::Token(token.id));
        for (method, limiter) in &self.by_method {
            limiter.take(&key, methods.iter().filter(|own| *own == method).count())?;
        }
        self.all.as_ref().map_or(Ok(()), |limiter| limiter.take(&key, methods.len()))
    }
}

impl Limiter {
    fn new(limit: RateLimit) -> Limiter {
        let quota = Quota::per_minute(limit.per_minute).allow_burst(limit.burst);
        Limiter { limiter: RateLimiter::hashmap_with_clock(quota, MonotonicClock), limit }
    }

    fn take(&self, key: &Key, messages: usize) -> Result<(), Refusal> {
        let messages = u32::try_from(messages).unwrap_or(u32::MAX);
        let Some(messages) = NonZeroU32::new(messages) else { return Ok(()) };
        if self.limiter.len() >= MAX_CALLERS {
            self.limiter.retain_recent();
        }
        let key = if self.limiter.len() >= MAX_CALLERS { &Key::Others } else { key };
        let RateLimit { method, per_minute, burst } = &self.limit;
        let what = method.map_or(String::new(), |method| format!(" of {}", quoted(method)));
        let refused = |seconds: u64, next: String| {
            let limit = format!("{} a minute", count(per_minute.get() as usize, "message"));
            let message = format!("more messages{what} than the limit of {limit}, {burst} at once: {next}");
            Refusal::new(StatusCode::TOO_MANY_REQUESTS, message).with_retry_after(seconds)
        };
        match self.limiter.check_key_n(key, messages) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(until)) => {
                let wait = until.wait_time_from(MonotonicClock.now());
                let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
                Err(refused(seconds.max(1), format!("try again in {} s", seconds.max(1))))
            }
            Err(_) => Err(refused(60, "send fewer in one batch".to_owned())),
        }
    }
}

/// 413.
pub(crate) fn body_too_long(max: usize) -> Refusal {
    let message =
        format!("the body is longer than {max} bytes; shorten it, or start the server with a greater --max-body");
    Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, message)
}

/// 503.
pub(crate) fn too_busy() -> Refusal {
    let message = "too many requests are being handled; try again in a second";
    Refusal::new(StatusCode::SERVICE_UNAVAILABLE, message).with_retry_after(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::Token;

    fn limits(texts: &[&str]) -> RateLimits {
        RateLimits::new(texts.iter().map(|text| text.parse().unwrap()).collect()).unwrap()
    }

    fn of_token(id: u8) -> Caller {
        Caller { token: Some(Token { id: [id; 16], name: "x".into() }), ..Caller::local() }
    }

    fn batch(method: &str, messages: usize) -> Message {
        Message::Batch(vec![serde_json::json!({"jsonrpc": "2.0", "method": method}); messages])
    }

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    #[test]
    fn a_limit_that_is_none_is_refused_with_what_to_write() {
        let limit: RateLimit = "prompts/list=30/minute,burst=5".parse().unwrap();
        assert_eq!((limit.method, limit.per_minute.get(), limit.burst.get()), (Some("prompts/list"), 30, 5));
        let limit: RateLimit = "600/minute".parse().unwrap();
        assert_eq!((limit.method, limit.per_minute.get(), limit.burst.get()), (None, 600, 600));
        for text in
            ["", "600", "0/minute", "-1/minute", "600/hour", "600/minute,burst=0", "600/minute,", "5000000000/minute"]
        {
            assert!(text.parse::<RateLimit>().unwrap_err().contains("`600/minute`"), "{text}");
        }
        let unknown = "prompts/lists=30/minute".parse::<RateLimit>().unwrap_err();
        assert!(unknown.contains("`prompts/lists`") && unknown.contains("`prompts/list`, "), "{unknown}");
        let twice = ["ping=1/minute", "ping=2/minute"].map(|text| text.parse().unwrap()).to_vec();
        assert!(RateLimits::new(twice).unwrap_err().contains("`ping`"));
    }

    #[test]
    fn each_token_or_else_each_address_has_a_limit_of_its_own() {
        let limits = limits(&["60/minute,burst=2"]);
        let take = |caller: &Caller, address| limits.take(caller, address, &batch("ping", 1));
        for caller in [of_token(1), of_token(2), Caller::local()] {
            take(&caller, HERE).unwrap();
            take(&caller, HERE).unwrap();
            let refusal = take(&caller, HERE).unwrap_err();
            assert_eq!((refusal.status.as_u16(), refusal.error.code), (429, 429));
            assert_eq!(refusal.headers["retry-after"], "1");
            assert!(refusal.error.message.ends_with("try again in 1 s"), "{}", refusal.error.message);
        }
        assert!(take(&of_token(1), "192.0.2.1".parse().unwrap()).is_err());
        take(&Caller::local(), "192.0.2.1".parse().unwrap()).unwrap();
    }

    #[test]
    fn each_message_of_a_batch_counts_for_its_method_and_for_all() {
        let limits = limits(&["ping=1/minute,burst=2", "10/minute"]);
        let caller = of_token(1);
        let refusal = limits.take(&caller, HERE, &batch("ping", 3)).unwrap_err();
        assert!(refusal.error.message.ends_with("send fewer in one batch"), "{}", refusal.error.message);
        limits.take(&caller, HERE, &batch("ping", 2)).unwrap();
        let refusal = limits.take(&caller, HERE, &batch("ping", 1)).unwrap_err();
        assert!(refusal.error.message.contains(" of `ping` "), "{}", refusal.error.message);
        assert_eq!(refusal.headers["retry-after"], "60");
        limits.take(&caller, HERE, &batch("tools/list", 8)).unwrap();
        assert!(limits.take(&caller, HERE, &batch("tools/list", 1)).is_err());
    }

    #[test]
    fn very_many_addresses_take_little_memory() {
        let limits = limits(&["1/minute"]);
        for number in 0..MAX_CALLERS as u32 + 100 {
            let _ = limits.take(&Caller::local(), IpAddr::V4(number.into()), &batch("ping", 1));
        }
        assert_eq!(limits.all.unwrap().limiter.len(), MAX_CALLERS + 1);
    }

    #[test]
    fn a_number_of_bytes_may_have_a_unit() {
        for (text, bytes) in [("1", 1), ("33554432", MAX_BODY), ("32MiB", MAX_BODY), ("4 KiB", 4096), ("1GiB", 1 << 30)]
        {
            assert_eq!(parse_bytes(text), Ok(bytes));
        }
        for text in ["", "0", "-1", "1MB", "MiB", "1.5GiB", "99999999999999GiB"] {
            assert!(parse_bytes(text).is_err(), "{text}");
        }
    }
}

//! Who the client is: the other end of the connection, or the client that a trusted reverse proxy
//! names in the headers `X-Forwarded-For`, `X-Forwarded-Proto` and `X-Forwarded-Host`.
//!
//! Anybody can send these headers, so they count only on a connection from a trusted proxy.
//! `Forwarded` (RFC 7239) is ignored: most proxies neither set nor remove it, and would pass on a
//! value that a client has made up.

use super::budget::Reservation;
use super::half_requests::{HalfRequest, HalfRequests};
use super::headers;
use super::refusal::Refusal;
use crate::lock::lock;
use crate::transport::tap::Tap;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use ipnet::IpNet;
use std::any::Any;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::time::sleep_until;

pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// The longest request id that is taken from a client, in bytes.
const MAX_REQUEST_ID: usize = 64;

/// How many bytes of memory an incomplete message takes for each byte that has come: its buffer
/// grows to twice its length.
const BUFFERED: usize = 2;

/// Parses the address of a trusted proxy, or a network of proxies: `127.0.0.1`, `10.0.0.0/8`.
///
/// # Errors
/// The text is neither, or would trust everybody.
pub fn parse_proxy(text: &str) -> Result<IpNet, String> {
    let network = match text.parse::<IpAddr>() {
        Ok(address) => IpNet::from(address),
        Err(_) => text.parse::<IpNet>().map_err(|_| {
            "it must be an address or a network, such as `127.0.0.1` or `10.0.0.0/8`".to_owned()
        })?,
    };
    if network.prefix_len() == 0 {
        let message = "it would trust everybody, so that each client could make up its address";
        return Err(message.to_owned());
    }
    Ok(network.trunc())
}

/// The other end of a connection.
pub(super) struct Peer {
    pub(super) address: IpAddr,
    pub(super) is_tls: bool,
    /// The number of the connection, from 1.
    pub(super) connection: u64,
    incoming: Mutex<Incoming>,
    /// Notified when the first byte of a WebSocket's message comes.
    message_begins: Notify,
    /// Counts the incomplete requests. `None` for a trusted proxy, whose clients are counted.
    half_requests: Option<Arc<HalfRequests>>,
    /// Notified when the connection must end.
    pub(super) end: Arc<Notify>,
    /// Dropped when the connection ends, also as a WebSocket: its permit and its count in the
    /// metrics.
    _guards: Box<dyn Any + Send + Sync>,
}

/// The data that a client is sending on a connection.
#[derive(Default)]
enum Incoming {
    /// Its request is complete.
    #[default]
    Nothing,
    /// A request, or the start of a new connection.
    Request { _counted: HalfRequest },
    /// Messages of a WebSocket.
    Message(IncompleteMessage),
}

/// The part of a WebSocket's message that has come.
struct IncompleteMessage {
    /// The memory for the bytes that have come.
    reservation: Reservation,
    /// When its first byte came; `None` if none has come.
    since: Option<Instant>,
}

/// What is known about a connection when it opens.
pub(super) struct NewConnection {
    pub(super) address: IpAddr,
    pub(super) is_tls: bool,
    /// The number of the connection, from 1.
    pub(super) number: u64,
    /// Counts its incomplete requests. `None` for a trusted proxy, whose clients are counted.
    pub(super) half_requests: Option<Arc<HalfRequests>>,
}

impl Peer {
    /// Returns the other end of a new connection. `guards` are dropped when the connection ends.
    pub(super) fn new(connection: NewConnection, guards: impl Any + Send + Sync) -> Arc<Peer> {
        Arc::new(Peer {
            address: connection.address,
            is_tls: connection.is_tls,
            connection: connection.number,
            incoming: Mutex::default(),
            message_begins: Notify::new(),
            half_requests: connection.half_requests,
            end: Arc::default(),
            _guards: Box::new(guards),
        })
    }

    /// Counts an incomplete request, unless it is counted already. Call this for a new connection,
    /// and when a part of a request has come.
    pub(super) fn request_begins(&self) {
        let Some(half_requests) = &self.half_requests else {
            return;
        };
        let mut incoming = lock(&self.incoming);
        if matches!(*incoming, Incoming::Nothing) {
            let network = network(self.address);
            *incoming = Incoming::Request {
                _counted: half_requests.begin(network, self.connection, &self.end),
            };
        }
    }

    /// Counts bytes that have come, for a request or a message of a WebSocket.
    ///
    /// # Errors
    /// 503: the messages of all WebSockets take too much memory.
    pub(super) fn received(&self, bytes: usize) -> Result<(), Refusal> {
        if let Incoming::Message(message) = &mut *lock(&self.incoming) {
            if message.since.is_none() {
                message.since = Some(Instant::now());
                self.message_begins.notify_one();
            }
            let memory = message.reservation.bytes() + BUFFERED * bytes;
            return message.reservation.set(memory);
        }
        self.request_begins();
        Ok(())
    }

    /// Ends the count of an incomplete request: all of it has come.
    pub(super) fn request_is_complete(&self) {
        let mut incoming = lock(&self.incoming);
        if matches!(*incoming, Incoming::Request { .. }) {
            *incoming = Incoming::Nothing;
        }
    }

    /// Makes the connection a WebSocket. `reservation` will count the bytes of its incomplete
    /// message.
    pub(super) fn becomes_websocket(&self, reservation: Reservation) {
        let message = IncompleteMessage {
            reservation,
            since: None,
        };
        *lock(&self.incoming) = Incoming::Message(message);
    }

    /// Subtracts bytes of a WebSocket that were handled, at most all that have come. If none
    /// remain, no message is incomplete any more. `usize::MAX` forgets all of a message.
    pub(super) fn forget_received(&self, bytes: usize) {
        let mut incoming = lock(&self.incoming);
        let Incoming::Message(message) = &mut *incoming else {
            return;
        };
        let handled = bytes.saturating_mul(BUFFERED);
        let remaining = message.reservation.bytes().saturating_sub(handled);
        let _ = message.reservation.set(remaining); // fewer bytes are never refused
        if remaining == 0 {
            message.since = None;
        }
    }

    /// Waits until a message of a WebSocket is incomplete for longer than `within`.
    pub(super) async fn late_message(&self, within: Duration) {
        loop {
            let Some(since) = self.incomplete_since() else {
                self.message_begins.notified().await;
                continue;
            };
            sleep_until((since + within).into()).await;
            if self.incomplete_since() == Some(since) {
                return;
            }
        }
    }

    /// Returns when the first byte of an incomplete WebSocket message came.
    fn incomplete_since(&self) -> Option<Instant> {
        match &*lock(&self.incoming) {
            Incoming::Message(message) => message.since,
            _ => None,
        }
    }
}

/// The sender of a request.
pub(super) struct Client {
    pub(super) address: IpAddr,
    /// Whether the client itself uses TLS, perhaps to a proxy.
    pub(super) is_https: bool,
    /// Whether the connection comes from a trusted proxy.
    pub(super) is_behind_proxy: bool,
    pub(super) peer: Arc<Peer>,
    /// The id of the request: the client's, if it is short visible ASCII, else a new one.
    pub(super) request_id: HeaderValue,
    /// The record of its messages.
    tap: Option<Arc<Tap>>,
}

impl Client {
    /// Returns the client that has sent a request with these headers. Headers that a proxy sets
    /// count only if the connection comes from a trusted proxy.
    pub(super) fn new(
        peer: &Arc<Peer>,
        headers: &HeaderMap,
        trusted: &[IpNet],
        tap: Option<Arc<Tap>>,
    ) -> Client {
        let mut client = Client {
            address: peer.address.to_canonical(),
            is_https: peer.is_tls,
            is_behind_proxy: is_trusted(trusted, peer.address),
            peer: Arc::clone(peer),
            request_id: request_id(headers),
            tap,
        };
        if client.is_behind_proxy {
            client.address = forwarded_address(client.address, headers, trusted);
            if let Some(proto) = headers::items(headers, &FORWARDED_PROTO).next_back() {
                client.is_https = proto.eq_ignore_ascii_case(b"https");
            }
        }
        client
    }

    /// Counts the request of a client behind a proxy until the result is dropped. Other clients are
    /// counted by their connection.
    pub(super) fn half_request(&self, all: &Arc<HalfRequests>) -> Option<HalfRequest> {
        if !self.is_behind_proxy {
            return None;
        }
        let Peer {
            connection, end, ..
        } = &*self.peer;
        Some(all.begin(network(self.address), *connection, end))
    }

    /// Records a message that was received, if messages are recorded.
    pub(super) fn received(&self, message: &[u8]) {
        if let Some(tap) = &self.tap {
            tap.received(self, message);
        }
    }

    /// Records a message that is sent, if messages are recorded.
    pub(super) fn sent(&self, message: &[u8]) {
        if let Some(tap) = &self.tap {
            tap.sent(self, message);
        }
    }

    /// Returns the id of the request as text.
    pub(super) fn request_id(&self) -> &str {
        self.request_id.to_str().unwrap_or_default()
    }
}

/// Returns the address of a client behind proxies.
///
/// Each proxy has appended the address that it was called from. So the client is the last address
/// that is not a trusted proxy; it may have made up those before. If the peer `10.0.0.1` and
/// `10.0.0.2` are trusted, `X-Forwarded-For: 1.2.3.4, 192.0.2.7, 10.0.0.2` names `192.0.2.7`. An
/// entry that is not an address ends the search.
fn forwarded_address(peer: IpAddr, headers: &HeaderMap, trusted: &[IpNet]) -> IpAddr {
    let mut client = peer;
    for item in headers::items(headers, &FORWARDED_FOR).rev() {
        if !is_trusted(trusted, client) {
            break;
        }
        let Some(address) = parse_address(item) else {
            break;
        };
        client = address;
    }
    client
}

/// Returns the client's id of a request, if it is short visible ASCII, or else a random id.
fn request_id(headers: &HeaderMap) -> HeaderValue {
    if let Some(id) = headers.get(REQUEST_ID)
        && (1..=MAX_REQUEST_ID).contains(&id.len())
        && id.as_bytes().iter().all(u8::is_ascii_graphic)
    {
        return id.clone();
    }
    let id = format!("{:016x}", RandomState::new().hash_one(()));
    HeaderValue::try_from(id).unwrap_or(HeaderValue::from_static("none"))
}

/// Returns the key of the network that belongs to one person: an IPv4 address, or the first 64 bits
/// of an IPv6 address (`2001:db8::1` and `2001:db8::2` have the same key).
pub(super) fn network(address: IpAddr) -> u128 {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => address.to_bits() >> 64 << 64,
    }
}

/// Returns whether an address belongs to a trusted proxy.
pub(super) fn is_trusted(proxies: &[IpNet], address: IpAddr) -> bool {
    let address = address.to_canonical();
    proxies.iter().any(|proxy| proxy.contains(&address))
}

/// The beginning of an entry of the record of messages.
impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ", self.peer.connection, self.request_id())
    }
}

/// Parses an address, as some proxies write it: `192.0.2.7`, `192.0.2.7:5555`, `2001:db8::1`,
/// `[2001:db8::1]` or `[2001:db8::1]:443`.
fn parse_address(text: &[u8]) -> Option<IpAddr> {
    let text = str::from_utf8(text).ok()?;
    let address = match text.parse::<SocketAddr>() {
        Ok(address) => address.ip(),
        Err(_) => text.trim_matches(['[', ']']).parse().ok()?,
    };
    Some(address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(peer: &str, trusted: &[&str], headers: &[(HeaderName, &str)]) -> Client {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name, HeaderValue::from_str(value).unwrap());
        }
        let trusted: Vec<_> = trusted
            .iter()
            .map(|text| parse_proxy(text).unwrap())
            .collect();
        let connection = NewConnection {
            address: peer.parse().unwrap(),
            is_tls: false,
            number: 1,
            half_requests: None,
        };
        let peer = Peer::new(connection, ());
        Client::new(&peer, &map, &trusted, None)
    }

    #[test]
    fn the_client_is_the_last_address_that_is_not_that_of_a_trusted_proxy() {
        let trusted = ["127.0.0.1", "10.0.0.0/8", "2001:db8::/32"];
        for (peer, forwarded, want) in [
            ("127.0.0.1", &["192.0.2.7"][..], "192.0.2.7"),
            ("127.0.0.1", &["198.51.100.1, 192.0.2.7"], "192.0.2.7"),
            (
                "127.0.0.1",
                &["192.0.2.7", "10.1.2.3,127.0.0.1"],
                "192.0.2.7",
            ),
            ("127.0.0.1", &["192.0.2.7:5555"], "192.0.2.7"),
            ("127.0.0.1", &["[2001:db9::1]:443"], "2001:db9::1"),
            ("127.0.0.1", &["2001:db9::1"], "2001:db9::1"),
            ("127.0.0.1", &["::ffff:192.0.2.7"], "192.0.2.7"),
            ("::ffff:127.0.0.1", &["192.0.2.7"], "192.0.2.7"),
            ("2001:db8::5", &["192.0.2.7"], "192.0.2.7"),
            // All are proxies: the first of them has asked for itself.
            ("127.0.0.1", &["10.0.0.1, 10.0.0.2"], "10.0.0.1"),
            // What cannot be read says nothing of what is before it.
            ("127.0.0.1", &["192.0.2.7, unknown"], "127.0.0.1"),
            ("127.0.0.1", &["192.0.2.7, unknown, 10.0.0.1"], "10.0.0.1"),
            ("127.0.0.1", &[], "127.0.0.1"),
            ("127.0.0.2", &["192.0.2.7"], "127.0.0.2"),
        ] {
            let headers: Vec<_> = forwarded
                .iter()
                .map(|value| (FORWARDED_FOR, *value))
                .collect();
            assert_eq!(
                client(peer, &trusted, &headers).address.to_string(),
                want,
                "{peer} {forwarded:?}"
            );
        }
    }

    #[test]
    fn only_a_trusted_proxy_says_how_the_client_has_called_this_server() {
        for (proxy, proto, want) in [
            ("127.0.0.1", &["https"][..], true),
            ("127.0.0.2", &["https"], false),
            ("127.0.0.1", &["http, https"], true),
            ("127.0.0.1", &["https", "http"], false),
            ("127.0.0.1", &["HTTPS"], true),
            ("127.0.0.1", &[""], false),
        ] {
            let headers: Vec<_> = proto
                .iter()
                .map(|value| (FORWARDED_PROTO, *value))
                .collect();
            let client = client("127.0.0.1", &[proxy], &headers);
            assert_eq!(
                (client.is_https, client.is_behind_proxy),
                (want, proxy == "127.0.0.1"),
                "{proxy} {proto:?}"
            );
        }
    }

    #[test]
    fn a_proxy_is_an_address_or_a_network_but_not_everybody() {
        for text in [
            "127.0.0.1",
            "::1",
            "10.0.0.0/8",
            "192.0.2.1/32",
            "128.0.0.0/1",
            "2001:db8::/32",
            "::/128",
        ] {
            parse_proxy(text).unwrap();
        }
        for (text, part) in [
            ("localhost", "such as `127.0.0.1`"),
            ("10.0.0.0/33", "such as `127.0.0.1`"),
            ("", "such as `127.0.0.1`"),
            ("0.0.0.0/0", "everybody"),
            ("::/0", "everybody"),
        ] {
            let error = parse_proxy(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}

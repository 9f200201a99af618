//! Who sends a request: the peer of the connection, or the client that a trusted reverse proxy
//! names in `X-Forwarded-For`, `X-Forwarded-Proto` and `X-Forwarded-Host`.
//!
//! Anyone can send these headers, so they are ignored unless the peer is a trusted proxy.
//! `Forwarded` (RFC 7239) is always ignored: most proxies neither set nor remove it, so a client
//! could forge it.

use super::budget::Reservation;
use super::headers;
use super::incomplete_requests::{IncompleteRequest, IncompleteRequests};
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

/// The maximum length of a request id that is accepted from a client.
const MAX_REQUEST_ID_BYTES: usize = 64;

/// The memory for each received byte of an incomplete WebSocket message. Its buffer can grow to
/// twice the length of its contents.
const BUFFER_BYTES_PER_BYTE: usize = 2;

/// More than a message can have reserved.
const ALL_BYTES: usize = usize::MAX;

/// Parses the address of a trusted proxy or a network of proxies: `127.0.0.1`, `10.0.0.0/8`.
///
/// # Errors
/// Fails if the text is neither, or if the network contains every address.
pub fn parse_proxy(text: &str) -> Result<IpNet, String> {
    let network = match text.parse::<IpAddr>() {
        Ok(address) => IpNet::from(address),
        Err(_) => text.parse::<IpNet>().map_err(|_| {
            "it must be an address or a network, such as `127.0.0.1` or `10.0.0.0/8`".to_owned()
        })?,
    };
    if network.prefix_len() == 0 {
        let message = "it would trust everybody, so any client could forge its address";
        return Err(message.to_owned());
    }
    Ok(network.trunc())
}

/// The other end of a connection: a client, or a proxy in front of it.
pub(super) struct Peer {
    pub(super) address: IpAddr,
    pub(super) is_tls: bool,
    /// The number of the connection, counted from 1.
    pub(super) connection: u64,
    incoming: Mutex<Incoming>,
    /// Notified when a WebSocket message begins to arrive.
    message_begins: Notify,
    /// See [`NewConnection::incomplete_requests`].
    incomplete_requests: Option<Arc<IncompleteRequests>>,
    /// Closes the connection when it is notified.
    pub(super) close: Arc<Notify>,
    /// Dropped when the connection ends, even if it has become a WebSocket.
    _guards: Box<dyn Any + Send + Sync>,
}

/// What is arriving on a connection.
#[derive(Default)]
enum Incoming {
    /// The last request is complete, and the next one hasn't begun.
    #[default]
    Idle,
    /// A request has begun, or the connection is new. It is tracked until this is dropped.
    Request { _incomplete: IncompleteRequest },
    /// The connection is a WebSocket.
    WebSocket(IncompleteMessage),
}

/// The part of a WebSocket message that has arrived.
struct IncompleteMessage {
    /// The memory for this part.
    reservation: Reservation,
    /// When its first byte arrived. `None` between two messages.
    since: Option<Instant>,
}

/// What is known about a connection when it opens.
pub(super) struct NewConnection {
    pub(super) address: IpAddr,
    pub(super) is_tls: bool,
    /// The number of the connection, counted from 1.
    pub(super) number: u64,
    /// Where to track the connection while its request is incomplete. `None` for a trusted proxy:
    /// its requests are tracked under the address of each client
    /// ([`Client::track_incomplete_request`]).
    pub(super) incomplete_requests: Option<Arc<IncompleteRequests>>,
}

impl Peer {
    /// Returns the peer of a new connection. The connection drops `guards` when it ends.
    pub(super) fn new(connection: NewConnection, guards: impl Any + Send + Sync) -> Arc<Peer> {
        Arc::new(Peer {
            address: connection.address,
            is_tls: connection.is_tls,
            connection: connection.number,
            incoming: Mutex::default(),
            message_begins: Notify::new(),
            incomplete_requests: connection.incomplete_requests,
            close: Arc::default(),
            _guards: Box::new(guards),
        })
    }

    /// Tracks an incomplete request, unless one is tracked already. Call this for a new connection
    /// and whenever part of a request arrives.
    pub(super) fn begin_request(&self) {
        let Some(incomplete_requests) = &self.incomplete_requests else {
            return;
        };
        let mut incoming = lock(&self.incoming);
        if matches!(*incoming, Incoming::Idle) {
            let network_key = network_key(self.address);
            *incoming = Incoming::Request {
                _incomplete: incomplete_requests.add(network_key, self.connection, &self.close),
            };
        }
    }

    /// Accounts for bytes that have arrived. If they belong to a WebSocket message, reserves memory
    /// for them, and starts the message's timeout with the first of them. Otherwise tracks an
    /// incomplete request.
    ///
    /// # Errors
    /// Fails with 503 if there is too little memory for the message.
    pub(super) fn account_for_bytes(&self, bytes: usize) -> Result<(), Refusal> {
        if let Incoming::WebSocket(message) = &mut *lock(&self.incoming) {
            if message.since.is_none() {
                message.since = Some(Instant::now());
                self.message_begins.notify_one();
            }
            let total_bytes = message.reservation.bytes() + BUFFER_BYTES_PER_BYTE * bytes;
            return message.reservation.resize(total_bytes);
        }
        self.begin_request();
        Ok(())
    }

    /// Stops tracking the request as incomplete, because all of it has arrived.
    pub(super) fn complete_request(&self) {
        let mut incoming = lock(&self.incoming);
        if matches!(*incoming, Incoming::Request { .. }) {
            *incoming = Incoming::Idle;
        }
    }

    /// Treats what arrives from now on as WebSocket messages, with memory from `reservation`.
    pub(super) fn switch_to_websocket(&self, reservation: Reservation) {
        *lock(&self.incoming) = Incoming::WebSocket(IncompleteMessage {
            reservation,
            since: None,
        });
    }

    /// Releases the memory of a WebSocket message that is complete.
    pub(super) fn complete_message(&self) {
        self.release_at_most(ALL_BYTES);
    }

    /// Releases the memory of a control frame. A message stays incomplete if it has begun to arrive
    /// before or after the frame.
    pub(super) fn complete_control_frame(&self, frame_bytes: usize) {
        self.release_at_most(frame_bytes.saturating_mul(BUFFER_BYTES_PER_BYTE));
    }

    /// Releases up to this much memory of a WebSocket message. If none remains, nothing is left of
    /// the message either, so its timeout ends.
    fn release_at_most(&self, bytes: usize) {
        let mut incoming = lock(&self.incoming);
        let Incoming::WebSocket(message) = &mut *incoming else {
            return;
        };
        let remaining_bytes = message.reservation.bytes().saturating_sub(bytes);
        let _ = message.reservation.resize(remaining_bytes); // shrinking can't fail
        if remaining_bytes == 0 {
            message.since = None;
        }
    }

    /// Waits until a WebSocket message has been incomplete for longer than `timeout`.
    pub(super) async fn wait_for_message_timeout(&self, timeout: Duration) {
        loop {
            let Some(since) = self.message_since() else {
                self.message_begins.notified().await;
                continue;
            };
            sleep_until((since + timeout).into()).await;
            // Meanwhile, the message may have been completed, and another one begun.
            if self.message_since() == Some(since) {
                return;
            }
        }
    }

    /// Returns when the incomplete WebSocket message began to arrive, if there is one.
    fn message_since(&self) -> Option<Instant> {
        match &*lock(&self.incoming) {
            Incoming::WebSocket(message) => message.since,
            _ => None,
        }
    }
}

/// The sender of a request.
pub(super) struct Client {
    /// The address of the client itself, even if it uses a trusted proxy.
    pub(super) address: IpAddr,
    /// Whether the client itself uses TLS, even if a trusted proxy terminates it.
    pub(super) is_https: bool,
    /// Whether the peer is a trusted proxy.
    pub(super) is_behind_proxy: bool,
    pub(super) peer: Arc<Peer>,
    /// The client's `X-Request-Id`, or a random id if it has none that can be used.
    pub(super) request_id: HeaderValue,
    tap: Option<Arc<Tap>>,
}

impl Client {
    /// Finds out who has sent a request with these headers. If the peer is one of the
    /// `trusted_proxies`, this is the client that the proxy names.
    pub(super) fn new(
        peer: &Arc<Peer>,
        headers: &HeaderMap,
        trusted_proxies: &[IpNet],
        tap: Option<Arc<Tap>>,
    ) -> Client {
        let is_behind_proxy = is_trusted(trusted_proxies, peer.address);
        let mut address = peer.address.to_canonical();
        let mut is_https = peer.is_tls;
        // Anyone can send these headers, so only those of a trusted proxy count.
        if is_behind_proxy {
            address = forwarded_address(address, headers, trusted_proxies);
            is_https = is_forwarded_https(headers).unwrap_or(is_https);
        }
        Client {
            address,
            is_https,
            is_behind_proxy,
            peer: Arc::clone(peer),
            request_id: request_id(headers),
            tap,
        }
    }

    /// Tracks the request of a client behind a proxy as incomplete until the result is dropped.
    /// Returns `None` for a direct client, whose connection is already tracked by its [`Peer`].
    pub(super) fn track_incomplete_request(
        &self,
        incomplete_requests: &Arc<IncompleteRequests>,
    ) -> Option<IncompleteRequest> {
        if !self.is_behind_proxy {
            return None;
        }
        let network_key = network_key(self.address);
        let peer = &self.peer;
        Some(incomplete_requests.add(network_key, peer.connection, &peer.close))
    }

    /// Records a message from the client, if the server has a tap.
    pub(super) fn record_received(&self, message: &[u8]) {
        if let Some(tap) = &self.tap {
            tap.record_received(self, message);
        }
    }

    /// Records a message to the client, if the server has a tap.
    pub(super) fn record_sent(&self, message: &[u8]) {
        if let Some(tap) = &self.tap {
            tap.record_sent(self, message);
        }
    }

    pub(super) fn request_id(&self) -> &str {
        self.request_id.to_str().unwrap_or_default()
    }
}

/// Returns the address of the client behind a chain of proxies, given the peer and
/// `X-Forwarded-For`.
///
/// Each proxy appends the address that it was called from. So the client is the rightmost address
/// that isn't a trusted proxy; entries to its left may be forged. For example, if the peer
/// `10.0.0.1` and `10.0.0.2` are trusted, `1.2.3.4, 192.0.2.7, 10.0.0.2` gives `192.0.2.7`.
///
/// The search stops at an invalid entry, e.g. `unknown`, and returns the address to its right.
fn forwarded_address(peer: IpAddr, headers: &HeaderMap, trusted_proxies: &[IpNet]) -> IpAddr {
    let mut client = peer;
    for entry in headers::items(headers, &FORWARDED_FOR).rev() {
        if !is_trusted(trusted_proxies, client) {
            break;
        }
        let Some(address) = parse_address(entry) else {
            break;
        };
        client = address;
    }
    client
}

/// Returns whether the client uses TLS, by the rightmost `X-Forwarded-Proto`, which is that of the
/// peer. Returns `None` without this header.
fn is_forwarded_https(headers: &HeaderMap) -> Option<bool> {
    let protocol = headers::items(headers, &FORWARDED_PROTO).next_back()?;
    Some(protocol.eq_ignore_ascii_case(b"https"))
}

/// Returns the client's `X-Request-Id` if it is short and has only visible ASCII characters.
/// Otherwise returns a random id.
fn request_id(headers: &HeaderMap) -> HeaderValue {
    if let Some(id) = headers.get(REQUEST_ID)
        && (1..=MAX_REQUEST_ID_BYTES).contains(&id.len())
        && id.as_bytes().iter().all(u8::is_ascii_graphic)
    {
        return id.clone();
    }
    let random_id = format!("{:016x}", RandomState::new().hash_one(()));
    HeaderValue::try_from(random_id).unwrap_or(HeaderValue::from_static("none"))
}

/// Returns the key under which limits track clients without a token: the IPv4 address, or the /64
/// network of an IPv6 address, since one user commonly has a whole /64.
pub(super) fn network_key(address: IpAddr) -> u128 {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => address.to_bits() >> 64 << 64,
    }
}

pub(super) fn is_trusted(trusted_proxies: &[IpNet], address: IpAddr) -> bool {
    let address = address.to_canonical();
    trusted_proxies.iter().any(|proxy| proxy.contains(&address))
}

/// Writes the label of the client's messages in the [`Tap`]: the number of the connection and the
/// id of the request.
impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.peer.connection, self.request_id())
    }
}

/// Parses an address in any form that proxies write: `192.0.2.7`, `192.0.2.7:5555`, `2001:db8::1`,
/// `[2001:db8::1]` or `[2001:db8::1]:443`.
fn parse_address(entry: &[u8]) -> Option<IpAddr> {
    let text = str::from_utf8(entry).ok()?;
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
            incomplete_requests: None,
        };
        let peer = Peer::new(connection, ());
        Client::new(&peer, &map, &trusted, None)
    }

    #[test]
    fn the_client_is_the_last_address_that_is_not_a_trusted_proxy() {
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
            // If all are proxies, the first one is the client.
            ("127.0.0.1", &["10.0.0.1, 10.0.0.2"], "10.0.0.1"),
            // An invalid entry hides everything before it.
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
    fn only_a_trusted_proxy_can_say_whether_the_client_uses_tls() {
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
    fn a_proxy_is_an_address_or_a_network_but_not_every_address() {
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

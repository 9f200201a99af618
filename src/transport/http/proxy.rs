//! Reverse proxies: whose word counts about who the client is.
//!
//! A proxy says so in the headers `X-Forwarded-For`, `X-Forwarded-Proto` and `X-Forwarded-Host`. Anybody can send them, so they count
//! only if the connection is one of a trusted proxy. `Forwarded` (RFC 7239) is ignored: most proxies neither set nor remove it, and
//! would pass on what a client has made up.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

const FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const HOST: HeaderName = HeaderName::from_static("x-forwarded-host");

/// The address of a proxy, or a network of them: `ADDR[/BITS]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrustedProxy {
    address: IpAddr,
    /// How many bits of the address count.
    bits: u32,
}

impl FromStr for TrustedProxy {
    type Err = String;

    fn from_str(text: &str) -> Result<TrustedProxy, String> {
        let form = || "it must be an address or a network, such as `127.0.0.1` or `10.0.0.0/8`".to_owned();
        let (address, bits) = text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr = address.parse().map_err(|_| form())?;
        let length = if address.is_ipv4() { 32 } else { 128 };
        let bits = match bits {
            Some(bits) if !bits.is_empty() && bits.bytes().all(|byte| byte.is_ascii_digit()) => {
                bits.parse().ok().filter(|bits| *bits <= length).ok_or_else(form)?
            }
            Some(_) => return Err(form()),
            None => length,
        };
        if bits == 0 {
            return Err("it would trust everybody, so that each client could make up its address".to_owned());
        }
        let first = prefix(address, bits);
        if first != address {
            return Err(format!("{address} is within the network {first}/{bits}; write one of the two"));
        }
        Ok(TrustedProxy { address, bits })
    }
}

impl TrustedProxy {
    fn contains(&self, address: IpAddr) -> bool {
        address.is_ipv4() == self.address.is_ipv4() && prefix(address, self.bits) == self.address
    }
}

/// The address with its first bits only.
fn prefix(address: IpAddr, bits: u32) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            Ipv4Addr::from_bits(address.to_bits() & u32::MAX.checked_shl(32 - bits).unwrap_or(0)).into()
        }
        IpAddr::V6(address) => {
            Ipv6Addr::from_bits(address.to_bits() & u128::MAX.checked_shl(128 - bits).unwrap_or(0)).into()
        }
    }
}

/// What is known of a client, from the connection and from trusted proxies.
#[derive(Debug, Clone)]
pub(super) struct Client {
    pub(super) address: IpAddr,
    /// Whether it sent the request by HTTPS.
    pub(super) is_https: bool,
    /// The name that it has for this server, if a proxy says so: one, or one for each proxy.
    pub(super) host: Option<HeaderValue>,
}

impl Client {
    /// The client of a request that came from `peer`, over TLS or not.
    pub(super) fn new(peer: IpAddr, is_tls: bool, headers: &HeaderMap, trusted: &[TrustedProxy]) -> Client {
        let is_trusted = |address: IpAddr| trusted.iter().any(|proxy| proxy.contains(address));
        let mut address = peer.to_canonical();
        if !is_trusted(address) {
            return Client { address: peer, is_https: is_tls, host: None };
        }
        // Each proxy has appended the address that it was called from, so those before the first that is not trusted are hearsay.
        let values = headers.get_all(FOR).iter().rev();
        for value in values.flat_map(|value| value.as_bytes().rsplit(|byte| *byte == b',')) {
            if !is_trusted(address) {
                break;
            }
            let Some(next) = parse_address(value) else { break };
            address = next;
        }
        let proto = headers
            .get_all(PROTO)
            .iter()
            .next_back()
            .and_then(|value| value.as_bytes().rsplit(|byte| *byte == b',').next());
        let is_https = proto.map_or(is_tls, |proto| proto.trim_ascii().eq_ignore_ascii_case(b"https"));
        let hosts: Vec<&[u8]> = headers.get_all(HOST).iter().map(HeaderValue::as_bytes).collect();
        let host = Some(hosts.join(&b','.to_owned())).filter(|hosts| !hosts.is_empty());
        Client { address, is_https, host: host.and_then(|host| HeaderValue::from_maybe_shared(host).ok()) }
    }
}

/// An address, as some proxies write it: perhaps with a port, and an IPv6 address perhaps in brackets.
fn parse_address(text: &[u8]) -> Option<IpAddr> {
    let text = str::from_utf8(text).ok()?.trim();
    let in_brackets = || text.strip_prefix('[')?.strip_suffix(']')?.parse::<Ipv6Addr>().ok().map(IpAddr::from);
    let address = text.parse().ok().or_else(in_brackets);
    let address = address.or_else(|| text.parse().ok().map(|address: SocketAddr| address.ip()));
    address.map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(peer: &str, trusted: &[&str], headers: &[(HeaderName, &str)]) -> Client {
        let headers = headers.iter().map(|(name, value)| (name, HeaderValue::from_str(value).unwrap()));
        let mut map = HeaderMap::new();
        headers.for_each(|(name, value)| _ = map.append(name, value));
        let trusted: Vec<TrustedProxy> = trusted.iter().map(|text| text.parse().unwrap()).collect();
        Client::new(peer.parse().unwrap(), false, &map, &trusted)
    }

    #[test]
    fn the_client_is_the_last_address_that_is_not_that_of_a_trusted_proxy() {
        let trusted = ["127.0.0.1", "10.0.0.0/8", "2001:db8::/32"];
        for (peer, forwarded, want) in [
            ("127.0.0.1", &["192.0.2.7"][..], "192.0.2.7"),
            ("127.0.0.1", &["198.51.100.1, 192.0.2.7"], "192.0.2.7"),
            ("127.0.0.1", &["192.0.2.7, 10.1.2.3"], "192.0.2.7"),
            ("127.0.0.1", &["192.0.2.7", "10.1.2.3,127.0.0.1"], "192.0.2.7"),
            ("127.0.0.1", &["198.51.100.1", "192.0.2.7"], "192.0.2.7"),
            ("127.0.0.1", &["192.0.2.7:5555"], "192.0.2.7"),
            ("127.0.0.1", &["[2001:db9::1]:443"], "2001:db9::1"),
            ("127.0.0.1", &["[2001:db9::1]"], "2001:db9::1"),
            ("127.0.0.1", &["2001:db9::1"], "2001:db9::1"),
            ("127.0.0.1", &["::ffff:192.0.2.7"], "192.0.2.7"),
            ("::ffff:127.0.0.1", &["192.0.2.7"], "192.0.2.7"),
            ("2001:db8::5", &["192.0.2.7"], "192.0.2.7"),
            // All are proxies: the first of them has asked for itself.
            ("127.0.0.1", &["10.0.0.1, 10.0.0.2"], "10.0.0.1"),
            // What cannot be read says nothing of what is before it.
            ("127.0.0.1", &["192.0.2.7, unknown"], "127.0.0.1"),
            ("127.0.0.1", &["192.0.2.7, unknown, 10.0.0.1"], "10.0.0.1"),
            ("127.0.0.1", &["192.0.2.7,"], "127.0.0.1"),
            ("127.0.0.1", &[""], "127.0.0.1"),
            ("127.0.0.1", &[], "127.0.0.1"),
            ("127.0.0.2", &["192.0.2.7"], "127.0.0.2"),
            ("11.0.0.1", &["192.0.2.7"], "11.0.0.1"),
        ] {
            let headers: Vec<_> = forwarded.iter().map(|value| (FOR, *value)).collect();
            assert_eq!(client(peer, &trusted, &headers).address.to_string(), want, "{peer} {forwarded:?}");
        }
    }

    #[test]
    fn only_a_trusted_proxy_says_how_the_client_has_called_this_server() {
        let headers = [(PROTO, "https"), (HOST, "prompts.example.com")];
        let trusted = client("127.0.0.1", &["127.0.0.1"], &headers);
        assert!(trusted.is_https && trusted.host.unwrap() == "prompts.example.com");
        let other = client("127.0.0.1", &["127.0.0.2"], &headers);
        assert!(!other.is_https && other.host.is_none());
        for (proto, want) in
            [(&["http, https"][..], true), (&["https", "http"], false), (&["HTTPS"], true), (&[""], false)]
        {
            let headers: Vec<_> = proto.iter().map(|value| (PROTO, *value)).collect();
            assert_eq!(client("127.0.0.1", &["127.0.0.1"], &headers).is_https, want, "{proto:?}");
        }
        let two = client("127.0.0.1", &["127.0.0.1"], &[(HOST, "a"), (HOST, "b")]);
        assert_eq!(two.host.unwrap(), "a,b", "each of them is checked");
    }

    #[test]
    fn a_proxy_is_an_address_or_a_network_but_not_everybody() {
        for text in ["127.0.0.1", "::1", "10.0.0.0/8", "192.0.2.1/32", "128.0.0.0/1", "2001:db8::/32", "::/128"] {
            text.parse::<TrustedProxy>().unwrap();
        }
        for (text, part) in [
            ("localhost", "such as `127.0.0.1`"),
            ("127.0.0.1:80", "such as `127.0.0.1`"),
            ("10.0.0.0/33", "such as `127.0.0.1`"),
            ("10.0.0.0/", "such as `127.0.0.1`"),
            ("10.0.0.0/+8", "such as `127.0.0.1`"),
            ("", "such as `127.0.0.1`"),
            ("0.0.0.0/0", "everybody"),
            ("::/0", "everybody"),
            ("10.0.0.1/8", "10.0.0.0/8"),
            ("2001:db8::1/64", "2001:db8::/64"),
        ] {
            let error = text.parse::<TrustedProxy>().unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}

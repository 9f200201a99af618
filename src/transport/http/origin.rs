//! Which names of this server, and which web pages, are allowed in requests.
//!
//! A web page can have a name of its own resolve to this machine (DNS rebinding), and then send requests as if they were its own.
//! Its name is in the `Host` header of such a request, and in the `Origin` header of most. Programs send no `Origin`.

use super::proxy::Client;
use super::refusal::Refusal;
use crate::wording::quoted;
use axum::body::Body;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, HOST, ORIGIN, VARY,
};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, Version};
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

/// The request headers of MCP that a web page may send.
const REQUEST_HEADERS: &str = "content-type, accept, authorization, mcp-protocol-version, mcp-session-id, mcp-method, mcp-name, \
                               last-event-id, x-request-id";

/// The response headers that a web page may read.
const RESPONSE_HEADERS: &str = "mcp-session-id, www-authenticate, retry-after, x-request-id";

/// A name or an address that clients may use for this server, with any port if it has none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedHost {
    name: Name,
    port: Option<u16>,
}

/// A web page's origin: its scheme, host and port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedOrigin {
    scheme: Scheme,
    host: Name,
    port: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scheme {
    Http,
    Https,
}

impl Scheme {
    fn default_port(self) -> u16 {
        match self {
            Scheme::Http => 80,
            Scheme::Https => 443,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Name {
    Address(IpAddr),
    /// In lower case.
    Dns(String),
}

impl Name {
    /// A name, an IPv4 address, or an IPv6 address in brackets.
    fn parse(text: &str) -> Option<Name> {
        if let Some(address) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
            return address.parse::<Ipv6Addr>().ok().map(|address| Name::Address(address.into()));
        }
        if let Ok(address) = text.parse() {
            return Some(Name::Address(IpAddr::V4(address)));
        }
        let is_label = |label: &str| {
            !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        };
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        name.split('.').all(is_label).then_some(Name::Dns(name))
    }

    fn is_loopback(&self) -> bool {
        match self {
            Name::Address(address) => address.is_loopback(),
            Name::Dns(name) => name == "localhost",
        }
    }
}

/// `NAME`, `NAME:PORT`.
fn host_and_port(text: &str) -> Option<(Name, Option<u16>)> {
    let (host, port) = match text.rsplit_once(':').filter(|(_, port)| !port.ends_with(']')) {
        Some((host, port)) => {
            let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
            (host, Some(port.parse().ok().filter(|_| is_number)?))
        }
        None => (text, None),
    };
    Some((Name::parse(host)?, port))
}

impl FromStr for AllowedHost {
    type Err = String;

    fn from_str(text: &str) -> Result<AllowedHost, String> {
        let (name, port) = host_and_port(text).ok_or(
            "it must be a name or an address, such as `prompts.example.com` or `[2001:db8::1]`, and perhaps a port: \
             `prompts.example.com:8443`; there are no wildcards",
        )?;
        Ok(AllowedHost { name, port })
    }
}

impl FromStr for AllowedOrigin {
    type Err = String;

    fn from_str(text: &str) -> Result<AllowedOrigin, String> {
        parse_origin(text).ok_or_else(|| {
            "it must be the scheme, the host and, unless it is the default, the port of a web page, and nothing else: \
             `https://app.example.com`; there are no wildcards"
                .to_owned()
        })
    }
}

fn parse_origin(text: &str) -> Option<AllowedOrigin> {
    let (scheme, host) = text.split_once("://")?;
    let scheme = match scheme.to_ascii_lowercase().as_str() {
        "http" => Scheme::Http,
        "https" => Scheme::Https,
        _ => return None,
    };
    let (host, port) = host_and_port(host)?;
    Some(AllowedOrigin { scheme, host, port: port.unwrap_or(scheme.default_port()) })
}

/// The names and web pages that are allowed: those of this machine, the address that is listened on, those that were named, and
/// the pages of this server itself.
#[derive(Debug)]
pub struct Sites {
    bound: IpAddr,
    hosts: Vec<AllowedHost>,
    origins: Vec<AllowedOrigin>,
}

impl Sites {
    /// Those of a server that listens on this address, and further ones.
    pub fn new(bound: IpAddr, hosts: Vec<AllowedHost>, origins: Vec<AllowedOrigin>) -> Sites {
        Sites { bound, hosts, origins }
    }

    /// Returns the headers that let the web page that sent the request, if one did, read the response, whatever that is.
    ///
    /// # Errors
    /// 403: the name or the web page is not allowed. 400: there is no name, or more than one.
    pub(super) fn check(&self, head: &Parts, client: &Client) -> Result<HeaderMap, Refusal> {
        let own = self.check_host(head, client)?;
        let mut origins = head.headers.get_all(ORIGIN).into_iter();
        let Some(origin) = origins.next() else { return Ok(HeaderMap::new()) };
        let parsed = origin.to_str().ok().filter(|_| origins.next().is_none()).and_then(parse_origin);
        let is_own = |origin: &AllowedOrigin| {
            // A page that came without TLS, which somebody between may have written, has nothing to do with a server with TLS.
            let is_secure = origin.scheme == Scheme::Https || !client.is_https;
            let port = |port: &Option<u16>| port.unwrap_or(origin.scheme.default_port());
            is_secure && own.as_ref().is_some_and(|(host, own)| *host == origin.host && port(own) == origin.port)
        };
        let is_allowed =
            |origin: AllowedOrigin| origin.host.is_loopback() || is_own(&origin) || self.origins.contains(&origin);
        if !parsed.is_some_and(is_allowed) {
            let shown = String::from_utf8_lossy(origin.as_bytes());
            let message = format!(
                "web pages of {} may not use this server; to allow them, start the server with --allow-origin and their \
                 origin, such as `https://app.example.com`",
                quoted(&shown)
            );
            return Err(
                Refusal::new(StatusCode::FORBIDDEN, message).with_header(VARY, HeaderValue::from_static("origin"))
            );
        }
        let text = HeaderValue::from_static;
        let cors = [
            (ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone()),
            (ACCESS_CONTROL_EXPOSE_HEADERS, text(RESPONSE_HEADERS)),
            (VARY, text("origin")),
        ];
        Ok(cors.into_iter().collect())
    }

    /// The name, with its port, that the client has used for this server, if it has used one.
    fn check_host(&self, head: &Parts, client: &Client) -> Result<Option<(Name, Option<u16>)>, Refusal> {
        let mut hosts = head.headers.get_all(HOST).into_iter();
        let header = hosts.next();
        if hosts.next().is_some() {
            return Err(Refusal::new(StatusCode::BAD_REQUEST, "there is more than one Host header; send one"));
        }
        if header.is_none() && head.version >= Version::HTTP_11 {
            return Err(Refusal::new(StatusCode::BAD_REQUEST, "there is no Host header; send one"));
        }
        // A request line may have the name, too. A proxy may use either, so both must be allowed.
        let of_line = head.uri.authority().map(|authority| authority.as_str().as_bytes());
        // What a proxy says that the client has used is checked in addition: it never allows more. The first was the client's.
        let forwarded = client.host.iter().flat_map(|hosts| hosts.as_bytes().split(|byte| *byte == b','));
        let mut used = None;
        for host in forwarded.map(<[u8]>::trim_ascii).chain(header.map(HeaderValue::as_bytes)).chain(of_line) {
            let parsed = str::from_utf8(host).ok().and_then(host_and_port);
            let Some(parsed) = parsed.filter(|(name, port)| self.is_allowed(name, *port)) else {
                let message = format!(
                    "{} is not a name of this server; to allow it, start the server with --allow-host and this name",
                    quoted(&String::from_utf8_lossy(host))
                );
                return Err(Refusal::new(StatusCode::FORBIDDEN, message));
            };
            used.get_or_insert(parsed);
        }
        Ok(used)
    }

    fn is_allowed(&self, name: &Name, port: Option<u16>) -> bool {
        let is_bound = match name {
            // With `0.0.0.0` every address of this machine. A rebound name is never an address.
            Name::Address(address) => *address == self.bound || self.bound.is_unspecified(),
            Name::Dns(_) => false,
        };
        let is_named = |host: &AllowedHost| host.name == *name && host.port.is_none_or(|allowed| port == Some(allowed));
        name.is_loopback() || is_bound || self.hosts.iter().any(is_named)
    }
}

/// The answer to `OPTIONS`, with which a browser asks what a web page may do.
pub(super) fn preflight() -> Response<Body> {
    let text = HeaderValue::from_static;
    let headers = [
        (ACCESS_CONTROL_ALLOW_METHODS, text("GET, POST, DELETE, OPTIONS")),
        (ACCESS_CONTROL_ALLOW_HEADERS, text(REQUEST_HEADERS)),
        (ACCESS_CONTROL_MAX_AGE, text("600")),
    ];
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response.headers_mut().extend(headers);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sites(bound: &str) -> Sites {
        let hosts =
            ["prompts.example.com", "Proxy.example.com:8443", "[2001:db8::1]"].map(|text| text.parse().unwrap());
        let origins = ["https://app.example.com", "http://app.example.com:8080"].map(|text| text.parse().unwrap());
        Sites::new(bound.parse().unwrap(), hosts.into(), origins.into())
    }

    /// A client without a proxy.
    fn client(is_https: bool, host: Option<&str>) -> Client {
        let host = host.map(|host| HeaderValue::from_str(host).unwrap());
        Client { address: "192.0.2.9".parse().unwrap(), is_https, host }
    }

    /// A request for this URI with these headers.
    fn head(uri: &str, headers: &[(&'static str, &str)]) -> Parts {
        let mut head = axum::http::Request::get(uri).body(()).unwrap().into_parts().0;
        for (name, value) in headers {
            head.headers.append(*name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        head
    }

    fn status_for(sites: &Sites, client: &Client, headers: &[(&'static str, &str)]) -> u16 {
        sites.check(&head("/mcp", headers), client).map_or_else(|refusal| refusal.status.as_u16(), |_| 200)
    }

    /// The status of a request with these headers; 200 if it is allowed.
    fn status(sites: &Sites, headers: &[(&'static str, &str)]) -> u16 {
        status_for(sites, &client(false, None), headers)
    }

    #[test]
    fn only_names_of_this_machine_and_allowed_ones_are_hosts() {
        let sites = sites("192.0.2.1");
        for (host, want) in [
            ("localhost", 200),
            ("LOCALHOST:3333", 200),
            ("localhost.", 200),
            ("127.0.0.1:1", 200),
            ("[::1]:3333", 200),
            ("192.0.2.1:3333", 200),
            ("prompts.example.com", 200),
            ("Prompts.Example.com:443", 200),
            ("proxy.example.com:8443", 200),
            ("[2001:db8:0::1]:80", 200),
            ("192.0.2.2", 403),
            ("proxy.example.com", 403),
            ("proxy.example.com:443", 403),
            ("evil.example.com", 403),
            ("localhost.evil.example.com", 403),
            ("xlocalhost", 403),
            ("evil@localhost", 403),
            ("localhost@evil.example.com", 403),
            ("localhost:3333:3333", 403),
            ("localhost:", 403),
            ("localhost:+80", 403),
            ("localhost:99999", 403),
            ("localhost/", 403),
            ("localhost evil", 403),
            ("[::1", 403),
            ("::1", 403),
            ("0.0.0.0", 403),
            ("2130706433", 403),
            ("", 403),
            (":3333", 403),
            ("loc\u{e9}lhost", 403),
        ] {
            assert_eq!(status(&sites, &[("host", host)]), want, "{host}");
        }
        assert_eq!(status(&sites, &[]), 400);
        assert_eq!(status(&sites, &[("host", "localhost"), ("host", "localhost")]), 400);
        let mut old = head("/mcp", &[]);
        old.version = Version::HTTP_10;
        assert!(sites.check(&old, &client(false, None)).is_ok());
        let absolute = head("http://evil.example.com/mcp", &[("host", "localhost")]);
        assert_eq!(sites.check(&absolute, &client(false, None)).unwrap_err().status, 403);
    }

    #[test]
    fn the_name_that_a_proxy_passes_on_must_be_allowed_too() {
        let sites = sites("127.0.0.1");
        for (host, forwarded, want) in [
            ("127.0.0.1:3333", "prompts.example.com", 200),
            ("127.0.0.1:3333", "prompts.example.com, localhost:80", 200),
            ("127.0.0.1:3333", "evil.example.com", 403),
            ("127.0.0.1:3333", "prompts.example.com, evil.example.com", 403),
            ("127.0.0.1:3333", "", 403),
            ("evil.example.com", "prompts.example.com", 403),
        ] {
            assert_eq!(
                status_for(&sites, &client(true, Some(forwarded)), &[("host", host)]),
                want,
                "{host} {forwarded}"
            );
        }
    }

    #[test]
    fn pages_of_this_server_itself_may_use_it() {
        let sites = sites("127.0.0.1");
        let name = "prompts.example.com";
        for (is_https, host, forwarded, origin, want) in [
            (true, name, None, "https://prompts.example.com", 200),
            (true, name, None, "https://PROMPTS.example.com:443", 200),
            (true, "prompts.example.com:8443", None, "https://prompts.example.com:8443", 200),
            (true, "127.0.0.1:3333", Some(name), "https://prompts.example.com", 200),
            (false, name, None, "http://prompts.example.com", 200),
            // A proxy that ends TLS, and is not trusted to say so.
            (false, name, None, "https://prompts.example.com", 200),
            (true, name, None, "http://prompts.example.com", 403),
            (true, "prompts.example.com:443", None, "http://prompts.example.com:443", 403),
            (true, "prompts.example.com:8443", None, "https://prompts.example.com", 403),
            (true, name, None, "https://prompts.example.com:8443", 403),
            (true, name, None, "https://x.prompts.example.com", 403),
            (false, "127.0.0.1:3333", None, "https://prompts.example.com", 403),
            (false, "evil.example.com", None, "http://evil.example.com", 403),
        ] {
            let status = status_for(&sites, &client(is_https, forwarded), &[("host", host), ("origin", origin)]);
            assert_eq!(status, want, "{is_https} {host} {forwarded:?} {origin}");
        }
    }

    #[test]
    fn a_server_on_all_addresses_has_every_address_and_no_name() {
        for (bound, address) in [("0.0.0.0", "192.0.2.7"), ("::", "[2001:db8::7]:3333")] {
            assert_eq!(status(&sites(bound), &[("host", address)]), 200);
            assert_eq!(status(&sites(bound), &[("host", "evil.example.com")]), 403);
        }
    }

    #[test]
    fn only_pages_of_this_machine_and_allowed_ones_are_origins() {
        for (origin, want) in [
            ("http://localhost", 200),
            ("https://localhost:8443", 200),
            ("http://127.0.0.1:5173", 200),
            ("http://[::1]", 200),
            ("https://app.example.com", 200),
            ("https://APP.example.com:443", 200),
            ("http://app.example.com:8080", 200),
            ("http://app.example.com", 403),
            ("https://app.example.com:8443", 403),
            ("https://app.example.com/", 403),
            ("https://x.app.example.com", 403),
            ("https://app.example.com.evil.example", 403),
            ("https://prompts.example.com", 403),
            ("http://localhost.evil.example", 403),
            ("http://localhost@evil.example", 403),
            ("ftp://localhost", 403),
            ("file://", 403),
            ("localhost", 403),
            ("null", 403),
            ("*", 403),
            ("", 403),
            ("http://localhost http://evil.example", 403),
        ] {
            assert_eq!(status(&sites("127.0.0.1"), &[("host", "localhost"), ("origin", origin)]), want, "{origin}");
        }
        let two = [("host", "localhost"), ("origin", "http://localhost"), ("origin", "http://localhost")];
        assert_eq!(status(&sites("127.0.0.1"), &two), 403);
    }

    #[test]
    fn an_allowed_page_may_read_the_response_and_the_session_id() {
        let head = head("/mcp", &[("host", "localhost"), ("origin", "https://app.example.com")]);
        let cors = sites("127.0.0.1").check(&head, &client(false, None)).unwrap();
        assert_eq!(cors["access-control-allow-origin"], "https://app.example.com");
        assert_eq!(cors["vary"], "origin");
        assert!(cors["access-control-expose-headers"].to_str().unwrap().starts_with("mcp-session-id"));
    }

    #[test]
    fn a_value_with_a_wildcard_or_a_path_cannot_be_allowed() {
        for text in
            ["*", "*.example.com", "https://example.com", "example.com/", "a b", "", "example.com:0x1", "null:null"]
        {
            assert!(text.parse::<AllowedHost>().is_err(), "{text}");
        }
        for text in ["*", "null", "example.com", "https://*", "https://example.com/app", "https://", "ws://example.com"]
        {
            assert!(text.parse::<AllowedOrigin>().is_err(), "{text}");
        }
    }
}

//! Which names of this server, and which web pages, are allowed in requests.
//!
//! A web page can have a name of its own resolve to this machine (DNS rebinding), and then send
//! requests as if they were its own. Its name is in the `Host` header of such a request, and in the
//! `Origin` header of most.
//!
//! A page can also have the browser load something without an `Origin`, as with `<object>` or a
//! prefetch, and find out whether that worked. Such requests have the header `Sec-Fetch-Site`
//! (Fetch Metadata Request Headers). Programs send neither header.

use super::headers;
use super::proxy::Client;
use super::refusal::Refusal;
use crate::wording::quoted;
use axum::http::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderName, ORIGIN, RETRY_AFTER, VARY,
    WWW_AUTHENTICATE,
};
use axum::http::uri::Authority;
use axum::http::{HeaderValue, Method, Request, StatusCode, Version};
use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;
use tower_http::cors::{AllowOrigin, CorsLayer};

/// For which page a browser sent a request, how, and what it will do with the answer.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// A name or an address that clients may use for this server, with any port if it has none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedHost {
    name: Name,
    port: Option<u16>,
}

/// A web page's origin: its scheme, host and port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedOrigin {
    is_https: bool,
    host: Name,
    port: u16,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Name {
    Address(IpAddr),
    /// In lower case.
    Dns(String),
}

impl Name {
    fn is_loopback(&self) -> bool {
        match self {
            Name::Address(address) => address.is_loopback(),
            Name::Dns(name) => name == "localhost",
        }
    }
}

impl FromStr for AllowedHost {
    type Err = String;

    fn from_str(text: &str) -> Result<AllowedHost, String> {
        let authority = text
            .parse::<Authority>()
            .ok()
            .filter(|authority| !authority.as_str().contains(['@', '*']));
        let form = "it must be a name or an address, and perhaps a port: `prompts.example.com:8443`, `[2001:db8::1]`";
        let authority = authority.ok_or_else(|| form.to_owned())?;
        let host = authority.host();
        let address = host
            .trim_start_matches('[')
            .trim_end_matches(']')
            .parse()
            .map(Name::Address);
        let dns = |_| Name::Dns(host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase());
        Ok(AllowedHost {
            name: address.unwrap_or_else(dns),
            port: authority.port_u16(),
        })
    }
}

impl FromStr for AllowedOrigin {
    type Err = String;

    fn from_str(text: &str) -> Result<AllowedOrigin, String> {
        let (scheme, host) = text.split_once("://").unwrap_or_default();
        let (is_https, host) = (scheme.eq_ignore_ascii_case("https"), host.parse().ok());
        let host = host.filter(|_| is_https || scheme.eq_ignore_ascii_case("http"));
        let form = "it must be the scheme, the host and perhaps the port of a web page: `https://app.example.com`";
        let AllowedHost { name: host, port } = host.ok_or_else(|| form.to_owned())?;
        Ok(AllowedOrigin {
            is_https,
            host,
            port: port.unwrap_or(default_port(is_https)),
        })
    }
}

fn default_port(is_https: bool) -> u16 {
    if is_https { 443 } else { 80 }
}

/// The names and web pages that are allowed: those of this machine, the address that is listened
/// on, those that were named, and the pages of this server itself.
#[derive(Debug)]
pub struct Sites {
    /// The address that is listened on.
    pub bound: IpAddr,
    /// Further names.
    pub hosts: Vec<AllowedHost>,
    /// Web pages of others.
    pub origins: Vec<AllowedOrigin>,
}

impl Sites {
    /// # Errors
    /// 403: the name or the web page is not allowed. 400: there is no name, or more than one.
    pub(super) fn check<B>(&self, request: &Request<B>, client: &Client) -> Result<(), Refusal> {
        let own = self.check_host(request, client)?;
        let mut origins = request.headers().get_all(ORIGIN).into_iter();
        let Some(origin) = origins.next() else {
            return check_fetch_metadata(request);
        };
        let parsed = origin
            .to_str()
            .ok()
            .filter(|_| origins.next().is_none())
            .and_then(|text| text.parse().ok());
        let is_own = |origin: &AllowedOrigin| {
            // A page that came without TLS, which somebody between may have written, has nothing to
            // do with a server with TLS.
            let is_secure = origin.is_https || !client.is_https;
            let port = |own: &AllowedHost| own.port.unwrap_or(default_port(origin.is_https));
            is_secure
                && own
                    .as_ref()
                    .is_some_and(|own| own.name == origin.host && port(own) == origin.port)
        };
        let is_allowed = |origin: &AllowedOrigin| {
            origin.host.is_loopback() || is_own(origin) || self.origins.contains(origin)
        };
        if parsed.as_ref().is_some_and(is_allowed) {
            return Ok(());
        }
        let message = format!(
            "web pages of {} may not use this server; to allow them, start the server with --allow-origin and their origin",
            quoted(&String::from_utf8_lossy(origin.as_bytes()))
        );
        Err(Refusal::new(StatusCode::FORBIDDEN, message)
            .with_header(VARY, HeaderValue::from_static("origin")))
    }

    /// The name, with its port, that the client has used for this server, if it has used one.
    fn check_host<B>(
        &self,
        request: &Request<B>,
        client: &Client,
    ) -> Result<Option<AllowedHost>, Refusal> {
        let headers = request.headers();
        let mut hosts = headers.get_all(HOST).into_iter();
        let header = hosts.next();
        if hosts.next().is_some() || (header.is_none() && request.version() >= Version::HTTP_11) {
            return Err(Refusal::new(
                StatusCode::BAD_REQUEST,
                "a request must have one Host header",
            ));
        }
        // A request line may have the name, too. A proxy may use either, so both must be allowed.
        // What a proxy says that the client has used is checked in addition: it never allows more.
        // Of several such values, the first is the client's.
        let forwarded = headers
            .get_all("x-forwarded-host")
            .into_iter()
            .filter(|_| client.is_behind_proxy);
        let forwarded = forwarded
            .flat_map(|hosts| hosts.as_bytes().split(|byte| *byte == b','))
            .map(<[u8]>::trim_ascii);
        let of_line = request
            .uri()
            .authority()
            .map(|authority| authority.as_str().as_bytes());
        let mut used = None;
        for host in forwarded
            .chain(header.map(HeaderValue::as_bytes))
            .chain(of_line)
        {
            let parsed = str::from_utf8(host).ok().and_then(|host| host.parse().ok());
            let Some(parsed) = parsed.filter(|host| self.is_allowed(host)) else {
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

    fn is_allowed(&self, host: &AllowedHost) -> bool {
        let is_bound = match &host.name {
            // With `0.0.0.0` every address of this machine. A rebound name is never an address.
            Name::Address(address) => *address == self.bound || self.bound.is_unspecified(),
            Name::Dns(_) => false,
        };
        let is_named = |allowed: &AllowedHost| {
            allowed.name == host.name && (allowed.port.is_none() || allowed.port == host.port)
        };
        host.name.is_loopback() || is_bound || self.hosts.iter().any(is_named)
    }
}

/// Checks a request without an `Origin`: if a browser sent it for a page of another server, it may
/// only open a page of this server, as a link does.
///
/// # Errors
/// 403: it was sent for anything else, or a header is invalid.
fn check_fetch_metadata<B>(request: &Request<B>) -> Result<(), Refusal> {
    let is_own = |site: &HeaderValue| site == "same-origin" || site == "none";
    let headers = request.headers();
    if headers.get_all(FETCH_SITE).iter().all(is_own) {
        return Ok(());
    }
    let is_navigation = headers
        .get(FETCH_MODE)
        .is_some_and(|mode| mode == "navigate")
        && headers
            .get(FETCH_DEST)
            .is_some_and(|dest| dest == "document");
    if is_navigation && headers::is_page(request.uri().path()) {
        return Ok(());
    }
    let message = "web pages of other servers may only link to the page of this server; to allow more, start the server with --allow-origin and their origin";
    Err(Refusal::new(StatusCode::FORBIDDEN, message)
        .with_header(VARY, HeaderValue::from_name(FETCH_SITE)))
}

/// What a web page may send and read. Only requests of allowed pages get here.
pub(super) fn cors() -> CorsLayer {
    let of_mcp = [
        "mcp-protocol-version",
        "mcp-session-id",
        "mcp-method",
        "mcp-name",
        "last-event-id",
        "x-request-id",
    ];
    let of_mcp = of_mcp.map(HeaderName::from_static);
    CorsLayer::new()
        .allow_origin(AllowOrigin::mirror_request())
        .allow_methods([Method::GET, Method::POST, Method::PUT, Method::DELETE])
        .allow_headers(
            [CONTENT_TYPE, ACCEPT, AUTHORIZATION]
                .into_iter()
                .chain(of_mcp.clone())
                .collect::<Vec<_>>(),
        )
        .expose_headers([
            of_mcp[1].clone(),
            of_mcp[5].clone(),
            WWW_AUTHENTICATE,
            RETRY_AFTER,
        ])
        .max_age(Duration::from_secs(600))
}

#[cfg(test)]
mod tests {
    use super::super::proxy::Peer;
    use super::*;
    use axum::http::HeaderMap;

    fn sites(bound: &str) -> Sites {
        let hosts = [
            "prompts.example.com",
            "Proxy.example.com:8443",
            "[2001:db8::1]",
        ]
        .map(|text| text.parse().unwrap());
        let origins = ["https://app.example.com", "http://app.example.com:8080"]
            .map(|text| text.parse().unwrap());
        Sites {
            bound: bound.parse().unwrap(),
            hosts: hosts.into(),
            origins: origins.into(),
        }
    }

    /// The status of a request with these headers, which comes from a trusted proxy or not; 200 if
    /// it is allowed.
    fn status_from(
        sites: &Sites,
        is_https: bool,
        is_behind_proxy: bool,
        headers: &[(&'static str, &str)],
    ) -> u16 {
        let peer = Peer::new(sites.bound, is_https, 1, None, ());
        let mut client = Client::new(&peer, &HeaderMap::new(), &[], None);
        client.is_behind_proxy = is_behind_proxy;
        let mut request = Request::get("/mcp").body(()).unwrap();
        for (name, value) in headers {
            request
                .headers_mut()
                .append(*name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        sites
            .check(&request, &client)
            .map_or_else(|refusal| refusal.status.as_u16(), |()| 200)
    }

    fn status(sites: &Sites, headers: &[(&'static str, &str)]) -> u16 {
        status_from(sites, false, false, headers)
    }

    #[test]
    fn only_names_of_this_machine_and_allowed_ones_are_hosts() {
        let sites = sites("192.0.2.1");
        for (host, want) in [
            ("localhost", 200),
            ("localhost.", 200),
            ("[::1]:3333", 200),
            ("192.0.2.1:3333", 200),
            ("prompts.example.com", 200),
            ("proxy.example.com:8443", 200),
            ("192.0.2.2", 403),
            ("proxy.example.com", 403),
            ("localhost.evil.example.com", 403),
            ("evil@localhost", 403),
            ("localhost:3333:3333", 403),
            ("[::1", 403),
            ("2130706433", 403),
            ("", 403),
            ("loc\u{e9}lhost", 403),
        ] {
            assert_eq!(status(&sites, &[("host", host)]), want, "{host}");
        }
        assert_eq!(status(&sites, &[]), 400);
        assert_eq!(
            status(&sites, &[("host", "localhost"), ("host", "localhost")]),
            400
        );
    }

    #[test]
    fn the_name_that_a_proxy_passes_on_must_be_allowed_too() {
        let sites = sites("127.0.0.1");
        for (host, forwarded, want) in [
            ("127.0.0.1:3333", "prompts.example.com", 200),
            ("127.0.0.1:3333", "prompts.example.com, localhost:80", 200),
            ("127.0.0.1:3333", "evil.example.com", 403),
            (
                "127.0.0.1:3333",
                "prompts.example.com, evil.example.com",
                403,
            ),
            ("evil.example.com", "prompts.example.com", 403),
        ] {
            let headers = [("host", host), ("x-forwarded-host", forwarded)];
            assert_eq!(
                status_from(&sites, true, true, &headers),
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
            (
                true,
                "127.0.0.1:3333",
                Some(name),
                "https://prompts.example.com",
                200,
            ),
            (false, name, None, "http://prompts.example.com", 200),
            // A proxy that ends TLS, and is not trusted to say so.
            (false, name, None, "https://prompts.example.com", 200),
            (true, name, None, "http://prompts.example.com", 403),
            (
                true,
                "prompts.example.com:8443",
                None,
                "https://prompts.example.com",
                403,
            ),
            (true, name, None, "https://x.prompts.example.com", 403),
            (
                false,
                "127.0.0.1:3333",
                None,
                "https://prompts.example.com",
                403,
            ),
            (
                false,
                "evil.example.com",
                None,
                "http://evil.example.com",
                403,
            ),
        ] {
            let mut headers = vec![("host", host), ("origin", origin)];
            headers.extend(forwarded.map(|name| ("x-forwarded-host", name)));
            let status = status_from(&sites, is_https, forwarded.is_some(), &headers);
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
            ("https://localhost:8443", 200),
            ("http://127.0.0.1:5173", 200),
            ("https://APP.example.com:443", 200),
            ("http://app.example.com", 403),
            ("https://app.example.com:8443", 403),
            ("https://app.example.com.evil.example", 403),
            ("https://prompts.example.com", 403),
            ("http://localhost@evil.example", 403),
            ("null", 403),
            ("http://localhost http://evil.example", 403),
        ] {
            assert_eq!(
                status(
                    &sites("127.0.0.1"),
                    &[("host", "localhost"), ("origin", origin)]
                ),
                want,
                "{origin}"
            );
        }
        let two = [
            ("host", "localhost"),
            ("origin", "http://localhost"),
            ("origin", "http://localhost"),
        ];
        assert_eq!(status(&sites("127.0.0.1"), &two), 403);
    }

    #[test]
    fn a_value_with_a_wildcard_or_a_path_cannot_be_allowed() {
        for text in [
            "*",
            "*.example.com",
            "https://example.com",
            "example.com/",
            "a b",
            "",
        ] {
            assert!(text.parse::<AllowedHost>().is_err(), "{text}");
        }
        for text in [
            "*",
            "null",
            "example.com",
            "https://*",
            "https://example.com/app",
            "https://",
            "ws://example.com",
        ] {
            assert!(text.parse::<AllowedOrigin>().is_err(), "{text}");
        }
    }
}

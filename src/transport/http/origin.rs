//! Checks the host and the origin of requests, so that malicious web pages can't use the server.
//!
//! A web page can make its own domain resolve to this machine (DNS rebinding). The browser then
//! takes this server for the page's own. But the `Host` header of each request, and the `Origin`
//! header of most, still contains the page's domain.
//!
//! A page can also make the browser load a URL without `Origin`, e.g. with `<object>` or a
//! prefetch, and find out whether that has succeeded. Such a request has the header
//! `Sec-Fetch-Site` (Fetch Metadata Request Headers). Clients other than browsers send neither of
//! the two headers.

use super::headers;
use super::proxy::{Client, REQUEST_ID};
use super::refusal::Refusal;
use crate::wording::quoted;
use axum::http::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderName, ORIGIN, RETRY_AFTER, VARY,
    WWW_AUTHENTICATE,
};
use axum::http::uri::Authority;
use axum::http::{Method, Request, StatusCode, Version};
use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;
use tower_http::cors::{AllowOrigin, CorsLayer};

const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");

/// How the page that causes a request is related to this server, e.g. `cross-site`.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// How the browser sends the request, e.g. `navigate`.
const FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
/// What the browser will use the response for, e.g. `document`.
const FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

const HOST_SYNTAX: &str = "it must be a name or an address, with an optional port: `prompts.example.com:8443`, `[2001:db8::1]`";
const ORIGIN_SYNTAX: &str = "it must be the scheme, the host and, if it is not the default, the port of a web page: \
                             `https://app.example.com`";

/// A host name or IP address under which clients may use this server. Without a port, any port is
/// allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedHost {
    name: HostName,
    port: Option<u16>,
}

/// The origin of a web page: its scheme, host and port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedOrigin {
    is_https: bool,
    host: HostName,
    port: u16,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum HostName {
    Address(IpAddr),
    /// In lower case.
    Dns(String),
}

impl HostName {
    fn is_loopback(&self) -> bool {
        match self {
            HostName::Address(address) => address.is_loopback(),
            HostName::Dns(name) => name == "localhost",
        }
    }
}

impl FromStr for AllowedHost {
    type Err = String;

    /// Parses a host name or address with an optional port: `prompts.example.com:8443`,
    /// `127.0.0.1`, `[2001:db8::1]`. Converts a name to lower case, and removes a dot at its end.
    ///
    /// # Errors
    /// Fails if the syntax is invalid. The error shows the syntax.
    fn from_str(text: &str) -> Result<AllowedHost, String> {
        let Ok(authority) = text.parse::<Authority>() else {
            return Err(HOST_SYNTAX.to_owned());
        };
        let has_user_or_wildcard = text.contains(['@', '*']);
        if has_user_or_wildcard {
            return Err(HOST_SYNTAX.to_owned());
        }
        let host = authority.host();
        let name = match host.trim_matches(['[', ']']).parse() {
            Ok(address) => HostName::Address(address),
            Err(_) => HostName::Dns(host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()),
        };
        let port = authority.port_u16();
        Ok(AllowedHost { name, port })
    }
}

impl FromStr for AllowedOrigin {
    type Err = String;

    /// Parses an origin with an optional port: `https://app.example.com`.
    ///
    /// # Errors
    /// Fails if the syntax is invalid. The error shows the syntax.
    fn from_str(text: &str) -> Result<AllowedOrigin, String> {
        parse_origin(text).ok_or_else(|| ORIGIN_SYNTAX.to_owned())
    }
}

/// Parses an origin, e.g. `https://app.example.com` as HTTPS, `app.example.com` and port 443.
/// Returns `None` if the syntax is invalid or the scheme is neither `http` nor `https`.
fn parse_origin(text: &str) -> Option<AllowedOrigin> {
    let (scheme, host) = text.split_once("://")?;
    let is_https = match scheme.to_ascii_lowercase().as_str() {
        "https" => true,
        "http" => false,
        _ => return None,
    };
    let host: AllowedHost = host.parse().ok()?;
    Some(AllowedOrigin {
        is_https,
        host: host.name,
        port: host.port.unwrap_or(default_port(is_https)),
    })
}

fn default_port(is_https: bool) -> u16 {
    if is_https { 443 } else { 80 }
}

/// The hosts and origins that are allowed in addition to those of this machine.
#[derive(Debug)]
pub struct AllowedSites {
    /// The address that the server listens on. It is an allowed host, too.
    pub listen_address: IpAddr,
    /// Further hosts (`--allow-host`).
    pub hosts: Vec<AllowedHost>,
    /// The origins of other servers' pages (`--allow-origin`).
    pub origins: Vec<AllowedOrigin>,
}

impl AllowedSites {
    /// Checks that a request uses an allowed host, and comes from an allowed web page or from a
    /// client that isn't a browser.
    ///
    /// # Errors
    /// Fails with 403 if the host or the web page isn't allowed, and 400 if `Host` is missing or
    /// repeated.
    pub(super) fn check<B>(&self, request: &Request<B>, client: &Client) -> Result<(), Refusal> {
        let requested_host = self.check_hosts(request, client)?;
        let mut origins = request.headers().get_all(ORIGIN).into_iter();
        let Some(header) = origins.next() else {
            return check_fetch_metadata(request);
        };
        let is_repeated = origins.next().is_some();
        if !is_repeated
            && let Some(origin) = header.to_str().ok().and_then(parse_origin)
            && self.is_origin_allowed(&origin, requested_host.as_ref(), client)
        {
            return Ok(());
        }
        let origin = quoted(&String::from_utf8_lossy(header.as_bytes()));
        let message = format!(
            "web pages of {origin} may not use this server; its operator can allow their origin (allow-origin)"
        );
        Err(web_page_refusal(message, ORIGIN))
    }

    /// Returns `true` for origins on this machine, the allowed origins of others, and this server's
    /// own origin. The last one is derived from `requested_host`, the host that the client has
    /// used.
    fn is_origin_allowed(
        &self,
        origin: &AllowedOrigin,
        requested_host: Option<&AllowedHost>,
        client: &Client,
    ) -> bool {
        if origin.host.is_loopback() || self.origins.contains(origin) {
            return true;
        }
        let Some(server) = requested_host else {
            return false;
        };
        let server_port = server.port.unwrap_or(default_port(origin.is_https));
        // An attacker on the network could have changed a page that was loaded without TLS.
        let is_downgrade = client.is_https && !origin.is_https;
        !is_downgrade && server.name == origin.host && server_port == origin.port
    }

    /// Checks every host in a request, and returns the one that the client has requested.
    ///
    /// The host can be in the `Host` header and in the request line. A proxy may route by either,
    /// so both are checked. If the client is behind a trusted proxy, every `X-Forwarded-Host` is
    /// checked in addition, and the first one is the requested host.
    ///
    /// # Errors
    /// Fails with 403 if a host isn't allowed, and 400 if `Host` is missing or repeated.
    fn check_hosts<B>(
        &self,
        request: &Request<B>,
        client: &Client,
    ) -> Result<Option<AllowedHost>, Refusal> {
        let headers = request.headers();
        let mut host_headers = headers.get_all(HOST).into_iter();
        let host_header = host_headers.next();
        let is_missing = host_header.is_none() && request.version() >= Version::HTTP_11;
        let is_repeated = host_headers.next().is_some();
        if is_missing || is_repeated {
            return Err(Refusal::new(
                StatusCode::BAD_REQUEST,
                "a request must have one Host header",
            ));
        }
        // In this order: the first host is the requested one.
        let mut hosts = Vec::new();
        if client.is_behind_proxy {
            for forwarded_host in headers::items(headers, &FORWARDED_HOST) {
                hosts.push(self.parse_allowed(forwarded_host)?);
            }
        }
        if let Some(host_header) = host_header {
            hosts.push(self.parse_allowed(host_header.as_bytes())?);
        }
        if let Some(authority) = request.uri().authority() {
            hosts.push(self.parse_allowed(authority.as_str().as_bytes())?);
        }
        Ok(hosts.into_iter().next())
    }

    /// Parses a host, and checks that it is allowed.
    ///
    /// # Errors
    /// Fails with 403 if the host is invalid or isn't allowed.
    fn parse_allowed(&self, text: &[u8]) -> Result<AllowedHost, Refusal> {
        let text = String::from_utf8_lossy(text);
        if let Ok(host) = text.parse::<AllowedHost>()
            && self.is_host_allowed(&host)
        {
            return Ok(host);
        }
        let name = quoted(&text);
        let message = format!(
            "{name} is not a name of this server; its operator can allow this name (allow-host)"
        );
        Err(Refusal::new(StatusCode::FORBIDDEN, message))
    }

    /// Returns `true` for loopback names and addresses (e.g. `localhost`), the listen address, and
    /// the configured hosts.
    fn is_host_allowed(&self, host: &AllowedHost) -> bool {
        if host.name.is_loopback() {
            return true;
        }
        // If the server listens on all addresses (`0.0.0.0`), it may have any of them. DNS
        // rebinding can't abuse that, because it needs a name.
        if let HostName::Address(address) = host.name
            && (address == self.listen_address || self.listen_address.is_unspecified())
        {
            return true;
        }
        self.hosts.iter().any(|allowed| {
            allowed.name == host.name && (allowed.port.is_none() || allowed.port == host.port)
        })
    }
}

/// Checks a request without `Origin`. If a browser sends it on behalf of another server's page, it
/// may only open a page of this server, as a link does.
///
/// # Errors
/// Fails with 403 if the request is for anything else.
fn check_fetch_metadata<B>(request: &Request<B>) -> Result<(), Refusal> {
    let headers = request.headers();
    let mut fetch_sites = headers.get_all(FETCH_SITE).iter(); // none if it isn't from a browser
    if fetch_sites.all(|site| site == "same-origin" || site == "none") {
        return Ok(());
    }
    let opens_document = headers
        .get(FETCH_MODE)
        .is_some_and(|mode| mode == "navigate")
        && headers
            .get(FETCH_DEST)
            .is_some_and(|dest| dest == "document");
    if opens_document && headers::is_page_path(request.uri().path()) {
        return Ok(());
    }
    let message = "web pages of other servers may only link to the page of this server; its operator can allow their origin (allow-origin)";
    Err(web_page_refusal(message.to_owned(), FETCH_SITE))
}

/// Returns a 403 refusal for a web page. With `Vary`, caches don't return it for requests in which
/// `deciding_header` has another value.
fn web_page_refusal(message: String, deciding_header: HeaderName) -> Refusal {
    Refusal::new(StatusCode::FORBIDDEN, message).with_header(VARY, deciding_header)
}

/// Returns the CORS layer, which tells browsers what a web page may send and read. It allows every
/// origin, because [`AllowedSites::check`] has already refused the others.
pub(super) fn cors() -> CorsLayer {
    CorsLayer::new()
        .allow_origin(AllowOrigin::mirror_request())
        .allow_methods([Method::GET, Method::POST, Method::PUT, Method::DELETE])
        .allow_headers([
            CONTENT_TYPE,
            ACCEPT,
            AUTHORIZATION,
            headers::PROTOCOL_VERSION,
            headers::SESSION_ID,
            headers::METHOD,
            headers::NAME,
            headers::LAST_EVENT_ID,
            REQUEST_ID,
        ])
        .expose_headers([
            headers::SESSION_ID,
            REQUEST_ID,
            WWW_AUTHENTICATE,
            RETRY_AFTER,
        ])
        .max_age(Duration::from_secs(600))
}

#[cfg(test)]
mod tests {
    use super::super::proxy::{NewConnection, Peer};
    use super::*;
    use axum::http::{HeaderMap, HeaderValue};

    fn sites(listen_address: &str) -> AllowedSites {
        let hosts = [
            "prompts.example.com",
            "Proxy.example.com:8443",
            "[2001:db8::1]",
        ]
        .map(|text| text.parse().unwrap());
        let origins = ["https://app.example.com", "http://app.example.com:8080"]
            .map(|text| text.parse().unwrap());
        AllowedSites {
            listen_address: listen_address.parse().unwrap(),
            hosts: hosts.into(),
            origins: origins.into(),
        }
    }

    /// Returns the status of the refusal of a request with these headers, or 200 if it is allowed.
    fn status_from(
        sites: &AllowedSites,
        is_https: bool,
        is_behind_proxy: bool,
        headers: &[(&'static str, &str)],
    ) -> u16 {
        let connection = NewConnection {
            address: sites.listen_address,
            is_tls: is_https,
            number: 1,
            incomplete_requests: None,
        };
        let peer = Peer::new(connection, ());
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

    fn status(sites: &AllowedSites, headers: &[(&'static str, &str)]) -> u16 {
        status_from(sites, false, false, headers)
    }

    #[test]
    fn only_names_of_this_machine_and_allowed_hosts_are_accepted() {
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
    fn a_forwarded_host_must_be_allowed_too() {
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
    fn the_own_origin_of_the_server_is_accepted() {
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
    fn a_server_on_all_addresses_accepts_any_address_but_no_name() {
        for (listen_address, address) in [("0.0.0.0", "192.0.2.7"), ("::", "[2001:db8::7]:3333")] {
            assert_eq!(status(&sites(listen_address), &[("host", address)]), 200);
            assert_eq!(
                status(&sites(listen_address), &[("host", "evil.example.com")]),
                403
            );
        }
    }

    #[test]
    fn only_origins_on_this_machine_and_allowed_origins_are_accepted() {
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
    fn a_host_or_origin_with_a_wildcard_or_path_is_invalid() {
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

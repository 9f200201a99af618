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

/// For which page a browser sent a request, how, and what it will do with the answer.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

const HOST_FORM: &str = "it must be a name or an address, and perhaps a port: `prompts.example.com:8443`, `[2001:db8::1]`";
const ORIGIN_FORM: &str =
    "it must be the scheme, the host and perhaps the port of a web page: `https://app.example.com`";

/// A name or an address that clients may use for this server, with any port if it has none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedHost {
    name: HostName,
    port: Option<u16>,
}

/// A web page's origin: its scheme, host and port.
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

    /// Parses a name or an address with an optional port: `Prompts.example.com.:8443` becomes the
    /// name `prompts.example.com` and the port 8443, and `[2001:db8::1]` an address without a port.
    ///
    /// # Errors
    /// The form that the text must have.
    fn from_str(text: &str) -> Result<AllowedHost, String> {
        let Ok(authority) = text.parse::<Authority>() else {
            return Err(HOST_FORM.to_owned());
        };
        if text.contains(['@', '*']) {
            return Err(HOST_FORM.to_owned());
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

    fn from_str(text: &str) -> Result<AllowedOrigin, String> {
        parse_origin(text).ok_or_else(|| ORIGIN_FORM.to_owned())
    }
}

/// Parses an origin: `https://app.example.com` → HTTPS, `app.example.com` and port 443.
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

/// The names and web pages that are allowed, besides the names and pages of this machine, and the
/// pages of this server itself.
#[derive(Debug)]
pub struct Sites {
    /// The address that is listened on, which is an allowed name, too.
    pub bound: IpAddr,
    /// Further names.
    pub hosts: Vec<AllowedHost>,
    /// Web pages of others.
    pub origins: Vec<AllowedOrigin>,
}

impl Sites {
    /// Checks that a request uses an allowed name for this server, and comes from an allowed web
    /// page or from a program.
    ///
    /// # Errors
    /// 403: the name or the web page is not allowed. 400: there is no name, or more than one.
    pub(super) fn check<B>(&self, request: &Request<B>, client: &Client) -> Result<(), Refusal> {
        let used_host = self.check_host(request, client)?;
        let mut origins = request.headers().get_all(ORIGIN).into_iter();
        let Some(header) = origins.next() else {
            return check_fetch_metadata(request);
        };
        let is_repeated = origins.next().is_some();
        if !is_repeated
            && let Some(origin) = header.to_str().ok().and_then(parse_origin)
            && self.is_origin_allowed(&origin, used_host.as_ref(), client)
        {
            return Ok(());
        }
        let page = quoted(&String::from_utf8_lossy(header.as_bytes()));
        Err(page_refusal(
            format!(
                "web pages of {page} may not use this server; its operator can allow their origin (allow-origin)"
            ),
            ORIGIN,
        ))
    }

    /// Returns whether pages of an origin may use this server. `used_host` is the name that the
    /// client has used for this server.
    fn is_origin_allowed(
        &self,
        origin: &AllowedOrigin,
        used_host: Option<&AllowedHost>,
        client: &Client,
    ) -> bool {
        if origin.host.is_loopback() || self.origins.contains(origin) {
            return true;
        }
        // A page that came without TLS may have been written by somebody in between, so it may not
        // use a server with TLS.
        let is_insecure = client.is_https && !origin.is_https;
        let Some(own) = used_host else { return false };
        let own_port = own.port.unwrap_or(default_port(origin.is_https));
        !is_insecure && own.name == origin.host && own_port == origin.port
    }

    /// Checks each name that a request has for this server, and returns the name that the client
    /// has used.
    ///
    /// A proxy may pass requests on by the header `Host` or by the name in the request line, so
    /// both must be allowed. A name that a trusted proxy says that the client has used is checked
    /// in addition: it never allows more. The first such name is the client's.
    fn check_host<B>(
        &self,
        request: &Request<B>,
        client: &Client,
    ) -> Result<Option<AllowedHost>, Refusal> {
        let headers = request.headers();
        let mut hosts = headers.get_all(HOST).into_iter();
        let header = hosts.next();
        let is_missing = header.is_none() && request.version() >= Version::HTTP_11;
        if is_missing || hosts.next().is_some() {
            return Err(Refusal::new(
                StatusCode::BAD_REQUEST,
                "a request must have one Host header",
            ));
        }
        let mut used_host = None;
        if client.is_behind_proxy {
            for text in headers::items(headers, &FORWARDED_HOST) {
                let host = self.parse_allowed(text)?;
                used_host = used_host.or(Some(host));
            }
        }
        if let Some(header) = header {
            let host = self.parse_allowed(header.as_bytes())?;
            used_host = used_host.or(Some(host));
        }
        if let Some(authority) = request.uri().authority() {
            let host = self.parse_allowed(authority.as_str().as_bytes())?;
            used_host = used_host.or(Some(host));
        }
        Ok(used_host)
    }

    /// Parses a name for this server.
    ///
    /// # Errors
    /// 403: the name is not allowed.
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

    /// Returns whether clients may use this name for the server. Names of this machine itself, such
    /// as `localhost`, are always allowed.
    fn is_host_allowed(&self, host: &AllowedHost) -> bool {
        if host.name.is_loopback() {
            return true;
        }
        // A server that listens on all addresses (`0.0.0.0`) has every address as a name. A rebound
        // name is never an address.
        if let HostName::Address(address) = host.name
            && (address == self.bound || self.bound.is_unspecified())
        {
            return true;
        }
        self.hosts.iter().any(|allowed| {
            allowed.name == host.name && (allowed.port.is_none() || allowed.port == host.port)
        })
    }
}

/// Checks a request without an `Origin`: if a browser sent it for a page of another server, it may
/// only open a page of this server, as a link does.
///
/// # Errors
/// 403: the page of another server asks for something else, or a header is invalid.
fn check_fetch_metadata<B>(request: &Request<B>) -> Result<(), Refusal> {
    let headers = request.headers();
    let mut sites = headers.get_all(FETCH_SITE).iter();
    if sites.all(|site| site == "same-origin" || site == "none") {
        return Ok(());
    }
    let opens_document = headers
        .get(FETCH_MODE)
        .is_some_and(|mode| mode == "navigate")
        && headers
            .get(FETCH_DEST)
            .is_some_and(|dest| dest == "document");
    if opens_document && headers::is_page(request.uri().path()) {
        return Ok(());
    }
    let message = "web pages of other servers may only link to the page of this server; its operator can allow their origin (allow-origin)";
    Err(page_refusal(message.to_owned(), FETCH_SITE))
}

/// Returns the refusal of a request for a web page. `header` decided, so that caches must not give
/// the answer to requests with another value.
fn page_refusal(message: String, header: HeaderName) -> Refusal {
    Refusal::new(StatusCode::FORBIDDEN, message).with_header(VARY, header)
}

/// Returns the layer that tells browsers what a web page may send and read. Only requests of
/// allowed pages get there.
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
        let connection = NewConnection {
            address: sites.bound,
            is_tls: is_https,
            number: 1,
            half_requests: None,
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

//! Sends a request to a service, and reads its reply, within limits of time and size. The IP
//! address of the service is checked after name resolution, and no proxy is used.

use super::address::{AllowedAddresses, BaseUrl};
use super::operation::{OpenApiOptions, Operation};
use super::response::ServiceReply;
use super::secrets::{Secret, mask_secrets, read_secrets};
use crate::library::ServiceRequest;
use crate::prompt::{Diagnostic, Kind, Messages};
use crate::wording::{format_size, in_backticks, printable, truncate_at_word};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use std::{env, fs};
use ureq::config::Config;
use ureq::http::header::{CONTENT_TYPE, ETAG, HeaderName};
use ureq::http::{Request, Response, Uri};
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};
use ureq::{Agent, AsSendBody, Body};

/// The time to connect to a server.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// The limits for the reply of a service.
const SERVICE_LIMITS: ReplyLimits = ReplyLimits {
    timeout: Duration::from_secs(10),
    body_bytes: 1024 * 1024,
};

/// A single file with all certificates of the system, on Debian and other distributions. Reading it
/// is 3 ms faster than reading the folder with a file for each certificate.
const CERTIFICATE_BUNDLE: &str = "/etc/ssl/certs/ca-certificates.crt";

/// The maximum number of characters to quote from an error of the HTTP client.
const MAX_ERROR_CHARS: usize = 200;

/// Limits for the reply to a request.
#[derive(Clone, Copy)]
pub(in crate::sources) struct ReplyLimits {
    /// The time from the start of the request to the end of the reply.
    pub(in crate::sources) timeout: Duration,
    /// The maximum size of the body.
    pub(in crate::sources) body_bytes: u64,
}

/// The service of an operation.
pub(super) struct Service<'o> {
    operation: &'o Operation,
    options: &'o OpenApiOptions,
    base: BaseUrl,
    agent: Agent,
    limits: ReplyLimits,
}

impl<'o> Service<'o> {
    /// Creates the service of an operation, without calling it.
    ///
    /// # Errors
    /// The address of the service is invalid or not allowed.
    pub(super) fn new(
        operation: &'o Operation,
        options: &'o OpenApiOptions,
    ) -> Result<Service<'o>, Diagnostic> {
        Service::with_resolver(operation, options, DefaultResolver::default())
    }

    /// Returns the service that `operation` calls. `resolver` looks up the addresses of its host.
    ///
    /// # Errors
    /// The address of the service is invalid or not allowed.
    fn with_resolver(
        operation: &'o Operation,
        options: &'o OpenApiOptions,
        resolver: impl Resolver,
    ) -> Result<Service<'o>, Diagnostic> {
        let base = BaseUrl::for_operation(operation, options)?;
        let resolver = CheckedResolver {
            resolver,
            allowed: base.allowed_addresses(options),
        };
        let no_idle_connections = 0;
        let config = client_config(no_idle_connections, RootCerts::PlatformVerifier);
        Ok(Service {
            operation,
            options,
            base,
            agent: Agent::with_parts(config, DefaultConnector::default(), resolver),
            limits: SERVICE_LIMITS,
        })
    }

    /// Sends a request for a prompt, and returns the messages in the reply.
    ///
    /// # Errors
    /// A secret header cannot be read, the service cannot be reached, or its reply is not a prompt.
    pub(super) fn send(&self, request: &ServiceRequest) -> Result<Messages, Diagnostic> {
        self.send_and_parse(request)
            .map_err(|error| self.with_operation(error))
    }

    /// Sends a request for a prompt, and returns the messages in the reply. The messages of errors
    /// are clauses about the service, such as `did not answer in time`.
    fn send_and_parse(&self, request: &ServiceRequest) -> Result<Messages, Diagnostic> {
        let secrets = read_secrets(&self.options.headers)?;
        let reply = self.request(request, &secrets)?;
        reply.messages(|text| mask_secrets(text, &secrets))
    }

    /// Checks that the service is reachable: sends a `GET` request to its base address, and returns
    /// the status of the reply, which may be an error such as 404.
    ///
    /// # Errors
    /// A secret header cannot be read, or the service cannot be reached.
    pub(super) fn fetch_status(&self) -> Result<u16, Diagnostic> {
        self.get_base_url()
            .map_err(|error| self.with_operation(error))
    }

    /// Sends a `GET` request to the base address, and returns the status of the reply. The messages
    /// of errors are clauses about the service, such as `did not answer in time`.
    fn get_base_url(&self) -> Result<u16, Diagnostic> {
        let secrets = read_secrets(&self.options.headers)?;
        let request = ServiceRequest {
            method: "GET".to_owned(),
            url: self.base.url.clone(),
            headers: BTreeMap::new(),
            body: None,
        };
        let reply = self.request(&request, &secrets)?;
        Ok(reply.status.as_u16())
    }

    /// Sends a request, and returns the reply. Redirects are not followed.
    fn request(
        &self,
        request: &ServiceRequest,
        secrets: &[Secret],
    ) -> Result<ServiceReply, Diagnostic> {
        exchange(&self.agent, request, secrets, self.limits)
            .map_err(|error| exchange_error(error, &self.base.url, self.limits))
    }

    /// Prepends the operation to a message: `the service for GET /brief did not answer in time`.
    fn with_operation(&self, error: Diagnostic) -> Diagnostic {
        let method = self.operation.method;
        let path = printable(&self.operation.path);
        Diagnostic {
            message: format!("the service for {method} {path} {}", error.message),
            ..error
        }
    }
}

/// Returns the certificates in [`CERTIFICATE_BUNDLE`]. Falls back to the platform's verifier if
/// that file doesn't exist, if `SSL_CERT_FILE` or `SSL_CERT_DIR` is set, or if `url` doesn't use
/// TLS.
pub(in crate::sources) fn bundled_certificates(url: &str) -> RootCerts {
    if !url.starts_with("https:") || is_set("SSL_CERT_FILE") || is_set("SSL_CERT_DIR") {
        return RootCerts::PlatformVerifier;
    }
    let Ok(pem) = fs::read(CERTIFICATE_BUNDLE) else {
        return RootCerts::PlatformVerifier;
    };
    let mut certificates = Vec::new();
    for item in parse_pem(&pem) {
        if let Ok(PemItem::Certificate(certificate)) = item {
            certificates.push(certificate);
        }
    }
    certificates.into()
}

fn is_set(variable: &str) -> bool {
    env::var_os(variable).is_some()
}

/// Returns the configuration of an HTTP client that uses no proxy and follows no redirects. It
/// keeps up to `idle_connections` connections open for reuse.
pub(in crate::sources) fn client_config(idle_connections: usize, roots: RootCerts) -> Config {
    let tls = TlsConfig::builder()
        .root_certs(roots)
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()));
    let config = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .max_idle_connections(idle_connections)
        .timeout_connect(Some(CONNECT_TIMEOUT))
        .user_agent(concat!("prompt-expander/", env!("CARGO_PKG_VERSION")))
        .accept_encoding("identity")
        .proxy(None)
        .tls_config(tls.build());
    config.build()
}

/// Sends a request with secret headers, and returns the reply.
///
/// # Errors
/// The server cannot be reached, the reply exceeds the limits, or [`CheckedResolver`] rejects the
/// address.
pub(in crate::sources) fn exchange(
    agent: &Agent,
    request: &ServiceRequest,
    secrets: &[Secret],
    limits: ReplyLimits,
) -> Result<ServiceReply, ureq::Error> {
    let mut builder = Request::builder()
        .method(&*request.method)
        .uri(&request.url);
    for (name, value) in &request.headers {
        builder = builder.header(name, value);
    }
    for secret in secrets {
        builder = builder.header(&secret.name, &secret.value);
    }
    let mut response = if let Some(body) = &request.body {
        send(agent, builder.body(body.as_str())?, limits)?
    } else if matches!(&*request.method, "POST" | "PUT" | "PATCH") {
        // With `()`, ureq would send an empty chunked body, which many services reject.
        send(agent, builder.body("")?, limits)?
    } else {
        send(agent, builder.body(())?, limits)?
    };
    let body = response.body_mut().with_config().limit(limits.body_bytes);
    Ok(ServiceReply {
        body: body.read_to_vec()?,
        status: response.status(),
        content_type: header_or_empty(&response, CONTENT_TYPE),
        tag: header_or_empty(&response, ETAG),
    })
}

/// Sends a request, and returns the response without reading its body.
fn send(
    agent: &Agent,
    request: Request<impl AsSendBody>,
    limits: ReplyLimits,
) -> Result<Response<Body>, ureq::Error> {
    let request = agent
        .configure_request(request)
        .timeout_global(Some(limits.timeout))
        .build();
    agent.run(request)
}

/// Returns the value of a header, or an empty string if it is missing or not ASCII.
fn header_or_empty(response: &Response<Body>, name: HeaderName) -> String {
    let Some(value) = response.headers().get(name) else {
        return String::new();
    };
    value.to_str().unwrap_or_default().to_owned()
}

/// Converts the error of an [`exchange`] with the server at `url`. The message is a clause about
/// the server.
pub(in crate::sources) fn exchange_error(
    error: ureq::Error,
    url: &str,
    limits: ReplyLimits,
) -> Diagnostic {
    let (message, fix) = match error {
        ureq::Error::Timeout(_) => ("did not answer in time".to_owned(), "try again later"),
        ureq::Error::BodyExceedsLimit(_) => (
            format!(
                "answered with more than {}",
                format_size(limits.body_bytes as usize)
            ),
            "ask those who operate it to correct that",
        ),
        // Only `CheckedResolver` returns this error.
        ureq::Error::Other(reason) => (
            format!("is not called: {reason}"),
            "correct the address of the service, or if a private one is meant, write \
             `allow-private = true` into config.toml for its document",
        ),
        error => {
            let error_text = match error {
                ureq::Error::Io(cause) => cause.to_string(),
                other => other.to_string(),
            };
            // Shorten it, because a TLS error may list many hosts.
            let reason = printable(&truncate_at_word(&error_text, MAX_ERROR_CHARS));
            (
                format!("at {} cannot be reached: {reason}", in_backticks(url)),
                "check that it is running, its address and its certificate, and that the network \
                 works",
            )
        }
    };
    Diagnostic::new(Kind::Service, message, fix)
}

/// A resolver that rejects hosts with an address that isn't allowed.
#[derive(Debug)]
struct CheckedResolver<R> {
    resolver: R,
    allowed: AllowedAddresses,
}

impl<R: Resolver> Resolver for CheckedResolver<R> {
    /// Resolves the host, and checks all of its addresses. The client connects to the returned
    /// addresses, so a name server cannot switch to another address after the check.
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let host = uri.host().unwrap_or_default();
        let addresses = self.resolver.resolve(uri, config, timeout)?;
        for address in addresses.iter() {
            self.allowed
                .check(host, address.ip())
                .map_err(|reason| ureq::Error::Other(reason.into()))?;
        }
        Ok(addresses)
    }
}

#[cfg(test)]
mod tests {
    use super::super::request::build_request;
    use super::*;
    use std::collections::VecDeque;
    use std::io::{self, Read as _, Write as _};
    use std::net::{SocketAddr, TcpListener, TcpStream};
    use std::sync::Mutex;
    use std::sync::mpsc::{Receiver, channel};
    use std::thread;
    use ureq::unversioned::resolver::ArrayVec;

    #[test]
    fn certificates_come_from_the_bundle_unless_the_environment_sets_others() {
        let is_bundle_used = fs::exists(CERTIFICATE_BUNDLE).unwrap()
            && !is_set("SSL_CERT_FILE")
            && !is_set("SSL_CERT_DIR");
        for (url, are_bundled) in [
            ("https://localhost", is_bundle_used),
            ("http://localhost", false),
        ] {
            let roots = bundled_certificates(url);
            let has_many = matches!(&roots, RootCerts::Specific(all) if all.len() > 1);
            assert_eq!(has_many, are_bundled, "{url}");
        }
    }

    #[test]
    fn errors_of_any_server_mention_neither_services_nor_options() {
        for error in [ureq::Error::BodyExceedsLimit(1), ureq::Error::HostNotFound] {
            let text = exchange_error(error, "https://prompts.example.com", SERVICE_LIMITS).text();
            assert!(!text.contains("service") && !text.contains("--"), "{text}");
        }
    }

    /// A service on a local port.
    struct TestService {
        port: u16,
        /// Receives each request.
        requests: Receiver<String>,
    }

    impl TestService {
        /// Starts a service that handles one connection at a time.
        fn start(mut handle: impl FnMut(TcpStream) + Send + 'static) -> TestService {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let port = listener.local_addr().unwrap().port();
            let (sender, requests) = channel();
            thread::spawn(move || {
                for connection in listener.incoming() {
                    let mut connection = connection.unwrap();
                    let Some(request) = read_request(&mut connection) else {
                        continue;
                    };
                    sender.send(request).ok();
                    handle(connection);
                }
            });
            TestService { port, requests }
        }

        /// Starts a service that sends `response` to each request.
        fn answering(response: &str) -> TestService {
            let response = response.to_owned();
            TestService::start(move |mut connection| {
                _ = connection.write_all(response.as_bytes());
            })
        }

        /// Starts a service that answers each request with `Hello`.
        fn greeting() -> TestService {
            TestService::answering(
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nHello",
            )
        }

        fn url(&self) -> String {
            format!("http://127.0.0.1:{}", self.port)
        }
    }

    /// Reads a request, including the body if it has a `Content-Length`.
    fn read_request(connection: &mut TcpStream) -> Option<String> {
        let mut request = String::new();
        let mut byte = [0];
        while !request.ends_with("\r\n\r\n") {
            connection.read_exact(&mut byte).ok()?;
            request.push(char::from(byte[0]));
        }
        let head = request.to_ascii_lowercase();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        connection.read_exact(&mut body).ok()?;
        Some(request + &String::from_utf8(body).unwrap())
    }

    /// Returns a listener for [`assert_no_connection`].
    fn forbidden_listener() -> TcpListener {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        listener
    }

    #[track_caller]
    fn assert_no_connection(listener: &TcpListener) {
        let error = listener.accept().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    }

    fn operation(method: &'static str, base: &str) -> Operation {
        Operation {
            method,
            base: base.to_owned(),
            path: "/p".to_owned(),
            parameters: Vec::new(),
            has_object_body: true,
        }
    }

    /// Returns options that set the base address.
    fn options(base: &str) -> OpenApiOptions {
        OpenApiOptions {
            base: Some(base.to_owned()),
            ..OpenApiOptions::default()
        }
    }

    /// Sends `{}` to `/p` of the service at `base`, and returns the text of the reply.
    fn call(base: &str) -> Result<String, String> {
        call_with(DefaultResolver::default(), SERVICE_LIMITS.timeout, base)
    }

    /// Sends `{}` to `/p` of the service at `base`, and returns the text of the reply. `resolver`
    /// looks up the addresses of its host.
    fn call_with(resolver: impl Resolver, timeout: Duration, base: &str) -> Result<String, String> {
        let operation = operation("POST", base);
        let options = options(base);
        let request = build_request(&operation, &[], &options).unwrap();
        let mut service = Service::with_resolver(&operation, &options, resolver).unwrap();
        service.limits.timeout = timeout;
        match service.send(&request) {
            Ok(messages) => Ok(messages.into_text()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// A resolver for tests: each lookup returns the next of these address lists.
    #[derive(Debug, Clone)]
    struct ScriptedResolver(Arc<Mutex<VecDeque<Vec<SocketAddr>>>>);

    impl ScriptedResolver {
        fn new(look_ups: &[&[&str]], port: u16) -> ScriptedResolver {
            let mut table = VecDeque::new();
            for addresses in look_ups {
                let with_port = addresses
                    .iter()
                    .map(|address| SocketAddr::new(address.parse().unwrap(), port));
                table.push_back(with_port.collect());
            }
            ScriptedResolver(Arc::new(Mutex::new(table)))
        }
    }

    impl Resolver for ScriptedResolver {
        fn resolve(
            &self,
            _: &Uri,
            _: &Config,
            _: NextTimeout,
        ) -> Result<ResolvedSocketAddrs, ureq::Error> {
            let next = self.0.lock().unwrap().pop_front();
            let mut addresses = ArrayVec::from_fn(|_| SocketAddr::from(([0, 0, 0, 0], 0)));
            for address in next.ok_or(ureq::Error::HostNotFound)? {
                addresses.push(address);
            }
            Ok(addresses)
        }
    }

    #[test]
    fn a_request_is_sent_as_it_is_shown() {
        let service = TestService::greeting();
        let base = format!("{}/v1", service.url());
        assert_eq!(call(&base).as_deref(), Ok("Hello"));
        let request = service.requests.recv().unwrap();
        let (head, body) = request.split_once("\r\n\r\n").unwrap();
        assert_eq!(body, "{}");
        let mut lines: Vec<&str> = head.lines().collect();
        assert_eq!(lines.remove(0), "POST /v1/p HTTP/1.1");
        lines.sort_unstable();
        let headers = [
            "accept-encoding: identity",
            "accept: application/json, text/markdown, text/plain",
            "content-length: 2",
            "content-type: application/json",
            &format!("host: 127.0.0.1:{}", service.port),
            concat!("user-agent: prompt-expander/", env!("CARGO_PKG_VERSION")),
        ];
        assert_eq!(lines, headers);
    }

    #[test]
    fn a_request_without_a_body_says_so_with_its_length() {
        for (method, has_length) in [
            ("POST", true),
            ("PUT", true),
            ("PATCH", true),
            ("DELETE", false),
            ("GET", false),
        ] {
            let service = TestService::greeting();
            let operation = Operation {
                has_object_body: false,
                ..operation(method, &service.url())
            };
            let options = options(&service.url());
            let request = build_request(&operation, &[], &options).unwrap();
            let reply = Service::new(&operation, &options).unwrap().send(&request);
            assert!(reply.is_ok(), "{reply:?}");
            let sent = service.requests.recv().unwrap().to_ascii_lowercase();
            assert_eq!(sent.contains("content-length: 0\r\n"), has_length, "{sent}");
            assert!(!sent.contains("transfer-encoding"), "{sent}");
        }
    }

    #[test]
    fn a_host_with_one_private_address_is_not_called() {
        let listener = forbidden_listener();
        let port = listener.local_addr().unwrap().port();
        let base = format!("https://prompts.example.com:{port}");
        for addresses in [
            &["127.0.0.1"][..],
            &["127.0.0.1", "1.1.1.1"],
            &["1.1.1.1", "127.0.0.1"],
        ] {
            let table = ScriptedResolver::new(&[addresses], port);
            let error = call_with(table, SERVICE_LIMITS.timeout, &base).unwrap_err();
            let start = "the service for POST /p is not called: its host `prompts.example.com` \
                         has the address 127.0.0.1, which is not public";
            assert!(error.starts_with(start), "{error}");
        }
        assert_no_connection(&listener);
    }

    #[test]
    fn a_private_address_in_another_spelling_is_not_called() {
        let listener = forbidden_listener();
        let port = listener.local_addr().unwrap().port();
        for (host, address) in [
            ("10.0.0.1", "10.0.0.1"),
            ("[::ffff:127.0.0.1]", "::ffff:127.0.0.1"),
            ("2130706433", "127.0.0.1"), // which the system resolves
            ("0x7f.1", "127.0.0.1"),
        ] {
            let error = call(&format!("https://{host}:{port}")).unwrap_err();
            let end = format!(
                "has the address {address}, which is not public; correct the address of the \
                 service, or if a private one is meant, write `allow-private = true` into \
                 config.toml for its document"
            );
            assert!(error.ends_with(&end), "{error}");
        }
        assert_no_connection(&listener);
    }

    #[test]
    fn a_reply_that_is_too_long_or_no_http_is_an_error_of_one_line() {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n";
        let megabyte = "x".repeat(1024 * 1024);
        let too_long = "answered with more than 1 MiB; ask";
        let unreachable = "cannot be reached: ";
        for (response, reason) in [
            (
                format!("{head}Content-Length: 1048577\r\n\r\n{megabyte}x"),
                too_long,
            ),
            (
                format!("{head}Content-Length: 10000000000\r\n\r\n{megabyte}{megabyte}"),
                too_long,
            ),
            ("SSH-2.0-OpenSSH_9.9\r\n".to_owned(), unreachable),
            (
                format!("HTTP/1.1 200 OK\r\nX: {megabyte}\r\n\r\n"),
                unreachable,
            ),
            (format!("{head}Content-Length: 9\r\n\r\nHi"), unreachable),
            (String::new(), unreachable),
        ] {
            let service = TestService::answering(&response);
            let error = call(&service.url()).unwrap_err();
            assert!(error.contains(reason), "{error}");
            assert!(!error.contains(char::is_control), "{error}");
        }
    }

    #[test]
    fn the_connection_is_made_to_the_address_that_was_checked() {
        let service = TestService::greeting();
        let base = "http://desk.localhost";
        let time = SERVICE_LIMITS.timeout;
        let table = ScriptedResolver::new(&[&["127.0.0.1"], &["10.0.0.1"]], service.port);
        let reply = call_with(table.clone(), time, base);
        assert_eq!(reply.as_deref(), Ok("Hello"));
        let request = service.requests.recv().unwrap();
        assert!(request.contains("host: desk.localhost"), "{request}");
        // The name resolves to another address now.
        let error = call_with(table.clone(), time, base).unwrap_err();
        assert!(
            error.contains("has the address 10.0.0.1, which is not of this machine"),
            "{error}"
        );
        assert!(service.requests.try_recv().is_err());
        let error = call_with(table, time, base).unwrap_err();
        assert!(
            error.contains("`http://desk.localhost` cannot be reached: host not found"),
            "{error}"
        );
    }

    #[test]
    fn a_redirect_is_not_followed_and_its_address_is_not_shown() {
        let other = forbidden_listener();
        let other_url = format!("http://{}/?s3cret", other.local_addr().unwrap());
        for target in ["/p/", &other_url] {
            let service = TestService::answering(&format!(
                "HTTP/1.1 307 Moved\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n"
            ));
            let error = call(&service.url()).unwrap_err();
            let start = "the service for POST /p answered 307 Temporary Redirect; correct the \
                         address of the service: no redirect is followed";
            assert!(error.starts_with(start), "{target}: {error}");
            assert!(!error.contains("s3cret"), "{target}: {error}");
            assert!(service.requests.recv().is_ok());
            assert!(service.requests.try_recv().is_err());
        }
        assert_no_connection(&other);
    }

    #[test]
    fn a_slow_reply_ends_after_the_time_limit() {
        for handle in [hang, drip_head, drip_body] {
            let service = TestService::start(handle);
            let table = ScriptedResolver::new(&[&["127.0.0.1"]], service.port);
            let time = Duration::from_millis(300);
            let error = call_with(table, time, "http://localhost").unwrap_err();
            let start = "the service for POST /p did not answer in time; try again later";
            assert!(error.starts_with(start), "{error}");
        }
    }

    /// Sends nothing until the client closes the connection.
    fn hang(mut connection: TcpStream) {
        _ = connection.read(&mut [0]);
    }

    /// Sends a head that never ends.
    fn drip_head(mut connection: TcpStream) {
        connection.write_all(b"HTTP/1.1 200 OK\r\nX: ").unwrap();
        drip(connection);
    }

    /// Sends a body much more slowly than its length needs.
    fn drip_body(mut connection: TcpStream) {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1000000\r\n\r\n";
        connection.write_all(head.as_bytes()).unwrap();
        drip(connection);
    }

    /// Sends one byte after the other, with pauses, until the client closes the connection.
    fn drip(mut connection: TcpStream) {
        let pause = Some(Duration::from_millis(10));
        connection.set_read_timeout(pause).unwrap();
        while connection.write_all(b"x").is_ok() {
            match connection.read(&mut [0]) {
                Ok(_) => return,
                Err(error) if is_timeout(&error) => {}
                Err(_) => return,
            }
        }
    }

    fn is_timeout(error: &io::Error) -> bool {
        matches!(
            error.kind(),
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
        )
    }
}

//! Sends a request to a service, and reads its answer: to addresses that were checked after the name was resolved, without a proxy, and
//! with limits of time and size. The values of secret headers are read for each request, and are in no message.

use super::address::{Base, Refused};
use super::answer::{Answer, MAX_REASON, NoPrompt, answered};
use super::request::Request;
use super::{HeaderValue, Operation, Options, SecretHeader};
use crate::library::read::read_attachment;
use crate::prompt::{ExpandError, Messages};
use crate::wording::{named, printable, quoted, shortened};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};
use ureq::http::header::{CONTENT_ENCODING, CONTENT_TYPE, LOCATION};
use ureq::http::{self, HeaderMap, HeaderName, Method, Response, StatusCode, Uri};
use ureq::tls::{RootCerts, TlsConfig};
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};
use ureq::{Agent, Body, Timeout};

/// How long it may take to connect to a service, and a call in all.
const CONNECT_WITHIN: Duration = Duration::from_secs(2);
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// The longest body of an answer, in bytes: 1 MiB.
const MAX_BODY: usize = 1024 * 1024;

/// How many redirects are followed.
const MAX_REDIRECTS: usize = 5;

/// The longest value of a secret header, in bytes.
const MAX_SECRET: usize = 16 * 1024;

const CHECK_HEADER: &str = "correct it, or the option --openapi-header";

/// The messages that a service answers with.
///
/// # Errors
/// [`ExpandError::Service`]: the address is refused, the service cannot be reached, or its answer is no prompt.
pub(super) fn send(operation: &Operation, request: &Request, options: &Options) -> Result<Messages, ExpandError> {
    send_with(DefaultResolver::default(), ANSWER_WITHIN, operation, request, options)
}

/// Tries to reach the service of an operation: any answer to a `GET` of its base address will do. Its status is returned.
///
/// # Errors
/// The address is refused, a header cannot be read, or the service cannot be reached: a clause, and what to do.
pub(super) fn reach(operation: &Operation, options: &Options) -> Result<u16, String> {
    let base = Base::of(operation, options)?;
    let request = Request { method: Method::GET, url: base.url().to_owned(), headers: Vec::new(), body: None };
    let exchange = secrets(&options.headers)
        .and_then(|secrets| Service::new(DefaultResolver::default(), ANSWER_WITHIN, base).exchange(&request, &secrets));
    let NoPrompt { what, details, fix } = match exchange {
        Ok(Answer { status, .. }) => return Ok(status.as_u16()),
        Err(no_prompt) => no_prompt,
    };
    Err(format!("the service {what}{}; {fix}", details.map(|details| format!(": {details}")).unwrap_or_default()))
}

fn send_with(
    resolver: impl Resolver,
    within: Duration,
    operation: &Operation,
    request: &Request,
    options: &Options,
) -> Result<Messages, ExpandError> {
    let base = Base::of(operation, options).map_err(ExpandError::Service)?;
    let answered = secrets(&options.headers).and_then(|secrets| {
        let answer = Service::new(resolver, within, base).exchange(request, &secrets)?;
        answer.messages(|text| conceal(text, &secrets))
    });
    answered.map_err(|NoPrompt { what, details, fix }| {
        let details = details.map(|details| format!(": {details}")).unwrap_or_default();
        let Operation { method, path, .. } = operation;
        ExpandError::Service(format!("the service {what} ({method} {}){details}; {fix}", printable(path)))
    })
}

/// A service, for one call.
struct Service {
    base: Base,
    agent: Agent,
    within: Duration,
    end: Instant,
}

impl Service {
    fn new(resolver: impl Resolver, within: Duration, base: Base) -> Service {
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::PlatformVerifier)
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()));
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .max_idle_connections(0)
            .timeout_connect(Some(CONNECT_WITHIN.min(within)))
            .user_agent(concat!("prompt-expander/", env!("CARGO_PKG_VERSION")))
            .accept_encoding("identity")
            .proxy(None)
            .tls_config(tls.build());
        let resolver = CheckedResolver { resolver, base: base.clone() };
        let agent = Agent::with_parts(config.build(), DefaultConnector::default(), resolver);
        Service { base, agent, within, end: Instant::now() + within }
    }

    /// Sends a request, follows redirects to the same origin, and reads the answer.
    fn exchange(&self, request: &Request, secrets: &[Secret]) -> Result<Answer, NoPrompt> {
        let mut method = request.method.clone();
        let mut url = request.url.clone();
        let mut body = request.body.as_deref();
        for _ in 0..=MAX_REDIRECTS {
            let response = self.send_once(&method, &url, body, request, secrets)?;
            let status = response.status();
            let target = response.headers().get(LOCATION).and_then(|target| target.to_str().ok());
            let Some(target) = target.filter(|_| matches!(status.as_u16(), 301..=303 | 307 | 308)) else {
                return self.read(response);
            };
            url = self.redirected(status, target).map_err(|no_prompt| NoPrompt {
                details: no_prompt.details.map(|details| conceal(&details, secrets)),
                ..no_prompt
            })?;
            match (status.as_u16(), &method) {
                (307 | 308, _) | (_, &Method::GET | &Method::HEAD) => {}
                (303, _) => (method, body) = (Method::GET, None),
                _ => {
                    let details = Some("a redirect with which the body of the request would be lost".to_owned());
                    let fix = "correct the address of the service, or the path in the document";
                    return Err(NoPrompt { what: answered(status), details, fix });
                }
            }
        }
        let details = Some(format!("more than {MAX_REDIRECTS} redirects, one after the other"));
        Err(NoPrompt { what: "gave no answer".to_owned(), details, fix: "ask those who operate the service" })
    }

    /// The address that an answer redirects to, if it is of the same origin.
    fn redirected(&self, status: StatusCode, target: &str) -> Result<String, NoPrompt> {
        let target = target.split('#').next().unwrap_or_default();
        let origin = || {
            let url = self.base.url();
            let host = url.find("://").map_or(0, |at| at + 3);
            url[host..].find('/').map_or(url, |end| &url[..host + end])
        };
        let is_path = target.starts_with('/') && !target.starts_with("//");
        let target = if is_path { format!("{}{target}", origin()) } else { target.to_owned() };
        let uri: Option<Uri> = target.parse().ok();
        if uri.as_ref().is_some_and(|uri| self.base.is_origin_of(uri)) {
            return Ok(target);
        }
        // The rest of the address may have secrets.
        let host = uri
            .as_ref()
            .filter(|uri| uri.scheme().is_some())
            .and_then(Uri::host)
            .map_or("elsewhere".to_owned(), |host| format!("to {}", quoted(host)));
        Err(NoPrompt {
            what: answered(status),
            details: Some(format!("a redirect {host}, which is not followed, as it is not to the same host and port")),
            fix: "if the service has moved, give its address with --openapi-base",
        })
    }

    fn send_once(
        &self,
        method: &Method,
        url: &str,
        body: Option<&str>,
        request: &Request,
        secrets: &[Secret],
    ) -> Result<Response<Body>, NoPrompt> {
        let left = self.end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(self.no_answer(ureq::Error::Timeout(Timeout::Global)));
        }
        let mut headers = HeaderMap::new();
        for (name, value) in &request.headers {
            let is_sent = body.is_some() || !name.eq_ignore_ascii_case(CONTENT_TYPE.as_str());
            if let (Ok(name), Ok(value), true) =
                (HeaderName::try_from(name), http::HeaderValue::try_from(value), is_sent)
            {
                headers.insert(name, value);
            }
        }
        headers.extend(secrets.iter().map(|secret| (secret.name.clone(), secret.value.clone())));
        let mut builder = http::Request::builder().method(method).uri(url);
        if let Some(of_request) = builder.headers_mut() {
            *of_request = headers;
        }
        // Without a length, ureq would send an empty body in chunks, which many services refuse.
        let has_body = body.is_some() || matches!(*method, Method::POST | Method::PUT | Method::PATCH);
        let sent = match body.or(has_body.then_some("")) {
            Some(body) => builder.body(body).map_err(ureq::Error::from).and_then(|request| self.run(request, left)),
            None => builder.body(()).map_err(ureq::Error::from).and_then(|request| self.run(request, left)),
        };
        sent.map_err(|error| self.no_answer(error))
    }

    fn run(
        &self,
        request: http::Request<impl ureq::AsSendBody>,
        left: Duration,
    ) -> Result<Response<Body>, ureq::Error> {
        self.agent.run(self.agent.configure_request(request).timeout_global(Some(left)).build())
    }

    fn read(&self, mut response: Response<Body>) -> Result<Answer, NoPrompt> {
        let status = response.status();
        let header = |name: HeaderName| {
            let value = response.headers().get(name);
            value.map(|value| String::from_utf8_lossy(value.as_bytes()).trim().to_owned()).unwrap_or_default()
        };
        let no_prompt = |details: String| NoPrompt {
            what: answered(status),
            details: Some(details),
            fix: "ask those who operate the service to correct it",
        };
        let content_type = header(CONTENT_TYPE);
        if !matches!(header(CONTENT_ENCODING).to_ascii_lowercase().as_str(), "" | "identity") {
            return Err(no_prompt("a compressed body, which was not asked for".to_owned()));
        }
        let read = response.body_mut().with_config().limit(MAX_BODY as u64).read_to_vec();
        let body = read.map_err(|error| match error {
            ureq::Error::BodyExceedsLimit(_) => no_prompt(format!("a body of more than {MAX_BODY} bytes")),
            error => self.no_answer(error),
        })?;
        Ok(Answer { status, content_type, body })
    }

    /// Why there is no whole answer.
    fn no_answer(&self, error: ureq::Error) -> NoPrompt {
        let base = named(self.base.url());
        let unreachable = |details: String| NoPrompt {
            what: format!("at {base} cannot be reached"),
            details: Some(details),
            fix: "check that it is running, that its address is correct, and that the network works",
        };
        let of_tls = |error: &rustls::Error| NoPrompt {
            what: format!("at {base} cannot be reached"),
            details: Some(match error {
                rustls::Error::InvalidCertificate(error) => {
                    // It has the names that the certificate is for.
                    format!(
                        "its certificate is not accepted: {}",
                        printable(&shortened(&error.to_string(), MAX_REASON))
                    )
                }
                error => format!("TLS fails: {}", printable(&error.to_string())),
            }),
            fix: "check its address, and its certificate: on Linux, the variable SSL_CERT_FILE names those that are accepted",
        };
        match error {
            ureq::Error::Timeout(Timeout::Connect | Timeout::Resolve) => {
                unreachable(format!("no connection within {} s", CONNECT_WITHIN.min(self.within).as_secs_f32()))
            }
            ureq::Error::Timeout(_) => NoPrompt {
                what: format!("did not answer within {} s", self.within.as_secs_f32()),
                details: None,
                fix: "try again later, and if it stays like this, ask those who operate the service",
            },
            ureq::Error::Other(error) => match error.downcast_ref::<Refused>() {
                Some(refused) => NoPrompt {
                    what: "is not called".to_owned(),
                    details: Some(refused.to_string()),
                    fix: refused.fix(),
                },
                None => unreachable(printable(&error.to_string())),
            },
            ureq::Error::Rustls(error) => of_tls(&error),
            ureq::Error::Io(error) => match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
                Some(error) => of_tls(error),
                None if error.kind() == io::ErrorKind::ConnectionRefused => {
                    unreachable("nothing listens there".to_owned())
                }
                None if is_closed(&error) => NoPrompt {
                    what: "closed the connection before the end of its answer".to_owned(),
                    details: None,
                    fix: "try again later, and if it stays like this, ask those who operate the service",
                },
                None => unreachable(printable(&error.to_string())),
            },
            ureq::Error::HostNotFound => unreachable("there is no such host".to_owned()),
            ureq::Error::Protocol(_) | ureq::Error::LargeResponseHeader(..) => NoPrompt {
                what: "gave an answer that is not HTTP, or has too long a head".to_owned(),
                details: None,
                fix: "check the address of the service",
            },
            error => unreachable(printable(&error.to_string())),
        }
    }
}

/// Whether the other side has closed the connection.
fn is_closed(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
}

/// Resolves names, and refuses one that has an address which is not allowed. The connection is made to the addresses that it returns, so
/// that a name which resolves to another address the next time changes nothing.
#[derive(Debug)]
struct CheckedResolver<R> {
    resolver: R,
    base: Base,
}

impl<R: Resolver> Resolver for CheckedResolver<R> {
    fn resolve(
        &self,
        uri: &Uri,
        config: &ureq::config::Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let addresses = self.resolver.resolve(uri, config, timeout)?;
        for address in addresses.iter() {
            let checked = self.base.allowed().check(uri.host().unwrap_or_default(), address.ip());
            checked.map_err(|refused| ureq::Error::Other(Box::new(refused)))?;
        }
        Ok(addresses)
    }
}

/// A secret header, as it is sent.
struct Secret {
    name: HeaderName,
    value: http::HeaderValue,
    text: String,
}

/// Reads the values of secret headers.
fn secrets(headers: &[SecretHeader]) -> Result<Vec<Secret>, NoPrompt> {
    let read = |SecretHeader { name, scheme, value }: &SecretHeader| {
        let not_called =
            |details: String| NoPrompt { what: "is not called".to_owned(), details: Some(details), fix: CHECK_HEADER };
        let (source, text) = match value {
            HeaderValue::File(path) => {
                let source = format!("the file {} of the header {}", named(&path.display().to_string()), named(name));
                let text = read_attachment(path, MAX_SECRET, |_| Ok(()));
                (
                    source,
                    text.map_err(|(what, _)| what)
                        .and_then(|bytes| String::from_utf8(bytes).map_err(|_| "is not UTF-8".to_owned())),
                )
            }
            HeaderValue::Variable(variable) => {
                let source = format!("the environment variable {} of the header {}", named(variable), named(name));
                (
                    source,
                    std::env::var(variable).map_err(|error| match error {
                        std::env::VarError::NotPresent => "is not set".to_owned(),
                        std::env::VarError::NotUnicode(_) => "is not UTF-8".to_owned(),
                    }),
                )
            }
        };
        let text = text.map_err(|what| not_called(format!("{source} {}", printable(&what))))?;
        let text = text.trim();
        if text.is_empty() {
            return Err(not_called(format!("{source} is empty")));
        }
        if text.chars().any(char::is_control) {
            return Err(not_called(format!(
                "{source} has a line break, or another control character, within its text"
            )));
        }
        let sent = scheme.as_ref().map_or(text.to_owned(), |scheme| format!("{scheme} {text}"));
        let (Ok(name), Ok(mut value)) = (HeaderName::try_from(name.as_str()), http::HeaderValue::try_from(sent)) else {
            return Err(not_called(format!("{source} has characters that can be in no header")));
        };
        value.set_sensitive(true);
        Ok(Secret { name, value, text: text.to_owned() })
    };
    headers.iter().map(read).collect()
}

/// A text of the service without the secrets that were sent to it: neither whole, nor without the word before them (`Bearer`).
fn conceal(text: &str, secrets: &[Secret]) -> String {
    let words =
        secrets.iter().flat_map(|secret| [secret.text.as_str(), secret.text.rsplit(' ').next().unwrap_or_default()]);
    words.fold(text.to_owned(), |text, secret| text.replace(secret, "…"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;
    use std::io::{Read as _, Write as _};
    use std::net::{SocketAddr, TcpListener, TcpStream};
    use std::sync::Mutex;
    use std::sync::mpsc::{Receiver, channel};
    use std::thread;
    use ureq::unversioned::resolver::ArrayVec;

    /// A service on a port of this machine, which handles one connection after the other, and the requests that it gets.
    fn service(mut handle: impl FnMut(usize, TcpStream) + Send + 'static) -> (u16, Receiver<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sender, requests) = channel();
        thread::spawn(move || {
            for (index, connection) in listener.incoming().enumerate() {
                let mut connection = connection.unwrap();
                let Some(request) = read_request(&mut connection) else { continue };
                sender.send(request).ok();
                handle(index, connection);
            }
        });
        (port, requests)
    }

    /// A request, with its body if that has a length.
    fn read_request(connection: &mut TcpStream) -> Option<String> {
        let mut request = String::new();
        let mut byte = [0];
        while !request.ends_with("\r\n\r\n") {
            connection.read_exact(&mut byte).ok()?;
            request.push(char::from(byte[0]));
        }
        let head = request.to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        connection.read_exact(&mut body).ok()?;
        Some(request + &String::from_utf8(body).unwrap())
    }

    /// A service that answers each request with the next of these texts.
    fn answering(answers: &[&str]) -> (u16, Receiver<String>) {
        let answers: Vec<String> = answers.iter().map(|&answer| answer.to_owned()).collect();
        service(move |index, mut connection| connection.write_all(answers[index].as_bytes()).unwrap_or_default())
    }

    fn ok(content_type: &str, body: &str) -> String {
        let length = body.len();
        format!("HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n\r\n{body}")
    }

    fn redirect(status: u16, location: &str) -> String {
        format!("HTTP/1.1 {status} Moved\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n")
    }

    const WITHIN: Duration = Duration::from_secs(10);

    fn options(base: &str, headers: &[SecretHeader]) -> Options {
        Options { base: Some(base.to_owned()), headers: headers.to_vec(), ..Options::default() }
    }

    /// A call of `POST /p` with the body `{}`.
    fn call_with(resolver: impl Resolver, within: Duration, options: &Options) -> Result<String, String> {
        let operation = Operation {
            method: Method::POST,
            base: options.base.clone(),
            path: "/p".to_owned(),
            parameters: Vec::new(),
            has_body: true,
        };
        let request = super::super::request(&operation, &[], options).map_err(|error| error.to_string())?;
        let sent = send_with(resolver, within, &operation, &request, options);
        sent.map(Messages::into_text).map_err(|error| error.to_string())
    }

    fn call(port: u16) -> Result<String, String> {
        call_with(DefaultResolver::default(), WITHIN, &options(&format!("http://127.0.0.1:{port}/v1"), &[]))
    }

    /// A table of names in place of DNS: each look-up takes the next of the addresses.
    #[derive(Debug, Clone)]
    struct Table(Arc<Mutex<VecDeque<Vec<SocketAddr>>>>);

    impl Table {
        fn new(answers: &[&[&str]], port: u16) -> Table {
            let with_port = |address: &&str| SocketAddr::new(address.parse().unwrap(), port);
            let answers = answers.iter().map(|addresses| addresses.iter().map(with_port).collect());
            Table(Arc::new(Mutex::new(answers.collect())))
        }
    }

    impl Resolver for Table {
        fn resolve(
            &self,
            _: &Uri,
            _: &ureq::config::Config,
            _: NextTimeout,
        ) -> Result<ResolvedSocketAddrs, ureq::Error> {
            let answer = self.0.lock().unwrap().pop_front().ok_or(ureq::Error::HostNotFound)?;
            let mut addresses = ArrayVec::from_fn(|_| SocketAddr::from(([0, 0, 0, 0], 0)));
            answer.into_iter().for_each(|address| addresses.push(address));
            Ok(addresses)
        }
    }

    #[test]
    fn a_request_is_sent_as_it_is_shown() {
        let (port, requests) = answering(&[&ok("text/plain", "Hello")]);
        assert_eq!(call(port).as_deref(), Ok("Hello"));
        let request = requests.recv().unwrap();
        let (head, body) = request.split_once("\r\n\r\n").unwrap();
        let mut lines: Vec<&str> = head.lines().collect();
        assert_eq!((lines.remove(0), body), ("POST /v1/p HTTP/1.1", "{}"));
        lines.sort_unstable();
        let host = format!("host: 127.0.0.1:{port}");
        let user_agent = concat!("user-agent: prompt-expander/", env!("CARGO_PKG_VERSION"));
        let accept = "accept: application/json, text/markdown, text/plain";
        let others = ["content-length: 2", "content-type: application/json"];
        assert_eq!(lines, ["accept-encoding: identity", accept, others[0], others[1], &host, user_agent]);
    }

    #[test]
    fn a_request_without_a_body_says_so_with_its_length() {
        for (method, want) in [(Method::POST, true), (Method::PUT, true), (Method::DELETE, false), (Method::GET, false)]
        {
            let (port, requests) = answering(&[&ok("text/plain", "Hello")]);
            let options = options(&format!("http://127.0.0.1:{port}"), &[]);
            let base = options.base.clone();
            let path = "/p".to_owned();
            let operation = Operation { method, base, path, parameters: Vec::new(), has_body: false };
            let request = super::super::request(&operation, &[], &options).unwrap();
            assert!(send(&operation, &request, &options).is_ok());
            let sent = requests.recv().unwrap().to_ascii_lowercase();
            assert_eq!(sent.contains("content-length: 0\r\n"), want, "{sent}");
            assert!(!sent.contains("transfer-encoding"), "{sent}");
        }
    }

    #[test]
    fn a_host_with_a_private_address_is_not_called() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let base = format!("https://prompts.example.com:{port}");
        for addresses in [&["127.0.0.1"][..], &["10.0.0.1"], &["::ffff:169.254.169.254"], &["1.1.1.1", "192.168.0.1"]] {
            let error = call_with(Table::new(&[addresses], port), WITHIN, &options(&base, &[])).unwrap_err();
            let private = addresses.last().unwrap();
            let want = format!(
                "the service is not called (POST /p): its host `prompts.example.com` has the address {private}, which is not \
                 public; if that is meant, start with --openapi-allow-private"
            );
            assert_eq!(error, want);
        }
        assert_eq!(listener.accept().unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn private_addresses_are_called_on_request() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let base = format!("https://prompts.example.com:{port}");
        let options = Options { allow_private: true, ..options(&base, &[]) };
        let called = thread::spawn(move || listener.accept().unwrap().0.write_all(b"HTTP/1.1 400 no TLS\r\n\r\n"));
        let error = call_with(Table::new(&[&["127.0.0.1"]], port), WITHIN, &options).unwrap_err();
        assert!(error.contains("cannot be reached (POST /p): TLS fails"), "{error}");
        called.join().unwrap().unwrap();
    }

    #[test]
    fn the_connection_is_made_to_the_address_that_was_checked() {
        let (port, requests) = answering(&[&ok("text/plain", "Hello"), &redirect(307, "/again")]);
        let options = options("http://desk.localhost", &[]);
        let table = Table::new(&[&["127.0.0.1"], &["127.0.0.1"], &["10.0.0.1"]], port);
        assert_eq!(call_with(table.clone(), WITHIN, &options).as_deref(), Ok("Hello"));
        assert!(requests.recv().unwrap().contains("host: desk.localhost"));
        // The second call is redirected, and the name resolves to another address then.
        let error = call_with(table.clone(), WITHIN, &options).unwrap_err();
        assert!(error.contains("has the address 10.0.0.1, which is not of this machine"), "{error}");
        assert_eq!((requests.recv().is_ok(), requests.try_recv().is_err()), (true, true));
        let error = call_with(table, WITHIN, &options).unwrap_err();
        assert!(
            error.contains("`http://desk.localhost` cannot be reached (POST /p): there is no such host"),
            "{error}"
        );
    }

    #[test]
    fn redirects_to_the_same_origin_are_followed() {
        let done = ok("text/plain", "Hello");
        for (status, body) in [(307, "{}"), (308, "{}"), (303, "")] {
            let (port, requests) = answering(&[&redirect(status, "/p/?a=b#c"), &done]);
            assert_eq!(call(port).as_deref(), Ok("Hello"), "{status}");
            requests.recv().unwrap();
            let second = requests.recv().unwrap();
            let method = if body.is_empty() { "GET" } else { "POST" };
            assert!(second.starts_with(&format!("{method} /p/?a=b HTTP/1.1")), "{second}");
            assert!(second.ends_with(&format!("\r\n\r\n{body}")), "{second}");
            assert_eq!(second.contains("content-type"), !body.is_empty(), "{second}");
        }
        for status in [301, 302] {
            let (port, _requests) = answering(&[&redirect(status, "/p/")]);
            assert!(call(port).unwrap_err().contains("the body of the request would be lost"), "{status}");
        }
    }

    #[test]
    fn redirects_to_another_origin_are_not_followed() {
        let other = TcpListener::bind("127.0.0.1:0").unwrap();
        other.set_nonblocking(true).unwrap();
        let other_port = other.local_addr().unwrap().port();
        for (target, to) in [
            ("http://169.254.169.254/latest/meta-data/?s3cret", "to `169.254.169.254`"),
            (&*format!("http://127.0.0.1:{other_port}/p"), "to `127.0.0.1`"),
            ("//evil.test/p", "elsewhere"),
            ("https://127.0.0.1/p", "to `127.0.0.1`"),
            ("file:///etc/passwd", "elsewhere"),
            ("p", "elsewhere"),
            ("", "elsewhere"),
        ] {
            let (port, _requests) = answering(&[&redirect(307, target)]);
            let error = call(port).unwrap_err();
            let want = "the service answered 307 Temporary Redirect (POST /p): a redirect";
            assert!(error.starts_with(want) && !error.contains("s3cret"), "{target}: {error}");
            assert!(error.contains(&format!("a redirect {to}, which is not followed")), "{target}: {error}");
        }
        assert_eq!(other.accept().unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn a_redirect_to_itself_ends() {
        let (port, requests) = service(|_, mut connection| {
            connection.write_all(redirect(307, "/v1/p").as_bytes()).unwrap_or_default();
        });
        assert!(call(port).unwrap_err().contains("gave no answer (POST /p): more than 5 redirects"));
        assert_eq!(requests.try_iter().count(), 6);
    }

    #[test]
    fn a_slow_answer_ends_after_the_time_limit() {
        let waits: [fn(usize, TcpStream); 3] = [
            |_, mut connection| {
                connection.read(&mut [0]).unwrap_or_default(); // until the client closes
            },
            |_, mut connection| {
                // A head, one byte after the other.
                let head = b"HTTP/1.1 200 OK\r\nX: ".iter().chain(std::iter::repeat(&b'x'));
                drip(&mut connection, head);
            },
            |_, mut connection| {
                let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1000000\r\n\r\n";
                connection.write_all(head).unwrap();
                drip(&mut connection, std::iter::repeat(&b'x'));
            },
        ];
        for wait in waits {
            let (port, _requests) = service(wait);
            let options = options("http://localhost", &[]);
            let table = Table::new(&[&["127.0.0.1"]], port);
            let error = call_with(table, Duration::from_millis(300), &options).unwrap_err();
            assert!(error.starts_with("the service did not answer within 0.3 s (POST /p); try again later"), "{error}");
        }
    }

    /// Writes bytes one after the other, with pauses, until the other side closes the connection.
    fn drip<'b>(connection: &mut TcpStream, bytes: impl Iterator<Item = &'b u8>) {
        connection.set_read_timeout(Some(Duration::from_millis(10))).unwrap();
        for byte in bytes {
            if connection.write_all(&[*byte]).is_err() {
                return;
            }
            if !matches!(connection.read(&mut [0]), Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut))
            {
                return;
            }
        }
    }

    #[test]
    fn an_endless_answer_is_not_read_to_its_end() {
        for head in ["Content-Length: 10000000000\r\n", "", "Transfer-Encoding: chunked\r\n"] {
            let (sender, written) = channel();
            let (port, _requests) = service(move |_, mut connection| {
                let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n{head}\r\n");
                connection.write_all(head.as_bytes()).unwrap();
                let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
                let mut bytes: u64 = 0;
                while bytes < 10_000_000_000 && connection.write_all(chunk.as_bytes()).is_ok() {
                    bytes += chunk.len() as u64;
                }
                sender.send(bytes).unwrap();
            });
            let error = call(port).unwrap_err();
            assert!(error.contains("a body of more than 1048576 bytes"), "{head}: {error}");
            assert!(written.recv().unwrap() < 1_000_000_000, "{head}: the connection is closed");
        }
    }

    #[test]
    fn secret_headers_are_sent_and_never_shown() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let header = |name: &str, path: &std::path::Path| SecretHeader {
            name: name.to_owned(),
            scheme: None,
            value: HeaderValue::File(path.to_owned()),
        };
        let token = file("token", b"Bearer s3cret\r\n");
        let echo = |index: usize, mut connection: TcpStream| {
            let body = ["no Bearer s3cret", "s3cret?", "no Basic s3cret"][index];
            let body = format!("{{\"error\":\"{body}\"}}");
            let length = body.len();
            let head = format!("HTTP/1.1 401 No\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n");
            connection.write_all((head + &body).as_bytes()).unwrap();
        };
        let (port, requests) = service(echo);
        let base = format!("http://localhost:{port}");
        let with = |header: SecretHeader| call_with(DefaultResolver::default(), WITHIN, &options(&base, &[header]));
        for want in ["Unauthorized (POST /p): no …; check --openapi-header", "Unauthorized (POST /p): …?; check"] {
            let error = with(header("Authorization", &token)).unwrap_err();
            assert!(error.contains(want) && !error.contains("s3cret"), "{error}");
            assert!(requests.recv().unwrap().contains("authorization: Bearer s3cret\r\n"));
        }
        let missing = folder.path().join("missing");
        for (name, path, want) in [
            ("Authorization", &missing, "does not exist"),
            ("Authorization", &folder.path().to_owned(), "is not a regular file"),
            ("Authorization", &file("empty", b" \n"), "is empty"),
            ("Authorization", &file("lines", b"s3cret\r\nX-Evil: 1\n"), "has a line break"),
            ("Authorization", &file("null", b"s3cret\0x"), "has a line break, or another control character"),
            ("Authorization", &file("latin", b"s3cret\xff"), "is not UTF-8"),
            ("Authorization", &file("long", &[b's'; MAX_SECRET + 1]), "is 16385 bytes long, the limit is 16384"),
        ] {
            let error = with(header(name, path)).unwrap_err();
            assert!(error.starts_with("the service is not called (POST /p): "), "{error}");
            assert!(error.contains(want) && error.ends_with(CHECK_HEADER) && !error.contains("s3cret"), "{error}");
            assert!(error.contains(&format!("`{}`", path.display())), "{error}");
        }
        let bare = file("bare", b"s3cret");
        let with_scheme = SecretHeader { scheme: Some("Basic".to_owned()), ..header("Authorization", &bare) };
        let error = with(with_scheme).unwrap_err();
        assert!(error.contains("no Basic …; check") && !error.contains("s3cret"), "{error}");
        assert!(requests.recv().unwrap().contains("authorization: Basic s3cret\r\n"));
        let variable = HeaderValue::Variable("PROMPT_EXPANDER_UNSET".to_owned());
        let unset = SecretHeader { name: "X-Key".to_owned(), scheme: None, value: variable };
        let error = with(unset).unwrap_err();
        assert!(
            error.contains("the environment variable `PROMPT_EXPANDER_UNSET` of the header `X-Key` is not set"),
            "{error}"
        );
        assert!(requests.try_recv().is_err(), "nothing is sent without its headers");
    }

    #[test]
    fn secret_headers_are_not_sent_to_another_origin() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        std::fs::write(&path, "s3cret").unwrap();
        let (other_port, other_requests) = answering(&[]);
        let (port, _requests) = answering(&[&redirect(307, &format!("http://localhost:{other_port}/p"))]);
        let header = SecretHeader { name: "X-Key".to_owned(), scheme: None, value: HeaderValue::File(path) };
        let options = options(&format!("http://localhost:{port}"), &[header]);
        let error = call_with(DefaultResolver::default(), WITHIN, &options).unwrap_err();
        assert!(error.contains("is not followed"), "{error}");
        let (port, _requests) = answering(&[&redirect(307, "http://s3cret.evil.example/p")]);
        let options = Options { base: Some(format!("http://localhost:{port}")), ..options };
        let error = call_with(DefaultResolver::default(), WITHIN, &options).unwrap_err();
        assert!(error.contains("`….evil.example`"), "{error}");
        assert!(other_requests.try_recv().is_err());
    }
}

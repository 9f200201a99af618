//! Sends a request to a service, and reads its answer: to addresses that were checked after the
//! name was resolved, without a proxy, and with limits of time and size. The values of secret
//! headers are read for each request, and are in no message.

use super::address::{Allowed, Base};
use super::answer::Answer;
use super::operation::{HeaderValue, Operation, Options, SecretHeader};
use crate::library::ServiceRequest;
use crate::library::read as read_file;
use crate::prompt::{Diagnostic, Kind, Messages};
use crate::wording::{in_bytes, named, printable, shortened};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use std::{env, fs};
use ureq::Agent;
use ureq::config::Config;
use ureq::http::header::{CONTENT_TYPE, ETAG};
use ureq::http::{self, Uri};
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};

/// How long it may take to connect to a service, and a call in all.
const CONNECT_WITHIN: Duration = Duration::from_secs(2);
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// All certificates of the system, on Debian and others. Their folder, where each is in a file of
/// its own, takes 3 ms longer to read.
const BUNDLE: &str = "/etc/ssl/certs/ca-certificates.crt";

/// The longest body of an answer, in bytes: 1 MiB.
const MAX_BODY: u64 = 1024 * 1024;

/// The longest value of a secret header, in bytes.
const MAX_SECRET: usize = 16 * 1024;

/// How much of an error of the system is shown, in characters.
const MAX_REASON: usize = 200;

/// The messages that a service answers with.
///
/// # Errors
/// The address is refused, the service cannot be reached, or its answer is no prompt.
pub(super) fn send(
    operation: &Operation,
    request: &ServiceRequest,
    options: &Options,
) -> Result<Messages, Diagnostic> {
    call(
        DefaultResolver::default(),
        ANSWER_WITHIN,
        operation,
        request,
        options,
        messages,
    )
}

fn messages(answer: &Answer, secrets: &[Secret]) -> Result<Messages, Diagnostic> {
    answer.messages(|text| conceal(text, secrets))
}

/// Tries to reach the service of an operation: any answer to a `GET` of its base address will do.
/// Its status is returned.
///
/// # Errors
/// The address is refused, a header cannot be read, or the service cannot be reached.
pub(super) fn reach(operation: &Operation, options: &Options) -> Result<u16, Diagnostic> {
    let url = Base::of(operation, options)?.url;
    let request = ServiceRequest {
        method: "GET".to_owned(),
        url,
        headers: BTreeMap::new(),
        body: None,
    };
    let status = |answer: &Answer, _: &[Secret]| Ok(answer.status.as_u16());
    call(
        DefaultResolver::default(),
        ANSWER_WITHIN,
        operation,
        &request,
        options,
        status,
    )
}

/// Sends a request, and reads the answer. A redirect is an answer.
fn call<T>(
    resolver: impl Resolver,
    within: Duration,
    operation: &Operation,
    request: &ServiceRequest,
    options: &Options,
    read: impl FnOnce(&Answer, &[Secret]) -> Result<T, Diagnostic>,
) -> Result<T, Diagnostic> {
    let Base { url, allowed } = Base::of(operation, options)?;
    let answered = secrets(&options.headers).and_then(|secrets| {
        let answer = exchange(
            &agent(resolver, allowed),
            request,
            &secrets,
            within,
            MAX_BODY,
        );
        read(
            &answer.map_err(|error| no_answer(error, &url, MAX_BODY))?,
            &secrets,
        )
    });
    let of_service = |what: String| {
        format!(
            "the service for {} {} {what}",
            operation.method,
            printable(&operation.path)
        )
    };
    answered.map_err(|why| Diagnostic {
        message: of_service(why.message),
        ..why
    })
}

fn agent(resolver: impl Resolver, allowed: Allowed) -> Agent {
    let settings = settings(0, RootCerts::PlatformVerifier);
    Agent::with_parts(
        settings,
        DefaultConnector::default(),
        CheckedResolver { resolver, allowed },
    )
}

/// The certificates in [`BUNDLE`] for an address with TLS; all of the system if there is no such
/// file, or the user names another.
pub(in crate::sources) fn bundle(url: &str) -> RootCerts {
    let is_named = |name| env::var_os(name).is_some();
    let is_used =
        url.starts_with("https:") && !is_named("SSL_CERT_FILE") && !is_named("SSL_CERT_DIR");
    let Some(pem) = is_used.then(|| fs::read(BUNDLE).ok()).flatten() else {
        return RootCerts::PlatformVerifier;
    };
    let certificate = |item| {
        if let PemItem::Certificate(it) = item {
            Some(it)
        } else {
            None
        }
    };
    parse_pem(&pem)
        .filter_map(|item| certificate(item.ok()?))
        .into()
}

/// How a server is asked that the user named: without a proxy or redirects. `idle`: how many
/// connections are kept for the next request.
pub(in crate::sources) fn settings(idle: usize, roots: RootCerts) -> Config {
    let tls = TlsConfig::builder()
        .root_certs(roots)
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()));
    let config = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .max_idle_connections(idle)
        .timeout_connect(Some(CONNECT_WITHIN))
        .user_agent(concat!("prompt-expander/", env!("CARGO_PKG_VERSION")))
        .accept_encoding("identity")
        .proxy(None)
        .tls_config(tls.build());
    config.build()
}

/// Sends a request, and reads the answer, whose body may have so many bytes.
pub(in crate::sources) fn exchange(
    agent: &Agent,
    request: &ServiceRequest,
    secrets: &[Secret],
    within: Duration,
    limit: u64,
) -> Result<Answer, ureq::Error> {
    let mut builder = http::Request::builder()
        .method(&*request.method)
        .uri(&request.url);
    for (name, value) in &request.headers {
        builder = builder.header(name, value);
    }
    for secret in secrets {
        builder = builder.header(&secret.name, &secret.value);
    }
    // Without a length, ureq would send an empty body in chunks, which many services refuse.
    let has_body = matches!(&*request.method, "POST" | "PUT" | "PATCH");
    let mut response = match request.body.as_deref().or(has_body.then_some("")) {
        Some(body) => agent.run(
            agent
                .configure_request(builder.body(body)?)
                .timeout_global(Some(within))
                .build(),
        ),
        None => agent.run(
            agent
                .configure_request(builder.body(())?)
                .timeout_global(Some(within))
                .build(),
        ),
    }?;
    let header = |name| {
        response
            .headers()
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    };
    let (content_type, tag) = (header(CONTENT_TYPE).to_owned(), header(ETAG).to_owned());
    let body = response
        .body_mut()
        .with_config()
        .limit(limit)
        .read_to_vec()?;
    Ok(Answer {
        status: response.status(),
        content_type,
        tag,
        body,
    })
}

/// Why there is no whole answer of the server at an address.
pub(in crate::sources) fn no_answer(error: ureq::Error, url: &str, limit: u64) -> Diagnostic {
    let (what, fix) = match error {
        ureq::Error::Timeout(_) => ("did not answer in time".to_owned(), "try again later"),
        ureq::Error::BodyExceedsLimit(_) => (
            format!("answered with more than {}", in_bytes(limit as usize)),
            "ask those who operate it to correct that",
        ),
        // The address of a service is not allowed: only `CheckedResolver` says that.
        ureq::Error::Other(why) => (
            format!("is not called: {why}"),
            "correct the address of the service, or if a private one is meant, start with --openapi-allow-private",
        ),
        // An error of TLS may name many hosts.
        error => (
            format!(
                "at {} cannot be reached: {}",
                named(url),
                printable(&shortened(&error.to_string(), MAX_REASON))
            ),
            "check that it is running, its address and its certificate, and that the network works",
        ),
    };
    Diagnostic::new(Kind::Service, what, fix)
}

/// Resolves names, and refuses one that has an address which is not allowed. The connection is made
/// to the addresses that it returns, so that a name which resolves to another address the next time
/// changes nothing.
#[derive(Debug)]
struct CheckedResolver<R> {
    resolver: R,
    allowed: Allowed,
}

impl<R: Resolver> Resolver for CheckedResolver<R> {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let addresses = self.resolver.resolve(uri, config, timeout)?;
        for address in addresses.iter() {
            let checked = self
                .allowed
                .check(uri.host().unwrap_or_default(), address.ip());
            checked.map_err(|why| ureq::Error::Other(why.into()))?;
        }
        Ok(addresses)
    }
}

/// A secret header, as it is sent.
pub(in crate::sources) struct Secret {
    name: String,
    value: http::HeaderValue,
    pub(in crate::sources) text: String,
}

/// Reads the values of secret headers.
pub(in crate::sources) fn secrets(headers: &[SecretHeader]) -> Result<Vec<Secret>, Diagnostic> {
    let read = |header: &SecretHeader| {
        let text = match &header.value {
            HeaderValue::File(path) => read_file(path, MAX_SECRET)
                .map_err(|why| why.message)
                .and_then(|bytes| {
                    String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())
                }),
            HeaderValue::Variable(variable) => {
                std::env::var(variable).map_err(|error| error.to_string())
            }
        };
        let secret = text.and_then(|text| {
            let text = text.trim().to_owned();
            let sent = header
                .scheme
                .as_ref()
                .map_or(text.clone(), |scheme| format!("{scheme} {text}"));
            let value = http::HeaderValue::try_from(sent)
                .ok()
                .filter(|_| !text.is_empty());
            let mut value =
                value.ok_or("it is empty, or has a line break or another control character")?;
            value.set_sensitive(true);
            Ok(Secret {
                name: header.name.clone(),
                value,
                text,
            })
        });
        secret.map_err(|why| {
            let (value, name) = (header.value.named(), named(&header.name));
            let message = format!(
                "is not called: {value} of the header {name} cannot be used: {}",
                printable(&why)
            );
            Diagnostic::new(Kind::Service, message, "correct it, or the settings")
        })
    };
    headers.iter().map(read).collect()
}

/// Removes the secrets that were sent to the service from a text of it: the whole values, and
/// without the word before them (`Bearer`).
fn conceal(text: &str, secrets: &[Secret]) -> String {
    let words = secrets.iter().flat_map(|secret| {
        [
            secret.text.as_str(),
            secret.text.rsplit(' ').next().unwrap_or_default(),
        ]
    });
    words.fold(text.to_owned(), |text, secret| text.replace(secret, "…"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;
    use std::io::{self, Read as _, Write as _};
    use std::net::{SocketAddr, TcpListener, TcpStream};
    use std::sync::Mutex;
    use std::sync::mpsc::{Receiver, channel};
    use std::thread;
    use ureq::unversioned::resolver::ArrayVec;

    #[test]
    fn the_certificates_of_the_system_are_read_from_one_file_if_there_is_one_and_the_user_names_no_other()
     {
        let is_named = |name| env::var_os(name).is_some();
        let is_used =
            fs::exists(BUNDLE).unwrap() && !is_named("SSL_CERT_FILE") && !is_named("SSL_CERT_DIR");
        let is_of_file = |url| matches!(bundle(url), RootCerts::Specific(certificates) if certificates.len() > 1);
        assert_eq!(
            (
                is_of_file("https://localhost"),
                is_of_file("http://localhost")
            ),
            (is_used, false)
        );
    }

    #[test]
    fn what_is_said_of_any_server_names_no_service_and_no_option() {
        for error in [ureq::Error::BodyExceedsLimit(1), ureq::Error::HostNotFound] {
            let said = no_answer(error, "https://prompts.example.com", 1).text();
            assert!(!said.contains("service") && !said.contains("--"), "{said}");
        }
    }

    /// A service on a port of this machine, which handles one connection after the other, and the
    /// requests that it gets.
    fn service(
        mut handle: impl FnMut(usize, TcpStream) + Send + 'static,
    ) -> (u16, Receiver<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sender, requests) = channel();
        thread::spawn(move || {
            for (index, connection) in listener.incoming().enumerate() {
                let mut connection = connection.unwrap();
                let Some(request) = read_request(&mut connection) else {
                    continue;
                };
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
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        connection.read_exact(&mut body).ok()?;
        Some(request + &String::from_utf8(body).unwrap())
    }

    /// A service that answers each request with the next of these texts.
    fn answering(answers: &[&str]) -> (u16, Receiver<String>) {
        let answers: Vec<String> = answers.iter().map(|&answer| answer.to_owned()).collect();
        service(move |index, mut connection| {
            connection
                .write_all(answers[index].as_bytes())
                .unwrap_or_default()
        })
    }

    fn ok(content_type: &str, body: &str) -> String {
        let length = body.len();
        format!(
            "HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n\r\n{body}"
        )
    }

    const WITHIN: Duration = Duration::from_secs(10);

    fn options(base: &str, headers: &[SecretHeader]) -> Options {
        Options {
            base: Some(base.to_owned()),
            headers: headers.to_vec(),
            ..Options::default()
        }
    }

    /// A call of `POST /p` with the body `{}`.
    fn call_with(
        resolver: impl Resolver,
        within: Duration,
        options: &Options,
    ) -> Result<String, String> {
        let operation = Operation {
            method: "POST",
            base: options.base.clone().unwrap(),
            path: "/p".to_owned(),
            parameters: Vec::new(),
            has_object: true,
        };
        let request =
            super::super::request(&operation, &[], options).map_err(|error| error.to_string())?;
        let sent = super::call(resolver, within, &operation, &request, options, messages);
        sent.map(Messages::into_text)
            .map_err(|error| error.to_string())
    }

    fn call(port: u16) -> Result<String, String> {
        call_with(
            DefaultResolver::default(),
            WITHIN,
            &options(&format!("http://127.0.0.1:{port}/v1"), &[]),
        )
    }

    /// A table of names in place of DNS: each look-up takes the next of the addresses.
    #[derive(Debug, Clone)]
    struct Table(Arc<Mutex<VecDeque<Vec<SocketAddr>>>>);

    impl Table {
        fn new(answers: &[&[&str]], port: u16) -> Table {
            let with_port = |address: &&str| SocketAddr::new(address.parse().unwrap(), port);
            let answers = answers
                .iter()
                .map(|addresses| addresses.iter().map(with_port).collect());
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
            let answer = self
                .0
                .lock()
                .unwrap()
                .pop_front()
                .ok_or(ureq::Error::HostNotFound)?;
            let mut addresses = ArrayVec::from_fn(|_| SocketAddr::from(([0, 0, 0, 0], 0)));
            answer
                .into_iter()
                .for_each(|address| addresses.push(address));
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
        assert_eq!(
            lines,
            [
                "accept-encoding: identity",
                accept,
                others[0],
                others[1],
                &host,
                user_agent
            ]
        );
    }

    #[test]
    fn a_request_without_a_body_says_so_with_its_length() {
        for (method, want) in [
            ("POST", true),
            ("PUT", true),
            ("DELETE", false),
            ("GET", false),
        ] {
            let (port, requests) = answering(&[&ok("text/plain", "Hello")]);
            let options = options(&format!("http://127.0.0.1:{port}"), &[]);
            let (base, path) = (options.base.clone().unwrap(), "/p".to_owned());
            let operation = Operation {
                method,
                base,
                path,
                parameters: Vec::new(),
                has_object: false,
            };
            let request = super::super::request(&operation, &[], &options).unwrap();
            assert!(send(&operation, &request, &options).is_ok());
            let sent = requests.recv().unwrap().to_ascii_lowercase();
            assert_eq!(sent.contains("content-length: 0\r\n"), want, "{sent}");
            assert!(!sent.contains("transfer-encoding"), "{sent}");
        }
    }

    #[test]
    fn a_host_with_one_private_address_is_not_called() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let options = options(&format!("https://prompts.example.com:{port}"), &[]);
        for addresses in [
            &["127.0.0.1"][..],
            &["127.0.0.1", "1.1.1.1"],
            &["1.1.1.1", "127.0.0.1"],
        ] {
            let error = call_with(Table::new(&[addresses], port), WITHIN, &options).unwrap_err();
            let want = "the service for POST /p is not called: its host `prompts.example.com` has the address 127.0.0.1, which is not public";
            assert!(error.starts_with(want), "{error}");
        }
        assert_eq!(
            listener.accept().unwrap_err().kind(),
            io::ErrorKind::WouldBlock
        );
    }

    #[test]
    fn the_connection_is_made_to_the_address_that_was_checked() {
        let (port, requests) = answering(&[&ok("text/plain", "Hello")]);
        let options = options("http://desk.localhost", &[]);
        let table = Table::new(&[&["127.0.0.1"], &["10.0.0.1"]], port);
        assert_eq!(
            call_with(table.clone(), WITHIN, &options).as_deref(),
            Ok("Hello")
        );
        assert!(requests.recv().unwrap().contains("host: desk.localhost"));
        // The name resolves to another address now.
        let error = call_with(table.clone(), WITHIN, &options).unwrap_err();
        assert!(
            error.contains("has the address 10.0.0.1, which is not of this machine"),
            "{error}"
        );
        assert!(requests.try_recv().is_err());
        let error = call_with(table, WITHIN, &options).unwrap_err();
        assert!(
            error.contains("`http://desk.localhost` cannot be reached: host not found"),
            "{error}"
        );
    }

    #[test]
    fn a_redirect_is_not_followed_and_its_address_is_not_shown() {
        let other = TcpListener::bind("127.0.0.1:0").unwrap();
        other.set_nonblocking(true).unwrap();
        for target in [
            "/p/".to_owned(),
            format!("http://{}/?s3cret", other.local_addr().unwrap()),
        ] {
            let redirect =
                format!("HTTP/1.1 307 Moved\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n");
            let (port, requests) = answering(&[&redirect]);
            let error = call(port).unwrap_err();
            let want = "the service for POST /p answered 307 Temporary Redirect; correct the address of the service: no redirect is followed";
            assert!(
                error.starts_with(want) && !error.contains("s3cret"),
                "{target}: {error}"
            );
            assert_eq!(
                (requests.recv().is_ok(), requests.try_recv().is_err()),
                (true, true)
            );
        }
        assert_eq!(
            other.accept().unwrap_err().kind(),
            io::ErrorKind::WouldBlock
        );
    }

    #[test]
    fn a_slow_answer_ends_after_the_time_limit() {
        let waits: [fn(usize, TcpStream); 3] = [
            |_, mut connection| {
                connection.read(&mut [0]).unwrap_or_default(); // until the client closes
            },
            |_, mut connection| {
                // A head, one byte after the other.
                let head = b"HTTP/1.1 200 OK\r\nX: "
                    .iter()
                    .chain(std::iter::repeat(&b'x'));
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
            assert!(
                error
                    .starts_with("the service for POST /p did not answer in time; try again later"),
                "{error}"
            );
        }
    }

    /// Writes bytes one after the other, with pauses, until the other side closes the connection.
    fn drip<'b>(connection: &mut TcpStream, bytes: impl Iterator<Item = &'b u8>) {
        connection
            .set_read_timeout(Some(Duration::from_millis(10)))
            .unwrap();
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
}

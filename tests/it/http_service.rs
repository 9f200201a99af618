//! An HTTP server of somebody else, on a port of loopback: it answers each request as the test
//! says, and stores it for the test.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

/// A running service, which answers one request on each connection.
pub(crate) struct Service {
    pub(crate) address: SocketAddr,
    requests: Receiver<Request>,
}

/// A request, as it was received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    /// The request line and the headers, each with its line ending, and the empty line.
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Service {
    /// One that sends back what `answer` makes of a request: a [`response`], or anything else.
    pub(crate) fn start(answer: impl Fn(&Request) -> String + Send + Sync + 'static) -> Service {
        Service::start_on(listener(), answer)
    }

    /// The same on this port.
    pub(crate) fn start_on(
        listener: TcpListener,
        answer: impl Fn(&Request) -> String + Send + Sync + 'static,
    ) -> Service {
        Service::start_over(listener, |stream| stream, answer)
    }

    /// One that sends this back.
    pub(crate) fn answering(answer: impl Into<String>) -> Service {
        let answer = answer.into();
        Service::start(move |_| answer.clone())
    }

    /// As [`start`](Service::start), over TLS, with a certificate and its key in PEM.
    pub(crate) fn start_tls(
        identity: &(String, String),
        answer: impl Fn(&Request) -> String + Send + Sync + 'static,
    ) -> Service {
        let config = crate::certificates::server_config(identity);
        let over_tls = move |stream| {
            rustls::StreamOwned::new(
                rustls::ServerConnection::new(Arc::clone(&config)).unwrap(),
                stream,
            )
        };
        Service::start_over(listener(), over_tls, answer)
    }

    fn start_over<S: Read + Write>(
        listener: TcpListener,
        open: impl Fn(TcpStream) -> S + Send + Sync + 'static,
        answer: impl Fn(&Request) -> String + Send + Sync + 'static,
    ) -> Service {
        let address = listener.local_addr().unwrap();
        let (sender, requests) = channel();
        let serve = Arc::new(move |stream, requests: &Sender<Request>| {
            let mut stream = BufReader::new(open(stream));
            if let Some(request) = read(&mut stream) {
                _ = requests.send(request.clone()); // the test may have ended
                _ = stream.get_mut().write_all(answer(&request).as_bytes()); // the program may not wait for it
            }
        });
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (serve, sender) = (Arc::clone(&serve), sender.clone());
                thread::spawn(move || serve(stream.unwrap(), &sender));
            }
        });
        Service { address, requests }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests that it has received since the last call.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.try_iter().collect()
    }

    /// Waits for the only one since the last call.
    #[track_caller]
    pub(crate) fn request(&self) -> Request {
        let request = self
            .requests
            .recv_timeout(Duration::from_secs(120))
            .expect("a request");
        assert_eq!(self.requests(), []);
        request
    }
}

fn listener() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").unwrap()
}

/// Reads a request, with its body if that has a length. `None`: it does not arrive.
fn read(stream: &mut impl BufRead) -> Option<Request> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let length = head
        .to_ascii_lowercase()
        .lines()
        .find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).ok()?;
    Some(Request {
        head,
        body: String::from_utf8(body).unwrap(),
    })
}

/// The text of a response.
pub(crate) fn response(status: &str, content_type: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

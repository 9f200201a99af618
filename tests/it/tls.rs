//! `serve --http` with `--tls-cert` and `--tls-key`.

use crate::certificates::{Authority, pem};
use crate::client::{Client, assert_contains, set_mode};
use crate::http_client::{Connection, Endpoint, HttpServer, write_secret};
use crate::websocket::WebSocket;
use rcgen::{CertificateParams, KeyPair};
use serde_json::json;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::copy_bidirectional;
use tokio::net::TcpListener;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{
    ClientConfig, ClientConnection, ProtocolVersion, RootCertStore, StreamOwned,
    SupportedProtocolVersion, version,
};

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// What a client needs to trust an authority.
fn trusting(
    authority: &Authority,
    versions: &[&'static SupportedProtocolVersion],
    protocols: &[&str],
) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(authority.certificate().clone()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_protocol_versions(versions).unwrap();
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = protocols
        .iter()
        .map(|protocol| protocol.as_bytes().to_vec())
        .collect();
    Arc::new(config)
}

const BOTH: &[&SupportedProtocolVersion] = &[&version::TLS12, &version::TLS13];

fn localhost() -> ServerName<'static> {
    "localhost".try_into().unwrap()
}

/// Writes the two files, as an owner does.
fn write(folder: &Path, (certificate, key): &(String, String)) {
    for (name, text) in [("key.pem", key), ("cert.pem", certificate)] {
        let new = folder.join("new.pem");
        write_secret(&new, text);
        fs::rename(new, folder.join(name)).unwrap();
    }
}

/// A server with the certificate of a new authority.
fn start(arguments: &[&str]) -> (Authority, HttpServer) {
    let authority = Authority::new();
    let home = Client::new().prompt("review.md", "Review this.");
    write(home.root(), &authority.issue(|_| {}));
    let server = HttpServer::start_with(home, &[&FILES, arguments].concat());
    (authority, server)
}

/// A server with the files of the page, whose certificate is trusted by itself.
pub(crate) fn self_signed(home: Client) -> HttpServer {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(["localhost".to_owned()])
        .unwrap()
        .self_signed(&key)
        .unwrap();
    write_secret(
        home.path("privkey.pem"),
        &pem("PRIVATE KEY", &key.serialize_der()),
    );
    write_secret(
        home.path("fullchain.pem"),
        &pem("CERTIFICATE", certificate.der()),
    );
    HttpServer::start_with(
        home,
        &["--tls-cert", "fullchain.pem", "--tls-key", "privkey.pem"],
    )
}

const FILES: [&str; 4] = ["--tls-cert", "cert.pem", "--tls-key", "key.pem"];

/// An endpoint without TLS, for the harness, whose connections go on to the server over TLS.
fn tunnel(to: SocketAddr, config: Arc<ClientConfig>) -> Endpoint {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()
            .unwrap();
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            sender.send(listener.local_addr().unwrap()).unwrap();
            loop {
                let (mut near, _) = listener.accept().await.unwrap();
                let connector = TlsConnector::from(Arc::clone(&config));
                tokio::spawn(async move {
                    let far = tokio::net::TcpStream::connect(to).await.unwrap();
                    let mut far = connector.connect(localhost(), far).await.unwrap();
                    let _ = copy_bidirectional(&mut near, &mut far).await;
                });
            }
        });
    });
    Endpoint {
        address: receiver.recv().unwrap(),
    }
}

/// A connection over TLS, after the handshake.
fn connect(
    to: SocketAddr,
    config: Arc<ClientConfig>,
) -> Result<StreamOwned<ClientConnection, TcpStream>, String> {
    let mut client = ClientConnection::new(config, localhost()).unwrap();
    let mut stream = TcpStream::connect(to).unwrap();
    while client.is_handshaking() {
        client
            .complete_io(&mut stream)
            .map_err(|error| error.to_string())?;
    }
    Ok(StreamOwned::new(client, stream))
}

/// The certificate that the server shows.
fn shown(server: &HttpServer, authority: &Authority) -> Vec<u8> {
    let stream = connect(server.address, trusting(authority, BOTH, &[])).unwrap();
    stream.conn.peer_certificates().unwrap()[0].to_vec()
}

#[test]
fn requests_streams_and_websockets_work_over_tls() {
    let (authority, server) = start(&[]);
    let endpoint = tunnel(server.address, trusting(&authority, BOTH, &["http/1.1"]));
    assert_eq!(endpoint.post(PING).json()["result"], json!({}));
    let session = endpoint.initialize("2025-11-25");
    let mut events = endpoint.stream(&session);
    endpoint.initialized(&session);
    let mut socket = WebSocket::open(&endpoint.address.to_string(), "");
    socket.initialize();
    assert_eq!(socket.expand("review", "x"), "Review this.\n\nx");
    let long = "x".repeat(1_000_000);
    assert_eq!(
        socket.expand("review", &long),
        format!("Review this.\n\n{long}")
    );
    server.home.save("new.md", "New.");
    events.message();
}

#[test]
fn tls_1_2_and_1_3_are_spoken_and_http_1_1_is_chosen() {
    let (authority, server) = start(&[]);
    for (version, want) in [
        (&version::TLS12, ProtocolVersion::TLSv1_2),
        (&version::TLS13, ProtocolVersion::TLSv1_3),
    ] {
        let mut stream = connect(
            server.address,
            trusting(&authority, &[version], &["h2", "http/1.1"]),
        )
        .unwrap();
        assert_eq!(stream.conn.protocol_version(), Some(want));
        assert_eq!(stream.conn.alpn_protocol(), Some(&b"http/1.1"[..]));
        stream
            .write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            .unwrap();
        let mut answer = String::new();
        // The end is announced, so that nobody can cut off an answer.
        stream.read_to_string(&mut answer).unwrap();
        assert!(
            answer.starts_with("HTTP/1.1 200 ") && answer.ends_with(r#"{"status":"ok"}"#),
            "{answer}"
        );
    }
    let error = connect(server.address, trusting(&authority, BOTH, &["h2"])).unwrap_err();
    assert_contains(&error, "NoApplicationProtocol");
    assert!(
        connect(server.address, trusting(&Authority::new(), BOTH, &[])).is_err(),
        "another authority"
    );
    shown(&server, &authority);
}

#[test]
fn files_that_cannot_be_used_are_refused_with_what_to_do() {
    let authority = Authority::new();
    let home = Client::new();
    let good = authority.issue(|_| {});
    let other = authority.issue(|_| {});
    let damaged = |text: &str| text.replacen("\nM", "\n*", 1);
    let encrypted = good.1.replace("PRIVATE", "ENCRYPTED PRIVATE");
    let not_a_key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n".to_owned();
    let not_a_certificate =
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".to_owned();
    let needs_certificate = "--tls-cert needs a PEM file with `BEGIN CERTIFICATE`";
    let needs_key = "--tls-key needs a PEM file with `BEGIN PRIVATE KEY`";
    for (certificate, key, parts) in [
        (
            &good.0,
            &other.1,
            &[
                "the key in key.pem does not belong to the first certificate in cert.pem",
                "put this server's own",
            ][..],
        ),
        (
            &good.1,
            &good.0,
            &["cert.pem has no certificate", needs_certificate],
        ),
        (&good.0, &good.0, &["key.pem has no private key", needs_key]),
        (
            &String::new(),
            &good.1,
            &["cert.pem has no certificate", needs_certificate],
        ),
        (
            &damaged(&good.0),
            &good.1,
            &["cert.pem has no certificate", needs_certificate],
        ),
        (
            &good.0,
            &damaged(&good.1),
            &["key.pem has no private key", needs_key],
        ),
        (
            &good.0,
            &encrypted,
            &["key.pem has no private key", "openssl pkey"],
        ),
        (
            &good.0,
            &not_a_key,
            &["the key in key.pem cannot be used", needs_key],
        ),
        (
            &not_a_certificate,
            &good.1,
            &["the certificate in cert.pem cannot be used", "renew it"],
        ),
    ] {
        write(home.root(), &(certificate.clone(), key.clone()));
        let ran = home.run([&["serve", "--http", "0"][..], &FILES].concat(), "");
        assert_eq!(ran.status.code(), Some(1), "{}", ran.stderr);
        for part in parts {
            assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
        }
        let key: Vec<&str> = key
            .lines()
            .filter(|line| line.len() > 20 && !line.contains(' '))
            .collect();
        assert!(
            key.iter().all(|line| !ran.stderr.contains(line)),
            "{}",
            ran.stderr
        );
    }
    write(home.root(), &good);
    set_mode(home.path("key.pem"), 0o640);
    let ran = home.run([&["serve", "--http", "0"][..], &FILES].concat(), "");
    ran.failed(
        1,
        "error: others can read or change the key key.pem: run `chmod 600 key.pem`\n",
    );
    fs::remove_file(home.path("cert.pem")).unwrap();
    let ran = home.run([&["serve", "--http", "0"][..], &FILES].concat(), "");
    assert!(
        ran.stderr
            .starts_with("error: cannot read the certificate cert.pem: No such file"),
        "{}",
        ran.stderr
    );
    for arguments in [&FILES[..2], &FILES[2..]] {
        let ran = home.run([&["serve", "--http", "0"], arguments].concat(), "");
        assert_eq!(
            ran.status.code(),
            Some(2),
            "each of the options requires the other"
        );
    }
}

#[test]
fn a_renewed_certificate_is_shown_and_a_broken_one_is_not() {
    let (authority, server) = start(&[]);
    let first = shown(&server, &authority);
    let mut open = connect(server.address, trusting(&authority, BOTH, &[])).unwrap();
    let renewed = authority.issue(|_| {});
    server.home.put("cert.pem", &renewed.0);
    assert_eq!(
        server.stderr_line(),
        "warning: the key in key.pem does not belong to the first certificate in cert.pem; give the key that does, and put this \
         server's own certificate first; until then, the previous version is used"
    );
    assert_eq!(shown(&server, &authority), first);
    server.home.put("key.pem", &renewed.1);
    let second = (0..10_000)
        .map(|_| shown(&server, &authority))
        .find(|now| *now != first)
        .expect("the renewed one");
    fs::remove_file(server.home.path("key.pem")).unwrap();
    assert!(
        server
            .stderr_line()
            .starts_with("warning: cannot read the key key.pem: ")
    );
    assert_eq!(shown(&server, &authority), second);
    open.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    open.read_to_string(&mut answer).unwrap();
    assert!(
        answer.starts_with("HTTP/1.1 200 "),
        "an open connection goes on: {answer}"
    );
}

#[test]
fn a_client_without_tls_does_not_stop_the_server() {
    let (authority, server) = start(&["--log-level", "debug", "--log-file", "server.log"]);
    let mut neither = Connection::to(server.address);
    neither.write_raw("\0\x01hello, is this TLS?\r\n\r\n");
    while !neither.is_closed_within(Duration::from_secs(60)) {}
    shown(&server, &authority);
    let log = server.stop();
    let log = log.text("server.log");
    assert_contains(&log, "the connection ended");
}

#[test]
fn clients_that_do_not_finish_the_handshake_keep_nobody_waiting() {
    let (authority, server) = start(&[]);
    let silent: Vec<Connection> = (0..50).map(|_| server.connect()).collect();
    let half: Vec<Connection> = (0..50)
        .map(|_| {
            let mut connection = server.connect();
            connection.write_raw([22, 3, 1, 2, 0]);
            connection
        })
        .collect();
    shown(&server, &authority);
    // Nor does the server wait for them when it is stopped.
    drop(server);
    drop((silent, half));
}

#[test]
fn a_page_of_this_server_may_use_it_over_https_only() {
    let (authority, server) = start(&["--allow-host", "prompts.example.com"]);
    let endpoint = tunnel(server.address, trusting(&authority, BOTH, &[]));
    let host = ("Host", "prompts.example.com");
    for (origin, want) in [
        ("https://prompts.example.com", 200),
        ("http://prompts.example.com", 403),
    ] {
        assert_eq!(
            endpoint.post_with(&[host, ("Origin", origin)], PING).status,
            want,
            "{origin}"
        );
    }
}

/// Waits for a time limit of the server, in
/// [`a_wait_for_time_limits`](crate::a_wait_for_time_limits).
pub(crate) fn a_client_that_does_not_finish_the_handshake_is_disconnected() {
    let (_, server) = start(&[]);
    let mut silent = server.connect();
    let mut half = server.connect();
    half.write_raw([22, 3, 1, 2, 0]);
    for connection in [&mut silent, &mut half] {
        assert!(connection.is_closed_within(Duration::from_secs(40)));
    }
}

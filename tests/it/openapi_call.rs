//! Services that render prompts and do it wrong, that must not be called, or that need a secret. Each is a real one on this machine.

use crate::client::{Client, LEGACY};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

/// The operations of a desk: one with all kinds of arguments, and one without any.
const DESK: &str = r#"openapi: 3.1.0
info: { title: Release desk, version: 1.0.0 }
servers: [{ url: "https://prompts.example.com/v1" }]
paths:
  /triage/{service}:
    post:
      operationId: triageIncident
      summary: Triage an incident
      parameters:
        - { name: service, in: path, required: true, description: Name of the service, schema: { type: string } }
        - { name: lang, in: query, description: Language of the brief, schema: { type: string, default: en } }
      requestBody: { required: true, content: { application/json: { schema: { type: object, required: [symptom],
        properties: { symptom: { type: string, description: What the user sees }, severity: { type: integer, default: 3 } } } } } }
      responses: { "200": { description: Messages } }
      x-zuplo-route: { mcp: { type: prompt, name: triage, description: Open an incident with the right brief } }
  /brief:
    get:
      operationId: brief
      responses: { "200": { description: Text } }
      x-mcp-prompt: {}
"#;

/// A service on a port of this machine, and the requests that it gets: the head and the body as they are.
struct Service {
    port: u16,
    requests: Receiver<String>,
}

impl Service {
    /// One that answers each connection, in a thread of its own, as `handle` does after the request was read.
    fn new(handle: impl Fn(&str, &mut TcpStream) + Send + Sync + 'static) -> Service {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sender, requests) = channel();
        let handle = Arc::new(handle);
        thread::spawn(move || {
            for connection in listener.incoming() {
                let (mut connection, sender, handle) = (connection.unwrap(), sender.clone(), Arc::clone(&handle));
                thread::spawn(move || {
                    let Some(request) = read_request(&mut connection) else { return };
                    sender.send(request.clone()).ok();
                    handle(&request, &mut connection);
                });
            }
        });
        Service { port, requests }
    }

    /// One that gives this answer to each request.
    fn answering(answer: impl Into<Vec<u8>>) -> Service {
        let answer = answer.into();
        Service::new(move |_, connection| connection.write_all(&answer).unwrap_or_default())
    }

    fn base(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    /// A client of the program that has the prompts of this service, and further options.
    fn client(&self, options: &[&str]) -> Client {
        client(&[&["--openapi-base", &self.base()], options].concat())
    }

    fn request(&self) -> String {
        self.requests.recv_timeout(std::time::Duration::from_secs(120)).expect("a request")
    }

    fn was_not_called(&self) -> bool {
        self.requests.try_recv().is_err()
    }
}

/// A client of the program that has the prompts of the desk.
fn client(options: &[&str]) -> Client {
    let client = Client::new();
    fs::write(client.root().join("desk.yaml"), DESK).unwrap();
    client.arguments([&["--no-builtin", "--prompts", "prompts", "--openapi", "desk.yaml"], options].concat())
}

/// A request, with its body if that has a length.
fn read_request(connection: &mut impl Read) -> Option<String> {
    let mut request = Vec::new();
    let mut byte = [0];
    while !request.ends_with(b"\r\n\r\n") {
        connection.read_exact(&mut byte).ok()?;
        request.push(byte[0]);
    }
    let head = String::from_utf8(request.clone()).unwrap().to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    connection.read_exact(&mut body).ok()?;
    request.extend(body);
    Some(String::from_utf8(request).unwrap())
}

fn answer(status: &str, content_type: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

fn ok(body: &Value) -> String {
    answer("200 OK", "application/json", &body.to_string())
}

fn text(role: &str, text: &str) -> Value {
    json!({"role": role, "content": {"type": "text", "text": text}})
}

/// A listener that nothing may connect to.
struct Untouched(TcpListener);

impl Untouched {
    fn new() -> Untouched {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        Untouched(listener)
    }

    fn port(&self) -> u16 {
        self.0.local_addr().unwrap().port()
    }

    #[track_caller]
    fn check(&self) {
        assert_eq!(self.0.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    }
}

#[test]
fn a_value_that_leads_out_of_its_path_is_an_error_of_the_caller() {
    let service = Service::answering(ok(&json!("Brief.")));
    let mut client = service.client(&[]);
    client.initialize(LEGACY);
    for value in ["..", "../admin", "a/../../admin", "."] {
        let want = "`service` takes a part of a path, ";
        let values = json!({"service": value, "symptom": "s"});
        let error = client.request("prompts/get", json!({"name": "triage", "arguments": values}))["error"].clone();
        assert_eq!(error["code"], -32602, "{error}");
        assert!(error["message"].as_str().unwrap().contains(want), "{error}");
        let error =
            client.call("expand_prompt", json!({"command": "triage", "input": "", "arguments": values})).error();
        assert!(error.contains(want), "{error}");
    }
    assert!(service.was_not_called());
}

#[test]
fn a_thousand_messages_and_a_text_of_a_mebibyte_are_a_prompt() {
    let messages = vec![text("user", "A"); 1000];
    let service = Service::answering(ok(&json!({"messages": messages})));
    let result = service.client(&[]).request("prompts/get", json!({"name": "brief"}));
    assert_eq!(result["result"]["messages"].as_array().unwrap().len(), 1000);
    let long = "x".repeat(1024 * 1024);
    let service = Service::answering(answer("200 OK", "text/markdown", &long));
    service.client(&[]).run(["expand", "brief"], "").printed(&format!("{long}\n"));
}

#[test]
fn what_a_service_does_wrong_names_the_operation_and_the_status() {
    let json = "application/json";
    let many = json!({"messages": vec![text("user", "A"); 1001]}).to_string();
    let endless = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 10000000000\r\n\r\n";
    let endless = [endless.as_bytes(), &vec![b'x'; 2_000_000]].concat();
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (
            answer("503 No", json, r#"{"error":"overloaded"}"#).into(),
            "answered 503 Service Unavailable (GET /brief): overloaded; try",
        ),
        (answer("503 No", "text/html", "<h1>no</h1>").into(), "answered 503 Service Unavailable (GET /brief); try"),
        (answer("404 No", json, "{}").into(), "answered 404 Not Found (GET /brief); check"),
        (
            answer("401 No", json, r#"{"message":"no key"}"#).into(),
            "answered 401 Unauthorized (GET /brief): no key; check --openapi-header",
        ),
        ("HTTP/1.1 204 No Content\r\n\r\n".into(), "answered 204 No Content (GET /brief); ask"),
        (
            answer("200 OK", "text/html", "<html>").into(),
            "answered 200 OK (GET /brief): not a prompt, but with the type `text/html`",
        ),
        (
            answer("200 OK", json, "{\"messages\"").into(),
            "not a prompt, but with JSON that is invalid: line 1, column 11",
        ),
        (answer("200 OK", json, "{\"prompt\":\"A\"}").into(), "not a prompt, but with JSON that has no `messages`"),
        (answer("200 OK", json, &many).into(), "not a prompt, but with 1,001 messages, the limit is 1,000"),
        (answer("200 OK", "text/plain", "").into(), "not a prompt, but with an empty text"),
        (
            answer("500 No", json, "{\"error\":\"\\u001b]0;x\\u0007\\u001b[2J\\nline\"}").into(),
            "answered 500 Internal Server Error (GET /brief): \\u{1b}]0;x\\u{7}\\u{1b}[2J line; try",
        ),
        (endless, "answered 200 OK (GET /brief): a body of more than 1048576 bytes"),
        (
            "HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/latest/meta-data/\r\n\r\n".into(),
            "answered 302 Found (GET /brief): a redirect to `169.254.169.254`, which is not followed",
        ),
        (
            "HTTP/1.1 302 Found\r\nLocation: /v1/brief\r\n\r\n".into(),
            "gave no answer (GET /brief): more than 5 redirects",
        ),
        ("SSH-2.0-OpenSSH_9.9\r\n".into(), "gave an answer that is not HTTP"),
        ("".into(), "closed the connection before the end of its answer (GET /brief)"),
    ];
    for (bytes, want) in cases {
        let service = Service::answering(bytes);
        let mut client = service.client(&[]);
        client.initialize(LEGACY);
        let error = client.expand("brief", "").error();
        assert!(error.starts_with("`brief` cannot be expanded: the service ") && error.contains(want), "{error}");
        assert!(!error.contains(|letter: char| letter.is_control()), "{error}");
        let refused = client.request("prompts/get", json!({"name": "brief"}))["error"].clone();
        assert_eq!(refused["code"], -32603, "{refused}");
        assert!(refused["message"].as_str().unwrap().contains(want), "{refused}");
        let ran = client.run(["expand", "brief"], "");
        assert_eq!((ran.status.code(), ran.stdout.as_str()), (Some(1), ""), "{}", ran.stderr);
        assert!(ran.stderr.contains(want), "{}", ran.stderr);
    }
}

#[test]
fn a_service_that_is_down_is_an_error_and_the_next_call_asks_it_again() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let base = format!("http://localhost:{port}");
    let mut client = client(&["--openapi-base", &base]).prompt("own.md", "Own.");
    client.initialize(LEGACY);
    let error = client.expand("brief", "").error();
    assert!(
        error
            .contains(&format!("the service at `{base}` cannot be reached (GET /brief): nothing listens there; check")),
        "{error}"
    );
    client.expand("own", "").text("Own.");
    let Ok(listener) = TcpListener::bind(("127.0.0.1", port)) else { return }; // another program has the port now
    thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        read_request(&mut connection).unwrap();
        connection.write_all(ok(&json!("Brief.")).as_bytes()).unwrap();
    });
    client.expand("brief", "").text("Brief.");
}

#[test]
fn hosts_with_private_addresses_are_not_called() {
    let untouched = Untouched::new();
    let port = untouched.port();
    for (host, address) in [
        ("10.0.0.1", "10.0.0.1"),
        ("169.254.169.254", "169.254.169.254"),
        ("192.168.1.1", "192.168.1.1"),
        ("0.0.0.0", "0.0.0.0"),
        ("[::]", "::"),
        ("[fd00::1]", "fd00::1"),
        ("[fe80::1]", "fe80::1"),
        ("[::ffff:127.0.0.1]", "::ffff:127.0.0.1"),
        ("[64:ff9b::7f00:1]", "64:ff9b::7f00:1"),
        ("2130706433", "127.0.0.1"), // another spelling, which the system resolves
        ("0x7f.1", "127.0.0.1"),
    ] {
        let mut client = client(&["--openapi-base", &format!("https://{host}:{port}")]);
        let error = client.expand("brief", "").error();
        let want = format!(
            "has the address {address}, which is not public; if that is meant, start with --openapi-allow-private"
        );
        assert!(error.contains("the service is not called (GET /brief): its host") && error.contains(&want), "{error}");
    }
    untouched.check();
}

#[test]
fn a_document_alone_names_no_service_on_this_machine() {
    let service = Service::answering(ok(&json!("Brief.")));
    let client = client(&[]);
    let document = DESK.replace("https://prompts.example.com/v1", &service.base());
    fs::write(client.root().join("desk.yaml"), document).unwrap();
    let ran = client.run(["expand", "brief"], "");
    assert!(ran.stderr.contains("is on this machine; name it with --openapi-base if that is meant"), "{}", ran.stderr);
    assert!(service.was_not_called());
    client.run(["--openapi-allow-private", "expand", "brief"], "").printed("Brief.\n");
}

#[test]
fn no_proxy_of_the_environment_gets_a_request() {
    let untouched = Untouched::new();
    let service = Service::answering(ok(&json!("Brief.")));
    let mut client = service.client(&[]);
    for name in ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] {
        client = client.variable(name, &format!("http://127.0.0.1:{}", untouched.port()));
    }
    client.run(["expand", "brief"], "").printed("Brief.\n");
    untouched.check();
}

#[test]
fn secret_headers_are_read_at_each_call_and_shown_nowhere() {
    // What they send is in an error of the service, too.
    let service = Service::new(|request, connection| {
        let header = request.lines().find_map(|line| line.strip_prefix("authorization: "));
        let body = json!({"error": format!("unknown: {}", header.unwrap_or_default())}).to_string();
        connection.write_all(answer("401 No", "application/json", &body).as_bytes()).unwrap();
    });
    let headers = ["--openapi-header", "Authorization: Bearer @token", "--openapi-header", "X-Key: $DESK_KEY"];
    let log = ["--tap", "tap", "--log-file", "log", "--log-level", "trace"];
    let mut client = service.client(&[&headers[..], &log].concat()).variable("DESK_KEY", "s3cret-key");
    let token = client.root().join("token");
    fs::write(&token, "s3cret-one\n").unwrap();
    client.initialize(LEGACY);
    let mut outputs = vec![client.expand("brief", "").error()];
    let request = service.request();
    assert!(request.contains("\r\nauthorization: Bearer s3cret-one\r\n"), "{request}");
    assert!(request.contains("\r\nx-key: s3cret-key\r\n"), "{request}");
    let want = "answered 401 Unauthorized (GET /brief): unknown: Bearer …; check --openapi-header";
    assert!(outputs[0].contains(want), "{outputs:?}");

    fs::write(&token, "s3cret-two").unwrap();
    outputs.push(client.request("prompts/get", json!({"name": "brief"})).to_string());
    assert!(service.request().contains("\r\nauthorization: Bearer s3cret-two\r\n"));
    outputs.push(client.request("prompts/list", json!({})).to_string());
    outputs.push(client.list().to_string());
    let refusals = [
        (None, "does not exist"),
        (Some(""), "is empty"),
        (Some("s3cret-three\r\nX-Evil: 1"), "has a line break, or another control character, within its text"),
    ];
    for (text, what) in refusals {
        match text {
            Some(text) => fs::write(&token, text).unwrap(),
            None => fs::remove_file(&token).unwrap(),
        }
        let error = client.expand("brief", "").error();
        let path = token.display();
        let want = format!(
            "the service is not called (GET /brief): the file `{path}` of the header `Authorization` {what}; correct it"
        );
        assert!(error.contains(&want), "{error}");
        outputs.push(error);
    }
    let (rest, _, stderr) = client.finish();
    outputs.extend([rest, stderr]);
    outputs.extend(["tap", "log"].map(|file| fs::read_to_string(client.root().join(file)).unwrap()));
    assert!(service.was_not_called());

    let client = service.client(&headers).variable("DESK_KEY", "s3cret-key");
    fs::write(client.root().join("token"), "s3cret-four").unwrap();
    for arguments in [
        &["expand", "brief"][..],
        &["explain", "brief"],
        &["explain", "--json", "brief"],
        &["show", "brief"],
        &["list"],
        &["check"],
    ] {
        let ran = client.run(arguments.iter().copied(), "");
        outputs.extend([ran.stdout, ran.stderr]);
    }
    assert!(service.request().contains("\r\nauthorization: Bearer s3cret-four\r\n"));
    assert!(service.was_not_called(), "only `expand` calls it");
    let unset = service.client(&headers);
    fs::write(unset.root().join("token"), "s3cret-five").unwrap();
    let ran = unset.run(["expand", "brief"], "");
    let want = "the environment variable `DESK_KEY` of the header `X-Key` is not set";
    assert!(ran.status.code() == Some(1) && ran.stderr.contains(want), "{}", ran.stderr);
    outputs.push(ran.stderr);
    for output in outputs {
        assert!(!output.contains("s3cret"), "{output}");
    }
}

#[test]
fn the_certificate_of_a_service_must_be_for_its_name() {
    let mut params = CertificateParams::new([]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let pem = |der: &[u8]| {
        let base64 = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, der);
        format!("-----BEGIN CERTIFICATE-----\n{base64}\n-----END CERTIFICATE-----\n")
    };
    for (name, is_trusted, want) in [
        ("localhost", true, Ok(())),
        ("localhost", false, Err("its certificate is not accepted: ")),
        ("prompts.example.com", true, Err("its certificate is not accepted: ")),
    ] {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new([name.to_owned()]).unwrap().signed_by(&key, &authority).unwrap();
        let (sender, requests) = channel();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let der = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
        let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
        let config = Arc::new(config.with_single_cert(vec![certificate.der().clone()], der).unwrap());
        thread::spawn(move || {
            let (connection, _) = listener.accept().unwrap();
            let mut stream = StreamOwned::new(ServerConnection::new(config).unwrap(), connection);
            sender.send(read_request(&mut stream)).unwrap();
            let _ = stream.write_all(ok(&json!("Brief.")).as_bytes());
            stream.conn.send_close_notify();
            let _ = stream.flush();
        });
        let client =
            client(&["--openapi-base", &format!("https://localhost:{port}"), "--openapi-header", "X-Key: $DESK_KEY"]);
        let file = client.root().join("authority.pem");
        fs::write(&file, if is_trusted { pem(authority.der()) } else { pem(certificate.der()) }).unwrap();
        let client = client.variable("SSL_CERT_FILE", file.to_str().unwrap()).variable("DESK_KEY", "s3cret");
        let ran = client.run(["expand", "brief"], "");
        match want {
            Ok(()) => {
                ran.printed("Brief.\n");
                assert!(requests.recv().unwrap().unwrap().contains("x-key: s3cret"));
            }
            Err(want) => {
                assert!(ran.status.code() == Some(1) && ran.stderr.contains(want), "{name}: {}", ran.stderr);
                assert_eq!(requests.recv().unwrap(), None, "no secret is sent");
            }
        }
    }
}

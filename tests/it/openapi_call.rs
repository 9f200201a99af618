//! Services that render prompts and do it wrong, that must not be called, or that need a secret.
//! Each is a real one on this machine.

use crate::certificates::Authority;
use crate::client::{Client, LEGACY};
use crate::http_service::{Service, response};
use rcgen::CertificateParams;
use serde_json::{Value, json};
use std::fs;
use std::io::ErrorKind;
use std::net::TcpListener;

/// A desk with one operation.
const DESK: &str = r#"openapi: 3.1.0
info: { title: Release desk, version: 1.0.0 }
servers: [{ url: "https://prompts.example.com/v1" }]
paths:
  /brief:
    get:
      operationId: brief
      responses: { "200": { description: Text } }
      x-mcp-prompt: {}
"#;

/// A client of the program that has the prompts of a document, and nothing else.
pub(crate) fn with_document(document: &str, options: &[&str]) -> Client {
    let client = Client::new();
    fs::write(client.root().join("desk.yaml"), document).unwrap();
    client.arguments(
        [
            &[
                "--no-builtin",
                "--prompts",
                "prompts",
                "--openapi",
                "desk.yaml",
            ],
            options,
        ]
        .concat(),
    )
}

/// The same with the prompts of the desk.
fn client(options: &[&str]) -> Client {
    with_document(DESK, options)
}

/// The same, whose service is this one.
fn client_of(service: &Service, options: &[&str]) -> Client {
    client(&[&["--openapi-base", &base(service)], options].concat())
}

/// Where a service has the operations of the desk.
pub(crate) fn base(service: &Service) -> String {
    format!("{}/v1", service.url())
}

fn ok(body: &Value) -> String {
    response("200 OK", "application/json", &body.to_string())
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
fn what_a_service_does_wrong_names_the_operation_and_the_status_in_every_interface() {
    let unavailable = response("503 No", "application/json", r#"{"error":"overloaded"}"#);
    let want = "`brief` cannot be expanded: the service for GET /brief answered 503 Service Unavailable: overloaded; try";
    let service = Service::answering(unavailable);
    let mut client = client_of(&service, &[]);
    client.initialize(LEGACY);
    let error = client.expand("brief", "").error();
    assert!(error.starts_with(want), "{error}");
    let refused = client.request("prompts/get", json!({"name": "brief"}))["error"].clone();
    assert_eq!(refused["code"], -32603, "{refused}");
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains(want), "{refused}");
    client.words("expand brief").says(1, &[want]);
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
    let want = format!("the service for GET /brief at `{base}` cannot be reached: ");
    assert!(error.contains(&want), "{error}");
    client.expand("own", "").text("Own.");
    let Ok(listener) = TcpListener::bind(("127.0.0.1", port)) else {
        return;
    }; // another program has the port now
    let _service = Service::start_on(listener, |_| ok(&json!("Brief.")));
    client.expand("brief", "").text("Brief.");
}

#[test]
fn a_document_alone_names_no_service_on_this_machine() {
    let service = Service::answering(ok(&json!("Brief.")));
    let client = client(&[]);
    let document = DESK.replace("https://prompts.example.com/v1", &base(&service));
    fs::write(client.root().join("desk.yaml"), document).unwrap();
    let ran = client.run(["expand", "brief"], "");
    assert!(
        ran.stderr.contains("is on this machine, and only the user may name it; give it as the `base` of the document in config.toml"),
        "{}",
        ran.stderr
    );
    assert!(service.requests().is_empty());
    client
        .run(["--openapi-allow-private", "expand", "brief"], "")
        .printed("Brief.\n");
}

#[test]
fn no_proxy_of_the_environment_gets_a_request() {
    let untouched = Untouched::new();
    let service = Service::answering(ok(&json!("Brief.")));
    let mut client = client_of(&service, &[]);
    for name in [
        "http_proxy",
        "HTTP_PROXY",
        "https_proxy",
        "HTTPS_PROXY",
        "all_proxy",
        "ALL_PROXY",
    ] {
        client = client.variable(name, &format!("http://127.0.0.1:{}", untouched.port()));
    }
    client.run(["expand", "brief"], "").printed("Brief.\n");
    untouched.check();
}

#[test]
fn secret_headers_are_read_at_each_call_and_shown_nowhere() {
    // What they send is in an error of the service, too.
    let service = Service::start(|request| {
        let header = request
            .head
            .lines()
            .find_map(|line| line.strip_prefix("authorization: "));
        let body = json!({"error": format!("unknown: {}", header.unwrap_or_default())}).to_string();
        response("401 No", "application/json", &body)
    });
    let headers = [
        "--openapi-header",
        "Authorization: Bearer @token",
        "--openapi-header",
        "X-Key: $DESK_KEY",
    ];
    let log = ["--tap", "tap", "--log-file", "log", "--log-level", "trace"];
    let mut client =
        client_of(&service, &[&headers[..], &log].concat()).variable("DESK_KEY", "s3cret-key");
    let token = client.root().join("token");
    fs::write(&token, "s3cret-one\n").unwrap();
    client.initialize(LEGACY);
    let mut outputs = vec![client.expand("brief", "").error()];
    let request = service.request().head;
    assert!(
        request.contains("\r\nauthorization: Bearer s3cret-one\r\n"),
        "{request}"
    );
    assert!(request.contains("\r\nx-key: s3cret-key\r\n"), "{request}");
    let want = "answered 401 Unauthorized: unknown: Bearer …; check the `headers` of the document in config.toml";
    assert!(outputs[0].contains(want), "{outputs:?}");

    fs::write(&token, "s3cret-two").unwrap();
    outputs.push(
        client
            .request("prompts/get", json!({"name": "brief"}))
            .to_string(),
    );
    assert!(
        service
            .request()
            .head
            .contains("\r\nauthorization: Bearer s3cret-two\r\n")
    );
    outputs.push(client.request("prompts/list", json!({})).to_string());
    outputs.push(client.list().to_string());
    let (rest, _, stderr) = client.finish();
    outputs.extend([rest, stderr]);
    outputs
        .extend(["tap", "log"].map(|file| fs::read_to_string(client.root().join(file)).unwrap()));
    assert!(service.requests().is_empty());

    let client = client_of(&service, &headers).variable("DESK_KEY", "s3cret-key");
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
    assert!(
        service
            .request()
            .head
            .contains("\r\nauthorization: Bearer s3cret-four\r\n")
    );
    assert!(service.requests().is_empty(), "only `expand` calls it");
    let unset = client_of(&service, &headers);
    fs::write(unset.root().join("token"), "s3cret-five").unwrap();
    let ran = unset.run(["expand", "brief"], "");
    let want = "the value of $DESK_KEY of the header `X-Key` cannot be used: environment variable not found";
    assert!(
        ran.status.code() == Some(1) && ran.stderr.contains(want),
        "{}",
        ran.stderr
    );
    outputs.push(ran.stderr);
    for output in outputs {
        assert!(!output.contains("s3cret"), "{output}");
    }
}

#[test]
fn the_certificate_of_a_service_must_be_for_its_name() {
    let authority = Authority::new();
    for (name, is_trusted, want) in [
        ("localhost", true, Ok(())),
        ("localhost", false, Err("certificate")),
        ("prompts.example.com", true, Err("certificate")),
    ] {
        let identity =
            authority.issue(|params| *params = CertificateParams::new([name.to_owned()]).unwrap());
        let service = Service::start_tls(&identity, |_| ok(&json!("Brief.")));
        let base = format!("https://localhost:{}", service.address.port());
        let client = client(&[
            "--openapi-base",
            &base,
            "--openapi-header",
            "X-Key: $DESK_KEY",
        ]);
        let file = client.root().join("authority.pem");
        fs::write(
            &file,
            if is_trusted {
                authority.pem()
            } else {
                identity.0
            },
        )
        .unwrap();
        let client = client
            .variable("SSL_CERT_FILE", file.to_str().unwrap())
            .variable("DESK_KEY", "s3cret");
        let ran = client.run(["expand", "brief"], "");
        match want {
            Ok(()) => {
                ran.printed("Brief.\n");
                assert!(service.request().head.contains("x-key: s3cret"));
            }
            Err(want) => {
                assert!(
                    ran.status.code() == Some(1) && ran.stderr.contains(want),
                    "{name}: {}",
                    ran.stderr
                );
                assert_eq!(service.requests(), [], "no secret is sent");
            }
        }
    }
}

//! `serve --http` behind a reverse proxy: whom it believes who the client is.

use crate::client::Client;
use crate::http_client::{Answer, HttpServer, write_secret};
use serde_json::Value;

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
const TOKEN: &str = "a-token-of-ana-20";

/// A server with a token that is short, so that it is not looked at where too many wrong ones have
/// come from.
fn start(arguments: &[&str]) -> HttpServer {
    let home = Client::new().prompt("review.md", "Review this.");
    write_secret(home.path("tokens"), &format!("{TOKEN}\n"));
    HttpServer::start_with(home, arguments)
}

fn ping(server: &HttpServer, headers: &[(&str, &str)]) -> Answer {
    server.post_with(headers, PING)
}

#[test]
fn rate_limits_are_for_the_client_that_a_trusted_proxy_names() {
    let server = start(&["--trusted-proxy", "127.0.0.1", "--rate-limit", "2/minute"]);
    assert!(
        server
            .stderr_line()
            .starts_with("warning: everyone who can reach the proxy can read your prompts;")
    );
    let status = |client: &str| ping(&server, &[("X-Forwarded-For", client)]).status;
    assert_eq!([0; 3].map(|_| status("192.0.2.1")), [200, 200, 429]);
    let mut connection = server.connect();
    let mut statuses = Vec::new();
    for client in [
        "192.0.2.11",
        "192.0.2.12",
        "192.0.2.12",
        "192.0.2.12",
        "192.0.2.11",
    ] {
        let headers = [
            &crate::http_client::USUAL[..],
            &[("X-Forwarded-For", client)],
        ]
        .concat();
        statuses.push(connection.send("POST", "/mcp", &headers, PING).status);
    }
    assert_eq!(
        statuses,
        [200, 200, 200, 429, 200],
        "a proxy sends requests of many clients over one connection"
    );
}

#[test]
fn headers_of_others_change_nothing() {
    for proxy in [
        &[][..],
        &[
            "--trusted-proxy",
            "192.0.2.1",
            "--trusted-proxy",
            "10.0.0.0/8",
        ],
    ] {
        let server = start(
            &[
                proxy,
                &[
                    "--token-file",
                    "tokens",
                    "--allow-host",
                    "prompts.example.com",
                ],
            ]
            .concat(),
        );
        let token = format!("Bearer {TOKEN}");
        for number in 0..10 {
            let address = format!("198.51.100.{number}");
            let headers = [
                ("Authorization", "Bearer wrong"),
                ("X-Forwarded-For", &address),
                ("X-Real-IP", &address),
            ];
            assert_eq!(ping(&server, &headers).status, 401);
        }
        for name in ["X-Forwarded-For", "Forwarded", "X-Real-IP"] {
            let value = if name == "Forwarded" {
                "for=203.0.113.1"
            } else {
                "203.0.113.1"
            };
            assert_eq!(
                ping(&server, &[("Authorization", &token), (name, value)]).status,
                429,
                "{name}"
            );
        }
        let metrics = |headers: &[(&str, &str)]| server.send("GET", "/metrics", headers, "").status;
        assert_eq!(metrics(&[("X-Forwarded-Host", "evil.example.com")]), 401);
        assert_eq!(
            metrics(&[
                ("Host", "evil.example.com"),
                ("X-Forwarded-Host", "localhost")
            ]),
            403
        );
        // Not a page of this server, which is not reached over HTTPS at that name.
        let forged = [
            ("X-Forwarded-Proto", "https"),
            ("X-Forwarded-Host", "prompts.example.com"),
        ];
        assert_eq!(
            metrics(&[&forged[..], &[("Origin", "https://prompts.example.com")]].concat()),
            403
        );
    }
}

#[test]
fn wrong_tokens_are_counted_and_logged_for_the_client() {
    let arguments = [
        "--token-file",
        "tokens",
        "--trusted-proxy",
        "127.0.0.0/8",
        "--log-level",
        "info",
    ];
    let server = start(
        &[
            &arguments[..],
            &["--log-format", "json", "--log-file", "server.log"],
        ]
        .concat(),
    );
    let status = |token: &str, client: &str| {
        ping(
            &server,
            &[
                ("Authorization", &format!("Bearer {token}")),
                ("X-Forwarded-For", client),
            ],
        )
        .status
    };
    for _ in 0..10 {
        assert_eq!(status("wrong", "192.0.2.1"), 401);
    }
    assert_eq!(
        (status(TOKEN, "192.0.2.1"), status(TOKEN, "192.0.2.2")),
        (429, 200)
    );
    let home = server.stop();
    let log = home.text("server.log");
    let events = log
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let refused: Vec<Value> = events
        .filter(|event| event["message"] == "refused a bearer token")
        .collect();
    assert!(
        refused.len() == 10 && refused.iter().all(|event| event["address"] == "192.0.2.1"),
        "{log}"
    );
    assert!(
        refused
            .iter()
            .all(|event| event["span"]["client"] == "192.0.2.1"),
        "{log}"
    );
}

#[test]
fn a_page_may_use_the_server_that_its_proxy_names_if_that_name_is_allowed() {
    let server = start(&[
        "--trusted-proxy",
        "127.0.0.1",
        "--allow-host",
        "prompts.example.com",
    ]);
    for (name, want) in [("prompts.example.com", 200), ("evil.example.com", 403)] {
        let origin = format!("https://{name}");
        let headers = [
            ("X-Forwarded-Host", name),
            ("X-Forwarded-Proto", "https"),
            ("Origin", &origin),
        ];
        assert_eq!(ping(&server, &headers).status, want, "{name}");
    }
}

#[test]
fn a_proxy_that_cannot_be_trusted_is_refused_with_what_to_write() {
    let home = Client::new();
    for (proxy, part) in [
        (
            "localhost",
            "it must be an address or a network, such as `127.0.0.1` or `10.0.0.0/8`",
        ),
        ("0.0.0.0/0", "it would trust everybody"),
    ] {
        let ran = home.run(["serve", "--http", "0", "--trusted-proxy", proxy], "");
        ran.says(2, &[part]);
    }
}

//! `--http URL`: commands that use the prompts of a server print the same as for a library on this machine, or say what is wrong.

use crate::certificates::Authority;
use crate::client::{Client, Ran};
use crate::http_client::{HttpServer, write_secret};
use crate::http_service::{Request, Service, response};
use prompt_expander::remote::{ErrorKind, Remote};
use rcgen::date_time_ymd;
use serde_json::{Value, json};
use std::fs;
use std::io::{ErrorKind as IoErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

/// The options of this program and the proxies of this machine, which the environment of the tests may have.
const VARIABLES: [&str; 10] = [
    "PROMPT_EXPANDER_TOKEN",
    "HTTPS_PROXY",
    "https_proxy",
    "HTTP_PROXY",
    "http_proxy",
    "ALL_PROXY",
    "all_proxy",
    "NO_PROXY",
    "no_proxy",
    "SSL_CERT_FILE",
];

/// Runs a command in a directory without prompts, with these environment variables.
fn run_with(variables: &[(&str, &str)], arguments: &[&str], stdin: &str) -> Ran {
    let set: String = variables.iter().map(|(name, value)| format!("; export {name}='{value}'")).collect();
    let elsewhere = Client::new().after(&format!("unset {}{set}", VARIABLES.join(" "))).arguments([]);
    elsewhere.run(arguments.iter().copied(), stdin)
}

fn run(arguments: &[&str], stdin: &str) -> Ran {
    run_with(&[], arguments, stdin)
}

fn url(server: &HttpServer) -> String {
    format!("http://{}", server.address)
}

/// What a command prints, with its status.
fn printed(ran: Ran) -> (Option<i32>, String, String) {
    (ran.status.code(), ran.stdout, ran.stderr)
}

const ARGUMENTS: &str = "---\ntitle: Compare\ndescription: Compare \"things\"\ntags: [work, 'a b']\narguments: [{name: options, required: true, description: What}, \
                         {name: criteria, default: cost, choices: [cost, risk]}, {name: unused}]\n---\n{{options}} by {{criteria}} {{typo}} {{options}} \\{{criteria}}\n";

/// A library with all that reports can contain.
fn library() -> Client {
    let client = Client::new()
        .arguments(["--prompts", "prompts", "--prompts", "claude:.claude/commands", "--prompts", "hexai:hex", "--prompts", "missing"])
        .prompt("compare.md", ARGUMENTS)
        .prompt("strict.md", "---\narguments: [{name: a, choices: [x], strict: true}]\n---\n{{a}}")
        .prompt("plain.md", "No placeholder.")
        .prompt("git/commit.md", "Commit {{input}}\n\n<\u{1b}[31mred>")
        .prompt("要約.md", "要約: {{input}} {{他}}")
        .prompt("a b&c=d%2F+.md", "{{input}}")
        .prompt("shots.md", "---\nmessages: true\n---\nAsk {{input}}.\n<!-- assistant -->\nYes.\n")
        .prompt("attached.md", "---\nattachments: [style.txt, ../image.png, https://example.com/x]\n---\nLook.")
        .prompt("style.txt", "Style")
        .prompt("lost.md", "---\nattachments: [none.txt]\n---\nLook.")
        .prompt("chosen.md", "---\nengine: jinja\narguments: [{name: lang}]\n---\n{% if lang %}In {{ lang|upper }}.{% endif %} {{ input }}")
        .prompt("whole.md", "---\ninclude: true\n---\n{{> _part}}\nEnd {{x}}.")
        .prompt("_part.md", "Part {{input}} {{y}}\n{{unknown_name}}")
        .prompt("broken.md", "---\narguments: [\n---\nx")
        .prompt("unclosed.md", "---\n")
        .prompt("bad\u{202e}name.md", "---\n: :\n---\n")
        .prompt("research.md", "My own {{input}}, not the built-in one.");
    let root = client.root();
    fs::write(root.join("image.png"), b"\x89PNG\r\n\x1a\n").unwrap();
    fs::create_dir_all(root.join(".claude/commands")).unwrap();
    fs::write(
        root.join(".claude/commands/fix.md"),
        "---\ndescription: Fix\nargument-hint: issue\n---\nFix $ARGUMENTS !`ls`",
    )
    .unwrap();
    fs::create_dir_all(root.join("hex")).unwrap();
    let line = json!({"name": "hexed", "title": "Hexed", "messages": [{"role": "user", "content": {"type": "text", "text": "A {{a}}"}}], "arguments": [{"name": "a"}]});
    fs::write(root.join("hex/user.jsonl"), format!("{line}\n{{\n")).unwrap();
    client
}

#[test]
fn the_output_is_byte_for_byte_that_of_the_library() {
    let server = HttpServer::start(library());
    let url = url(&server);
    let names = [
        "compare",
        "strict",
        "plain",
        "git/commit",
        "git:commit",
        ":git/commit",
        "要約",
        "a b&c=d%2F+",
        "shots",
        "attached",
        "lost",
        "chosen",
        "whole",
        "broken",
        "unclosed",
        "bad\u{202e}name",
        "research",
        "summarize",
        "fix",
        "hexed",
        "Research",
        "reserch",
        "none",
        "",
        "/",
        "..",
        "compare x",
        "_part",
        "https://x.y",
    ];
    let mut commands: Vec<(Vec<&str>, &str)> = Vec::new();
    for query in [
        &[][..],
        &["compare"],
        &["comprae"],
        &[":git"],
        &["要約"],
        &["zzz"],
        &["--tag", "work"],
        &["--tag", "A B"],
        &["--tag", "none"],
        &["--mine"],
        &["--mine", "--long"],
        &["--long", "a&b=c"],
        &["x", "--tag", "none"],
    ] {
        commands.push(([&["list"], query].concat(), ""));
    }
    for name in names {
        commands.push((vec!["show", "--", name], ""));
        for command in ["expand", "explain"] {
            commands.push((vec![command, name, "one two", "three"], ""));
            commands.push((vec![command, name], "piped\ntext\n"));
        }
    }
    for arguments in [
        &["compare"][..],
        &["compare", "--arg", "options=a", "--arg", "criteria=speed"],
        &["compare", "--arg", "option=a"],
        &["compare", "options=a unused=b"],
        &["compare", "--arg", "options=a", "b"],
        &["strict", "y"],
        &["chosen", "--arg", "lang=go"],
        &["plain", "--", "-", "--x"],
        &["git/commit", "a", "-", "b"],
    ] {
        for command in ["expand", "explain"] {
            commands.push(([&[command], arguments].concat(), ""));
        }
    }
    commands.push((vec!["expand", "git/commit", "a", "-", "b"], "piped\n"));
    commands.push((vec!["expand", "compare", "--arg", "options=a"], "piped\n"));
    for (arguments, stdin) in commands {
        for json in [&[][..], &["--json"]] {
            let local = [&arguments[..1], json, &arguments[1..]].concat();
            let remote = [&arguments[..1], json, &["--http", &url], &arguments[1..]].concat();
            let (local, remote) = (server.home.run(local, stdin), run(&remote, stdin));
            assert_eq!(printed(remote), printed(local), "{arguments:?} {json:?}");
        }
    }
}

#[test]
fn the_url_may_end_in_the_path_of_mcp() {
    let server = HttpServer::start(Client::new().prompt("a.md", "A {{input}}"));
    for path in ["", "/", "/mcp", "/mcp/"] {
        run(&["expand", "a", "x", "--http", &format!("{}{path}", url(&server))], "").printed("A x\n");
    }
    let port = server.address.port();
    run(&["expand", "a", "x", "--http", &format!("http://localhost:{port}")], "").printed("A x\n");
}

#[test]
fn an_edit_on_the_server_shows_in_the_next_output() {
    let server = HttpServer::start(Client::new().prompt("a.md", "A"));
    run(&["expand", "a", "--http", &url(&server)], "").printed("A\n");
    server.home.save("a.md", "B");
    run(&["expand", "a", "--http", &url(&server)], "").printed("B\n");
}

#[test]
fn an_empty_list_of_a_server_says_why() {
    let server = HttpServer::start(Client::new());
    run(&["list", "--http", &url(&server)], "").said("warning: there are no prompts on the server\n");
}

#[test]
fn a_file_and_prompts_of_this_machine_cannot_be_combined_with_a_server() {
    for (arguments, option) in [
        (&["--prompts", "x", "list", "--http", "http://localhost"][..], "prompts"),
        (&["list", "--http", "http://localhost", "--prompts", "x"], "prompts"),
        (&["expand", "--project", "a", "--http", "http://localhost"], "project"),
        (&["--from-agents", "explain", "a", "--http", "http://localhost"], "from-agents"),
        (&["show", "a", "--no-builtin", "--http", "http://localhost"], "no-builtin"),
    ] {
        let ran = run(arguments, "");
        let want = format!(
            "error: --http uses the prompts of a server, and --{option} selects prompts on this machine; leave out one of them\n"
        );
        assert!(ran.stderr.starts_with(&want) && ran.status.code() == Some(2), "{ran:?}");
    }
    for file in ["./draft.md", "/draft.md", "~/draft.md"] {
        run(&["expand", file, "--http", "http://127.0.0.1:1"], "").failed(
            1,
            &format!("error: `{file}` is a file on this machine, and a server uses its own; leave out --http, or name a prompt of the server\n"),
        );
    }
    assert_eq!(run(&["list", "--token-env", "X"], "").status.code(), Some(2));
    let ran = run(&["list", "--http", "localhost:3333"], "");
    assert!(ran.stderr.contains("it must begin with https:// or http://, as in `http://localhost:3333`"), "{ran:?}");
    assert_eq!(ran.status.code(), Some(2));
    let ran = run(&["list", "--http", "https://ana:secret@prompts.example.com"], "");
    assert!(ran.stderr.starts_with("error: the URL of --http cannot be used: it must not have a user name"), "{ran:?}");
    assert!(!ran.stderr.contains("secret") && ran.status.code() == Some(2), "{ran:?}");
}

const TOKEN: &str = "the-token-of-team-a-who-sees-its-own";

fn with_tokens() -> HttpServer {
    let home = Client::new().prompt("team-a/report.md", "Report {{input}}").prompt("team-b/secret.md", "Secret");
    let tokens = format!("{TOKEN} prefix=team-a/\nan-expired-token-of-somebody-else expires=2020-01-31\n");
    write_secret(home.root().join("tokens"), &tokens);
    HttpServer::start_with(home, &["--token-file", "tokens"])
}

#[test]
fn a_token_is_taken_from_the_usual_variable_or_from_the_one_that_is_named() {
    let server = with_tokens();
    let url = url(&server);
    let expand = |variables: &[(&str, &str)], more: &[&str]| {
        run_with(variables, &[&["expand", "team-a/report", "x", "--http", &url], more].concat(), "")
    };
    expand(&[("PROMPT_EXPANDER_TOKEN", TOKEN)], &[]).printed("Report x\n");
    expand(&[("MINE", TOKEN), ("PROMPT_EXPANDER_TOKEN", "wrong")], &["--token-env", "MINE"]).printed("Report x\n");
    expand(&[("PROMPT_EXPANDER_TOKEN", TOKEN)], &["--token-env", "MINE"])
        .failed(1, "error: the environment variable MINE is not set; set it to the token for the server\n");
    expand(&[("MINE", "a b")], &["--token-env", "MINE"])
        .failed(1, "error: the token contains invalid characters, such as spaces; set MINE to the token alone\n");
    expand(&[], &[]).failed(
        1,
        &format!("error: `{url}` needs a token; set it in the environment variable PROMPT_EXPANDER_TOKEN, or name another variable with --token-env\n"),
    );
    for (token, why) in [
        ("wrong-and-long-enough-that-it-is-one", "this bearer token is wrong"),
        ("an-expired-token-of-somebody-else", "this bearer token expired at the end of 2020-01-31"),
    ] {
        expand(&[("PROMPT_EXPANDER_TOKEN", token)], &[])
            .failed(1, &format!("error: `{url}` refuses the token: {why}; ask for another token, and set it in the environment variable\n"));
    }
}

#[test]
fn a_rate_limit_is_passed_on_with_its_time() {
    let server = HttpServer::start_with(Client::new().prompt("a.md", "A"), &["--rate-limit", "1/minute"]);
    let url = url(&server);
    run(&["show", "a", "--http", &url], "").printed("A");
    let ran = run(&["show", "a", "--http", &url], "");
    let begin = format!(
        "error: `{url}` refuses the request for now: more messages than the limit of 1 message a minute, 1 at once: try again in "
    );
    assert!(ran.stderr.starts_with(&begin) && ran.status.code() == Some(1), "{ran:?}");
}

#[test]
fn what_a_token_may_not_see_does_not_exist() {
    let server = with_tokens();
    let url = url(&server);
    for command in [&["show"][..], &["expand"], &["explain"], &["expand", "--json"]] {
        let ran =
            |name| run_with(&[("PROMPT_EXPANDER_TOKEN", TOKEN)], &[command, &[name, "--http", &url]].concat(), "");
        let (secret, none) = (ran("team-b/secret"), ran("team-b/public"));
        assert_eq!(secret.stderr.replace("secret", "public"), none.stderr);
        assert_eq!((secret.status.code(), none.status.code()), (Some(1), Some(1)));
    }
    let list = run_with(&[("PROMPT_EXPANDER_TOKEN", TOKEN)], &["list", "--http", &url], "");
    list.printed("team-a/report\tReport {{input}}\tuser\t\t\n");
}

#[test]
fn a_server_that_cannot_be_reached_says_what_to_check() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    run(&["list", "--http", &format!("http://{free}/mcp")], "").failed(
        1,
        &format!("error: `http://{free}` cannot be reached: nothing listens there; check the address and the network, and whether the server is running\n"),
    );
    let ran = run(&["list", "--http", "http://no-such-host.invalid"], "");
    assert!(ran.stderr.starts_with("error: `http://no-such-host.invalid` cannot be reached: "), "{ran:?}");
    let url = &Service::answering("").url();
    run(&["list", "--http", url], "").failed(
        1,
        &format!("error: `{url}` cannot be reached: the connection was closed without an answer; check the address and the network, and whether the server is running\n"),
    );
}

#[test]
fn another_program_and_another_version_are_told_apart() {
    let another = |url: &str, how: &str| {
        format!(
            "error: `{url}` is not a prompt-expander server: {how}; correct the URL; `prompt-expander serve --http` prints that of a server\n"
        )
    };
    for (status, content_type, body, how) in [
        ("200 OK", "text/html", "<html>", "it answers with status 200"),
        ("200 OK", "application/json", "{\"prompts\":7}", "it answers with status 200"),
        ("404 Not Found", "text/plain", "", "it answers with status 404"),
        ("500 Internal Server Error", "application/json", "{}", "it answers with status 500"),
    ] {
        let url = Service::answering(response(status, content_type, body)).url();
        run(&["list", "--http", &url], "").failed(1, &another(&url, how));
    }
    for (version, why) in [
        ("0.0.9", "has another version, `0.0.9`; update the server, or this program"),
        (
            env!("CARGO_PKG_VERSION"),
            "answers to /mcp, but with status 404 to /api; have the proxy in front of it pass on all paths",
        ),
    ] {
        let info = json!({"name": "prompt-expander", "version": version});
        let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {"serverInfo": info}}).to_string();
        let service = Service::start(move |request| match request.head.starts_with("POST /mcp ") {
            true => response("200 OK", "application/json", &answer),
            false => response("404 Not Found", "text/plain", ""),
        });
        let url = service.url();
        run(&["expand", "a", "--http", &url], "").failed(1, &format!("error: `{url}` {why}\n"));
    }
    let url = Service::answering("SSH-2.0-OpenSSH_9.6\r\n").url();
    let ran = run(&["list", "--http", &url], "");
    assert_eq!(
        ran.stderr,
        format!(
            "error: `{url}` is not a prompt-expander server: its answer is not HTTP; write `https://` if it uses TLS, or correct the URL\n"
        )
    );
}

#[test]
fn what_a_terminal_would_act_on_is_escaped_in_what_a_server_sends() {
    let hostile = |text: &str| format!("{text}\u{1b}]0;x\u{7}\u{9b}31m\u{85}");
    let problem = json!({"severity": "error", "file": hostile("f"), "message": hostile("m"), "repair": hostile("r")});
    let listed = json!({"name": hostile("n"), "title": hostile("t"), "description": hostile("d"), "layer": hostile("l"),
        "format": hostile("f"), "source": hostile("s"), "tags": [hostile("t")], "usage": hostile("u")});
    let list = json!({"prompts": [listed], "problems": [problem]});
    let server = HttpServer::start(Client::new().prompt("a.md", "A {{input}}"));
    let body = r#"{"command": "a", "input": "x"}"#;
    let explained = server.send("POST", "/api/explain", &[("Content-Type", "application/json")], body);
    let mut explanation = explained.json();
    for key in ["name", "title", "description", "layer", "format", "source", "input", "usage", "input_from"] {
        explanation[key] = hostile(key).into();
    }
    for key in ["includes", "tags", "icons", "messages", "attachments", "warnings", "skipped"] {
        explanation[key] = json!([hostile(key)]);
    }
    explanation["problems"] = json!([problem]);
    explanation["placeholders"][0]["name"] = hostile("p").into();
    let failure = json!({"error": {"message": hostile("m"), "hint": hostile("h"), "warnings": [hostile("w")]}});
    for (status, answer, arguments, succeeds) in [
        ("200 OK", &list, &["list"][..], true),
        ("200 OK", &list, &["list", "--long"], true),
        ("200 OK", &list, &["list", "--json"], true),
        ("200 OK", &explanation, &["explain", "a"], true),
        ("200 OK", &explanation, &["explain", "a", "--json"], true),
        ("404 Not Found", &failure, &["list"], false),
        ("422 Unprocessable Content", &failure, &["expand", "a"], false),
        ("403 Forbidden", &failure, &["show", "a"], false),
    ] {
        let url = Service::answering(response(status, "application/json", &answer.to_string())).url();
        let ran = run(&[arguments, &["--http", &url]].concat(), "");
        assert_eq!(ran.status.success(), succeeds, "{arguments:?} {ran:?}");
        let printed = format!("{}{}", ran.stdout, ran.stderr);
        let acts = |character: char| character.is_control() && !matches!(character, '\n' | '\t');
        assert!(printed.contains("31m") && !printed.contains(acts), "{arguments:?} {ran:?}");
    }
}

#[test]
fn a_redirect_is_not_followed_so_that_the_token_goes_to_no_other_host() {
    let target = Service::answering(response("200 OK", "text/plain", ""));
    let location = format!("{}/api/prompts", target.url());
    for status in ["301 Moved Permanently", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"] {
        let redirects =
            Service::answering(format!("HTTP/1.1 {status}\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n"));
        let url = redirects.url();
        let ran = run_with(&[("PROMPT_EXPANDER_TOKEN", TOKEN)], &["list", "--http", &url], "");
        ran.failed(
            1,
            &format!(
                "error: `{url}` redirects to `{location}`, which is not followed; use that URL if it is the right one\n"
            ),
        );
        let head = redirects.request().head;
        assert!(head.to_lowercase().contains(&format!("authorization: bearer {TOKEN}")), "{head}");
    }
    assert_eq!(target.requests(), []);
}

#[test]
fn this_machine_is_reached_without_the_proxy_and_others_with_it() {
    let server = HttpServer::start(Client::new().prompt("a.md", "A"));
    let proxy = Service::answering(response("502 Bad Gateway", "text/plain", ""));
    let through = proxy.url();
    run_with(&[("HTTP_PROXY", &through), ("ALL_PROXY", &through)], &["expand", "a", "--http", &url(&server)], "")
        .printed("A\n");
    assert_eq!(proxy.requests(), []);
    let ran = run_with(&[("ALL_PROXY", &through)], &["list", "--http", "http://prompts.example.com"], "");
    assert!(ran.status.code() == Some(1) && proxy.request().head.contains("prompts.example.com"), "{ran:?}");
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for scheme in ["http://user:secret@", "socks5://"] {
        let proxy = format!("{scheme}{free}");
        run_with(&[("ALL_PROXY", &proxy)], &["list", "--http", "http://192.0.2.1"], "").failed(
            1,
            &format!(
                "error: `http://192.0.2.1` cannot be reached through the proxy `{free}`: nothing listens there; check the address, and \
                 the proxy in the variable HTTPS_PROXY, HTTP_PROXY or ALL_PROXY; NO_PROXY names hosts without it\n"
            ),
        );
    }
}

#[test]
fn an_answer_that_does_not_come_ends_with_the_time_limit() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let remote = Remote::new(&url, None).unwrap().with_timeout(Duration::from_millis(300));
    let error = remote.conversation().send(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})).unwrap_err();
    assert_eq!((error.kind, error.message), (ErrorKind::TimedOut, format!("`{url}` does not answer within 0.3 s")));
}

#[test]
fn a_server_that_does_not_go_by_this_name_says_so() {
    let server = HttpServer::start(Client::new());
    let url = proxy_with_host(server.address, "prompts.example.com").url();
    let ran = run(&["list", "--http", &url], "");
    assert!(
        ran.stderr.starts_with(&format!("error: `{url}` refuses the request: ")) && ran.stderr.contains("--allow-host"),
        "{ran:?}"
    );
    assert_eq!(ran.status.code(), Some(1));
}

/// A proxy that passes on requests with another name of the server.
fn proxy_with_host(to: std::net::SocketAddr, host: &'static str) -> Service {
    Service::start(move |request| {
        let line = request.head.lines().next().unwrap();
        let mut server = TcpStream::connect(to).unwrap();
        server.write_all(format!("{line}\r\nHost: {host}\r\nConnection: close\r\n\r\n").as_bytes()).unwrap();
        let mut answer = String::new();
        server.read_to_string(&mut answer).unwrap();
        answer
    })
}

#[test]
fn a_conversation_keeps_its_session_and_ends_it() {
    let server = HttpServer::start(Client::new().prompt("a.md", "A"));
    let remote = Remote::new(&format!("{}/mcp", url(&server)), None).unwrap();
    let mut conversation = remote.conversation();
    let mut send = |method: &str, params: Value| {
        let answer =
            conversation.send(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})).unwrap();
        answer.unwrap()["result"].clone()
    };
    let info = json!({"name": "codex-mcp-client", "version": "0"});
    let initialized =
        send("initialize", json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}));
    assert_eq!(initialized["serverInfo"]["name"], "prompt-expander");
    assert!(send("tools/list", json!({}))["tools"].to_string().contains("expand_prompt"));
    let called = send("tools/call", json!({"name": "expand_prompt", "arguments": {"command": "a", "input": ""}}));
    assert_eq!(called["structuredContent"], json!({"prompt": "A"}));
    let none = conversation.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).unwrap();
    assert_eq!(none, None);
    conversation.end();
    let metrics = server.send("GET", "/metrics", &[], "").text();
    assert!(metrics.contains("status=\"204\""), "the session was deleted: {metrics}");
}

#[test]
fn a_certificate_that_is_not_accepted_says_why_and_what_to_do() {
    let authority = Authority::new();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("authority.pem");
    fs::write(&file, authority.pem()).unwrap();
    let trusting = [("SSL_CERT_FILE", file.to_str().unwrap())];

    let empty = |_: &Request| response("200 OK", "application/json", "{\"prompts\":[]}");
    let port = Service::start_tls(&authority.issue(|_| {}), empty).address.port();
    let url = format!("https://localhost:{port}");
    run_with(&trusting, &["list", "--json", "--http", &url], "").printed("{\"prompts\":[]}\n");
    run(&["list", "--http", &url], "").failed(
        1,
        &format!(
            "error: the certificate of `{url}` is not accepted: its issuer is unknown; add the issuer's certificate to those of the system, or \
             name its file in the variable SSL_CERT_FILE\n"
        ),
    );
    let by_address = format!("https://127.0.0.1:{port}");
    run_with(&trusting, &["list", "--http", &by_address], "").failed(
        1,
        &format!("error: the certificate of `{by_address}` is not accepted: it is for another name; use that name in the URL, or have a certificate made for this one\n"),
    );
    let plain = format!("http://localhost:{port}");
    let ran = run(&["list", "--http", &plain], "");
    assert!(ran.stderr.contains("write `https://` if it uses TLS"), "{ran:?}");

    let expired = authority.issue(|params| params.not_after = date_time_ymd(2020, 1, 31));
    let url = format!("https://localhost:{}", Service::start_tls(&expired, empty).address.port());
    run_with(&trusting, &["list", "--http", &url], "").failed(
        1,
        &format!("error: the certificate of `{url}` is not accepted: it has expired; renew it, and check the clock of this machine\n"),
    );

    let server = HttpServer::start(Client::new());
    let url = format!("https://{}", server.address);
    run(&["list", "--http", &url], "")
        .failed(1, &format!("error: `{url}` does not use TLS; write `http://` instead of `https://`\n"));
}

#[test]
fn an_input_that_is_longer_than_the_server_accepts_says_so() {
    let server = HttpServer::start_with(Client::new().prompt("a.md", "{{input}}"), &["--max-body", "100KiB"]);
    let ran = run(&["expand", "a", "--http", &url(&server)], &"x".repeat(3 * 1024 * 1024));
    // The server may close the connection before its reason is read.
    assert!(ran.stderr.contains("--max-body"), "{ran:?}");
    assert_eq!(ran.status.code(), Some(1));
    let long = "x".repeat(90 * 1024);
    run(&["expand", "a", "--http", &url(&server)], &long).printed(&format!("{long}\n"));
}

#[test]
fn nothing_is_connected_to_before_the_call_is_complete() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let ran = run(&["expand", "a", "--arg", "x=1", "--arg", "x=2", "--http", &url], "");
    ran.failed(1, "error: --arg x=… is given twice\n");
    assert_eq!(listener.accept().unwrap_err().kind(), IoErrorKind::WouldBlock);
}

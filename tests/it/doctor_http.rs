//! `doctor` about servers over HTTP: the real server with and without tokens, and others in its place.

use crate::certificates::Authority;
use crate::client::Client;
use crate::doctor::{findings, found, home, is_fine, write};
use crate::http_client::{HttpServer, write_secret};
use crate::http_service::{Service, response};
use rcgen::date_time_ymd;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;

/// Registers the server at this URL with Codex, with these further lines.
fn codex(client: &Client, url: &str, more: &str) -> PathBuf {
    write(client, ".codex/config.toml", format!("[mcp_servers.prompts]\nurl = \"{url}\"\n{more}\n"))
}

fn url(address: SocketAddr) -> String {
    format!("http://{address}/mcp")
}

/// A server with this file of tokens, of which it has the first, `secret-1`, and a second one for the folder `team/`.
fn with_tokens() -> HttpServer {
    let client = Client::new().prompt("hello.md", "Hello.");
    let tokens = client.root().join("tokens");
    write_secret(&tokens, "secret-1-of-sixteen name=ana\nsecret-2-of-sixteen prefix=team/\n");
    let tokens = tokens.display().to_string();
    HttpServer::start_with(client, &["--token-file", &tokens])
}

/// Another program at a port: what it does with each connection. It ends with the test.
fn other_program(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || listener.incoming().map_while(Result::ok).for_each(serve));
    address
}

/// A server that answers each JSON-RPC message with this.
fn mcp_server(answer: impl Fn(&Value) -> Value + Send + Sync + 'static) -> Service {
    Service::start(move |request| {
        let message: Value = serde_json::from_str(&request.body).unwrap_or_default();
        match message.get("id") {
            Some(_) => response("200 OK", "application/json", &answer(&message).to_string()),
            None => response("202 Accepted", "text/plain", ""),
        }
    })
}

/// An MCP server of this name and version with these tools.
fn other_mcp(name: &'static str, version: &'static str, tools: &'static [&'static str]) -> SocketAddr {
    let result = move |message: &Value| match message["method"].as_str().unwrap_or_default() {
        "initialize" => {
            json!({"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": name, "version": version}})
        }
        "tools/list" => json!({"tools": tools.iter().map(|tool| json!({"name": tool})).collect::<Vec<_>>()}),
        _ => json!({"content": [{"type": "text", "text": "{\"prompts\": [{\"name\": \"a\"}]}"}]}),
    };
    let server = mcp_server(move |message| json!({"jsonrpc": "2.0", "id": message["id"], "result": result(message)}));
    server.address
}

#[test]
fn a_server_that_answers_is_fine() {
    let server = HttpServer::start(Client::new().prompt("hello.md", "Hello.").prompt("b.md", "B"));
    let client = home();
    let url = url(server.address);
    codex(&client, &url, "");
    is_fine(&client, "codex");
    let fine = found(&client, &["codex"], "fine", &format!("`prompts` answers at `{url}` in "));
    assert!(fine["message"].as_str().unwrap().ends_with(" ms and has 2 prompts"), "{fine}");
    // As other agents register it.
    let entry = json!({"type": "http", "url": url});
    write(&client, ".claude.json", json!({"mcpServers": {"prompts": entry}}).to_string());
    found(&client, &["claude-code"], "fine", "`prompts` answers at ");
    write(
        &client,
        ".config/opencode/opencode.json",
        json!({"mcp": {"prompts": {"type": "remote", "url": url}}}).to_string(),
    );
    is_fine(&client, "opencode");
}

#[test]
fn a_file_that_the_server_cannot_read_is_named_with_its_position() {
    let server = HttpServer::start(Client::new().prompt("hello.md", "Hello.").prompt("broken.md", "---\ntitle: T\n"));
    let client = home();
    codex(&client, &url(server.address), "");
    let message = "`prompts` has 1 file that cannot be read, such as broken.md:1:1: the ";
    let findings = findings(&client, &["codex"]);
    let has_message = |finding: &Value| finding["message"].as_str().is_some_and(|found| found.starts_with(message));
    assert!(findings.iter().any(has_message), "{findings:?}");
}

#[test]
fn a_token_is_read_where_the_agent_reads_it() {
    let server = with_tokens();
    let (url, client) = (url(server.address), home().variable("TEAM_TOKEN", "secret-1-of-sixteen"));
    codex(&client, &url, "bearer_token_env_var = \"TEAM_TOKEN\"");
    is_fine(&client, "codex");
    for (name, file, key, header) in [
        ("claude-code", ".claude.json", "mcpServers", "Bearer ${TEAM_TOKEN}"),
        ("gemini", ".gemini/settings.json", "mcpServers", "Bearer $TEAM_TOKEN"),
        ("cursor", ".cursor/mcp.json", "mcpServers", "Bearer ${env:TEAM_TOKEN}"),
        ("opencode", ".config/opencode/opencode.json", "mcp", "Bearer {env:TEAM_TOKEN}"),
        ("zed", ".config/zed/settings.json", "context_servers", "Bearer secret-1-of-sixteen"),
    ] {
        let entry = json!({"url": url, "headers": {"Authorization": header}, "trust": true});
        write(&client, file, json!({key: {"prompts": entry}}).to_string());
        found(&client, &[name], "fine", "`prompts` answers at ");
    }
    assert!(!format!("{:?}", findings(&client, &[])).contains("secret"));
    // In another file it could be in a variable.
    let entry = json!({"url": url, "headers": {"Authorization": "Bearer secret-1-of-sixteen"}});
    write(&client, ".cursor/mcp.json", json!({"mcpServers": {"prompts": entry}}).to_string());
    let warned = found(&client, &["cursor"], "warning", "the token of `prompts` is in this file");
    assert_eq!(
        warned["remedy"],
        format!(
            "put it into an environment variable, and run `prompt-expander install cursor --http {url} --token-env TEAM_TOKEN`"
        )
    );
}

#[test]
fn for_each_problem_with_a_token_doctor_says_what_to_do() {
    let server = with_tokens();
    let url = url(server.address);
    let variable = "bearer_token_env_var = \"TEAM_TOKEN\"";

    let client = home();
    codex(&client, &url, variable);
    let unset = "Codex reads the token from the environment variable TEAM_TOKEN, which is not set here";
    let finding = found(&client, &["codex"], "broken", unset);
    assert_eq!(finding["remedy"], "export it in the shell that starts Codex");
    assert_eq!(findings(&client, &["codex"]).len(), 1);
    let entry = json!({"url": url, "headers": {"Authorization": "Bearer ${env:TEAM_TOKEN}"}});
    write(&client, ".cursor/mcp.json", json!({"mcpServers": {"prompts": entry}}).to_string());
    let finding = found(&client, &["cursor"], "warning", "Cursor reads the token from");
    assert_eq!(finding["remedy"], "set it for your whole session, where Cursor is started");

    codex(&client, &url, "");
    let finding = found(&client, &["codex"], "broken", " needs a token");
    let remedy =
        format!("such as TEAM_TOKEN, and run `prompt-expander install codex --http {url} --token-env TEAM_TOKEN`");
    assert!(finding["remedy"].as_str().unwrap().ends_with(&remedy), "{finding}");

    let client = home().variable("TEAM_TOKEN", "secret-of-somebody-else");
    codex(&client, &url, variable);
    let finding = found(&client, &["codex"], "broken", " refuses the token");
    assert_eq!(finding["remedy"], "ask those who operate the server for another token, and set TEAM_TOKEN to it");

    let client = home().variable("TEAM_TOKEN", "two words");
    codex(&client, &url, variable);
    found(&client, &["codex"], "broken", "`prompts` cannot be asked: the token contains invalid characters");

    // One for a folder in which there is nothing.
    let client = home().variable("TEAM_TOKEN", "secret-2-of-sixteen");
    codex(&client, &url, variable);
    let finding = found(&client, &["codex"], "warning", "`prompts` has no prompts for you");
    assert!(finding["remedy"].as_str().unwrap().ends_with("for which folder of prompts your token is"), "{finding}");

    // None is needed.
    let open = HttpServer::start(Client::new().prompt("hello.md", "Hello."));
    let client = home();
    codex(&client, &self::url(open.address), variable);
    let finding = found(&client, &["codex"], "warning", unset);
    assert!(finding["remedy"].as_str().unwrap().ends_with("--reset`: the server needs none"), "{finding}");
}

#[test]
fn a_server_that_cannot_be_reached_is_reported() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let silent = other_program(|mut stream| _ = stream.read_to_end(&mut Vec::new()));
    let ssh = other_program(|mut stream| {
        stream.write_all(b"SSH-2.0-OpenSSH_9.9\r\n").unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let hangs_up = other_program(|mut stream| {
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
    });
    for (url, why) in [
        (url(closed), "cannot be reached: nothing listens there"),
        (url(silent), "does not answer within 1 s"),
        (url(ssh), "is not a prompt-expander server: its answer is not HTTP"),
        (url(hangs_up), "cannot be reached: the connection was closed without an answer"),
        (format!("https://{ssh}/mcp"), "does not use TLS"),
        ("http://prompts.invalid/mcp".to_owned(), "cannot be reached: "),
    ] {
        let client = home();
        let file = codex(&client, &url, "");
        let finding = found(&client, &["codex", "--timeout", "1"], "broken", why);
        let base = url.trim_end_matches("/mcp");
        assert!(finding["message"].as_str().unwrap().starts_with(&format!("`prompts`: `{base}` ")), "{finding}");
        assert_eq!((&finding["file"], &finding["line"]), (&json!(file), &json!(1)));
    }
}

#[test]
fn a_certificate_that_is_not_accepted_is_reported() {
    let authority = Authority::new();
    let port = |identity| Service::start_tls(&identity, |_| String::new()).address.port();
    let valid = port(authority.issue(|_| {}));
    let expired = port(authority.issue(|params| params.not_after = date_time_ymd(2020, 1, 31)));
    for (base, is_issuer_known, why) in [
        (format!("https://localhost:{valid}"), false, "its issuer is unknown"),
        (format!("https://127.0.0.1:{valid}"), true, "it is for another name"),
        (format!("https://localhost:{expired}"), true, "it has expired"),
    ] {
        let client = home();
        let file = write(&client, "authority.pem", authority.pem()).display().to_string();
        let client = client.variable("SSL_CERT_FILE", if is_issuer_known { &file } else { "" });
        codex(&client, &format!("{base}/mcp"), "");
        found(&client, &["codex"], "broken", &format!("`prompts`: the certificate of `{base}` is not accepted: {why}"));
    }
}

#[test]
fn a_foreign_server_under_our_name_is_told_apart() {
    let page = Service::answering(response("200 OK", "text/html", "<html>"));
    let missing = Service::answering(response("404 Not Found", "text/html", "<html>"));
    let redirects = Service::answering("HTTP/1.1 302 Found\r\nLocation: http://elsewhere.example/\r\n\r\n");
    let refuses = mcp_server(
        |message| json!({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32600, "message": "go away"}}),
    );
    for (address, why) in [
        (page.address, "is not a prompt-expander server: it answers with status 200"),
        (missing.address, "is not a prompt-expander server: it answers with status 404"),
        (redirects.address, "redirects to `http://elsewhere.example/`, which is not followed"),
        (refuses.address, "refused `initialize`: `go away`"),
        (other_mcp("prompts.chat", "1", &["search"]), "is another program, which calls itself `prompts.chat`"),
        (other_mcp("prompt-expander", "0.0.1", &["list_prompts"]), "has no tool `expand_prompt`"),
    ] {
        let client = home();
        codex(&client, &url(address), "");
        let finding = found(&client, &["codex"], "broken", why);
        assert_eq!(
            finding["remedy"],
            "correct the URL in this file; or give `prompts`, which is another server, another name there, then run \
             `prompt-expander install codex`"
        );
    }
}

#[test]
fn another_version_is_reported() {
    let client = home();
    codex(&client, &url(other_mcp("prompt-expander", "0.0.1", &["list_prompts", "expand_prompt"])), "");
    let finding = found(&client, &["codex"], "warning", "`prompts` is version `0.0.1`; this program is `");
    assert_eq!(finding["remedy"], "update the older one, so that the hook and `--http` understand it");
    found(&client, &["codex"], "fine", " and has 1 prompt");
}

#[test]
fn the_server_of_a_project_is_not_asked_and_gets_no_token() {
    let service = Service::answering(response("200 OK", "text/plain", ""));
    let client = home().variable("TEAM_TOKEN", "secret").working_in("project");
    let url = url(service.address);
    let text = format!("[mcp_servers.prompts]\nurl = \"{url}\"\nbearer_token_env_var = \"TEAM_TOKEN\"\n");
    write(&client, "project/.codex/config.toml", text);
    let message = format!("`prompts` comes with the project, so the server at `{url}` was not asked");
    let finding = found(&client, &["codex"], "warning", &message);
    assert_eq!(
        finding["remedy"],
        format!("if you trust it, run `prompt-expander list --http {url} --token-env TEAM_TOKEN`")
    );
    assert_eq!(service.requests(), []);
}

#[test]
fn a_command_to_copy_is_harmless_whatever_a_project_registers() {
    let client = home().working_in("project");
    for (url, variable, words) in [
        ("http://127.0.0.1:9/$(id);id/mcp", "TEAM_TOKEN", "'http://127.0.0.1:9/$(id);id/mcp' --token-env TEAM_TOKEN"),
        ("http://127.0.0.1:9/mcp", "T; id", "http://127.0.0.1:9/mcp --token-env 'T; id'"),
    ] {
        let text = format!("[mcp_servers.prompts]\nurl = \"{url}\"\nbearer_token_env_var = \"{variable}\"\n");
        write(&client, "project/.codex/config.toml", text);
        let finding = found(&client, &["codex"], "warning", "`prompts` comes with the project, so the server at ");
        assert_eq!(finding["remedy"], format!("if you trust it, run `prompt-expander list --http {words}`"));
    }
}

#[test]
fn a_token_that_others_can_read_on_the_way_is_reported() {
    let client = home().variable("TEAM_TOKEN", "secret");
    codex(&client, "http://prompts.invalid/mcp", "bearer_token_env_var = \"TEAM_TOKEN\"");
    let finding =
        found(&client, &["codex"], "warning", "the token for `http://prompts.invalid/mcp` can be read on the network");
    assert_eq!(finding["remedy"], "use a URL that begins with https://");
}

#[test]
fn a_hook_and_a_server_with_other_prompts_are_reported() {
    let server = HttpServer::start(Client::new().prompt("hello.md", "Hello."));
    let (client, url) = (home(), url(server.address));
    codex(&client, &url, "");
    let line = format!("{} hook codex", env!("CARGO_BIN_EXE_prompt-expander"));
    let hooks = json!({"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": line}]}]}});
    write(&client, ".codex/hooks.json", hooks.to_string());
    let message = format!("the hook expands the prompts on this machine, and the server has those at `{url}`");
    let finding = found(&client, &["codex"], "warning", &message);
    assert_eq!(
        finding["remedy"],
        format!("run `prompt-expander install codex --http {url} --hook`, which gives both the same")
    );
}

#[test]
fn a_url_that_does_not_end_in_mcp_is_not_one_of_this_program() {
    let client = home();
    codex(&client, "http://127.0.0.1:9/sse", "");
    let finding = found(&client, &["codex"], "broken", "`prompts` is a server with a URL, not this program");
    assert!(
        finding["remedy"].as_str().unwrap().starts_with("if it is this program over HTTP, its URL ends in `/mcp`; ")
    );
}

/// A registration of the server with Codex, and a hook that asks it, which the user trusts.
fn codex_with_hook(client: &Client, url: &str, token: bool) {
    let (options, key) =
        if token { (" --token-env TEAM_TOKEN", "bearer_token_env_var = \"TEAM_TOKEN\"") } else { ("", "") };
    let line = format!("{} hook codex --http {url}{options}", env!("CARGO_BIN_EXE_prompt-expander"));
    let hooks = json!({"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": line}]}]}});
    let file = write(client, ".codex/hooks.json", hooks.to_string());
    let place = json!(format!("{}:user_prompt_submit:0:0", file.display()));
    codex(client, url, &format!("{key}\n[hooks.state.{place}]\ntrusted_hash = \"x\""));
}

#[test]
fn a_hook_that_asks_the_server_is_run_and_must_expand_a_prompt_of_the_server() {
    let server = with_tokens();
    let (client, url) = (home().variable("TEAM_TOKEN", "secret-1-of-sixteen"), url(server.address));
    codex_with_hook(&client, &url, true);
    is_fine(&client, "codex");
    found(&client, &["codex"], "fine", "the hook expands `:hello x` in ");
    // It has the URL, and not the name of the variable.
    let hooks = std::fs::read_to_string(client.root().join(".codex/hooks.json")).unwrap();
    write(&client, ".codex/hooks.json", hooks.replace(" --token-env TEAM_TOKEN", ""));
    let finding = found(&client, &["codex"], "broken", "the hook does not answer `:hello x`, which is a prompt");
    let install = format!("run `prompt-expander install codex --http {url} --token-env TEAM_TOKEN --hook`");
    assert!(finding["remedy"].as_str().unwrap().ends_with(&install), "{finding}");
}

#[test]
fn of_a_server_that_does_not_answer_only_that_is_said_and_nothing_about_the_hook() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let client = home();
    codex_with_hook(&client, &url(closed), false);
    found(&client, &["codex"], "broken", "nothing listens there");
    assert_eq!(findings(&client, &["codex"]).len(), 1);
}

#[test]
fn the_hook_of_a_project_that_asks_a_server_is_not_run() {
    let service = Service::answering(response("200 OK", "text/plain", ""));
    let client = home().variable("TEAM_TOKEN", "secret").working_in("project");
    let program = env!("CARGO_BIN_EXE_prompt-expander");
    let line = format!("{program} hook claude-code --http {} --token-env TEAM_TOKEN", url(service.address));
    let hooks = json!({"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": line}]}]}});
    write(&client, "project/.claude/settings.json", hooks.to_string());
    let finding = found(
        &client,
        &["claude-code"],
        "warning",
        "the hook comes with the project and asks a server, so it was not run: ",
    );
    assert!(finding["remedy"].as_str().unwrap().starts_with("run it yourself, if you trust it"), "{finding}");
    assert_eq!(service.requests(), []);
}

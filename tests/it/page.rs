//! The files of the web page as a browser gets them. `bash tests/browser/run` tests what it does in
//! one.

use crate::client::Client;
use crate::http_client::{Answer, HttpServer, write_secret};
use std::time::Duration;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; form-action 'self'; \
                      base-uri 'none'; frame-ancestors 'none'";

/// The longest page without prompts, in bytes.
const MOST_BYTES: usize = 90 * 1024;

/// The most lines of the script, and of a function in it, without blank lines and comments.
const MOST_LINES: usize = 1030;
const MOST_LINES_OF_FUNCTION: usize = 40;

/// The most characters of a line of the script, so that nobody gains by packing.
const MOST_COLUMNS: usize = 120;

/// The modules of the script, without blank lines and comments.
fn modules() -> Vec<(String, Vec<String>)> {
    let mut modules = Vec::new();
    for entry in std::fs::read_dir("src/transport/http/page").unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "js") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let is_code = |line: &&str| {
            let line = line.trim_start();
            !line.is_empty()
                && !["//", "/*", "*"]
                    .iter()
                    .any(|start| line.starts_with(start))
        };
        let lines = text.lines().filter(is_code).map(str::to_owned).collect();
        let name = path.file_name().unwrap().to_str().unwrap();
        modules.push((name.to_owned(), lines));
    }
    modules
}

fn get(server: &HttpServer, path: &str) -> Answer {
    server.send("GET", path, &[], "")
}

#[test]
fn each_address_has_the_page_which_loads_nothing_from_elsewhere_and_needs_no_token() {
    let home = Client::new().prompt("review.md", "Review");
    write_secret(
        home.path("tokens"),
        "the-token-of-ana-who-sees-everything name=ana\n",
    );
    let server = HttpServer::start_with(home, &["--token-file", "tokens"]);
    for path in [
        "/",
        "/?query=a",
        "/prompts/review",
        "/prompts/a/b?input=x",
        "/new",
        "/edit/review",
        "/history/review",
    ] {
        let answer = get(&server, path);
        let header = |name| answer.header(name);
        assert_eq!(
            (answer.status, header("content-type")),
            (200, Some("text/html; charset=utf-8")),
            "{path}"
        );
        assert_eq!(
            (header("content-security-policy"), header("referrer-policy")),
            (Some(POLICY), Some("no-referrer"))
        );
        assert_eq!(
            (
                header("x-content-type-options"),
                header("cross-origin-resource-policy")
            ),
            (Some("nosniff"), Some("same-origin"))
        );
        // What is not this server's is a namespace in the icon.
        let html = answer
            .text()
            .replace("xmlns='http://www.w3.org/2000/svg'", "");
        assert!(
            !html.contains("//") && !html.contains("style=") && !html.contains(" on"),
            "{html}"
        );
        assert!(
            html.contains("This page needs JavaScript.")
                && html.contains(env!("CARGO_PKG_VERSION")),
            "{html}"
        );
    }
    assert_eq!(get(&server, "/api/prompts").status, 401);
}

#[test]
fn an_unknown_address_has_the_page_for_people_only() {
    let server = HttpServer::start(Client::new());
    let html = server.send(
        "GET",
        "/prompt/review",
        &[("Accept", "text/html,*/*;q=0.8")],
        "",
    );
    assert_eq!(
        (html.status, html.header("content-security-policy")),
        (404, Some(POLICY))
    );
    assert_eq!(html.text(), get(&server, "/").text());
    let other = server.send("GET", "/prompt/review", &[("Accept", "*/*")], "");
    let line = "nothing is at this address. The endpoint for MCP clients is /mcp\n";
    assert_eq!((other.status, other.text().as_str()), (404, line));
}

#[test]
fn the_files_are_kept_by_the_browser_until_they_change() {
    let server = HttpServer::start(Client::new());
    let mut files = vec![
        ("/".to_owned(), "text/html; charset=utf-8"),
        ("/page/page.css".to_owned(), "text/css; charset=utf-8"),
    ];
    for (name, _) in modules() {
        files.push((format!("/page/{name}"), "text/javascript; charset=utf-8"));
    }
    let mut size = 0;
    for (path, content_type) in &files {
        let answer = get(&server, path);
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (200, Some(*content_type)),
            "{path}"
        );
        assert_eq!(answer.header("cache-control"), Some("no-cache"));
        size += answer.body.len();
        let tag = answer.header("etag").unwrap();
        let again = server.send("GET", path, &[("If-None-Match", tag)], "");
        assert_eq!((again.status, again.body.len()), (304, 0));
        let other = server.send("GET", path, &[("If-None-Match", "\"other\"")], "");
        assert_eq!(other.status, 200);
    }
    assert!(size < MOST_BYTES, "{size}");
    assert_eq!(get(&server, "/page/none.js").status, 404);
}

#[test]
fn the_page_names_each_module_so_that_all_are_loaded_at_once() {
    let html = get(&HttpServer::start(Client::new()), "/").text();
    for (name, _) in modules() {
        assert!(html.contains(&format!(r#"rel="modulepreload" href="/page/{name}""#)));
    }
}

#[test]
fn the_script_is_short_and_so_are_its_functions() {
    let mut length = 0;
    for (name, lines) in modules() {
        length += lines.len();
        for (index, line) in lines.iter().enumerate() {
            let is_data = line.starts_with("const INVISIBLE");
            assert!(
                is_data || line.chars().count() <= MOST_COLUMNS,
                "{name}: {line}"
            );
            // A function, or a block within one.
            if line.ends_with('{') && !line.starts_with("class") {
                let indent = line.len() - line.trim_start().len();
                let end = format!("{}}}", &line[..indent]);
                let after = &lines[index + 1..];
                let end = after
                    .iter()
                    .position(|line| line.starts_with(&end))
                    .unwrap();
                assert!(end + 2 <= MOST_LINES_OF_FUNCTION, "{name}: {line}");
            }
        }
    }
    assert!(length <= MOST_LINES, "{length}");
}

#[test]
fn head_is_get_without_the_body_and_other_methods_and_names_are_refused() {
    let server = HttpServer::start(Client::new());
    for path in ["/", "/prompts/review", "/page/page.css"] {
        let (get, mut connection) = (get(&server, path), server.connect());
        connection.write("HEAD", path, &[("Connection", "close")], "");
        let head = connection.read_head();
        assert!(
            connection.is_closed_within(Duration::from_secs(60)),
            "{path}"
        );
        assert_eq!(
            (head.status, head.header("content-type")),
            (200, get.header("content-type")),
            "{path}"
        );
        assert_eq!(
            head.header("content-length"),
            Some(get.body.len().to_string().as_str()),
            "{path}"
        );
    }
    assert_eq!(
        server.send("DELETE", "/prompts/review", &[], "").status,
        405
    );
    assert_eq!(server.send("POST", "/", &[], "x").status, 405);
    assert_eq!(
        server
            .send("GET", "/", &[("Host", "evil.example.com")], "")
            .status,
        403
    );
}

#[test]
fn the_page_reads_the_settings_file_like_the_commands() {
    let client = Client::new().arguments([]).prompt("greet.md", "Hello");
    client.put(
        ".config/prompt-expander/config.toml",
        "prompts = ['~/prompts']\nbuiltin = false\n",
    );
    let server = HttpServer::start(client);
    let listed = get(&server, "/api/prompts").json();
    let names: Vec<_> = listed["prompts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|prompt| &prompt["name"])
        .collect();
    assert_eq!(names, ["greet"]);
}

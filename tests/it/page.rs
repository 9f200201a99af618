//! The web page as a browser gets it. `bash tests/browser/run` tests what it does in one.

use crate::client::Client;
use crate::http_client::{Answer, HttpServer, write_secret};
use std::fs;
use std::time::Duration;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; form-action 'self'; \
                      base-uri 'none'; frame-ancestors 'none'";

const COMPARE: &str = "---\ntitle: Compare\ndescription: A table\ntags: [work]\narguments:\n  - name: options\n    required: true\n  \
                       - name: depth\n    choices: [brief, full]\n    strict: true\n---\nCompare {{options}}, {{depth}}.\n";

fn home() -> Client {
    let home = Client::new().prompt("compare.md", COMPARE).prompt("git/commit.md", "Commit {{input}}");
    home.prompt("review.md", "---\ndescription: Review\ntags: [work, code]\n---\nReview {{input}}")
}

fn get(server: &HttpServer, path: &str) -> Answer {
    server.send("GET", path, &[], "")
}

/// The text of a page that is shown with this status.
#[track_caller]
fn shown(server: &HttpServer, path: &str, status: u16) -> String {
    let answer = get(server, path);
    assert_eq!((answer.status, answer.header("content-type")), (status, Some("text/html; charset=utf-8")), "{path}");
    answer.text()
}

/// The names in a list, in its order.
fn names(html: &str) -> Vec<&str> {
    let links = html.split("<ul class=\"rows\">").nth(1).unwrap_or_default().split("<a href=\"/prompts/").skip(1);
    links.map(|rest| rest.split('"').next().unwrap()).collect()
}

/// The text of an element without tags and escapes.
fn text_of(html: &str, start: &str, end: &str) -> String {
    let inner = html.split_once(start).unwrap_or_else(|| panic!("no {start} in {html}")).1.split_once(end).unwrap().0;
    let inner = inner.split_once('>').unwrap().1;
    let text: String = inner.split('<').map(|piece| piece.split_once('>').map_or(piece, |(_, text)| text)).collect();
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#13;", "\r").replace("&amp;", "&")
}

fn expansion(html: &str) -> String {
    text_of(html, "id=\"expansion\"", "</pre>")
}

#[test]
fn the_list_has_all_prompts_or_those_that_are_chosen() {
    let server = HttpServer::start(home());
    for (query, want) in [
        ("", &["compare", "git/commit", "review"][..]),
        ("?query=reveiw", &["review"]),
        ("?tag=work", &["compare", "review"]),
        ("?tag=Work&query=table", &["compare"]),
        ("?folder=git", &["git/commit"]),
        ("?folder=gi", &[]),
        ("?layer=user&tag=code", &["review"]),
        ("?layer=built-in", &[]),
        ("?query=&tag=&layer=&folder=&unknown=1", &["compare", "git/commit", "review"]),
        ("?from=1", &["git/commit", "review"]),
        ("?count=2", &["compare", "git/commit"]),
        ("?from=99999999999999999999&count=x", &["compare", "git/commit", "review"]),
    ] {
        let html = shown(&server, &format!("/{query}"), 200);
        assert_eq!(names(&html), want, "{query}");
    }
    let html = shown(&server, "/?tag=work&query=table", 200);
    assert!(html.contains("<a href=\"/?query=table\" aria-current=\"true\">"), "choosing it again leaves it: {html}");
    assert!(html.contains("<input type=\"hidden\" form=\"search\" name=\"tag\" value=\"work\">"));
}

#[test]
fn a_long_list_has_a_link_to_what_follows() {
    let home = (0..450).fold(Client::new(), |home, number| home.prompt(&format!("p{number:03}.md"), "x"));
    let server = HttpServer::start(home);
    let mut found = Vec::new();
    let mut path = "/?query=p".to_owned();
    let mut pages = 0;
    loop {
        let html = shown(&server, &path, 200);
        found.extend(names(&html).into_iter().map(str::to_owned));
        pages += 1;
        let Some((_, next)) = html.split_once("<a class=\"more\" href=\"") else { break };
        path = next.split('"').next().unwrap().replace("&amp;", "&");
    }
    assert_eq!((pages, found.len()), (3, 450));
    assert!(found.is_sorted() && found[449] == "p449");
}

#[test]
fn a_prompt_is_expanded_with_the_values_of_its_address_or_of_the_body() {
    let server = HttpServer::start_with(home(), &["--max-body", "256KiB"]);
    let html = shown(&server, "/prompts/compare", 200);
    assert!(html.contains("<code class=\"slot\"><bdi>options</bdi></code>") && !html.contains("id=\"expansion\""));
    let html = shown(&server, "/prompts/compare?options=a+%26%0D%0A%3Cb%3E&depth=full", 200);
    assert_eq!(expansion(&html), "Compare a &\n<b>, full.");
    assert!(html.contains("<span class=\"value\">a &amp;\n&lt;b&gt;</span>, full."), "{html}");
    assert!(html.contains(">\na &amp;\n&lt;b&gt;</textarea>") && html.contains("<option value=\"full\" selected>"));
    let form = [("Content-Type", "application/x-www-form-urlencoded")];
    let long = "x".repeat(100_000);
    let answer = server.send("POST", "/prompts/git/commit", &form, format!("input={long}"));
    assert_eq!((answer.status, expansion(&answer.text())), (200, format!("Commit {long}")));
    let html = shown(&server, "/prompts/compare?options=a&depth=other", 200);
    assert!(text_of(&html, "id=\"result\"", "</section>").contains("is not a choice for depth"), "{html}");
    let html = shown(&server, "/prompts/compare?options=a&optoins=b", 200);
    assert!(html.contains("has no argument <code><bdi>optoins</bdi></code>; its value is not used"), "{html}");
    let too_long = server.send("POST", "/prompts/compare", &form, "x".repeat(256 * 1024 + 1));
    assert_eq!(too_long.status, 413);
}

#[test]
fn until_all_values_are_given_the_text_without_the_frontmatter_is_shown() {
    let file = "---\narguments:\n  - name: a\n    required: true\n---\n\nSay {{ a }}.\nAnd $ARGUMENTS.\n";
    let home = Client::new().prompt("lf.md", file).prompt("crlf.md", file.replace('\n', "\r\n"));
    let home = home.prompt("bom.md", format!("\u{feff}{file}"));
    let chat = file.replace("---\n\n", "messages: true\n---\n<!-- user -->\nYes?\n<!-- assistant -->\n");
    let server = HttpServer::start(home.prompt("chat.md", &chat));
    let text = "Say {{ a }}.\nAnd $ARGUMENTS.";
    let chat = format!("User:\nYes?\n\nAssistant:\n{text}");
    for (name, want) in [("lf", text), ("crlf", text), ("bom", text), ("chat", &chat)] {
        let html = shown(&server, &format!("/prompts/{name}"), 200);
        assert_eq!(text_of(&html, "id=\"waiting\"", "</pre>"), want, "{name}");
        assert!(html.contains("<span class=\"slot\">{{ a }}</span>.\nAnd <span class=\"slot\">$ARGUMENTS</span>."));
    }
}

#[test]
fn an_expansion_is_the_text_that_the_command_line_prints() {
    let odd = "\n\n  <pre>\r\n&amp; {{input}}</pre>\u{202e}\u{1b}[0m\ttext\n";
    let jinja = "---\nengine: jinja\n---\n{% if input == 'a' %}yes {{ input }}{% endif %}";
    let server = HttpServer::start(Client::new().prompt("odd.md", odd).prompt("jinja.md", jinja));
    for (name, value) in [("odd", "\n</pre>x"), ("odd", "\u{fdd0}"), ("jinja", "a"), ("jinja", "b")] {
        let printed = server.home.run(["expand", "--json", name, "--arg", &format!("input={value}")], "");
        let printed: serde_json::Value = serde_json::from_str(&printed.stdout).unwrap();
        let value: String = value.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let shown = expansion(&shown(&server, &format!("/prompts/{name}?input={value}"), 200));
        // HTML drops a line ending after `<pre>`.
        let shown = shown.strip_prefix('\n').unwrap_or(&shown);
        assert_eq!(shown, printed["prompt"].as_str().unwrap());
    }
}

#[test]
fn text_of_prompts_is_never_markup() {
    let script = "<script>alert('a')</script>";
    let prompt = format!(
        "---\ntitle: \"{script}\"\ndescription: \"\\\"><img src=x onerror=alert(1)> \u{202e}abc\"\ntags: [\"{script}\"]\narguments:\n  \
         - name: a\n    description: \"{script}\"\n    default: \"{script}\"\n---\n</pre>{script}{{{{a}}}}"
    );
    let home =
        Client::new().prompt("x.md", &prompt).prompt("<b>.md", script).prompt("broken.md", format!("---\n{script}"));
    let server = HttpServer::start(home);
    let paths = [
        "/",
        "/?query=<script>x",
        "/?tag=%22%3E%3Cscript%3E",
        "/prompts/x",
        "/prompts/x?a=</textarea><script>",
        "/prompts/%3Cb%3E",
        "/prompts/broken",
        "/prompts/%3Cscript%3E",
    ];
    for path in paths {
        let answer = get(&server, &path.replace('<', "%3C").replace('>', "%3E"));
        let html = answer.text();
        assert_eq!(html.matches("<script").count(), 1, "only the page's own: {path} {html}");
        assert!(!html.contains("<img") && !html.contains("<b>"), "{path} {html}");
    }
    let html = shown(&server, "/", 200);
    assert!(html.contains("<bdi class=\"control\" data-code=\"U+202E\">\u{202e}</bdi>abc"), "{html}");
}

#[test]
fn problems_say_where_and_what_to_do() {
    let home = home().prompt("broken.md", "---\ntitle: x").prompt("typo.md", "---\narguments: [a]\n---\n{{a}} {{b}}");
    let server = HttpServer::start(home);
    let list = shown(&server, "/", 200);
    assert!(list.contains("1 problem in the files") && list.contains("broken.md</bdi>:1:1"), "{list}");
    let typo = shown(&server, "/prompts/typo", 200);
    assert!(
        typo.contains("typo.md</bdi>:4:7") && typo.contains("<code><bdi>{{b}}</bdi></code> is not a placeholder"),
        "{typo}"
    );
    let broken = shown(&server, "/prompts/broken", 200);
    assert!(broken.contains("cannot be used as a prompt") && broken.contains("---\ntitle: x</pre>"), "{broken}");
}

#[test]
fn an_unknown_prompt_is_not_found_and_similar_ones_are_links() {
    let server = HttpServer::start(home());
    let html = shown(&server, "/prompts/reveiw", 404);
    assert!(html.contains("No such prompt") && html.contains("<a href=\"/prompts/review\">"), "{html}");
    for path in ["/prompts/%00", "/prompts/..%2Fx", "/prompts/a/../b", "/prompts//", "/prompts/a%20b"] {
        assert_eq!(get(&server, path).status, 404, "{path}");
    }
    assert_eq!(get(&server, "/prompts/%FF").status, 400);
}

#[test]
fn the_browser_may_load_nothing_from_elsewhere_and_keeps_no_prompt() {
    let server = HttpServer::start(home());
    for path in ["/", "/prompts/review", "/prompts/xyz"] {
        let answer = get(&server, path);
        let header = |name| answer.header(name);
        assert_eq!(header("content-security-policy"), Some(POLICY), "{path}");
        assert_eq!((header("cache-control"), header("referrer-policy")), (Some("no-store"), Some("no-referrer")));
        assert_eq!(
            (header("x-content-type-options"), header("cross-origin-resource-policy")),
            (Some("nosniff"), Some("same-origin"))
        );
        // What is not this server's is a namespace or in the icon.
        let elsewhere = answer.text().replace("xmlns='http://www.w3.org/2000/svg'", "");
        assert!(
            !elsewhere.contains("//") && !elsewhere.contains("style=") && !elsewhere.contains(" on"),
            "{elsewhere}"
        );
    }
}

#[test]
fn the_parts_that_are_the_same_for_all_are_kept_by_the_browser_until_they_change() {
    let server = HttpServer::start(home());
    let mut size = get(&server, "/?query=xyzzyplugh").body.len();
    for (path, content_type) in
        [("/page.css", "text/css; charset=utf-8"), ("/page.js", "text/javascript; charset=utf-8")]
    {
        let answer = get(&server, path);
        assert_eq!((answer.status, answer.header("content-type")), (200, Some(content_type)));
        assert_eq!(answer.header("cache-control"), Some("no-cache"));
        size += answer.body.len();
        let tag = answer.header("etag").unwrap();
        let again = server.send("GET", path, &[("If-None-Match", tag)], "");
        assert_eq!((again.status, again.body.len()), (304, 0));
        assert_eq!(server.send("GET", path, &[("If-None-Match", "\"other\"")], "").status, 200);
    }
    assert!(size < 60 * 1024, "{size}");
}

#[test]
fn head_is_get_without_the_body_and_other_methods_are_not_allowed() {
    let server = HttpServer::start(home());
    for path in ["/", "/prompts/review", "/page.css"] {
        let (get, mut connection) = (get(&server, path), server.connect());
        connection.write("HEAD", path, &[("Connection", "close")], "");
        let head = connection.read_head();
        assert!(connection.is_closed_within(Duration::from_secs(60)), "{path}");
        assert_eq!((head.status, head.header("content-type")), (200, get.header("content-type")), "{path}");
        assert_eq!(head.header("content-length"), Some(get.body.len().to_string().as_str()), "{path}");
    }
    assert_eq!(server.send("DELETE", "/prompts/review", &[], "").status, 405);
    assert_eq!(server.send("POST", "/", &[], "x").status, 405);
}

#[test]
fn rate_limits_count_each_page_and_say_when_to_try_again() {
    let server = HttpServer::start_with(home(), &["--rate-limit", "prompts/list=1/minute"]);
    assert_eq!((get(&server, "/").status, get(&server, "/prompts/review").status), (200, 200));
    let refused = get(&server, "/");
    assert_eq!((refused.status, refused.header("content-security-policy")), (429, Some(POLICY)));
    assert!(refused.header("retry-after").is_some() && refused.text().contains("try again in"), "{}", refused.text());
    assert!(!refused.text().contains("id=\"token\""));
}

#[test]
fn only_this_servers_names_and_pages_get_it() {
    let server = HttpServer::start_with(home(), &["--allow-host", "prompts.example.com"]);
    assert_eq!(server.send("GET", "/", &[("Host", "evil.example.com")], "").status, 403);
    let form = |host, origin| {
        let headers = [("Host", host), ("Origin", origin), ("Content-Type", "application/x-www-form-urlencoded")];
        server.send("POST", "/prompts/review", &headers, "input=a").status
    };
    assert_eq!(form("prompts.example.com", "https://prompts.example.com"), 200);
    assert_eq!(form("prompts.example.com", "https://evil.example.com"), 403);
}

const ANA: &str = "the-token-of-ana-who-sees-everything";
const WRITER: &str = "the-token-of-somebody-who-writes-git";
const TEAM: &str = "the-token-of-the-team-that-sees-git";

fn with_tokens() -> HttpServer {
    let home = home().prompt("git/broken.md", "---\nx").prompt("broken-secret.md", "---\nx");
    let tokens = format!(
        "{ANA} name=ana\n{WRITER} name=writer role=write prefix=git/\n{TEAM} name=team prefix=git/\n{ANA}-old expires=2001-01-01\n"
    );
    write_secret(home.root().join("tokens"), &tokens);
    HttpServer::start_with(home, &["--token-file", "tokens"])
}

fn get_with(server: &HttpServer, path: &str, token: &str) -> Answer {
    server.send("GET", path, &[("Authorization", &format!("Bearer {token}"))], "")
}

#[test]
fn without_a_token_the_page_asks_for_one_and_shows_nothing_else() {
    let server = with_tokens();
    for path in ["/", "/?query=review", "/prompts/review", "/prompts/xyz"] {
        let html = shown(&server, path, 401);
        assert!(html.contains("<form class=\"scripted\" id=\"token\"") && !html.contains("review"), "{path} {html}");
        assert!(!html.contains("role=\"alert\""), "nothing was refused yet: {html}");
    }
    let answer = get(&server, "/");
    assert_eq!(answer.header("www-authenticate"), Some("Bearer realm=\"prompt-expander\""));
    assert_eq!(answer.header("content-security-policy"), Some(POLICY));
    for (token, why) in
        [("wrong", "This bearer token is wrong."), (&format!("{ANA}-old"), "expired at the end of 2001-01-01.")]
    {
        let answer = get_with(&server, "/", token);
        assert!(
            answer.status == 401 && answer.text().contains(why) && !answer.text().contains("Codex"),
            "{}",
            answer.text()
        );
    }
    assert_eq!(get(&server, "/page.css").status, 200);
    // It does not wait for a body.
    let mut connection = server.connect();
    connection.write_raw("POST /prompts/review HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n");
    assert_eq!(connection.read().status, 401);
    // A token in an address would be in logs and in the history.
    assert_eq!(get(&server, &format!("/?token={ANA}")).status, 401);
}

#[test]
fn what_a_token_may_not_see_does_not_exist() {
    let server = with_tokens();
    let all = get_with(&server, "/", ANA);
    assert!(all.text().contains("compare") && all.text().contains("2 problems in the files"));
    let html = get_with(&server, "/", TEAM).text();
    assert_eq!(names(&html), ["git/commit"]);
    assert!(
        !["compare", "review", "secret", "built-in", "tag=work", "tag=code"].iter().any(|hidden| html.contains(hidden)),
        "{html}"
    );
    for path in [
        "/?query=review",
        "/?tag=work",
        "/?folder=git/..",
        "/prompts/review",
        "/prompts/broken-secret",
        "/prompts/revie",
    ] {
        let answer = get_with(&server, path, TEAM);
        let html = answer.text();
        assert_eq!(answer.status, if path.starts_with("/p") { 404 } else { 200 }, "{path}");
        assert!(
            names(&html).is_empty() && !html.contains("href=\"/prompts/") && !html.contains("Review"),
            "{path} {html}"
        );
    }
    assert_eq!(get_with(&server, "/prompts/git/commit?input=a", TEAM).status, 200);
}

#[test]
fn values_are_not_read_before_the_token_is_checked() {
    let server = with_tokens();
    for authorization in ["", "Authorization: Bearer wrong\r\n"] {
        let mut connection = server.connect();
        let head = format!(
            "POST /prompts/review HTTP/1.1\r\nHost: localhost\r\n{authorization}Content-Length: 1000000\r\n\r\n"
        );
        connection.write_raw(head);
        assert_eq!(connection.read().status, 401);
    }
}

#[test]
fn a_text_that_is_too_long_for_a_browser_is_left_to_the_command_line() {
    let home = Client::new().prompt("any.md", "{{input}}").prompt("long.md", "x".repeat(1024 * 1024 + 1));
    let server = HttpServer::start(home.prompt("controls.md", "\u{7}".repeat(200_000)));
    let form = [("Content-Type", "application/x-www-form-urlencoded")];
    for (name, input) in [("any", "%07".repeat(200_000)), ("long", String::new()), ("controls", String::new())] {
        let answer = server.send("POST", &format!("/prompts/{name}"), &form, format!("input={input}"));
        let html = answer.text();
        let note =
            format!("This is too long for the page. <code><bdi>prompt-expander expand {name}</bdi></code> prints it.");
        assert!(answer.status == 200 && html.contains(&note) && !html.contains("id=\"expansion\""), "{name}");
        assert!(html.len() < 1024 * 1024, "{name}: {}", html.len());
        assert_eq!(html.contains(&format!("<bdi>prompt-expander show {name}</bdi>")), name != "any");
    }
    let too_long = server.send("POST", "/prompts/any", &form, "x".repeat(1024 * 1024 + 1));
    assert_eq!(too_long.status, 413);
    assert!(
        too_long
            .text()
            .contains("The values are longer than 1048576 bytes; <code><bdi>prompt-expander expand</bdi></code> takes")
    );
}

#[test]
fn a_list_that_many_wait_for_is_complete_for_each_of_them() {
    let home = (0..300).fold(Client::new(), |home, number| home.prompt(&format!("p{number:03}.md"), "x"));
    let server = HttpServer::start(home);
    let paths = ["/?count=300", "/?query=p001", "/api/prompts", "/api/prompts?query=p001"];
    let want = paths.map(|path| get(&server, path).text());
    let mut waiting: Vec<_> = (0..100).map(|_| server.connect()).collect();
    for (number, connection) in waiting.iter_mut().enumerate() {
        connection.write("GET", paths[number % paths.len()], &[], "");
    }
    let expanded =
        server.send("POST", "/api/expand", &[("Content-Type", "application/json")], r#"{"command": "p001"}"#);
    assert_eq!(expanded.text(), r#"{"prompt":"x"}"#);
    for (number, connection) in waiting.iter_mut().enumerate() {
        let answer = connection.read();
        assert!(answer.status == 200 && answer.text() == want[number % paths.len()], "{number}");
    }
}

const FORM: (&str, &str) = ("Content-Type", "application/x-www-form-urlencoded");

fn post_with(server: &HttpServer, path: &str, token: &str, form: &[(&str, &str)]) -> Answer {
    let form: Vec<String> = form.iter().map(|(name, value)| format!("{name}={}", escaped(value))).collect();
    server.send("POST", path, &[FORM, ("Authorization", &format!("Bearer {token}"))], form.join("&"))
}

fn escaped(value: &str) -> String {
    value.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[test]
fn only_those_who_may_edit_see_the_editor() {
    let server = with_tokens();
    let links =
        ["href=\"/new\"", "href=\"/edit/git/commit\"", "href=\"/edit/git/broken\"", "href=\"/new?command=git%2Fnone\""];
    for (path, link) in ["/", "/prompts/git/commit", "/prompts/git/broken", "/prompts/git/none"].into_iter().zip(links)
    {
        assert!(get_with(&server, path, WRITER).text().contains(link), "{path}");
        for token in [TEAM, ANA] {
            let html = get_with(&server, path, token).text();
            assert!(!html.contains("href=\"/new") && !html.contains("href=\"/edit"), "{path}");
        }
    }
    for path in ["/new", "/edit/git/commit", "/edit/git/none"] {
        assert_eq!(get_with(&server, path, WRITER).status, if path.ends_with("none") { 404 } else { 200 }, "{path}");
        for answer in [get_with(&server, path, TEAM), post_with(&server, path, TEAM, &[("file", "x")])] {
            let html = answer.text();
            assert!(
                answer.status == 403
                    && html.contains("a token with the role <code><bdi>write")
                    && !html.contains("textarea")
            );
        }
        assert_eq!(get(&server, path).status, 401);
    }
    let without_tokens = HttpServer::start(home());
    let html = shown(&without_tokens, "/edit/review", 403);
    assert!(html.contains("start it with <code><bdi>--edit</bdi></code>") && !html.contains("textarea"), "{html}");
}

#[test]
fn the_editor_shows_the_text_its_problems_and_its_expansion() {
    let server = with_tokens();
    let html = get_with(&server, "/edit/git/commit", WRITER).text();
    assert!(html.contains(">\nCommit {{input}}</textarea>") && html.contains("No problems."), "{html}");
    let file = "---\narguments: [a]\n---\n</textarea><b>{{a}} {{b}}";
    let form = [("file", file), ("value:a", "the <value>"), ("value:none", "x")];
    let html = post_with(&server, "/edit/git/commit", WRITER, &form).text();
    assert!(html.contains(">\n---\narguments: [a]\n---\n&lt;/textarea&gt;&lt;b&gt;{{a}} {{b}}</textarea>"), "{html}");
    assert_eq!(expansion(&html), "</textarea><b>the <value> {{b}}");
    assert!(html.contains("data-line=\"4\" data-column=\"21\"") && html.contains("name=\"value:a\""), "{html}");
    let html = post_with(&server, "/edit/git/commit", WRITER, &[("file", "---\nx")]).text();
    assert!(html.contains("data-line=\"1\" data-column=\"1\"") && !html.contains("id=\"result\""), "{html}");
    // A broken file can be repaired.
    let html = get_with(&server, "/edit/git/broken", WRITER).text();
    assert!(html.contains(">\n---\nx</textarea>") && html.contains("Error: "), "{html}");
    assert_eq!(
        get_with(&server, "/prompts/git/commit", WRITER).text().matches("Commit {{").count(),
        1,
        "nothing is saved"
    );
}

#[test]
fn a_new_prompt_can_be_tried_before_it_has_a_name() {
    let server = with_tokens();
    let html =
        post_with(&server, "/new", WRITER, &[("command", ""), ("file", "New {{input}}"), ("value:input", "x")]).text();
    assert_eq!(expansion(&html), "New x");
    for (name, why) in
        [("a b", "a space ends a command in a chat"), ("review", "The name must begin with <code><bdi>git/")]
    {
        let html = post_with(&server, "/new", WRITER, &[("command", name), ("file", "New")]).text();
        assert!(html.contains(why) && !html.contains("id=\"result\""), "{html}");
    }
    let html = get_with(&server, "/new?command=git%2Fnew", WRITER).text();
    assert!(html.contains("name=\"command\" value=\"git/new\""), "{html}");
    let mut connection = server.connect();
    let head = "POST /new HTTP/1.1\r\nHost: localhost\r\nContent-Length: 30000000\r\nAuthorization: Bearer";
    connection.write_raw(format!("{head} {WRITER}\r\n\r\n"));
    assert_eq!(connection.read().status, 413);
}

const WRITER_OF_ALL: &str = "the-token-of-somebody-who-writes-all";

fn for_writer(home: Client) -> HttpServer {
    write_secret(home.root().join("tokens"), &format!("{WRITER_OF_ALL} name=wanda role=write\n"));
    HttpServer::start_with(home, &["--token-file", "tokens"])
}

/// The value of a hidden field.
fn hidden<'h>(html: &'h str, name: &str) -> &'h str {
    let start = format!("name=\"{name}\" value=\"");
    html.split_once(&start).unwrap_or_else(|| panic!("no {name} in {html}")).1.split('"').next().unwrap()
}

#[test]
fn changes_are_shown_before_they_are_saved() {
    let server = for_writer(Client::new().prompt("a.md", "One\nTwo\n").prompt("crlf.md", "One\r\nTwo\r\n"));
    server.home.write("mixed.md", "One\r\nTwo\n");
    let html = get_with(&server, "/edit/a", WRITER_OF_ALL).text();
    let expected = hidden(&html, "expected").to_owned();
    let review = |path: &str, form: &[(&str, &str)]| {
        post_with(&server, path, WRITER_OF_ALL, &[form, &[("step", "review")]].concat()).text()
    };
    let html = review("/edit/a", &[("file", "One\n</pre>\n"), ("expected", &expected)]);
    assert!(html.contains("<span>One\n</span><del>Two\n</del><ins>&lt;/pre&gt;\n</ins></pre>"), "{html}");
    let button = format!(
        "data-method=\"PUT\" data-url=\"/api/prompts/a\" data-then=\"/prompts/a\" data-expected=\"{expected}\">Save<"
    );
    assert!(html.contains(&button), "{html}");
    let html = review("/edit/a", &[("file", "One\nTwo\n"), ("expected", &expected)]);
    assert!(html.contains("There is nothing to save") && !html.contains("id=\"save\""), "{html}");
    let html = review("/edit/a", &[("file", "---\nx"), ("expected", &expected)]);
    assert!(html.contains("it would not be a prompt") && !html.contains("id=\"save\""), "{html}");
    // Browsers send CRLF for every line ending.
    let html = get_with(&server, "/edit/crlf", WRITER_OF_ALL).text();
    let expected = hidden(&html, "expected").to_owned();
    assert_eq!(hidden(&html, "endings"), "crlf");
    let note = "The line endings are of different kinds";
    assert!(!html.contains(note) && get_with(&server, "/edit/mixed", WRITER_OF_ALL).text().contains(note));
    let form = [("file", "One\r\nTwo\r\n"), ("expected", &*expected), ("endings", "crlf")];
    assert!(review("/edit/crlf", &form).contains("There is nothing to save"));
    let html = review("/new", &[("command", "a"), ("file", "x")]);
    assert!(html.contains("There is already a prompt") && !html.contains("id=\"save\""), "{html}");
    let html = review("/new", &[("command", "b"), ("file", "x")]);
    assert!(html.contains("data-method=\"POST\" data-url=\"/api/prompts/b\"") && html.contains(">Create<"), "{html}");
}

#[test]
fn a_new_prompt_has_no_problems_before_anything_is_typed() {
    let server = HttpServer::start_with(Client::new(), &["--edit"]);
    let html = get(&server, "/new").text();
    assert!(!html.contains("class=\"problems\"") && !html.contains("No problems."), "{html}");
    assert!(html.contains("is replaced by what you type after the name."), "{html}");
}

#[test]
fn what_others_have_changed_meanwhile_is_shown_first() {
    let server = for_writer(Client::new().prompt("a.md", "1\n\n2\n\n3\n"));
    let expected = hidden(&get_with(&server, "/edit/a", WRITER_OF_ALL).text(), "expected").to_owned();
    let file = server.home.root().join("prompts/a.md");
    fs::write(&file, "1\n\n2\n\n3 of others\n").unwrap();
    let form = [("file", "1 of mine\n\n2\n\n3\n"), ("expected", &*expected), ("base", "1\n\n2\n\n3\n")];
    let html = post_with(&server, "/edit/a", WRITER_OF_ALL, &form).text();
    assert!(html.contains("This prompt was changed after you opened it.") && html.contains("id=\"result\""), "{html}");
    let html = post_with(&server, "/edit/a", WRITER_OF_ALL, &[&form[..], &[("step", "review")]].concat()).text();
    assert!(html.contains("<del>3\n</del><ins>3 of others\n</ins>") && html.contains("Save my text over it"), "{html}");
    assert_eq!(text_of(&html, "id=\"merged\"", "</textarea>"), "\n1 of mine\n\n2\n\n3 of others\n");
    assert!(!html.contains(&format!("data-expected=\"{expected}\">\n")) && hidden(&html, "expected") == expected);
    fs::write(&file, "1 of others\n\n2\n\n3\n").unwrap();
    let html = post_with(&server, "/edit/a", WRITER_OF_ALL, &[&form[..], &[("step", "review")]].concat()).text();
    assert!(html.contains("You and they have changed the same lines.") && !html.contains("id=\"merged\""), "{html}");
    fs::remove_file(&file).unwrap();
    let html = post_with(&server, "/edit/a", WRITER_OF_ALL, &[&form[..], &[("step", "review")]].concat()).text();
    assert!(html.contains("was deleted after you opened it") && html.contains(">Create<"), "{html}");
    assert!(html.contains(">\n1 of mine\n"), "what was typed is not lost: {html}");
}

#[test]
fn a_prompt_of_another_layer_is_edited_as_a_copy() {
    let home = Client::new().arguments(["--prompts", "prompts"]);
    let server = for_writer(home);
    let html = get_with(&server, "/edit/critique", WRITER_OF_ALL).text();
    assert!(html.contains("This is a built-in prompt. Saving makes a copy of your own, which overrides it."), "{html}");
    assert!(hidden(&html, "expected").is_empty() && html.contains(">\n---\ntitle: Critique"), "{html}");
    assert!(!html.contains("id=\"delete\"") && !html.contains("href=\"/history/critique\""), "{html}");
}

#[test]
fn the_history_shows_who_wrote_what_and_what_restoring_it_changes() {
    let server = for_writer(Client::new().prompt("a.md", "One\n"));
    let html = get_with(&server, "/history/a", WRITER_OF_ALL).text();
    assert!(
        html.contains("There is no earlier version.") && html.contains("Changed outside of prompt-expander, current")
    );
    let expected = hidden(&get_with(&server, "/edit/a", WRITER_OF_ALL).text(), "expected").to_owned();
    let body = serde_json::json!({"file": "Two\n", "expected": expected, "note": "<b> is better"}).to_string();
    let headers = [("Content-Type", "application/json"), ("Authorization", &*format!("Bearer {WRITER_OF_ALL}"))];
    let written = server.send("PUT", "/api/prompts/a", &headers, body).json()["revision"].as_str().unwrap().to_owned();
    let html = get_with(&server, "/history/a", WRITER_OF_ALL).text();
    assert!(html.contains("Changed by <bdi>wanda</bdi>, current") && html.contains("“&lt;b&gt; is better”"), "{html}");
    assert!(html.contains("<del>Two\n</del><ins>One\n</ins>"), "{html}");
    let button =
        format!("data-command=\"a\" data-revision=\"{expected}\" data-then=\"/prompts/a\" data-expected=\"{written}\"");
    assert!(html.contains(&button), "{html}");
    let current = get_with(&server, &format!("/history/a?revision={written}"), WRITER_OF_ALL).text();
    assert!(current.contains("The current version") && !current.contains("id=\"restore\""), "{current}");
    assert_eq!(get_with(&server, "/history/none", WRITER_OF_ALL).status, 404);
    assert_eq!(get_with(&server, &format!("/history/a?revision={}", "0".repeat(32)), WRITER_OF_ALL).status, 404);
}

//! Prompts that a service renders: what of an OpenAPI document becomes a prompt, where it appears,
//! and when the service is called.

use crate::client::{Client, LEGACY, Ran};
use crate::http_client::{HttpServer, request};
use crate::http_service::{Service, response};
use crate::openapi_call::{base, with_document};
use serde_json::{Value, json};
use std::fs;
use std::net::TcpListener;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

const DESK: &str = r#"openapi: 3.1.0
info: { title: Release desk, version: 1.0.0 }
servers: [{ url: "https://prompts.example.com/v1" }]
paths:
  /triage/{service}:
    post:
      operationId: triageIncident
      summary: Triage an incident
      parameters:
        - { name: service, in: path, required: true, description: Name of the service, schema: { type: string, enum: [billing, search] } }
        - { name: lang, in: query, description: Language of the brief, schema: { type: string, default: en } }
      requestBody: { required: true, content: { application/json: { schema: { type: object, required: [symptom],
        properties: { symptom: { type: string, description: What the user sees }, severity: { type: integer, default: 3 } } } } } }
      responses: { "200": { description: Messages } }
      x-zuplo-route: { mcp: { type: prompt, name: triage, description: Open an incident with the right brief } }
  /changelog:
    get:
      operationId: draft changelog
      summary: Draft the changelog
      parameters: [{ name: since, in: query, required: true, schema: { type: string, format: date } }]
      responses: { "200": { description: Messages } }
      x-mcp-prompt: {}
  /health: { get: { operationId: health, responses: { "200": { description: ok } } } }
"#;

const LISTED: &str = r#"[{"name":"draft-changelog","description":"(remote) Draft the changelog","arguments":[{"name":"since","required":true}]},{"name":"triage","description":"(remote) Open an incident with the right brief","arguments":[{"name":"service","description":"Name of the service","required":true},{"name":"lang","description":"Language of the brief"},{"name":"symptom","description":"What the user sees","required":true},{"name":"severity"}]}]"#;

/// A service that answers with one user message: the request.
fn echo() -> Service {
    Service::start(|request| {
        let line = request.head.split(" HTTP/").next().unwrap();
        response(
            "200 OK",
            "text/plain",
            format!("{line} {}", request.body).trim_end(),
        )
    })
}

/// The document above, whose service is this one.
fn served_by(service: &Service) -> Client {
    with_document(DESK, &["--openapi-base", &base(service)])
}

fn messages(answer: &Value) -> Vec<(&str, &str)> {
    let messages = answer["result"]["messages"]
        .as_array()
        .unwrap_or_else(|| panic!("{answer}"));
    let text = |value: &Value| value.as_str().unwrap().to_owned().leak() as &str;
    messages
        .iter()
        .map(|message| (text(&message["role"]), text(&message["content"]["text"])))
        .collect()
}

fn names(client: &mut Client) -> Vec<String> {
    let answer = client.request("prompts/list", json!({}));
    let prompts = answer["result"]["prompts"].as_array().unwrap();
    prompts
        .iter()
        .map(|prompt| prompt["name"].as_str().unwrap().to_owned())
        .collect()
}

/// The problems of `check`: severity, line and message.
fn problems(client: &Client) -> Vec<String> {
    let ran = client.run(["check", "--json"], "");
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let shown = |problem: &Value| {
        assert_ne!(text(&problem["repair"]), "", "{problem}");
        format!(
            "{} {} {}",
            text(&problem["severity"]),
            problem["line"],
            text(&problem["message"])
        )
    };
    answer["problems"]
        .as_array()
        .unwrap()
        .iter()
        .map(shown)
        .collect()
}

/// A document with these paths.
fn paths(paths: &str) -> String {
    format!("openapi: 3.0.3\nservers: [{{url: 'https://prompts.example.com'}}]\npaths:\n{paths}")
}

#[test]
fn a_document_is_listed_as_its_sample_says() {
    let mut client = with_document(DESK, &[]);
    let answer = client.request("prompts/list", json!({}));
    assert_eq!(answer["result"]["prompts"].to_string(), LISTED);
}

#[test]
fn a_call_sends_each_value_to_its_place_and_every_interface_gets_the_answer() {
    let service = echo();
    let mut client = served_by(&service);
    let (line, body) = (
        "POST /v1/triage/billing?lang=en ",
        r#"{"symptom":"no invoices","severity":2}"#,
    );
    let want: &str = &format!("{line}{body}");
    let values = json!({"service": "billing", "symptom": "no invoices", "severity": "2"});
    let answer = client.request(
        "prompts/get",
        json!({"name": "triage", "arguments": values}),
    );
    assert_eq!(messages(&answer), [("user", want)]);
    assert_eq!(
        answer["result"]["description"],
        "Open an incident with the right brief"
    );
    let called = client.call(
        "expand_prompt",
        json!({"command": "triage", "input": "", "arguments": values}),
    );
    assert_eq!(called.structured()["prompt"], want);
    client
        .expand("triage", "billing symptom=\"no invoices\" severity=2")
        .text(want);
    client
        .run(
            ["expand", "triage", "billing", "no invoices", "severity=2"],
            "",
        )
        .printed(&format!("{want}\n"));
    let server = HttpServer::start(served_by(&service));
    let answer = server
        .post(request(
            1,
            "prompts/get",
            json!({"name": "triage", "arguments": values}),
        ))
        .json();
    assert_eq!(messages(&answer), [("user", want)]);
    let call = json!({"command": "triage", "arguments": values}).to_string();
    let answer = server.send(
        "POST",
        "/api/expand",
        &[("Content-Type", "application/json")],
        call,
    );
    assert_eq!(answer.json(), json!({ "prompt": want }));
    let requests = service.requests();
    assert_eq!(requests.len(), 6);
    assert!(
        requests
            .iter()
            .all(|request| request.head.starts_with(line) && request.body == body),
        "{requests:?}"
    );
}

#[test]
fn nothing_but_an_expansion_calls_the_service() {
    let service = echo();
    let mut client = served_by(&service).stderr(None);
    client.request("prompts/list", json!({}));
    client.request("resources/list", json!({}));
    client.request("tools/list", json!({}));
    client.list();
    let resource = client.request("resources/read", json!({"uri": "prompt://triage"}));
    let text = resource["result"]["contents"][0]["text"].as_str().unwrap();
    assert!(
        text.starts_with(&format!("POST {}/triage/{{service}}\n\n{{", base(&service))),
        "{text}"
    );
    let reference = json!({"type": "ref/prompt", "name": "triage"});
    let params = json!({"ref": reference, "argument": {"name": "service", "value": "b"}});
    let completed = client.request("completion/complete", params);
    assert_eq!(
        completed["result"]["completion"]["values"],
        json!(["billing"])
    );
    let event = json!({"hook_event_name": "UserPromptSubmit", "prompt": ":triage billing no invoices", "cwd": "/"});
    let hook = client.run(["hook", "codex"], event.to_string()).stdout;
    assert!(
        hook.contains("a service renders") && hook.contains("call the tool expand_prompt"),
        "{hook}"
    );
    for command in [
        &["list"][..],
        &["show", "triage"],
        &["explain", "triage", "billing", "x"],
        &["check"],
        &["path", "triage"],
        &["doctor"],
        &["test"],
    ] {
        let ran = client.run(command.iter().copied(), "");
        assert_ne!(ran.status.code(), Some(2), "{command:?} {ran:?}");
    }
    let server = HttpServer::start(served_by(&service));
    for path in ["/api/prompts", "/api/prompts/triage"] {
        assert_eq!(server.send("GET", path, &[], "").status, 200, "{path}");
    }
    let explain = json!({"command": "triage", "arguments": {"service": "billing", "symptom": "x"}});
    let explained = server.send(
        "POST",
        "/api/explain",
        &[("Content-Type", "application/json")],
        explain.to_string(),
    );
    assert_eq!(explained.status, 200, "{}", explained.text());
    assert_eq!(service.requests(), []);
}

#[test]
fn explain_shows_the_request_and_no_secret() {
    let service = echo();
    let base = base(&service);
    let options = [
        "--openapi-base",
        &base,
        "--openapi-header",
        "Authorization: $DESK_TOKEN",
        "--openapi-header",
        "X-Key: @key",
    ];
    let client = with_document(DESK, &options).variable("DESK_TOKEN", "Bearer s3cret");
    fs::write(client.root().join("key"), "s3cret-too\n").unwrap();
    let ran = client.run(["explain", "--json", "triage", "billing", "x y"], "");
    let explanation: Value = serde_json::from_str(&ran.stdout).unwrap();
    let request = &explanation["request"];
    assert_eq!(request["method"], "POST");
    assert_eq!(request["url"], format!("{base}/triage/billing?lang=en"));
    assert_eq!(request["body"], r#"{"symptom":"x y","severity":3}"#);
    assert_eq!(
        request["headers"]["Authorization"],
        "(secret: the value of $DESK_TOKEN)"
    );
    assert!(
        request["headers"]["X-Key"]
            .as_str()
            .unwrap()
            .starts_with("(secret: the content of /")
    );
    let page = client
        .run(["explain", "triage", "billing", "x y"], "")
        .stdout;
    assert!(
        page.contains("\nRequest\n") && page.contains("/triage/billing?lang=en"),
        "{page}"
    );
    assert!(
        !format!("{page}{}", ran.stdout).contains("s3cret"),
        "{page}"
    );
}

#[test]
fn a_secret_in_an_option_is_refused_and_not_repeated() {
    let client = with_document(DESK, &[]);
    for (header, want) in [
        ("Authorization: Bearer s3cret", "must not be in the option"),
        ("s3cret", "write NAME"),
        ("Host: $X", "is a header that this program sets"),
        ("expect: $X", "is a header that this program sets"),
        ("Accept: $X", "is a header that this program sets"),
        ("X s3cret: $X", "cannot be the name of a header"),
        ("X: $", "name of an environment variable"),
    ] {
        let ran = client.run(
            ["list", "--openapi", "desk.yaml", "--openapi-header", header],
            "",
        );
        assert_eq!(ran.status.code(), Some(2), "{ran:?}");
        assert!(ran.stderr.contains(want), "{header}: {}", ran.stderr);
        assert!(
            ran.stderr.contains("--openapi-header") && !ran.stderr.contains("s3cret"),
            "{}",
            ran.stderr
        );
    }
    let ran = client.run(
        [
            "list",
            "--openapi",
            "desk.yaml",
            "--openapi-base",
            "https://a:s3cret@example.com",
        ],
        "",
    );
    assert!(
        ran.status.code() == Some(2)
            && ran.stderr.contains("must not have a user name, a password"),
        "{ran:?}"
    );
    assert!(
        ran.stderr.contains("--openapi-base") && !ran.stderr.contains("s3cret"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_value_of_another_type_is_an_error_and_nothing_is_sent() {
    let service = echo();
    let mut client = served_by(&service);
    let mut get = |values: Value| {
        client.request(
            "prompts/get",
            json!({"name": "triage", "arguments": values}),
        )["error"]
            .clone()
    };
    let error = get(json!({"service": "billing", "symptom": "x", "severity": "high"}));
    assert_eq!(error["code"], -32602);
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("is not a valid value of `severity`; give an integer"),
        "{error}"
    );
    assert_eq!(service.requests(), []);
}

#[test]
fn a_service_that_hangs_delays_no_request_but_for_other_services() {
    let (release, held): (Sender<()>, Receiver<()>) = channel();
    let held = Mutex::new(held);
    let (arrived, arrival) = channel();
    let arrived = Mutex::new(arrived);
    let service = Service::start(move |_| {
        arrived.lock().unwrap().send(()).unwrap();
        _ = held.lock().unwrap().recv();
        response("200 OK", "text/plain", "late")
    });
    let server = HttpServer::start(
        served_by(&service)
            .prompt("own.md", "Mine.")
            .prompt("own2.md", "Mine, too."),
    );
    let calls: Vec<_> = (0..72)
        .map(|id| {
            let mut connection = server.connect();
            let params = json!({"name": "draft-changelog", "arguments": {"since": "2026"}});
            connection.write(
                "POST",
                "/mcp",
                &crate::http_client::USUAL,
                request(id, "prompts/get", params),
            );
            connection
        })
        .collect();
    (0..64).for_each(|_| arrival.recv().unwrap());
    // As many as may wait do, and others are answered.
    let answer = server.post(request(
        9,
        "tools/call",
        json!({"name": "list_prompts", "arguments": {"query": "triage"}}),
    ));
    assert_eq!(answer.status, 200);
    let unknown = server.post(request(10, "prompts/get", json!({"name": "unknown"})));
    assert_eq!(unknown.json()["error"]["code"], -32602);
    let params = json!({"name": "expand_prompt", "arguments": {"command": "own", "input": ""}});
    let local = server.post(request(11, "tools/call", params));
    assert!(local.text().contains("Mine."), "{}", local.text());
    let local = server.send(
        "POST",
        "/api/expand",
        &[("Content-Type", "application/json")],
        json!({"command": "own2"}).to_string(),
    );
    assert!(local.text().contains("Mine, too."), "{}", local.text());
    let unknown = server.send(
        "POST",
        "/api/expand",
        &[("Content-Type", "application/json")],
        json!({"command": "unknown"}).to_string(),
    );
    assert_eq!(unknown.status, 404);
    let event = json!({"hook_event_name": "UserPromptSubmit", "prompt": ":own2"});
    let hook = server.send(
        "POST",
        "/api/hook/qwen",
        &[("Content-Type", "application/json")],
        event.to_string(),
    );
    assert!(hook.text().contains("Mine, too."), "{}", hook.text());
    assert!(arrival.try_recv().is_err(), "a call has ended before");
    (0..72).for_each(|_| release.send(()).unwrap());
    for mut call in calls {
        let answer = call.read();
        assert!(answer.text().contains("late"), "{}", answer.text());
    }
}

#[test]
fn a_change_of_the_document_is_seen_at_once_and_announced() {
    let mut client = with_document(DESK, &[]);
    client.initialize(LEGACY);
    assert_eq!(names(&mut client), ["draft-changelog", "triage"]);
    client.list();
    let draft = client.root().join("draft");
    fs::write(&draft, DESK.replace("name: triage", "name: sort")).unwrap();
    fs::rename(&draft, client.root().join("desk.yaml")).unwrap();
    // The lists of tools and resources have changed, too.
    while client.notification().0 != "prompts/list_changed" {}
    client.ignore_notifications();
    assert_eq!(names(&mut client), ["draft-changelog", "sort"]);
    fs::remove_file(client.root().join("desk.yaml")).unwrap();
    assert_eq!(names(&mut client), [""; 0]);
    let problem = client.list()["problems"][0]["message"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        problem.contains("no such file") || problem.contains("cannot be read"),
        "{problem}"
    );
}

#[test]
fn the_user_s_own_prompt_overrides_that_of_a_service_and_that_a_built_in_one() {
    let document = paths("  /r: {get: {operationId: research, summary: Far, x-mcp-prompt: {}}}\n");
    let mut client = with_document(&document, &[]);
    let listed = client.run(["list", "--json"], "").stdout;
    assert!(listed.contains(r#""layer":"remote""#), "{listed}");
    client.write("research.md", "Near.");
    client.expand("research", "").text("Near.");
    let explanation: Value =
        serde_json::from_str(&client.run(["explain", "--json", "research"], "").stdout).unwrap();
    assert_eq!(explanation["shadows"][0]["layer"], "remote");
    fs::remove_file(client.prompts().join("research.md")).unwrap();
    let client = client.arguments(["--openapi", "desk.yaml"]);
    let shown: Value =
        serde_json::from_str(&client.run(["show", "research", "--json"], "").stdout).unwrap();
    assert_eq!(shown["layer"], "remote");
}

#[test]
fn json_that_lost_its_quotes_is_an_error_that_says_how_to_write_it() {
    let document = paths(
        "  /j: {get: {operationId: j, x-mcp-prompt: {}, parameters: [{name: q, in: query, schema: {type: array}}, {name: n, in: query}]}}\n",
    );
    let service = echo();
    let mut client = with_document(&document, &["--openapi-base", &base(&service)]);
    let want = r#"`[a,b]` is not a valid value of `q`; give JSON, such as `["a", "b"]`, which is written in single quotes in a chat"#;
    let typed = r#"q=["a","b"]"#;
    let error = client.expand("j", typed).error();
    assert!(error.contains(want), "{error}");
    let ran = client.run(["expand", "j", typed], "");
    assert!(ran.stderr.contains(want), "{ran:?}");
    // What it says works, in a chat and on the command line.
    client
        .expand("j", r#"q='["a","b"]' n=x"#)
        .text("GET /v1/j?q=a&q=b&n=x");
    client
        .run(["expand", "--arg", typed, "j"], "")
        .printed("GET /v1/j?q=a&q=b\n");
}

#[test]
fn what_is_no_document_is_a_problem_and_other_prompts_are_served() {
    let mut client = with_document("", &[]).prompt("own.md", "Own.").stderr(None);
    fs::write(client.root().join("desk.yaml"), [0xff, 0xfe, b'o', 0]).unwrap();
    assert!(
        problems(&client)[0].contains("UTF-16"),
        "{:?}",
        problems(&client)
    );
    fs::File::create(client.root().join("desk.yaml"))
        .unwrap()
        .set_len(100 * 1024 * 1024)
        .unwrap();
    let found = problems(&client);
    assert_eq!(
        found,
        ["error null the file is 100 MiB long, the limit is 16 MiB"]
    );
    assert_eq!(names(&mut client), ["own"]);
}

#[test]
fn only_with_documents_does_expand_prompt_depend_on_other_machines() {
    let hint = |mut client: Client| {
        let tools = client.request("tools/list", json!({}))["result"]["tools"].clone();
        let hints = tools
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["annotations"]["openWorldHint"].clone());
        hints.collect::<Vec<Value>>()
    };
    assert_eq!(hint(Client::new()), [json!(false), json!(false)]);
    assert_eq!(hint(with_document(DESK, &[])), [json!(false), json!(true)]);
}

#[test]
fn an_operation_without_an_extension_is_a_prompt_if_it_is_named() {
    let client = with_document(
        DESK,
        &[
            "--openapi-operation",
            "health",
            "--openapi-operation",
            "nope",
        ],
    );
    let listed = client.run(["list", "--json"], "").stdout;
    assert!(listed.contains(r#""name":"health""#), "{listed}");
    assert_eq!(
        problems(&client),
        ["error null no operation has the `operationId` `nope`"]
    );
    let ran = with_document(DESK, &[])
        .arguments(["--openapi-operation", "health"])
        .run(["list"], "");
    assert_eq!(ran.status.code(), Some(2), "{ran:?}");
}

#[test]
fn headers_for_several_documents_need_the_address_that_they_are_for() {
    let client = with_document(
        DESK,
        &["--openapi", "other.yaml", "--openapi-header", "A: $HOME"],
    );
    fs::write(
        client.root().join("other.yaml"),
        paths("  /o: {get: {operationId: other, x-mcp-prompt: {}}}\n"),
    )
    .unwrap();
    let ran = client.run(["expand", "other"], "");
    assert!(
        ran.stderr.contains(
            "the address of the service is not given, and headers need it if there are several documents"
        ),
        "{ran:?}"
    );
    assert_eq!(problems(&client).len(), 2);
}

#[test]
fn a_remote_prompt_has_no_file_that_is_edited_renamed_or_removed() {
    let client = with_document(DESK, &[]);
    let document = client.root().join("desk.yaml");
    let before = fs::read(&document).unwrap();
    for (command, want) in [
        (
            &["edit", "triage"][..],
            "which this program does not change",
        ),
        (&["test", "triage"], "`triage` has no test file"),
        (&["rm", "--yes", "triage"], "desk.yaml"),
        (&["mv", "triage", "sort"], "desk.yaml"),
        (&["new", "triage"], "desk.yaml"),
    ] {
        let ran = client.run(command.iter().copied(), "");
        assert_eq!(ran.status.code(), Some(1), "{command:?} {ran:?}");
        assert!(ran.stderr.contains(want), "{command:?} {ran:?}");
    }
    client
        .run(["path", "triage"], "")
        .printed(&format!("{}\n", document.display()));
    assert_eq!(fs::read(&document).unwrap(), before);
}

#[test]
fn doctor_calls_the_service_only_online() {
    let service = Service::answering(response("404 X", "text/plain", "no"));
    let client = served_by(&service);
    let said = |ran: Ran| ran.stdout;
    let offline = said(client.run(["doctor"], ""));
    assert!(
        !offline.contains("the service") && service.requests().is_empty(),
        "{offline}"
    );
    let online = said(client.run(["doctor", "--online"], ""));
    assert!(
        online.contains("the service answers with the status 404"),
        "{online}"
    );
    assert!(service.request().head.starts_with("GET /v1 "));
    let closed = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let client = with_document(DESK, &["--openapi-base", &format!("http://{closed}")]);
    let ran = client.run(["doctor", "--online"], "");
    assert!(
        ran.stdout.contains("cannot be reached: ") && ran.status.code() == Some(1),
        "{ran:?}"
    );
    assert_eq!(ran.stdout.matches("the service").count(), 1, "{ran:?}");
}

/// The document, the calls and the answers of Zuplo's documentation ("MCP Server Prompts"), but for
/// what its gateway adds: the description in its answers is not the one in its document.
#[test]
fn the_example_of_zuplo_works() {
    let greeting = json!({
        "operationId": "greeting",
        "summary": "Generate a personalized greeting",
        "description": "Creates a customized greeting for a given person",
        "requestBody": {"required": true, "content": {"application/json": {"schema": {
            "type": "object",
            "properties": {"name": {"type": "string", "description": "The name of the person to greet"}},
            "required": ["name"]
        }}}},
    });
    let handler = json!({"export": "default", "module": "$import(./modules/greeting)"});
    let about = json!({
        "name": "greeting_generator", "description": "Utilize this prompt to generate a personalized greeting message"
    });
    let mut of_route = greeting.clone();
    of_route["x-zuplo-route"] = json!({"corsPolicy": "none", "handler": handler, "mcp": about});
    of_route["x-zuplo-route"]["mcp"]["type"] = "prompt".into();
    let mut of_extension = greeting.clone();
    of_extension["x-zuplo-route"] = json!({"corsPolicy": "none", "handler": handler});
    of_extension["x-zuplo-mcp-prompt"] = about.clone();
    let mut ours = greeting;
    ours["x-mcp-prompt"] = about;
    let service = Service::start(|request| {
        let body: Value = serde_json::from_str(&request.body).unwrap();
        let text = format!(
            "Create a personalized greeting for {}. Make it friendly and welcoming!",
            body["name"].as_str().unwrap()
        );
        let message = json!({"role": "assistant", "content": {"type": "text", "text": text}});
        response(
            "200 OK",
            "application/json",
            &json!({ "messages": [message] }).to_string(),
        )
    });
    for operation in [of_route, of_extension, ours] {
        let document =
            json!({"openapi": "3.1.0", "paths": {"/greeting": {"post": operation}}}).to_string();
        let mut client = with_document(&document, &["--openapi-base", &service.url()]);
        let listed = client.request("prompts/list", json!({}));
        let about = "Utilize this prompt to generate a personalized greeting message";
        let arguments = json!([{"name": "name", "description": "The name of the person to greet", "required": true}]);
        let prompt = json!({
            "name": "greeting_generator", "description": format!("(remote) {about}"), "arguments": arguments
        });
        assert_eq!(listed["result"]["prompts"], json!([prompt]));
        let params = json!({"name": "greeting_generator", "arguments": {"name": "john"}});
        let expanded = client.request("prompts/get", params);
        let text = "Create a personalized greeting for john. Make it friendly and welcoming!";
        assert_eq!(messages(&expanded), [("assistant", text)]);
        assert_eq!(expanded["result"]["description"], about);
    }
    let bodies: Vec<String> = service
        .requests()
        .into_iter()
        .map(|request| request.body)
        .collect();
    assert_eq!(bodies, [r#"{"name":"john"}"#; 3]);
}

#[test]
fn an_agent_that_may_edit_cannot_change_a_remote_prompt_but_can_override_it() {
    let service = echo();
    let base = base(&service);
    let mut client = with_document(DESK, &["--openapi-base", &base, "--edit"]).stderr(None);
    client.list();
    let update = json!({"command": "triage", "file": "Mine.", "expected": "0".repeat(32)});
    let error = client.call("update_prompt", update).error();
    assert!(
        error.starts_with("`triage` is in ")
            && error.contains("which prompt-expander does not write to"),
        "{error}"
    );
    let created = client.call(
        "create_prompt",
        json!({"command": "triage", "file": "Mine."}),
    );
    assert_eq!(created.structured()["command"], "triage");
    client.expand("triage", "").text("Mine.");
    assert_eq!(service.requests(), []);
}

//! On standard input and output, what waits for a service or for another process holds up no other
//! request.

use crate::client::{Client, LEGACY};
#[cfg(feature = "openapi")]
use crate::http_service::{Service, response};
use serde_json::{Value, json};
use std::fs;

fn call(id: &str, tool: &str, arguments: Value) -> String {
    let params = json!({"name": tool, "arguments": arguments});
    format!(
        "{}\n",
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    )
}

/// A service that answers when the test says so, and a client whose prompt `slow` it renders.
#[cfg(feature = "openapi")]
fn slow_service() -> (Service, std::sync::mpsc::Sender<()>, Client) {
    let (release, released) = std::sync::mpsc::channel();
    let released = std::sync::Mutex::new(released);
    let service = Service::start(move |_| {
        _ = released.lock().unwrap().recv();
        response("200 OK", "text/plain", "Rendered.")
    });
    let document = json!({
        "openapi": "3.1.0", "info": {"title": "Desk", "version": "1"}, "servers": [{"url": service.url()}],
        "paths": {"/slow": {"get": {"operationId": "slow", "responses": {}, "x-mcp-prompt": {}}}},
    });
    let client = Client::new().prompt("fast.md", "Fast.");
    client.put("desk.json", document.to_string());
    let (base, prompts) = (
        service.url(),
        [
            "--no-builtin",
            "--prompts",
            "prompts",
            "--openapi",
            "desk.json",
        ],
    );
    (
        service,
        release,
        client.arguments([&prompts[..], &["--openapi-base", &base]].concat()),
    )
}

#[cfg(feature = "openapi")]
#[test]
fn a_slow_service_holds_up_no_other_request_and_a_cancelled_one_is_not_answered() {
    let (service, release, mut client) = slow_service();
    client.initialize(LEGACY);
    let slow = json!({"command": "slow", "input": ""});
    for id in ["wanted", "cancelled"] {
        client.send(call(id, "expand_prompt", slow.clone()));
        service.request();
    }
    assert_eq!(client.result("ping", json!({})), json!({}));
    client.expand("fast", "").text("Fast.");
    let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "cancelled"}});
    client.silent(&cancelled.to_string());
    release.send(()).unwrap();
    release.send(()).unwrap();
    let answer = client.read();
    assert_eq!(
        (
            &answer["id"],
            &answer["result"]["structuredContent"]["prompt"]
        ),
        (&json!("wanted"), &json!("Rendered."))
    );
    let (rest, status, _) = client.finish();
    assert_eq!((rest.as_str(), status.code()), ("", Some(0)));
}

#[cfg(feature = "openapi")]
#[test]
fn sixteen_jobs_run_at_once_the_next_is_refused_and_the_end_of_input_waits_for_them() {
    let (service, release, mut client) = slow_service();
    client.initialize(LEGACY);
    for number in 0..16 {
        client.send(call(
            &number.to_string(),
            "expand_prompt",
            json!({"command": "slow", "input": ""}),
        ));
        service.request();
    }
    let refused = client.line(
        call(
            "more",
            "expand_prompt",
            json!({"command": "slow", "input": ""}),
        )
        .trim_end(),
    );
    assert_eq!(
        (&refused["id"], &refused["error"]["code"]),
        (&json!("more"), &json!(-32603))
    );
    (0..16).for_each(|_| release.send(()).unwrap());
    let (rest, status, _) = client.finish();
    assert_eq!(
        (
            rest.lines()
                .filter(|line| line.contains("Rendered."))
                .count(),
            status.code()
        ),
        (16, Some(0))
    );
}

#[test]
fn a_write_that_waits_for_another_process_holds_up_no_other_request() {
    let mut client = Client::new().prompt("a.md", "A").arguments([
        "--no-builtin",
        "--prompts",
        "prompts",
        "--edit",
    ]);
    let history = client.make_folder("prompts/.history");
    let lock = fs::File::create(history.join(".lock")).unwrap();
    lock.lock().unwrap();
    client.initialize(LEGACY);
    client.send(call(
        "write",
        "create_prompt",
        json!({"command": "b", "file": "B"}),
    ));
    client.expand("a", "").text("A");
    lock.unlock().unwrap();
    assert_eq!(client.read()["id"], "write");
    client.expand("b", "").text("B");
    client.ignore_notifications();
}

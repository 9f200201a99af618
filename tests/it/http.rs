//! MCP over HTTP, as any client sees it: what is answered to which request, sessions and streams, and what broken or
//! hostile clients cannot do.

use crate::client::Client;
use crate::http_client::HttpServer;
use serde_json::json;

fn server() -> HttpServer {
    HttpServer::start(Client::new().prompt("research.md", "Research {{input}}."))
}

#[test]
fn the_requests_that_curl_sends_are_answered() {
    let server = server();
    let answer = server.send(
        "POST",
        "/mcp",
        &[("User-Agent", "curl/8.5.0"), ("Accept", "*/*"), ("Content-Type", "application/json")],
        r#"{"jsonrpc":"2.0","method":"prompts/list","params":{},"id":2}"#,
    );
    assert_eq!((answer.status, &answer.json()["result"]["prompts"][0]["name"]), (200, &json!("research")));
    let answer = server.send(
        "POST",
        "/mcp",
        &[
            ("User-Agent", "curl/8.5.0"),
            ("accept", "application/json, text/event-stream"),
            ("Content-Type", "application/x-www-form-urlencoded"),
        ],
        r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"expand_prompt","arguments":{"command":"research","input":"x"}}}"#,
    );
    assert_eq!(answer.status, 200);
    assert_eq!(answer.json()["result"]["structuredContent"], json!({"prompt": "Research x."}));
}

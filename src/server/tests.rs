//! What only a server without a process can show; the rest is tested over real pipes in `tests/it`.

use super::*;
use crate::server::tools::ToolError;
use serde_json::{Value, json};

const PANICKING: &[ServerTool] = &[ServerTool {
    name: "panic",
    title: "Panic",
    description: |_| String::new(),
    input_schema: || json!({}),
    output_schema: || json!({}),
    shown_by_claude_code: None,
    call: |call| match call.arguments.get("x") {
        None => panic!("on purpose, in a test"),
        Some(_) => Err(ToolError::Internal("reported, not thrown".to_owned())),
    },
}];

fn handle(server: &Server, line: &str) -> Value {
    match server.handle(&mut Session::default(), Message::parse(line.as_bytes()).unwrap()) {
        Reply::Response(response) => serde_json::from_str(response.to_json().unwrap().get()).unwrap(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_panic_in_one_request_is_an_internal_error_and_the_next_is_served() {
    let server = Server { tools: PANICKING, ..Server::new(Arc::default()) };
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"panic"}}"#;
    let answer = handle(&server, call);
    assert_eq!(answer["id"], 1);
    assert_eq!(answer["error"]["code"], -32603);
    let ping = r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;
    assert_eq!(handle(&server, ping), json!({"jsonrpc": "2.0", "id": 2, "result": {}}));
}

#[test]
fn a_fault_of_ours_in_a_tool_is_an_internal_error() {
    let server = Server { tools: PANICKING, ..Server::new(Arc::default()) };
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"panic","arguments":{"x":1}}}"#;
    assert_eq!(
        handle(&server, call)["error"],
        json!({"code": -32603, "message": "internal error: reported, not thrown"})
    );
}

//! A client that nobody here wrote: the official Rust SDK, over its own child-process transport, in each of its
//! handshakes.

use crate::client::Client;
use rmcp::model::{CallToolRequestParams, JsonObject, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, RoleClient, RunningService};
use rmcp::transport::TokioChildProcess;
use serde_json::{Value, json};

type Rmcp = RunningService<RoleClient, ()>;

fn params(tool: &'static str, arguments: Value) -> CallToolRequestParams {
    let arguments: JsonObject = serde_json::from_value(arguments).unwrap();
    CallToolRequestParams::new(tool).with_arguments(arguments)
}

/// Lists, calls, and gets an error.
async fn converse(client: Rmcp) {
    let tools = client.list_all_tools().await.unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_ref()).collect();
    assert_eq!(names, ["list_prompts", "expand_prompt"]);
    for tool in &tools {
        assert_eq!(tool.annotations.as_ref().unwrap().read_only_hint, Some(true));
        assert!(tool.output_schema.is_some() && tool.title.is_some());
    }
    assert!(tools[1].description.as_ref().unwrap().ends_with("Available commands: :research."));

    let listed = client.call_tool(CallToolRequestParams::new("list_prompts")).await.unwrap();
    let listed = serde_json::to_value(listed).unwrap();
    assert_eq!(
        listed["structuredContent"],
        json!({"prompts": [{"name": "research", "description": "Topic: {{input}}"}]})
    );

    let expanded =
        client.call_tool(params("expand_prompt", json!({"command": "research", "input": "Example topic"}))).await;
    let expanded = serde_json::to_value(expanded.unwrap()).unwrap();
    assert_eq!(expanded["structuredContent"], json!({"prompt": "Topic:\nExample topic"}));
    assert_eq!(expanded["content"][0]["text"], "{\"prompt\":\"Topic:\\nExample topic\"}");

    let refused = client.call_tool(params("expand_prompt", json!({"command": "reserch", "input": ""}))).await.unwrap();
    let refused = serde_json::to_value(refused).unwrap();
    assert_eq!(refused["isError"], true);
    assert!(refused["content"][0]["text"].as_str().unwrap().contains("did you mean `research`?"));

    let unknown = client.call_tool(CallToolRequestParams::new("nope")).await.unwrap_err().to_string();
    assert!(unknown.contains("unknown tool `nope`"), "{unknown}");
}

/// Starts the real program and shakes hands with it; `want` is the revision that the two settle on.
fn with(lifecycle: Option<ClientLifecycleMode>, want: &str) {
    let home = Client::new().prompt("research.md", "Topic:\n{{input}}\n");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut command = tokio::process::Command::from(home.command());
        command.args(home.library_arguments());
        let transport = TokioChildProcess::new(command).unwrap();
        let client = match lifecycle {
            None => rmcp::serve_client((), transport).await,
            Some(lifecycle) => ().serve_with_lifecycle(transport, lifecycle).await,
        }
        .unwrap();
        let info = serde_json::to_value(client.peer_info().unwrap().as_ref()).unwrap();
        assert!(info.to_string().contains(want), "{info}");
        converse(client).await;
    });
}

#[test]
fn rmcp_in_the_handshake_that_it_prefers() {
    with(None, "2025-11-25");
}

#[test]
fn rmcp_with_server_discover() {
    with(Some(ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::LATEST] }), "2026-07-28");
}

#[test]
fn rmcp_that_probes_and_may_fall_back() {
    let lifecycle =
        ClientLifecycleMode::Auto { preferred_versions: vec![ProtocolVersion::LATEST], legacy_version: None };
    with(Some(lifecycle), "2026-07-28");
}

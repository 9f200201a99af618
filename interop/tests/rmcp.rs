//! A client from another project: the official Rust SDK, over its own child-process transport, in
//! each of its handshakes.
//! `PROGRAM=…/prompt-expander cargo test --manifest-path interop/Cargo.toml`

use rmcp::handler::client::ClientHandler;
use rmcp::model::{
    CallToolRequestParams, GetPromptRequestParams, JsonObject, ProtocolVersion,
    ReadResourceRequestParams, ResourceUpdatedNotificationParam, ServerNotification,
    SubscribeRequestParams, SubscriptionFilter,
};
use rmcp::service::{
    ClientLifecycleMode, ClientServiceExt, NotificationContext, RoleClient, RunningService,
};
use rmcp::transport::TokioChildProcess;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use tempfile::TempDir;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

type Rmcp = RunningService<RoleClient, Notified>;

/// Passes on untagged notifications.
#[derive(Clone)]
struct Notified(UnboundedSender<String>);

impl ClientHandler for Notified {
    async fn on_resource_updated(
        &self,
        params: ResourceUpdatedNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.0.send(params.uri).unwrap();
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.0.send("resources".to_owned()).unwrap();
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.0.send("tools".to_owned()).unwrap();
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.0.send("prompts".to_owned()).unwrap();
    }
}

fn object(arguments: Value) -> JsonObject {
    serde_json::from_value(arguments).unwrap()
}

fn params(tool: &'static str, arguments: Value) -> CallToolRequestParams {
    CallToolRequestParams::new(tool).with_arguments(object(arguments))
}

/// Lists and calls the tools, and gets an error.
async fn use_the_tools(client: &Rmcp) {
    let tools = client.list_all_tools().await.unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_ref()).collect();
    assert_eq!(names, ["list_prompts", "expand_prompt"]);
    for tool in &tools {
        assert_eq!(
            tool.annotations.as_ref().unwrap().read_only_hint,
            Some(true)
        );
        assert!(tool.output_schema.is_some() && tool.title.is_some());
    }
    assert!(
        tools[1]
            .description
            .as_ref()
            .unwrap()
            .ends_with("Available commands: :compare, :git/research.")
    );

    let listed = client
        .call_tool(params("list_prompts", json!({"query": "reserch"})))
        .await
        .unwrap();
    let listed = serde_json::to_value(listed).unwrap();
    assert_eq!(
        listed["structuredContent"],
        json!({"prompts": [{"name": "git/research", "description": "Topic: {{input}}"}]})
    );

    let expanded = client
        .call_tool(params(
            "expand_prompt",
            json!({"command": "git:research", "input": "Example topic"}),
        ))
        .await;
    let expanded = serde_json::to_value(expanded.unwrap()).unwrap();
    assert_eq!(
        expanded["structuredContent"],
        json!({"prompt": "Topic:\nExample topic"})
    );
    assert_eq!(
        expanded["content"][0]["text"],
        "{\"prompt\":\"Topic:\\nExample topic\"}"
    );

    let refused = client
        .call_tool(params(
            "expand_prompt",
            json!({"command": "reserch", "input": ""}),
        ))
        .await
        .unwrap();
    let refused = serde_json::to_value(refused).unwrap();
    assert_eq!(refused["isError"], true);
    assert!(
        refused["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("did you mean `git/research`?")
    );

    let unknown = client
        .call_tool(CallToolRequestParams::new("nope"))
        .await
        .unwrap_err()
        .to_string();
    assert!(unknown.contains("unknown tool `nope`"), "{unknown}");
}

/// Lists and gets prompts, reads resources, completes.
async fn use_the_menus(client: &Rmcp) {
    let prompts = client.list_all_prompts().await.unwrap();
    let names: Vec<&str> = prompts.iter().map(|prompt| prompt.name.as_ref()).collect();
    assert_eq!(names, ["compare", "git/research"]);
    let required: Vec<_> = prompts[0]
        .arguments
        .as_ref()
        .unwrap()
        .iter()
        .map(|argument| argument.required)
        .collect();
    assert_eq!(required, [Some(true), None]);
    let arguments = object(json!({"options": "Rust or Go"}));
    let got = client
        .get_prompt(GetPromptRequestParams::new("compare").with_arguments(arguments))
        .await
        .unwrap();
    let got = serde_json::to_value(got).unwrap();
    assert_eq!(
        got["messages"],
        json!([{"role": "user", "content": {"type": "text", "text": "Compare Rust or Go by cost."}}])
    );
    let missing = client
        .get_prompt(GetPromptRequestParams::new("compare"))
        .await
        .unwrap_err()
        .to_string();
    assert!(
        missing.contains("it needs a value for `options`"),
        "{missing}"
    );

    let resources = client.list_all_resources().await.unwrap();
    assert_eq!(resources[1].uri, "prompt://git/research");
    let read = client
        .read_resource(ReadResourceRequestParams::new("prompt://git/research"))
        .await
        .unwrap();
    let read = serde_json::to_value(read).unwrap();
    assert_eq!(read["contents"][0]["text"], "Topic:\n{{input}}\n");
    let unknown = client
        .read_resource(ReadResourceRequestParams::new("prompt://nope"))
        .await
        .unwrap_err()
        .to_string();
    assert!(unknown.contains("no resource `prompt://nope`"), "{unknown}");
    assert_eq!(
        client.list_all_resource_templates().await.unwrap()[0].uri_template,
        "prompt://{+name}"
    );

    let choices = client
        .complete_prompt_simple("compare", "criteria", "s")
        .await
        .unwrap();
    assert_eq!(choices, ["speed", "size", "cost"]);
    let names = client
        .complete_resource_simple("prompt://{+name}", "name", "re")
        .await
        .unwrap();
    assert_eq!(names, ["compare", "git/research"]);
}

/// Receives the notifications of an added file and of a changed one, as its protocol version has
/// them.
#[allow(deprecated)] // resources/subscribe, to rmcp; the legacy versions have nothing else
async fn receive_changes(
    client: &Rmcp,
    prompts: &Path,
    untagged: &mut UnboundedReceiver<String>,
    is_modern: bool,
) {
    const URI: &str = "prompt://compare";
    if is_modern {
        let wanted = SubscriptionFilter::builder()
            .tools_list_changed()
            .prompts_list_changed();
        let mut listen = client
            .listen(wanted.resource_subscription(URI).build())
            .await
            .unwrap();
        assert_eq!(
            listen.acknowledged().resource_subscriptions.as_deref(),
            Some(&[URI.to_owned()][..])
        );
        fs::write(prompts.join("new.md"), "New.").unwrap();
        fs::write(prompts.join("compare.md"), "Compare.").unwrap();
        let mut received = Vec::new();
        while received.len() < 3 {
            received.push(match listen.next().await.unwrap().unwrap() {
                ServerNotification::ToolListChangedNotification(_) => "tools".to_owned(),
                ServerNotification::PromptListChangedNotification(_) => "prompts".to_owned(),
                ServerNotification::ResourceUpdatedNotification(updated) => updated.params.uri,
                other => panic!("{other:?}"),
            });
            received.sort();
            received.dedup();
        }
        assert_eq!(received, [URI, "prompts", "tools"]);
        listen.cancel().await.unwrap();
        assert!(
            untagged.try_recv().is_err(),
            "nothing arrives without a tag"
        );
    } else {
        client
            .subscribe(SubscribeRequestParams::new(URI))
            .await
            .unwrap();
        fs::write(prompts.join("new.md"), "New.").unwrap();
        fs::write(prompts.join("compare.md"), "Compare.").unwrap();
        let mut received = Vec::new();
        while received.len() < 4 {
            received.push(untagged.recv().await.unwrap());
            received.sort();
            received.dedup();
        }
        assert_eq!(received, [URI, "prompts", "resources", "tools"]);
    }
    assert_eq!(client.list_all_prompts().await.unwrap().len(), 3);
}

/// Starts the real program and shakes hands with it; `want` is the protocol version that the two
/// negotiate.
fn with(lifecycle: Option<ClientLifecycleMode>, want: &str) {
    let compare = "---\narguments:\n  - name: options\n    required: true\n  - name: criteria\n    default: cost\n    \
                   choices: [speed, size, cost]\n---\nCompare {{options}} by {{criteria}}.";
    let home = TempDir::new().unwrap();
    let prompts = home.path().join("prompts");
    fs::create_dir_all(prompts.join("git")).unwrap();
    fs::write(prompts.join("git/research.md"), "Topic:\n{{input}}\n").unwrap();
    fs::write(prompts.join("compare.md"), compare).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let program = std::env::var_os("PROGRAM").expect("PROGRAM is the path of prompt-expander");
        let mut command = tokio::process::Command::new(program);
        command
            .env("HOME", home.path())
            .env_remove("XDG_CONFIG_HOME")
            .arg("--no-builtin")
            .arg("--prompts")
            .arg(&prompts);
        let transport = TokioChildProcess::new(command).unwrap();
        let (sender, mut untagged) = unbounded_channel();
        let client = match lifecycle {
            None => rmcp::serve_client(Notified(sender), transport).await,
            Some(lifecycle) => {
                Notified(sender)
                    .serve_with_lifecycle(transport, lifecycle)
                    .await
            }
        }
        .unwrap();
        let info = serde_json::to_value(client.peer_info().unwrap().as_ref()).unwrap();
        assert!(info.to_string().contains(want), "{info}");
        use_the_tools(&client).await;
        use_the_menus(&client).await;
        receive_changes(&client, &prompts, &mut untagged, want == "2026-07-28").await;
        client.cancel().await.unwrap();
    });
}

#[test]
fn rmcp_in_the_handshake_that_it_prefers() {
    with(None, "2025-11-25");
}

#[test]
fn rmcp_with_server_discover() {
    with(
        Some(ClientLifecycleMode::Discover {
            preferred_versions: vec![ProtocolVersion::LATEST],
        }),
        "2026-07-28",
    );
}

#[test]
fn rmcp_that_probes_and_may_fall_back() {
    let lifecycle = ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::LATEST],
        legacy_version: None,
    };
    with(Some(lifecycle), "2026-07-28");
}

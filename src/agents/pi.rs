//! Earendil Works' pi, as observed in version 1.6.

use super::agent::{Agent, Examined, Finding, Hook, HookDialect, Launch};
use super::config_text::{ConfigSyntax, Entry, JsonSyntax, Plugin};
use super::drafts::Drafts;
use super::limit::{PartLimit, Unit};
use super::menu::{Menu, MenuBody, MenuLayout, SignPlace};
use super::registration::{Config, Registration};
use crate::prompt::is_agentskills_name;
use serde_json::json;

pub(super) static PI: Agent = Agent {
    name: "pi",
    aliases: &["pi-coding-agent"],
    title: "pi",
    programs: &["pi"],
    settings_folder: |system| {
        system
            .folder_from_variable("PI_CODING_AGENT_DIR")
            .or_else(|| system.join_home(".pi/agent"))
    },
    config: Config {
        syntax: ConfigSyntax::Json(JsonSyntax::Strict),
        user_files: &["mcp.json"],
        project_files: &[".pi/mcp.json"],
        new_entry: |program, arguments| Entry {
            required: vec![
                ("command", Some(json!(program))),
                ("args", Some(json!(arguments))),
            ],
            // Otherwise, the model doesn't see the tools and their descriptions.
            initial: vec![("exposure", json!("direct"))],
        },
        ..Config::JSON
    },
    hook: Some(Hook {
        event: "input",
        dialect: HookDialect::Pi,
        // No limit is known. 200,000 characters arrived untruncated.
        context_limit: (1_000_000, Unit::Bytes),
        user_file: "extensions/prompt-expander.ts",
        project_files: &[".pi/extensions/prompt-expander.ts"],
        syntax: ConfigSyntax::Plugin(Plugin {
            template: include_str!("pi/extension.ts"),
            event: "input",
        }),
        timeout: 5000, // the same as in `extension.ts`
        ..Hook::DEFAULT
    }),
    // pi drops the middle of a result of more than 20,480 bytes.
    part_limit: Some(PartLimit::of_json(20_000, Unit::Bytes)),
    menu: Some(Menu {
        sign: '/',
        sign_place: SignPlace::StartOfMessage,
        folder: "prompts",
        layout: MenuLayout::File,
        body: MenuBody::Command,
        shows_argument_hint: true,
        further_keys: "",
        further_files: &[],
        needs_restart: true,
        other_folders: |_| Vec::new(),
        takes_name: is_agentskills_name,
        builtin_names: "
            bug changelog clone compact copy exit export fork help hotkeys import login logout
            model name new quit reload resume scoped-models session settings share thinking tree
            trust",
    }),
    drafts: Some(Drafts {
        is_draft_file: |folder, file| folder.starts_with("pi-editor-") && file == "prompt.md",
        ..Drafts::DEFAULT
    }),
    launch: Launch {
        client_name: Some("pi"),
        ..Launch::BY_SDK
    },
    checks: &[check_exposure],
    ..Agent::DEFAULT
};

/// Returns a warning if the model can neither see the tools nor get prompts from the extension.
fn check_exposure(examined: &Examined, server: &Registration) -> Option<Finding> {
    let is_direct = server.entry.get("exposure") == Some(&json!("direct"));
    if is_direct || !PI.hooks(examined.files).is_empty() {
        return None;
    }
    let message = "pi does not show the tools of this server to the model";
    Some(examined.warning(message, "set `exposure` to `direct`"))
}

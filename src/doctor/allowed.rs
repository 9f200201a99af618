//! Whether a client starts a server that it knows, and lets the model call its tools without asking.
//!
//! The keys are those that Codex 0.169, Claude Code 2.1.330 and Gemini CLI 0.61 read.

use super::server::Configs;
use super::{Doctor, Finding, Severity, broken, warning};
use crate::client::{Client, Config, Registration, Scope};
use crate::wording::named;
use serde_json::Value;
use std::path::{Path, PathBuf};

impl Doctor {
    /// Whether the client starts it at all.
    pub(super) fn switched_off(&self, client: Client, server: &Registration, configs: &Configs) -> Option<Finding> {
        let name = &server.name;
        let shown = named(name);
        let holds = |list: Option<&Value>| {
            list.and_then(Value::as_array).is_some_and(|list| list.iter().any(|item| item == name))
        };
        if !server.enabled {
            let key = if server.entry.contains_key("disabled") { "disabled" } else { "enabled" };
            let value = key == "enabled";
            let message = format!("{shown} is switched off: `{key}` is {}", !value);
            return Some(broken(client, server, message).remedy(format!("set `{key}` to {value}")));
        }
        match client {
            Client::ClaudeCode => {
                let project = self.surroundings.project.to_string_lossy().replace('~', "~0").replace('/', "~1");
                let disabled = configs.get(&format!("/projects/{project}/disabledMcpServers"));
                if holds(disabled) {
                    let message = format!("{shown} is switched off in this project");
                    return Some(broken(client, server, message).remedy("switch it on with `/mcp` in Claude Code"));
                }
                // Those of the project go before the user's.
                let scopes = [Scope::Project, Scope::User];
                let settings = scopes.iter().flat_map(|scope| client.hook_configs(*scope, &self.surroundings));
                let settings: Vec<Config> = settings.flatten().collect();
                let denied = settings.iter().find(|settings| {
                    let denied = settings.value["deniedMcpServers"].as_array();
                    denied.is_some_and(|denied| denied.iter().any(|item| item["serverName"] == *name))
                });
                if let Some(settings) = denied {
                    let message = format!("{shown} is among the servers that `deniedMcpServers` keeps out");
                    let finding = broken(client, server, message).remedy("take it out of that list");
                    return Some(finding.at(&settings.path, settings.position(&["deniedMcpServers"])));
                }
                (server.scope == Scope::Project).then(|| self.approved(client, server, configs, &project)).flatten()
            }
            Client::GeminiCli => {
                let state = self.surroundings_of_gemini("mcp-server-enablement.json");
                let is_off = state.pointer(&format!("/{name}/enabled")) == Some(&Value::Bool(false));
                let remedy = format!("run `gemini mcp enable {name}`");
                if is_off {
                    return Some(broken(client, server, format!("{shown} is switched off")).remedy(remedy));
                }
                if holds(configs.get("/mcp/excluded")) {
                    let message = format!("{shown} is among the servers that `mcp.excluded` keeps out");
                    return Some(broken(client, server, message).remedy("take it out of that list"));
                }
                let allowed = configs.get("/mcp/allowed");
                let is_narrow = allowed.and_then(Value::as_array).is_some_and(|list| !list.is_empty());
                if is_narrow && !holds(allowed) {
                    let message = format!("{shown} is not among the servers that `mcp.allowed` lets in");
                    return Some(broken(client, server, message).remedy("add it to that list"));
                }
                let asks_for_trust = configs.get("/security/folderTrust/enabled") != Some(&Value::Bool(false));
                (asks_for_trust && self.is_distrusted_by_gemini()).then(|| {
                    let message = "Gemini CLI does not trust this folder, and starts no server in it";
                    broken(client, server, message).remedy("run `/permissions trust` in `gemini` here")
                })
            }
            Client::Codex if server.scope == Scope::Project => {
                let trusted = configs.get("/projects").and_then(Value::as_object);
                let is_trusted = self.surroundings.project.ancestors().any(|folder| {
                    let folder = trusted.and_then(|projects| projects.get(folder.to_string_lossy().as_ref()));
                    folder.is_some_and(|folder| folder["trust_level"] == "trusted")
                });
                let message = "Codex does not trust this project yet, and reads nothing of its .codex";
                (!is_trusted)
                    .then(|| warning(client, server, message).remedy("start `codex` here once, and trust the project"))
            }
            _ => None,
        }
    }

    /// Whether Claude Code was told to start a server that came with the project.
    fn approved(&self, client: Client, server: &Registration, configs: &Configs, project: &str) -> Option<Finding> {
        let name = named(&server.name);
        // Those of the project go before the user's.
        let scopes = [Scope::Project, Scope::User];
        let settings = scopes.iter().flat_map(|scope| client.hook_configs(*scope, &self.surroundings));
        let settings: Vec<Config> = settings.flatten().collect();
        let listed = |key: &str| {
            let in_settings = settings.iter().filter_map(|settings| settings.value.get(key));
            let of_project = configs.get(&format!("/projects/{project}/{key}"));
            let lists = in_settings.chain(of_project).filter_map(Value::as_array);
            lists.flatten().any(|item| item == &server.name)
        };
        let all = settings.iter().any(|settings| settings.value["enableAllProjectMcpServers"] == true);
        if listed("disabledMcpjsonServers") {
            let message = format!("{name} of this project was refused");
            let remedy = "run `claude mcp reset-project-choices`, and accept it when Claude Code asks";
            Some(broken(client, server, message).remedy(remedy))
        } else if !all && !listed("enabledMcpjsonServers") {
            let message = format!("{name} comes with the project and has not been accepted yet");
            Some(warning(client, server, message).remedy("start `claude` here once, and accept it"))
        } else {
            None
        }
    }

    /// What asks before the tools are called, or keeps them away.
    pub(super) fn approval(&self, client: Client, server: &Registration, configs: &Configs) -> Vec<Finding> {
        let entry = &server.entry;
        let mut findings = Vec::new();
        let list = |key: &str| entry.get(key).and_then(Value::as_array);
        let has = |list: &[Value], tool: &str| {
            list.iter().filter_map(Value::as_str).any(|item| item.split('(').next() == Some(tool))
        };
        let (included, excluded) = match client {
            Client::Codex => ("enabled_tools", "disabled_tools"),
            Client::GeminiCli => ("includeTools", "excludeTools"),
            _ => ("", ""),
        };
        for (tool, severity) in [("expand_prompt", Severity::Broken), ("list_prompts", Severity::Warning)] {
            let finding = if list(included).is_some_and(|list| !has(list, tool)) {
                (format!("`{included}` leaves `{tool}` out"), format!("add it there, or take `{included}` out"))
            } else if list(excluded).is_some_and(|list| has(list, tool)) {
                (format!("`{excluded}` takes `{tool}` away"), "take it out of that list".to_owned())
            } else {
                continue;
            };
            findings.push(Finding { severity, ..broken(client, server, finding.0) }.remedy(finding.1));
        }
        match client {
            Client::Codex => {
                let of_tool = entry.get("tools").and_then(|tools| tools["expand_prompt"].get("approval_mode"));
                let (key, mode) = match of_tool {
                    Some(mode) => ("tools.expand_prompt.approval_mode", Some(mode)),
                    None => ("default_tools_approval_mode", entry.get("default_tools_approval_mode")),
                };
                if mode.is_some_and(|mode| mode == "prompt") {
                    let message =
                        format!("`{key}` is \"prompt\": Codex asks before each call, and `codex exec` refuses it");
                    let remedy = format!("set `{key}` to \"auto\"; the tools only read");
                    findings.push(warning(client, server, message).remedy(remedy));
                }
            }
            Client::GeminiCli => {
                let is_allowed = configs.get("/mcp/allowed").and_then(Value::as_array);
                let is_allowed =
                    is_allowed.is_some_and(|list| list.iter().any(|item| item == &server.name || item == "*"));
                if entry.get("trust") != Some(&Value::Bool(true)) && !is_allowed {
                    let message =
                        "Gemini CLI asks before each call, and `gemini -p` does not show the tools to the model";
                    let remedy = "set `trust` to true; the tools only read";
                    findings.push(warning(client, server, message).remedy(remedy));
                }
            }
            Client::ClaudeCode => findings.extend(self.permissions(server)),
            _ => {}
        }
        findings
    }

    /// What the settings of Claude Code say of calls.
    fn permissions(&self, server: &Registration) -> Option<Finding> {
        let client = Client::ClaudeCode;
        let tool = format!("mcp__{}__expand_prompt", server.name);
        let covers = |rule: &str| {
            let whole =
                [tool.as_str(), &format!("mcp__{}", server.name), &format!("mcp__{}__*", server.name), "mcp__*"];
            whole.contains(&rule)
        };
        // Those of the project go before the user's.
        let scopes = [Scope::Project, Scope::User];
        let settings = scopes.iter().flat_map(|scope| client.hook_configs(*scope, &self.surroundings));
        let settings: Vec<Config> = settings.flatten().collect();
        let rule = |kind: &str| {
            settings.iter().find_map(|config| {
                let rules = config.value.get("permissions")?.get(kind)?.as_array()?;
                let rule = rules.iter().filter_map(Value::as_str).find(|rule| covers(rule))?;
                let position = config.position(&["permissions", kind]);
                Some((rule.to_owned(), config.path.clone(), position))
            })
        };
        if let Some((rule, path, position)) = rule("deny") {
            let message = format!("{} among `permissions.deny` forbids every call", named(&rule));
            let finding = Finding::new(Some(client), Severity::Broken, message).remedy("take it out of that list");
            return Some(finding.at(&path, position));
        }
        if let Some((rule, path, position)) = rule("ask") {
            let message = format!("{} among `permissions.ask` has Claude Code ask before each call", named(&rule));
            let remedy = "move it to `permissions.allow`; the tools only read";
            return Some(Finding::new(Some(client), Severity::Warning, message).remedy(remedy).at(&path, position));
        }
        // With a hook, the model seldom has to call.
        if rule("allow").is_some() || scopes.iter().any(|scope| client.has_hook(*scope, &self.surroundings)) {
            return None;
        }
        let message = "Claude Code asks before it calls `expand_prompt`, and `claude -p` refuses the call";
        let finding = Finding::new(Some(client), Severity::Warning, message);
        let remedy = format!("add {} to `permissions.allow`", named(&tool));
        let file = self.claude_home().map(|home| home.join("settings.json"));
        Some(Finding { file, ..finding.remedy(remedy) })
    }

    fn claude_home(&self) -> Option<PathBuf> {
        Client::ClaudeCode.home(&self.surroundings)
    }

    /// Whether the rule for this folder, the longest that there is, says so. Without a rule, Gemini CLI asks.
    fn is_distrusted_by_gemini(&self) -> bool {
        let rules = self.surroundings_of_gemini("trustedFolders.json");
        let rules = rules.as_object().into_iter().flatten().filter(|(folder, rule)| {
            let folder = Path::new(folder.as_str());
            let folder = if **rule == "TRUST_PARENT" { folder.parent().unwrap_or(folder) } else { folder };
            self.surroundings.project.starts_with(folder)
        });
        rules.max_by_key(|(folder, _)| folder.len()).is_some_and(|(_, rule)| rule == "DO_NOT_TRUST")
    }

    /// A file beside the settings of Gemini CLI; null, if there is none.
    fn surroundings_of_gemini(&self, file: &str) -> Value {
        let client = Client::GeminiCli;
        let path = client.home(&self.surroundings).map(|home| home.join(file));
        let read = path.and_then(|path| Config::read_settings(client, Scope::User, path).ok().flatten());
        read.map_or(Value::Null, |config| config.value)
    }
}

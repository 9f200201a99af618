//! Whether a client starts a server that it knows, and lets the model call its tools without asking.
//!
//! The keys are those that Codex 0.169, Claude Code 2.1.330 and Gemini CLI 0.61 read.

use super::server::Case;
use super::{Finding, Severity};
use crate::client::{Client, Config, Position, Scope};
use crate::wording::named;
use serde_json::Value;
use std::path::Path;

/// Where Claude Code has settings; those of the project go before the user's.
const SCOPES: [Scope; 2] = [Scope::Project, Scope::User];

impl Case<'_> {
    /// Whether the client starts it at all.
    pub(super) fn switched_off(&self) -> Option<Finding> {
        if !self.server.enabled {
            let key = if self.server.entry.contains_key("disabled") { "disabled" } else { "enabled" };
            let value = key == "enabled";
            let message = format!("{} is switched off: `{key}` is {}", self.name(), !value);
            return Some(self.broken(message).remedy(format!("set `{key}` to {value}")));
        }
        match self.client {
            Client::ClaudeCode => self.kept_out_by_claude_code(),
            Client::GeminiCli => self.kept_out_by_gemini_cli(),
            Client::Codex => self.kept_out_by_codex(),
            _ => None,
        }
    }

    fn kept_out_by_claude_code(&self) -> Option<Finding> {
        let name = self.name();
        if self.is_in(self.configs.get(&self.pointer_of_project("disabledMcpServers"))) {
            let message = format!("{name} is switched off in this project");
            return Some(self.broken(message).remedy("switch it on with `/mcp` in Claude Code"));
        }
        let denied = self.settings().find(|settings| {
            let denied = settings.value["deniedMcpServers"].as_array();
            denied.is_some_and(|denied| denied.iter().any(|item| item["serverName"] == *self.server.name))
        });
        if let Some(settings) = denied {
            let message = format!("{name} is among the servers that `deniedMcpServers` keeps out");
            let finding = self.broken(message).remedy("take it out of that list");
            return Some(finding.at(&settings.path, settings.position(&["deniedMcpServers"])));
        }
        if self.server.scope == Scope::Project { self.not_accepted() } else { None }
    }

    /// Whether Claude Code was not told to start a server that came with the project.
    fn not_accepted(&self) -> Option<Finding> {
        let is_listed = |key: &str| {
            let in_settings = self.settings().filter_map(|settings| settings.value.get(key));
            let of_project = self.configs.get(&self.pointer_of_project(key));
            in_settings.chain(of_project).any(|list| self.is_in(Some(list)))
        };
        let is_for_all = || self.settings().any(|settings| settings.value["enableAllProjectMcpServers"] == true);
        if is_listed("disabledMcpjsonServers") {
            let message = format!("{} of this project was refused", self.name());
            let remedy = "run `claude mcp reset-project-choices`, and accept it when Claude Code asks";
            Some(self.broken(message).remedy(remedy))
        } else if !is_for_all() && !is_listed("enabledMcpjsonServers") {
            let message = format!("{} comes with the project and has not been accepted yet", self.name());
            Some(self.warning(message).remedy("start `claude` here once, and accept it"))
        } else {
            None
        }
    }

    fn kept_out_by_gemini_cli(&self) -> Option<Finding> {
        let (name, shown) = (&self.server.name, self.name());
        let state = self.beside_settings_of_gemini("mcp-server-enablement.json");
        if state.pointer(&format!("/{name}/enabled")) == Some(&Value::Bool(false)) {
            let remedy = format!("run `gemini mcp enable {name}`");
            return Some(self.broken(format!("{shown} is switched off")).remedy(remedy));
        }
        if self.is_in(self.configs.get("/mcp/excluded")) {
            let message = format!("{shown} is among the servers that `mcp.excluded` keeps out");
            return Some(self.broken(message).remedy("take it out of that list"));
        }
        let allowed = self.configs.get("/mcp/allowed");
        let is_narrow = allowed.and_then(Value::as_array).is_some_and(|list| !list.is_empty());
        if is_narrow && !self.is_in(allowed) {
            let message = format!("{shown} is not among the servers that `mcp.allowed` lets in");
            return Some(self.broken(message).remedy("add it to that list"));
        }
        let asks_for_trust = self.configs.get("/security/folderTrust/enabled") != Some(&Value::Bool(false));
        (asks_for_trust && self.is_distrusted_by_gemini()).then(|| {
            let message = "Gemini CLI does not trust this folder, and starts no server in it";
            self.broken(message).remedy("run `/permissions trust` in `gemini` here")
        })
    }

    /// Whether the rule for this folder, the longest that there is, says so. Without a rule, Gemini CLI asks.
    fn is_distrusted_by_gemini(&self) -> bool {
        let rules = self.beside_settings_of_gemini("trustedFolders.json");
        let rules = rules.as_object().into_iter().flatten().filter(|(folder, rule)| {
            let folder = Path::new(folder.as_str());
            let folder = if **rule == "TRUST_PARENT" { folder.parent().unwrap_or(folder) } else { folder };
            self.examination.surroundings.project.starts_with(folder)
        });
        rules.max_by_key(|(folder, _)| folder.len()).is_some_and(|(_, rule)| rule == "DO_NOT_TRUST")
    }

    /// A file beside the settings of Gemini CLI; null, if there is none.
    fn beside_settings_of_gemini(&self, file: &str) -> Value {
        let path = Client::GeminiCli.home(&self.examination.surroundings).map(|home| home.join(file));
        let read = path.and_then(|path| Config::read_beside(Client::GeminiCli, path).ok().flatten());
        read.map_or(Value::Null, |config| config.value)
    }

    fn kept_out_by_codex(&self) -> Option<Finding> {
        let trusted = self.configs.get("/projects").and_then(Value::as_object);
        let is_trusted = self.examination.surroundings.project.ancestors().any(|folder| {
            let folder = trusted.and_then(|projects| projects.get(folder.to_string_lossy().as_ref()));
            folder.is_some_and(|folder| folder["trust_level"] == "trusted")
        });
        (self.server.scope == Scope::Project && !is_trusted).then(|| {
            let message = "Codex does not trust this project yet, and reads nothing of its .codex";
            self.warning(message).remedy("start `codex` here once, and trust the project")
        })
    }

    /// What asks before the tools are called, or keeps them away.
    pub(super) fn approval(&self) -> Vec<Finding> {
        let mut findings = self.missing_tools();
        findings.extend(match self.client {
            Client::Codex => self.asked_by_codex(),
            Client::GeminiCli => self.asked_by_gemini_cli(),
            Client::ClaudeCode => self.asked_by_claude_code(),
            _ => None,
        });
        findings
    }

    /// The tools that the entry keeps from the model.
    fn missing_tools(&self) -> Vec<Finding> {
        let (included, excluded) = match self.client {
            Client::Codex => ("enabled_tools", "disabled_tools"),
            Client::GeminiCli => ("includeTools", "excludeTools"),
            _ => return Vec::new(),
        };
        let list = |key: &str| self.server.entry.get(key).and_then(Value::as_array);
        let has = |list: &[Value], tool: &str| {
            list.iter().filter_map(Value::as_str).any(|item| item.split('(').next() == Some(tool))
        };
        let missing = |(tool, severity): (&str, Severity)| {
            let (message, remedy) = if list(included).is_some_and(|list| !has(list, tool)) {
                (format!("`{included}` leaves `{tool}` out"), format!("add it there, or take `{included}` out"))
            } else if list(excluded).is_some_and(|list| has(list, tool)) {
                (format!("`{excluded}` takes `{tool}` away"), "take it out of that list".to_owned())
            } else {
                return None;
            };
            Some(Finding { severity, ..self.broken(message) }.remedy(remedy))
        };
        let tools = [("expand_prompt", Severity::Broken), ("list_prompts", Severity::Warning)];
        tools.into_iter().filter_map(missing).collect()
    }

    fn asked_by_codex(&self) -> Option<Finding> {
        let entry = &self.server.entry;
        let of_tool = entry.get("tools").and_then(|tools| tools["expand_prompt"].get("approval_mode"));
        let (key, mode) = match of_tool {
            Some(mode) => ("tools.expand_prompt.approval_mode", Some(mode)),
            None => ("default_tools_approval_mode", entry.get("default_tools_approval_mode")),
        };
        mode.is_some_and(|mode| mode == "prompt").then(|| {
            let message = format!("`{key}` is \"prompt\": Codex asks before each call, and `codex exec` refuses it");
            self.warning(message).remedy(format!("set `{key}` to \"auto\"; the tools only read"))
        })
    }

    fn asked_by_gemini_cli(&self) -> Option<Finding> {
        let allowed = self.configs.get("/mcp/allowed").and_then(Value::as_array);
        let is_allowed = allowed.is_some_and(|list| list.iter().any(|item| item == &self.server.name || item == "*"));
        let is_trusted = self.server.entry.get("trust") == Some(&Value::Bool(true));
        (!is_trusted && !is_allowed).then(|| {
            let message = "Gemini CLI asks before each call, and `gemini -p` does not show the tools to the model";
            self.warning(message).remedy("set `trust` to true; the tools only read")
        })
    }

    fn asked_by_claude_code(&self) -> Option<Finding> {
        if let Some((rule, path, position)) = self.rule("deny") {
            let message = format!("{} among `permissions.deny` forbids every call", named(rule));
            return Some(self.broken(message).remedy("take it out of that list").at(path, position));
        }
        if let Some((rule, path, position)) = self.rule("ask") {
            let message = format!("{} among `permissions.ask` has Claude Code ask before each call", named(rule));
            let remedy = "move it to `permissions.allow`; the tools only read";
            return Some(self.warning(message).remedy(remedy).at(path, position));
        }
        // With a hook, the model seldom has to call.
        if self.rule("allow").is_some() || SCOPES.iter().any(|scope| self.files.has_hook(*scope)) {
            return None;
        }
        let message = "Claude Code asks before it calls `expand_prompt`, and `claude -p` refuses the call";
        let remedy = format!("add {} to `permissions.allow`", named(&self.tool_of_claude_code()));
        let file = self.client.home(&self.examination.surroundings).map(|home| home.join("settings.json"));
        Some(Finding { file, position: None, ..self.warning(message).remedy(remedy) })
    }

    /// The first rule of this kind in the settings of Claude Code that is for our tool, and where it stands.
    fn rule(&self, kind: &str) -> Option<(&str, &Path, Option<Position>)> {
        let server = &self.server.name;
        let whole =
            [self.tool_of_claude_code(), format!("mcp__{server}"), format!("mcp__{server}__*"), "mcp__*".to_owned()];
        self.settings().find_map(|config| {
            let rules = config.value.get("permissions")?.get(kind)?.as_array()?;
            let rule = rules.iter().filter_map(Value::as_str).find(|rule| whole.iter().any(|whole| whole == rule))?;
            Some((rule, config.path.as_path(), config.position(&["permissions", kind])))
        })
    }

    /// What Claude Code calls the tool.
    fn tool_of_claude_code(&self) -> String {
        format!("mcp__{}__expand_prompt", self.server.name)
    }

    /// The settings that can be read, those of the project first.
    fn settings(&self) -> impl Iterator<Item = &Config> {
        SCOPES.into_iter().flat_map(|scope| self.files.settings(scope)).flatten()
    }

    /// Where Claude Code keeps something about this project in its config.
    fn pointer_of_project(&self, key: &str) -> String {
        let project = self.examination.surroundings.project.to_string_lossy();
        format!("/projects/{}/{key}", project.replace('~', "~0").replace('/', "~1"))
    }

    /// Whether a list has the name of the server.
    fn is_in(&self, list: Option<&Value>) -> bool {
        let list = list.and_then(Value::as_array);
        list.is_some_and(|list| list.iter().any(|item| item == &self.server.name))
    }
}

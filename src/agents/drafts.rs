//! How agents open the draft of a message in the editor that VISUAL or EDITOR names.

use super::config_text::value_at;
use super::environment::Environment;
use super::files::AgentFiles;
use crate::wording::{or_list, quoted};

/// The facts about an agent's drafts.
pub struct Drafts {
    /// Returns whether a draft may have a file of this name in a folder of this name.
    pub(super) is_file: fn(folder: &str, file: &str) -> bool,
    /// The modes that the agent has switched on in the terminal, and relies on afterwards.
    pub terminal: &'static str,
    /// The setting of the agent that takes precedence over VISUAL, as a dotted key.
    pub(super) setting: Option<&'static str>,
    /// Whether EDITOR names the editor if VISUAL is empty.
    pub(super) skips_empty: bool,
    /// Names of editors. Unless the program's path contains one of them, the agent goes on drawing
    /// and reading keys.
    pub(super) waits_for: &'static [&'static str],
}

/// The editor that opens a draft.
#[derive(Debug, PartialEq, Eq)]
pub struct DraftEditor {
    /// For people: the command, and where it is set.
    pub what: String,
    /// Why it is probably not the intended editor.
    pub doubt: Option<EditorDoubt>,
}

/// Why an editor is probably not the intended one.
#[derive(Debug, PartialEq, Eq)]
pub struct EditorDoubt {
    /// The reason.
    pub message: String,
    /// What to do.
    pub fix: String,
}

/// The command of an editor.
struct EditorCommand {
    /// The variable or the setting that has the command.
    source: &'static str,
    command: String,
    is_setting: bool,
}

impl Drafts {
    /// The facts that most agents share.
    pub(super) const USUAL: Drafts = Drafts {
        is_file: |_, _| false,
        terminal: "",
        setting: None,
        skips_empty: false,
        waits_for: &[],
    };

    /// Returns the editor that opens the drafts of an agent with this title, these files and this
    /// environment. `None`: neither VISUAL nor EDITOR names prompt-expander, so the user does not
    /// compose drafts with it.
    pub fn editor(
        &self,
        title: &str,
        files: &AgentFiles,
        environment: &Environment,
    ) -> Option<DraftEditor> {
        let variables = editor_variables(environment);
        let names_this_program = variables
            .iter()
            .any(|variable| variable.command.contains("prompt-expander"));
        if !names_this_program {
            return None;
        }
        let editor = self.chosen_editor(files, variables)?;
        let command = quoted(&editor.command);
        Some(DraftEditor {
            what: format!("drafts are opened in {command} ({})", editor.source),
            doubt: self.doubt(title, &editor),
        })
    }

    /// Returns the editor that the agent's setting names or, without the setting, the first
    /// variable. Some agents skip an empty variable.
    fn chosen_editor(
        &self,
        files: &AgentFiles,
        variables: Vec<EditorCommand>,
    ) -> Option<EditorCommand> {
        if let Some(editor) = self.editor_setting(files) {
            return Some(editor);
        }
        variables
            .into_iter()
            .find(|variable| !variable.command.is_empty() || !self.skips_empty)
    }

    /// Returns the editor that the setting of the agent names, such as `general.preferredEditor`.
    fn editor_setting(&self, files: &AgentFiles) -> Option<EditorCommand> {
        let key = self.setting?;
        let keys: Vec<&str> = key.split('.').collect();
        for file in files.settings().flatten() {
            if let Some(command) = value_at(&file.value, &keys)
                && let Some(command) = command.as_str()
            {
                return Some(EditorCommand {
                    source: key,
                    command: command.to_owned(),
                    is_setting: true,
                });
            }
        }
        None
    }

    /// Returns why an editor is probably not the intended one, if a variable names this program.
    fn doubt(&self, title: &str, editor: &EditorCommand) -> Option<EditorDoubt> {
        let source = editor.source;
        let command = quoted(&editor.command);
        if editor.is_setting {
            return Some(EditorDoubt {
                message: format!("{title} opens drafts in {command} of `{source}`, not in VISUAL"),
                fix: format!("remove `{source}`"),
            });
        }
        if self.waits_for_program(&editor.command) {
            return None;
        }
        let names = or_list(self.waits_for);
        Some(EditorDoubt {
            message: format!(
                "{title} draws over {command} while it works; it waits only for an editor whose name contains {names}"
            ),
            fix: "use a link, as in `ln -s prompt-expander prompt-expander-nano`".to_owned(),
        })
    }

    /// Returns whether the agent waits until the program of this command ends. An agent that lists
    /// no editors waits for all; another one only if the path contains a listed name, such as `vi`.
    fn waits_for_program(&self, command: &str) -> bool {
        if self.waits_for.is_empty() {
            return true;
        }
        let program = command.split(' ').next().unwrap_or_default();
        let program = program.to_lowercase();
        self.waits_for.iter().any(|name| program.contains(name))
    }
}

/// Returns the editor that VISUAL names, and the one that EDITOR names, if these are set.
fn editor_variables(environment: &Environment) -> Vec<EditorCommand> {
    let mut variables = Vec::new();
    for name in ["VISUAL", "EDITOR"] {
        if let Some(command) = environment.text(name) {
            variables.push(EditorCommand {
                source: name,
                command,
                is_setting: false,
            });
        }
    }
    variables
}

/// Returns whether a file name has a start and an end, with something between the two:
/// `.tmpAb3dE9.md` has the start `.tmp` and the end `.md`.
pub(super) fn is_between(name: &str, start: &str, end: &str) -> bool {
    name.len() > start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::super::Agent;
    use super::super::environment::System;
    use super::*;
    use std::path::Path;

    #[test]
    fn what_an_agent_opens_a_draft_with_is_named_and_what_is_probably_not_meant() {
        let compose = "prompt-expander compose";
        for (name, variables, what, doubt) in [
            (
                "codex",
                &[("VISUAL", compose), ("EDITOR", "vi")][..],
                "drafts are opened in `prompt-expander compose` (VISUAL)",
                "",
            ),
            (
                "codex",
                &[("EDITOR", "'/a b/prompt-expander' compose")],
                "drafts are opened in `'/a b/prompt-expander' compose` (EDITOR)",
                "",
            ),
            (
                "claude-code",
                &[("VISUAL", ""), ("EDITOR", compose)],
                "drafts are opened in `prompt-expander compose` (EDITOR)",
                "",
            ),
            (
                "gemini",
                &[("VISUAL", compose)],
                "drafts are opened in `vim` (general.preferredEditor)",
                "remove `general.preferredEditor`",
            ),
            (
                "gemini",
                &[("VISUAL", compose)],
                "drafts are opened in `prompt-expander compose` (VISUAL)",
                "use a link, as in `ln -s prompt-expander prompt-expander-nano`",
            ),
            (
                "gemini",
                &[("VISUAL", "prompt-expander-nano compose")],
                "drafts are opened in `prompt-expander-nano compose` (VISUAL)",
                "",
            ),
        ] {
            let folder = tempfile::tempdir().unwrap();
            std::fs::create_dir(folder.path().join(".gemini")).unwrap();
            let settings = folder.path().join(".gemini/settings.json");
            let is_preferred = what.contains("preferredEditor");
            let setting = if is_preferred {
                r#"{"general": {"preferredEditor": "vim"}}"#
            } else {
                "{}"
            };
            std::fs::write(settings, setting).unwrap();
            let environment: Environment = variables.iter().copied().collect();
            let home = Some(folder.path().to_owned());
            let system = System {
                home,
                environment: environment.clone(),
                ..System::default()
            };
            let agent = Agent::named(name).unwrap();
            let editor = agent
                .drafts
                .as_ref()
                .unwrap()
                .editor(agent.title, &agent.read_files(&system), &environment)
                .unwrap();
            assert_eq!(
                (
                    editor.what.as_str(),
                    editor.doubt.map_or(String::new(), |doubt| doubt.fix)
                ),
                (what, doubt.to_owned())
            );
        }
    }

    #[test]
    fn a_draft_is_known_by_its_path() {
        for (path, want) in [
            ("/home/a/.codex/editor/.tmpAb3dE9.md", Some("codex")),
            ("/repo/.codex/editor/.tmpAb3dE9.md", Some("codex")),
            (
                "/tmp/claude-1000/claude-prompt-1b4e28ba-2fa1-11d2-883f-0016d3cca427.md",
                Some("claude-code"),
            ),
            ("/tmp/gemini-edit-Ab3dE9/buffer.txt", Some("gemini")),
            ("/tmp/1795405527837.md", Some("opencode")),
            ("/repo/.git/COMMIT_EDITMSG", None),
            ("/tmp/.tmpAb3dE9.md", None),
            ("/tmp/editor/x.md", None),
            ("/tmp/2026.md", None),
            ("/tmp/crontab.1795405527837", None),
            ("/", None),
        ] {
            assert_eq!(
                Agent::of_draft(Path::new(path)).map(|agent| agent.name),
                want,
                "{path}"
            );
        }
    }
}

//! How agents open a draft message in the editor that VISUAL or EDITOR names.

use super::config_text::value_at;
use super::environment::Environment;
use super::files::AgentFiles;
use crate::wording::{or_list, quoted};

/// How an agent opens drafts.
pub struct Drafts {
    /// Returns whether the agent would give a draft this file name, in a folder of this name.
    pub(super) is_draft_file: fn(folder: &str, file: &str) -> bool,
    /// The escape sequences that restore the terminal modes on which the agent relies.
    pub terminal_modes: &'static str,
    /// The dotted key of the agent's setting that overrides VISUAL, if there is one.
    pub(super) editor_setting: Option<&'static str>,
    /// Whether an empty VISUAL falls back to EDITOR.
    pub(super) skips_empty_visual: bool,
    /// Whether VISUAL may contain arguments after the program.
    pub(super) accepts_arguments: bool,
    /// The editors for which the agent stops drawing and reading keys.
    pub(super) pauses_for: PausesFor,
}

/// The editors for which an agent stops drawing and reading keys.
pub(super) enum PausesFor {
    EveryEditor,
    /// Editors whose path contains one of these names.
    Names(&'static [&'static str]),
}

/// The editor that opens a draft.
#[derive(Debug, PartialEq, Eq)]
pub struct DraftEditor {
    /// A message that names the editor, and the variable or setting that chose it.
    pub description: String,
    /// Why composing drafts with it probably won't work.
    pub problem: Option<EditorProblem>,
}

/// Why composing drafts with an editor probably won't work.
#[derive(Debug, PartialEq, Eq)]
pub struct EditorProblem {
    /// What is wrong.
    pub message: String,
    /// How to fix it.
    pub fix: String,
}

/// The command of an editor.
struct EditorCommand {
    /// The name of the environment variable or the agent's setting.
    source: &'static str,
    /// Whether `source` is a setting, not a variable.
    is_setting: bool,
    command: String,
}

impl Drafts {
    /// The defaults for the fields that most agents share.
    pub(super) const DEFAULT: Drafts = Drafts {
        is_draft_file: |_, _| false,
        terminal_modes: "",
        editor_setting: None,
        skips_empty_visual: false,
        accepts_arguments: true,
        pauses_for: PausesFor::EveryEditor,
    };

    /// Finds the editor in which the agent opens drafts, which may not be the one that the user
    /// wants. Returns `None` if the user hasn't set up prompt-expander as the editor for drafts,
    /// i.e. if it is neither in VISUAL nor in EDITOR.
    pub fn find_editor(
        &self,
        agent_title: &str,
        files: &AgentFiles,
        environment: &Environment,
    ) -> Option<DraftEditor> {
        let variables = editor_variables(environment);
        // The command may contain a path and arguments, or be a link like `prompt-expander-nano`.
        let is_set_up = variables
            .iter()
            .any(|variable| variable.command.contains("prompt-expander"));
        if !is_set_up {
            return None;
        }
        let editor = self.chosen_editor(files, variables)?;
        let command = quoted(&editor.command);
        Some(DraftEditor {
            description: format!("drafts are opened in {command} ({})", editor.source),
            problem: self.problem_with(&editor, agent_title),
        })
    }

    /// Returns the editor that the agent would use. Its own setting takes precedence over the
    /// environment variables.
    fn chosen_editor(
        &self,
        files: &AgentFiles,
        variables: Vec<EditorCommand>,
    ) -> Option<EditorCommand> {
        if let Some(editor) = self.editor_from_settings(files) {
            return Some(editor);
        }
        variables
            .into_iter()
            .find(|variable| !variable.command.is_empty() || !self.skips_empty_visual)
    }

    /// Returns the editor that the agent's own setting chooses, if it has one.
    fn editor_from_settings(&self, files: &AgentFiles) -> Option<EditorCommand> {
        let key = self.editor_setting?;
        let keys: Vec<&str> = key.split('.').collect();
        for file in files.settings().flatten() {
            if let Some(value) = value_at(&file.value, &keys)
                && let Some(command) = value.as_str()
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

    /// Returns why composing drafts with an editor won't work: a setting of the agent overrides
    /// VISUAL, or the agent doesn't start the editor, or doesn't pause for it.
    fn problem_with(&self, editor: &EditorCommand, agent_title: &str) -> Option<EditorProblem> {
        let source = editor.source;
        let command = quoted(&editor.command);
        if editor.is_setting {
            return Some(EditorProblem {
                message: format!(
                    "{agent_title} opens drafts in {command} of `{source}`, not in VISUAL"
                ),
                fix: format!("remove `{source}`"),
            });
        }
        if !self.accepts_arguments && editor.command.contains(' ') {
            return Some(EditorProblem {
                message: format!(
                    "{agent_title} opens no editor, because it takes all of {command} for the name of a program"
                ),
                fix: "use a script that runs `prompt-expander compose \"$@\"`".to_owned(),
            });
        }
        let PausesFor::Names(names) = self.pauses_for else {
            return None;
        };
        if has_program_named(&editor.command, names) {
            return None;
        }
        let names = or_list(names);
        Some(EditorProblem {
            message: format!(
                "{agent_title} draws over {command}, because it waits only for an editor whose name contains {names}"
            ),
            fix: "use a link with such a name, as in `ln -s prompt-expander prompt-expander-nano`"
                .to_owned(),
        })
    }
}

/// Returns whether the path of a command's program contains one of these names, ignoring its
/// case: both `/bin/nano` and `prompt-expander-nano compose` contain `nano`.
fn has_program_named(command: &str, names: &[&str]) -> bool {
    let program = command.split(' ').next().unwrap_or_default();
    let program = program.to_lowercase();
    names.iter().any(|name| program.contains(name))
}

/// Returns the editors in VISUAL and EDITOR, in this order, as far as these are set.
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

/// Returns whether a file name consists of a prefix, at least one more character, and a suffix:
/// `.tmpAb3dE9.md` has the prefix `.tmp` and the suffix `.md`.
pub(super) fn has_affixes(name: &str, prefix: &str, suffix: &str) -> bool {
    name.len() > prefix.len() + suffix.len() && name.starts_with(prefix) && name.ends_with(suffix)
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
                "use a link with such a name, as in `ln -s prompt-expander prompt-expander-nano`",
            ),
            (
                "qwen",
                &[("VISUAL", compose)],
                "drafts are opened in `prompt-expander compose` (VISUAL)",
                "use a script that runs `prompt-expander compose \"$@\"`",
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
            let agent = Agent::by_name(name).unwrap();
            let editor = agent
                .drafts
                .as_ref()
                .unwrap()
                .find_editor(agent.title, &agent.read_files(&system), &environment)
                .unwrap();
            assert_eq!(
                (
                    editor.description.as_str(),
                    editor.problem.map_or(String::new(), |problem| problem.fix)
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
            ("/tmp/qwen-edit-YSSEHO/buffer.txt", Some("qwen")),
            (
                "/tmp/copilot-edit-APeL0p/COPILOT_PROMPT.md",
                Some("copilot"),
            ),
            ("/tmp/pi-editor-8I0Huy/prompt.md", Some("pi")),
            ("/tmp/1795405527837.md", Some("opencode")),
            ("/repo/.git/COMMIT_EDITMSG", None),
            ("/tmp/.tmpAb3dE9.md", None),
            ("/tmp/editor/x.md", None),
            ("/tmp/2026.md", None),
            ("/tmp/crontab.1795405527837", None),
            ("/", None),
        ] {
            assert_eq!(
                Agent::by_draft_path(Path::new(path)).map(|agent| agent.name),
                want,
                "{path}"
            );
        }
    }
}

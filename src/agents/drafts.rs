//! How agents open the draft of a message in the editor that VISUAL or EDITOR names.

use super::environment::Environment;
use super::files::AgentFiles;
use crate::wording::{alternatives, quoted};

/// What is known of an agent's drafts.
pub struct Drafts {
    /// Whether a draft may have a file of this name in a folder of this name.
    pub(super) is_file: fn(folder: &str, file: &str) -> bool,
    /// What the agent has switched on in the terminal, and relies on afterwards.
    pub terminal: &'static str,
    /// The setting of the agent that counts before VISUAL, as a path of keys.
    pub(super) setting: Option<&'static str>,
    /// Whether an editor is found with an empty VISUAL, by EDITOR.
    pub(super) skips_empty: bool,
    /// Names of editors. The first word must contain one of them; otherwise, the agent goes on
    /// drawing and reading keys.
    pub(super) waits_for: &'static [&'static str],
    /// Whether it does nothing, and does not say so, if neither variable is set.
    pub(super) is_silent: bool,
}

/// What opens a draft.
#[derive(Debug, PartialEq, Eq)]
pub struct DraftEditor {
    /// For people: the command, and where it is set.
    pub what: String,
    /// Why that is probably not meant, and what to do.
    pub doubt: Option<(String, String)>,
}

impl Drafts {
    /// What most agents do.
    pub(super) const USUAL: Drafts = Drafts {
        is_file: |_, _| false,
        terminal: "",
        setting: None,
        skips_empty: false,
        waits_for: &[],
        is_silent: false,
    };

    /// What the agent with this title opens a draft with, as it finds its settings and these
    /// variables. `None`: nobody asked for the editor of this program, and nothing is doubtful.
    pub fn editor(
        &self,
        title: &str,
        files: &AgentFiles,
        environment: &Environment,
    ) -> Option<DraftEditor> {
        let setting = |key: &'static str| {
            let value = files
                .settings()
                .flatten()
                .find_map(|file| file.value.pointer(key)?.as_str().map(str::to_owned));
            value.map(|value| (key.trim_start_matches('/').replace('/', "."), value))
        };
        let variable = |name: &str| Some((name.to_owned(), environment.text(name)?));
        let is_usable = |(_, value): &(String, String)| !value.is_empty() || !self.skips_empty;
        let [visual, editor] = ["VISUAL", "EDITOR"].map(variable);
        let composes = [&visual, &editor]
            .into_iter()
            .flatten()
            .any(|(_, value)| value.contains("prompt-expander"));
        let chosen = self.setting.and_then(setting);
        let is_set_inside = chosen.is_some();
        let Some((from, value)) = chosen
            .or(visual.filter(is_usable))
            .or(editor.filter(is_usable))
        else {
            let what = "neither VISUAL nor EDITOR is set here, without which drafts are not opened"
                .to_owned();
            return self.is_silent.then_some(DraftEditor { what, doubt: None });
        };
        let program = value.split(' ').next().unwrap_or_default().to_lowercase();
        let doubt = if is_set_inside && composes {
            Some((
                format!(
                    "{title} opens drafts in {} of `{from}`, and not in VISUAL",
                    quoted(&value)
                ),
                format!("remove `{from}`"),
            ))
        } else if composes
            && !self.waits_for.is_empty()
            && !self.waits_for.iter().any(|name| program.contains(name))
        {
            let names = alternatives(self.waits_for);
            let program = quoted(&value);
            let message = format!(
                "{title} draws over {program} while it works; it waits only for an editor whose name contains {names}"
            );
            Some((
                message,
                "use a link, as in `ln -s prompt-expander prompt-expander-nano`".to_owned(),
            ))
        } else {
            None
        };
        let what = format!("drafts are opened in {} ({from})", quoted(&value));
        (composes || doubt.is_some()).then_some(DraftEditor { what, doubt })
    }
}

/// Whether a file name is these parts with something between them.
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
            (
                "opencode",
                &[],
                "neither VISUAL nor EDITOR is set here, without which drafts are not opened",
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
                    editor.doubt.map_or(String::new(), |doubt| doubt.1)
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

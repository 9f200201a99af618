//! The JSON that an agent and its prompt-submit hook exchange.

use super::agent::{Hook, HookDialect};
use super::menu::COMMAND_ENTRY_START;
use crate::input;
use serde_json::{Value, json};

/// A message that a user submitted, and where.
#[derive(Debug)]
pub struct SubmittedMessage {
    /// The message as the user typed it.
    pub text: String,
    /// What the agent has made of `text` for the model. `None` if the model gets `text` itself,
    /// which may be long. For an entry of ours in a menu, only what precedes its text.
    text_for_model: Option<String>,
    /// What follows the text of an entry of ours, which the hook replaces.
    text_after_entry: Option<String>,
    /// The agent's working directory, if the event contains it.
    pub working_directory: Option<String>,
}

/// What the hook adds to a message.
#[derive(Debug)]
pub struct HookAnswer {
    /// What the model gets besides the message.
    pub context: String,
    /// A note for the user, which not every agent shows.
    pub note_for_user: Option<String>,
    /// Whether the message calls an entry of the agent's own menu, e.g. `/research words`.
    pub calls_menu_entry: bool,
}

impl Hook {
    /// Parses the JSON that the agent passes to its hook. Returns `None` if it is invalid or
    /// another kind of event.
    pub fn parse_event(&self, json: &str) -> Option<SubmittedMessage> {
        let mut event: Value = input::parse_json(json).ok()?;
        let text_key = self.typed_text_key(&event)?;
        let text_for_model = event["transformedPrompt"].as_str().map(str::to_owned);
        let working_directory = event["cwd"].as_str().map(str::to_owned);
        if let Some(text_for_model) = &text_for_model
            && let Some(entry) = SkillEntry::find(text_for_model)
        {
            return Some(SubmittedMessage {
                text: entry.command.to_owned(),
                text_for_model: Some(entry.before.to_owned()),
                text_after_entry: Some(entry.after.to_owned()),
                working_directory,
            });
        }
        // It is taken, not copied, because it may be long.
        let Value::String(text) = event[text_key].take() else {
            return None;
        };
        Some(SubmittedMessage {
            text,
            text_for_model,
            text_after_entry: None,
            working_directory,
        })
    }

    /// Returns the key of what the user typed, or `None` if the event is of another kind.
    fn typed_text_key(&self, event: &Value) -> Option<&'static str> {
        match self.dialect {
            HookDialect::ClaudeCode if event["hook_event_name"] == self.event => {
                Some(typed_text_key_of_qwen(event))
            }
            // The event has no name. Other events have no such key.
            HookDialect::CopilotCli if event.get("transformedPrompt").is_some() => Some("prompt"),
            HookDialect::Pi if event["type"] == self.event => Some("text"),
            _ => None,
        }
    }

    /// Returns the event that the agent would send for a message.
    pub fn event_for(&self, message: &str) -> Value {
        match self.dialect {
            HookDialect::ClaudeCode => json!({"hook_event_name": self.event, "prompt": message}),
            HookDialect::CopilotCli => json!({"prompt": message, "transformedPrompt": message}),
            HookDialect::Pi => json!({"type": self.event, "text": message}),
        }
    }

    /// Returns the JSON for an answer to the event of a message. Returns `None` if the agent would
    /// spoil it.
    pub fn answer(&self, message: &SubmittedMessage, answer: &HookAnswer) -> Option<Value> {
        let context = &answer.context;
        match self.dialect {
            HookDialect::CopilotCli => {
                let text = message.text_with_context(context);
                Some(json!({"modifiedTransformedPrompt": text}))
            }
            HookDialect::Pi => {
                let text = message.text_with_context(context);
                let text = unexpanded_by_pi(text, answer.calls_menu_entry)?;
                Some(json!({"action": "transform", "text": text}))
            }
            HookDialect::ClaudeCode => {
                let output = json!({"additionalContext": context, "hookEventName": self.event});
                let mut json = json!({"hookSpecificOutput": output});
                if let Some(note) = &answer.note_for_user {
                    json["systemMessage"] = note.as_str().into();
                }
                Some(json)
            }
        }
    }

    /// Returns whether an answer makes the agent add something to the message.
    pub fn is_addition(&self, answer: &Value) -> bool {
        let added = match self.dialect {
            HookDialect::CopilotCli => &answer["modifiedTransformedPrompt"],
            HookDialect::Pi => &answer["text"],
            HookDialect::ClaudeCode => {
                let output = &answer["hookSpecificOutput"];
                if output["hookEventName"] != self.event {
                    return false;
                }
                &output["additionalContext"]
            }
        };
        added.as_str().is_some_and(|text| !text.is_empty())
    }
}

impl SubmittedMessage {
    /// Returns whether `text` is the command in an entry of ours, which the user has chosen in a
    /// menu.
    pub fn is_menu_entry(&self) -> bool {
        self.text_after_entry.is_some()
    }

    /// Returns what the model shall get: the message followed by a context, or the message in which
    /// the context replaces the text of an entry of ours.
    fn text_with_context(&self, context: &str) -> String {
        let before = self.text_for_model.as_ref().unwrap_or(&self.text);
        match &self.text_after_entry {
            Some(after) => format!("{before}{context}{after}"),
            None => format!("{before}\n\n{context}"),
        }
    }
}

/// A skill in a message of Copilot CLI whose text is a sentence and the command `:NAME words`, as
/// `sync` writes it.
struct SkillEntry<'t> {
    before: &'t str,
    command: &'t str,
    after: &'t str,
}

impl SkillEntry<'_> {
    /// Finds the only skill in a message, if it is an entry of ours: the element
    /// `<skill-context name="…">`. Its text follows a line with the skill's folder.
    fn find(message: &str) -> Option<SkillEntry<'_>> {
        let (before, element) = message.split_once("<skill-context ")?;
        let (element, after) = element.rsplit_once("</skill-context>")?;
        let (_, content) = element.split_once('\n')?;
        let text = match content.split_once("\n\n") {
            Some((first, rest)) if first.starts_with("Base directory for this skill:") => rest,
            _ => content,
        };
        let (sentence, command) = text.split_once("\n\n")?;
        let is_entry = sentence.starts_with(COMMAND_ENTRY_START)
            && command.starts_with(':')
            && !command.contains("<skill-context ");
        is_entry.then_some(SkillEntry {
            before,
            command: command.trim_end(),
            after,
        })
    }
}

/// Returns the key of what the user typed into Qwen Code: in its events, `prompt` may contain the
/// text of a skill instead. Returns `prompt` if `submitted_prompt` has a placeholder for a pasted
/// text, and for the other agents of this dialect.
fn typed_text_key_of_qwen(event: &Value) -> &'static str {
    match &event["submitted_prompt"] {
        Value::String(text) if !text.contains("[Pasted Content ") => "submitted_prompt",
        _ => "prompt",
    }
}

/// Returns a text that pi sends as it is. If the text calls a template, pi would put all that
/// follows into the template, without line breaks: a space prevents that for an entry of ours, and
/// `None` is for all others.
fn unexpanded_by_pi(text: String, calls_menu_entry: bool) -> Option<String> {
    if !may_call_template_of_pi(&text) {
        return Some(text);
    }
    calls_menu_entry.then(|| format!(" {text}"))
}

/// Returns whether a text begins like the name of a template of pi: `/` and a word without another
/// `/`, which a path has. After the name of a skill, pi keeps the text.
fn may_call_template_of_pi(text: &str) -> bool {
    let Some(text_after_slash) = text.strip_prefix('/') else {
        return false;
    };
    let word = text_after_slash.split(char::is_whitespace).next();
    word.is_some_and(|word| !word.is_empty() && !word.contains('/') && !word.starts_with("skill:"))
}

#[cfg(test)]
mod tests {
    use super::super::Agent;
    use super::*;

    fn hook(agent: &str) -> &'static Hook {
        Agent::by_name(agent).unwrap().hook.as_ref().unwrap()
    }

    fn answer(context: &str) -> HookAnswer {
        HookAnswer {
            context: context.to_owned(),
            note_for_user: Some("note".to_owned()),
            calls_menu_entry: false,
        }
    }

    #[test]
    fn each_agent_understands_the_answer_to_its_own_event() {
        let agents = ["qwen", "copilot", "pi"];
        for (agent, event, want) in [
            (
                "qwen",
                r#"{"hook_event_name": "UserPromptSubmit", "prompt": "The text of a skill", "submitted_prompt": ":a", "cwd": "/"}"#,
                r#"{"hookSpecificOutput": {"additionalContext": "text", "hookEventName": "UserPromptSubmit"}, "systemMessage": "note"}"#,
            ),
            (
                "copilot",
                r#"{"sessionId": "1", "prompt": ":a", "transformedPrompt": "<time>\n\n:a", "cwd": "/"}"#,
                r#"{"modifiedTransformedPrompt": "<time>\n\n:a\n\ntext"}"#,
            ),
            (
                "pi",
                r#"{"type": "input", "text": ":a", "cwd": "/"}"#,
                r#"{"action": "transform", "text": ":a\n\ntext"}"#,
            ),
        ] {
            let message = hook(agent).parse_event(event).unwrap();
            assert_eq!(message.text, ":a");
            assert_eq!(message.working_directory.as_deref(), Some("/"));
            let json = hook(agent).answer(&message, &answer("text")).unwrap();
            assert_eq!(json, serde_json::from_str::<Value>(want).unwrap());
            for other in agents {
                let is_own = agent == other;
                assert_eq!(hook(other).parse_event(event).is_some(), is_own, "{event}");
                assert_eq!(hook(other).is_addition(&json), is_own, "{json}");
            }
            let typical = hook(agent).event_for(":b").to_string();
            assert_eq!(hook(agent).parse_event(&typical).unwrap().text, ":b");
        }
    }

    #[test]
    fn a_folded_paste_of_qwen_code_is_unfolded() {
        let event = r#"{"hook_event_name": "UserPromptSubmit", "prompt": ":a x", "submitted_prompt": ":a [Pasted Content 1349 chars]"}"#;
        assert_eq!(hook("qwen").parse_event(event).unwrap().text, ":a x");
    }

    #[test]
    fn no_template_of_pi_gets_a_context_as_its_arguments() {
        for (text, calls_menu_entry, want) in [
            ("/review :style", false, None),
            (
                "/home/me/a.log :style",
                false,
                Some("/home/me/a.log :style\n\ntext"),
            ),
            ("/ :style", false, Some("/ :style\n\ntext")),
            ("/research x", true, Some(" /research x\n\ntext")),
            ("/skill:a :style", false, Some("/skill:a :style\n\ntext")),
        ] {
            let event = hook("pi").event_for(text).to_string();
            let message = hook("pi").parse_event(&event).unwrap();
            let answer = HookAnswer {
                calls_menu_entry,
                ..answer("text")
            };
            let json = hook("pi").answer(&message, &answer).unwrap_or_default();
            assert_eq!(json["text"].as_str(), want, "{text}");
        }
    }

    #[test]
    fn the_context_replaces_the_skill_of_an_entry_in_copilot_cli() {
        let typical = |text: &str| {
            format!(
                "<current_datetime>now</current_datetime>\n\nFollow it.\n\n<skill-context name=\"a\">\n\
                 Base directory for this skill: /h\n\n{text}\n\n</skill-context>\n\nAnd b."
            )
        };
        let entry = |command: &str| format!("{COMMAND_ENTRY_START} with command `a`.\n\n{command}");
        for (transformed, text, want) in [
            (
                typical(&entry(":a x\n\n:y")),
                ":a x\n\n:y",
                "<current_datetime>now</current_datetime>\n\nFollow it.\n\nCONTEXT\n\nAnd b."
                    .to_owned(),
            ),
            (typical("Mine."), "typed", typical("Mine.") + "\n\nCONTEXT"),
            (
                typical(&entry(":a")) + &typical(&entry(":b")),
                "typed",
                typical(&entry(":a")) + &typical(&entry(":b")) + "\n\nCONTEXT",
            ),
        ] {
            let event = json!({"prompt": "typed", "transformedPrompt": transformed});
            let message = hook("copilot").parse_event(&event.to_string()).unwrap();
            assert_eq!(message.text, text);
            let answer = HookAnswer {
                context: "CONTEXT".to_owned(),
                note_for_user: None,
                calls_menu_entry: false,
            };
            let answer = hook("copilot").answer(&message, &answer).unwrap();
            assert_eq!(answer["modifiedTransformedPrompt"], want);
        }
    }

    #[test]
    fn an_answer_without_a_context_for_its_own_event_adds_nothing() {
        for output in [
            r#"{"hookEventName": "BeforeAgent", "additionalContext": "text"}"#,
            r#"{"hookEventName": "UserPromptSubmit", "additionalContext": ""}"#,
            r#"{"hookEventName": "UserPromptSubmit"}"#,
        ] {
            let answer = format!(r#"{{"hookSpecificOutput": {output}}}"#);
            let answer: Value = serde_json::from_str(&answer).unwrap();
            assert!(!hook("codex").is_addition(&answer), "{output}");
        }
    }
}

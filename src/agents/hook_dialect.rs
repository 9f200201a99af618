//! The JSON that an agent and its prompt-submit hook exchange.

use super::agent::Hook;
use crate::input;
use serde::Deserialize;
use serde_json::{Value, json};

/// A message that a user submitted, and where.
#[derive(Debug)]
pub struct SubmittedMessage {
    /// The message as the user typed it.
    pub text: String,
    /// The agent's working directory, if the event contains it.
    pub working_directory: Option<String>,
}

/// The fields of an event that are used.
#[derive(Deserialize)]
struct HookEvent {
    hook_event_name: String,
    prompt: String,
    /// What the user typed, if `prompt` contains the text of a skill instead. Only Qwen Code has
    /// this field, and not always.
    submitted_prompt: Option<String>,
    cwd: Option<String>,
}

impl Hook {
    /// Parses the JSON that the agent passes to its hook. Returns `None` if it is invalid or
    /// another kind of event.
    pub fn parse_event(&self, json: &str) -> Option<SubmittedMessage> {
        let event: HookEvent = input::parse_json(json).ok()?;
        if event.hook_event_name != self.event {
            return None;
        }
        Some(SubmittedMessage {
            text: event.submitted_prompt.unwrap_or(event.prompt),
            working_directory: event.cwd,
        })
    }

    /// Returns the event that the agent would send for a message.
    pub fn event_for(&self, message: &str) -> Value {
        json!({"hook_event_name": self.event, "prompt": message})
    }

    /// Returns the answer that adds a context to the message, and shows a note to the user if the
    /// agent can do that.
    pub fn answer(&self, context: &str, note_for_user: Option<&str>) -> Value {
        let output = json!({"additionalContext": context, "hookEventName": self.event});
        let mut answer = json!({"hookSpecificOutput": output});
        if let Some(note) = note_for_user {
            answer["systemMessage"] = note.into();
        }
        answer
    }

    /// Returns the context that the agent would add for an answer, or an empty text.
    pub fn context_in<'a>(&self, answer: &'a Value) -> &'a str {
        let output = &answer["hookSpecificOutput"];
        if output["hookEventName"] != self.event {
            return "";
        }
        output["additionalContext"].as_str().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Agent;
    use super::*;

    #[test]
    fn an_answer_adds_its_context_only_to_its_own_event() {
        let hook = Agent::by_name("codex").unwrap().hook.as_ref().unwrap();
        assert_eq!(hook.context_in(&hook.answer("text", Some("note"))), "text");
        for answer in [
            r#"{"hookEventName": "BeforeAgent", "additionalContext": "text"}"#,
            r#"{"additionalContext": "text"}"#,
            r#"{"hookEventName": "UserPromptSubmit"}"#,
        ] {
            let output: Value = serde_json::from_str(answer).unwrap();
            let answer = json!({"hookSpecificOutput": output});
            assert_eq!(hook.context_in(&answer), "", "{answer}");
        }
    }

    #[test]
    fn the_message_is_what_the_user_typed() {
        let hook = Agent::by_name("codex").unwrap().hook.as_ref().unwrap();
        let mut event = hook.event_for("The text of a skill");
        event["submitted_prompt"] = "/skill".into();
        let message = hook.parse_event(&event.to_string()).unwrap();
        assert_eq!(message.text, "/skill");
    }
}

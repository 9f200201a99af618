//! What a server's answers say of it: is it this program, and does its client take all that it gives?

use super::probe::{Longest, Visit};
use super::remedy::again;
use super::server::Case;
use super::{Finding, Severity, milliseconds};
use crate::client::{Client, Way, is_same_file};
use crate::wording::{count, named, quoted};
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

/// Codex leaves a server out of the first turn that is not ready so soon.
const GRACE: Duration = Duration::from_secs(1);

/// A server that answered.
pub(super) struct Answered<'a> {
    pub(super) case: &'a Case<'a>,
    pub(super) program: &'a Path,
    pub(super) visit: &'a Visit,
}

impl Answered<'_> {
    /// What there is to say of what it answered.
    pub(super) fn findings(&self) -> Vec<Finding> {
        let prompts = count(self.visit.prompts, "prompt");
        let time = milliseconds(self.visit.answered_in);
        let message = format!("{} answers in {time} and has {prompts}", self.case.name());
        let mut findings = vec![Finding::new(Some(self.case.client), Severity::Fine, message)];
        findings.extend(self.other_program());
        findings.extend(self.late_for_codex());
        findings.extend(self.bad_prompts());
        findings.extend(self.bad_manners());
        findings.extend(self.cut());
        findings
    }

    /// That it is not what this program is.
    fn other_program(&self) -> Option<Finding> {
        let (name, visit, ours) = (self.case.name(), self.visit, env!("CARGO_PKG_VERSION"));
        let message = if visit.name != "prompt-expander" {
            format!("{name} is another program, which calls itself {}", quoted(&visit.name))
        } else if visit.version != ours && !is_same_file(self.program, &self.case.examination.program) {
            let (theirs, program) = (quoted(&visit.version), self.program.display());
            format!("{name} is version {theirs}, in {program}; this program is `{ours}`")
        } else {
            return None;
        };
        Some(self.case.warning(message).remedy(format!("run {} to have this one in its place", self.install())))
    }

    /// That Codex would not wait for its first answer.
    fn late_for_codex(&self) -> Option<Finding> {
        if self.case.client != Client::Codex {
            return None;
        }
        let seconds = self.case.server.entry.get("startup_timeout_sec").and_then(Value::as_f64);
        let milliseconds = self.case.server.entry.get("startup_timeout_ms").and_then(Value::as_f64);
        let limit = seconds.or(milliseconds.map(|milliseconds| milliseconds / 1000.0));
        let (name, took) = (self.case.name(), self.visit.answered_in.as_secs_f64());
        if let Some(limit) = limit.filter(|limit| *limit < took) {
            let message = format!("{name} took {took:.3} s for its first answer, and may take {limit} s");
            Some(self.case.broken(message).remedy("raise `startup_timeout_sec`"))
        } else if self.visit.answered_in > GRACE {
            let message = format!("{name} took {took:.1} s for its first answer; Codex goes on without it after 1 s");
            Some(self.case.warning(message).remedy("set `required` to true, so that Codex waits for it"))
        } else {
            None
        }
    }

    /// What is wrong with its prompts.
    fn bad_prompts(&self) -> Vec<Finding> {
        let (name, visit) = (self.case.name(), self.visit);
        let check = "run `prompt-expander check` with its `--prompts`";
        let mut findings = Vec::new();
        if visit.prompts == 0 {
            let message = format!("{name} has no prompt");
            findings.push(self.case.warning(message).remedy("put a file such as `hello.md` into its folder"));
        }
        if let Some(problem) = visit.problems.first() {
            let problems = count(visit.problems.len(), "file");
            let message = format!("{name} cannot read {problems} as prompts, such as {problem}");
            findings.push(self.case.broken(message).remedy(check));
        }
        if let Some((prompt, why)) = &visit.refused {
            let message = format!("{name} lists {} and does not expand it: {why}", named(prompt));
            findings.push(self.case.broken(message).remedy(check));
        }
        findings
    }

    /// What it does besides answering.
    fn bad_manners(&self) -> Vec<Finding> {
        let (name, visit) = (self.case.name(), self.visit);
        let replace = format!("run {} to have this program in its place", self.install());
        let mut findings = Vec::new();
        if let Some(stray) = &visit.stray {
            let message = format!("{name} prints what is no message: {}", quoted(stray));
            findings.push(self.case.warning(message).remedy(&*replace));
        }
        if !visit.ended {
            let message = format!("{name} does not end when {} ends it", self.case.client.title());
            findings.push(self.case.warning(message).remedy(&*replace));
        }
        if let Some(said) = &visit.said {
            let message = format!("{name} says on standard error: {said}");
            findings.push(self.case.warning(message).remedy("do what it says"));
        }
        findings
    }

    /// The command that puts this program in its place.
    fn install(&self) -> String {
        again(self.case.client, self.case.server)
    }

    /// What the client would not show its model of the longest prompt.
    fn cut(&self) -> Option<Finding> {
        let Longest { name, result } = self.visit.longest.as_ref()?;
        let expansion = serde_json::from_str::<Value>(result).ok()?["prompt"].as_str()?.to_owned();
        self.case.client.limits().iter().find_map(|limit| {
            let text = match limit.way {
                Way::Tool => result,
                Way::CodeMode => &expansion,
                Way::Hook => return None, // what is too long for it, the model asks the tool for
            };
            let (length, most) = (limit.unit.count(text), self.set(limit.way).unwrap_or(limit.most));
            let (way, unit, beyond) = (limit.way.name(), limit.unit.name(), limit.beyond);
            let message = format!("{} has {length} {unit}, and beyond {most} ({way}) {beyond}", named(name));
            (length > most).then(|| self.case.warning(message).remedy(self.remedy_of_cut(length)))
        })
    }

    /// How much the user lets through on this way, if the configuration says so.
    fn set(&self, way: Way) -> Option<usize> {
        let number =
            |value: Option<&Value>| value.and_then(Value::as_u64).and_then(|number| usize::try_from(number).ok());
        match (self.case.client, way) {
            // Tokens: 10,000 are 48,000 characters of a result, and 18,000 where a model prints one that holds the prompt twice.
            (Client::Codex, Way::Tool) => {
                let of_tool = self
                    .case
                    .server
                    .entry
                    .get("tools")
                    .and_then(|tools| tools["expand_prompt"].get("output_token_limit"));
                let tokens = number(of_tool).or_else(|| number(self.case.configs.get("/tool_output_token_limit")));
                tokens.map(|tokens| tokens * 24 / 5)
            }
            (Client::Codex, Way::CodeMode) => number(self.case.configs.get("/tool_output_token_limit"))
                .map(|tokens| (tokens * 9 / 5).saturating_sub(1)),
            (Client::GeminiCli, Way::Tool) => number(self.case.configs.get("/tools/truncateToolOutputThreshold")),
            _ => None,
        }
    }

    fn remedy_of_cut(&self, length: usize) -> String {
        match self.case.client {
            Client::Codex => {
                let tokens = (length * 5 / 9 / 1000 + 1) * 1000;
                format!("shorten it, or set `tool_output_token_limit = {tokens}` in config.toml")
            }
            Client::GeminiCli => format!("shorten it, or set `tools.truncateToolOutputThreshold` above {length}"),
            _ => "shorten it, or name its material by path".to_owned(),
        }
    }
}

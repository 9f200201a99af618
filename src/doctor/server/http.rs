//! A registered server over HTTP: what it answers, asked for with the token that the agent would send.
//!
//! What a project registers may be untrusted, and a token must not go to any URL that it names, so such a server is not asked.

use super::{RegisteredPrompts, ServerCheck, options};
use crate::agents::{HttpServer, Launch, Opening, SERVER, Scope, Token, is_exposed};
use crate::doctor::conversation::{ServerReport, array, problems, text};
use crate::doctor::{Finding, Severity, milliseconds};
use crate::library::Layer;
use crate::remote::{self, ErrorKind, Remote};
use crate::wording::{count, named, quoted};
use serde_json::{Value, json};
use std::time::Instant;

/// How many prompts are tried until one can be expanded.
const TRIES: usize = 10;

/// Why a server is not one that has prompts.
enum Unusable {
    /// There is no answer that can be used.
    Error(remote::Error),
    /// It answers with an error to this request.
    Refused(&'static str, String),
    /// It is another program with this name, or without the tools.
    Other(String),
}

/// The token that is sent.
enum Sent {
    /// This one.
    Token(String),
    /// None, because this variable is not set.
    NotSet(String),
    /// None, because only the agent knows it.
    Unknown,
    /// None: the registration has none.
    Nothing,
}

impl ServerCheck<'_> {
    /// Asks the server, and adds the findings; an error is the reason why the rest cannot be checked.
    pub(super) fn try_out_http(
        &self,
        http: &HttpServer,
        findings: &mut Vec<Finding>,
        prompts: &mut RegisteredPrompts,
    ) -> Result<(), Finding> {
        let (name, url) = (self.name(), named(&http.url));
        if self.server.token.is_some() && is_exposed(&http.url) {
            let message = format!("the token for {url} can be read on the network, because it is not encrypted");
            findings.push(self.warning(message).fix("use a URL that begins with https://"));
        }
        if let Some(Token::Text(_)) = &self.server.token
            && self.agent.reads_token_variable()
            && !matches!(self.sent(), Sent::Unknown)
        {
            let message = format!("the token of {name} is in this file, where others may read it");
            let variable = HttpServer { token_variable: Some("TEAM_TOKEN".to_owned()), ..http.clone() };
            let install = self.install_http(&variable);
            findings
                .push(self.warning(message).fix(format!("put it into an environment variable, and run `{install}`")));
        }
        if self.server.scope == Scope::Project {
            let message = format!("{name} comes with the project, so the server at {url} was not asked");
            let fix = format!("if you trust it, run `prompt-expander list {}`", options(http));
            return Err(self.warning(message).fix(fix));
        }
        self.ask(http, findings, prompts)
    }

    /// The token that the agent would send.
    fn sent(&self) -> Sent {
        let set = |name: &str| self.examination.system.environment.text(name).filter(|value| !value.is_empty());
        match &self.server.token {
            None => Sent::Nothing,
            Some(Token::Variable(name)) => set(name).map_or_else(|| Sent::NotSet(name.clone()), Sent::Token),
            Some(Token::Text(text)) => {
                let sent = self.with_variables(text);
                if sent.contains(['$', '{']) { Sent::Unknown } else { Sent::Token(sent) }
            }
        }
    }

    fn ask(
        &self,
        http: &HttpServer,
        findings: &mut Vec<Finding>,
        prompts: &mut RegisteredPrompts,
    ) -> Result<(), Finding> {
        let (name, url) = (self.name(), named(&http.url));
        let sent = self.sent();
        let token = if let Sent::Token(token) = &sent { Some(token.as_str()) } else { None };
        let remote = Remote::new(&http.url, token).map_err(|why| {
            // Only the token can be wrong: the URL is one that `install` writes.
            self.broken(format!("{name} cannot be asked: {why}")).fix("correct the token")
        })?;
        let report = talk_to(&remote.with_timeout(self.examination.timeout), &self.agent.launch);
        if let Sent::NotSet(variable) = &sent {
            findings.push(self.not_set(variable, report.is_ok()));
        }
        let report = match report {
            // What to do about the token has just been said.
            Err(Unusable::Error(error)) if error.kind == ErrorKind::Token && matches!(sent, Sent::NotSet(_)) => {
                return Ok(());
            }
            Err(unusable) => return Err(self.unusable(http, &sent, unusable)),
            Ok(report) => report,
        };
        let (time, number) = (milliseconds(report.answered_in), count(report.prompts, "prompt"));
        let message = format!("{name} answers at {url} in {time} and has {number}");
        findings.push(Finding::new(Some(self.agent), Severity::Fine, message));
        let version = env!("CARGO_PKG_VERSION");
        if report.version != version {
            let message = format!("{name} is version {}; this program is `{version}`", quoted(&report.version));
            findings
                .push(self.warning(message).fix("update the older one, so that the hook and `--http` understand it"));
        }
        if report.prompts == 0 {
            let message = format!("{name} has no prompts for you");
            let fix = match token {
                Some(_) => "ask those who operate the server for which folder of prompts your token is",
                None => "ask those who operate the server",
            };
            findings.push(self.warning(message).fix(fix));
        }
        if let Some(problem) = report.problems.first() {
            let files = count(report.problems.len(), "file");
            let message = format!("{name} has {files} that cannot be read, such as {problem}");
            findings.push(self.warning(message).fix("tell those who operate the server"));
        }
        prompts.prompt = report.first;
        Ok(())
    }

    /// A finding about a variable that is not set.
    fn not_set(&self, variable: &str, is_not_needed: bool) -> Finding {
        let title = self.agent.title;
        let message =
            format!("{title} reads the token from the environment variable {variable}, which is not set here");
        if is_not_needed {
            let fix = format!("set it, or run `{} --reset`: the server needs none", self.install());
            return self.warning(message).fix(fix);
        }
        match self.agent.launch.is_from_desktop {
            true => self.warning(message).fix(format!("set it for your whole session, where {title} is started")),
            false => self.broken(message).fix(format!("export it in the shell that starts {title}")),
        }
    }

    fn unusable(&self, http: &HttpServer, sent: &Sent, unusable: Unusable) -> Finding {
        let (name, url) = (self.name(), named(&http.url));
        match unusable {
            Unusable::Error(error) => {
                let finding = match (error.kind, sent) {
                    (ErrorKind::Token, Sent::Unknown) => {
                        let message =
                            format!("the token of {name} is known only to {}, so it was not checked", self.agent.title);
                        return self.warning(message).fix("call a prompt there");
                    }
                    (ErrorKind::Token, Sent::Nothing) if self.agent.reads_token_variable() => {
                        let variable = HttpServer { token_variable: Some("TEAM_TOKEN".to_owned()), ..http.clone() };
                        let fix = format!(
                            "ask those who operate the server for a token, put it into an environment variable such as \
                             TEAM_TOKEN, and run `{}`",
                            self.install_http(&variable)
                        );
                        return self.broken(format!("{name}: {}", error.message)).fix(fix);
                    }
                    (ErrorKind::Token, Sent::Nothing) => {
                        let fix = "add the header `Authorization` with the token to the entry in this file";
                        return self.broken(format!("{name}: {}", error.message)).fix(fix);
                    }
                    (ErrorKind::Busy, _) => self.warning(format!("{name}: {}", error.message)),
                    (ErrorKind::NotThisProgram, _) => {
                        return self.broken(format!("{name}: {}", error.message)).fix(self.another_url());
                    }
                    _ => self.broken(format!("{name}: {}", error.message)),
                };
                match (&self.server.token, error.kind) {
                    (Some(Token::Variable(variable)), ErrorKind::Token) => finding
                        .fix(format!("ask those who operate the server for another token, and set {variable} to it")),
                    _ => finding.fix(error.fix),
                }
            }
            Unusable::Refused(request, error) => {
                self.broken(format!("{name} at {url} refused `{request}`: {error}")).fix(self.another_url())
            }
            Unusable::Other(what) => self.broken(format!("{name} at {url} {what}")).fix(self.another_url()),
        }
    }

    /// What to do if another program answers.
    fn another_url(&self) -> String {
        let install = format!("prompt-expander install {}", self.agent.name);
        format!(
            "correct the URL in this file; or give `{SERVER}`, which is another server, another name there, then run `{install}`"
        )
    }
}

/// A conversation as far as it shows whether the server is prompt-expander and has prompts.
fn talk_to(remote: &Remote, launch: &Launch) -> Result<ServerReport, Unusable> {
    let mut asking = Asking { conversation: remote.conversation(), next_id: 1 };
    let report = asking.run(launch);
    asking.conversation.end();
    report
}

struct Asking<'r> {
    conversation: remote::Conversation<'r>,
    next_id: u64,
}

impl Asking<'_> {
    fn run(&mut self, launch: &Launch) -> Result<ServerReport, Unusable> {
        let began = Instant::now();
        let (Opening::Initialize(version) | Opening::Discover(version)) = launch.opening;
        let client =
            json!({"name": launch.client.unwrap_or("prompt-expander doctor"), "version": env!("CARGO_PKG_VERSION")});
        let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": client});
        let server = self.result("initialize", params)?["serverInfo"].take();
        let mut report = ServerReport { answered_in: began.elapsed(), ..ServerReport::default() };
        (report.name, report.version) = (text(&server["name"]), text(&server["version"]));
        if report.name != env!("CARGO_PKG_NAME") {
            return Err(Unusable::Other(format!("is another program, which calls itself {}", quoted(&report.name))));
        }
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        self.conversation.send(&initialized).map_err(Unusable::Error)?;
        let tools = self.result("tools/list", json!({}))?;
        for tool in ["list_prompts", "expand_prompt"] {
            if !array(&tools["tools"]).iter().any(|known| known["name"] == tool) {
                return Err(Unusable::Other(format!("has no tool `{tool}`")));
            }
        }
        let listed = self.result("tools/call", json!({"name": "list_prompts", "arguments": {}}))?;
        let listed: Value = serde_json::from_str(&text(&listed["content"][0]["text"])).unwrap_or_default();
        let prompts = array(&listed["prompts"]);
        report.prompts = prompts.len();
        report.problems = problems(&listed);
        // A service that renders a prompt is not called.
        let is_remote = |prompt: &&Value| text(&prompt["description"]).starts_with(Layer::Remote.mark());
        let names = prompts.iter().filter(|prompt| !is_remote(prompt)).map(|prompt| text(&prompt["name"]));
        for name in names.filter(|name| !name.contains(char::is_whitespace)).take(TRIES) {
            let arguments = json!({"command": name, "input": "x"});
            let expanded = self.result("tools/call", json!({"name": "expand_prompt", "arguments": arguments}))?;
            if expanded["isError"] != true {
                report.first = Some(name);
                break;
            }
        }
        Ok(report)
    }

    /// The result of a request.
    fn result(&mut self, method: &'static str, params: Value) -> Result<Value, Unusable> {
        let message = json!({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params});
        self.next_id += 1;
        let mut answer = self.conversation.send(&message).map_err(Unusable::Error)?.unwrap_or_default();
        match answer.get_mut("result") {
            Some(result) => Ok(result.take()),
            None => {
                let error = answer["error"]["message"].as_str().unwrap_or("no answer");
                Err(Unusable::Refused(method, quoted(error)))
            }
        }
    }
}

//! An agent's registrations of prompt-expander: what they say, and what happens when they are
//! started.

use super::client::{self, Start};
use super::examination::{Examination, fine, milliseconds, unreadable};
use crate::agents::{
    Agent, AgentFiles, Examined, Finding, PROMPTS_VARIABLE, RegisteredServers, Registration,
    SERVER, Scope, is_same_file,
};
use crate::wording::{count, named, named_path, quoted};
use std::path::Path;

/// A server that is examined.
struct ServerCheck<'a> {
    examination: &'a Examination,
    agent: &'static Agent,
    server: &'a Registration,
    files: &'a AgentFiles,
}

/// What is found about the servers of an agent.
pub(super) struct Servers {
    pub(super) findings: Vec<Finding>,
    /// Whether one of them is, or should be, prompt-expander.
    pub(super) is_registered: bool,
    /// Whether one of them is prompt-expander.
    pub(super) is_this: bool,
}

/// Examines the servers of an agent.
pub(super) fn examine(
    examination: &Examination,
    agent: &'static Agent,
    files: &AgentFiles,
) -> Servers {
    let RegisteredServers {
        registrations: servers,
        errors,
    } = agent.registered_servers(files, &examination.system);
    let mut findings: Vec<Finding> = errors
        .iter()
        .map(|error| unreadable(agent, error))
        .collect();
    let check = |server| ServerCheck {
        examination,
        agent,
        server,
        files,
    };
    let is_this = |server: &&Registration| is_prompt_expander(examination, agent, server);
    // Of several with the same name, the first takes precedence.
    let named_so = servers.iter().find(|server| server.name == SERVER);
    let mut others = servers
        .iter()
        .filter(|server| server.name != SERVER)
        .filter(is_this)
        .peekable();
    let examined = named_so.or(others.peek().copied());
    for other in others {
        let name = named(&other.name);
        findings.push(check(other).registered().warning(
            format!("this program is registered as {name}, but permissions and docs refer to `{SERVER}`"),
            format!("rename {name} to `{SERVER}` in this file, or remove it if `{SERVER}` is registered, too"),
        ));
    }
    if let Some(server) = examined {
        check(server).examine(&mut findings);
    }
    Servers {
        is_registered: examined.is_some(),
        is_this: servers.iter().any(|server| is_this(&server)),
        findings,
    }
}

/// Whether a server is this program, by its name or its file.
fn is_prompt_expander(examination: &Examination, agent: &Agent, server: &Registration) -> bool {
    let Some(command) = &server.command else {
        return false;
    };
    let environment = (agent.launch.environment)(&examination.system, server);
    let program = environment.find_program(command, &examination.system.project);
    server.is_prompt_expander()
        || program.is_ok_and(|program| is_same_file(&program, &examination.program))
}

// What the registration says.
impl<'a> ServerCheck<'a> {
    fn registered(&self) -> Examined<'a> {
        let (system, Registration { path, position, .. }) = (&self.examination.system, self.server);
        Examined {
            agent: self.agent,
            system,
            files: self.files,
            path,
            position: *position,
        }
    }

    /// Adds the findings about the server.
    fn examine(&self, findings: &mut Vec<Finding>) {
        let (name, registered) = (named(&self.server.name), self.registered());
        if let Some(error) = &self.server.error {
            return findings
                .push(registered.broken(format!("{name}: {error}"), "correct it in this file"));
        }
        let Some(command) = &self.server.command else {
            let message =
                format!("{name} is a server with a URL, to which doctor does not connect");
            let fix = format!("if it is not this program over HTTP, {}", self.reinstall());
            return findings.push(registered.warning(message, fix));
        };
        if self.server.is_disabled {
            findings
                .push(registered.broken(format!("{name} is disabled in this file"), "enable it"));
        }
        findings.extend(
            self.agent
                .checks
                .iter()
                .filter_map(|check| check(&registered, self.server)),
        );
        let options = self.server.options();
        if !options.is_empty() && self.server.is_prompt_expander() {
            let message = format!(
                "the options {} are only for {}",
                named(&options.join(" ")),
                self.agent.title
            );
            let fix = format!(
                "write their keys into config.toml, then {}",
                self.reinstall()
            );
            findings.push(registered.warning(message, fix));
        }
        if let Err(finding) = self.try_out(command, findings) {
            findings.push(finding);
        }
    }
}

// What happens when it is started.
impl ServerCheck<'_> {
    /// Starts it as the agent would, and adds the findings; an error is the reason why the rest
    /// cannot be checked.
    fn try_out(&self, command: &str, findings: &mut Vec<Finding>) -> Result<(), Finding> {
        let (name, registered) = (named(&self.server.name), self.registered());
        let start = self.start(command)?;
        let is_this = is_same_file(&start.program, &self.examination.program);
        findings.extend(self.looked_up_elsewhere(&start));
        findings.extend(self.lost_variable(&start));
        self.check_harmless(&start, is_this)?;
        let unusable = |why: String| {
            let fix = if is_this {
                "correct its arguments in this file".to_owned()
            } else {
                self.reinstall()
            };
            registered.broken(format!("{name} ({}) {why}", shown(&start)), fix)
        };
        let ended = client::ask_for_prompts(&start)
            .map_err(|error| unusable(format!("cannot be started: {error}")))?;
        let answers = ended
            .answers(start.timeout)
            .map_err(|why| unusable(why + &ended.complaint()))?;
        let (time, prompts) = (milliseconds(ended.took), count(answers.prompts, "prompt"));
        findings.push(fine(
            self.agent,
            format!("{name} answers in {time} and has {prompts}"),
        ));
        let version = env!("CARGO_PKG_VERSION");
        if answers.version != version && !is_this {
            let (other, program) = (quoted(&answers.version), start.program.display());
            let message =
                format!("{name} is version {other}, in {program}; this program is `{version}`");
            findings.push(registered.warning(message, self.reinstall()));
        }
        if let Some(line) = &ended.stderr {
            let message = format!("{name} prints on standard error: {line}");
            findings.push(registered.warning(message, "fix what it reports"));
        }
        Ok(())
    }

    /// What the agent would start; or why it cannot.
    fn start(&self, written: &str) -> Result<Start, Finding> {
        let (system, name) = (&self.examination.system, named(&self.server.name));
        let replaced = |text: &str| match &self.agent.launch.variables {
            Some(variables) => variables.replace(text, system),
            None => text.to_owned(),
        };
        let command = replaced(written);
        let arguments = self
            .server
            .args
            .iter()
            .map(|argument| replaced(argument))
            .collect();
        let folder = system
            .project
            .join(self.server.cwd.as_deref().map(replaced).unwrap_or_default());
        if !folder.is_dir() {
            let message = format!("the `cwd` of {name}, {}, is not a folder", folder.display());
            return Err(self
                .registered()
                .broken(message, "remove `cwd` from the file, or create the folder"));
        }
        let mut environment = (self.agent.launch.environment)(system, self.server);
        for (name, value) in &self.server.env {
            environment.set(name, replaced(value));
        }
        let program = environment.find_program(&command, &folder).map_err(|why| {
            let message = format!("the command of {name}, {}, {why}", named(&command));
            self.registered().broken(message, self.reinstall())
        })?;
        Ok(Start {
            command,
            arguments,
            environment,
            folder,
            program,
            timeout: self.examination.timeout,
        })
    }

    /// A finding if the command is found here, but perhaps not from the desktop.
    fn looked_up_elsewhere(&self, start: &Start) -> Option<Finding> {
        let is_elsewhere =
            self.agent.launch.is_from_desktop && !Path::new(&start.command).is_absolute();
        is_elsewhere.then(|| {
            let (written, title) = (named(&start.command), self.agent.title);
            let message =
                format!("{written} is looked up in PATH, which is different when {title} is started from the desktop");
            self.registered().warning(message, self.reinstall())
        })
    }

    /// A finding if a variable names prompts in the terminal, and the agent does not pass it on to
    /// its servers.
    fn lost_variable(&self, start: &Start) -> Option<Finding> {
        let here = self
            .examination
            .system
            .environment
            .get(PROMPTS_VARIABLE)
            .filter(|value| !value.is_empty());
        (here.is_some() && start.environment.get(PROMPTS_VARIABLE).is_none()).then(|| {
            let title = self.agent.title;
            let message = format!(
                "{PROMPTS_VARIABLE} is set here, and {title} does not pass it on to the server"
            );
            self.registered()
                .warning(message, "write its folders as `prompts` into config.toml")
        })
    }

    /// An error for what is not started here: it came with the project, or is in this folder, and
    /// so may be untrusted.
    fn check_harmless(&self, start: &Start, is_this: bool) -> Result<(), Finding> {
        let (name, server) = (named(&self.server.name), self.server);
        if server.scope == Scope::Project
            && !(is_this && server.args.is_empty() && server.env.is_empty())
        {
            let message = format!(
                "{name} comes with the project and is not exactly this program, so it was not started: {}",
                shown(start)
            );
            let fix = format!(
                "if you trust it, start {} here and ask it for its tools",
                self.agent.title
            );
            return Err(self.registered().warning(message, fix));
        }
        let is_intended = server
            .cwd
            .as_ref()
            .is_some_and(|cwd| Path::new(cwd).is_absolute());
        if !is_this
            && !is_intended
            && start
                .environment
                .is_found_in(&start.folder, &start.command, &start.program)
        {
            let program = named_path(&start.program);
            let message = format!(
                "{name} is a program in this folder, {program}, and not this program, so it was not started"
            );
            return Err(self.registered().warning(message, self.reinstall()));
        }
        Ok(())
    }

    /// How to register this program instead.
    fn reinstall(&self) -> String {
        let project = if self.server.scope == Scope::Project {
            " --project"
        } else {
            ""
        };
        let install = format!("prompt-expander install {}{project}", self.agent.name);
        if self.server.scope == Scope::Local {
            let program = self.examination.program.display().to_string();
            return format!("write {} as its `command` in this file", named(&program));
        }
        match (self.server.name == SERVER, self.server.is_prompt_expander()) {
            (true, true) => format!("run `{install}`"),
            (true, false) => format!("run `{install} --replace`"),
            (false, _) => format!("remove it from this file, then run `{install}`"),
        }
    }
}

/// The command with its arguments, quoted for a shell, in backticks.
fn shown(start: &Start) -> String {
    let words = || {
        [&start.command]
            .into_iter()
            .chain(&start.arguments)
            .map(String::as_str)
    };
    named(&shlex::try_join(words()).unwrap_or_else(|_| words().collect::<Vec<_>>().join(" ")))
}

//! An agent's registrations of prompt-expander: what they say, and what happens when they are started.

#[cfg(feature = "http")]
mod http;

use super::conversation::{self, ServerReport, Start};
use super::{Examination, FROM_AGENTS, Finding, PromptsFolder, Severity, milliseconds, unreadable};
use crate::agents::{
    Agent, AgentFiles, Arguments, Delivery, Environment, HttpServer, PROMPTS_VARIABLE, RegisteredServer, Registration,
    SERVER, Scope, has_separator, is_same_file,
};
use crate::library::{Library, Problem, Report, is_jsonl};
use crate::prompt;
use crate::wording::{count, named, quoted};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Variables that name prompts.
const LIBRARY_VARIABLES: [&str; 2] = [PROMPTS_VARIABLE, "XDG_CONFIG_HOME"];

/// The prompts of a server that the agent would start or try to start.
#[derive(Debug)]
pub(super) struct RegisteredPrompts {
    /// The folders of the user's prompts that the server reads. Empty: unknown.
    pub(super) folders: Vec<PromptsFolder>,
    /// The server over HTTP that has the prompts.
    pub(super) http: Option<HttpServer>,
    /// Whether it also reads the prompts of the agents.
    pub(super) from_agents: bool,
    /// Whether the registration or the environment names them.
    pub(super) are_named: bool,
    /// The name of a prompt that the server lists.
    pub(super) prompt: Option<String>,
    /// The command that changes the registration, and the hook. `None`: `install` does not change this registration.
    pub(super) install: Option<String>,
    /// How to have the hook registered again.
    pub(super) reinstall_hook: String,
}

/// A server that is examined.
struct ServerCheck<'a> {
    examination: &'a Examination,
    agent: &'static Agent,
    server: &'a Registration,
    registered: RegisteredServer<'a>,
    /// The prompts of the command line, and what is wrong with them.
    library: &'a Library,
    reported: &'a Report,
}

impl Examination {
    /// The findings about the servers of an agent, and those of them that are prompt-expander.
    ///
    /// Problems of prompt files are not among the findings if the report on the library has them.
    pub(super) fn servers(
        &self,
        files: &AgentFiles,
        library: &Library,
        reported: &Report,
    ) -> (Vec<Finding>, Vec<RegisteredPrompts>) {
        // Of several with the same name, the first takes precedence.
        let (servers, errors) = files.registrations([Scope::Local, Scope::Project, Scope::User]);
        let mut findings: Vec<Finding> = errors.iter().map(|error| unreadable(files.agent, error)).collect();
        let (of_the_name, others): (Vec<_>, Vec<_>) = servers.into_iter().partition(|server| server.name == SERVER);
        let others: Vec<Registration> =
            others.into_iter().filter(|server| self.is_prompt_expander(files.agent, server)).collect();
        let check = |server| ServerCheck {
            examination: self,
            agent: files.agent,
            server,
            registered: RegisteredServer { system: &self.system, files, server },
            library,
            reported,
        };
        let mut prompts = Vec::new();
        if let Some((first, overridden)) = of_the_name.split_first() {
            prompts.extend(check(first).examine(&mut findings));
            findings.extend(overridden.iter().map(|server| check(server).overridden_by(first)));
            findings.extend(others.iter().map(|server| check(server).registered_twice()));
        } else {
            for server in &others {
                findings.push(check(server).under_another_name());
                prompts.extend(check(server).examine(&mut findings));
            }
        }
        (findings, prompts)
    }

    /// Whether a server is this program, by its name or its file.
    pub(super) fn is_prompt_expander(&self, agent: &Agent, server: &Registration) -> bool {
        let Some(command) = &server.command else { return server.is_prompt_expander() };
        let environment = (agent.launch.environment)(&self.system, server);
        let is_this = |program: PathBuf| is_same_file(&program, &self.program);
        server.is_prompt_expander() || environment.find_program(command, &self.system.project).is_ok_and(is_this)
    }

    /// The folders of the user's prompts that this program reads with this environment in this folder: those of `--prompts`, else
    /// those that the environment names.
    pub(super) fn served_folders(
        &self,
        named: Vec<PromptsFolder>,
        environment: &Environment,
        working: &Path,
    ) -> Vec<PromptsFolder> {
        if !named.is_empty() {
            return named;
        }
        let listed = environment.get(PROMPTS_VARIABLE).unwrap_or_default();
        let listed = std::env::split_paths(listed).filter(|folder| !folder.as_os_str().is_empty());
        let listed: Vec<PromptsFolder> =
            listed.map(|folder| self.prompts_folder(&folder.to_string_lossy(), working)).collect();
        if !listed.is_empty() {
            return listed;
        }
        let xdg = |environment: &Environment| {
            environment.get(LIBRARY_VARIABLES[1]).map(PathBuf::from).filter(|folder| folder.is_absolute())
        };
        let config = match (xdg(environment), xdg(&self.system.environment)) {
            (own, here) if own == here => self.system.config.clone(),
            (own, _) => own.or_else(|| Some(self.system.home.as_ref()?.join(".config"))),
        };
        let own = |folder: PathBuf| folder.join("prompt-expander").join("prompts");
        config.map(|folder| PromptsFolder { format: None, path: own(folder) }).into_iter().collect()
    }
}

// What the registration says.
impl ServerCheck<'_> {
    fn name(&self) -> String {
        self.registered.name()
    }

    fn broken(&self, message: impl Into<String>) -> Finding {
        self.registered.broken(message)
    }

    fn warning(&self, message: impl Into<String>) -> Finding {
        self.registered.warning(message)
    }

    /// Adds the findings about the server. Returns its prompts; `None` if the agent neither starts a program nor asks a server
    /// as `install` registers one.
    fn examine(&self, findings: &mut Vec<Finding>) -> Option<RegisteredPrompts> {
        let http = self.server.http_server();
        let mut prompts = RegisteredPrompts {
            folders: Vec::new(),
            http: http.clone(),
            from_agents: has_from_agents(&self.server.args),
            are_named: false,
            prompt: None,
            install: Some(self.install() + " --hook").filter(|_| self.is_kept()),
            reinstall_hook: self.reinstall_hook(),
        };
        if !self.server.errors.is_empty() {
            // `install` refuses it too, because it cannot keep what it does not understand.
            let finding = |error| self.broken(format!("{}: {error}", self.name())).fix("correct it in this file");
            findings.extend(self.server.errors.iter().map(finding));
            return Some(prompts);
        }
        if self.server.command.is_none() && http.is_none() {
            let message = format!("{} is a server with a URL, not this program", self.name());
            let fix =
                format!("if it is this program over HTTP, its URL ends in `/mcp`; otherwise {}", self.reinstall(""));
            findings.push(self.broken(message).fix(fix));
            return None;
        }
        findings.extend(self.disabled().or_else(|| (self.agent.checks.not_started)(&self.registered)));
        findings.extend(self.missing_tools());
        findings.extend((self.agent.checks.approval)(&self.registered));
        let tried = match (&self.server.command, &http) {
            (Some(command), _) => self.try_out(command, findings, &mut prompts),
            (None, Some(http)) => self.try_out_http(http, findings, &mut prompts),
            (None, None) => Ok(()),
        };
        findings.extend(tried.err());
        Some(prompts)
    }

    /// Starts it as the agent would, and adds the findings; an error is the reason why the rest cannot be checked.
    fn try_out(
        &self,
        command: &str,
        findings: &mut Vec<Finding>,
        prompts: &mut RegisteredPrompts,
    ) -> Result<(), Finding> {
        let start = self.start(command)?;
        findings.extend(self.found_from_here_only(&start));
        let named = self.folders(&start, findings);
        if named.is_empty() {
            findings.extend(self.lost_variables(&start));
        }
        prompts.folders = self.examination.served_folders(named.clone(), &start.environment, &start.folder);
        prompts.are_named =
            !named.is_empty() || start.environment.get(PROMPTS_VARIABLE).is_some_and(|listed| !listed.is_empty());
        let missing = named.iter().filter(|folder| !has_prompts(&folder.path));
        let missing: Vec<String> = missing.map(|folder| folder.path.display().to_string()).collect();
        self.check_harmless(&start)?;
        let mut report = self.report(&start)?;
        // A folder that is missing was reported above.
        let is_reported = |text: &String| missing.iter().any(|folder| text.contains(folder));
        report.problems.retain(|problem| !is_reported(problem));
        let known = self.library.view();
        let is_known = |folder: &PromptsFolder| known.folders().iter().any(|known| is_same_file(known, &folder.path));
        let is_other = !prompts.folders.iter().all(is_known);
        if !is_other {
            self.leave_out_reported(&mut report);
        }
        report.stderr = report.stderr.filter(|line| !is_reported(line));
        let check = check_command(&start, if is_other { &prompts.folders } else { &named });
        self.judge(&report, &start, &check, findings);
        prompts.prompt = report.first;
        Ok(())
    }

    /// A finding: the agent uses another server of the same name.
    fn overridden_by(&self, first: &Registration) -> Finding {
        let file = first.path.display();
        let message = format!("`{SERVER}` is registered twice; here, the one in {file} overrides this one");
        self.warning(message).fix("keep one of them: delete the other from its file")
    }

    fn registered_twice(&self) -> Finding {
        let name = self.name();
        let message = format!("this program is also registered as {name}, so each tool appears twice");
        self.warning(message).fix(format!("remove {name} from the file"))
    }

    fn under_another_name(&self) -> Finding {
        let name = self.name();
        let message =
            format!("this program is registered as {name}, not as `{SERVER}`, which permissions and docs refer to");
        self.warning(message).fix(format!("rename {name} to `{SERVER}` in this file, wherever it is a key"))
    }

    fn disabled(&self) -> Option<Finding> {
        if !self.server.is_disabled {
            return None;
        }
        let key = if self.server.entry.contains_key("disabled") { "disabled" } else { "enabled" };
        let value = key == "enabled";
        let message = format!("{} is disabled: `{key}` is {}", self.name(), !value);
        Some(self.broken(message).fix(format!("set `{key}` to {value}")))
    }

    /// The tools that the registration hides from the model.
    fn missing_tools(&self) -> Vec<Finding> {
        let Some((included, excluded)) = self.agent.checks.tool_filters else { return Vec::new() };
        let list = |key: &str| self.server.entry.get(key).and_then(Value::as_array);
        let has = |list: &[Value], tool: &str| {
            list.iter().filter_map(Value::as_str).any(|item| item.split('(').next() == Some(tool))
        };
        let missing = |(tool, severity): (&str, Severity)| {
            let (message, fix) = if list(included).is_some_and(|list| !has(list, tool)) {
                (format!("`{included}` does not list `{tool}`"), format!("add it there, or remove `{included}`"))
            } else if list(excluded).is_some_and(|list| has(list, tool)) {
                (format!("`{excluded}` lists `{tool}`"), "remove it from that list".to_owned())
            } else {
                return None;
            };
            Some(Finding { severity, ..self.broken(message) }.fix(fix))
        };
        let tools = [("expand_prompt", Severity::Broken), ("list_prompts", Severity::Warning)];
        tools.into_iter().filter_map(missing).collect()
    }
}

// How it is started.
impl ServerCheck<'_> {
    /// What the agent would start; or why it cannot.
    fn start(&self, written: &str) -> Result<Start, Finding> {
        let project = &self.examination.system.project;
        let command = self.with_variables(written);
        let arguments = self.server.args.iter().map(|argument| self.with_variables(argument)).collect();
        let folder = match &self.server.cwd {
            None => project.clone(),
            Some(cwd) => project.join(self.with_variables(cwd)),
        };
        if !folder.is_dir() {
            let message = format!("the working directory of {}, {}, is not a folder", self.name(), folder.display());
            return Err(self.broken(message).fix("remove `cwd` from the file, or create the folder"));
        }
        let mut environment = (self.agent.launch.environment)(&self.examination.system, self.server);
        for (name, value) in &self.server.env {
            environment.set(name, self.with_variables(value));
        }
        let program = environment.find_program(&command, &folder).map_err(|why| {
            let message = format!("the command of {}, {}, {why}", self.name(), named(&command));
            self.broken(message).fix(self.write_absolute_path())
        })?;
        let (launch, timeout) = (&self.agent.launch, self.examination.timeout);
        Ok(Start { command, arguments, environment, folder, program, launch, timeout })
    }

    /// A text of the config as the agent reads it.
    fn with_variables(&self, text: &str) -> String {
        let variables = &self.agent.launch.variables;
        variables
            .as_ref()
            .map_or_else(|| text.to_owned(), |variables| variables.replace(text, &self.examination.system))
    }

    /// A finding if the command was found, but may not be found from elsewhere.
    fn found_from_here_only(&self, start: &Start) -> Option<Finding> {
        let written = named(&start.command);
        let message = if Path::new(&start.command).is_absolute() {
            return None;
        } else if has_separator(&start.command) {
            format!("the command is found only from this folder: {written}")
        } else if self.agent.launch.is_from_desktop {
            let title = self.agent.title;
            format!(
                "{written} is looked up on PATH, and {title} has a different PATH when it is started from the desktop"
            )
        } else {
            return None;
        };
        Some(self.warning(message).fix(self.write_absolute_path()))
    }

    /// The folders of `--prompts`; adds findings about them.
    fn folders(&self, start: &Start, findings: &mut Vec<Finding>) -> Vec<PromptsFolder> {
        let mut folders = Vec::new();
        for written in Arguments::of(&start.arguments).folders {
            let folder = self.examination.prompts_folder(&written, &start.folder);
            let (_, written_path) = prompt::System::of_option(&written);
            let is_relative = !Path::new(written_path).is_absolute() && !written_path.starts_with('~');
            let shown = named(&written);
            if !has_prompts(&folder.path) {
                let why = if folder.path.exists() { "is not a folder" } else { "does not exist" };
                let hint = if written.contains('$') { "; without a shell, `$` has no meaning" } else { "" };
                let message = format!("--prompts {shown} {why}{hint}");
                findings.push(self.broken(message).fix("create it, or correct the path"));
            } else if is_relative {
                let title = self.agent.title;
                let message =
                    format!("--prompts {shown} is relative, so it depends on the folder in which {title} is started");
                let fix = format!("write the absolute path, {}", named(&folder.option()));
                findings.push(self.warning(message).fix(fix));
            }
            folders.push(folder);
        }
        folders
    }

    /// Leaves out the problems of files that the report on the library has.
    fn leave_out_reported(&self, report: &mut ServerReport) {
        let text = |problem: &Problem| {
            let position = problem.diagnostic.position.map(|at| format!("{}:{}:", at.line, at.column));
            format!("{}:{} {}", problem.file, position.unwrap_or_default(), problem.diagnostic)
        };
        let known: Vec<String> = self.reported.problems.iter().map(text).collect();
        report.problems.retain(|problem| !known.contains(problem));
    }

    /// Variables that name prompts in the terminal, and that the agent does not pass on to its servers.
    fn lost_variables(&self, start: &Start) -> Vec<Finding> {
        let lost = LIBRARY_VARIABLES.into_iter().filter(|name| {
            let value = self.examination.system.environment.get(name);
            value.is_some_and(|value| !value.is_empty()) && start.environment.get(name).is_none()
        });
        lost.map(|name| {
            let title = self.agent.title;
            let message = format!(
                "{name} is set here, and {title} does not pass it on, so its prompts may differ from those in the terminal"
            );
            let how = match self.is_kept() {
                true => format!("`{} --prompts DIR`", self.install()),
                false => "add `--prompts` and the folder to its arguments in this file".to_owned(),
            };
            self.warning(message).fix(format!("name the folder in the registration: {how}"))
        })
        .collect()
    }

    /// An error for what is not started here: it came with the project, or is in this folder, and so may be untrusted.
    fn check_harmless(&self, start: &Start) -> Result<(), Finding> {
        let (name, server) = (self.name(), self.server);
        let is_this = is_same_file(&start.program, &self.examination.program);
        let is_harmless = is_this
            && Arguments::of(&server.args).only_name_prompts()
            && server.env.keys().all(|name| LIBRARY_VARIABLES.contains(&name.as_str()));
        if server.scope == Scope::Project && !is_harmless {
            let shown = shown(start);
            let message = format!(
                "{name} comes with the project and is not exactly this program, so it was not started: {shown}"
            );
            let title = self.agent.title;
            return Err(self
                .warning(message)
                .fix(format!("if you trust it, start {title} here and ask it for its tools")));
        }
        let is_intended = server.cwd.as_ref().is_some_and(|cwd| Path::new(cwd).is_absolute());
        let Start { command, environment, folder, program, .. } = start;
        if !is_this && !is_intended && environment.is_found_in(folder, command, program) {
            let program = named(&program.display().to_string());
            let message =
                format!("{name} is a program in this folder, {program}, and not this program, so it was not started");
            return Err(self.warning(message).fix(self.write_absolute_path()));
        }
        Ok(())
    }

    /// What the server answers, or why it is unusable.
    fn report(&self, start: &Start) -> Result<ServerReport, Finding> {
        conversation::talk_to(start).map_err(|failure| {
            let message = format!("{} ({}) {failure}", self.name(), shown(start));
            let fix = if is_same_file(&start.program, &self.examination.program) {
                "correct its arguments in this file".to_owned()
            } else {
                self.reinstall("which replaces it with this program")
            };
            self.broken(message).fix(fix)
        })
    }
}

#[cfg(not(feature = "http"))]
impl ServerCheck<'_> {
    fn try_out_http(&self, http: &HttpServer, _: &mut [Finding], _: &mut RegisteredPrompts) -> Result<(), Finding> {
        let url = named(&http.url);
        let message = format!("this program was built without HTTP, so the server at {url} was not asked");
        Err(self.warning(message).fix("build it with the feature `http`"))
    }
}

// What it answered.
impl ServerCheck<'_> {
    fn judge(&self, report: &ServerReport, start: &Start, check: &str, findings: &mut Vec<Finding>) {
        let (time, prompts) = (milliseconds(report.answered_in), count(report.prompts, "prompt"));
        let message = format!("{} answers in {time} and has {prompts}", self.name());
        findings.push(Finding::new(Some(self.agent), Severity::Fine, message));
        findings.extend(self.other_program(report, start));
        findings.extend((self.agent.checks.slow_start)(&self.registered, report.answered_in));
        self.judge_prompts(report, check, findings);
        self.judge_behavior(report, findings);
        findings.extend(self.too_long(report));
    }

    /// A finding if it is another program, or another version of this one.
    fn other_program(&self, report: &ServerReport, start: &Start) -> Option<Finding> {
        let (name, version) = (self.name(), env!("CARGO_PKG_VERSION"));
        let message = if report.name != env!("CARGO_PKG_NAME") {
            format!("{name} is another program, which calls itself {}", quoted(&report.name))
        } else if report.version != version && !is_same_file(&start.program, &self.examination.program) {
            let (other, program) = (quoted(&report.version), start.program.display());
            format!("{name} is version {other}, in {program}; this program is `{version}`")
        } else {
            return None;
        };
        Some(self.warning(message).fix(self.reinstall("which replaces it with this program")))
    }

    fn judge_prompts(&self, report: &ServerReport, check: &str, findings: &mut Vec<Finding>) {
        let name = self.name();
        if report.prompts == 0 {
            let fix = "create a file such as `hello.md` in its folder";
            findings.push(self.warning(format!("{name} has no prompts")).fix(fix));
        }
        if let Some(problem) = report.problems.first() {
            let files = count(report.problems.len(), "file");
            let message = format!("{name} has {files} that cannot be read, such as {problem}");
            findings.push(self.broken(message).fix(check));
        }
        if let Some((prompt, why)) = &report.refused {
            let message = format!("{name} lists {} but does not expand it: {why}", named(prompt));
            findings.push(self.broken(message).fix(check));
        }
    }

    fn judge_behavior(&self, report: &ServerReport, findings: &mut Vec<Finding>) {
        let name = self.name();
        let replace = self.reinstall("which replaces it with this program");
        if let Some(line) = &report.not_a_message {
            let message = format!("{name} prints what is not a message: {}", quoted(line));
            findings.push(self.warning(message).fix(&*replace));
        }
        if !report.ended {
            let message = format!("{name} does not exit when {} stops it", self.agent.title);
            findings.push(self.warning(message).fix(&*replace));
        }
        if let Some(line) = &report.stderr {
            findings.push(self.warning(format!("{name} prints on standard error: {line}")).fix("fix what it reports"));
        }
    }

    /// A finding if the agent would not show its model all of the longest prompt.
    fn too_long(&self, report: &ServerReport) -> Option<Finding> {
        let (name, result) = report.longest.as_ref()?;
        let expansion = serde_json::from_str::<Value>(result).ok()?["prompt"].as_str()?.to_owned();
        let checks = &self.agent.checks;
        self.agent.limits.iter().find_map(|limit| {
            let text = match limit.delivery {
                Delivery::Tool => result,
                Delivery::CodeMode => &expansion,
                Delivery::Hook => return None, // the hook refers to the tool
            };
            let max = (checks.configured_limit)(&self.registered, limit.delivery).unwrap_or(limit.max);
            let length = limit.unit.count(text);
            let (delivery, unit, when_exceeded) = (limit.delivery.name(), limit.unit.name(), limit.when_exceeded);
            let message = format!(
                "{} has {length} {unit}, more than the limit of {max} ({delivery}): {when_exceeded}",
                named(name)
            );
            (length > max).then(|| self.warning(message).fix((checks.shorten)(length)))
        })
    }
}

// How to fix it. No option, variable or other setting is lost.
impl ServerCheck<'_> {
    /// Whether `install` changes this registration, and keeps what is in it.
    fn is_kept(&self) -> bool {
        self.first_step().is_none() && self.server.scope != Scope::Local
    }

    /// What to do before `install` can keep what is registered.
    fn first_step(&self) -> Option<String> {
        if self.server.name != SERVER {
            Some(format!("rename {} to `{SERVER}`", self.name()))
        } else if !self.server.is_prompt_expander() {
            Some(format!("give `{SERVER}`, which is another server, another name"))
        } else {
            None
        }
    }

    /// The command that registers this program, or the server over HTTP.
    fn install(&self) -> String {
        if let Some(http) = self.server.http_server() {
            return self.install_http(&http);
        }
        let project = if self.server.scope == Scope::Project { " --project" } else { "" };
        format!("prompt-expander install {}{project}", self.agent.name)
    }

    /// The command that registers this server again, with these options.
    fn install_http(&self, http: &HttpServer) -> String {
        let project = if self.server.scope == Scope::Project { " --project" } else { "" };
        format!("prompt-expander install {}{project} {}", self.agent.name, options(http))
    }

    /// How to have the hook registered again, with the options of the server that name prompts, which `install` does not find in
    /// another place.
    fn reinstall_hook(&self) -> String {
        let first = self.first_step().map(|step| format!("{step} in {}, then ", self.place())).unwrap_or_default();
        let is_elsewhere = self.server.scope == Scope::Local && self.server.is_prompt_expander();
        let options = if is_elsewhere { Arguments::of(&self.server.args).of_library } else { Vec::new() };
        let quoted = |word: String| shlex::try_quote(&word).map_or(word.clone(), Into::into);
        let options: String = options.into_iter().map(|word| format!(" {}", quoted(word))).collect();
        format!("{first}run `{} --hook{options}`", self.install())
    }

    /// How to register this program instead; `which` says what the command does to a registration of this program.
    fn reinstall(&self, which: &str) -> String {
        let (install, is_local) = (self.install(), self.server.scope == Scope::Local);
        match self.first_step() {
            Some(step) => {
                let replace = match self.server.name == SERVER && !is_local {
                    true => format!("; or run `{install} --replace`, which replaces that server and all its settings"),
                    false => String::new(),
                };
                format!("{step} in this file, then run `{install}`{replace}")
            }
            None if is_local => {
                let program = named(&self.examination.program.display().to_string());
                format!("write {program} as its `command` in this file; the rest can stay")
            }
            None => format!("run `{install}`, {which}"),
        }
    }

    fn write_absolute_path(&self) -> String {
        self.reinstall("which writes the absolute path of this program")
    }

    /// The file of the registration, and its line.
    fn place(&self) -> String {
        let line = self.server.position.map(|position| format!(":{}", position.line)).unwrap_or_default();
        format!("{}{line}", self.server.path.display())
    }
}

/// The options that name a server, quoted for a shell: a project may have written them.
fn options(http: &HttpServer) -> String {
    let token = http.token_variable.iter().flat_map(|name| ["--token-env", name]);
    let words = || ["--http", &http.url].into_iter().chain(token.clone());
    shlex::try_join(words()).unwrap_or_else(|_| words().collect::<Vec<_>>().join(" "))
}

/// Whether what `--prompts` names is there: a folder, or a file of hexai.
fn has_prompts(path: &Path) -> bool {
    path.is_dir() || (is_jsonl(path) && path.is_file())
}

/// The command with its arguments, quoted for a shell, in backticks.
fn shown(Start { command, arguments, .. }: &Start) -> String {
    let words = || [command].into_iter().chain(arguments).map(String::as_str);
    named(&shlex::try_join(words()).unwrap_or_else(|_| words().collect::<Vec<_>>().join(" ")))
}

/// How to check the prompts of a server.
fn check_command(start: &Start, folders: &[PromptsFolder]) -> String {
    let mut words = vec!["prompt-expander".to_owned(), "check".to_owned()];
    for folder in folders {
        words.extend(["--prompts".to_owned(), folder.option()]);
    }
    if has_from_agents(&start.arguments) {
        words.push(FROM_AGENTS.to_owned());
    }
    if start.arguments.iter().any(|word| word == "--project") {
        words.push("--project".to_owned());
    }
    let words = || words.iter().map(String::as_str);
    format!("run {}", named(&shlex::try_join(words()).unwrap_or_else(|_| words().collect::<Vec<_>>().join(" "))))
}

/// Whether arguments add the prompts of the agents.
pub(super) fn has_from_agents(arguments: &[String]) -> bool {
    Arguments::of(arguments).of_library.iter().any(|word| word == FROM_AGENTS)
}

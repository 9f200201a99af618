//! A client's registrations of us: what is written there, and what comes of it when it is started.

use super::answers::Answered;
use super::remedy::{again, reinstall, uninstall};
use super::start;
use super::{Examination, Finding, Severity, unreadable};
use crate::client::{Client, Config, Files, Registration, SERVER, Scope, is_same_file};
use crate::wording::named;
use serde_json::Value;
use std::path::PathBuf;

/// A registration of us that the client would start, or try to.
#[derive(Debug)]
pub(super) struct Settled {
    /// What `--prompts` names.
    pub(super) folders: Vec<PathBuf>,
    /// The name of a prompt that the server listed.
    pub(super) prompt: Option<String>,
    /// The command that registers it anew, and the hook.
    pub(super) with_hook: String,
}

/// The configs of a client that could be read.
#[derive(Default)]
pub(super) struct Configs<'a>(Vec<&'a Config>);

impl Configs<'_> {
    /// What the first of them has that has anything there.
    pub(super) fn get(&self, pointer: &str) -> Option<&Value> {
        self.0.iter().find_map(|config| config.value.pointer(pointer))
    }
}

/// A server that a client knows, and what it takes to judge it.
pub(super) struct Case<'a> {
    pub(super) examination: &'a Examination,
    pub(super) client: Client,
    pub(super) server: &'a Registration,
    pub(super) files: &'a Files<'a>,
    pub(super) configs: &'a Configs<'a>,
}

impl Examination {
    /// What is to be said of the servers that a client knows, and those of them that are ours.
    pub(super) fn servers(&self, files: &Files) -> (Vec<Finding>, Vec<Settled>) {
        let client = files.client;
        let mut findings = Vec::new();
        let mut configs = Configs::default();
        let mut servers: Vec<Registration> = Vec::new();
        // In the order in which one goes before another of the same name.
        for scope in [Scope::Local, Scope::Project, Scope::User] {
            for read in files.configs(scope) {
                let read = read.map_err(Clone::clone);
                match read.and_then(|config| Ok((config.registrations(scope, &self.surroundings)?, config))) {
                    Ok((registrations, config)) => {
                        servers.extend(registrations);
                        configs.0.push(config);
                    }
                    // The file of the user's is read for both scopes.
                    Err(_) if scope == Scope::Local => {}
                    Err(error) => findings.push(unreadable(client, &error)),
                }
            }
        }
        let (of_the_name, others): (Vec<_>, Vec<_>) = servers.into_iter().partition(|server| server.name == SERVER);
        let ours: Vec<Registration> = others.into_iter().filter(|server| self.is_ours(client, server)).collect();
        let case = |server| Case { examination: self, client, server, files, configs: &configs };
        let mut settled = Vec::new();
        if let Some((first, hidden)) = of_the_name.split_first() {
            let (found, tried) = case(first).examined();
            findings.extend(found);
            settled.extend(tried);
            findings.extend(hidden.iter().map(|server| case(server).hidden_by(first)));
            findings.extend(ours.iter().map(|server| case(server).there_as_well()));
        } else {
            for server in &ours {
                findings.push(case(server).under_another_name());
                let (found, tried) = case(server).examined();
                findings.extend(found);
                settled.extend(tried);
            }
        }
        (findings, settled)
    }

    /// Whether a server is this program, by its file or its name.
    fn is_ours(&self, client: Client, server: &Registration) -> bool {
        let Some(command) = &server.command else { return false };
        let environment = start::passed_on(client, &self.environment, &self.surroundings.project);
        server.is_ours()
            || start::find(command, &environment, &self.surroundings.project)
                .is_ok_and(|found| is_same_file(&found, &self.program))
    }
}

impl Case<'_> {
    /// All that there is to say of the server; and the server, unless it is another's.
    fn examined(&self) -> (Vec<Finding>, Option<Settled>) {
        let with_hook = reinstall(self.client, self.server, " --hook");
        let mut settled = Settled { folders: Vec::new(), prompt: None, with_hook };
        let mut findings = self.faults();
        if !findings.is_empty() {
            return (findings, Some(settled));
        }
        let Some(command) = &self.server.command else { return (vec![self.at_an_address()], None) };
        findings.extend(self.switched_off());
        findings.extend(self.approval());
        if let Err(finding) = self.tried(command, &mut findings, &mut settled) {
            findings.push(finding);
        }
        (findings, Some(settled))
    }

    /// Starts it as the client would, and adds what there is to say; what keeps it from being tried to the end, is the error.
    fn tried(&self, command: &str, findings: &mut Vec<Finding>, settled: &mut Settled) -> Result<(), Finding> {
        let launch = self.launch(command)?;
        findings.extend(self.found_elsewhere(&launch));
        let (folders, found) = self.folders(&launch);
        findings.extend(found);
        if folders.is_empty() {
            findings.extend(self.lost_variables(&launch));
        }
        let missing: Vec<String> =
            folders.iter().filter(|folder| !folder.is_dir()).map(|folder| folder.display().to_string()).collect();
        settled.folders = folders;
        self.check_harmless(&launch)?;
        let mut visit = self.visit(&launch)?;
        // What is said of a folder already, is not said again.
        let is_said = |text: &String| missing.iter().any(|folder| text.contains(folder));
        visit.problems.retain(|problem| !is_said(problem));
        visit.said = visit.said.filter(|said| !is_said(said));
        findings.extend(Answered { case: self, program: &launch.program, visit: &visit }.findings());
        settled.prompt = visit.first;
        Ok(())
    }

    /// What is written there otherwise than the client wants it.
    fn faults(&self) -> Vec<Finding> {
        let remedy = format!("correct it, or run {}", again(self.client, self.server));
        let fault = |fault| self.broken(format!("{}: {fault}", self.name())).remedy(&*remedy);
        self.server.faults.iter().map(fault).collect()
    }

    fn at_an_address(&self) -> Finding {
        let message = format!("{} is a server at an address, not this program", self.name());
        let remedy = format!("give it another name, or run {}", again(self.client, self.server));
        self.broken(message).remedy(remedy)
    }

    /// That the client takes another of the same name.
    fn hidden_by(&self, first: &Registration) -> Finding {
        let message =
            format!("`{SERVER}` is registered twice; here, the one of {} goes before this one", first.path.display());
        let remedy = format!("keep one of them: {} ends this one", uninstall(self.client, self.server.scope, SERVER));
        self.warning(message).remedy(remedy)
    }

    /// That we are registered under our name and under this one.
    fn there_as_well(&self) -> Finding {
        let name = self.name();
        let message = format!("this program is registered as {name} as well, so that each tool is there twice");
        self.warning(message).remedy(format!("take {name} out of the file"))
    }

    /// That we are registered under this name only.
    fn under_another_name(&self) -> Finding {
        let name = self.name();
        let message = format!(
            "this program is registered as {name}, not as `{SERVER}`, which the permissions and pages here speak of"
        );
        let remedy = format!("run {}, then take {name} out of the file", again(self.client, self.server));
        self.warning(message).remedy(remedy)
    }

    /// The name of the server, as it is shown.
    pub(super) fn name(&self) -> String {
        named(&self.server.name)
    }

    /// A finding at the place of the registration.
    pub(super) fn broken(&self, message: impl Into<String>) -> Finding {
        Finding::new(Some(self.client), Severity::Broken, message).at(&self.server.path, self.server.position)
    }

    /// The same of what works, but perhaps not always.
    pub(super) fn warning(&self, message: impl Into<String>) -> Finding {
        Finding { severity: Severity::Warning, ..self.broken(message) }
    }
}

//! Examines the entries for prompts in an agent's own menu.

use super::examination::{Examination, agent_finding, success_finding};
use crate::agents::{Agent, Finding, MenuLocation};
use crate::menus::{MenuPlan, MenuPrompts, MenuState};
use crate::prompt::{Diagnostic, Kind};
use crate::wording::{count, join_words};

/// Reports whether the menu has an entry for each of `prompts`, and why it lacks some or stays as
/// it is.
pub(super) fn examine(
    examination: &Examination,
    agent: &'static Agent,
    prompts: &MenuPrompts,
) -> Vec<Finding> {
    let Some(location) = MenuLocation::of(agent, &examination.system) else {
        return Vec::new();
    };
    let menus = &examination.menus;
    let is_selected = menus.agents.contains(&agent);
    let plan = match menus.plan(location, prompts, &examination.library_id) {
        Ok(plan) => plan,
        Err(error) if is_selected => return vec![agent_finding(agent, error)],
        // The user need not repair the menu of an agent that is not selected.
        Err(_) => return Vec::new(),
    };
    let mut findings = Vec::new();
    if is_selected {
        for warning in plan.warnings() {
            findings.push(agent_finding(agent, warning));
        }
    }
    match plan.state() {
        MenuState::Outdated => findings.push(agent_finding(agent, outdated_warning(&plan))),
        MenuState::UpToDate if is_selected => {
            let message = "its own menu has your prompts".to_owned();
            findings.push(success_finding(agent, message));
        }
        MenuState::Incomplete => {
            let message = "its own menu is not updated until all prompts can be read";
            let fix = "run `prompt-expander check`";
            findings.push(agent_finding(
                agent,
                Diagnostic::new(Kind::Warning, message, fix),
            ));
        }
        MenuState::UpToDate | MenuState::WithoutEntries => {}
    }
    findings
}

/// Returns the warning that a menu is not as it should be.
fn outdated_warning(plan: &MenuPlan) -> Diagnostic {
    let changes = [
        ("to add", plan.created()),
        ("to update", plan.updated()),
        ("to remove", plan.removed()),
    ];
    let mut parts = Vec::new();
    for (change, names) in changes {
        if !names.is_empty() {
            parts.push(format!("{} {change}", count(names.len(), "entry")));
        }
    }
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let message = format!("its own menu is out of date: {}", join_words(&parts, "and"));
    Diagnostic::new(Kind::Warning, message, "run `prompt-expander sync`")
        .in_file(&*plan.location.folder)
}

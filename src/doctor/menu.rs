//! Examines the entries for prompts in an agent's own menu.

use super::examination::{Examination, agent_finding, success_finding};
use crate::agents::{Agent, Finding};
use crate::menus::{MenuPlan, MenuPrompt};
use crate::prompt::{Diagnostic, Kind};
use crate::wording::{count, join_words};

/// Reports whether the menu has an entry for each of `prompts`, and why it lacks some.
pub(super) fn examine(
    examination: &Examination,
    agent: &'static Agent,
    prompts: &[MenuPrompt],
) -> Vec<Finding> {
    let is_shown = examination.menus.agents.contains(&agent);
    let prompts = if is_shown { prompts } else { &[] };
    let system = &examination.system;
    let plan = match MenuPlan::new(agent, prompts, system, &examination.library_id) {
        Some(Ok(plan)) => plan,
        Some(Err(error)) if is_shown => return vec![agent_finding(agent, error)],
        _ => return Vec::new(),
    };
    let mut findings = Vec::new();
    if is_shown {
        for warning in plan.warnings() {
            findings.push(agent_finding(agent, warning));
        }
    }
    if !plan.is_empty() {
        findings.push(agent_finding(agent, outdated_warning(&plan)));
    } else if is_shown {
        findings.push(success_finding(
            agent,
            "its own menu has your prompts".to_owned(),
        ));
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
            parts.push(format!("{} {change}", count(names.len(), "prompt")));
        }
    }
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let message = format!("its own menu is out of date: {}", join_words(&parts, "and"));
    Diagnostic::new(Kind::Warning, message, "run `prompt-expander sync`").in_file(&*plan.folder)
}

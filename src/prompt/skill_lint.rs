//! Warnings about skills that break the rules of agentskills.io, which agents enforce to different
//! degrees.

use super::diagnostic::Diagnostic;
use super::model::Prompt;
use crate::wording::{quoted, with_commas};

/// The maximum length of a skill's name, in characters.
const MAX_SKILL_NAME: usize = 64;

/// The maximum length of a skill's description, in characters.
const MAX_SKILL_DESCRIPTION: usize = 1024;

/// Returns a warning for each rule of agentskills.io that a skill breaks, with what agents do with
/// such a file. Returns none for prompts that aren't skills.
pub(super) fn skill_warnings(prompt: &Prompt) -> Vec<Diagnostic> {
    // Only skills tell the agent which folder they are in.
    let is_skill = prompt.has_base_directory_line;
    if !is_skill {
        return Vec::new();
    }
    let mut warnings = name_warnings(prompt);
    warnings.extend(description_warning(prompt));
    warnings
}

/// Warns about a `name` that is missing, differs from the folder's name, or isn't allowed. One name
/// can get both of the last two warnings.
fn name_warnings(prompt: &Prompt) -> Vec<Diagnostic> {
    // A prompt is called by the name of its folder, so the key `name` is among those without effect.
    let folder = prompt.name.rsplit('/').next().unwrap_or_default();
    let mut ignored_keys = prompt.ignored_keys.iter();
    let fix = format!("write `name: {}`", to_skill_name(folder));
    let Some(name_key) = ignored_keys.find(|ignored| ignored.key == "name") else {
        let message = "the skill has no `name`, so opencode does not load it";
        return vec![Diagnostic::warning(None, message, fix)];
    };
    let name = name_key.value.trim_matches('"'); // as in the file, so it may have quotes
    let mut warnings = Vec::new();
    if name != folder {
        let message = format!(
            "the skill's `name` is {}, but its folder is {}: Codex knows only the `name`, and this program only the folder",
            quoted(name),
            quoted(folder)
        );
        warnings.push(Diagnostic::warning(Some(name_key.position), message, &fix));
    }
    if !is_skill_name(name) {
        let message = format!(
            "some agents do not load or cannot call the skill {}: a name has lower-case letters, digits and single hyphens, at most {MAX_SKILL_NAME} in all",
            quoted(name)
        );
        let fix_of_both = format!("{fix}, and give the folder the same name");
        warnings.push(Diagnostic::warning(
            Some(name_key.position),
            message,
            fix_of_both,
        ));
    }
    warnings
}

/// Returns whether agentskills.io allows this name: at most 64 lower-case letters and digits of
/// ASCII, with single hyphens between them.
fn is_skill_name(name: &str) -> bool {
    name.len() <= MAX_SKILL_NAME && name == to_skill_name(name)
}

/// Makes a name that agentskills.io allows, except for its length: `a--b` becomes `a-b`. Returns
/// `…` if the text has no letters and digits of ASCII.
fn to_skill_name(text: &str) -> String {
    let lower_case = text.to_lowercase();
    let parts: Vec<&str> = lower_case
        .split(|letter: char| !letter.is_ascii_alphanumeric())
        .filter(|part| !part.is_empty())
        .collect();
    if parts.is_empty() {
        return "…".to_owned();
    }
    parts.join("-")
}

/// Warns about a `description` that is missing or too long.
fn description_warning(prompt: &Prompt) -> Option<Diagnostic> {
    let description = prompt.description.as_deref().unwrap_or_default();
    if prompt.is_description_derived {
        let message = "the skill has no `description`, so Codex, opencode and pi do not load it";
        let fix = "write `description: …` with what it does and when to use it";
        return Some(Diagnostic::warning(None, message, fix));
    }
    let length = description.chars().count();
    if length <= MAX_SKILL_DESCRIPTION {
        return None;
    }
    let message = format!(
        "the `description` has {} characters, so Codex does not load the skill",
        with_commas(length)
    );
    let fix = format!("shorten it to {}", with_commas(MAX_SKILL_DESCRIPTION));
    Some(Diagnostic::warning(None, message, fix))
}

#[cfg(test)]
mod tests {
    use crate::prompt::format::claude::parse_skill;
    use crate::prompt::format::testing::shown;
    use crate::prompt::{Diagnostic, Name};

    /// Returns the warnings about a skill in the folder `folder` with these keys.
    fn warnings(folder: &str, keys: &str) -> Vec<String> {
        let name = Name::new(&format!("team/{folder}")).unwrap();
        let prompt = parse_skill(&name, &format!("---\n{keys}\n---\nText.\n")).unwrap();
        let warnings: Vec<Diagnostic> = prompt.warnings();
        warnings.iter().map(shown).collect()
    }

    #[test]
    fn a_skill_has_the_name_of_its_folder_and_a_description() {
        assert!(warnings("pdf-2", "name: \"pdf-2\"\ndescription: D").is_empty());
        let differs = "2:1: the skill's `name` is `Other Name`, but its folder is `foo`: Codex knows only the `name`, and \
                       this program only the folder; write `name: foo`";
        let invalid = |name: &str, valid: &str| {
            format!(
                "2:1: some agents do not load or cannot call the skill `{name}`: a name has lower-case letters, \
                 digits and single hyphens, at most 64 in all; write `name: {valid}`, and give the folder the same name"
            )
        };
        for (length, count) in [(64, 0), (65, 1)] {
            let name = "a".repeat(length);
            assert_eq!(
                warnings(&name, &format!("name: {name}\ndescription: D")).len(),
                count
            );
        }
        for (folder, keys, want) in [
            (
                "foo",
                "name: Other Name\ndescription: D",
                vec![differs.to_owned(), invalid("Other Name", "foo")],
            ),
            ("a--b", "name: a--b\ndescription: D", vec![invalid("a--b", "a-b")]),
            ("Foo", "name: Foo\ndescription: D", vec![invalid("Foo", "foo")]),
            (
                "foo",
                "description: D",
                vec!["the skill has no `name`, so opencode does not load it; write `name: foo`".to_owned()],
            ),
            (
                "foo",
                "name: foo",
                vec!["the skill has no `description`, so Codex, opencode and pi do not load it; write \
                      `description: …` with what it does and when to use it".to_owned()],
            ),
            (
                "foo",
                &format!("name: foo\ndescription: {}", "d".repeat(1025)),
                vec!["the `description` has 1,025 characters, so Codex does not load the skill; shorten it to 1,024"
                    .to_owned()],
            ),
        ] {
            assert_eq!(warnings(folder, keys), want, "{folder}: {keys}");
        }
    }
}

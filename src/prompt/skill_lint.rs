//! Warnings about skills that break the rules of agentskills.io, which agents enforce to different
//! degrees.

use super::diagnostic::{Diagnostic, Position};
use super::format::yaml::{self, Value};
use super::model::{IgnoredKey, Prompt};
use super::skill_name::{MAX_SKILL_NAME, hyphenated, is_agentskills_name};
use crate::wording::{quoted, with_commas};

/// The maximum length of a skill's description, in characters.
const MAX_SKILL_DESCRIPTION: usize = 1024;

/// The maximum length of a skill's `compatibility`, in characters.
const MAX_SKILL_COMPATIBILITY: usize = 500;

/// Returns a warning for each rule of agentskills.io that a skill breaks, with what agents do with
/// such a file. A prompt that isn't a skill gets one only if it probably should be.
pub(super) fn skill_warnings(prompt: &Prompt) -> Vec<Diagnostic> {
    // Only skills tell the agent which folder they are in.
    let is_skill = prompt.has_base_directory_line;
    if !is_skill {
        return misnamed_skill_warning(prompt).into_iter().collect();
    }
    let mut warnings = Vec::new();
    warnings.extend(name_warning(prompt));
    warnings.extend(description_warning(prompt));
    warnings.extend(compatibility_warning(prompt));
    warnings
}

/// Returns a warning about a `name` that is missing, differs from the folder's name, or isn't
/// allowed.
fn name_warning(prompt: &Prompt) -> Option<Diagnostic> {
    // A prompt is called by the name of its folder, so the key `name` is among those without
    // effect.
    let folder = last_segment(&prompt.name);
    let Some(name_key) = find_key(prompt, "name") else {
        return Some(missing_name_warning(folder));
    };
    let name = text_of(name_key);
    if name != folder {
        return Some(different_name_warning(&name, folder, name_key.position));
    }
    if !is_agentskills_name(folder) {
        return Some(forbidden_name_warning(folder, name_key.position));
    }
    None
}

fn missing_name_warning(folder: &str) -> Diagnostic {
    let message = "the skill has no `name`, so opencode does not load it";
    Diagnostic::warning(None, message, name_fix(folder))
}

fn different_name_warning(name: &str, folder: &str, position: Position) -> Diagnostic {
    let message = format!(
        "the skill's `name` is {}, but its folder is {}: Codex knows only the `name`, and this program only the folder",
        quoted(name),
        quoted(folder)
    );
    Diagnostic::warning(Some(position), message, name_fix(folder))
}

/// Returns a warning about a name that agentskills.io doesn't allow.
fn forbidden_name_warning(name: &str, position: Position) -> Diagnostic {
    let message = format!(
        "some agents do not load or cannot call the skill {}: a name has lower-case letters, digits and single hyphens, and at most {MAX_SKILL_NAME} characters",
        quoted(name)
    );
    Diagnostic::warning(Some(position), message, name_fix(name))
}

/// Returns the fix that gives a skill and its folder the same name, which agentskills.io allows.
fn name_fix(folder: &str) -> String {
    if is_agentskills_name(folder) {
        return format!("write `name: {folder}`");
    }
    let name = hyphenated(folder);
    if is_agentskills_name(&name) {
        return format!("write `name: {name}`, and give the folder the same name");
    }
    let choice = if name.is_empty() {
        "a name with letters from `a` to `z`"
    } else {
        "a shorter name"
    };
    format!("choose {choice}, write it as `name: …`, and give the folder the same name")
}

/// Returns the last segment of a name: `pdf` for `team/pdf`.
fn last_segment(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or_default()
}

/// Returns a key of the frontmatter that has no effect in this program.
fn find_key<'p>(prompt: &'p Prompt, key: &str) -> Option<&'p IgnoredKey> {
    prompt
        .ignored_keys
        .iter()
        .find(|ignored| ignored.key == key)
}

/// Returns the value of a key without the quotes and escapes that it may have in the file.
fn text_of(ignored: &IgnoredKey) -> String {
    match yaml::parse_value(&ignored.value) {
        Some(Value::Scalar { text, .. }) => text,
        _ => ignored.value.clone(),
    }
}

/// Warns about a `description` that is missing or too long.
fn description_warning(prompt: &Prompt) -> Option<Diagnostic> {
    if prompt.is_description_derived {
        let message = "the skill has no `description`, so Codex, opencode and pi do not load it";
        let fix = "write `description: …` with what it does and when to use it";
        return Some(Diagnostic::warning(None, message, fix));
    }
    let description = prompt.description.as_deref().unwrap_or_default();
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

/// Warns about a `compatibility` that is too long.
fn compatibility_warning(prompt: &Prompt) -> Option<Diagnostic> {
    let compatibility = find_key(prompt, "compatibility")?;
    let length = text_of(compatibility).chars().count();
    if length <= MAX_SKILL_COMPATIBILITY {
        return None;
    }
    let message = format!("the `compatibility` of the skill has {length} characters");
    let fix = format!("shorten it to {MAX_SKILL_COMPATIBILITY}, which agentskills.io allows");
    Some(Diagnostic::warning(
        Some(compatibility.position),
        message,
        fix,
    ))
}

/// Warns about a file such as `pdf/skill.md` that is a prompt, but has the key `name` of a skill.
fn misnamed_skill_warning(prompt: &Prompt) -> Option<Diagnostic> {
    let is_in_folder = prompt.name.contains('/');
    let is_called_skill = last_segment(&prompt.name).eq_ignore_ascii_case("skill");
    if !is_in_folder || !is_called_skill || find_key(prompt, "name").is_none() {
        return None;
    }
    Some(Diagnostic::warning(
        None,
        LOWER_CASE_SKILL,
        LOWER_CASE_SKILL_FIX,
    ))
}

/// The message for a file such as `pdf/skill.md`.
pub(crate) const LOWER_CASE_SKILL: &str =
    "the file is not read as a skill, because only `SKILL.md` in upper case is one";

/// The fix for a file such as `pdf/skill.md`.
pub(crate) const LOWER_CASE_SKILL_FIX: &str = "rename it to `SKILL.md`";

#[cfg(test)]
mod tests {
    use crate::prompt::format::claude::parse_skill;
    use crate::prompt::format::testing::shown;
    use crate::prompt::{Diagnostic, Name, Prompt};

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
        let rename = "write it as `name: …`, and give the folder the same name";
        let forbidden = |name: &str| {
            format!(
                "some agents do not load or cannot call the skill `{name}`: a name has lower-case letters, \
                 digits and single hyphens, and at most 64 characters"
            )
        };
        let invalid = |name: &str, valid: &str| {
            format!(
                "2:1: {}; write `name: {valid}`, and give the folder the same name",
                forbidden(name)
            )
        };
        let long = "a".repeat(70);
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
                vec![differs.to_owned()],
            ),
            ("a--b", "name: a--b\ndescription: D", vec![invalid("a--b", "a-b")]),
            ("Foo", "name: Foo\ndescription: D", vec![invalid("Foo", "foo")]),
            (
                "Foo_Bar",
                "name: foo\ndescription: D",
                vec!["2:1: the skill's `name` is `foo`, but its folder is `Foo_Bar`: Codex knows only the `name`, and this \
                      program only the folder; write `name: foo-bar`, and give the folder the same name"
                    .to_owned()],
            ),
            (
                "foo",
                &format!("name: foo\ndescription: D\ncompatibility: {}", "c".repeat(501)),
                vec!["4:1: the `compatibility` of the skill has 501 characters; shorten it to 500, which agentskills.io allows"
                    .to_owned()],
            ),
            (
                "foo",
                &format!("name: foo\ndescription: D\ncompatibility: {}", "c".repeat(500)),
                vec![],
            ),
            (
                "foo",
                "name: 'say \"hi\"'\ndescription: D",
                vec!["2:1: the skill's `name` is `say \"hi\"`, but its folder is `foo`: Codex knows only the `name`, and this \
                      program only the folder; write `name: foo`"
                    .to_owned()],
            ),
            (
                &long,
                &format!("name: {long}\ndescription: D"),
                vec![format!("2:1: {}; choose a shorter name, {rename}", forbidden(&format!("{}…", &long[..60])))],
            ),
            (
                "要約",
                "name: 要約\ndescription: D",
                vec![format!(
                    "2:1: {}; choose a name with letters from `a` to `z`, {rename}",
                    forbidden("要約")
                )],
            ),
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

    #[test]
    fn a_prompt_with_the_name_of_a_skill_in_lower_case_is_named() {
        for (name, keys, count) in [
            ("pdf/skill", "name: pdf", 1),
            ("pdf/Skill", "name: pdf", 1),
            ("skill", "name: pdf", 0),
            ("git/skill", "title: S", 0),
        ] {
            let file = format!("---\n{keys}\ndescription: D\n---\nText.\n");
            let prompt = Prompt::parse(Name::new(name).unwrap(), file.as_bytes()).unwrap();
            assert_eq!(prompt.warnings().len(), count, "{name}: {keys}");
        }
    }
}

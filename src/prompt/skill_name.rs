//! The names that prompts have as skills. agentskills.io allows only lowercase letters from `a` to
//! `z`, digits, and single hyphens between them.

use super::name::{Name, fold_name};
use super::revision::sha256;
use std::collections::{BTreeMap, HashSet};

/// The maximum length of the name of a skill in characters (agentskills.io, "name").
pub(super) const MAX_SKILL_NAME: usize = 64;

/// The number of hexadecimal digits of a prompt name's hash in the name of a skill.
const HASH_DIGITS: usize = 8;

/// A prompt with the name of its skill, unless another prompt gets that name.
struct SkillCandidate<'n> {
    prompt: &'n Name,
    name: String,
    /// Whether the skill's name differs from the prompt's.
    is_changed: bool,
}

/// Returns the name of each prompt's skill. No two of them differ only in letter case, because some
/// file systems ignore it.
///
/// A name that `takes_name` accepts stays as it is. Every other one is changed: `Git/New commit` to
/// `git-new-commit`. If several prompts get the same name, the prompt with exactly this name keeps
/// it; if there is none, the first in byte order does. The names of the others get a hash at the
/// end. A prompt has no skill if even its name with a hash is taken.
pub fn skill_names<'n>(
    prompts: impl IntoIterator<Item = &'n Name>,
    takes_name: impl Fn(&str) -> bool,
) -> BTreeMap<&'n Name, String> {
    let mut candidates = Vec::new();
    for prompt in prompts {
        let name = skill_name(prompt, &takes_name);
        candidates.push(SkillCandidate {
            prompt,
            is_changed: name != prompt.as_str(),
            name,
        });
    }
    // Unchanged names come first, so they win.
    candidates.sort_by_key(|candidate| (candidate.is_changed, candidate.prompt));
    let mut names = BTreeMap::new();
    let mut taken = HashSet::new();
    let mut losers = Vec::new();
    for candidate in candidates {
        if taken.insert(fold_name(&candidate.name)) {
            names.insert(candidate.prompt, candidate.name);
        } else {
            losers.push(candidate.prompt);
        }
    }
    for prompt in losers {
        let name = name_with_hash(prompt);
        if taken.insert(name.clone()) {
            names.insert(prompt, name);
        }
    }
    names
}

/// Returns the name of a prompt's skill, unless another prompt has the same.
fn skill_name(prompt: &str, takes_name: impl Fn(&str) -> bool) -> String {
    let is_short = prompt.chars().count() <= MAX_SKILL_NAME;
    if is_short && !prompt.contains('/') && takes_name(prompt) {
        return prompt.to_owned();
    }
    let words = hyphenated(prompt);
    if words.is_empty() || words.len() > MAX_SKILL_NAME {
        name_with_hash(prompt)
    } else {
        words
    }
}

/// Returns the name of a prompt's skill with a hash of the prompt's name: `git-commit-9f86d081`, or
/// `prompt-9f86d081` for a name without any letter from `a` to `z` or digit.
fn name_with_hash(prompt: &str) -> String {
    let hash = sha256(prompt.as_bytes());
    let mut start = hyphenated(prompt);
    if start.is_empty() {
        start.push_str("prompt");
    }
    start.truncate(MAX_SKILL_NAME - HASH_DIGITS - "-".len()); // it is ASCII
    format!("{}-{}", start.trim_end_matches('-'), &hash[..HASH_DIGITS])
}

/// Returns whether agentskills.io allows this name: at most 64 lowercase letters and digits of
/// ASCII, with single hyphens between them.
pub fn is_agentskills_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= MAX_SKILL_NAME && name == hyphenated(name)
}

/// Returns a name in lowercase, with one hyphen for each run of other characters within it.
pub(super) fn hyphenated(name: &str) -> String {
    let lowercase = name.to_lowercase();
    let words = lowercase.split(|letter: char| !letter.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the names of the skills of these prompts, sorted by prompt.
    fn names(prompts: &[&str], takes_name: fn(&str) -> bool) -> Vec<String> {
        let prompts: Vec<Name> = prompts
            .iter()
            .map(|name| Name::new(name).unwrap())
            .collect();
        skill_names(&prompts, takes_name).into_values().collect()
    }

    fn takes_none(_: &str) -> bool {
        false
    }

    fn takes_all(_: &str) -> bool {
        true
    }

    #[test]
    fn the_name_of_a_skill_is_that_of_the_prompt_with_hyphens() {
        let long = "a".repeat(64);
        let longer = format!("{}-{}", "a".repeat(54), "b".repeat(10));
        let cut = format!("{}-{}", "a".repeat(54), &sha256(longer.as_bytes())[..8]);
        for (prompt, skill) in [
            ("research", "research"),
            ("git/commit", "git-commit"),
            ("Git/New_commit  (v2)!", "git-new-commit-v2"),
            ("--x--", "x"),
            ("Über", "ber"),
            ("要約", "prompt-e41f811e"),
            (&long, &long),
            (&longer, &cut),
        ] {
            assert_eq!(names(&[prompt], takes_none), [skill], "{prompt}");
        }
        assert_eq!(names(&["要約", "a/b"], takes_all), ["a-b", "要約"]);
        assert_eq!(names(&[&longer], takes_all), [cut]);
    }

    #[test]
    fn agentskills_io_allows_words_of_lowercase_letters_and_digits_with_single_hyphens() {
        let longest = "a".repeat(64);
        for name in ["a", "3-d", "git-commit", &longest] {
            assert!(is_agentskills_name(name), "{name}");
        }
        let too_long = "a".repeat(65);
        for name in ["", "-x", "x-", "a--b", "A", "a_b", "é", "…", &too_long] {
            assert!(!is_agentskills_name(name), "{name}");
        }
    }

    #[test]
    fn a_name_that_several_prompts_would_have_is_that_of_one() {
        let with_hash = |name: &str, prompt: &str| {
            let hash = sha256(prompt.as_bytes());
            format!("{name}-{}", &hash[..8])
        };
        assert_eq!(
            names(&["Git/commit", "git/commit", "git-commit"], takes_none),
            [
                with_hash("git-commit", "Git/commit"),
                "git-commit".to_owned(),
                with_hash("git-commit", "git/commit"),
            ]
        );
        assert_eq!(
            names(&["x y", "x_y"], takes_none),
            ["x-y".to_owned(), with_hash("x-y", "x_y")]
        );
        assert_eq!(
            names(&["Review", "review"], takes_all),
            ["Review".to_owned(), with_hash("review", "review")]
        );
    }
}

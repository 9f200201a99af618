//! The names that prompts have as skills. agentskills.io allows only lowercase letters from `a` to
//! `z`, digits, and single hyphens between them.

use super::name::Name;
use super::revision::sha256;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// The maximum length of the name of a skill in bytes (agentskills.io, "name").
const MAX_SKILL_NAME: usize = 64;

/// The number of hexadecimal digits of a prompt name's hash in the name of a skill.
const HASH_DIGITS: usize = 8;

/// Returns the name of each prompt's skill. All of them differ.
///
/// A name that `takes_name` accepts stays as it is. Every other one is changed: `Git/New commit` to
/// `git-new-commit`. If that gives several prompts the same name, the prompt that is called so
/// keeps it, or else the first one in byte order; the names of the others get a hash at the end. If
/// even that is the name of another prompt, a prompt has no skill.
pub fn skill_names<'n>(
    prompts: impl IntoIterator<Item = &'n Name>,
    takes_name: impl Fn(&str) -> bool,
) -> BTreeMap<&'n Name, String> {
    let mut owners: BTreeMap<String, &Name> = BTreeMap::new();
    let mut others = Vec::new();
    for prompt in prompts {
        let skill = if takes_name(prompt) {
            prompt.to_string()
        } else {
            skill_name(prompt)
        };
        match owners.entry(skill) {
            Entry::Vacant(vacant) => {
                vacant.insert(prompt);
            }
            Entry::Occupied(mut owner) if comes_first(prompt, owner.get(), owner.key()) => {
                others.push(owner.insert(prompt));
            }
            Entry::Occupied(_) => others.push(prompt),
        }
    }
    others.sort();
    for prompt in others {
        owners.entry(name_with_hash(prompt)).or_insert(prompt);
    }
    let with_names = owners.into_iter();
    with_names.map(|(skill, prompt)| (prompt, skill)).collect()
}

/// Returns whether a prompt has a better claim to the name of a skill than another one.
fn comes_first(prompt: &Name, other: &Name, skill: &str) -> bool {
    prompt.as_str() == skill || (other.as_str() != skill && prompt < other)
}

/// Returns the name of a prompt's skill, unless another prompt has the same.
fn skill_name(prompt: &str) -> String {
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

/// Returns a name in lowercase, with one hyphen for each run of other characters within it.
fn hyphenated(name: &str) -> String {
    let mut words = String::new();
    for character in name.chars() {
        if character.is_ascii_alphanumeric() {
            words.push(character.to_ascii_lowercase());
        } else if !words.is_empty() && !words.ends_with('-') {
            words.push('-');
        }
    }
    if words.ends_with('-') {
        words.pop();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(skill_name(prompt), skill, "{prompt}");
        }
    }

    #[test]
    fn a_name_that_several_prompts_would_have_is_that_of_one() {
        let prompts = [
            "Git/commit",
            "git/commit",
            "git-commit",
            "要約",
            "x y",
            "x_y",
        ]
        .map(|name| Name::new(name).unwrap());
        let names = |takes_name: fn(&str) -> bool| {
            skill_names(&prompts, takes_name)
                .into_values()
                .collect::<Vec<_>>()
        };
        let capital = &sha256(b"Git/commit")[..8];
        let slash = &sha256(b"git/commit")[..8];
        let low = &sha256(b"x_y")[..8];
        let changed = [
            format!("git-commit-{capital}"),
            "git-commit".to_owned(),
            format!("git-commit-{slash}"),
            "x-y".to_owned(),
            format!("x-y-{low}"),
        ];
        assert_eq!(names(|_| false)[..5], changed);
        assert_eq!(names(|_| false)[5], "prompt-e41f811e");
        assert_eq!(
            names(|name| !name.contains('/'))[3..],
            ["x y", "x_y", "要約"]
        );
    }
}

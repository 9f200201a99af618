//! `skills/list`, `skills/get` and the `SKILL.md` files of `resources/read`: the prompts as skills
//! (SEP-2640), for clients that show skills in their menu.
//!
//! Clients check the digest of a `SKILL.md`, and forget the user's approval when it changes. So its
//! text depends only on the prompt, and on the names of the other prompts, which may need the same
//! name as a skill.

use super::context::Context;
use super::era::VOLATILE;
use super::failure::Failure;
use super::pagination::Page;
use super::reply::Outcome;
use super::resources::{self, MIME_TYPE, listed_description};
use crate::jsonrpc::Json;
use crate::library::{Found, View};
use crate::mcp;
use crate::prompt::{Name, SkillBody, Summary, frontmatter_value, sha256, skill_names};
use crate::wording::{in_backticks, quoted};
use serde_json::{Value, json};

const SCHEME: &str = "skill://";
const FILE_NAME: &str = "SKILL.md";

/// Words that some YAML parsers take for something else than a string.
const YAML_WORDS: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];

/// A prompt that may be served as a skill.
struct SkillPrompt {
    /// The key by which skills are sorted: the position of the prompt's layer, then its name.
    key: String,
    /// The name of the skill.
    name: String,
    found: Found,
}

/// A skill with its only file.
struct SkillText {
    frontmatter: mcp::SkillFrontmatter,
    /// The text of the `SKILL.md`.
    text: String,
}

/// Handles `skills/list`. Lists the skills by layer, because Claude Code shows only the first 100.
///
/// # Errors
/// Fails if the cursor is invalid.
pub(super) fn list(
    context: &Context,
    params: mcp::PaginatedParams<'_>,
) -> Result<mcp::ListSkillsResult, Failure> {
    let size = context.shared.settings.page_size;
    let page = Page::from_cursor("skills", size, params.cursor)?;
    let prompts = skill_prompts(&context.view());
    let (skills, next_cursor) = page.collect(
        &prompts,
        |prompt| &prompt.key,
        |prompt| Some(entry(skill_text(prompt)?)),
    );
    Ok(mcp::ListSkillsResult {
        skills,
        next_cursor,
    })
}

/// Handles `skills/get`.
///
/// # Errors
/// Fails if no skill has this URI.
pub(super) fn get(context: &Context, params: mcp::ResourceParams<'_>) -> Result<Value, Failure> {
    let Some(skill) = find(&context.view(), params.uri) else {
        let text = format!("no skill {}; skills/list shows all", quoted(params.uri));
        return Err(Failure::invalid_params(text).with_data(json!({ "uri": params.uri })));
    };
    Ok(json!({ "skill": entry(skill) }))
}

/// Handles `resources/read`, of a `SKILL.md` or of a prompt.
///
/// # Errors
/// Fails if nothing has this URI, or if the file of the prompt can't be read as text.
pub(super) fn read(context: &Context, params: mcp::ResourceParams<'_>) -> Result<Outcome, Failure> {
    let uri = params.uri;
    if !context.shared.settings.skills || !uri.starts_with(SCHEME) {
        return resources::read(context, params);
    }
    let Some(SkillText { text, .. }) = find(&context.view(), uri) else {
        return Err(resources::not_found(uri));
    };
    let contents = json!({ "contents": [{ "uri": uri, "mimeType": MIME_TYPE, "text": text }] });
    let result = Json::from_text(contents.to_string());
    Ok(Outcome::Now(context.era.result(result, Some(VOLATILE))))
}

/// Returns the prompts that may be skills, in the order of their keys. Leaves out those that an
/// agent shows itself, and folders with a `SKILL.md`, because they may have other files.
fn skill_prompts(view: &View) -> Vec<SkillPrompt> {
    let mut found = view.list().found;
    found.retain(|found| !found.layer.is_of_agent() && !is_skill_folder(found));
    let prompt_names = found.iter().map(|found| &found.name);
    let mut names = skill_names(prompt_names, |_| false); // all follow the rule of agentskills.io
    let mut prompts = Vec::new();
    for found in &found {
        if let Some(name) = names.remove(&found.name) {
            prompts.push(SkillPrompt {
                key: format!("{:02}{}", found.layer.rank(), found.name),
                name,
                found: found.clone(),
            });
        }
    }
    prompts.sort_by(|a, b| a.key.cmp(&b.key));
    prompts
}

fn is_skill_folder(found: &Found) -> bool {
    let file = found.location().file;
    file.is_some_and(|file| file.ends_with(FILE_NAME))
}

/// Finds the skill with a URI.
fn find(view: &View, uri: &str) -> Option<SkillText> {
    let prompts = skill_prompts(view);
    let prompt = prompts
        .iter()
        .find(|prompt| skill_uri(&prompt.name) == uri)?;
    skill_text(prompt)
}

fn skill_uri(name: &str) -> String {
    format!("{SCHEME}{name}/{FILE_NAME}")
}

/// Returns the entry of a skill for `skills/list` and `skills/get`.
fn entry(skill: SkillText) -> mcp::Skill {
    let uri = skill_uri(&skill.frontmatter.name);
    mcp::Skill {
        uri: uri.clone(),
        frontmatter: skill.frontmatter,
        resources: [mcp::SkillFile {
            uri,
            digest: format!("sha256:{}", sha256(skill.text.as_bytes())),
            size: skill.text.len(),
        }],
    }
}

/// Returns the skill of a prompt, or `None` if the prompt is broken or an unedited draft.
fn skill_text(prompt: &SkillPrompt) -> Option<SkillText> {
    let SkillPrompt { name, found, .. } = prompt;
    let summary = found.info().summary.ok()?;
    if summary.is_unedited_draft {
        return None;
    }
    let body = if found.layer.is_from_server() {
        None // a list must not wait for the text of each prompt
    } else {
        found.prompt().ok()?.skill_body()
    };
    let description = listed_description(found, summary.description.as_deref());
    Some(compose(name, &found.name, &description, &summary, body))
}

/// Composes a `SKILL.md`. Without a `body`, it tells the model to call `expand_prompt`.
fn compose(
    name: &str,
    prompt: &Name,
    description: &str,
    summary: &Summary,
    body: Option<SkillBody>,
) -> SkillText {
    let SkillBody { text, arguments } = body.unwrap_or_else(|| pointer(prompt));
    let description = frontmatter_value(description);
    let frontmatter = mcp::SkillFrontmatter {
        name: name.to_owned(),
        description: if description.is_empty() {
            name.to_owned()
        } else {
            description
        },
        argument_hint: frontmatter_value(&summary.argument_hint()),
        arguments,
        disable_model_invocation: true,
    };
    SkillText {
        text: format!("---\n{}---\n{text}", to_yaml(&frontmatter)),
        frontmatter,
    }
}

/// Returns the body of a skill for a prompt that only this server can expand.
fn pointer(prompt: &Name) -> SkillBody {
    let name = in_backticks(prompt);
    SkillBody {
        text: format!(
            "Call the tool `expand_prompt` with {name} as `command` and the text below as \
             `input`, and do what it returns:\n$ARGUMENTS\n"
        ),
        arguments: Vec::new(),
    }
}

/// Formats frontmatter so that all YAML parsers read the same values: one line for each key, and no
/// escapes.
fn to_yaml(frontmatter: &mcp::SkillFrontmatter) -> String {
    let name = &frontmatter.name;
    let mut yaml = if is_plain_in_yaml(name) {
        format!("name: {name}\n")
    } else {
        format!("name: \"{name}\"\n")
    };
    yaml += &format!("description: \"{}\"\n", frontmatter.description);
    if !frontmatter.argument_hint.is_empty() {
        yaml += &format!("argument-hint: \"{}\"\n", frontmatter.argument_hint);
    }
    if !frontmatter.arguments.is_empty() {
        let names = frontmatter.arguments.join("\", \"");
        yaml += &format!("arguments: [\"{names}\"]\n");
    }
    yaml + "disable-model-invocation: true\n"
}

/// Returns whether the name of a skill needs no quotes: YAML takes it for neither a number, a date
/// nor a boolean.
fn is_plain_in_yaml(name: &str) -> bool {
    !name.starts_with(|first: char| first.is_ascii_digit()) && !YAML_WORDS.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::Prompt;

    /// Returns the skill of a prompt file.
    fn skill(name: &str, file: &str) -> SkillText {
        let name = Name::new(name).unwrap();
        let prompt = Prompt::parse(name.clone(), file.as_bytes()).unwrap();
        let summary = prompt.summary();
        let description = summary.description.clone().unwrap_or_default();
        compose(&name, &name, &description, &summary, prompt.skill_body())
    }

    #[test]
    fn the_bytes_of_a_skill_stay_the_same() {
        let file = "---\ndescription: Research a topic and cite sources\n---\n\
                    Research the topic below and cite your sources.\n\nTopic:\n{{input}}\n";
        let [file] = entry(skill("research", file)).resources;
        let digest = "sha256:5592ae6d3a3f3d35ed5c130dfa59e53de62f88353405c0283e59113d0fe7cf90";
        assert_eq!((file.digest.as_str(), file.size), (digest, 195));
        assert_eq!(file.uri, "skill://research/SKILL.md");
    }

    #[test]
    fn the_frontmatter_is_read_alike_by_all_parsers() {
        for (name, file, want) in [
            (
                "12",
                "---\ndescription: 'Say \"a\\b\" -----, &x & R&D'\narguments: [a, b]\nwords: true\n---\n{{a}} {{b}}",
                "name: \"12\"\ndescription: \"Say 'a/b' --, & x & R&D\"\nargument-hint: \"[a] [b]\"\n\
                 arguments: [\"a\", \"b\"]\ndisable-model-invocation: true\n---\n$a $b\n",
            ),
            (
                "on",
                "---\ndescription: \"\\u202e\"\narguments: [{name: a, default: x}, {name: b, required: true}]\n---\n{{a}} {{b}}",
                "name: \"on\"\ndescription: \"on\"\nargument-hint: \"[a] <b>\"\ndisable-model-invocation: true\n---\n\
                 Call the tool `expand_prompt` with `on` as `command` and the text below as `input`, \
                 and do what it returns:\n$ARGUMENTS\n",
            ),
        ] {
            let SkillText { text, frontmatter } = skill(name, file);
            assert_eq!(text, format!("---\n{want}"));
            let document = yaml_rust2::YamlLoader::load_from_str(want.split("---").next().unwrap());
            let yaml = &document.unwrap()[0];
            let json = serde_json::to_value(frontmatter).unwrap();
            assert_eq!(
                yaml.as_hash().unwrap().len(),
                json.as_object().unwrap().len()
            );
            for (key, value) in json.as_object().unwrap() {
                let own = &yaml[key.as_str()];
                assert_eq!(own.as_str(), value.as_str(), "{key}");
                assert_eq!(own.as_bool(), value.as_bool(), "{key}");
            }
        }
    }
}

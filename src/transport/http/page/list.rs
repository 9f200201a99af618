//! The list: what can be chosen, and the prompts that match.

use super::text::{Text, command, message as message_text, path_of, sentence};
use crate::library::View;
use crate::report::{self, BUILT_IN, List, Listed, Problem};
use crate::wording::{count, quoted, thousands};
use maud::{Markup, html};
use std::collections::BTreeMap;

/// How many prompts are shown at once. The next ones follow as the end comes near, or on another page.
const ROWS: usize = 200;

/// How many choices of a kind, and how many problems, are shown.
const MAX_CHOICES: usize = 100;
const MAX_PROBLEMS: usize = 100;

/// What of the library is shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Filter {
    pub(super) query: Option<String>,
    layer: Option<String>,
    folder: Option<String>,
    tag: Option<String>,
    /// How many prompts come before the first that is shown.
    from: usize,
    /// How many are shown.
    rows: Option<usize>,
}

impl Filter {
    /// The filter of an address. Names that it does not have are ignored, as on any page.
    pub(super) fn of(query: &str) -> Filter {
        let mut filter = Filter::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let value = Some(value.into_owned()).filter(|value| !value.trim().is_empty());
            match &*name {
                "query" => filter.query = value,
                "layer" => filter.layer = value,
                "folder" => filter.folder = value.map(|folder| folder.trim_matches('/').to_owned()),
                "tag" => filter.tag = value,
                "from" => filter.from = value.and_then(|value| value.parse().ok()).unwrap_or(0),
                "count" => filter.rows = value.and_then(|value| value.parse().ok()),
                _ => {}
            }
        }
        filter
    }

    fn fields(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let fields = [("query", &self.query), ("layer", &self.layer), ("folder", &self.folder), ("tag", &self.tag)];
        fields.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?)))
    }

    fn address(&self) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(self.fields());
        if self.from > 0 {
            query.append_pair("from", &self.from.to_string());
        }
        let query = query.finish();
        if query.is_empty() { "/".to_owned() } else { format!("/?{query}") }
    }

    /// The prompts that match.
    fn apply(&self, view: &View) -> List {
        let Filter { query, tag, layer, folder, .. } = self;
        let words = report::Filter { query: query.clone(), tag: tag.clone(), mine: false };
        let mut list = List::of(view, &words);
        list.prompts.retain(|prompt| {
            layer.as_ref().is_none_or(|layer| prompt.layer == *layer)
                && folder.as_ref().is_none_or(|folder| is_in(&prompt.name, folder))
        });
        list
    }

    /// What the list is of.
    fn heading(&self) -> Markup {
        let Filter { query, layer, folder, tag, .. } = self;
        html! {
            @match (query, folder) {
                (Some(query), _) => { "Search for " bdi { (Text(query)) } },
                (None, Some(folder)) => { bdi { (Text(folder)) "/" } },
                (None, None) => { "All prompts" },
            }
            @if let (Some(_), Some(folder)) = (query, folder) { " in " bdi { (Text(folder)) "/" } }
            @if let Some(tag) = tag { ", tagged " bdi { (Text(tag)) } }
            @if let Some(layer) = layer { ", " bdi { (Text(layer)) } }
        }
    }
}

/// Whether a prompt is in a folder, or below it.
fn is_in(name: &str, folder: &str) -> bool {
    name.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// The page.
pub(super) fn page(view: &View, filter: &Filter, may_edit: bool) -> Markup {
    let found = filter.apply(view);
    let all = (filter.fields().next().is_some()).then(|| List::of(view, &report::Filter::default()));
    let all = &all.as_ref().unwrap_or(&found).prompts;
    let List { prompts, problems } = &found;
    let shown = prompts.iter().skip(filter.from).take(filter.rows.unwrap_or(ROWS));
    let end = filter.from + shown.len();
    html! {
        @for (name, value) in filter.fields().filter(|(name, _)| *name != "query") {
            input type="hidden" form="search" name=(name) value=(value);
        }
        div.browse {
            nav.filters aria-label="Filters" { (choices(all, filter)) }
            div {
                div.title {
                    h1 { (filter.heading()) }
                    span.count { (count(prompts.len(), "prompt")) }
                    @if filter.fields().next().is_some() { a href="/" { "Show all" } }
                    @if may_edit { a.button href=(super::NEW) { "New prompt" } }
                }
                (problem_list(problems))
                @if prompts.is_empty() { (nothing(filter, all.is_empty())) }
                ul.rows { @for prompt in shown { (row(prompt)) } }
                @if end < prompts.len() {
                    a.more href=(Filter { from: end, ..filter.clone() }.address()) {
                        "Show more: " (thousands(end + 1)) " to " (thousands(prompts.len().min(end + ROWS))) " of " (thousands(prompts.len()))
                    }
                }
            }
        }
    }
}

fn nothing(filter: &Filter, is_empty: bool) -> Markup {
    html! {
        p.empty {
            @match &filter.query {
                _ if is_empty => { "There are no prompts yet. " code { "prompt-expander new NAME --edit" } " makes one; it appears here by itself." },
                Some(query) => { "No prompt matches " bdi { (Text(&quoted(query))) } ". Spelling mistakes are tolerated; try other words." },
                None => { "No prompts match." },
            }
        }
    }
}

fn row(prompt: &Listed) -> Markup {
    let Listed { name, title, description, layer, format, tags, arguments, .. } = prompt;
    let title = title.as_deref().filter(|title| title.to_lowercase() != name.to_lowercase());
    html! {
        li {
            a href=(path_of(name)) {
                div {
                    (command(name))
                    @if !arguments.is_empty() {
                        div.signature {
                            @for argument in arguments {
                                code { bdi { @if argument.required { (Text(&argument.name)) } @else { "[" (Text(&argument.name)) "]" } } }
                            }
                        }
                    }
                }
                div.about {
                    @if let Some(title) = title { strong.text dir="auto" { (Text(title)) } }
                    @if !description.is_empty() { div.description.text dir="auto" { (Text(description)) } }
                    @if !tags.is_empty() || layer != "user" || format.is_some() {
                        div.facts {
                            @for tag in tags { bdi { "#" (Text(tag.trim_start_matches('#'))) } }
                            @if layer != "user" { span { (layer) } }
                            @if let Some(format) = format { span { (format) } }
                        }
                    }
                }
            }
        }
    }
}

/// The layers, folders and tags of the whole library, so that they stay where they are while somebody types.
fn choices(all: &[Listed], filter: &Filter) -> Markup {
    let (mut layers, mut folders, mut tags) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for prompt in all {
        *layers.entry(prompt.layer.as_str()).or_insert(0) += 1;
        for (at, _) in prompt.name.match_indices('/') {
            let folder = &prompt.name[..at];
            if is_offered(folder, filter.folder.as_deref()) {
                *folders.entry(folder).or_insert(0) += 1;
            }
        }
        for tag in &prompt.tags {
            *tags.entry(tag.trim_start_matches('#')).or_insert(0) += 1;
        }
    }
    let layers =
        ["project", "user", "remote", BUILT_IN].into_iter().filter_map(|layer| Some((layer, *layers.get(layer)?)));
    let layers: Vec<(&str, usize)> = layers.collect();
    let mut tags: Vec<(&str, usize)> = tags.into_iter().collect();
    tags.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    html! {
        @if layers.len() > 1 {
            (choice("Layer", &layers, filter.layer.as_deref(), |layer| Filter { layer, from: 0, ..filter.clone() }))
        }
        (choice("Folder", &Vec::from_iter(folders), filter.folder.as_deref(), |folder| Filter { folder, from: 0, ..filter.clone() }))
        (choice("Tag", &tags, filter.tag.as_deref(), |tag| Filter { tag, from: 0, ..filter.clone() }))
    }
}

/// Whether a folder can be chosen: one at the top, the chosen one and those above it, and those directly in it.
fn is_offered(folder: &str, chosen: Option<&str>) -> bool {
    let Some((parent, _)) = folder.rsplit_once('/') else { return true };
    chosen.is_some_and(|chosen| chosen == folder || chosen == parent || is_in(chosen, folder))
}

/// Choices of a kind, each with the number of its prompts. Choosing the current one again leaves it.
fn choice(
    kind: &str,
    choices: &[(&str, usize)],
    current: Option<&str>,
    filter: impl Fn(Option<String>) -> Filter,
) -> Markup {
    let is_current = |value: &str| current.is_some_and(|current| current.eq_ignore_ascii_case(value));
    let shown = choices.iter().enumerate().filter(|(at, (value, _))| *at < MAX_CHOICES || is_current(value));
    html! {
        @if !choices.is_empty() {
            section {
                h2 { (kind) }
                ul {
                    @for (_, (value, number)) in shown {
                        @let is_current = is_current(value);
                        li {
                            a href=(filter((!is_current).then(|| (*value).to_owned())).address()) aria-current=[is_current.then_some("true")] {
                                bdi { (Text(value)) }
                                span { (thousands(*number)) }
                            }
                        }
                    }
                    @if choices.len() > MAX_CHOICES { li.facts { "and " (thousands(choices.len() - MAX_CHOICES)) " more; use the search to find them" } }
                }
            }
        }
    }
}

/// Files that are broken, and what to do about each.
pub(super) fn problem_list(problems: &[Problem]) -> Markup {
    html! {
        @if !problems.is_empty() {
            details.problems #problems {
                summary { (count(problems.len(), "problem")) " in the files" }
                ul { @for problem in problems.iter().take(MAX_PROBLEMS) { (problem_item(problem)) }
                    @if problems.len() > MAX_PROBLEMS {
                        li { "and " (thousands(problems.len() - MAX_PROBLEMS)) " more; " code { "prompt-expander check" } " lists all" }
                    }
                }
            }
        }
    }
}

pub(super) fn problem_item(problem: &Problem) -> Markup {
    let Problem { file, line, column, .. } = problem;
    html! {
        li {
            span.place { bdi { (Text(file)) } @if let (Some(line), Some(column)) = (line, column) { ":" (line) ":" (column) } }
            (problem_text(problem))
        }
    }
}

/// What is wrong, and what to do about it.
pub(super) fn problem_text(Problem { message, fix, severity, .. }: &Problem) -> Markup {
    html! { span.text dir="auto" { (message_text(&sentence(&format!("{severity}: {message}; {fix}")))) } }
}

//! Selects the prompts that a list shows: all of them, or those that match a query, best first.

use super::source::{Found, Info};
use super::view::View;
use crate::prompt::{COLONS, Diagnostic, Severity, Summary, fold_name};
use memchr::memmem::Finder;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;
use unicode_normalization::UnicodeNormalization;

/// The maximum length of a query, in characters. The rest is ignored.
const MAX_QUERY_CHARS: usize = 200;

/// How many prompts are read at a time. Reading all 100,000 at once would take far more memory than
/// the results that are kept.
const PROMPTS_PER_CHUNK: usize = 1_000;

/// The minimum number of prompts to split between two threads. Starting a thread takes as long as
/// reading about 50 files.
const MIN_PROMPTS_FOR_TWO_THREADS: usize = 200;

/// The maximum length of a word that may be misspelled, in characters.
const MAX_MISSPELLED_CHARS: usize = 64;

/// How many bytes to reserve for the search text of a prompt. Most are shorter.
const RESERVED_BYTES_PER_PROMPT: usize = 512;

/// The prompts that match a query and a tag.
#[derive(Debug, Clone)]
pub struct Selection {
    /// The matching prompts, best first, then by name. Broken files are only matched by name.
    pub found: Vec<Found>,
    /// Errors about skipped files and folders, and about the broken files that were
    /// [read](Selection::read).
    pub problems: Vec<Diagnostic>,
}

impl Selection {
    /// Reads the prompts lazily, and yields what lists show about each of them. Skips broken ones,
    /// and adds their errors to [`problems`](Selection::problems).
    pub fn read(&mut self) -> impl Iterator<Item = (&Found, Arc<Summary>, Info)> {
        let Selection { found, problems } = self;
        infos(found).filter_map(|(found, info)| match info.summary.clone() {
            Ok(summary) => Some((found, summary, info)),
            Err(problem) => {
                problems.push(Diagnostic {
                    name: Some(found.name.clone()),
                    ..*problem
                });
                None
            }
        })
    }
}

impl View {
    /// Selects the prompts that match all words of `query` and have `tag`. `None` doesn't filter.
    /// Ignores letter case, and a leading `#` of the tag.
    pub fn select(&self, query: Option<&str>, tag: Option<&str>) -> Selection {
        let mut listing = self.list();
        listing
            .problems
            .retain(|problem| problem.severity() == Severity::Error);
        if query.is_some() || tag.is_some() {
            listing.found = matching_prompts(&listing.found, query.unwrap_or_default(), tag);
        }
        Selection {
            found: listing.found,
            problems: listing.problems,
        }
    }
}

/// Returns the prompts that match `query` and have `tag`, best first. Broken files are assumed to
/// have the tag, because their tags are unknown.
fn matching_prompts(prompts: &[Found], query: &str, tag: Option<&str>) -> Vec<Found> {
    let mut candidates = Vec::new();
    let mut texts = SearchTexts::with_capacity(prompts.len()); // one for each candidate
    for (found, info) in infos(prompts) {
        let summary = info.summary.as_deref().ok();
        if may_have_tag(summary, tag) {
            candidates.push(found);
            texts.push(&search_text(&found.name, summary));
        }
    }
    let costs = costs(query, &texts.slices(), misspelling_costs);
    let mut matching = Vec::new();
    for index in indices_by_cost(&costs) {
        matching.push(candidates[index].clone());
    }
    matching
}

/// Returns whether a prompt may have a tag. `None` as the tag stands for any, and `None` as the
/// summary for a broken file, whose tags are unknown.
fn may_have_tag(summary: Option<&Summary>, tag: Option<&str>) -> bool {
    let (Some(summary), Some(tag)) = (summary, tag) else {
        return true;
    };
    has_tag(summary, tag)
}

/// Returns the indices of the prompts that match, the lowest cost first. Equal costs keep their
/// order. `costs` has the cost of each prompt, or `None` if it doesn't match.
fn indices_by_cost(costs: &[Option<u32>]) -> Vec<usize> {
    let mut indices: Vec<usize> = (0..costs.len())
        .filter(|index| costs[*index].is_some())
        .collect();
    indices.sort_by_key(|index| costs[*index]); // a stable sort
    indices
}

/// The search texts of many prompts, concatenated in one string to avoid fragmenting the memory.
struct SearchTexts {
    all: String,
    /// A 0, followed by the end of each text.
    ends: Vec<usize>,
}

impl SearchTexts {
    /// Creates an empty collection with room for `prompt_count` texts.
    fn with_capacity(prompt_count: usize) -> SearchTexts {
        SearchTexts {
            all: String::with_capacity(RESERVED_BYTES_PER_PROMPT * prompt_count),
            ends: vec![0],
        }
    }

    fn push(&mut self, text: &str) {
        self.all += text;
        self.ends.push(self.all.len());
    }

    /// Returns each text.
    fn slices(&self) -> Vec<&str> {
        let ranges = self.ends.windows(2);
        ranges.map(|ends| &self.all[ends[0]..ends[1]]).collect()
    }
}

/// Lazily yields each prompt with what lists show about it. Reads [`PROMPTS_PER_CHUNK`] prompts at
/// a time.
fn infos(prompts: &[Found]) -> impl Iterator<Item = (&Found, Info)> {
    let chunks = prompts.chunks(PROMPTS_PER_CHUNK);
    chunks.flat_map(|chunk| chunk.iter().zip(read_infos(chunk)))
}

/// Reads what lists show about these prompts, using a second thread if there are many.
///
/// With two idle cores, this reduces the first list of 1,000 prompts from 19 ms to 12 ms. Most of
/// that time is spent parsing.
fn read_infos(prompts: &[Found]) -> Vec<Info> {
    if prompts.len() < MIN_PROMPTS_FOR_TWO_THREADS {
        return read_each_info(prompts);
    }
    let (half, other_half) = prompts.split_at(prompts.len() / 2);
    thread::scope(|scope| {
        let thread = thread::Builder::new().spawn_scoped(scope, || read_each_info(other_half));
        let mut infos = read_each_info(half);
        infos.extend(match thread {
            Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            // The system refused to start a thread.
            Err(_) => read_each_info(other_half),
        });
        infos
    })
}

/// Reads what lists show about these prompts, on the current thread.
fn read_each_info(prompts: &[Found]) -> Vec<Info> {
    prompts.iter().map(|found| found.info()).collect()
}

/// Returns whether a prompt has a tag. Ignores letter case and a leading `#`.
pub(crate) fn has_tag(summary: &Summary, tag: &str) -> bool {
    let tag = normalize_tag(tag);
    summary.tags.iter().any(|other| normalize_tag(other) == tag)
}

/// Normalizes a tag for comparison: `rust` for ` #Rust`.
fn normalize_tag(tag: &str) -> String {
    tag.trim().trim_start_matches('#').to_lowercase()
}

/// Returns the text of a prompt in which queries are searched: its name, tags, title and
/// description.
///
/// The text is lowercase, without accents and full-width forms. Each name, tag, title and
/// description ends with a line break. A NUL precedes the tags, the title and the description:
///
/// ```text
/// git/commit\n\0git\nquality\n\0commit message\n\0
/// ```
///
/// A single string is faster to search than four, and the picker searches 10,000 prompts at each
/// key press. Without a summary, because the file is broken or not read yet, only the name is
/// included.
pub fn search_text(name: &str, summary: Option<&Summary>) -> String {
    let mut text = normalize(name) + "\n";
    let Some(summary) = summary else {
        return text;
    };
    let fields = [
        &*summary.tags,
        summary.title.as_slice(),
        summary.description.as_slice(),
    ];
    for field in fields {
        text.push('\0');
        for part in field {
            text += &normalize(part);
            text.push('\n');
        }
    }
    text
}

/// Converts to lowercase, removes accents, and replaces full-width forms by ASCII: `cafe` for
/// `Ｃafé`.
fn normalize(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let letters = text.nfkd().filter(|letter| !is_accent(*letter));
    letters.nfc().collect::<String>().to_lowercase()
}

/// Returns whether a character is a combining accent.
fn is_accent(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{36f}')
}

/// The rank of the name among the fields of a search text.
const NAME_RANK: usize = 0;

/// How well a word matches, best first. Orders matches within the same field.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum MatchKind {
    /// It is a whole word of the text.
    Whole,
    /// It is the beginning of a word.
    Prefix,
    /// It is inside a word. Only names are matched like this.
    Substring,
    /// It is similar to a word.
    Misspelled,
}

impl MatchKind {
    /// The number of kinds.
    const COUNT: u32 = 4;
}

/// Returns the name in a search text.
fn name_in(search_text: &str) -> &str {
    match search_text.split_once('\n') {
        Some((name, _)) => name,
        None => search_text,
    }
}

/// Returns the cost of the best match in a [search text](search_text), or `None` if nothing
/// matches.
///
/// Any match in an earlier field costs less than every match in a later one. `match_part` is called
/// with the rank of a field (0 for the name), and with one of its parts, such as a tag.
fn best_match_cost(
    search_text: &str,
    match_part: impl Fn(usize, &str) -> Option<MatchKind>,
) -> Option<u32> {
    for (rank, field) in search_text.split('\0').enumerate() {
        let kinds = field.lines().filter_map(|part| match_part(rank, part));
        if let Some(best) = kinds.min() {
            return Some(MatchKind::COUNT * rank as u32 + best as u32);
        }
    }
    None
}

/// Returns the indices of the [search texts](search_text) that match a query while it is being
/// typed, best first. Equal matches keep their order.
///
/// Words match as in a list, unless no prompt contains the word. In that case, its letters may be
/// scattered in a name: `gco` matches `git/commit`. Misspellings are searched in names only,
/// because this runs at each key press.
pub fn matches(query: &str, prompts: &[String]) -> Vec<usize> {
    let prompts: Vec<&str> = prompts.iter().map(String::as_str).collect();
    indices_by_cost(&costs(query, &prompts, similar_name_costs))
}

/// Returns the cost of each prompt for a word that no prompt contains. Its letters may be scattered
/// in a name. If that matches no name, it may be a misspelled name.
fn similar_name_costs(word: &str, prompts: &[&str]) -> Vec<Option<u32>> {
    let scattered = name_costs(prompts, |name| is_scattered(word, name));
    if has_match(&scattered) {
        return scattered;
    }
    let misspelling = Misspelling::new(word);
    name_costs(prompts, |name| misspelling.matches(name))
}

/// Returns the cost of each prompt whose name satisfies `is_similar`, and `None` for the others.
fn name_costs(prompts: &[&str], is_similar: impl Fn(&str) -> bool) -> Vec<Option<u32>> {
    let cost = MatchKind::Misspelled as u32;
    let mut costs = Vec::with_capacity(prompts.len());
    for prompt in prompts {
        costs.push(is_similar(name_in(prompt)).then_some(cost));
    }
    costs
}

/// Returns whether a text contains these letters in order: `git/commit` contains `gco`.
fn is_scattered(letters: &str, text: &str) -> bool {
    let mut text_letters = text.chars();
    for letter in letters.chars() {
        // Each call to `any` continues after the previous match.
        if !text_letters.any(|other| other == letter) {
            return false;
        }
    }
    true
}

/// A word of a query.
enum QueryWord {
    /// The beginning of a name, typed with a colon: `:re`.
    NamePrefix(String),
    /// A word in any field.
    Anywhere(String),
}

impl QueryWord {
    /// Splits a query into words, without surrounding punctuation.
    fn parse_all(query: &str) -> Vec<QueryWord> {
        let query: String = query.chars().take(MAX_QUERY_CHARS).collect();
        let mut words = Vec::new();
        for typed in query.split_whitespace() {
            if typed.starts_with(COLONS) {
                words.push(QueryWord::NamePrefix(normalize(&fold_name(typed))));
                continue;
            }
            let word = normalize(typed);
            let word = word.trim_start_matches('#').trim_matches(PUNCTUATION);
            if !word.is_empty() {
                words.push(QueryWord::Anywhere(word.to_owned()));
            }
        }
        words
    }
}

/// Characters that are ignored around a word of a query.
const PUNCTUATION: [char; 7] = ['"', '\'', ',', '.', ';', '?', '!'];

/// Returns the cost of each prompt for a query, or `None` if it doesn't match all words. The cost
/// is the sum over all words. The lowest is the best.
///
/// Words match exactly: anywhere in a name, and at the start of a word in other fields. For a word
/// that no prompt contains, `similar_costs` returns the costs instead. `prompts` are [search
/// texts](search_text).
fn costs(
    query: &str,
    prompts: &[&str],
    similar_costs: impl Fn(&str, &[&str]) -> Vec<Option<u32>>,
) -> Vec<Option<u32>> {
    let mut sums = vec![Some(0); prompts.len()];
    for word in QueryWord::parse_all(query) {
        let word_costs = match word {
            QueryWord::NamePrefix(prefix) => prefix_costs(&prefix, prompts),
            QueryWord::Anywhere(word) => {
                let exact_costs = exact_costs(&word, prompts);
                if has_match(&exact_costs) {
                    exact_costs
                } else {
                    similar_costs(&word, prompts)
                }
            }
        };
        for (sum, cost) in sums.iter_mut().zip(word_costs) {
            // `None` if either one is `None`: every word must match.
            *sum = sum.zip(cost).map(|(sum, cost)| sum + cost);
        }
    }
    sums
}

/// Returns whether any prompt matches.
fn has_match(costs: &[Option<u32>]) -> bool {
    costs.iter().any(Option::is_some)
}

/// Returns cost 0 for each prompt whose name starts with `prefix`, e.g. `git/`, and `None` for the
/// others.
fn prefix_costs(prefix: &str, prompts: &[&str]) -> Vec<Option<u32>> {
    let mut costs = Vec::with_capacity(prompts.len());
    for prompt in prompts {
        // `fold` has replaced the colons in the prefix, too.
        let is_match = name_in(prompt).replace(':', "/").starts_with(prefix);
        costs.push(is_match.then_some(0));
    }
    costs
}

/// Returns the cost of each prompt for a word that must match exactly.
fn exact_costs(word: &str, prompts: &[&str]) -> Vec<Option<u32>> {
    let exact = ExactWord {
        word,
        finder: Finder::new(word),
    };
    prompts.iter().map(|prompt| exact.cost_in(prompt)).collect()
}

/// Returns the cost of each prompt for a word that no prompt contains, assuming that it is
/// misspelled.
fn misspelling_costs(word: &str, prompts: &[&str]) -> Vec<Option<u32>> {
    let misspelling = Misspelling::new(word);
    let mut costs = Vec::with_capacity(prompts.len());
    for prompt in prompts {
        costs.push(best_match_cost(prompt, |_, part| {
            misspelling.matches(part).then_some(MatchKind::Misspelled)
        }));
    }
    costs
}

/// A word that must match exactly.
struct ExactWord<'w> {
    word: &'w str,
    /// Precomputed once, and used for all prompts.
    finder: Finder<'w>,
}

impl ExactWord<'_> {
    /// Returns the cost of a prompt, or `None` if its search text doesn't contain the word.
    fn cost_in(&self, prompt: &str) -> Option<u32> {
        self.finder.find(prompt.as_bytes())?; // a quick check that excludes most prompts
        best_match_cost(prompt, |rank, part| self.best_match_in(rank, part))
    }

    /// Returns the best match in a part of a field, such as a tag. `rank` is that of the field:
    /// only names (rank 0) are matched inside a word.
    fn best_match_in(&self, rank: usize, part: &str) -> Option<MatchKind> {
        let mut best = None;
        for start in self.finder.find_iter(part.as_bytes()) {
            let kind = self.classify(part, start);
            if kind == MatchKind::Substring && rank != NAME_RANK {
                continue;
            }
            if best.is_none_or(|best| kind < best) {
                best = Some(kind);
            }
        }
        best
    }

    /// Classifies the match at byte offset `start`.
    fn classify(&self, text: &str, start: usize) -> MatchKind {
        let before = text[..start].chars().next_back();
        if !is_boundary(before, self.word.chars().next()) {
            return MatchKind::Substring;
        }
        let after = text[start + self.word.len()..].chars().next();
        if is_boundary(self.word.chars().next_back(), after) {
            MatchKind::Whole
        } else {
            MatchKind::Prefix
        }
    }
}

/// Returns whether a word may start or end between two characters. In scripts without spaces, such
/// as Japanese, that is anywhere. `None` is the start or end of the text.
fn is_boundary(before: Option<char>, after: Option<char>) -> bool {
    let (Some(before), Some(after)) = (before, after) else {
        return true;
    };
    !before.is_alphanumeric()
        || !after.is_alphanumeric()
        || is_unspaced(before)
        || is_unspaced(after)
}

/// Returns whether a letter belongs to a script that doesn't put spaces between words: Thai, Lao,
/// Burmese, Khmer, kana or Han.
fn is_unspaced(letter: char) -> bool {
    matches!(
        letter,
        '\u{e00}'..='\u{eff}'
            | '\u{1000}'..='\u{109f}'
            | '\u{1780}'..='\u{17ff}'
            | '\u{3005}'..='\u{3007}'
            | '\u{3040}'..='\u{30ff}'
            | '\u{3400}'..='\u{9fff}'
            | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{3ffff}'
    )
}

/// A word that may be misspelled.
struct Misspelling<'w> {
    word: &'w str,
    /// In characters.
    length: usize,
    /// The maximum number of edits to the intended word. An edit adds, removes or replaces a
    /// letter, or swaps two adjacent ones.
    max_edits: usize,
}

impl Misspelling<'_> {
    /// Allows one edit in a word of 4 to 7 letters, and two in a longer one. Allows none in a word
    /// with a digit, because a misspelled number is just another number, nor in a script without
    /// spaces.
    fn new(word: &str) -> Misspelling<'_> {
        let length = word.chars().count();
        let is_exact = word.contains(|letter: char| letter.is_numeric() || is_unspaced(letter));
        let max_edits = match length {
            4..=7 => 1,
            8..=MAX_MISSPELLED_CHARS => 2,
            _ => 0, // too short or too long
        };
        Misspelling {
            word,
            length,
            max_edits: if is_exact { 0 } else { max_edits },
        }
    }

    /// Returns whether the intended word may be the whole text, or one of its words.
    fn matches(&self, text: &str) -> bool {
        if self.max_edits == 0 || !self.has_letters_in(text) {
            return false;
        }
        let mut words = text.split(|letter: char| !letter.is_alphanumeric());
        words.any(|other| self.is_near(other)) || self.is_near(text)
    }

    /// Returns whether the text contains all letters of the word, except for one per allowed edit.
    ///
    /// A quick check that excludes most texts. Computing the edit distance takes far longer.
    fn has_letters_in(&self, text: &str) -> bool {
        let missing = self.word.chars().filter(|letter| !text.contains(*letter));
        missing.count() <= self.max_edits
    }

    /// Returns whether at most [`max_edits`](Misspelling::max_edits) edits lead to `other`.
    fn is_near(&self, other: &str) -> bool {
        other.chars().count().abs_diff(self.length) <= self.max_edits
            && strsim::osa_distance(self.word, other) <= self.max_edits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::{Name, Prompt};

    /// The prompts of [`found`].
    const FILES: [TestPrompt; 7] = [
        ("café", "description: Where to drink"),
        (
            "decide",
            "description: Get it done, weighing the options in turn\ntitle: Decide",
        ),
        (
            "git/commit",
            "title: Commit message\ndescription: Write a message for the staged changes",
        ),
        ("legit", "description: Tell whether a digital offer is real"),
        (
            "research",
            "description: Research a topic in primary sources",
        ),
        (
            "review",
            "description: Review a change and get its defects\ntags: [quality, git]",
        ),
        (
            "要約",
            "description: 長い文章を短くまとめるガイド。PDFも可。",
        ),
    ];

    /// The name and the frontmatter of a prompt.
    type TestPrompt = (&'static str, &'static str);

    /// Returns the names of the prompts of [`FILES`] that match a query, the best first.
    fn found(query: &str) -> Vec<&'static str> {
        found_in(&FILES, query)
    }

    /// Returns the names of the prompts that match a query, the best first.
    fn found_in(files: &[TestPrompt], query: &str) -> Vec<&'static str> {
        let mut texts = SearchTexts::with_capacity(files.len());
        for (name, frontmatter) in files {
            let file = format!("---\n{frontmatter}\n---\nB");
            let prompt = Prompt::parse(Name::new(name).unwrap(), file.as_bytes()).unwrap();
            texts.push(&search_text(name, Some(&prompt.summary())));
        }
        let costs = costs(query, &texts.slices(), misspelling_costs);
        let mut found = Vec::new();
        for (cost, (name, _)) in costs.iter().zip(files) {
            if let Some(cost) = cost {
                found.push((cost, *name));
            }
        }
        found.sort();
        found.into_iter().map(|(_, name)| name).collect()
    }

    #[test]
    fn a_word_of_a_query_matches_words_and_not_scattered_letters() {
        assert_eq!(found("git"), ["git/commit", "legit", "review"]);
        for scattered in ["dcd", "gc", "rsrch", "wmc"] {
            assert_eq!(found(scattered), [""; 0], "{scattered}");
        }
        assert_eq!(found("stage"), ["git/commit"], "the beginning of a word");
        assert_eq!(
            found("tage"),
            [""; 0],
            "a part of a name alone may be anywhere in it"
        );
        assert_eq!(found("sear"), ["research"]);
    }

    #[test]
    fn letters_that_are_typed_in_a_picker_may_be_scattered_in_a_name() {
        let names = ["decide", "git/commit", "legit", "research", "review"];
        let prompts = names.map(|name| search_text(name, None));
        for (typed, want) in [
            ("", &names[..]),
            ("git", &["git/commit", "legit"]),
            ("gco", &["git/commit"]),
            ("rv", &["review"]),
            ("re", &["research", "review"]),
            ("reserch", &["research"]),
            ("vr", &[]),
        ] {
            let found: Vec<&str> = matches(typed, &prompts)
                .into_iter()
                .map(|index| names[index])
                .collect();
            assert_eq!(found, want, "{typed}");
        }
    }

    #[test]
    fn the_field_decides_the_order_and_in_a_field_how_much_of_a_word_matches() {
        let files = [
            ("a", "description: xyz"),
            ("b", "description: a xyz"),
            ("c", "description: xyz1"),
            ("d", "description: d\ntitle: xyz"),
            ("e", "tags: [xyz]"),
            ("wxyz", ""),
            ("xyzw", ""),
            ("f/xyz", ""),
        ];
        assert_eq!(
            found_in(&files, "xyz"),
            ["f/xyz", "xyzw", "wxyz", "e", "d", "a", "b", "c"]
        );
    }

    #[test]
    fn a_misspelling_is_assumed_only_of_a_word_that_is_in_no_prompt() {
        for (query, want) in [
            ("reserch", &["research"][..]),
            ("comit", &["git/commit"]),
            ("gitcommit", &["git/commit"]),
            ("defcets", &["review"]),
            ("descripton", &[]),
            ("gti", &[]),
            ("real", &["legit"]),
            ("rael", &["legit"]),
            ("2024", &[]),
            (&"x".repeat(100_000), &[]),
        ] {
            assert_eq!(found(query), want, "{query:.20}");
        }
    }

    #[test]
    fn accents_letter_case_and_full_width_letters_make_no_difference() {
        for query in [
            "cafe",
            "CAFE\u{301}",
            "caf\u{e9}",
            "ｃａｆｅ",
            ":cafe",
            "：Café",
        ] {
            assert_eq!(found(query), ["café"], "{query}");
        }
    }

    #[test]
    fn a_word_with_a_colon_is_the_beginning_of_a_name() {
        assert_eq!(found(":re"), ["research", "review"]);
        assert_eq!(found("：re quality"), ["review"]);
        assert_eq!(found(":git:c"), ["git/commit"]);
        assert_eq!(found(":commit"), [""; 0]);
        assert_eq!(found(":").len(), 7);
    }

    #[test]
    fn words_of_a_script_without_spaces_are_found_anywhere() {
        for query in [
            "要約",
            "文章",
            "まとめる",
            "ガイド",
            "カ\u{3099}イト\u{3099}",
            "pdf",
        ] {
            assert_eq!(found(query), ["要約"], "{query}");
        }
        assert_eq!(found("カイト"), [""; 0]);
        assert_eq!(found("要点"), [""; 0]);
    }

    #[test]
    fn every_word_must_match_and_punctuation_around_it_is_ignored() {
        assert_eq!(found("git quality"), ["review"]);
        assert_eq!(found("#git, \"defects\"?"), ["review"]);
        assert_eq!(found("git nothing"), [""; 0]);
        assert_eq!(found("").len(), 7);
        assert_eq!(found(" ? ").len(), 7);
    }
}

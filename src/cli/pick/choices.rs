//! The prompts that the picker lists: their names at once, their titles and descriptions as they
//! are read.

use crate::library::{Found, View, matches, search_text};
use crate::prompt::{Diagnostic, Summary};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// The title, description and tags of a prompt, or why its file is broken.
type SummaryResult = Result<Arc<Summary>, Box<Diagnostic>>;

/// The summary of one prompt, and the text in which the query is searched.
struct ReadPrompt {
    search_text: String,
    summary: SummaryResult,
}

/// The prompts to choose from. Their files are read by another thread, in the order of the list.
pub(super) struct Choices {
    pub(super) prompts: Arc<[Found]>,
    /// The summaries of the first prompts: of those that have been read.
    pub(super) summaries: Vec<SummaryResult>,
    /// The text of each prompt that is searched: only its name until its file has been read.
    search_texts: Vec<String>,
    reader: Receiver<ReadPrompt>,
}

impl Choices {
    /// Lists all prompts of a view: the project's first, then the user's own, and so on to the
    /// built-in ones. Starts to read their files.
    pub(super) fn new(view: &View) -> Choices {
        let mut prompts = view.list().found;
        prompts.sort_by_key(|found| found.layer); // stable: those of a layer stay sorted by name
        let prompts: Arc<[Found]> = prompts.into();
        let names = prompts.iter().map(|found| search_text(&found.name, None));
        let search_texts = names.collect();
        let (sender, reader) = channel();
        let unread = Arc::clone(&prompts);
        // If the thread cannot be started, only the names are searched.
        let _ = thread::Builder::new().spawn(move || read(&unread, &sender));
        Choices {
            prompts,
            summaries: Vec::new(),
            search_texts,
            reader,
        }
    }

    /// Takes over the summaries that have been read since the last call. Returns whether there were
    /// any.
    pub(super) fn update(&mut self) -> bool {
        let known = self.summaries.len();
        for prompt in self.reader.try_iter() {
            self.search_texts[self.summaries.len()] = prompt.search_text;
            self.summaries.push(prompt.summary);
        }
        self.summaries.len() > known
    }

    /// Returns the indices of the prompts that match a query, the best match first.
    pub(super) fn search(&self, query: &str) -> Vec<usize> {
        matches(query, &self.search_texts)
    }
}

/// Reads the prompts one after the other, until nobody wants them any more.
fn read(prompts: &[Found], sender: &Sender<ReadPrompt>) {
    for found in prompts {
        let summary = found.info().summary;
        let search_text = search_text(&found.name, summary.as_deref().ok());
        let prompt = ReadPrompt {
            search_text,
            summary,
        };
        if sender.send(prompt).is_err() {
            return;
        }
    }
}

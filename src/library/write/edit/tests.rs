//! Tests of writes to a folder of prompts and to its history.

use super::*;
use crate::library::caller::{Prefix, Role, Token};
use crate::library::project_prompts::PROJECT_FOLDER as FOLDER;
use crate::library::write::history::DEFAULT_MAX_VERSIONS;
use Operation::{ByHand, Create, Delete, Restore, Update};
use std::fmt::Debug;
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::thread;
use tempfile::TempDir;

/// No author and no note.
const NOBODY: Authorship = Authorship {
    author: None,
    note: None,
};

/// Returns a temporary folder with these files, and a library of its prompts.
fn folder(files: &[(&str, &str)]) -> (TempDir, Library) {
    let folder = tempfile::tempdir().unwrap();
    for (file, text) in files {
        put(folder.path(), file, text);
    }
    let library = Library::named([folder.path().to_owned()]).with_builtin();
    (folder, library)
}

/// Returns an editor for the local user.
fn local_editor(library: &Library) -> Editor<'_> {
    library.editor(&Caller::local()).unwrap()
}

/// Writes a file, creating its folder if it is missing.
fn put(folder: &Path, file: &str, text: &str) {
    let path = folder.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn revision_of(text: &str) -> Revision {
    Revision::of_contents(text.as_bytes())
}

/// Returns a remote caller who may write all prompts, or only those with a prefix.
fn stranger(prefix: Option<&str>) -> Caller {
    let token = Token {
        id: [0; 16],
        name: "t".into(),
    };
    Caller {
        token: Some(token),
        role: Role::Write,
        prefix: prefix.map(|prefix| Prefix::new(prefix).unwrap()),
        sees_team: false,
    }
}

/// Returns the kind of an error.
#[track_caller]
fn kind<T: Debug>(refused: Result<T, Diagnostic>) -> Kind {
    refused.unwrap_err().kind
}

#[track_caller]
fn assert_conflict<T: Debug>(refused: Result<T, Diagnostic>) {
    let kind = kind(refused);
    assert!(matches!(kind, Kind::Conflict { .. }), "{kind:?}");
}

#[track_caller]
fn assert_no_such_prompt<T: Debug>(refused: Result<T, Diagnostic>) {
    let kind = kind(refused);
    assert!(matches!(kind, Kind::NoSuchPrompt { .. }), "{kind:?}");
}

/// Returns the operations in the history of a prompt, newest first.
fn operations(editor: &Editor<'_>, name: &str) -> Vec<Operation> {
    let versions = editor.history(name).unwrap().into_iter();
    versions.map(|version| version.operation).collect()
}

/// Returns the sorted names of the files in a folder that end with `end`.
fn names(folder: &Path, end: &str) -> Vec<String> {
    let mut names = Vec::new();
    for file in fs::read_dir(folder).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        if name.ends_with(end) {
            names.push(name);
        }
    }
    names.sort();
    names
}

#[test]
fn a_prompt_is_created_updated_deleted_and_restored_and_its_history_has_each_version() {
    let (folder, library) = folder(&[]);
    let editor = local_editor(&library);
    let path = folder.path().join("git/a.md");
    let first = editor.create("git/a", "One.\n", &NOBODY).unwrap();
    assert_eq!(first.name.as_str(), "git/a");
    assert_eq!(first.revision, revision_of("One.\n"));
    let ada = Authorship::new(Some("ada".into()), Some("shorter".to_owned())).unwrap();
    let second = editor
        .update("git/a", first.revision, "Two.\n", &ada)
        .unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"Two.\n");
    fs::write(&path, "By hand.\n").unwrap();
    let third = revision_of("By hand.\n");
    editor.delete("git/a", third, &NOBODY).unwrap();
    assert!(!path.exists());
    let restored = editor.restore("git/a", None, None, &NOBODY).unwrap();
    assert_eq!(restored.revision, third);
    assert_eq!(fs::read(&path).unwrap(), b"By hand.\n");
    assert_eq!(
        operations(&editor, "git/a"),
        [Restore, Delete, ByHand, Update, Create]
    );
    let history = editor.history("git/a").unwrap();
    assert!(history.is_sorted_by_key(|version| std::cmp::Reverse(version.at)));
    assert!(history[0].is_current);
    assert!(history.iter().skip(1).all(|version| !version.is_current));
    assert_eq!(history[3].revision, second.revision);
    assert_eq!(history[3].author.as_deref(), Some("ada"));
    assert_eq!(history[3].note.as_deref(), Some("shorter"));
    let texts = ["By hand.\n", "By hand.\n", "By hand.\n", "Two.\n", "One.\n"];
    for (version, text) in history.iter().zip(texts) {
        assert_eq!(editor.version("git/a", version.revision).unwrap(), text);
    }
    assert_eq!(
        names(folder.path(), ""),
        [".history", "git"],
        "no temporary file is left"
    );
}

#[test]
fn a_write_of_a_prompt_that_has_changed_is_refused_with_a_diff() {
    let (folder, library) = folder(&[]);
    let editor = local_editor(&library);
    let first = editor.create("a", "One.\n", &NOBODY).unwrap().revision;
    let second = editor
        .update("a", first, "Two.\n", &NOBODY)
        .unwrap()
        .revision;
    let refused = kind(editor.update("a", first, "Three.\n", &NOBODY));
    assert!(
        matches!(&refused, Kind::Conflict { diff, .. } if diff.contains("-One.\n+Two.\n")),
        "{refused:?}"
    );
    fs::write(folder.path().join("a.md"), "By hand.\n").unwrap();
    assert_conflict(editor.delete("a", second, &NOBODY));
    editor
        .delete("a", revision_of("By hand.\n"), &NOBODY)
        .unwrap();
    let refused = kind(editor.delete("a", second, &NOBODY));
    assert!(
        matches!(refused, Kind::Conflict { current: None, .. }),
        "{refused:?}"
    );
}

#[test]
fn a_person_finds_the_texts_of_the_history_by_their_times() {
    let (folder, library) = folder(&[]);
    let editor = local_editor(&library);
    editor.create("git/a", "One.\n", &NOBODY).unwrap();
    let revision = revision_of("One.\n");
    editor.update("git/a", revision, "Two.\n", &NOBODY).unwrap();
    let history = folder.path().join(".history/git/a");
    let mut texts = Vec::new();
    for name in names(&history, ".md") {
        texts.push(fs::read_to_string(history.join(name)).unwrap());
    }
    assert_eq!(texts, ["One.\n", "Two.\n"]);
}

#[test]
fn the_same_text_again_is_no_change() {
    let (_folder, library) = folder(&[]);
    let editor = local_editor(&library);
    editor.create("a", "A", &NOBODY).unwrap();
    let again = editor.update("a", revision_of("A"), "A", &NOBODY).unwrap();
    assert_eq!(again.revision, revision_of("A"));
    assert_eq!(operations(&editor, "a"), [Create]);
}

#[test]
fn a_version_that_was_made_by_hand_is_shown_as_current_and_kept_when_it_is_replaced() {
    let (folder, library) = folder(&[("a.md", "By hand.")]);
    let editor = local_editor(&library);
    assert_eq!(operations(&editor, "a"), [ByHand]);
    assert!(editor.history("a").unwrap()[0].is_current);
    assert!(
        !folder.path().join(".history").exists(),
        "reading writes nothing"
    );
    editor
        .update("a", revision_of("By hand."), "New.", &NOBODY)
        .unwrap();
    fs::write(folder.path().join("a.md"), "Again.").unwrap();
    assert_eq!(operations(&editor, "a"), [ByHand, Update, ByHand]);
    assert_eq!(
        editor.version("a", revision_of("Again.")).unwrap(),
        "Again."
    );
    let restored = editor
        .restore("a", Some(revision_of("Again.")), None, &NOBODY)
        .unwrap();
    assert_eq!(restored.revision, revision_of("New."));
    assert_eq!(operations(&editor, "a"), [Restore, ByHand, Update, ByHand]);
    assert_eq!(
        kind(editor.restore(
            "a",
            Some(revision_of("New.")),
            Some(revision_of("never")),
            &NOBODY
        )),
        Kind::NoSuchVersion
    );
}

#[test]
fn a_version_that_a_person_has_removed_or_undone_by_hand_stays_in_the_history() {
    let (folder, library) = folder(&[]);
    let editor = local_editor(&library);
    let path = folder.path().join("a.md");
    editor.create("a", "A", &NOBODY).unwrap();
    fs::remove_file(&path).unwrap();
    assert_eq!(operations(&editor, "a"), [Create]);
    assert!(!editor.history("a").unwrap()[0].is_current);
    assert_eq!(
        editor.restore("a", None, None, &NOBODY).unwrap().revision,
        revision_of("A")
    );
    editor.update("a", revision_of("A"), "B", &NOBODY).unwrap();
    fs::write(&path, "A").unwrap();
    editor.update("a", revision_of("A"), "C", &NOBODY).unwrap();
    assert_eq!(
        operations(&editor, "a"),
        [Update, ByHand, Update, Restore, Create]
    );
    assert_eq!(editor.version("a", revision_of("B")).unwrap(), "B");
}

#[test]
fn prompts_named_like_files_of_the_history_disturb_no_other_and_can_be_edited() {
    let (folder, library) = folder(&[("a.md", "A")]);
    let editor = local_editor(&library);
    let below = library.editor(&stranger(Some("a/"))).unwrap();
    below
        .create(
            &format!("a/20991122T191012.123456789Z-{}.json", revision_of("x")),
            "Below.",
            &NOBODY,
        )
        .unwrap();
    editor.update("a", revision_of("A"), "B", &NOBODY).unwrap();
    assert_eq!(operations(&editor, "a"), [Update, ByHand]);
    for name in ["lock", "lock/x", "history"] {
        editor.create(name, "L", &NOBODY).unwrap();
        editor.update(name, revision_of("L"), "M", &NOBODY).unwrap();
        assert_eq!(operations(&editor, name), [Update, Create], "{name}");
    }
    editor.delete("a", revision_of("B"), &NOBODY).unwrap();
    assert_eq!(names(folder.path(), ".md"), ["history.md", "lock.md"]);
}

#[test]
fn a_version_whose_record_is_damaged_or_too_long_is_still_there() {
    for damaged in [
        "{}".to_owned(),
        format!("{{\"x\": \"{}\"}}", "x".repeat(70_000)),
    ] {
        let (folder, library) = folder(&[]);
        let editor = local_editor(&library);
        editor.create("a", "A", &NOBODY).unwrap();
        let history = folder.path().join(".history/a");
        fs::write(history.join(&names(&history, ".json")[0]), damaged).unwrap();
        let versions = editor.history("a").unwrap();
        assert_eq!(
            (versions.len(), versions[0].revision),
            (1, revision_of("A"))
        );
        editor.update("a", revision_of("A"), "B", &NOBODY).unwrap();
        assert_eq!(editor.version("a", revision_of("A")).unwrap(), "A");
    }
}

#[test]
fn a_version_that_is_longer_than_a_prompt_may_be_is_not_read() {
    let (folder, library) = folder(&[]);
    let editor = local_editor(&library);
    editor.create("a", "A", &NOBODY).unwrap();
    editor.update("a", revision_of("A"), "B", &NOBODY).unwrap();
    let history = folder.path().join(".history/a");
    fs::write(
        history.join(&names(&history, ".md")[0]),
        "x".repeat(crate::prompt::MAX_FILE + 1),
    )
    .unwrap();
    assert_eq!(
        kind(editor.version("a", revision_of("A"))),
        Kind::Unreadable
    );
}

#[test]
fn a_version_whose_text_was_changed_in_the_history_is_named_and_skipped_by_default() {
    let (folder, library) = folder(&[]);
    let editor = local_editor(&library);
    let mut revision = editor.create("a", "A", &NOBODY).unwrap().revision;
    for text in ["B", "C"] {
        revision = editor
            .update("a", revision, text, &NOBODY)
            .unwrap()
            .revision;
    }
    let history = folder.path().join(".history/a");
    fs::write(history.join(&names(&history, ".md")[1]), "Forged.").unwrap();
    for refused in [
        editor.version("a", revision_of("B")).map(|_| ()),
        editor
            .restore("a", Some(revision), Some(revision_of("B")), &NOBODY)
            .map(|_| ()),
    ] {
        let refused = refused.unwrap_err();
        assert!(
            refused.kind == Kind::NoSuchVersion
                && refused.message.contains("was changed in the history"),
            "{refused}"
        );
    }
    let before = editor.version_before("a", Some(revision)).unwrap();
    assert_eq!(
        (before.revision, before.text.as_str()),
        (revision_of("A"), "A")
    );
    assert_eq!(
        editor
            .restore("a", Some(revision), None, &NOBODY)
            .unwrap()
            .revision,
        revision_of("A")
    );
}

#[test]
fn a_note_has_a_limit_and_a_blank_one_is_none() {
    Authorship::new(None, Some("x".repeat(2_000))).unwrap();
    let refused = Authorship::new(None, Some("x".repeat(2_001)));
    assert_eq!(kind(refused), Kind::TooLong);
    let blank = Authorship::new(None, Some(" \n".to_owned())).unwrap();
    assert_eq!(blank, NOBODY);
}

#[test]
fn a_write_keeps_the_given_number_of_versions_besides_the_current_one() {
    let (folder, library) = folder(&[]);
    let library = library.with_history(NonZeroUsize::new(3).unwrap());
    let editor = local_editor(&library);
    let mut revision = editor.create("a", "0", &NOBODY).unwrap().revision;
    for number in 1..10 {
        revision = editor
            .update("a", revision, &number.to_string(), &NOBODY)
            .unwrap()
            .revision;
    }
    assert_eq!(names(&folder.path().join(".history/a"), ".md").len(), 4);
    assert_eq!(names(&folder.path().join(".history/a"), ".json").len(), 4);
    assert_eq!(editor.history("a").unwrap().len(), 4);
    editor.version("a", revision_of("6")).unwrap();
    assert_eq!(
        kind(editor.version("a", revision_of("5"))),
        Kind::NoSuchVersion
    );
    assert_eq!(DEFAULT_MAX_VERSIONS.get(), 50);
}

#[test]
fn of_writers_at_the_same_time_one_wins_and_the_others_are_told() {
    let (_folder, library) = folder(&[("a.md", "0")]);
    let mut expected = revision_of("0");
    for round in 0..10 {
        let results = write_at_once(&library, expected, round);
        let (won, lost): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
        assert_eq!(won.len(), 1, "{lost:?}");
        for refused in lost {
            assert_conflict(refused);
        }
        expected = local_editor(&library).current("a").unwrap().revision;
    }
    assert_eq!(operations(&local_editor(&library), "a").len(), 11);
}

/// Replaces the same text from four threads at once, each with another text.
fn write_at_once(
    library: &Library,
    expected: Revision,
    round: usize,
) -> Vec<Result<CompletedWrite, Diagnostic>> {
    thread::scope(|scope| {
        let mut writers = Vec::new();
        for writer in 0..4 {
            writers.push(scope.spawn(move || {
                let text = format!("{round} {writer}");
                local_editor(library).update("a", expected, &text, &NOBODY)
            }));
        }
        let results = writers.into_iter().map(|writer| writer.join().unwrap());
        results.collect()
    })
}

#[test]
fn a_prompt_in_a_folder_is_restored_as_that() {
    let (folder, library) = folder(&[("x/SKILL.md", "Skill."), ("x/more.txt", "more")]);
    let editor = local_editor(&library);
    editor.delete("x", revision_of("Skill."), &NOBODY).unwrap();
    assert_eq!(names(&folder.path().join("x"), ""), ["more.txt"]);
    editor.restore("x", None, None, &NOBODY).unwrap();
    assert_eq!(
        names(&folder.path().join("x"), ""),
        ["SKILL.md", "more.txt"]
    );
    // A record that was tampered with doesn't redirect the write.
    editor.delete("x", revision_of("Skill."), &NOBODY).unwrap();
    let history = folder.path().join(".history/x");
    for record in names(&history, ".json") {
        let record = history.join(record);
        let text = fs::read_to_string(&record).unwrap();
        fs::write(record, text.replace("x/SKILL.md", "../x.md")).unwrap();
    }
    editor.restore("x", None, None, &NOBODY).unwrap();
    assert_eq!(
        fs::read_to_string(folder.path().join("x.md")).unwrap(),
        "Skill."
    );
}

#[test]
fn a_restored_text_may_be_broken_and_a_new_one_may_not() {
    let (_folder, library) = folder(&[("a.md", "---\ntitle: never closed")]);
    let editor = local_editor(&library);
    let now = editor.current("a").unwrap();
    assert_eq!(
        library.view().list().found[0].info().revision,
        Some(now.revision),
        "a broken file can be repaired"
    );
    editor.update("a", now.revision, "Good.", &NOBODY).unwrap();
    let refused = editor
        .update("a", revision_of("Good."), "---\ntitle: x\n", &NOBODY)
        .unwrap_err();
    assert!(
        refused.kind == Kind::Invalid && refused.to_string().contains("a.md:1:1: "),
        "{refused}"
    );
    let restored = editor
        .restore("a", Some(revision_of("Good.")), Some(now.revision), &NOBODY)
        .unwrap();
    assert_eq!(restored.warnings.len(), 1);
    let large = editor.create("large", &"x".repeat(crate::prompt::MAX_FILE + 1), &NOBODY);
    assert!(large.is_err(), "{large:?}");
    let warned = editor
        .create("b", "---\ntitel: T\n---\nB", &NOBODY)
        .unwrap();
    assert_eq!(warned.warnings.len(), 1, "{warned:?}");
}

#[test]
fn what_is_not_in_the_first_folder_of_the_user_is_not_changed_but_can_be_overridden() {
    let project = tempfile::tempdir().unwrap();
    put(&project.path().join(FOLDER), "plan.md", "Project's.");
    let claude = project.path().join("home/.claude/commands");
    put(&claude, "command.md", "Claude's.");
    let (first, second) = (project.path().join("first"), project.path().join("second"));
    put(&second, "second.md", "Second.");
    let library = Library::named([claude, first.clone(), second])
        .with_builtin()
        .with_project(project.path(), None, None);
    let editor = local_editor(&library);
    for name in ["plan", "command", "second", "review"] {
        let revision = editor.current(name).unwrap().revision;
        for refused in [
            editor.update(name, revision, "x", &NOBODY).map(|_| ()),
            editor.delete(name, revision, &NOBODY).map(|_| ()),
            editor.history(name).map(|_| ()),
            editor.version(name, revision).map(|_| ()),
        ] {
            let refused = refused.unwrap_err();
            assert!(
                refused.kind == Kind::NotWritable && refused.fix.contains("create a prompt"),
                "{name}: {refused}"
            );
        }
        let created = editor.create(name, "Mine.", &NOBODY).unwrap();
        let is_overridden = matches!(name, "plan" | "command");
        assert_eq!(
            created.warnings.len(),
            usize::from(is_overridden),
            "{name}: {:?}",
            created.warnings
        );
        assert_eq!(
            fs::read_to_string(first.join(format!("{name}.md"))).unwrap(),
            "Mine."
        );
    }
    for (name, end) in [
        ("../x", "hidden"),
        ("a b", "a-b"),
        ("x.md", "no suffix"),
        ("con", "Windows"),
        ("", "empty"),
    ] {
        let refused = editor.create(name, "x", &NOBODY).unwrap_err();
        assert!(
            refused.kind == Kind::BadName && refused.message.contains(end),
            "{refused}"
        );
    }
    assert_eq!(
        kind(editor.create("plan", "x", &NOBODY)),
        Kind::AlreadyExists
    );
    let refused = kind(editor.delete("revew", revision_of("x"), &NOBODY));
    assert!(
        matches!(&refused, Kind::NoSuchPrompt { closest } if closest[0].as_str() == "review"),
        "{refused:?}"
    );
    assert_eq!(
        kind(Library::default().with_builtin().editor(&Caller::local())),
        Kind::NotWritable
    );
}

/// Returns the text of a prompt that includes a file.
fn including(path: &str) -> String {
    format!("---\ninclude: true\n---\n{{{{> {path}}}}}\n")
}

/// Returns the text of a prompt that attaches a file.
fn attaching(path: &str) -> String {
    format!("---\nattachments: [{path}]\n---\nLook.\n")
}

#[test]
fn for_a_caller_with_a_prefix_nothing_else_exists_or_can_be_reached() {
    let (folder, library) = folder(&[
        ("team/a.md", "A"),
        ("other/b.md", "B"),
        ("secret.md", "S"),
        ("team/pic.png", "x"),
    ]);
    let editor = library.editor(&stranger(Some("team/"))).unwrap();
    for name in ["other/b", "secret", "review", "none"] {
        assert_no_such_prompt(editor.update(name, revision_of("B"), "x", &NOBODY));
        assert_no_such_prompt(editor.current(name));
        assert_eq!(
            kind(editor.create(name, "x", &NOBODY)),
            Kind::NotWritable,
            "{name}"
        );
    }
    assert_eq!(
        kind(editor.create("team/../secret2", "x", &NOBODY)),
        Kind::BadName
    );
    for path in ["/secret", "../secret", "/other/b", "../nowhere"] {
        assert_eq!(
            kind(editor.create("team/c", &including(path), &NOBODY)),
            Kind::NotFound,
            "{path}"
        );
    }
    editor.create("team/c", &including("a"), &NOBODY).unwrap();
    let absolute = folder.path().join("secret.md");
    for path in [
        "../secret.md",
        "../other/b.md",
        absolute.to_str().unwrap(),
        "../nowhere.md",
    ] {
        assert_eq!(
            kind(editor.create("team/d", &attaching(path), &NOBODY)),
            Kind::NotFound,
            "{path}"
        );
    }
    editor
        .create("team/d", &attaching("a.md"), &NOBODY)
        .unwrap();
    // A caller cannot restore a text that they may not write, even if somebody else wrote it.
    put(
        folder.path(),
        "team/a.md",
        "---\nattachments: [../secret.md]\n---\nA",
    );
    let now = editor.current("team/a").unwrap().revision;
    editor.update("team/a", now, "B", &NOBODY).unwrap();
    assert_eq!(
        kind(editor.restore("team/a", Some(revision_of("B")), Some(now), &NOBODY)),
        Kind::NotFound
    );
    // A caller without a prefix may attach any file of the folder.
    let all = library.editor(&stranger(None)).unwrap();
    all.create("e", &attaching("secret.md"), &NOBODY).unwrap();
}

#[test]
fn the_history_is_no_prompt_no_include_and_no_attachment() {
    let (folder, library) = folder(&[("a.md", "A")]);
    let editor = local_editor(&library);
    editor.update("a", revision_of("A"), "B", &NOBODY).unwrap();
    let version = names(&folder.path().join(".history/a"), ".md").remove(0);
    let view = library.view();
    assert_eq!(view.list().names()[0].as_str(), "a");
    assert_eq!(view.check(None).problems, []);
    let version = format!(".history/a/{version}");
    let refused = editor.create("b", &including(&version), &NOBODY);
    assert_eq!(kind(refused), Kind::Invalid);
    let warned = editor.create("b", &attaching(&version), &NOBODY).unwrap();
    assert!(
        warned.warnings[0].to_string().contains(".history"),
        "{warned:?}"
    );
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn versions_are_as_private_as_the_prompt_whose_permissions_stay() {
        let (folder, library) = folder(&[("a.md", "A")]);
        let path = folder.path().join("a.md");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let editor = local_editor(&library);
        editor.update("a", revision_of("A"), "B", &NOBODY).unwrap();
        assert_eq!(mode(&path), 0o640);
        let history = folder.path().join(".history/a");
        for version in names(&history, "") {
            assert_eq!(mode(&history.join(version)), 0o640);
        }
        editor.delete("a", revision_of("B"), &NOBODY).unwrap();
        editor.restore("a", None, None, &NOBODY).unwrap();
        assert_eq!(mode(&path), 0o640);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
        let refused = editor
            .update("a", revision_of("B"), "C", &NOBODY)
            .unwrap_err();
        assert!(
            refused.kind == Kind::Unreadable && refused.to_string().contains("read-only"),
            "{refused}"
        );
        assert_eq!(fs::read(&path).unwrap(), b"B");
    }

    #[test]
    fn of_a_symlink_the_target_is_written_unless_a_stranger_would_reach_another_folder() {
        let outside = tempfile::tempdir().unwrap();
        put(outside.path(), "out.md", "Out.");
        let (folder, library) = folder(&[("team/in.md", "In."), ("other/x.md", "X.")]);
        symlink(
            outside.path().join("out.md"),
            folder.path().join("team/out.md"),
        )
        .unwrap();
        symlink("in.md", folder.path().join("team/link.md")).unwrap();
        symlink("../other/x.md", folder.path().join("team/x.md")).unwrap();
        symlink(outside.path(), folder.path().join("team/away")).unwrap();
        let local = local_editor(&library);
        for caller in [stranger(None), stranger(Some("team/"))] {
            let editor = library.editor(&caller).unwrap();
            assert_eq!(
                kind(editor.update("team/out", revision_of("Out."), "No.", &NOBODY)),
                Kind::OutsideFolder
            );
            assert_eq!(
                kind(editor.create("team/away/new", "No.", &NOBODY)),
                Kind::OutsideFolder
            );
            let link = editor.current("team/link").unwrap();
            editor
                .update(
                    "team/link",
                    link.revision,
                    &format!("{}+", link.file),
                    &NOBODY,
                )
                .unwrap();
        }
        let team = library.editor(&stranger(Some("team/"))).unwrap();
        assert_eq!(
            kind(team.update("team/x", revision_of("X."), "No.", &NOBODY)),
            Kind::OutsideFolder
        );
        assert_eq!(
            fs::read_to_string(folder.path().join("team/in.md")).unwrap(),
            "In.++"
        );
        local
            .update("team/out", revision_of("Out."), "Written.", &NOBODY)
            .unwrap();
        assert_eq!(
            fs::read_to_string(outside.path().join("out.md")).unwrap(),
            "Written."
        );
        assert!(
            fs::symlink_metadata(folder.path().join("team/out.md"))
                .unwrap()
                .is_symlink()
        );
        assert_eq!(
            names(outside.path(), ""),
            ["out.md"],
            "neither a temporary file nor a history"
        );
    }

    #[test]
    fn a_version_that_is_a_symlink_is_neither_read_nor_restored() {
        let outside = tempfile::tempdir().unwrap();
        put(outside.path(), "secret", "A");
        let (folder, library) = folder(&[("a.md", "A")]);
        let editor = local_editor(&library);
        editor.update("a", revision_of("A"), "B", &NOBODY).unwrap();
        let history = folder.path().join(".history/a");
        let version = history.join(&names(&history, ".md")[0]);
        fs::remove_file(&version).unwrap();
        symlink(outside.path().join("secret"), &version).unwrap();
        assert_eq!(operations(&editor, "a"), [Update]);
        assert_eq!(
            kind(editor.version("a", revision_of("A"))),
            Kind::NoSuchVersion
        );
        assert_eq!(
            kind(editor.restore("a", Some(revision_of("B")), Some(revision_of("A")), &NOBODY)),
            Kind::NoSuchVersion
        );
    }

    #[test]
    fn a_history_that_is_a_symlink_or_a_file_is_refused_and_nothing_is_written() {
        let elsewhere = tempfile::tempdir().unwrap();
        for is_below in [false, true] {
            for is_link in [false, true] {
                let (folder, library) = folder(&[("a.md", "A")]);
                let editor = local_editor(&library);
                let obstacle = folder
                    .path()
                    .join(if is_below { ".history/a" } else { ".history" });
                fs::create_dir_all(obstacle.parent().unwrap()).unwrap();
                if is_link {
                    symlink(elsewhere.path(), &obstacle).unwrap()
                } else {
                    fs::write(&obstacle, "").unwrap()
                }
                let refused = editor
                    .update("a", revision_of("A"), "B", &NOBODY)
                    .unwrap_err();
                assert!(
                    refused.message.contains(obstacle.to_str().unwrap()),
                    "{refused}"
                );
                assert!(refused.fix.contains("move it away"), "{refused}");
                assert_eq!(fs::read(folder.path().join("a.md")).unwrap(), b"A");
                assert_eq!(names(elsewhere.path(), "").len(), 0);
            }
        }
    }
}

//! The README, CONTRIBUTING and the pages in `docs` are true: their commands are run, their tables
//! are held against the program.
//!
//! A `console` block is run line by line in the home directory of its page: what follows `$ ` is a
//! command, the lines below it are what it must print. `…` as a line stands for any lines, within a
//! line for any text. `cargo run -q --` is the program under test. Commands that would build, test
//! or change another program are looked at, not run ([`is_left_to_ci`]); `.ci/run` runs the
//! installation, the tests and the bench.

use crate::client::Client as Harness;
use prompt_expander::agents::AGENTS;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

/// A file of the repository.
pub(crate) fn page(file: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap()
}

fn readme() -> String {
    page("README.md")
}

fn reference() -> String {
    page("docs/reference.md")
}

/// The README, CONTRIBUTING and all pages of `docs`, without their pictures.
fn pages() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut pages = vec!["README.md".to_owned(), "CONTRIBUTING.md".to_owned()];
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path
                .strip_prefix(root)
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned();
            match path.extension().and_then(|extension| extension.to_str()) {
                _ if path.is_dir() => folders.push(path),
                Some("png") => {}
                _ => pages.push(name.replace('\\', "/")),
            }
        }
    }
    pages.sort();
    pages
}

/// The fenced blocks of a language, each with the paragraph before it.
pub(crate) fn blocks(text: &str, language: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(&format!("\n```{language}\n")) {
        let (block, tail) = after.split_once("\n```\n").unwrap();
        blocks.push((
            before.trim_end().rsplit("\n\n").next().unwrap().to_owned(),
            format!("{block}\n"),
        ));
        rest = tail;
    }
    blocks
}

/// Returns whether these tests do not run a command. CI runs it.
fn is_left_to_ci(command: &str) -> bool {
    matches!(
        command,
        "cargo install --locked --path ."
            | "cargo test --locked"
            | "bash .ci/run"
            | "cargo bench --locked --bench counted"
    )
}

/// Returns whether a printed text is what a page shows, in which `…` stands for any text.
fn matches(shown: &str, printed: &str) -> bool {
    let Some((before, mut after)) = shown.split_once('…') else {
        return shown == printed;
    };
    let Some(remaining) = printed.strip_prefix(before) else {
        return false;
    };
    // `…` alone in its line stands for whole lines.
    if before.is_empty() || before.ends_with('\n') {
        after = after.strip_prefix('\n').unwrap_or(after);
    }
    let mut starts = remaining.char_indices().map(|(start, _)| start);
    starts.any(|start| matches(after, &remaining[start..])) || matches(after, "")
}

#[test]
fn the_functions_on_the_path_of_a_request_are_in_the_files_that_are_named() {
    let text = page("CONTRIBUTING.md");
    let (_, table) = text.split_once("| step | functions | files |").unwrap();
    let (table, _) = table.split_once("\n\n").unwrap();
    for row in table.lines().skip(2) {
        let cells: Vec<&str> = row.split('|').collect();
        let code: String = cells[3]
            .split('`')
            .filter(|file| file.ends_with(".rs"))
            .map(page)
            .collect();
        for function in cells[2].split('`').skip(1).step_by(2) {
            let name = function.rsplit("::").next().unwrap();
            let is_defined =
                code.contains(&format!("fn {name}(")) || code.contains(&format!("fn {name}<"));
            assert!(is_defined, "{function} is not in {}", cells[3]);
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn every_command_prints_what_its_page_shows() {
    let count: usize = pages().iter().map(|file| run_commands(&page(file))).sum();
    assert!(count >= 10, "{count}");
}

/// Runs the commands of a page; says how many.
#[cfg(target_os = "linux")]
fn run_commands(text: &str) -> usize {
    let home = Harness::new();
    let documents = blocks(text, "yaml")
        .into_iter()
        .filter(|(before, _)| before.contains("`~/"));
    for (before, file) in blocks(text, "markdown").into_iter().chain(documents) {
        let path = before
            .split('`')
            .find_map(|text| text.strip_prefix("~/"))
            .unwrap();
        home.put(path, file);
    }
    // Codex was here before.
    home.make_folder(".codex");
    // A repository with a change, for `git diff`.
    let work = home.make_folder("work");
    let prepare = "git init -q . && git config user.email a@b.c && git config user.name n && echo old > f && git add f \
                   && git commit -q -m m && echo a new line >> f";
    assert!(
        Command::new("sh")
            .args(["-c", prepare])
            .current_dir(&work)
            .env("HOME", home.root())
            .status()
            .unwrap()
            .success()
    );

    if text.contains("pack add") {
        prepare_repositories(&home);
    }
    let mut count = 0;
    for (_, block) in blocks(text, "console") {
        for step in format!("\n{block}").split("\n$ ").skip(1) {
            let (command, shown) = step.split_once('\n').unwrap_or((step, ""));
            if is_left_to_ci(command) {
                assert_eq!(shown.trim(), "", "{command}");
                continue;
            }
            let line = command
                .replace("cargo run --locked --", "prompt-expander")
                .replace("cargo run -q --", "prompt-expander");
            // Somebody at a terminal is asked; here nobody is.
            let is_asked =
                line.starts_with("prompt-expander install ") && !line.ends_with(" --dry-run");
            let line = if is_asked {
                format!("{line} --yes")
            } else {
                line
            };
            let is_pack = line.starts_with("prompt-expander pack add ");
            let line = if is_pack {
                format!("{line} --yes --ref $(git -C ~/acme rev-parse HEAD)")
            } else {
                line
            };
            let output = shell(&home, &line).current_dir(&work).output().unwrap();
            let printed = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
            assert!(
                matches(shown.trim_end(), printed.trim_end()),
                "$ {command}\nshown:\n{shown}\nprinted:\n{printed}"
            );
            count += 1;
        }
    }
    count
}

/// Makes the repositories that the page about packs fetches from, at addresses that git replaces.
#[cfg(target_os = "linux")]
fn prepare_repositories(home: &Harness) {
    let review = "---\ndescription: Review a change\n---\nReview this change:\n\n{{input}}\n";
    home.put("acme/review.md", review);
    let lines = "git config --global user.email a@b.c && git config --global user.name n && git config --global init.defaultBranch main \
         && git config --global url.$HOME/acme.insteadOf https://github.com/acme/prompts \
         && git config --global url.$HOME/mine.git.insteadOf git@git.example.com:me/prompts.git \
         && git init -q --bare mine.git && cd acme && git init -q \
         && git add . && git commit -q -m m && git push -q ~/mine.git HEAD:main";
    assert!(shell(home, lines).status().unwrap().success());
}

/// A line for the shell in a home directory of its own, where the program under test is found by
/// its name.
#[cfg(unix)]
pub(crate) fn shell(home: &Harness, line: &str) -> Command {
    let program = Path::new(env!("CARGO_BIN_EXE_prompt-expander"));
    let path = format!(
        "{}:{}",
        program.parent().unwrap().display(),
        std::env::var("PATH").unwrap()
    );
    let mut shell = Command::new("sh");
    shell
        .args(["-c", line])
        .current_dir(home.root())
        .env("HOME", home.root())
        .env("PATH", path);
    shell
        .env_remove("XDG_CONFIG_HOME")
        .env_remove("PROMPT_EXPANDER_PROMPTS");
    shell
}

/// The rows of a page's table whose first header cell is this, as cells.
pub(crate) fn table(text: &str, header: &str) -> Vec<Vec<String>> {
    let rows = text
        .lines()
        .skip_while(|line| !line.starts_with(&format!("| {header} |")))
        .skip(2);
    rows.take_while(|line| line.starts_with('|'))
        .map(cells)
        .collect()
}

/// The cells of a row of a table.
fn cells(row: &str) -> Vec<String> {
    let cells = row.trim_matches('|').split(" | ");
    cells.map(|cell| cell.trim().to_owned()).collect()
}

#[test]
fn the_table_of_shipped_prompts_is_what_list_says() {
    let list = Harness::new()
        .arguments([])
        .run(["list", "--json"], "")
        .json();
    let shipped: Vec<Vec<String>> = list["prompts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|prompt| {
            vec![
                format!("`:{}`", prompt["name"].as_str().unwrap()),
                prompt["description"].as_str().unwrap().to_owned(),
            ]
        })
        .collect();
    let text = reference();
    let section = text.split("## Built-in prompts").nth(1).unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| `:"));
    assert_eq!(rows.map(cells).collect::<Vec<_>>(), shipped);
}

/// The commands, as `--help` lists them.
fn commands(client: &Harness) -> BTreeSet<String> {
    let help = client.words("--help").stdout;
    let lines = help
        .split("\nCommands:\n")
        .nth(1)
        .unwrap()
        .lines()
        .take_while(|line| !line.is_empty());
    // A continuation line has no name.
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names
        .filter(|name| !["", "help"].contains(name))
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_command_is_in_the_reference_and_none_that_is_not_there() {
    let known = commands(&Harness::new().arguments([]));
    let reference = table(&reference(), "command");
    let words = reference
        .iter()
        .filter_map(|row| row[0].trim_matches('`').split(' ').nth(1));
    assert_eq!(
        words
            .filter(|word| !word.starts_with(':'))
            .map(str::to_owned)
            .collect::<BTreeSet<_>>(),
        known
    );
}

/// Returns the long options in a text.
fn options(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| !(letter.is_ascii_lowercase() || letter == '-'));
    let options = words.filter(|word| word.starts_with("--") && word.len() > 2);
    options.map(str::to_owned).collect()
}

#[test]
fn every_option_is_in_the_reference_and_none_that_is_not_there() {
    let client = Harness::new().arguments([]);
    let mut known = BTreeSet::new();
    known.extend(options(&client.words("--help").stdout));
    for command in commands(&client) {
        known.extend(options(&client.run([&command, "--help"], "").stdout));
    }
    for action in [
        ["token", "add"],
        ["pack", "add"],
        ["pack", "update"],
        ["pack", "sync"],
        ["store", "push"],
    ] {
        known.extend(options(
            &client.run(action.into_iter().chain(["--help"]), "").stdout,
        ));
    }
    let text = reference();
    // Some rows of commands name options in their second cell.
    let of_commands = table(&text, "command").into_iter().map(|row| row.join(" "));
    let others = table(&text, "option or variable")
        .into_iter()
        .map(|row| row[0].clone());
    let shown: BTreeSet<String> = of_commands
        .chain(others)
        .flat_map(|cell| options(&cell))
        .collect();
    assert_eq!(shown, known);
}

#[test]
fn every_agent_of_install_has_a_row_with_its_command_and_a_page() {
    let rows = table(&readme(), "agent");
    assert_eq!(rows.len(), AGENTS.len() + 1); // and any other
    for agent in AGENTS {
        let begins = format!("[{}](docs/clients/", agent.title);
        let row = rows
            .iter()
            .find(|row| row[0].starts_with(&begins))
            .unwrap_or_else(|| panic!("{begins}"));
        page(row[0].split(['(', ')', '#']).nth(1).unwrap());
        assert!(row[1].starts_with(&format!("`prompt-expander install {}`", agent.name)));
    }
    let mut server = Harness::new().arguments([]);
    server.initialize("2025-06-18");
    assert!(server.names().contains("research"));
}

#[test]
fn what_one_types_is_divided_as_the_page_of_prompt_files_shows() {
    let prompt_files = page("docs/prompt-files.md");
    let (_, file) = blocks(&prompt_files, "markdown")
        .into_iter()
        .find(|(before, _)| before.contains("compare.md"))
        .unwrap();
    let client = Harness::new().prompt("compare.md", file);
    let rows = table(&prompt_files, "you type `:compare` and");
    assert!(rows.len() >= 5);
    for row in rows {
        let [typed, options, criteria] = [0, 1, 2].map(|cell| row[cell].trim_matches('`'));
        client
            .run(["expand", "compare", "-"], typed)
            .printed(&format!("Compare {options} by {criteria}.\n"));
    }
}

#[test]
fn the_page_size_and_the_period_are_those_of_the_program() {
    let protocol = page("docs/protocol.md").replace('\n', " ");
    assert!(protocol.contains(&format!(
        "Lists have pages of {} entries (",
        prompt_expander::server::PAGE_SIZE
    )));
    let seconds = prompt_expander::library::POLL_INTERVAL.as_secs_f32();
    assert!(protocol.contains(&format!(
        "the server checks the files every {seconds} seconds,"
    )));
}

fn kib(bytes: usize) -> String {
    format!("{} KiB", bytes / 1024)
}

fn mib(bytes: usize) -> String {
    format!("{} MiB", bytes / 1024 / 1024)
}

/// Returns a number of at least 1,000 with its comma.
fn thousands(number: usize) -> String {
    format!("{},{:03}", number / 1000, number % 1000)
}

#[test]
fn the_limits_are_those_of_the_program() {
    use prompt_expander::jsonrpc::{MAX_BATCH, MAX_NESTING, MAX_VALUES};
    use prompt_expander::library::{MAX_ENTRIES, MAX_LINKED_FOLDERS};
    use prompt_expander::prompt::{
        MAX_ARGUMENTS, MAX_ATTACHMENT, MAX_ATTACHMENTS, MAX_ATTACHMENTS_SIZE, MAX_EXPANSION,
        MAX_FILE, MAX_FRONTMATTER, MAX_MESSAGES, MAX_YAML_SIZE,
    };
    use prompt_expander::prompt::{
        MAX_FILTER_OUTPUT, MAX_INCLUDE_DEPTH, MAX_INCLUDES, MAX_NAME, MAX_NAME_FOLDERS, MAX_STEPS,
        MAX_TEMPLATE_NESTING, MAX_TEMPLATE_TOKENS, MAX_VALUES_READ,
    };
    use prompt_expander::server::{MAX_BATCH_RESPONSE, MAX_LISTENS, MAX_SUBSCRIBED};
    use prompt_expander::transport::stdio::MAX_MESSAGE_BYTES;
    let limits = [
        ("a prompt file", mib(MAX_FILE)),
        (
            "its frontmatter",
            format!(
                "{}, and {} with its YAML aliases written out",
                kib(MAX_FRONTMATTER),
                kib(MAX_YAML_SIZE)
            ),
        ),
        ("its arguments", MAX_ARGUMENTS.to_string()),
        ("its messages", thousands(MAX_MESSAGES)),
        (
            "its attachments",
            format!(
                "{MAX_ATTACHMENTS}, {} each and {} together",
                mib(MAX_ATTACHMENT),
                mib(MAX_ATTACHMENTS_SIZE)
            ),
        ),
        ("a test file", mib(MAX_FILE)),
        (
            "a template",
            format!(
                "{} steps, {} of texts made by its filters, {} GiB of values that it uses, each counted whenever it is used, {} words and signs in its tags and 100 in each, {MAX_TEMPLATE_NESTING} nested blocks (each `elif` counts)",
                thousands(MAX_STEPS as usize),
                mib(MAX_FILTER_OUTPUT),
                MAX_VALUES_READ >> 30,
                thousands(MAX_TEMPLATE_TOKENS)
            ),
        ),
        (
            "what it includes",
            format!(
                "{MAX_INCLUDES} files, {MAX_INCLUDE_DEPTH} inside each other, {} together",
                mib(MAX_FILE)
            ),
        ),
        (
            "a prompt's name",
            format!("{MAX_NAME} bytes, {MAX_NAME_FOLDERS} folders"),
        ),
        (
            "a prompts folder",
            format!(
                "{} files and folders, {} symlinks to folders",
                thousands(MAX_ENTRIES),
                thousands(MAX_LINKED_FOLDERS)
            ),
        ),
        ("an expansion", mib(MAX_EXPANSION)),
        (
            "a message on standard input",
            format!(
                "{}, {},000 values in it, nested {MAX_NESTING} deep",
                mib(MAX_MESSAGE_BYTES),
                MAX_VALUES / 1000
            ),
        ),
        (
            "listening",
            format!(
                "{} `subscriptions/listen`, {} subscriptions to resources",
                thousands(MAX_LISTENS),
                thousands(MAX_SUBSCRIBED)
            ),
        ),
        (
            "a batch (2025-03-26)",
            format!(
                "{} messages, {} of answers",
                thousands(MAX_BATCH),
                mib(MAX_BATCH_RESPONSE)
            ),
        ),
    ];
    assert_eq!(
        table(&reference(), "limit of"),
        limits.map(|(what, limit)| vec![what.to_owned(), limit])
    );
}

#[cfg(feature = "store")]
#[test]
fn the_files_for_a_team_have_options_and_paths_that_the_program_has() {
    let [page, nginx, manifest] = ["team.md", "team/nginx.conf", "team/kubernetes.yaml"]
        .map(|file| page(&format!("docs/{file}")));
    let client = crate::client::Client::new().arguments([]);
    let known = client.words("serve --help").stdout + &client.words("--help").stdout;
    let words = [&page, &manifest]
        .map(|text| text.split(|letter: char| !(letter.is_ascii_lowercase() || letter == '-')));
    for option in words
        .into_iter()
        .flatten()
        .filter(|word| word.starts_with("--") && word.len() > 3)
    {
        let is_other = [
            "--name",
            "--now",
            "--role",
            "--from-file",
            "--prune",
            "--dry-run",
            "--overwrite",
            "--overwrite-all",
            "--team",
        ]
        .contains(&option);
        assert!(
            is_other || known.contains(&format!("{option} ")),
            "{option}"
        );
    }
    for port in page
        .split("prompts@")
        .skip(1)
        .filter_map(|rest| rest.get(..4))
        .filter(|port| port.starts_with("33"))
    {
        assert!(
            nginx.contains(&format!("server 127.0.0.1:{port} ")),
            "{port}"
        );
    }
    assert!(
        manifest.contains("path: /ready, port: 3333")
            && manifest.contains("path: /health, port: 3333")
    );
}

#[test]
fn every_file_that_the_pages_name_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let beginnings = [
        "src/",
        "tests/",
        "docs/",
        "benches/",
        "fuzz/",
        ".ci/",
        "deny.toml",
        "Cargo.toml",
    ];
    let mut count = 0;
    let others = ["benches/README.md", "fuzz/README.md"].map(str::to_owned);
    for page_name in pages().into_iter().chain(others) {
        let text = page(&page_name);
        let folder = root.join(&page_name).parent().unwrap().to_owned();
        let named = text
            .split('`')
            .skip(1)
            .step_by(2)
            .filter(|word| !word.contains([' ', '*', '<']));
        for file in named.filter(|word| {
            let is_made_by_a_run =
                word.starts_with("fuzz/corpus") || word.starts_with("fuzz/artifacts");
            let is_file = beginnings
                .iter()
                .any(|beginning| word.starts_with(beginning));
            is_file && !is_made_by_a_run
        }) {
            assert!(root.join(file).exists(), "{page_name} names {file}");
            count += 1;
        }
        let links = text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split_once(')'))
            .map(|(link, _)| link);
        for link in links.filter(|link| !link.starts_with("http")) {
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() {
                root.join(&page_name)
            } else {
                folder.join(file)
            };
            assert!(target.exists(), "{page_name} links to {link}");
            let is_heading = |line: &str| {
                let words = line
                    .trim_start_matches('#')
                    .trim()
                    .to_lowercase()
                    .replace(' ', "-");
                line.starts_with('#') && words.replace([',', ':', '`', '?'], "") == heading
            };
            let found =
                heading.is_empty() || fs::read_to_string(target).unwrap().lines().any(is_heading);
            assert!(found, "{page_name} links to {link}");
            count += 1;
        }
    }
    assert!(count >= 100, "{count}");
}

#[test]
fn every_bench_is_in_the_table_of_its_readme_with_a_command_that_runs_it() {
    let benches = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches");
    let text = fs::read_to_string(benches.join("README.md")).unwrap();
    let rows = text
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|row| row.split('`').collect::<Vec<_>>());
    let shown: BTreeSet<String> = rows
        .map(|row| {
            let file = row[1].strip_suffix(".rs").unwrap().to_owned();
            assert_eq!(row[3], format!("cargo bench --locked --bench {file}"));
            file
        })
        .collect();
    let files = fs::read_dir(benches)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let files: BTreeSet<String> = files
        .filter_map(|file| Some(file.strip_suffix(".rs")?.to_owned()))
        .collect();
    assert_eq!(shown, files);
}

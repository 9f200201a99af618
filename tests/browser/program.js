// The real program with a library of its own, and the prompts of these tests.

import { spawn, spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";

const PROGRAM = resolve(process.env.PROGRAM);

/** Starts `serve --http` with these files; `stop` ends it. */
export async function serve(files, { tokens, options = [] } = {}) {
  const home = mkdtempSync(join(tmpdir(), "page-"));
  const folder = join(home, "prompts");
  const write = (name, text) => {
    const file = join(folder, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  };
  const read = (name) => readFileSync(join(folder, name), "utf8");
  const remove = (name) => rmSync(join(folder, name));
  mkdirSync(folder);
  for (const [name, text] of Object.entries(files)) write(name, text);
  const more = [...options];
  if (tokens) {
    const file = join(home, "tokens");
    writeFileSync(file, tokens);
    chmodSync(file, 0o600);
    more.push("--token-file", file);
  }
  const env = { ...process.env, HOME: home, XDG_STATE_HOME: home };
  const library = ["--prompts", folder];
  const child = spawn(PROGRAM, ["serve", "--http", "127.0.0.1:0", ...library, ...more], { env, stdio: ["ignore", "ignore", "pipe"] });
  const lines = createInterface({ input: child.stderr });
  const first = await new Promise((done, failed) => {
    lines.once("line", done);
    child.once("error", failed);
    child.once("exit", () => failed(new Error("the program ended")));
  });
  const url = new URL("/", first.replace("listening on ", "")).href;
  const stop = async () => {
    if (child.exitCode === null) {
      const ended = new Promise((done) => child.once("exit", done));
      child.kill("SIGTERM");
      await ended;
    }
    rmSync(home, { recursive: true, force: true });
  };
  /** What `expand` prints for the same library. */
  const expand = (name, ...words) => {
    // Options come before the name.
    const call = words[0] === "--arg" ? [...words, name] : [name, ...words];
    const { stdout, status } = spawnSync(PROGRAM, ["expand", "--json", ...library, ...call], { env, input: "" });
    if (status !== 0) throw new Error(`expand ${call} fails`);
    return JSON.parse(stdout).prompt;
  };
  return { url, read, write, remove, stop, expand };
}

const prompt = (frontmatter, body) => `---\n${frontmatter}\n---\n${body}\n`;

/** A library as a team may have it. */
export const LIBRARY = {
  "research.md": prompt(
    "title: Research a topic\ndescription: Find out what is known, with primary sources, and say how sure each finding is.\ntags: [research, writing]",
    "You are a careful researcher. Find out what is known about the topic below, and say how well each finding is supported.\n\nPrefer primary sources, give the date of each, and name what remains unknown. If two sources disagree, say why, and which one you trust more.\n\nTopic: {{input}}",
  ),
  "compare.md": prompt(
    "title: Compare options\ndescription: A table of options by criteria, a recommendation, and what would change it.\ntags: [decisions]\narguments:\n  - name: options\n    description: What to compare, such as two libraries or three cities\n    required: true\n  - name: criteria\n    description: What matters\n    default: cost, risk, time\n  - name: depth\n    description: How much to write\n    choices: [brief, full]\n    strict: true\n    default: brief",
    "Compare these options: {{options}}\n\nMake a table with one row for each option and one column for each criterion. Criteria: {{criteria}}.\n\nBelow the table, recommend one of them in a paragraph ({{depth}}), and say what would have to be true for another one to be better.\n\n- Do not invent figures; mark what you had to assume.\n- Name the option that you would rule out first, and why.\n- If the options cannot be compared, say so instead of making a table.",
  ),
  "review.md": prompt(
    "title: Review a change\ndescription: Correctness first, then clarity; each finding with its line and a fix.\ntags: [code]\narguments:\n  - name: focus\n    description: What to look at above all",
    "Review the change below. {{focus}}\n\nReport only what is wrong or risky, most serious first.\n\n{{input}}",
  ),
  "git/commit.md": prompt(
    "title: Commit message\ndescription: A message in the imperative that says why, from a diff.\ntags: [code, git]",
    "Write a commit message for this diff:\n\n{{input}}",
  ),
  "git/pull-request.md": prompt(
    "description: Title and description of a pull request, for a reader who does not know the code.\ntags: [code, git, writing]\narguments:\n  - name: branch\n    required: true\n  - name: base\n    default: main",
    "Describe the pull request from {{branch}} into {{base}}.",
  ),
  "git/release-notes.md": prompt(
    "title: Release notes\ndescription: What changed for users since the last release, without internals.\ntags: [git, writing]",
    "Write release notes from these commits:\n{{input}}",
  ),
  "git/history/bisect.md": prompt("description: Plan a bisection, and read its result.\ntags: [git]", "Help me to bisect: {{input}}"),
  "writing/edit.md": prompt(
    "title: Edit a text\ndescription: Shorter, plainer, in the same voice. Changes are listed below the text.\ntags: [writing]\narguments:\n  - name: tone\n    choices: [plain, friendly, formal]\n    default: plain",
    "Edit the text below. Tone: {{tone}}.\n\n{{input}}",
  ),
  "writing/summary.md": prompt(
    "title: Summary\ndescription: Five sentences, for somebody who will read nothing else.\ntags: [writing]",
    "Summarize:\n\n{{input}}",
  ),
  "writing/translate.md": prompt(
    "title: Translate\ndescription: Translate, and keep names, numbers and formatting as they are.\ntags: [writing]\narguments:\n  - name: language\n    required: true",
    "Translate into {{language}}:\n\n{{input}}",
  ),
  "meetings/agenda.md": prompt(
    "title: Agenda\ndescription: An agenda with times from a list of subjects.\ntags: [meetings]",
    "Make an agenda of: {{input}}",
  ),
  "meetings/minutes.md": prompt(
    "title: Minutes\ndescription: Decisions and tasks, each with a name and a date.\ntags: [meetings, writing]",
    "Write minutes:\n\n{{input}}",
  ),
  "ops/incident.md": prompt(
    "title: Incident report\ndescription: Timeline, cause, effect, and what is done so that it does not happen again.\ntags: [operations]\narguments:\n  - name: service\n    required: true\n  - name: since",
    "An incident of {{service}} since {{since}}. Ask me for what you need.",
  ),
  "ops/runbook.md": prompt(
    "title: Runbook\ndescription: Steps that somebody can follow at night, each with how to check it.\ntags: [operations]",
    "Write a runbook for: {{input}}",
  ),
  "tests.md": prompt(
    "title: Tests for a function\ndescription: The cases that matter, named by the rule that each one checks.\ntags: [code]",
    "Write tests for:\n\n{{input}}",
  ),
};

/** The same with files that are broken. */
export const PROBLEMS = {
  ...LIBRARY,
  "broken.md": "---\ndescription: never closed\n",
  "ops/deploy.md": prompt(
    "description: A name that is used and not declared.\narguments: [service]",
    "Deploy {{service}} to {{evironment}}.",
  ),
};

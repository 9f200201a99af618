// The list of prompts, which a search and the choices of a layer, a folder and a tag narrow down.

import { ask } from "./api.js";
import { h, main, titled } from "./dom.js";
import { bare, bdi, command, count, listAddress, pathOf, problemItems, sentence, text, thousands } from "./text.js";

/** How many rows are shown until somebody asks for all. */
const ROWS = 500;

const EMPTY = "There are no prompts yet; `prompt-expander new NAME --edit` makes one";

const LAYERS = ["project", "user", "team", "pack", "remote", "built-in"];

/** `team2` comes before `team10`. */
const compareNames = new Intl.Collator("en", { numeric: true }).compare;
const compareLayers = (one, other) => LAYERS.indexOf(one) - LAYERS.indexOf(other);
const comparePrompts = (one, other) => compareLayers(one.layer, other.layer) || compareNames(one.name, other.name);

const isSame = (one, other) => one.toLowerCase() === other.toLowerCase();

/** Returns the list for the choices in the address. `known` is the answer with all prompts, if there is one already. */
export async function listPage(me, { query, layer, folder, tag, all: showsAll }, known) {
  const chosen = { query: query?.trim() && query, layer, folder: folder?.replace(/^\/+|\/+$/g, ""), tag };
  const all = known ?? (await ask("GET", "/api/prompts"));
  const found = chosen.query
    ? await ask("GET", `/api/prompts?${new URLSearchParams({ query: chosen.query })}`)
    : { ...all, prompts: all.prompts.toSorted(comparePrompts) };
  const prompts = found.prompts.filter((prompt) => matches(prompt, chosen));
  const shown = showsAll ? prompts : prompts.slice(0, ROWS);
  const content = h(
    "div",
    heading(me, chosen, prompts.length),
    problems(found.problems ?? []),
    prompts.length === 0 && h("p.empty", all.prompts.length ? "No prompt matches." : sentence(EMPTY)),
    h("ul.rows", shown.map(row)),
    shown.length < prompts.length &&
      h("a.button.more", { href: listAddress({ ...chosen, all: "yes" }) }, `Show all ${thousands(prompts.length)}`),
  );
  const browse = h("div.browse", filters(all.prompts, found.prompts, chosen), content);
  return { title: chosen.query ? `Search for ${chosen.query}` : "Prompts", main: main(browse), all };
}

/** Whether a prompt is of the chosen layer, folder and tag. A choice that is empty fits all prompts. */
function matches(prompt, { layer, folder, tag }) {
  if (layer && prompt.layer !== layer) return false;
  if (folder && !prompt.name.startsWith(`${folder}/`)) return false;
  return !tag || prompt.tags.some((own) => isSame(bare(own), bare(tag)));
}

/** The heading of the list, with the number of its prompts. */
function heading(me, chosen, number) {
  const isChosen = Object.values(chosen).some(Boolean);
  const words = isChosen ? "Prompts" : "All prompts";
  return titled(
    chosen.query ? ["Search for ", bdi(chosen.query)] : words,
    h("span.count", count(number, "prompt")),
    isChosen && h("a", { href: "/" }, "Show all"),
    (me.may_edit || me.token_file) && h("a.button", { href: "/new" }, "New prompt"),
  );
}

/** The problems of files that are no prompts, which are shown on a click. */
function problems(found) {
  if (!found.length) return null;
  const summary = h("summary", `${count(found.length, "problem")} in the files`);
  return h("details.problems#problems", summary, problemItems(found));
}

/** A prompt in the list, as a link. */
function row({ name, title, description, layer, pack, format, tags, arguments: declared = [] }) {
  const signature = declared.map((argument) => {
    const label = text(argument.name);
    return h("code", h("bdi", argument.required ? label : ["[", label, "]"]));
  });
  const facts = tags.map((tag) => h("bdi", "#", text(bare(tag))));
  if (layer !== "user") facts.push(h("span", pack ? `${layer} ${pack}` : layer));
  if (format) facts.push(h("span", format));
  const about = h(
    "div.about",
    title && !isSame(title, name) && h("strong.text", { dir: "auto" }, text(title)),
    description && h("div.description.text", { dir: "auto" }, text(description)),
    facts.length > 0 && h("div.facts", facts),
  );
  const call = h("div", command(name), signature.length > 0 && h("div.signature", signature));
  return h("li", h("a", { href: pathOf(name) }, call, about));
}

/** The tag of most prompts comes first. */
function compareCounts([one, number], [other, otherNumber]) {
  return otherNumber - number || compareNames(one, other);
}

/** What one can choose: the values of a prompt, and their order. An entry is a value and the number of its prompts. */
const KINDS = {
  layer: { valuesOf: ({ layer }) => [layer], compare: ([one], [other]) => compareLayers(one, other) },
  folder: { valuesOf: ({ name }) => foldersOf(name), compare: ([one], [other]) => compareNames(one, other) },
  tag: { valuesOf: ({ tags }) => tags.map(bare), compare: compareCounts },
};

/** `a/b/c` → `a`, `a/b`. */
const foldersOf = (name) => [...name.matchAll(/\//g)].map(({ index }) => name.slice(0, index));

/**
 * The layers, folders and tags of all prompts, so that they stay where they are while somebody types. The numbers are
 * those of the prompts that were found and match the choices of other kinds.
 */
function filters(all, found, chosen) {
  const sections = Object.entries(KINDS).map(([kind, { valuesOf, compare }]) => {
    const entries = [...countValues(all, valuesOf)].sort(compare);
    const values = entries.map(([value]) => value).filter((value) => kind !== "folder" || isNear(value, chosen.folder));
    // A single layer is no choice.
    if (values.length === 0 || (values.length === 1 && kind === "layer")) return null;
    const others = { ...chosen, [kind]: null };
    const numbers = countValues(found.filter((prompt) => matches(prompt, others)), valuesOf);
    const items = values.map((value) => choice(kind, value, numbers.get(value) ?? 0, chosen));
    return h("section", h("h2", kind), h("ul", items));
  });
  return h("nav.filters", { "aria-label": "Filters" }, sections);
}

/** Returns how many prompts have each value. */
function countValues(prompts, valuesOf) {
  const numbers = new Map();
  for (const prompt of prompts) {
    for (const value of new Set(valuesOf(prompt))) numbers.set(value, (numbers.get(value) ?? 0) + 1);
  }
  return numbers;
}

/** Whether a folder is at the top, is the chosen one or above it, or is directly in the chosen one. */
function isNear(folder, chosen) {
  const parent = folder.slice(0, Math.max(folder.lastIndexOf("/"), 0));
  return !parent || parent === chosen || `${chosen}/`.startsWith(`${folder}/`);
}

/** A link that chooses a value. The link of the chosen one leaves it again. */
function choice(kind, value, number, chosen) {
  const isCurrent = Boolean(chosen[kind]) && isSame(bare(chosen[kind]), value);
  const href = listAddress({ ...chosen, [kind]: isCurrent ? "" : value });
  const attributes = { href, class: number === 0 && "none", "aria-current": isCurrent && "true" };
  return h("li", h("a", attributes, bdi(value), h("span", thousands(number))));
}

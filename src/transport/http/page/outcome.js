// What a prompt gives with some values: its text, what is missing, or the answer of a service.

import { api, ask, attempt } from "./api.js";
import { button, find, h, note } from "./dom.js";
import { bdi, count, error, paper, problemList } from "./text.js";

/** The expansion; without one, the text as far as the values are known, and what is missing. */
export function outcome(preview) {
  const { name, expansion, request, text, partial, marks, gaps } = preview;
  if (request) return askButton(preview);
  if (text) {
    const { characters, limits } = expansion;
    const length = count(characters, "character");
    return [paper("expansion", "Expansion", { text, marks }, `expand ${name}`), note(length), exceeded(limits)];
  }
  if (!preview.error) return h("p.paper.note", { role: "status" }, "The text is empty.");
  const missing = preview.arguments.filter(({ from }) => from === "missing");
  const shown = partial && paper("partial", "Expansion", { text: partial, marks, gaps }, `show ${name}`);
  if (!missing.length) return [problemList([error(preview.error)], { role: "status" }), shown];
  const names = missing.map((value, index) => [index > 0 && ", ", h("code", h("mark.missing", bdi(value.name)))]);
  return [shown, note("Fill in ", names, " to complete the text.")];
}

/** Says which agents would not show all of the expansion. */
function exceeded(limits) {
  const tooLong = limits.filter((limit) => !limit.is_whole);
  if (!tooLong.length) return limits.length > 0 && note("No agent cuts it.");
  return tooLong.map((limit) => {
    return note(h("strong", `Too long for ${limit.client} (${limit.way})`), `: ${limit.when_exceeded}.`);
  });
}

/** A button that asks the service for the text: nothing but a click does. */
function askButton({ name, arguments: values }) {
  const sent = values.filter(({ from }) => from !== "default" && from !== "nothing");
  const call = { command: name, arguments: Object.fromEntries(sent.map(({ name: key, value }) => [key, value])) };
  const ask = button("#ask", "Ask the service", ({ currentTarget }) => askService(call, currentTarget));
  return [note("A service renders this prompt."), h("p", ask), h("div#answer", { "aria-live": "polite" })];
}

/** Shows the text that the service renders for a call. The button is disabled meanwhile. */
async function askService(call, pressed) {
  pressed.disabled = true;
  const answer = await attempt(() => ask("POST", "/api/expand", call));
  pressed.disabled = false;
  if (!answer || !pressed.isConnected) return;
  find("#answer").replaceChildren(paper("expansion", "Expansion", { text: answer.prompt }, `expand ${call.command}`));
  find("#copy").disabled = false;
}

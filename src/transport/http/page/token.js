// The token with which the page asks the server. This tab stores it; the browser does so if the user keeps it.

import { button, copyOfTemplate, find, h, main } from "./dom.js";
import { error, problemList } from "./text.js";

const kept = () => localStorage.getItem("token");

/** The token of this tab, else the one that the user keeps in this browser, else `null`. */
export const token = () => sessionStorage.getItem("token") ?? kept();

export const authorization = () => (token() ? { Authorization: `Bearer ${token()}` } : {});

/** Removes a token that the server refused. Another one, which was stored meanwhile, stays. */
function forget(refused) {
  for (const storage of [sessionStorage, localStorage]) {
    if (storage.getItem("token") === refused) storage.removeItem("token");
  }
}

/** Shows at the foot of the page whether the token is kept in this browser, if there is a token. */
export function showIsKept() {
  find("#keep").checked = token() !== null && token() === kept();
  find("#keep").parentElement.hidden = token() === null;
}

find("#keep").addEventListener("change", () => {
  const used = token();
  sessionStorage.removeItem("token");
  localStorage.removeItem("token");
  if (used) (find("#keep").checked ? localStorage : sessionStorage).setItem("token", used);
});

/** The text of a part of an address, or `null` if that is broken. */
export function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
}

const IN_ADDRESS = "#token=";
const OTHER_TOKEN =
  "This link has a different token from the one that you use here. Use the token of the link in this tab?";

/** Takes a token out of the address. Returns whether it is used now: it replaces another only if the user agrees. */
function takeToken() {
  if (!location.hash.startsWith(IN_ADDRESS)) return false;
  const fresh = decoded(location.hash.slice(IN_ADDRESS.length));
  history.replaceState(history.state, "", location.pathname + location.search);
  if (!fresh || fresh === token()) return false;
  if (token() && !confirm(OTHER_TOKEN)) return false;
  sessionStorage.setItem("token", fresh);
  return true;
}

takeToken();
addEventListener("hashchange", () => takeToken() && location.reload());

/** Returns the page for somebody whose request was refused; `refused` is its token, or `null` if it had none. */
export function tokenPage(refused) {
  forget(refused);
  const wrong = refused && problemList([error("this token is wrong, or is no longer valid")], { role: "alert" });
  const reload = button("#use-kept", "Use the token that is kept in this browser", () => location.reload());
  const about = h("p", "Paste the one that you were given. It stays in this tab until you close it.");
  return pageWithForm("This server needs a token", about, wrong, token() && h("p", reload));
}

/** Returns the page for somebody who may read prompts, but not edit them. `name` is that of the token in use, if any. */
export function editTokenPage({ name, token_file: file }) {
  const heading = "Editing needs a token";
  if (name) {
    const reader = ["The token of ", h("code", name), " may only read prompts. "];
    return pageWithForm(heading, h("p", reader, "Paste one with the role ", h("code", "write"), "."));
  }
  const how = file
    ? ["Paste the first word of this file, which is on this machine: ", h("code", file)]
    : ["Open the address with the token that ", h("code", "serve"), " printed, or paste it here."];
  const off = ["If editing is off, write ", h("code", "edit = true"), " into config.toml, and restart the server."];
  return pageWithForm(heading, h("p", how), h("p", off));
}

function pageWithForm(heading, ...about) {
  const form = copyOfTemplate("token-form");
  form.addEventListener("submit", useTypedToken);
  return { title: "Token", asksForToken: true, main: main(h("div.alone", h("h1", heading), about, form)) };
}

function useTypedToken(event) {
  event.preventDefault();
  sessionStorage.setItem("token", find("#token-text").value.trim());
  location.reload();
}

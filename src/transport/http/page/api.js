// Requests to the API of the server.

import { find, say } from "./dom.js";
import { pathOf } from "./text.js";
import { authorization, token } from "./token.js";

const AWAY = "The server does not answer. What you see may be out of date.";

/** The server refused a request, or did not answer: status 0. `token` is the one of the request, or `null`. */
class Refused extends Error {
  constructor(status, message, token) {
    super(message);
    this.status = status;
    this.token = token;
  }
}

/** Returns the answer to a request, or throws a `Refused`. */
export async function ask(method, path, body) {
  const sent = token();
  const headers = { Accept: "application/json", ...authorization() };
  if (body) headers["Content-Type"] = "application/json";
  const options = { cache: "no-store", credentials: "omit", redirect: "error" };
  let response, answer;
  try {
    response = await fetch(path, { method, headers, body: body && JSON.stringify(body), ...options });
    answer = await response.json();
  } catch {
    throw new Refused(response?.status ?? 0, AWAY, sent);
  }
  if (response.ok) return answer;
  throw new Refused(response.status, answer.error.message, sent);
}

/** Returns the answer to a request, or `{ refused: message }` if its status is one of these. */
export async function askUnless(statuses, method, path, body) {
  try {
    return await ask(method, path, body);
  } catch (refused) {
    if (!statuses.includes(refused.status)) throw refused;
    return { refused: refused.message };
  }
}

/** Returns what the work returns. If the server refuses it, shows why, and returns `null`. */
export async function attempt(work) {
  try {
    const answer = await work();
    if (find("#toast").textContent === AWAY) say("", 0);
    return answer;
  } catch (refused) {
    if (!(refused instanceof Refused)) throw refused;
    say(refused.message.split("\n")[0], refused.status ? 8000 : 0);
    return null;
  }
}

/** The path of a prompt, or of its `history`, in the API. */
export const api = (name, kind = "prompts") => pathOf(name, `/api/${kind}/`);

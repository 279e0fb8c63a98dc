// A chat with the documents behind an elt-llm server, with nothing but what browsers have: the example to embed.
// The key is kept in this page's memory alone; no cookie, no storage.

import { element, showAnswer, showCited, showFound } from "./show.js";
import { Refused, events, send, serverAddress } from "./stream.js";

const by = (id) => document.getElementById(id);
const server = serverAddress();
let session = null; // the conversation, once there is one
let asking = null; // AbortController of the question that is being answered
let turns = 0;

by("settings").addEventListener("submit", (event) => {
  event.preventDefault();
  listCollections();
});
by("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  const question = by("question").value.trim();
  if (question && !asking) ask(question);
});
by("question").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  by("ask").requestSubmit();
});
by("stop").addEventListener("click", () => asking?.abort());
by("anew").addEventListener("click", () => {
  asking?.abort();
  session = null;
  by("turns").replaceChildren();
  by("question").focus();
});
by("turns").addEventListener("click", (event) => {
  const number = event.target.closest("a.number");
  if (!number) return;
  event.preventDefault();
  const source = by(decodeURIComponent(number.hash.slice(1)));
  const folded = source?.closest("details");
  if (folded) folded.open = true;
  source?.scrollIntoView({ block: "nearest" });
  source?.focus();
});
listCollections();

async function listCollections() {
  try {
    const response = await send(server, "/v1/collections", { key: by("key").value });
    const collections = await response.json();
    by("collections").replaceChildren(...collections.map(({ name }) => choice(name)));
    tell("");
  } catch (error) {
    by("connection").open = true;
    tell(reason(error));
  }
}

function choice(name) {
  const box = element("input");
  box.type = "checkbox";
  box.value = name;
  box.addEventListener("change", () => (session = null)); // a conversation stays with its collections
  const label = element("label", "choice", name);
  label.prepend(box);
  return label;
}

function chosen() {
  return [...by("collections").querySelectorAll("input:checked")].map((box) => box.value);
}

async function ask(question) {
  asking = new AbortController();
  const shown = newTurn(question);
  busy(true);
  try {
    await begin();
    const body = {
      question,
      session: session.id,
      collections: session.collections,
      profile: by("profile").value || "default",
      where: by("where").value.split(";").map((it) => it.trim()).filter(Boolean),
    };
    const options = { key: by("key").value, body, signal: asking.signal, accept: "text/event-stream" };
    await follow(await send(server, "/v1/ask", options), shown);
    by("question").value = "";
  } catch (error) {
    shown.status.textContent = error.name === "AbortError" ? "Stopped." : "";
    if (error.name !== "AbortError") tell(reason(error));
  } finally {
    asking = null;
    busy(false);
  }
}

/** Follow-ups lean on earlier turns: the server keeps them in a session. */
async function begin() {
  if (session) return;
  const body = { collections: chosen(), profile: by("profile").value || "default" };
  const response = await send(server, "/v1/sessions", { key: by("key").value, body, signal: asking.signal });
  session = await response.json();
}

async function follow(response, shown) {
  let answer = "";
  for await (const [name, content] of events(response)) {
    if (name === "error") throw new Refused([content.error.message, content.error.hint].filter(Boolean).join(" "));
    if (name === "understood") shown.status.textContent = `Asked as: ${content.question}`;
    if (name === "sources") showFound(shown.sources, content.chunks, shown.turn);
    if (name === "started") answer = "";
    if (name === "piece") answer += content.text;
    if (name === "started" || name === "piece") showAnswer(shown.answer, answer, shown.turn);
    if (name === "result") return finish(content, shown);
  }
  throw new Refused("The answer broke off.");
}

function finish(result, shown) {
  showAnswer(shown.answer, result.answer, shown.turn, result.checked);
  showCited(shown.sources, result, shown.turn);
  shown.item.classList.toggle("unanswered", !result.answered);
  shown.notes.replaceChildren(...result.notes.map((note) => element("li", "", note)));
}

function newTurn(question) {
  turns += 1;
  const shown = { turn: turns, status: element("p", "status"), answer: element("div", "answer") };
  shown.sources = element("div", "sources");
  shown.notes = element("ul", "notes");
  const inside = [element("h2", "", question), shown.status, shown.answer, shown.notes, shown.sources];
  shown.item = element("li", "turn", "", inside);
  by("turns").append(shown.item);
  shown.item.scrollIntoView({ block: "end" });
  return shown;
}

function busy(is) {
  by("send").disabled = is;
  by("stop").hidden = !is;
  by("turns").setAttribute("aria-busy", String(is));
  if (is) tell("");
  else by("question").focus();
}

function tell(text) {
  by("trouble").textContent = text;
  by("trouble").hidden = !text;
}

function reason(error) {
  return error instanceof Refused ? error.message : "The server cannot be reached, or does not let this page call.";
}

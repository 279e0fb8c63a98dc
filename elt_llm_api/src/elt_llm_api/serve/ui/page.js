// The one script of the page: buttons within our HTML, keys, and files dropped anywhere.
"use strict";

// The server runs a command when it is typed into the hidden box of a tab. A number makes each command different.
let sent = 0;
function send(tab, name, value = "") {
  const box = document.querySelector(`#${tab}-command textarea, #${tab}-command input`);
  if (!box) return;
  box.value = `${name} ${value} ${++sent}`;
  box.dispatchEvent(new Event("input", { bubbles: true }));
}

const isShown = (element) => element !== null && element.offsetParent !== null;
const shownTab = () =>
  ["ask", "inspect", "documents", "jobs", "health"].find((name) => isShown(document.getElementById(`tab-${name}`)));

async function copy(button) {
  const area = button.closest(".actions");
  const text = area.querySelector(".copy-text").textContent;
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(text);
  } else { // without TLS
    const box = document.createElement("textarea");
    box.value = text;
    document.body.append(box);
    box.select();
    document.execCommand("copy");
    box.remove();
  }
  area.classList.add("is-copied");
}

function jump(button) {
  const place = document.getElementById(button.value);
  place?.scrollIntoView({ block: "center" });
  place?.classList.add("is-target");
  setTimeout(() => place?.classList.remove("is-target"), 1500);
}

async function signOut() {
  await fetch("/logout", { method: "POST" });
  location.assign("/login");
}

const here = { copy, jump, print: () => window.print(), signOut };

document.addEventListener("click", (event) => {
  const button = event.target.closest?.("button.do");
  if (!button) return;
  event.preventDefault();
  if (button.name in here) here[button.name](button);
  else send(button.closest('[id^="tab-"]')?.id.slice(4) ?? "ask", button.name, button.value);
});

// The next question can be typed at once. On a phone, this button is far below the empty conversation that it shows.
document.addEventListener("click", (event) => {
  if (!event.target.closest?.("#new-conversation")) return;
  questionBox()?.focus();
  window.scrollTo({ top: 0 });
});

// Collections and jobs may have been added in a terminal.
window.addEventListener("focus", () => send("page", "refresh"));

const rowKeys = { j: ["step", "1"], k: ["step", "-1"], a: ["review", "APPROVED"], r: ["review", "REJECTED"] };
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (event.key === "Escape") {
    const close = [...document.querySelectorAll('button.do[name="close"]')].find(isShown);
    close?.click();
    return;
  }
  const typing = event.target.closest?.('input, textarea, select, [contenteditable="true"], [role="listbox"]');
  if (typing || shownTab() !== "jobs" || !(event.key in rowKeys)) return;
  event.preventDefault();
  send("jobs", ...rowKeys[event.key]);
});

// Enter takes the name of a collection as it was typed, unless one of the list was chosen with the arrow keys. Gradio would
// take the collection shown before, if its name contains the typed one.
let chosen = false;
document.addEventListener("input", () => (chosen = false), true);
document.addEventListener("keydown", (event) => {
  if (event.key.startsWith("Arrow")) chosen = true;
  if (event.key !== "Enter" || chosen || !event.target.closest?.("#documents-collection")) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  event.target.blur();
}, true);

// Gradio opens a list after every key, shortly afterwards. After Tab, the list would stay open over what is below it.
document.addEventListener("keydown", (event) => {
  if (event.key === "Tab" && event.target.closest?.('[role="combobox"]')) event.stopImmediatePropagation();
}, true);

// Gradio shows a file in the question box as a symbol only; its name is shown below it.
let dropped = [];
const thumbnails = () => document.querySelectorAll("#question .thumbnail-wrapper");
const nameFiles = (files) => (dropped = [...dropped.slice(0, thumbnails().length), ...[...files].map((file) => file.name)]);
document.addEventListener("change", (event) => {
  if (event.target.matches?.('#question input[type="file"]')) nameFiles(event.target.files);
}, true);
document.addEventListener("drop", (event) => {
  if (event.target.closest?.("#question")) nameFiles(event.dataTransfer.files);
}, true);
document.addEventListener("click", (event) => {
  const thumbnail = event.target.closest?.("#question .delete-button")?.closest(".thumbnail-wrapper");
  if (thumbnail) dropped.splice([...thumbnails()].indexOf(thumbnail), 1);
}, true);

// Gradio has these messages and the title of errors in English only. It loads the page again when the server is back; the typed question is kept.
const { lost, error, unsupported } = document.currentScript.dataset;
let isLost = false;
const questionBox = () => document.querySelector("#question textarea");
window.addEventListener("pagehide", () => {
  if (isLost && questionBox()?.value) sessionStorage.setItem("question", questionBox().value);
});
function restoreQuestion() {
  const question = sessionStorage.getItem("question");
  if (question === null || !questionBox() || !document.querySelector("#health-sign .badge")) return;
  sessionStorage.removeItem("question");
  questionBox().value = question;
  questionBox().dispatchEvent(new Event("input", { bubbles: true }));
}

// Gradio shows only "Error" to a browser that is no longer signed in. The typed question is kept for afterwards.
async function signInAgain() {
  const answer = await fetch("/page.js", { cache: "no-store" }).catch(() => null); // no answer: the server is lost
  if (answer?.status !== 401 || isLost) return;
  isLost = true;
  location.assign("/login");
}

// What a command has opened is scrolled into view, once. Two parts of Gradio are mended for screen readers: buttons of the
// question box and of the upload, and messages, are named by their text, and the examples, which are buttons, are not called a list.
const named = "#question :is(.submit-button, .stop-button)[aria-label], .upload-container[aria-label], #conversation [data-testid][aria-label*='<']";
const seen = new WeakSet();
new MutationObserver(() => {
  for (const button of document.querySelectorAll(named)) {
    button.removeAttribute("aria-label");
  }
  document.querySelector('#conversation .examples[role="list"]')?.removeAttribute("role");
  thumbnails().forEach((thumbnail, place) => {
    if (thumbnail.dataset.name !== dropped[place]) thumbnail.dataset.name = dropped[place] ?? "";
  });
  for (const toast of document.querySelectorAll('[data-testid="toast-text"]')) {
    const [, refused] = /^Invalid file type: (.+?)\. Only /.exec(toast.textContent) ?? [];
    if (refused) toast.textContent = unsupported.replace("{name}", refused);
    if (!toast.textContent.startsWith("Connection to the server was lost")) continue;
    toast.textContent = lost;
    isLost = true;
  }
  for (const title of document.querySelectorAll(".toast-title.error")) {
    if (title.textContent.trim() === "Error" && error !== "Error") title.textContent = error;
  }
  restoreQuestion();
  for (const failure of document.querySelectorAll(".error")) {
    if (seen.has(failure)) continue;
    seen.add(failure);
    signInAgain();
  }
  for (const element of document.querySelectorAll(".show-me")) {
    if (seen.has(element)) continue;
    seen.add(element);
    element.scrollIntoView({ block: "nearest" });
  }
}).observe(document.documentElement, { childList: true, subtree: true });

// Files may be dropped anywhere: on the tab Documents they are chosen for an upload, elsewhere added to the question.
const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
for (const name of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(name, (event) => {
    if (!hasFiles(event)) return;
    document.body.classList.toggle("is-dropping", name === "dragover");
    if (name === "dragleave" || event.defaultPrevented) return;
    event.preventDefault();
    if (name === "drop") receive(event.dataTransfer.files);
  });
}

function receive(files) {
  const tab = shownTab();
  if (tab !== "ask" && tab !== "documents") document.getElementById("tab-documents-button")?.click();
  const area = tab === "ask" ? "question" : "documents-files";
  const input = document.querySelector(`#${area} input[type="file"]`);
  if (!input) return;
  input.files = files;
  input.dispatchEvent(new Event("change", { bubbles: true }));
}

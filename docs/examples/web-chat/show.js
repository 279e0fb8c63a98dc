// Shows answers and sources. Whatever a document or a model wrote becomes text, never HTML: textContent alone.

const NUMBER = /\[(\d{1,4})\]/g;
// What cannot be seen but turns the direction of writing, or hides words, is shown by its number.
const HIDDEN =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

export function visible(text) {
  return String(text ?? "").replace(HIDDEN, (it) => `⟨U+${it.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
}

/** An element with a class, text and what stands in it. */
export function element(name, kind = "", text = "", children = []) {
  const made = document.createElement(name);
  if (kind) made.className = kind;
  if (text) made.textContent = visible(text);
  made.append(...children);
  return made;
}

/** The answer so far. Numbers lead to the cards of this turn; sentences that nothing bears out are marked. */
export function showAnswer(place, answer, turn, checked = []) {
  const parts = [];
  let from = 0;
  for (const [begin, end, sentence] of doubtful(answer, checked)) {
    parts.push(...withNumbers(answer.slice(from, begin), turn));
    const marked = element("mark", "", "", withNumbers(answer.slice(begin, end), turn));
    marked.title = visible(["The passages do not say this.", ...sentence.reasons].join(" "));
    marked.dataset.verdict = sentence.verdict;
    parts.push(marked);
    from = end;
  }
  place.replaceChildren(...parts, ...withNumbers(answer.slice(from), turn));
}

function withNumbers(text, turn) {
  const parts = [];
  let from = 0;
  for (const found of text.matchAll(NUMBER)) {
    parts.push(document.createTextNode(visible(text.slice(from, found.index))));
    const link = element("a", "number", found[0]);
    link.href = `#source-${turn}-${found[1]}`;
    parts.push(link);
    from = found.index + found[0].length;
  }
  parts.push(document.createTextNode(visible(text.slice(from))));
  return parts;
}

/** Where in the answer the sentences stand that are not supported. They were told without numbers and line ends. */
function doubtful(answer, checked) {
  const places = [];
  let plain = "";
  const bare = answer.replace(NUMBER, (it) => " ".repeat(it.length));
  [...bare.matchAll(/\S/g)].forEach((sign) => {
    plain += sign[0];
    places.push(sign.index);
  });
  const found = [];
  let after = 0;
  for (const sentence of checked) {
    const wanted = sentence.text.replace(NUMBER, "").replace(/\s/g, "");
    const at = wanted ? plain.indexOf(wanted, after) : -1;
    if (at < 0) continue;
    after = at + wanted.length;
    if (["unsupported", "partly"].includes(sentence.verdict)) found.push([places[at], places[after - 1] + 1, sentence]);
  }
  return found;
}

/** Cards of the sources found, in the order of their numbers. */
export function showFound(place, chunks, turn) {
  place.replaceChildren(...chunks.map((chunk, index) => card(`${index + 1}`, chunk, [], turn)));
}

/** Cards of what the answer cites, the words it rests on marked; then what was read beside it. */
export function showCited(place, result, turn) {
  const cited = new Map();
  for (const citation of result.citations) {
    const number = citation.reference.replace(/\D/g, "");
    cited.set(number, [...(cited.get(number) ?? []), citation]);
  }
  const used = new Set();
  const cards = [...cited].map(([number, citations]) => {
    const chunk = result.chunks.find((it) => holds(it, citations[0])) ?? { ...citations[0], text: citations[0].excerpt };
    used.add(chunk.node_id);
    return card(number, chunk, citations.map((it) => it.excerpt), turn);
  });
  const others = result.chunks.filter((it) => !used.has(it.node_id)).map((it) => card("", it, [], turn));
  place.replaceChildren(...cards);
  for (const quote of place.querySelectorAll("blockquote")) scrollToMark(quote);
  if (others.length) {
    place.append(element("details", "others", "", [element("summary", "", `Also read: ${others.length}`), ...others]));
  }
}

function scrollToMark(quote) {
  const mark = quote.querySelector("mark");
  if (mark) quote.scrollTop = mark.offsetTop - quote.offsetTop - quote.clientHeight / 4;
}

function holds(chunk, citation) {
  const [begin, end] = citation.span;
  return chunk.source_id === citation.source_id && chunk.span[0] <= begin && end <= chunk.span[1];
}

function card(number, chunk, excerpts, turn) {
  const where = [chunk.source, chunk.page ? `page ${chunk.page}` : "", chunk.section].filter(Boolean).join(" · ");
  const quote = element("blockquote", "", "", quoted(chunk.text, excerpts));
  const title = element("h3", "", `${number ? `[${number}] ` : ""}${chunk.source_title}`);
  const made = element("article", excerpts.length ? "card cited" : "card", "", [title, element("p", "where", where), quote]);
  if (number) made.id = `source-${turn}-${number}`;
  made.tabIndex = -1;
  return made;
}

function quoted(text, excerpts) {
  const found = excerpts.map((it) => [text.indexOf(it), it.length]).filter(([at]) => at >= 0);
  const parts = [];
  let from = 0;
  for (const [at, length] of found.sort((one, other) => one[0] - other[0])) {
    if (at < from) continue;
    parts.push(document.createTextNode(visible(text.slice(from, at))), element("mark", "", text.slice(at, at + length)));
    from = at + length;
  }
  parts.push(document.createTextNode(visible(text.slice(from))));
  return parts;
}

"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const panel = document.getElementById("panel");
const tabs = document.getElementById("tabs");
const VERDICTS = ["found", "inferred", "absent", "conflict"];
const MOST_SHOWN = 300;
const DESCRIPTIVE = ["definition", "formal_definition", "inventory_description", "description", "domain_context"];
const HOW = { rule: "by rule", extractive: "quoted", llm: "written by a language model", curated: "entered by a reviewer" };
const SHORT = 20; // most characters of a value that is shown with its note

// Document text is inserted only as text, so that it cannot become markup or script of this page.
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "onclick" || name === "oninput") element[name] = value;
    else if (value !== undefined && value !== null && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

function shape(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const shown = (value) => (Array.isArray(value) ? value.join("\n") : value === null ? "" : String(value));
const listed = (value) => (Array.isArray(value) && value.length > 1 ? `\n• ${value.join("\n• ")}` : shown(value));
const titled = (name) => name.charAt(0).toUpperCase() + name.slice(1).replaceAll("_", " ");
const folded = (text) => text.normalize("NFKD").replace(/\p{Diacritic}/gu, "").toLowerCase();

function quoteOf(place) {
  const where = [place.section, `characters ${place.span[0]} to ${place.span[1]}`, `score ${place.score.toFixed(2)}`,
    `sha256 ${place.quote_hash.slice(0, 16)}…`, `${place.collection}`];
  return make("blockquote", {}, place.quote, make("footer", {}, where.filter(Boolean).join(" · ")));
}

function placeButton(place) {
  const sheet = place.section && /\.(?:xlsx|xlsm|xls|ods)$/i.test(place.source) ? place.section.split(" > ")[0] : "";
  const page = place.page === null ? "" : sheet ? `, sheet ${sheet}` : `, page ${place.page}`;
  const about = place.about ? ` (${place.about})` : "";
  const item = make("li");
  const button = make("button", { "aria-expanded": "false", onclick: () => {
    const open = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!open));
    if (open) item.lastChild.remove();
    else item.append(quoteOf(place));
  } }, `${place.source}${page}${about}`);
  item.append(button);
  return item;
}

function absentField(name, cell) {
  const badge = make("span", { class: "badge absent", title: `confidence ${cell.confidence.toFixed(2)}` }, "absent");
  const why = make("span", { class: "how" }, cell.note);
  return make("div", { class: "field" }, make("h3", {}, titled(name)), make("p", {}, badge, why));
}

function fieldOf(name, cell) {
  if (cell.verdict === "absent" && !cell.evidence.length && !cell.curation) return absentField(name, cell);
  const how = [HOW[cell.method], cell.model, `confidence ${cell.confidence.toFixed(2)}`];
  if (cell.curation) how.push(`by ${cell.curation.by}, ${cell.curation.at}`, cell.curation.reason);
  const detail = make("div", {}, make("p", {}, make("span", { class: `badge ${cell.verdict}` }, cell.verdict),
    listed(cell.value)), make("div", { class: "how" }, how.filter(Boolean).join(" · ")));
  if (cell.note) detail.append(make("div", { class: "how" }, cell.note));
  if (cell.evidence.length) detail.append(make("ul", { class: "places" }, ...cell.evidence.map(placeButton)));
  return make("div", { class: "field" }, make("h3", {}, titled(name)), detail);
}

function statusOf(row) {
  return row.review.stale ? `${row.review.status} (the row has changed since)` : row.review.status;
}

function reviewOf(row) {
  const review = row.review;
  const words = [statusOf(row), review.reviewer, review.comment];
  return make("div", { class: "field" }, make("h3", {}, "Review"), make("p", {}, words.filter(Boolean).join(" · ")));
}

function bodyOf(table, row) {
  const fields = table.columns.filter((name) => row.cells[name]).map((name) => fieldOf(name, row.cells[name]));
  const notes = row.notes.map((note) => make("p", { class: "soft" }, note));
  return make("div", { class: "body" }, ...fields, reviewOf(row), ...notes);
}

function preview(table, row) {
  const cells = [...DESCRIPTIVE, ...table.columns].map((name) => row.cells[name]);
  const first = cells.find((cell) => cell && cell.verdict !== "absent" && shown(cell.value) !== row.name);
  if (!first) return "";
  const value = shown(first.value);
  return value.length > SHORT || !first.note ? value : `${value}: ${first.note}`;
}

function rowOf(table, row) {
  const counts = VERDICTS.map((verdict) => [verdict, Object.values(row.cells).filter((c) => c.verdict === verdict).length]);
  const state = make("span", { class: "state" });
  for (const [verdict, count] of counts) {
    if (count) state.append(make("span", { class: verdict, title: verdict }, `${count} ${verdict} `));
  }
  const article = make("article", { class: "row", id: row.key });
  const name = make("span", { class: "name" }, row.name, make("span", { class: "group" }, row.group.filter(Boolean).join(" › ")));
  const button = make("button", { "aria-expanded": "false", onclick: () => {
    const open = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!open));
    if (open) article.lastChild.remove();
    else article.append(bodyOf(table, row));
  } }, name, make("span", { class: "preview" }, preview(table, row)), state);
  article.append(button);
  return article;
}

function textOf(row) {
  const cells = Object.values(row.cells).map((cell) => `${shown(cell.value)} ${cell.evidence.map((e) => e.quote).join(" ")}`);
  return folded([row.name, ...row.group, ...cells, ...row.notes, row.review.comment].join(" "));
}

function select(label, options, onchange) {
  const element = make("select", { "aria-label": label, oninput: onchange });
  element.append(make("option", { value: "" }, label), ...options.map((it) => make("option", { value: it }, titled(it))));
  return element;
}

function tableView(table, wanted = {}) {
  const texts = new Map(table.rows.map((row) => [row, textOf(row)]));
  const search = make("input", { type: "search", placeholder: "Search names, values and quotes", "aria-label": "Search", oninput: () => draw() });
  const field = select("Any field", table.columns, () => draw());
  const verdict = select("Any verdict", VERDICTS, () => draw());
  const domain = select(`Any ${table.groups[0]}`, [...new Set(table.rows.map((row) => row.group[0] || ""))].filter(Boolean).sort(), () => draw());
  domain.hidden = domain.options.length === 1;
  const status = select("Any review status", [...new Set(table.rows.map(statusOf))].sort(), () => draw());
  const count = make("span", { class: "soft", role: "status" });
  const list = make("div", { class: "rows" });
  search.value = wanted.search || ""; field.value = wanted.field || ""; verdict.value = wanted.verdict || ""; domain.value = wanted.domain || "";
  const value = wanted.value;

  function fits(row) {
    const cells = field.value ? [row.cells[field.value]].filter(Boolean) : Object.values(row.cells);
    if (field.value && !cells.length) return false;
    if (verdict.value && !cells.some((cell) => cell.verdict === verdict.value)) return false;
    if (value !== undefined && !cells.some((cell) => shown(cell.value) === value)) return false;
    if (domain.value && row.group[0] !== domain.value) return false;
    if (wanted.noDomain && row.group[0]) return false;
    if (status.value && statusOf(row) !== status.value) return false;
    return folded(search.value).split(/\s+/).every((word) => texts.get(row).includes(word));
  }

  function draw() {
    const rows = table.rows.filter(fits);
    list.replaceChildren(...rows.slice(0, MOST_SHOWN).map((row) => rowOf(table, row)));
    if (rows.length > MOST_SHOWN) {
      const more = make("button", { onclick: () => { more.remove(); list.append(...rows.slice(MOST_SHOWN).map((row) => rowOf(table, row))); } },
        `Show the other ${rows.length - MOST_SHOWN}`);
      list.append(more);
    }
    const only = value === undefined ? "" : `, ${titled(wanted.field)}: ${value}`;
    count.textContent = `${rows.length} of ${table.rows.length}${only}`;
  }

  draw();
  return make("div", {}, make("div", { class: "filters" }, search, field, verdict, domain, status, count), list);
}

function heatView(heat) {
  const head = make("tr", {}, make("th", {}, titled(heat.group)), ...heat.columns.map((name) => make("th", { scope: "col" }, titled(name))));
  const lines = heat.rows.map((line) => make("tr", {}, make("th", { scope: "row" }, line.domain || `(no ${heat.group})`),
    ...line.cells.map((cell, at) => make("td", {}, make("button", {
      class: `heat${Math.ceil(cell.share * 5)}`,
      title: `${cell.count} of ${line.total}`,
      onclick: () => {
        const place = line.domain ? { domain: line.domain } : { noDomain: true };
        const what = heat.by === "verdict" ? { field: heat.columns[at], verdict: "found" } : { field: heat.by, value: heat.columns[at] };
        show(heat.table, { ...place, ...what });
      },
    }, heat.by === "verdict" ? `${Math.round(cell.share * 100)} %` : String(cell.count))))));
  const caption = heat.by === "verdict" ? "Share of entities for which the documents give each field. Inferred values are not counted." : "Entities by class.";
  return make("div", { class: "scroll" }, make("p", { class: "soft" }, `${caption} Click a number to list its entities.`),
    make("table", { class: "heat" }, make("thead", {}, head), make("tbody", {}, ...lines)));
}

function graphView(graph) {
  const picture = shape("svg", { viewBox: `0 0 ${graph.width} ${graph.height}`, role: "img", "aria-label": "Relationships between entities" });
  for (const box of graph.domains) {
    picture.append(shape("rect", { x: box.x, y: box.y, width: box.width, height: box.height, rx: 6 }),
      shape("text", { class: "domain", x: box.x + 10, y: box.y + 18 }, box.name || "(no domain)"));
  }
  const lines = graph.edges.map((edge) => {
    const [from, to] = [graph.nodes[edge.source], graph.nodes[edge.target]];
    const bend = from.x === to.x ? -50 - Math.abs(from.y - to.y) / 4 : 0;
    const middle = { x: (from.x + to.x) / 2 + bend, y: (from.y + to.y) / 2 - (bend ? 0 : 30) };
    const line = shape("path", { d: `M${from.x} ${from.y}Q${middle.x} ${middle.y} ${to.x} ${to.y}` });
    line.append(shape("title", {}, edge.name));
    picture.append(line);
    return line;
  });
  const list = make("ul", {});
  function choose(number) {
    const edges = graph.edges.map((edge) => edge.source === number || edge.target === number);
    const near = new Set([number, ...graph.edges.flatMap((edge, at) => (edges[at] ? [edge.source, edge.target] : []))]);
    lines.forEach((line, at) => { line.setAttribute("class", edges[at] ? "near" : "dim"); });
    nodes.forEach((node, at) => { node.setAttribute("class", near.has(at) ? "node" : "node dim"); });
    list.replaceChildren(...graph.edges.filter((_, at) => edges[at]).map((edge) => make("li", {},
      make("button", { onclick: () => show("relationships", { search: edge.name }) }, edge.name))));
  }
  const nodes = graph.nodes.map((node, number) => {
    const dot = shape("g", { class: "node", tabindex: "0", role: "button" }, shape("circle", { cx: node.x, cy: node.y, r: 4 }),
      shape("text", { x: node.x + 9, y: node.y + 4 }, node.name));
    dot.addEventListener("click", () => choose(number));
    dot.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(number); } });
    picture.append(dot);
    return dot;
  });
  return make("div", {}, make("p", { class: "soft" }, "Choose an entity to see its relationships."),
    make("div", { class: "scroll" }, picture), make("div", { class: "related" }, list));
}

const views = new Map(data.tables.map((table) => [table.name, [`${titled(table.name)} (${table.rows.length})`, (wanted) => tableView(table, wanted)]]));
if (data.heat) views.set("map", [`Map by ${data.heat.group}`, () => heatView(data.heat)]);
if (data.graph) views.set("graph", ["Relationship graph", () => graphView(data.graph)]);

function show(name, wanted = {}) {
  for (const tab of tabs.children) tab.setAttribute("aria-selected", String(tab.dataset.name === name));
  panel.replaceChildren(views.get(name)[1](wanted));
}

for (const [name, [title]] of views) {
  tabs.append(make("button", { role: "tab", "data-name": name, "aria-selected": "false", "aria-controls": "panel", onclick: () => show(name) }, title));
}
tabs.addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  const all = [...tabs.children];
  const next = all[(all.indexOf(document.activeElement) + step + all.length) % all.length];
  next.focus();
  next.click();
});
show(views.keys().next().value);

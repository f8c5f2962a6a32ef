// Clusters in a table that can be searched and sorted, with names that readers give them.
const names = {
  key: `mapdp:${data.title}:${data.n_rows}:${data.log_joint}`,
  given: JSON.parse(at("names").textContent), // those that the page was saved with
  node: (c) => String(c.node ?? c.number),
  of: (c) => names.given[names.node(c)] || "",
  full: (c) => (names.of(c) ? `cluster ${c.number}, ${names.of(c)}` : `cluster ${c.number}`),
  any: () => Object.values(names.given).some(Boolean),
  load() { try { Object.assign(names.given, JSON.parse(localStorage.getItem(names.key) || "{}")); } catch { /* the browser keeps nothing */ } },
  give(c, name) {
    names.given[names.node(c)] = name.trim();
    try { localStorage.setItem(names.key, JSON.stringify(names.given)); } catch { /* the browser keeps nothing */ }
    picker(); profiles(); classTable(); gapTable(); novel(); labelTable(); drawStructure(); select(chosen);
  },
};
let sorting = { by: "cluster", isUp: true }, wanted = "";

const traits = (c) => c.features.slice(0, 3).map((f) => `${f.name} ${f.here}`).join(", ");
const words = (c) => [c.number, names.of(c), ...c.features.map((f) => `${f.name} ${f.here}`), mainClass(c)].join(" ").toLowerCase();
const matching = () => level.clusters.filter((c) => wanted.split(/\s+/).every((word) => words(c).includes(word)));

function mainClass(c) {
  if (!data.classes.names) return "";
  const counts = classCounts(c), most = Math.max(...counts), total = counts.reduce((a, b) => a + b, 0);
  return total ? `${data.classes.names[counts.indexOf(most)]} (${percent(most / total)})` : "";
}

const headings = () => [
  ["cluster", (c) => c.number], ["name", (c) => names.of(c)], ["rows", (c) => c.size], ["share", (c) => c.share],
  ...(level.clusters.some((c) => c.stability != null) ? [["stability", (c) => c.stability ?? -1]] : []),
  ...(data.classes.names ? [["main class", mainClass]] : []), ["what sets it apart", traits],
];

function sorted(clusters) {
  const [, value] = headings().find(([name]) => name === sorting.by) || headings()[0], sign = sorting.isUp ? 1 : -1;
  const order = (a, b) => (typeof a === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true }));
  return [...clusters].sort((a, b) => sign * order(value(a), value(b)));
}

function heading(name) {
  const isThis = sorting.by === name, button = element("button", { type: "button", class: "sort" }, name, element("span", { "aria-hidden": "true" }, isThis ? (sorting.isUp ? " ▲" : " ▼") : ""));
  button.addEventListener("click", () => {
    sorting = { by: name, isUp: isThis ? !sorting.isUp : !["rows", "share", "stability"].includes(name) };
    clusterTable(); select(chosen);
    [...document.querySelectorAll("#clusters .sort")].find((one) => one.textContent.startsWith(name)).focus();
  });
  return element("th", { scope: "col", "aria-sort": isThis ? (sorting.isUp ? "ascending" : "descending") : "none", class: ["rows", "share", "stability"].includes(name) ? "n" : "" }, button);
}

function clusterRow(c) {
  const box = element("input", { type: "text", value: names.of(c), "aria-label": `name of cluster ${c.number}`, placeholder: "name", maxlength: 60 });
  box.addEventListener("input", () => names.give(c, box.value));
  const pick = element("button", { type: "button", class: "pick" }, element("span", { class: "dot", style: `background:${c.colour}` }), ` ${c.number}`);
  pick.addEventListener("click", () => select(c.number === chosen ? null : c.number));
  const cells = { cluster: pick, name: box, rows: count(c.size), share: percent(c.share), stability: c.stability == null ? "–" : percent(c.stability), "main class": mainClass(c), "what sets it apart": traits(c) };
  const row = element("tr", {}, ...headings().map(([name]) => element("td", { class: ["rows", "share", "stability"].includes(name) ? "n" : "" }, cells[name])));
  row.dataset.cluster = c.number;
  return row;
}

function clusterTable() {
  const shown = sorted(matching());
  const titles = element("thead", {}, element("tr", {}, ...headings().map(([name]) => heading(name))));
  at("clusters").replaceChildren(element("table", {}, titles, element("tbody", {}, ...shown.map(clusterRow))));
  at("search-words").textContent = wanted ? `${shown.length} of ${level.clusters.length} clusters` : "";
}

function search(text) {
  wanted = text.trim().toLowerCase();
  clusterTable(); profiles(); select(chosen);
}

// The page as it is, with the names inside: whoever opens it sees them.
function savePage() {
  const page = document.documentElement.cloneNode(true);
  page.querySelector("#names").textContent = JSON.stringify(names.given).replace(/</g, "\\u003c");
  offer("<!doctype html>\n" + page.outerHTML, "text/html", `${plainTitle()}_report.html`);
}

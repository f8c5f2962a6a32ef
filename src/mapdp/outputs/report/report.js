"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const palette = ["#4c78a8", "#f58518", "#54a24b", "#e45756", "#72b7b2", "#b279a2", "#9d755d", "#eeca3b", "#ff9da6", "#79706e"];
let chosen = null;
const mapHeight = innerWidth < 760 ? 420 : 540; // of the tree, too, where it stands beside the map
let level = null; // the clusters that are shown: those that were found, or fewer (tree.js)

const colour = (k) => (k < palette.length ? palette[k] : `hsl(${(k * 137.5) % 360} 55% 55%)`);
const count = (v) => v.toLocaleString("en", { maximumFractionDigits: 2 }); // of rows: every digit
const rowsInWords = (v) => `${count(v)} row${v === 1 ? "" : "s"}`;
const number = (v, digits = 4) => (v === null ? "–" : Number(v.toPrecision(digits)).toLocaleString("en"));
const percent = (v) => `${(100 * v).toFixed(v < 0.0995 ? 1 : 0)}%`;
const at = (id) => document.getElementById(id);

function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "style") node.style.cssText = value;
    else node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

function shape(name, attributes = {}, text = null) {
  const node = document.createElementNS("http:" + "//www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== null) node.textContent = text;
  return node;
}

const pictured = { map: "Map of the rows by cluster", tree: "Tree of the clusters", sizes: "Rows in each cluster", number: "Probability of each number of clusters", trace: "Log joint during the search", groups: "Clusters in each group", series: "The sequence, and the state of each row", transitions: "How states follow each other" };

function plot(id, width, height) {
  const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": pictured[id] });
  at(id).replaceChildren(svg);
  return svg;
}

function tip(node, text) {
  const box = at("tip");
  node.addEventListener("pointermove", (event) => {
    box.textContent = typeof text === "string" ? text : text(event);
    box.hidden = false;
    box.style.left = `${Math.min(event.clientX + 14, innerWidth - box.offsetWidth - 8)}px`;
    box.style.top = `${Math.min(event.clientY + 14, innerHeight - box.offsetHeight - 8)}px`;
  });
  node.addEventListener("pointerleave", () => { box.hidden = true; });
}

function belongs(node, k) {
  node.dataset.cluster = k;
  node.addEventListener("click", (event) => { event.stopPropagation(); select(k === chosen ? null : k); });
  return node;
}

function select(k) {
  chosen = k;
  for (const node of document.querySelectorAll("[data-cluster]")) {
    const other = k !== null && Number(node.dataset.cluster) !== k;
    if (node.matches(".picker button")) node.setAttribute("aria-pressed", String(!other && k !== null));
    else node.classList.toggle("faded", other);
  }
}

function head() {
  at("title").textContent = data.title;
  const used = data.columns.filter((c) => !["constant", "identifier", "empty", "ignore", "copy"].includes(c.kind)).length;
  at("lead").textContent = `${rowsInWords(data.n_rows)}, ${used} of ${data.columns.length} columns used: `
    + `${data.n_clusters} cluster${data.n_clusters === 1 ? "" : "s"}`
    + (data.sure ? `. How certain is that number? ${data.sure[0].toUpperCase()}${data.sure.slice(1)}` : "") + ".";
  const facts = [...data.notes];
  if ("nmi" in data.scored) {
    facts.unshift(`Agreement of the ${data.n_clusters} clusters with the ${count(data.scored.classes)} known classes, which were not used: NMI ${data.scored.nmi.toFixed(2)}, adjusted Rand index ${data.scored.ari.toFixed(2)}.`);
  }
  if (data.model) facts.push(`Model: ${data.model}.`);
  const apart = data.baseline.agreement;
  if (apart !== undefined) facts.push(`K-means, told ${data.baseline.n_clusters} clusters, agrees with these to an adjusted Rand index of ${apart.toFixed(2)}.`);
  facts.push(`Log joint ${number(data.log_joint, 7)}` + (data.alpha === null ? "" : `, alpha ${number(data.alpha)}`) + `, ${data.sweeps} sweeps, ${data.seconds.toFixed(2)} s.`);
  at("facts").replaceChildren(...facts.map((fact) => element("li", {}, fact)));
}

function picker() {
  const buttons = level.clusters.map((c) => belongs(
    element("button", { type: "button", "aria-pressed": "false" },
      element("span", { class: "dot", style: `background:${c.colour}` }), `${c.number}${names.of(c) ? ` ${names.of(c)}` : ""} (${count(c.size)})`),
    c.number));
  at("picker").replaceChildren(...buttons);
}

function scale(values, from, to) {
  let low = values.reduce((a, b) => Math.min(a, b)), high = values.reduce((a, b) => Math.max(a, b));
  if (!(high > low)) { low -= 1; high += 1; }
  const pad = 0.04 * (high - low);
  return (v) => from + ((v - low + pad) / (high - low + 2 * pad)) * (to - from);
}

function ringOf(c) {
  const [cx, cy, a, b, angle] = c.ellipse, turn = (angle * Math.PI) / 180;
  if (a <= 0) return [];
  return Array.from({ length: 49 }, (_, t) => {
    const u = a * Math.cos((t * Math.PI) / 24), v = b * Math.sin((t * Math.PI) / 24);
    return [cx + u * Math.cos(turn) - v * Math.sin(turn), cy + u * Math.sin(turn) + v * Math.cos(turn)];
  });
}

// Rows that lie on each other are drawn once, larger the more there are.
function places(rows) {
  const found = new Map();
  rows.x.forEach((x, i) => {
    const key = `${x},${rows.y[i]},${rows.cluster[i]}`, place = found.get(key);
    if (place) place.n += 1;
    else found.set(key, { i, n: 1 });
  });
  return [...found.values()];
}

function drawMap() {
  const rows = data.rows, width = Math.max(320, at("map").clientWidth), height = mapHeight, svg = plot("map", width, height);
  const rings = level.clusters.map(ringOf), ends = rings.flat();
  const x = scale([...rows.x, ...ends.map((p) => p[0])], 30, width - 10), y = scale([...rows.y, ...ends.map((p) => p[1])], height - 30, 10);
  rings.forEach((ring, k) => {
    if (!ring.length) return;
    const points = ring.map(([u, v]) => `${x(u).toFixed(1)},${y(v).toFixed(1)}`).join(" ");
    svg.append(belongs(shape("polygon", { class: "ring", points, stroke: level.clusters[k].colour }), k));
  });
  const radius = rows.x.length > 1500 ? 2.2 : 3.4;
  for (const { i, n } of places(rows)) {
    const k = level.of[rows.cluster[i]], c = level.clusters[k];
    const dot = belongs(shape("circle", { cx: x(rows.x[i]).toFixed(1), cy: y(rows.y[i]).toFixed(1), r: Math.min(4 * radius, radius * n ** 0.25).toFixed(1), fill: c.colour, "fill-opacity": 0.75 }), k);
    const chance = level.isFound ? `, probability ${percent(rows.probability[i])}` : ` (part ${rows.cluster[i]} of it)`;
    const which = n > 1 ? `${rowsInWords(n)} here, the first of them row ${rows.number[i]}` : `row ${rows.number[i]}`;
    tip(dot, `${which}: ${names.full(c)}${chance}, something new ${percent(rows.novelty[i])}`);
    svg.append(dot);
  }
  svg.append(axisName(data.axes[0], width - 40, { x: width / 2, y: height - 4 }));
  svg.append(axisName(data.axes[1], height - 40, { x: -height / 2, y: 14, transform: "rotate(-90)" }));
  at("map-hint").textContent = "The two directions in which the clusters differ most, in standard deviations within clusters; a ring is two of them wide on each side of its centre. Select a cluster here or above, and everything follows; Escape shows all."
    + (data.tree ? " In the tree, point at a bracket to see which columns tell its branches apart, and click it to cut there." : "");
}

// Long names of columns are cut where there is no room for them; pointing at them shows all.
function axisName(name, room, place) {
  const letters = Math.floor(room / 6.6), text = shape("text", { ...place, "text-anchor": "middle" }, name.length > letters ? `${name.slice(0, letters - 1)}…` : name);
  tip(text, name);
  return text;
}

function sizes() {
  const width = 560, height = 280, n = level.clusters.length, step = (width - 50) / n;
  const svg = plot("sizes", width, height), most = Math.max(1, ...level.clusters.map((c) => c.size)), least = Math.min(...level.clusters.map((c) => c.size));
  const isLog = most > 50 * least, top = Math.max(1, Math.log10(most)), unit = 10 ** Math.floor(Math.log10(most));
  const y = (v) => height - 26 - (isLog ? Math.log10(Math.max(v, 0.8)) / top : v / most) * (height - 50);
  for (let i = 0; i <= (isLog ? top : most / unit); i++) {
    const tick = isLog ? 10 ** i : i * unit;
    svg.append(shape("line", { class: "axis", x1: 44, x2: width, y1: y(tick), y2: y(tick) }));
    svg.append(shape("text", { x: 38, y: y(tick) + 4, "text-anchor": "end" }, tick.toLocaleString("en")));
  }
  at("sizes-hint").textContent = `Rows in each cluster${isLog ? ", on a logarithmic axis" : ""}.`;
  level.clusters.forEach((c, i) => {
    const bar = belongs(shape("rect", { x: 48 + i * step, width: Math.max(1, step - Math.min(6, step / 4)), y: y(c.size), height: Math.max(2, height - 24 - y(c.size)), fill: c.colour, rx: 2 }), c.number);
    tip(bar, `${names.full(c)}: ${rowsInWords(c.size)}, ${percent(c.share)}`);
    svg.append(bar);
    if (n <= 25) svg.append(shape("text", { x: 48 + i * step + step / 2 - 3, y: height - 8, "text-anchor": "middle" }, c.number));
  });
}

function numberOfClusters() {
  if (!data.number.length) { at("number-section").hidden = true; return; }
  const width = 560, height = 280, svg = plot("number", width, height), n = data.number.length, step = (width - 50) / n;
  at("number-hint").textContent = `Posterior probability of each number of clusters, from chains that started at this partition and elsewhere: ${data.sure}.`;
  const most = Math.max(...data.number.map((d) => d.probability));
  data.number.forEach((d, i) => {
    const h = (d.probability / most) * (height - 60);
    const bar = shape("rect", { x: 40 + i * step, width: Math.max(1, step - 6), y: height - 26 - h, height: h, rx: 2, fill: d.n_clusters === data.n_clusters ? "var(--mark)" : "var(--soft)" });
    tip(bar, `${d.n_clusters} clusters: ${d.words}`);
    svg.append(bar, shape("text", { x: 40 + i * step + step / 2 - 3, y: height - 8, "text-anchor": "middle" }, d.n_clusters));
    svg.append(shape("text", { x: 40 + i * step + step / 2 - 3, y: height - 32 - h, "text-anchor": "middle" }, d.words));
  });
}

function trace() {
  const width = 560, height = 280, steps = data.trace, first = steps[0], last = steps[steps.length - 1];
  const which = data.climbs > 1 ? ` of the climb that won, number ${data.won + 1} of ${data.climbs}` : "";
  const more = last && Math.abs(last.log_joint - data.log_joint) > 0.01 ? " The density of the learned hyperparameters counts here; the log joint above leaves it out." : "";
  at("trace-hint").textContent = `Log joint after each sweep or round of moves${which}: it never drops.${more}`;
  if (!last || last.log_joint - first.log_joint < 0.01) { at("trace").textContent = "This climb began at the best partition that others had found, and no row moved."; return; }
  const svg = plot("trace", width, height);
  const x = scale(steps.map((_, i) => i), 70, width - 10), y = scale(steps.map((s) => s.log_joint), height - 30, 10);
  svg.append(shape("polyline", { fill: "none", stroke: "var(--mark)", "stroke-width": 2, points: steps.map((s, i) => `${x(i).toFixed(1)},${y(s.log_joint).toFixed(1)}`).join(" ") }));
  steps.forEach((s, i) => {
    const dot = shape("circle", { cx: x(i).toFixed(1), cy: y(s.log_joint).toFixed(1), r: 3.2, fill: "var(--mark)" });
    tip(dot, `${s.move}: ${s.n_clusters} clusters, log joint ${number(s.log_joint, 8)}, ${s.seconds.toFixed(2)} s`);
    svg.append(dot);
  });
  for (const s of [first, last]) svg.append(shape("text", { x: 62, y: y(s.log_joint) + 4, "text-anchor": "end" }, number(s.log_joint, 5)));
  svg.append(shape("text", { x: width / 2, y: height - 6, "text-anchor": "middle" }, "sweeps and rounds of moves"));
}

const isNumber = (cell) => typeof cell === "number" || (typeof cell === "string" && /^([−–-]?[\d.,]+%?|–)$/.test(cell));

function tableOf(id, header, rows) {
  const body = rows.map((cells) => element("tr", {}, ...cells.map((cell) => {
    return element("td", isNumber(cell) ? { class: "n" } : {}, cell instanceof Node ? cell : String(cell));
  })));
  const titles = header.map((title, j) => (title ? element("th", { scope: "col", ...(rows.length && isNumber(rows[0][j]) ? { class: "n" } : {}) }, title) : element("td")));
  at(id).replaceChildren(element("table", {}, element("thead", {}, element("tr", {}, ...titles)), element("tbody", {}, ...body)));
}

function drawLevel() {
  picker(); drawMap(); clusterTable(); profiles(); sizes(); novel(); classTable(); gapTable(); drawStructure();
}

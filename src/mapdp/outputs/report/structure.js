// Groups as bars of their clusters; a sequence with its states, and how they follow each other.
const structure = data.structure, statesDrawn = 12, barHeight = 24;
const shortened = (text, most) => (text.length > most ? `${text.slice(0, Math.ceil(most / 3))}…${text.slice(-Math.floor((2 * most) / 3))}` : text);

function groupLines() {
  const { kind, groups } = structure;
  if (kind === "hierarchical") return groups.map((g) => ({ g, shares: g.proportions, words: (share) => `${percent(share)} of its next row` }));
  const together = [...groups].sort((a, b) => a.group_cluster - b.group_cluster);
  return together.map((g, i) => ({ g, shares: g.counts.map((n) => n / Math.max(1, g.rows)), words: (share) => `${percent(share)} of its rows`, isFirst: !i || together[i - 1].group_cluster !== g.group_cluster }));
}

function drawGroups() {
  const lines = groupLines(), width = Math.max(300, at("groups").clientWidth - 12), left = width < 500 ? 110 : 190, isNested = structure.kind === "nested";
  const heads = isNested ? lines.filter((line) => line.isFirst).length : 0, svg = plot("groups", width, 26 + barHeight * (lines.length + heads));
  const x = (share) => left + share * (width - left - 14);
  let y = 4;
  for (const { g, shares, words, isFirst } of lines) {
    if (isFirst) { svg.append(shape("text", { class: "head", x: 0, y: y + 15 }, `Cluster of groups ${g.group_cluster}`)); y += barHeight; }
    const label = shape("text", { x: left - 8, y: y + 14, "text-anchor": "end" }, `${shortened(g.name, width < 500 ? 9 : 20)} (${count(g.rows)})`);
    tip(label, `${g.name}: ${rowsInWords(g.rows)}`);
    svg.append(label);
    let sum = 0;
    shares.forEach((share, k) => {
      const c = level.clusters[k], bar = shape("rect", { x: x(sum), width: Math.max(0, x(sum + share) - x(sum)), y, height: barHeight - 5, fill: c ? c.colour : "var(--line)" });
      tip(bar, () => `${g.name}: ${c ? `${names.full(c)}, ${words(share)}, ${rowsInWords(g.counts[k])}` : `a cluster that nobody has seen, ${percent(share)}`}`);
      svg.append(c ? belongs(bar, k) : bar);
      sum += share;
    });
    y += barHeight;
  }
  for (const share of [0, 0.5, 1]) svg.append(shape("text", { x: x(share), y: y + 14, "text-anchor": share === 1 ? "end" : share ? "middle" : "start" }, `${100 * share}%`));
  const some = lines.length < structure.n_groups ? ` The ${lines.length} largest of ${count(structure.n_groups)} groups are shown.` : "";
  at("groups-hint").textContent = (isNested ? "Rows of each cluster in each group. Groups of one cluster of groups share a whole mixture; two clusters of groups share nothing."
    : "What is expected of the next row of each group: all groups share the clusters, each has proportions of its own. Grey is a cluster that nobody has seen.") + some;
}

function runsOf(states) {
  const runs = [];
  states.forEach((k, i) => { if (i && states[i - 1] === k) runs[runs.length - 1].end = i + 1; else runs.push({ k, begin: i, end: i + 1 }); });
  return runs;
}

function drawOneSeries(svg, series, x, top, height, width) {
  const known = series.values.filter((v) => v !== null);
  if (!known.length) return;
  const y = scale(known, top + height, top + 16);
  let line = [];
  const end = () => { if (line.length) svg.append(shape("polyline", { class: "series", points: line.join(" ") })); line = []; };
  series.values.forEach((v, i) => { if (v === null) end(); else line.push(`${x(i + 0.5).toFixed(1)},${y(v).toFixed(1)}`); });
  end();
  svg.append(shape("text", { class: "head", x: 52, y: top + 10 }, shortened(series.name, Math.floor(width / 8))));
  const [low, high] = [Math.min(...known), Math.max(...known)];
  for (const v of low < high ? [low, high] : [low]) svg.append(shape("text", { x: 46, y: y(v) + 4, "text-anchor": "end" }, number(v, 3)));
}

function drawSeries() {
  const { states, points, series, begins } = structure, width = Math.max(300, at("series").clientWidth), panel = 120, last = data.n_rows;
  const base = series.length * panel, svg = plot("series", width, base + 62), x = (i) => 52 + (i / states.length) * (width - 64);
  const place = (row) => 52 + (row / last) * (width - 64), edge = (i) => (i < points.length ? points[i] : last);
  for (const row of begins) svg.append(shape("line", { class: "axis", x1: place(row), x2: place(row), y1: 4, y2: base + 40, "stroke-dasharray": "3 3" }));
  series.forEach((one, j) => drawOneSeries(svg, one, x, j * panel, panel - 12, width));
  for (const { k, begin, end } of runsOf(states)) {
    const c = level.clusters[k], bar = belongs(shape("rect", { x: x(begin), width: Math.max(0.4, x(end) - x(begin)), y: base + 8, height: 28, fill: c.colour }), k);
    tip(bar, () => `rows ${count(edge(begin))} to ${count(edge(end) - 1)}: ${names.full(c)}`);
    svg.append(bar);
  }
  const ticks = width < 500 ? 2 : 4;
  for (let t = 0; t <= ticks; t++) svg.append(shape("text", { x: place((t * last) / ticks), y: base + 54, "text-anchor": t === ticks ? "end" : t ? "middle" : "start" }, count(Math.round((t * (last - 1)) / ticks))));
  const several = points.length < last ? ` A point is the mean of ${number(last / points.length, 2)} rows or so, its colour the state that most of them have.` : "";
  const many = structure.n_sequences > 1 ? ` ${count(structure.n_sequences)} sequences follow each other; dashed lines are where they begin${begins.length < structure.n_sequences - 1 ? `, of the first ${begins.length}` : ""}.` : "";
  at("series-hint").textContent = `Rows in their order, and under them the state of each row. The clusters of this page are the states.${series.length ? " Columns are those that set the states apart most." : ""}${several}${many}`;
}

function arrow(svg, from, to, chance, words) {
  const dx = to.x - from.x, dy = to.y - from.y, far = Math.hypot(dx, dy), bend = 0.16;
  const middle = { x: (from.x + to.x) / 2 - bend * dy, y: (from.y + to.y) / 2 + bend * dx };
  const towards = (a, b, by) => { const d = Math.hypot(b.x - a.x, b.y - a.y); return { x: a.x + ((b.x - a.x) * by) / d, y: a.y + ((b.y - a.y) * by) / d }; };
  const wide = 0.8 + 5 * chance, head = 7 + wide, begin = towards(from, middle, Math.min(far / 3, from.r + 2)), tipAt = towards(to, middle, Math.min(far / 3, to.r + 2)), neck = towards(to, middle, Math.min(far / 2, to.r + 2 + head));
  const side = { x: ((neck.y - tipAt.y) / head) * (head / 2), y: (-(neck.x - tipAt.x) / head) * (head / 2) };
  const line = shape("path", { class: "arrow", d: `M${begin.x},${begin.y}Q${middle.x},${middle.y} ${neck.x},${neck.y}`, "stroke-width": wide });
  const point = shape("polygon", { class: "arrowhead", points: `${tipAt.x},${tipAt.y} ${neck.x + side.x},${neck.y + side.y} ${neck.x - side.x},${neck.y - side.y}` });
  for (const part of [line, point]) { tip(part, words); svg.append(part); }
}

function drawTransitions() {
  const { transition, durations } = structure, n = level.clusters.length;
  at("transitions").hidden = n > statesDrawn;
  if (n > statesDrawn) return;
  const size = 390, height = n > 2 ? 310 : 150, svg = plot("transitions", size, height), most = Math.max(...level.clusters.map((c) => c.share));
  const nodes = level.clusters.map((c, k) => {
    const angle = (2 * Math.PI * k) / n - (n > 2 ? Math.PI / 2 : Math.PI), radius = n > 1 ? 110 : 0;
    return { c, x: size / 2 + radius * Math.cos(angle), y: height / 2 + radius * Math.sin(angle), r: 9 + 15 * Math.sqrt(c.share / most), angle };
  });
  for (let j = 0; j < n; j++) for (let k = 0; k < n; k++) {
    const leaving = 1 - transition[j][j], chance = leaving > 0 ? transition[j][k] / leaving : 0;
    if (j !== k && chance >= 0.02) arrow(svg, nodes[j], nodes[k], chance, () => `after ${names.full(nodes[j].c)} comes ${names.full(nodes[k].c)} with ${percent(chance)}`);
  }
  nodes.forEach((node, k) => {
    const dot = belongs(shape("circle", { cx: node.x, cy: node.y, r: node.r, fill: node.c.colour }), k);
    tip(dot, () => `${names.full(node.c)}: ${percent(node.c.share)} of the rows, lasts ${number(durations[k], 3)} rows on average`);
    const out = node.r + 14, right = Math.cos(node.angle), text = `${k}: ${number(durations[k], 3)} rows`;
    const anchor = n < 3 || Math.abs(right) < 0.3 ? "middle" : right > 0 ? "start" : "end";
    const words = shape("text", { x: node.x + (anchor === "middle" ? 0 : right * (node.r + 5)), y: node.y + (anchor === "middle" ? (Math.sin(node.angle) > 0.1 || n < 3 ? out : -out + 8) : 4 + Math.sin(node.angle) * node.r), "text-anchor": anchor }, text);
    svg.append(dot, belongs(words, k));
  });
}

function transitionTable() {
  const { transition, start, durations } = structure;
  const cells = (chances) => chances.map((p) => shaded(p >= 0.0005 ? percent(p) : "", p));
  const head = element("tr", {}, ...["after", ...level.clusters.map((c) => c.number), "new", "lasts"].map((title, j) => element("th", { scope: "col", ...(j ? { class: "n" } : {}) }, String(title))));
  const rows = level.clusters.map((c, k) => {
    const row = element("tr", {}, element("th", { scope: "row" }, element("span", { class: "dot", style: `background:${c.colour}` }), ` ${c.number} ${names.of(c)}`), ...cells(transition[k]), element("td", { class: "n" }, number(durations[k], 3)));
    row.dataset.cluster = k;
    return row;
  });
  rows.push(element("tr", {}, element("th", { scope: "row" }, "first row"), ...cells(start), element("td")));
  at("transition-table").replaceChildren(element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows)));
}

function drawStructure() {
  const isSequence = structure.kind === "sequence";
  at("groups-section").hidden = !structure.kind || isSequence;
  for (const id of ["series-section", "transitions-section"]) at(id).hidden = !isSequence;
  if (isSequence) at("map").closest("section").before(at("series-section"), at("transitions-section")); // what rows follow comes first
  if (isSequence) { drawSeries(); drawTransitions(); transitionTable(); } else if (structure.kind) drawGroups();
}

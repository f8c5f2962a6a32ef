// Tables: classes, gaps, unusual rows, what was compared, columns.
const classCounts = (c) => added(data.classes.counts, leaves(c));

function shaded(text, share) {
  const cell = element("td", { class: "n shaded" }, text);
  cell.style.setProperty("--share", `${Math.round(45 * share)}%`);
  return cell;
}

function byCluster(id, titles, cells, last) {
  const head = element("tr", {}, element("th", { scope: "col" }, "cluster"), ...titles.map((title) => element("th", { scope: "col", class: "n" }, title)));
  const rows = level.clusters.map((c) => {
    const row = element("tr", {}, element("th", { scope: "row" }, element("span", { class: "dot", style: `background:${c.colour}` }), ` ${c.number} ${names.of(c)}`), ...cells(c));
    row.dataset.cluster = c.number;
    return row;
  });
  rows.push(element("tr", { class: "total" }, element("th", { scope: "row" }, "all rows"), ...last));
  at(id).replaceChildren(element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows)));
}

function classTable() {
  at("classes-section").hidden = !data.classes.names;
  if (!data.classes.names) return;
  const every = added(data.classes.counts, data.classes.counts.map((_, k) => k));
  byCluster("classes", data.classes.names, (c) => {
    const counts = classCounts(c), total = Math.max(1, sum(counts));
    return counts.map((n) => shaded(n ? count(n) : "", n / total));
  }, every.map((n) => element("td", { class: "n" }, count(n))));
}

function gapTable() {
  at("gaps-section").hidden = !data.gaps.length;
  if (!data.gaps.length) return;
  const rowsIn = new Map(level.clusters.map((c) => [c.number, Math.max(1, c.size)]));
  byCluster("gaps", data.gaps.map((g) => g.name), (c) => data.gaps.map((g) => {
    const share = Math.min(1, sum(leaves(c).map((leaf) => g.counts[leaf])) / rowsIn.get(c.number));
    return shaded(share ? percent(share) : "", share);
  }), data.gaps.map((g) => element("td", { class: "n" }, percent(sum(g.counts) / Math.max(1, data.n_rows)))));
}

function novel() {
  tableOf("novel", ["row", "cluster", "new", "log density", "what is odd about it"], data.novel.map((r) => {
    const odd = element("div", {}, r.reasons.map((x) => `${x.name} ${x.value} (${x.typical})`).join(", ") || "nothing in a single column");
    const values = element("details", {}, element("summary", {}, "all values"), r.values.map(([name, value]) => `${name} ${value}`).join(", "));
    odd.append(values);
    const c = level.clusters[level.of[r.cluster]];
    return [r.row, element("span", {}, element("span", { class: "dot", style: `background:${c.colour}` }), ` ${c.number} ${names.of(c)}`), percent(r.novelty), number(r.log_density), odd];
  }));
}

function compared() {
  at("models-section").hidden = data.models.length < 2;
  const best = data.models.length ? data.models[0].penalised : 0;
  tableOf("models", ["model", "clusters", "log joint", "behind", "seconds"], data.models.map((m) => [m.structure, m.n_clusters, number(m.log_joint, 7), m.penalised === best ? "–" : nats(best - m.penalised), m.seconds.toFixed(2)]));
  at("starts-section").hidden = data.starts.length < 2;
  tableOf("starts", ["start", "clusters", "log joint", "agreement"], data.starts.map((s, i) => [i + 1, s.n_clusters, number(s.log_joint, 7), s.agreement.toFixed(3)]));
  at("alpha-section").hidden = !data.alphas.length;
  tableOf("alphas", ["alpha", "clusters", "log joint"], data.alphas.map((a) => [number(a.alpha), a.n_clusters, number(a.log_joint, 7)]));
}

function baseline() {
  const b = data.baseline;
  at("baseline-section").hidden = b.agreement === undefined;
  if (b.agreement === undefined) return;
  at("baseline-hint").textContent = `K-means was told to find ${b.n_clusters} clusters` + (b.n_rows < data.n_rows ? ` among ${rowsInWords(b.n_rows)} of the table` : "") + ". Columns were scaled to variance one, levels have a column each, gaps were filled by means. Adjusted Rand index: 1 is the same partition, 0 what chance gives.";
  const rows = [["K-means and these clusters", b.agreement.toFixed(2)]];
  if (b.ours !== undefined) rows.push(["these clusters and the known classes", b.ours.toFixed(2)], ["K-means and the known classes", b.theirs.toFixed(2)]);
  tableOf("baseline", ["", "adjusted Rand index"], rows);
}

function tables() {
  compared(); baseline();
  tableOf("columns", ["column", "taken for", "missing", "share", ""], data.columns.map((c) => [c.name, c.kind, count(c.missing), c.missing ? percent(c.missing / Math.max(1, data.n_rows)) : "–", c.note]));
  const again = at("again");
  again.replaceChildren(element("pre", { tabindex: 0 }, data.made_with.code));
  if (data.made_with.command) again.append(element("pre", { tabindex: 0 }, data.made_with.command));
  again.append(element("p", { class: "hint" }, `mapdp ${data.made_with.mapdp}, Python ${data.made_with.python}. The same table and seed give the same clusters on any machine.`));
}

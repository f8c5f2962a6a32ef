// What sets each cluster apart: evidence, typical values, and distributions beside those of all rows.
const cardsShown = 12;
let allCards = false;
const byColumn = new Map(data.distributions.map((d) => [d.name, d]));
const sum = (values) => values.reduce((a, b) => a + b, 0);
const leaves = (c) => level.of.flatMap((k, leaf) => (k === c.number ? [leaf] : []));
const added = (counts, some) => counts[0].map((_, j) => sum(some.map((leaf) => counts[leaf][j])));
const shares = (counts) => { const total = Math.max(1, sum(counts)); return counts.map((v) => v / total); };

function histogram(c, d) {
  const width = 300, height = 38, own = shares(added(d.counts, leaves(c))), all = shares(added(d.counts, d.counts.map((_, k) => k)));
  const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", class: "histogram", role: "img", "aria-label": `${d.name}: distribution in ${names.full(c)} and over all rows` });
  const most = Math.max(...own, ...all, 1e-9), step = width / d.bins.length, y = (v) => height - (v / most) * (height - 2);
  const steps = (values, pad) => values.map((v, j) => `M${(j * step + pad).toFixed(1)},${height}V${y(v).toFixed(1)}H${((j + 1) * step - pad).toFixed(1)}V${height}Z`).join("");
  svg.append(shape("path", { class: "everyone", d: steps(all, Math.min(0.5, step / 20)) }), shape("path", { d: steps(own, step * 0.2), fill: c.colour }));
  const bin = (event) => Math.max(0, Math.min(d.bins.length - 1, Math.floor(((event.clientX - svg.getBoundingClientRect().left) / svg.getBoundingClientRect().width) * d.bins.length)));
  tip(svg, (event) => `${d.bins[bin(event)]}: ${percent(own[bin(event)])} here, ${percent(all[bin(event)])} of all rows`);
  return svg;
}

function ends(d) {
  if (!d) return "";
  const first = d.bins[0].split(" to ")[0], last = d.bins[d.bins.length - 1].split(" to ").pop();
  return d.bins.length < 2 ? first : [first, last];
}

function featureLine(c, f, most) {
  const d = byColumn.get(f.name), line = element("div", { class: "feature" },
    element("span", { class: "name", title: f.name }, f.name), element("span", { class: "here" }, f.here),
    element("span", { class: "bar", style: `width:${((100 * Math.log1p(Math.max(0, f.nats))) / Math.log1p(most)).toFixed(1)}%;background:${c.colour}` }));
  if (d) {
    const [first, last] = [].concat(ends(d));
    line.append(histogram(c, d), element("span", { class: "ends" }, element("span", {}, first), element("span", {}, last || "")));
  }
  line.append(element("span", { class: "overall" }, `all rows: ${f.overall} · ${nats(f.nats)} nats`));
  return line;
}

function profiles() {
  const most = Math.max(1, ...level.clusters.flatMap((c) => c.features.map((f) => f.nats))), shown = matching();
  const cards = (allCards || shown.length <= cardsShown + 2 ? shown : shown.slice(0, cardsShown)).map((c) => {
    const card = belongs(element("article", { class: "profile" }), c.number), stable = c.stability == null ? "" : `, stability ${percent(c.stability)}`;
    card.append(element("h3", {}, element("span", { class: "dot", style: `background:${c.colour}` }), names.of(c) ? `${c.number} ${names.of(c)}` : `Cluster ${c.number}`, element("small", {}, `${rowsInWords(c.size)}, ${percent(c.share)}${stable}`)));
    for (const f of c.features.slice(0, 6)) card.append(featureLine(c, f, most));
    return card;
  });
  at("profiles").replaceChildren(...cards);
  at("more-profiles").hidden = cards.length === shown.length;
  at("more-profiles").textContent = `Show all ${shown.length} clusters`;
}

// The cluster tree: a slider cuts it, everything follows, and the page's address keeps the level.
const tree = data.tree, found = data.n_clusters;
const branchesDrawn = 60, branchesNamed = 36, rowsListed = 200;

function tops(k) {
  const n = found - k, top = Array.from({ length: found + n }, (_, node) => node);
  for (let m = n - 1; m >= 0; m--) for (const node of tree.merges[m]) top[node] = top[found + m];
  return top;
}

// Clusters are numbered as model.cut(n_clusters=k) numbers them; one keeps the colour of its largest part.
function levelAt(k) {
  if (!tree) {
    const clusters = data.clusters.map((c, i) => ({ ...c, colour: colour(i), ellipse: data.ellipses[i] }));
    return { k: found, isFound: true, clusters, of: clusters.map((_, i) => i), top: null };
  }
  const top = tops(k), first = new Map(), total = tree.sizes[tree.sizes.length - 1];
  for (let leaf = 0; leaf < found; leaf++) if (!first.has(top[leaf])) first.set(top[leaf], leaf);
  const nodes = [...first.keys()].sort((a, b) => tree.sizes[b] - tree.sizes[a] || first.get(a) - first.get(b));
  const place = new Map(nodes.map((node, i) => [node, i]));
  const clusters = nodes.map((node, i) => ({
    number: i, node, size: tree.sizes[node], share: tree.sizes[node] / total, features: tree.nodes[node],
    stability: node < found ? data.clusters[node].stability : null, colour: colour(first.get(node)), ellipse: tree.ellipses[node],
  }));
  return { k, isFound: k === found, clusters, top, place, of: Array.from({ length: found }, (_, leaf) => place.get(top[leaf])) };
}

const rowsOf = (node) => rowsInWords(tree.sizes[node]);
const nats = (v) => v.toLocaleString("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const lostBefore = (k) => tree.losses.slice(0, found - k).reduce((sum, loss) => sum + loss, 0);

function levelWords() {
  const lost = lostBefore(level.k), total = lostBefore(tree.least), line = at("level-words");
  at("level-number").textContent = `${level.k} cluster${level.k === 1 ? "" : "s"}`;
  at("level").setAttribute("aria-valuetext", at("level-number").textContent);
  const share = total > 0 ? `, ${percent(Math.max(0, lost) / total)} of what merging them all loses` : "";
  const what = level.isFound ? "The most probable partition that was found."
    : `Clusters are merged where that costs least: ${nats(lost)} nats less probable than the ${found} clusters that were found${share}. `;
  const suggested = level.k === tree.suggested ? (level.isFound ? " It is the suggested level, too." : "This level is suggested by a rule of thumb. ") : "";
  line.replaceChildren(what + suggested);
  if (!level.isFound) line.append("In Python: ", element("code", {}, `model.cut(n_clusters=${level.k})`), ".");
}

function marks() {
  const span = Math.max(1, found - tree.least), apart = (at("level").clientWidth * (found - tree.suggested)) / span;
  const mark = (k, text, isLeft) => {
    const share = (k - tree.least) / span, side = share < 0.2 && !isLeft ? "first" : share > 0.8 || isLeft ? "last" : "";
    const shift = { first: "-8px", last: "8px" }[side] || "0";
    const button = element("button", { type: "button", class: side, style: `left:calc(8px + ${share} * (100% - 16px));margin-left:${shift}` }, text);
    button.addEventListener("click", () => show(k));
    return button;
  };
  if (tree.suggested === found) at("level-marks").replaceChildren(mark(found, `most probable, and suggested: ${found}`));
  else if (apart < 120) at("level-marks").replaceChildren(mark(tree.suggested, `suggested: ${tree.suggested} · most probable: ${found}`, 2 * tree.suggested > found));
  else at("level-marks").replaceChildren(mark(tree.suggested, `suggested: ${tree.suggested}`, apart < 150), mark(found, `most probable: ${found}`));
}

function layout() {
  const least = tree.sizes.length - Math.min(found, branchesDrawn), ends = [], splits = [], y = {};
  const waiting = [tree.sizes.length - 1];
  while (waiting.length) {
    const node = waiting.pop();
    if (node <= least) { y[node] = ends.length; ends.push(node); continue; }
    const [a, b] = tree.merges[node - found], isFirst = tree.sizes[a] >= tree.sizes[b];
    splits.push(node);
    waiting.push(isFirst ? b : a, isFirst ? a : b);
  }
  splits.sort((a, b) => a - b);
  for (const node of splits) { const [a, b] = tree.merges[node - found]; y[node] = (y[a] + y[b]) / 2; }
  return { ends, splits, y };
}

function drawTree() {
  const { ends, splits, y } = layout(), width = Math.max(300, at("tree").clientWidth);
  const height = innerWidth < 760 ? Math.min(mapHeight, 60 + 30 * ends.length) : mapHeight, svg = plot("tree", width, height);
  const named = ends.length <= branchesNamed, right = width - (named ? 98 : 14), base = height - 34;
  const highest = Math.sqrt(Math.max(1e-9, tree.heights[tree.heights.length - 1]));
  const isEnd = new Set(ends), row = (node) => 14 + ((y[node] + 0.5) / ends.length) * (base - 20);
  const column = (node) => right - (isEnd.has(node) ? 0 : Math.sqrt(tree.heights[node]) / highest) * (right - 20);
  const shade = (node) => (level.place.has(level.top[node]) && node < level.top.length ? level.clusters[level.place.get(level.top[node])].colour : "var(--soft)");
  for (const node of splits) {
    const pair = tree.merges[node - found];
    for (const branch of pair) {
      const line = shape("path", { class: "branch", d: `M${column(node)},${row(node)}V${row(branch)}H${column(branch)}`, stroke: shade(branch) });
      svg.append(branch < level.top.length ? belongs(line, level.place.get(level.top[branch])) : line);
    }
  }
  for (const node of splits) {
    const m = node - found, [a, b] = tree.merges[m];
    const grip = shape("path", { class: "grip", d: `M${column(node)},${row(a)}V${row(b)}` });
    tip(grip, `${rowsOf(node)}, split worth ${nats(tree.losses[m])} nats. ` + tree.splits[m].map((c) => `${c.name}: ${c.larger} | ${c.smaller}`).join("; "));
    grip.addEventListener("click", (event) => { event.stopPropagation(); show(Math.max(tree.least, level.k === found - m ? found - m - 1 : found - m)); });
    svg.append(grip);
  }
  drawEnds(svg, ends, right, row, named);
  drawCut(svg, (height) => right - (Math.sqrt(height) / highest) * (right - 20), base);
  svg.append(shape("text", { x: (20 + right) / 2, y: height - 4, "text-anchor": "middle" }, "loss of the merge, in nats"));
}

function drawEnds(svg, ends, right, row, named) {
  for (const node of ends) {
    const k = node < level.top.length ? level.place.get(level.top[node]) : null;
    if (k !== null) svg.append(belongs(shape("circle", { cx: right, cy: row(node), r: 3.4, fill: level.clusters[k].colour }), k));
    if (!named) continue;
    const own = node < found ? `${node}` : "several", text = `${k === null ? own : k}: ${rowsOf(node)}`;
    const label = shape("text", { x: right + 9, y: row(node) + 4 }, text);
    svg.append(k === null ? label : belongs(label, k));
  }
}

function drawCut(svg, place, base) {
  const top = tree.heights[tree.heights.length - 1], ticks = [0, 0.04, 0.16, 0.36, 0.64, 1].map((v) => Number((v * top).toPrecision(1)));
  const apart = (v, i, all) => v <= top && (i === 0 || Math.abs(place(v) - place(all[i - 1])) > 36);
  for (const value of ticks.filter(apart)) {
    svg.append(shape("line", { class: "axis", x1: place(value), x2: place(value), y1: base - 2, y2: base + 3 }));
    svg.append(shape("text", { x: place(value), y: base + 16, "text-anchor": "middle" }, number(value)));
  }
  const last = 2 * found - level.k - 1, below = Math.sqrt(tree.heights[last]), above = last + 1 < tree.heights.length ? Math.sqrt(tree.heights[last + 1]) : below * 1.06;
  const at = place(((below + above) / 2) ** 2);
  svg.append(shape("line", { class: "cut", x1: at, x2: at, y1: 4, y2: base - 2 }));
}

const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);

function csv() {
  const named = names.any(), line = (leaf, i) => `${i},${level.of[leaf]}` + (named ? `,${quoted(names.of(level.clusters[level.of[leaf]]))}` : "");
  return [named ? "row,cluster,name" : "row,cluster", ...data.labels.map(line)].join("\n") + "\n";
}

const plainTitle = () => data.title.replace(/\.[^.]*$/, "").replace(/[^\w-]+/g, "_") || "table";

function offer(content, type, name) {
  const link = element("a", { href: URL.createObjectURL(new Blob([content], { type })), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

const download = () => offer(csv(), "text/csv", `${plainTitle()}_${level.k}_clusters.csv`);

function labelTable() {
  const n = data.labels.length, listed = Math.min(n, rowsListed);
  at("labels-section").hidden = n === 0;
  at("labels-hint").textContent = `The cluster of each row at this level; rows are counted from 0.` + (listed < n ? ` The first ${listed} of ${n.toLocaleString("en")} are listed, the file has all.` : "");
  at("download").textContent = `Download labels at this level (${level.k} cluster${level.k === 1 ? "" : "s"}, CSV)`;
  const dot = (k) => element("span", {}, element("span", { class: "dot", style: `background:${level.clusters[k].colour}` }), ` ${k} ${names.of(level.clusters[k])}`);
  const rows = data.labels.slice(0, listed).map((leaf, i) => (level.isFound ? [i, dot(leaf)] : [i, dot(level.of[leaf]), leaf]));
  tableOf("labels", level.isFound ? ["row", "cluster"] : ["row", "cluster", `of the ${found} that were found`], rows);
}

function show(k, keep = true) {
  level = levelAt(k);
  chosen = null;
  drawLevel();
  labelTable();
  if (!tree) return;
  at("level").value = k;
  levelWords();
  drawTree();
  if (keep) history.replaceState(null, "", `#clusters=${k}`);
}

function levelOfAddress() {
  const asked = Number((/^#clusters=(\d+)$/.exec(location.hash) || [])[1]);
  return asked >= tree.least && asked <= found ? asked : tree.level;
}

function start() {
  names.load();
  head(); numberOfClusters(); trace(); tables();
  at("search").addEventListener("input", () => search(at("search").value));
  at("save-page").addEventListener("click", savePage);
  at("more-profiles").addEventListener("click", () => { allCards = true; profiles(); select(chosen); });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") select(null); });
  at("download").addEventListener("click", download);
  if (!tree) { show(found, false); return; }
  at("levels").hidden = false;
  at("map").parentNode.classList.add("has-tree");
  const slider = at("level");
  slider.min = tree.least;
  slider.max = found;
  slider.addEventListener("input", () => show(Number(slider.value)));
  addEventListener("hashchange", () => show(levelOfAddress(), false));
  show(levelOfAddress(), false);
  marks();
}

start();

// Any contender over any other, in any of the metrics that readers ask for.
const chosen = { a: $("pair-a"), b: $("pair-b"), m: $("pair-m") };

function mark(row, rank, factor) {
  const place = (ratio) => 50 + 50 * Math.max(-1, Math.min(1, Math.log(ratio) / Math.log(factor)));
  const [ratio, low, high] = row;
  const picture = make("span", { class: "mark", style: `--c:${colour(rank)}`, "aria-hidden": "true" });
  if (low !== null) picture.append(make("i", { class: "bar", style: `left:${place(low)}%;width:${place(high) - place(low)}%` }));
  const open = low === null || (low <= 1 && high >= 1);
  picture.append(make("i", { class: `dot ${open ? "open" : ""}`, style: `left:${place(ratio)}%` }));
  return picture;
}

function ratioText(value, low, high, unit) {
  const say = (number) => unit === null ? `${three(number)}x` : quantity(number, unit);
  const sign = unit !== null && value > 0 ? "+" : "";
  return `${sign}${say(value)}${low === null ? "" : ` (${say(low)} to ${say(high)})`}`;
}

function showPair() {
  const [a, b, metric] = [Number(chosen.a.value), Number(chosen.b.value), page.pairs[chosen.m.value]];
  const rows = metric.rows.filter((row) => row[0] === a && row[1] === b);
  const logs = rows.filter((row) => !row[7]).map((row) => Math.abs(Math.log(row[3])));
  const factor = [1.25, 1.5, 2, 4, 10, 100].find((f) => Math.log(f) >= 1.1 * Math.max(0, ...logs)) || 100;
  const head = $("pair-table").tHead.rows[0].cells[2];
  head.replaceChildren(make("span", { class: "scale" }, ...[`1/${factor}`, "1", String(factor)].map((text) => make("span", {}, text))));
  $("pair-table").tBodies[0].replaceChildren(...rows.map((row) => {
    const point = page.points.findIndex((known) => known[0] === a && known[1] === row[2]);
    const place = make("th", { scope: "row" }, make("a", { href: `#p${point}` }, page.places[row[2]]));
    const picture = make("td", { class: "picture" });
    if (!row[7]) picture.append(mark(row.slice(3, 6), a, factor));
    const ratio = make("td", { class: "ratio" }, ratioText(row[3], row[4], row[5], row[7] ? metric.unit : null));
    return make("tr", { "data-f": page.filters[point] || "" }, place, ratio, picture, make("td", { class: "number n" }, String(row[6])));
  }));
  const mean = metric.means.find((row) => row[0] === a && row[1] === b);
  const what = `${metric.title} of ${page.labels[a]} over that of ${page.labels[b]}, phase ${metric.phase}`;
  $("pair-mean").textContent = rows.length
    ? `${what}${mean ? `: ${ratioText(mean[2], mean[3], mean[4], null)}, geometric mean over ${mean[5]} points` : ""}.`
    : "No point has this metric on both sides.";
  filtered();
}

if (chosen.m && page.pairs.length) {
  fill(chosen.a, page.labels);
  fill(chosen.b, page.labels);
  fill(chosen.m, page.pairs.map((metric) => `${metric.title} (${metric.phase})`));
  const names = { a: page.labels, b: page.labels, m: page.pairs.map((metric) => metric.metric) };
  const usual = { a: page.labels.findIndex((label) => label !== page.baseline), b: page.labels.indexOf(page.baseline), m: 0 };
  for (const part of ["a", "b", "m"]) {
    chosen[part].onchange = () => {
      state.set("pairs", part, names[part][chosen[part].value]);
      showPair();
    };
  }
  starters.push((query) => {
    for (const part of ["a", "b", "m"]) {
      const at = names[part].indexOf(query.get(part));
      chosen[part].value = at < 0 ? usual[part] : at;
    }
    showPair();
  });
}

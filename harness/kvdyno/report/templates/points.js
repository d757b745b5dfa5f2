// Every point's counters, drawn when it is opened; dots of runs lead to their point.
function counters(point) {
  const { phases, metrics, points } = page.medians;
  const found = new Map();
  points[point].forEach((cells, phase) => {
    for (let at = 0; at < cells.length; at += 2) {
      if (!found.has(cells[at])) found.set(cells[at], []);
      found.get(cells[at])[phase] = cells[at + 1];
    }
  });
  const used = phases.map((name, at) => at).filter((at) => points[point][at].length);
  const head = make("tr", {}, make("th", {}, "metric"), ...used.map((at) => make("th", { class: "number" }, phases[at])));
  const rows = [...found].sort((a, b) => a[0] - b[0]).map(([metric, values]) => {
    const [name, unit] = metrics[metric];
    const cells = used.map((at) => make("td", { class: "number" }, values[at] === undefined ? "–" : quantity(values[at], unit)));
    return make("tr", { "data-metric": name }, make("th", { scope: "row" }, make("code", {}, name)), ...cells);
  });
  const search = make("input", { type: "search", placeholder: "part of a name", "aria-label": "Metrics whose name has" });
  search.oninput = () => { for (const row of rows) row.hidden = !row.dataset.metric.includes(search.value.trim()); };
  const table = make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows));
  const box = make("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": `Counters of ${nameOf(point)}` }, table);
  return [make("p", { class: "controls" }, make("label", {}, "metrics ", search), make("span", { class: "quiet" }, "medians by phase; –: 0 or not measured")), box];
}

for (const point of document.querySelectorAll("details.point")) {
  point.addEventListener("toggle", () => {
    const box = point.querySelector(".counters");
    if (point.open && !box.firstChild) box.append(...counters(Number(point.id.slice(1))));
  });
}
for (const dot of document.querySelectorAll(".cloud i")) dot.onclick = () => { location.hash = dot.dataset.p; };

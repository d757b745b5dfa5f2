// A series of all runs at one point, one line per run.
const plot = $("series-plot");
const SVG = "http://www.w3.org/2000/svg";

function draw(tag, attributes, text) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  return node;
}

function niceStep(largest) {
  const raw = largest / 5;
  const power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((step) => step >= raw * 0.999);
}

function linesOf(place, column) {
  return page.series.runs
    .filter(([point, , , values]) => page.points[point][1] === place && values[column])
    .map(([point, repetition, times, values]) => ({ point, repetition, times, values: values[column] }));
}

function axes(svg, box, xMost, yMost, divisor) {
  const stepX = niceStep(xMost);
  const stepY = niceStep(yMost / divisor) * divisor;
  for (let y = 0; y <= yMost * 1.001; y += stepY) {
    svg.append(draw("line", { class: "grid", x1: box.left, x2: box.right, y1: box.y(y), y2: box.y(y) }));
    svg.append(draw("text", { x: box.left - 6, y: box.y(y) + 4, "text-anchor": "end" }, Number((y / divisor).toPrecision(3))));
  }
  for (let x = 0; x <= xMost * 1.001; x += stepX) {
    svg.append(draw("text", { x: box.x(x), y: box.bottom + 16, "text-anchor": "middle" }, Number(x.toPrecision(3))));
  }
  svg.append(draw("text", { x: box.right, y: box.bottom + 32, "text-anchor": "end" }, "time, s"));
}

function showSeries() {
  const [place, column] = [Number($("series-point").value), Number($("series-column").value)];
  const [, title, unit] = page.series.columns[column];
  const lines = linesOf(place, column);
  const width = Math.max(280, plot.clientWidth);
  const [xMost, yMost] = ["times", "values"].map((key) => Math.max(1e-9, ...lines.flatMap((line) => line[key])));
  const [divisor, spelled] = scaleFor(yMost, unit);
  const box = { left: 46, right: width - 8, top: 22, bottom: 228 };
  box.x = (time) => box.left + (time / xMost) * (box.right - box.left);
  box.y = (value) => box.bottom - (value / yMost) * (box.bottom - box.top);
  const svg = draw("svg", { viewBox: `0 0 ${width} 264`, role: "img", "aria-label": `${title} over time, ${page.places[place]}` });
  svg.append(draw("text", { x: 4, y: 12 }, [title, spelled].filter(Boolean).join(", ")));
  axes(svg, box, xMost, yMost, divisor);
  for (const line of lines) {
    const style = `--c:${colour(page.points[line.point][0])}`;
    const spots = line.times.map((time, at) => `${box.x(time).toFixed(1)} ${box.y(line.values[at]).toFixed(1)}`);
    if (spots.length > 1) svg.append(draw("path", { d: `M${spots.join("L")}`, style }));
    else svg.append(draw("circle", { cx: box.x(line.times[0]), cy: box.y(line.values[0]), r: 3, style }));
  }
  svg.onmousemove = (event) => hover(event, svg, box, lines, unit);
  plot.replaceChildren(svg);
  const ranks = [...new Set(lines.map((line) => page.points[line.point][0]))];
  $("series-legend").replaceChildren(...ranks.flatMap((rank) => [make("span", { class: "who", style: `--c:${colour(rank)}` }, page.labels[rank]), " "]));
  $("series-value").textContent = lines.length ? "" : "No run of this point has this series.";
}

// Shows the value nearest to the pointer.
function hover(event, svg, box, lines, unit) {
  const frame = svg.getBoundingClientRect();
  const [px, py] = [event.clientX - frame.left, event.clientY - frame.top];
  let best = null;
  for (const line of lines) {
    line.times.forEach((time, at) => {
      const far = Math.hypot(box.x(time) - px, box.y(line.values[at]) - py);
      if (!best || far < best.far) best = { far, line, at };
    });
  }
  if (!best) return;
  const { line, at } = best;
  $("series-value").textContent = `${page.labels[page.points[line.point][0]]}, repetition ${line.repetition}, ${line.times[at]} s: ${quantity(line.values[at], unit)}.`;
  svg.querySelector(".near")?.remove();
  svg.append(draw("circle", { class: "near", cx: box.x(line.times[at]), cy: box.y(line.values[at]), r: 4, style: `--c:${colour(page.points[line.point][0])}` }));
}

if (plot && page.series) {
  const point = $("series-point");
  const column = $("series-column");
  const known = new Set(page.series.runs.map(([at]) => page.points[at][1]));
  point.replaceChildren(...[...known].map((place) => make("option", { value: place }, page.places[place])));
  fill(column, page.series.columns.map(([, title]) => title));
  const names = page.series.columns.map(([name]) => name);
  point.onchange = () => { state.set("time", "at", page.places[point.value]); showSeries(); };
  column.onchange = () => { state.set("time", "series", names[column.value]); showSeries(); };
  starters.push((query) => {
    const place = page.places.indexOf(query.get("at"));
    point.value = known.has(place) ? place : [...known][0];
    column.value = Math.max(0, names.indexOf(query.get("series")));
    showSeries();
  });
  let width = 0;
  new ResizeObserver(([entry]) => {
    if (entry.contentRect.width !== width) { width = entry.contentRect.width; requestAnimationFrame(showSeries); }
  }).observe(plot);
}

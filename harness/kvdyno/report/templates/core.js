// What the other scripts share: the page's data, its state in the address, numbers in words.
const page = JSON.parse(document.getElementById("page-data").textContent);
const $ = (id) => document.getElementById(id);
const colour = (rank) => `var(--e${rank % 8})`;
const nameOf = (point) => `${page.labels[page.points[point][0]]} ${page.places[page.points[point][1]]}`;

function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

function fill(select, names, value) {
  select.replaceChildren(...names.map((name, at) => make("option", { value: at }, name)));
  if (value !== undefined) select.value = value;
}

function three(number) {
  if (number === 0) return "0";
  const places = Math.max(0, Math.min(12, 2 - Math.floor(Math.log10(Math.abs(number)))));
  return Math.abs(number) >= 1000 ? String(Number(number.toPrecision(3))) : number.toFixed(places);
}

const SECONDS = { s: 1, us: 1e-6, ns: 1e-9 };
// The divisor that suits values of a size, and the unit after dividing: the rules of plots/units.py.
function scaleFor(size, unit) {
  const [over, under] = unit.split("/");
  const tail = under ? `/${under}` : "";
  if (over in SECONDS) {
    const seconds = size * SECONDS[over];
    const [step, name] = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]].find((t) => seconds >= t[0]) || [1e-9, "ns"];
    return [step / SECONDS[over], name + tail];
  }
  if (over === "byte") {
    const step = size < 1024 ? 0 : Math.min(4, Math.floor(Math.log2(size) / 10));
    return [1024 ** step, ["B", "KiB", "MiB", "GiB", "TiB"][step] + tail];
  }
  if (unit === "ratio" || unit === "") return [1, ""];
  if (unit === "count") return [[1e9, "billion"], [1e6, "million"], [1e3, "thousand"]].find((c) => size >= c[0]) || [1, "count"];
  const [step, prefix] = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]].find((c) => size >= c[0]) || [1, ""];
  return [step, over === "op" ? prefix + unit : `${prefix} ${unit}`.trim()];
}

function quantity(value, unit) {
  const [divisor, spelled] = scaleFor(Math.abs(value), unit);
  return `${three(value / divisor)} ${spelled}`.trim();
}

// The address: #anchor?name=value&…, so that a link opens the page as it is.
const state = {
  read() {
    const [anchor, query] = decodeURI(location.hash.slice(1)).split("?");
    return [anchor, new URLSearchParams(query || "")];
  },
  set(anchor, name, value) {
    const query = this.read()[1];
    if (value === "" || value === undefined) query.delete(name);
    else query.set(name, value);
    const text = query.toString();
    history.replaceState(null, "", `#${anchor}${text ? `?${text}` : ""}`);
  },
};

const starters = [];
function apply() {
  const [anchor, query] = state.read();
  for (const one of starters) one(query);
  const target = anchor && $(anchor);
  if (!target) return;
  reveal(target);
  target.scrollIntoView();
}

// Opens what hides an element: a list that is cut, folded parts, the element itself.
function reveal(node) {
  node.closest(".long")?.dispatchEvent(new Event("reveal"));
  for (let fold = node.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
}

function start() {
  document.documentElement.classList.add("js");
  apply();
  addEventListener("hashchange", apply);
}

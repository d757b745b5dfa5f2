// Tables and lists: filtered, sorted, cut to their first rows, with a hint where they are wider than the screen.
const ROWS = {{ rows_at_first }};
const wanted = new Map();
const longLists = [];

function matches(node) {
  const known = node.dataset.f;
  if (!known) return true;
  return [...wanted].every(([axis, value]) => !known.includes(`|${axis}=`) || known.includes(`|${axis}=${value}|`));
}

function cut(list) {
  const body = list.tBodies ? list.tBodies[0] : list;
  const button = make("button", { type: "button", class: "more" });
  let all = false;
  const show = () => {
    const kept = [...body.children].filter((row) => matches(row));
    for (const row of body.children) row.hidden = true;
    const few = kept.length <= 1.4 * ROWS;
    kept.forEach((row, at) => { row.hidden = !all && !few && at >= ROWS; });
    button.hidden = few;
    button.textContent = all ? `Show the first ${ROWS}` : `Show all ${kept.length}`;
  };
  button.onclick = () => { all = !all; show(); };
  list.addEventListener("reveal", () => { all = true; show(); });
  (list.closest(".scroll") || list).after(button);
  longLists.push(show);
}

function sortable(table) {
  const body = table.tBodies[0];
  const key = (row, at) => {
    const cell = row.cells[at];
    const text = cell.dataset.v ?? cell.textContent.trim();
    return text !== "" && isFinite(text) ? Number(text) : text;
  };
  [...table.tHead.rows[0].cells].forEach((head, at) => {
    if (head.classList.contains("picture") || !head.textContent.trim()) return;
    const button = make("button", { type: "button" }, ...head.childNodes);
    head.append(button);
    button.onclick = () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const sign = down ? -1 : 1;
      const order = (a, b) => typeof a === typeof b ? (a < b ? -1 : a > b ? 1 : 0) : typeof a === "number" ? -1 : 1;
      body.append(...[...body.rows].sort((a, b) => sign * order(key(a, at), key(b, at))));
      for (const show of longLists) show();
    };
  });
}

function filtered() {
  for (const node of document.querySelectorAll("[data-f]")) {
    if (!node.closest(".long")) node.hidden = !matches(node);
  }
  for (const show of longLists) show();
  const words = [...wanted].map(([axis, value]) => `${axis} ${value}`).join(", ");
  if ($("filtered")) $("filtered").textContent = words && `Only ${words}, in all sections.`;
}

const filters = $("filters");
if (filters) {
  const anchor = filters.closest("section").id;
  filters.onchange = (event) => state.set(anchor, `only-${event.target.dataset.axis}`, event.target.value) || choose();
  filters.onreset = () => setTimeout(() => {
    for (const select of filters.querySelectorAll("select")) state.set(anchor, `only-${select.dataset.axis}`, "");
    choose();
  });
  starters.push((query) => {
    for (const select of filters.querySelectorAll("select")) {
      const value = query.get(`only-${select.dataset.axis}`) || "";
      select.value = [...select.options].some((option) => option.value === value) ? value : "";
    }
    choose();
  });
}

function choose() {
  wanted.clear();
  for (const select of filters.querySelectorAll("select")) if (select.value) wanted.set(select.dataset.axis, select.value);
  filtered();
}

document.querySelectorAll(".sortable").forEach(sortable);
document.querySelectorAll(".long").forEach(cut);
for (const box of document.querySelectorAll(".scroll")) box.after(make("p", { class: "sideways" }, "Wider than the screen: scroll sideways."));
const widths = new ResizeObserver((entries) => {
  for (const { target } of entries) target.classList.toggle("wide", target.scrollWidth > target.clientWidth + 1);
});
document.querySelectorAll(".scroll").forEach((box) => widths.observe(box));
for (const show of longLists) show();

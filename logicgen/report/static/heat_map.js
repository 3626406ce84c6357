// Heat maps: a table of buttons, one for each cell of symbols and length.

const SHARES = ["#8f0d22", "#e2573a", "#fdd98a", "#8fcf9b", "#0f8a66"];
const DIFFERENCES = ["#7f3b08", "#e08214", "#f7f7f7", "#5aa9c9", "#053061"];
const COUNTS = ["#f1eef6", "#bdc9e1", "#74a9cf", "#2b8cbe", "#045a8d"];

function colour(scale, share) {
  const place = Math.min(Math.max(share, 0), 1) * (scale.length - 1);
  const low = Math.min(Math.floor(place), scale.length - 2);
  const part = (text, i) => parseInt(text.slice(1 + 2 * i, 3 + 2 * i), 16);
  const mix = [0, 1, 2].map((i) => Math.round(part(scale[low], i) + (place - low) * (part(scale[low + 1], i) - part(scale[low], i))));
  return `rgb(${mix.join(",")})`;
}

// map: {title, kind, cells: [[symbols, length, value, text]], trained, step}; pick({symbols, length}).
function heatMap(map, pick) {
  const lengths = [...new Set(map.cells.map((cell) => cell[1]))].sort((a, b) => a - b);
  const symbols = [...new Set(map.cells.map((cell) => cell[0]))].sort((a, b) => b - a);
  const most = Math.max(1, ...map.cells.map((cell) => Math.abs(cell[2] ?? 0)));
  const [scale, share, ends] = {
    share: [SHARES, (value) => value, ["0%", "100%"]],
    difference: [DIFFERENCES, (value) => (value + 1) / 2, ["−100 points", "+100 points"]],
    count: [COUNTS, (value) => value / most, ["0", most.toLocaleString("en")]],
  }[map.kind];
  const at = new Map(map.cells.map((cell) => [`${cell[0]} ${cell[1]}`, cell]));
  const range = (length) => [length, length + map.step - 1];
  const inside = (value, bounds) => bounds[0] <= value && value <= bounds[1];
  const buttons = [];
  const row = (s) => element("tr", {},
    element("th", { scope: "row" }, element("button", { type: "button", "aria-label": many(s, "symbol"), onclick: () => pick({ ...map.also, symbols: [s, s], length: null }) }, String(s))),
    lengths.map((length) => {
      const cell = at.get(`${s} ${length}`);
      if (!cell) return element("td", {});
      const trained = map.trained && inside(s, map.trained[0]) && inside(length, map.trained[1]);
      const says = `${many(s, "symbol")}, length ${map.step > 1 ? range(length).join(" to ") : length}\n${cell[3]}`;
      const button = tipped(element("button", { type: "button", "aria-label": says.replaceAll("\n", ", "), tabindex: buttons.length ? "-1" : "0",
        "data-place": `${s} ${length}`, onclick: () => pick({ ...map.also, symbols: [s, s], length: range(length) }) }), says);
      if (cell[2] !== null) button.style.backgroundColor = colour(scale, share(cell[2]));
      buttons.push(button);
      return element("td", { class: trained ? "trained" : null }, button);
    }));
  const body = element("tbody", {}, symbols.map(row));
  const foot = element("tr", {}, element("th", { scope: "col" }, "symbols / length"), lengths.map((length, i) => element("th", { scope: "col" },
    element("button", { type: "button", "aria-label": `length ${range(length).join(" to ")}`, onclick: () => pick({ ...map.also, symbols: null, length: range(length) }) },
      lengths.length <= 30 || i % Math.ceil(lengths.length / 30) === 0 ? String(length) : "·"))));
  // The Tab key returns to the cell that had the focus last.
  const reached = (event) => {
    if (!buttons.includes(event.target)) return;
    for (const button of buttons) button.tabIndex = button === event.target ? 0 : -1;
  };
  const table = element("table", { onkeydown: walk, onfocusin: reached }, body, element("tfoot", {}, foot));
  const bar = element("span", { class: "bar" });
  bar.style.background = `linear-gradient(to right, ${scale.join(",")})`;
  const rows = [["symbols", "length", map.kind, "text"], ...map.cells];
  const legend = element("div", { class: "scale" }, ends[0], bar, ends[1], map.trained ? [element("span", { class: "box" }), "training region"] : null,
    element("button", { type: "button", onclick: (event) => copy(csv(rows), event.target) }, "Copy as CSV"));
  const figure = element("figure", {}, element("figcaption", {}, map.title), element("div", { class: "map", role: "group", "aria-label": map.title }, table), legend);
  figure.chosen = (state) => {
    for (const button of buttons) {
      const [s, length] = button.dataset.place.split(" ").map(Number);
      const here = Object.entries(map.also ?? {}).every(([name, value]) => state[name] === value);
      const on = here && (state.symbols || state.length) && (!state.symbols || inside(s, state.symbols)) && (!state.length || (length >= state.length[0] - map.step + 1 && length <= state.length[1]));
      button.setAttribute("aria-pressed", String(Boolean(on)));
    }
  };
  return figure;
}

// Arrow keys move from cell to cell; the Tab key reaches one cell only.
function walk(event) {
  const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
  const cell = event.target.closest("td");
  if (!step || !cell) return;
  event.preventDefault();
  const rows = [...cell.closest("tbody").rows];
  let y = rows.indexOf(cell.parentNode), x = cell.cellIndex;
  while (rows[y += step[0]] && rows[y].cells[x += step[1]]) {
    const next = rows[y].cells[x].querySelector("td > button");
    if (next) {
      next.focus();
      return;
    }
  }
}

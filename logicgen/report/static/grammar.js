// Grammars of productions as graphs: layers from top to bottom; probable edges are wide.
//
// data.grammars   [{label, start: [[unit, share]], layers: [[{name, reach, words, next}]]}]
// data.gone       [layer, unit, unit below] of a connection that was cut, or null

class GrammarPage {
  constructor(data) {
    this.gone = data.gone;
    byId("maps").append(...data.grammars.map((grammar) => this.graph(grammar)));
  }

  graph(grammar) {
    const [stepX, stepY, radius] = [132, 124, 22];
    const widest = Math.max(...grammar.layers.map((layer) => layer.length));
    const x = (layer, unit) => 70 + (unit + (widest - layer.length) / 2) * stepX;
    const y = (number) => 70 + number * stepY;
    const root = 70 + ((widest - 1) / 2) * stepX;
    const lines = [], labels = [], nodes = [];
    const edge = (x1, y1, x2, y2, share, says, lower) => {
      const line = element("line", { x1, y1, x2, y2, "stroke-width": (0.5 + 6 * share).toFixed(2), "stroke-opacity": (0.35 + 0.5 * share).toFixed(2) }, element("title", {}, says));
      lines.push(line);
      const at = lower ? 0.43 : 0.3;
      labels.push(element("text", { x: x1 + at * (x2 - x1), y: y1 + at * (y2 - y1), "text-anchor": "middle", class: "share" }, share >= 0.995 ? "1" : share.toFixed(2).slice(1)));
    };
    for (const [unit, share] of grammar.start) edge(root, 18, x(grammar.layers[0], unit), y(0), share, `start → ${grammar.layers[0][unit].name}: ${share}`);
    const said = element("div", { class: "says", role: "status" }, "Press a unit to see its words and the units that it switches on.");
    grammar.layers.forEach((layer, number) => layer.forEach((unit, place) => {
      const below = grammar.layers[number + 1] ?? [];
      for (const [to, share] of unit.next) if (unit.reach > 0) edge(x(layer, place), y(number), x(below, to), y(number + 1), share, `${unit.name} → ${below[to].name}: ${share}`, place % 2);
      if (this.gone && this.gone[0] === number && this.gone[1] === place && !unit.next.some(([to]) => to === this.gone[2])) {
        lines.push(element("line", { x1: x(layer, place), y1: y(number), x2: x(below, this.gone[2]), y2: y(number + 1), class: "gone" }, element("title", {}, "cut")));
      }
      const press = () => {
        const words = unit.words.map(([word, share]) => `${word} ${share.toFixed(2)}`).join(", ") || "nothing";
        const next = unit.next.map(([to, share]) => `${below[to].name} ${share.toFixed(2)}`).join(", ");
        said.textContent = `${unit.name}: on in ${(100 * unit.reach).toFixed(1)}% of sentences; writes ${words}` + (next ? `; switches on ${next}` : "");
        for (const each of nodes) each.setAttribute("aria-pressed", String(each === node));
      };
      const word = unit.words.length ? unit.words[0][0] + (unit.words.length > 1 ? " …" : "") : "";
      const short = (text) => (text.length > 12 ? `${text.slice(0, 11)}…` : text);
      const node = element("g", { class: unit.reach > 0.01 ? "unit" : "unit off", role: "button", tabindex: "0", "aria-pressed": "false", "aria-label": `unit ${unit.name} of layer ${number + 1}`, onclick: press,
        onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); press(); } } },
        element("rect", { x: x(layer, place) - 46, y: y(number) - radius, width: 92, height: 2 * radius, rx: 10 }),
        element("text", { x: x(layer, place), y: y(number) - 3, "text-anchor": "middle" }, short(unit.name)),
        element("text", { x: x(layer, place), y: y(number) + 13, "text-anchor": "middle", class: "word" }, short(word)));
      nodes.push(node);
    }));
    const size = { width: 70 + (widest - 1) * stepX + 70, height: y(grammar.layers.length - 1) + 40 };
    const svg = element("svg", { ...size, role: "group", "aria-label": `graph of ${grammar.label}` }, lines, labels,
      element("text", { x: root, y: 14, "text-anchor": "middle" }, "start"), nodes);
    return element("figure", { class: "grammar" }, element("figcaption", {}, grammar.label), element("div", { class: "wide", tabindex: "0", role: "region", "aria-label": grammar.label }, svg), said);
  }
}

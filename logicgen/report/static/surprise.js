// Perplexity by position as lines, and sequences colored by the surprise of their tokens.
//
// data.positions, data.lines   [{name, label, values}] in bits per token
// data.readings                [{tokens, measured}]: bits of each token by the names of lines
// data.blanks                  whether tokens are names, to be set apart by blanks

// Bits at which a token has the full color.
const MOST_BITS = 8;

class SurprisePage {
  constructor(data) {
    Object.assign(this, data);
    byId("maps").append(this.chart());
    if (this.readings.length) {
      byId("readings").hidden = false;
      addEventListener("popstate", () => this.show());
      this.show();
    }
  }

  chart() {
    const [width, height, left, bottom] = [860, 300, 46, 34];
    const all = this.lines.flatMap((line) => line.values);
    const top = Math.max(1, Math.ceil(all.reduce((a, b) => Math.max(a, b), 0)));
    const last = Math.max(2, this.positions[this.positions.length - 1]);
    const x = (position) => left + ((position - 1) / (last - 1)) * (width - left - 10);
    const y = (bits) => height - bottom - (bits / top) * (height - bottom - 12);
    const marks = [];
    for (let bits = 0; bits <= top; bits += Math.ceil(top / 8)) {
      marks.push(element("line", { x1: left, x2: width - 10, y1: y(bits), y2: y(bits) }), element("text", { x: left - 8, y: y(bits) + 4, "text-anchor": "end" }, String(bits)));
    }
    for (let i = 0; i <= 8; i++) {
      const position = Math.round(1 + (i / 8) * (last - 1));
      marks.push(element("text", { x: x(position), y: height - bottom + 16, "text-anchor": "middle" }, String(position)));
    }
    marks.push(element("text", { x: (left + width) / 2, y: height - 3, "text-anchor": "middle" }, "position: tokens before it"));
    const lines = this.lines.map((line, number) => element("polyline", { class: `line-${number}`, points: line.values.flatMap((value, i) => (value === null ? [] : `${x(this.positions[i]).toFixed(1)},${y(value).toFixed(1)}`)).join(" ") }));
    const guide = element("line", { y1: 12, y2: height - bottom, x1: left, x2: left, visibility: "hidden" });
    const said = element("p", { class: "says", role: "status" }, "Point at the lines, or press the arrow keys on them, to read values.");
    let chosen = 0;
    const say = (i) => {
      chosen = Math.min(Math.max(i, 0), this.positions.length - 1);
      const at = x(this.positions[chosen]);
      guide.setAttribute("x1", at); guide.setAttribute("x2", at); guide.setAttribute("visibility", "visible");
      said.textContent = `Position ${this.positions[chosen]}: ` + this.lines.filter((line) => line.values[chosen] !== null).map((line) => `${line.label} ${line.values[chosen].toFixed(3)} bits (perplexity ${(2 ** line.values[chosen]).toFixed(2)})`).join(", ");
    };
    const svg = element("svg", { width, height, tabindex: "0", role: "img", "aria-label": "bits per token by position",
      onmousemove: (event) => {
        const share = (event.offsetX - left) / (width - left - 10);
        say(Math.round(share * (this.positions.length - 1)));
      },
      onkeydown: (event) => {
        const step = { ArrowLeft: -1, ArrowRight: 1, Home: -1e9, End: 1e9 }[event.key];
        if (step) { event.preventDefault(); say(chosen + step); }
      } }, marks, lines, guide);
    const keys = this.lines.map((line, number) => [element("span", { class: `key line-${number}` }), line.label]);
    const rows = [["position", ...this.lines.map((line) => `${line.name}, mean around it`)], ...this.positions.map((position, i) => [position, ...this.lines.map((line) => line.values[i])])];
    return element("figure", { class: "chart" }, element("figcaption", {}, "Bits per token by position"), svg, element("div", { class: "scale" }, keys,
      element("button", { type: "button", onclick: (event) => copy(csv(rows), event.target) }, "Copy as CSV")), said);
  }

  // The address contains the sequence and the line that colors it: #sequence=3&of=counter_bits
  show() {
    const asked = new URLSearchParams(location.hash.replace(/^#/, ""));
    const number = Math.min(Math.max(Number.parseInt(asked.get("sequence") ?? "0", 10) || 0, 0), this.readings.length - 1);
    const names = this.lines.map((line) => line.name);
    const of = names.includes(asked.get("of")) ? asked.get("of") : names[0];
    const go = (changes) => {
      history.pushState(null, "", `#${new URLSearchParams({ sequence: number, of, ...changes })}`);
      this.show();
    };
    const reading = this.readings[number];
    const bits = reading.measured[of];
    const shown = reading.tokens.map((token, place) => {
      const value = bits[place];
      const made = element("span", {}, token === "\n" ? "⏎\n" : token + (this.blanks ? " " : ""));
      if (value === null) return made;
      made.style.backgroundColor = `rgba(226, 87, 58, ${(0.45 * Math.min(value, MOST_BITS)) / MOST_BITS})`;
      const says = this.lines.filter((line) => reading.measured[line.name]?.[place] !== null).map((line) => `${line.label}: ${reading.measured[line.name][place].toFixed(2)} bits`);
      return tipped(made, [`token ${place}: ${JSON.stringify(token)}`, ...says].join("\n"));
    });
    const choices = this.lines.map((line) => element("button", { type: "button", "aria-pressed": String(line.name === of), onclick: () => go({ of: line.name }) }, line.label));
    byId("readings").replaceChildren(element("h2", {}, "Text colored by surprise"),
      element("p", { class: "says" }, `A redder token was less expected: no color means 0 bits, full color ${MOST_BITS} bits or more.`),
      element("div", { class: "tools" }, element("h3", {}, `Sequence ${number + 1} of ${this.readings.length}`), choices,
        element("button", { type: "button", disabled: number === 0, onclick: () => go({ sequence: number - 1 }) }, "Previous"),
        element("button", { type: "button", disabled: number === this.readings.length - 1, onclick: () => go({ sequence: number + 1 }) }, "Next"),
        element("button", { type: "button", onclick: (event) => copy(location.href, event.target) }, "Copy link")),
      element("div", { class: "reading", tabindex: "0", role: "region", "aria-label": "Text" }, shown));
  }
}

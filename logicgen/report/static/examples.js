// The examples of a page, with their filters and their order.
//
// data.tasks      by task: {arities, temporal}; arities null where problems are strings of tokens
// data.columns    [{name, label, kind: "number" | "choice" | "choices" | "text", facet, shown}]
// data.rows       by column and by each name below: a value for each example
//                 `key`, `task`, `prefix` (tokens), `right` (tokens), `deciding`
// data.answers    [{label, text, verdict, explanation, tokens}]: names of rows
// data.problem    the name of the row with problems as readable text
// data.noun       the name of an example, if not "example"
// data.total      the number of all examples, with those that are not on the page

class Examples {
  constructor(data) {
    Object.assign(this, data);
    this.count = data.rows.key.length;
    this.places = new Map(data.rows.key.map((key, i) => [String(key), i]));
    this.facets = data.columns.filter((column) => column.facet);
    this.shown = data.columns.filter((column) => column.shown);
    this.only = Object.keys(data.tasks)[0];
    this.texts = null;
  }

  task(i) { return this.tasks[this.rows.task ? this.rows.task[i] : this.only]; }

  // All text of an example in lower case, made at the first search.
  text(i) {
    this.texts ??= new Array(this.count);
    this.texts[i] ??= [...this.columns.filter((column) => column.kind === "text").map((column) => this.rows[column.name][i]), this.rows.prefix[i],
      ...this.answers.flatMap((answer) => [this.rows[answer.text][i], answer.explanation ? this.explained(answer, i)?.reason : ""])].join("\n").toLowerCase();
    return this.texts[i];
  }

  explained(answer, i) {
    const found = answer.explanation && this.rows[answer.explanation]?.[i];  // loaded later
    if (!found) return null;
    const [reason, truth, letters, loop, picture] = found;
    return { reason, picture, loop, truth: truth ? truth.split(",") : [], letters: letters === null ? [] : letters.split(";").map((letter) => letter.split(" ").filter(Boolean)),
      temporal: this.task(i).temporal };
  }

  // The places of the examples that pass all filters, sorted.
  found(state, without) {
    const tests = [];
    for (const column of this.facets) {
      const asked = state.filters[column.name];
      if (asked === undefined || column.name === without) continue;
      const values = this.rows[column.name];
      if (column.kind === "number") tests.push((i) => asked[0] <= values[i] && values[i] <= asked[1]);
      else if (column.kind === "choices") tests.push((i) => ` ${values[i]} `.includes(` ${asked} `));
      else tests.push((i) => values[i] === asked);
    }
    const words = state.q.toLowerCase();
    if (words) tests.push((i) => this.text(i).includes(words));
    const places = [];
    for (let i = 0; i < this.count; i++) if (tests.every((test) => test(i))) places.push(i);
    if (state.sort) {
      const down = state.sort.startsWith("-");
      const values = this.rows[state.sort.replace(/^-/, "")];
      const order = (a, b) => (values[a] < values[b] ? -1 : values[a] > values[b] ? 1 : a - b);
      places.sort(down ? (a, b) => order(b, a) : order);
    }
    return places;
  }

  // The number of examples in `places` with each value of a column: [[value or range, count]].
  counts(column, places) {
    const values = this.rows[column.name];
    const found = new Map();
    for (const i of places) {
      for (const value of column.kind === "choices" ? values[i].split(" ").filter(Boolean) : [values[i]]) found.set(value, (found.get(value) ?? 0) + 1);
    }
    if (column.kind !== "number") return [...found].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
    const all = [...found.keys()];
    if (!all.length) return [];
    const low = all.reduce((a, b) => Math.min(a, b)), high = all.reduce((a, b) => Math.max(a, b));
    const width = Math.max(1, Math.ceil((high - low + 1) / 50));
    const bins = new Map();
    for (let from = low; from <= high; from += width) bins.set(from, 0);
    for (const [value, count] of found) {
      const from = low + Math.floor((value - low) / width) * width;
      bins.set(from, bins.get(from) + count);
    }
    return [...bins].map(([from, count]) => [[from, from + width - 1], count]);
  }
}

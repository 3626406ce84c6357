// The page. Its address contains all choices, so that every view has a link.

const PAGE = 50;

// Most values of a choice that are listed.
const CHOICES = 40;

async function unpacked(id) {
  const text = atob(byId(id).textContent.trim());
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

// The state of an address such as #symbols=6&length=12-15&verdict=incorrect&sort=-length&example=17
function stateOf(hash, examples) {
  const asked = new URLSearchParams(hash.replace(/^#/, ""));
  const state = { filters: {}, q: asked.get("q") ?? "", sort: "", page: Number.parseInt(asked.get("page") ?? "1", 10) || 1, example: asked.get("example") };
  for (const column of examples.facets) {
    const value = asked.get(column.name);
    if (value === null) continue;
    if (column.kind !== "number") { state.filters[column.name] = value; continue; }
    const bounds = /^(-?\d+)(?:-(\d+))?$/.exec(value);
    if (bounds) state.filters[column.name] = [Number(bounds[1]), Number(bounds[2] ?? bounds[1])];
  }
  const sort = asked.get("sort") ?? "";
  if (examples.columns.some((column) => column.name === sort.replace(/^-/, ""))) state.sort = sort;
  return state;
}

function hashOf(state) {
  const parts = new URLSearchParams();
  for (const [name, value] of Object.entries(state.filters)) parts.set(name, Array.isArray(value) ? (value[0] === value[1] ? String(value[0]) : value.join("-")) : value);
  if (state.q) parts.set("q", state.q);
  if (state.sort) parts.set("sort", state.sort);
  if (state.page > 1) parts.set("page", String(state.page));
  if (state.example) parts.set("example", state.example);
  return `#${parts}`;
}

class Page {
  constructor(data) {
    this.examples = new Examples(data);
    this.maps = data.maps.map((map) => heatMap(map, (picked) => this.pick(picked)));
    byId("maps").append(...this.maps);
    for (const map of document.querySelectorAll(".map")) map.scrollTop = map.scrollHeight;
    byId("examples").hidden = false;
    byId("narrowing").open = matchMedia("(min-width: 52rem)").matches; // else they come between maps and examples
    byId("search").addEventListener("input", (event) => this.go({ q: event.target.value, page: 1, example: null }, true));
    byId("filters").addEventListener("submit", (event) => event.preventDefault());
    byId("clear").addEventListener("click", () => this.go({ filters: {}, q: "", page: 1, example: null }));
    byId("csv").addEventListener("click", (event) => copy(this.csv(), event.target));
    // Back, forward, a link of the table, or an address that somebody types.
    addEventListener("popstate", () => this.show());
    this.show();
  }

  // Add columns that were loaded later.
  complete(columns) {
    Object.assign(this.examples.rows, columns);
    this.examples.texts = null;
    if (this.state.example !== null || this.state.q) this.show();
  }

  // Change the choices; `quietly` adds no entry to the browser's history.
  go(changes, quietly = false) {
    const hash = hashOf({ ...this.state, ...changes });
    if (quietly) history.replaceState(null, "", hash);
    else if ((location.hash || "#") !== hash) history.pushState(null, "", hash);
    this.show();
  }

  filter(name, value) {
    const filters = { ...this.state.filters };
    if (value === null || JSON.stringify(filters[name]) === JSON.stringify(value)) delete filters[name];
    else filters[name] = value;
    this.go({ filters, page: 1, example: null });
  }

  pick(picked) {
    const filters = { ...this.state.filters };
    const same = Object.entries(picked).every(([name, value]) => JSON.stringify(filters[name] ?? null) === JSON.stringify(value));
    for (const [name, value] of Object.entries(picked)) {
      if (value === null || same) delete filters[name];
      else filters[name] = value;
    }
    this.go({ filters, page: 1, example: null });
  }

  show() {
    const { examples } = this;
    this.state = stateOf(location.hash, examples);
    this.places = examples.found(this.state);
    for (const map of this.maps) map.chosen(this.state.filters);
    if (byId("search").value !== this.state.q) byId("search").value = this.state.q;
    keepingFocus(() => {
      this.showFacets();
      this.showTable();
      this.showExample();
    });
  }

  // The filters and the words of the search, to be read.
  asked() {
    const { examples, state } = this;
    const filters = examples.facets.filter((column) => state.filters[column.name] !== undefined).map((column) => `${column.label} ${[...new Set([state.filters[column.name]].flat())].join("–")}`);
    return state.q ? [...filters, `“${state.q}”`] : filters;
  }

  showFacets() {
    const { examples, state } = this;
    byId("narrowed").textContent = ["Filters", this.asked().join(", ")].filter(Boolean).join(": ");
    byId("facets").replaceChildren(...examples.facets.map((column) => {
      const asked = state.filters[column.name];
      const counts = examples.counts(column, examples.found(state, column.name));
      if (counts.length < 2 && asked === undefined) return "";
      const numbers = column.kind === "number";
      const most = Math.max(1, ...counts.map((each) => each[1]));
      const isPressed = (value) => JSON.stringify(asked) === JSON.stringify(value) || (numbers && asked !== undefined && asked[0] <= value[0] && value[1] <= asked[1]);
      const listed = numbers ? counts : counts.slice(0, CHOICES);
      // A chosen value is listed even if no example has it, so that it can be removed.
      if (asked !== undefined && !listed.some(([value]) => isPressed(value))) listed.push(counts.find(([value]) => isPressed(value)) ?? [asked, 0]);
      const items = listed.map(([value, count]) => {
        const pressed = isPressed(value);
        const shown = numbers ? (value[0] === value[1] ? String(value[0]) : value.join("–")) : value;
        const button = element("button", { type: "button", "aria-pressed": String(pressed), "aria-label": `${column.label} ${shown}: ${many(count, "example")}`,
          "data-key": `${column.name}=${shown}`, onclick: () => this.filter(column.name, pressed ? null : value) });
        if (numbers) {
          const bar = element("span", { class: "bar" });
          bar.style.height = `${Math.round((48 * count) / most)}px`;
          button.append(bar, value[0] === value[1] ? shown : String(value[0]));
          tipped(button, `${column.label} ${shown}\n${many(count, "example")}`);
        } else button.append(shown, ` ${count.toLocaleString("en")}`);
        return element("li", {}, button);
      });
      return element("div", { class: `facet ${numbers ? "numbers" : "choices"}` }, element("h3", {}, column.label), element("ul", {}, items,
        counts.length > listed.length ? element("li", {}, `and ${(counts.length - listed.length).toLocaleString("en")} more`) : null));
    }));
  }

  showTable() {
    const { examples, state, places } = this;
    const pages = Math.max(1, Math.ceil(places.length / PAGE));
    const page = Math.min(Math.max(state.page, 1), pages);
    byId("found").textContent = `${many(places.length, examples.noun ?? "example")} of ${examples.count.toLocaleString("en")}` + (examples.total > examples.count ? ` on this page, from ${examples.total.toLocaleString("en")}: ${examples.sampled}` : "");
    const heads = examples.shown.map((column) => {
      const sorted = state.sort.replace(/^-/, "") === column.name ? (state.sort.startsWith("-") ? "descending" : "ascending") : null;
      return element("th", { scope: "col", class: column.kind, "aria-sort": sorted },
        element("button", { type: "button", "data-key": `sort ${column.name}`, onclick: () => this.go({ sort: sorted === "ascending" ? `-${column.name}` : sorted ? "" : column.name, page: 1 }) },
          column.label + ({ ascending: " ▲", descending: " ▼" }[sorted] ?? "")));
    });
    const rows = places.slice((page - 1) * PAGE, page * PAGE).map((i) => {
      const key = String(examples.rows.key[i]);
      const cells = examples.shown.map((column, number) => {
        const value = examples.rows[column.name][i];
        const content = column.name.startsWith("verdict") ? verdict(value) : column.kind === "text" ? formula(value) : String(value);
        const marked = { class: column.kind, "data-label": column.label };
        if (number) return element("td", { ...marked, title: column.kind === "text" ? value : null }, content);
        return element("td", marked, element("a", { href: hashOf({ ...state, example: key }), "data-key": `example ${key}` }, content));
      });
      return element("tr", { class: key === state.example ? "open" : null, onclick: (event) => { if (!event.target.closest("a")) this.go({ example: key }); } }, cells);
    });
    byId("table").replaceChildren(element("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Table of examples" },
      element("table", {}, element("thead", {}, element("tr", {}, heads)), element("tbody", {}, rows))));
    const turn = (to, label) => element("button", { type: "button", "data-key": label, disabled: to < 1 || to > pages, onclick: () => this.go({ page: to }) }, label);
    byId("pages").replaceChildren(...(pages > 1 ? [turn(page - 1, "Previous page"), `page ${page} of ${pages}`, turn(page + 1, "Next page")] : []));
  }

  showExample() {
    const { examples, state } = this;
    const holder = byId("example");
    const i = state.example === null ? undefined : examples.places.get(state.example);
    if (i === undefined) {
      holder.replaceChildren(...(state.example === null ? [] : [element("p", {}, `No example ${state.example} is shown on this page.`)]));
      this.open = null;
      return;
    }
    const at = this.places.indexOf(i);
    const other = (step, label) => element("button", { type: "button", "data-key": label, disabled: this.places[at + step] === undefined || at < 0,
      onclick: () => this.go({ example: String(examples.rows.key[this.places[at + step]]), page: 1 + Math.floor((at + step) / PAGE) }) }, label);
    const facts = examples.columns.filter((column) => column.kind === "number" || column.kind === "choice").map((column) => `${column.label} ${examples.rows[column.name][i]}`);
    const tools = element("div", { class: "tools" }, element("h3", {}, `Example ${state.example}`), other(-1, "Previous"), other(1, "Next"),
      element("button", { type: "button", onclick: (event) => copy(location.href, event.target) }, "Copy link"),
      element("button", { type: "button", onclick: () => {
        const link = [...document.querySelectorAll("#table a")].find((each) => each.dataset.key === `example ${state.example}`);
        (link ?? byId("search")).focus();
        this.go({ example: null });
      } }, "Close"));
    const [written, prefix] = [examples.rows[examples.problem][i], examples.rows.prefix[i]];
    const list = [element("dt", {}, examples.called ?? "problem"), element("dd", {}, formula(written)),
      ...(prefix === written ? [] : [element("dt", {}, "in prefix notation"), element("dd", {}, formula(prefix))])];
    const drawings = [];
    const { arities } = examples.task(i);
    const tokens = (text) => text.split(" ").filter(Boolean);
    for (const answer of examples.answers) {
      const text = examples.rows[answer.text][i];
      if (text === null) continue;
      const explained = examples.explained(answer, i);
      list.push(element("dt", {}, answer.label), element("dd", {}, formula(text || "(nothing)"), " ", answer.verdict ? verdict(examples.rows[answer.verdict][i]) : null,
        explained?.reason ? element("div", { class: "reason" }, explained.reason) : null, explained?.picture ? element("pre", {}, explained.picture) : null));
      if (!answer.drawn || !explained) continue;
      const right = examples.answers.length > 2 ? element("h3", {}, answer.label) : null;
      if (arities) {
        const fails = answer.verdict && examples.rows[answer.verdict][i] === "incorrect";
        const holds = explained.truth[0]?.[0] === "1";
        drawings.push(element("section", {}, right, ...drawnFormula(tokens(examples.rows.prefix[i]), arities, { ...explained, wrong: fails && !holds, witness: fails && holds })));
      } else {
        const deciding = (examples.rows.deciding?.[i] ?? []);
        const given = answer.tokens ? tokens(examples.rows[answer.tokens][i]) : null;
        drawings.push(element("section", {}, right, ...drawnTokens(tokens(examples.rows.prefix[i]), tokens(examples.rows.right[i]), given, deciding)));
      }
    }
    const outside = at >= 0 ? [] : [element("p", { class: "outside" }, `The filters exclude this example, as they ask for ${this.asked().join(", ")}. `,
      element("button", { type: "button", "data-key": "all", onclick: () => this.go({ filters: {}, q: "", page: 1 }) }, "Show all examples"))];
    holder.replaceChildren(tools, ...outside, element("p", { class: "says" }, facts.join(" · ")), element("dl", { class: "answers" }, list), element("div", { class: "drawings" }, drawings));
    if (this.open !== state.example) holder.focus({ preventScroll: true }), holder.scrollIntoView({ block: "nearest" });
    this.open = state.example;
  }

  csv() {
    const { examples } = this;
    const names = [...new Set([...examples.columns.map((column) => column.name), "prefix", ...examples.answers.map((answer) => answer.text)])];
    const labels = new Map([...examples.columns.map((column) => [column.name, column.label]), ...examples.answers.map((answer) => [answer.text, answer.label])]);
    return csv([["key", ...names.map((name) => labels.get(name) ?? name)], ...this.places.map((i) => [examples.rows.key[i], ...names.map((name) => examples.rows[name][i])])]);
  }
}

const theme = (name) => { document.documentElement.dataset.theme = name; };
theme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
byId("theme").addEventListener("click", () => theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));

// Skip the maps. The address stays.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  const to = ["examples", "readings", "maps"].map(byId).find((each) => !each.hidden && each.childElementCount);
  to.tabIndex = -1;
  to.focus();
  to.scrollIntoView();
});

// In milliseconds since the file was opened.
const mark = (name) => { document.documentElement.dataset[name] = String(Math.round(performance.now())); };
const fail = (error) => {
  byId("maps").append(element("p", {}, `The examples cannot be shown: ${error.message}. A browser of 2023 or later is needed.`));
};

unpacked("data").then(async (data) => {
  const page = data.rows ? new Page(data) : null;
  if (data.lines) new SurprisePage(data);
  if (data.cipher) new CipherPage(data);
  if (data.grammars) new GrammarPage(data);
  mark("ready");
  // Explanations of examples are unpacked after the rest is visible.
  page?.complete(await unpacked("later"));
  mark("complete");
}).catch(fail);

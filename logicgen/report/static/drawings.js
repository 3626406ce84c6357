// Drawings of problems and answers, with truth values from the solver.

const STEP_X = 40, STEP_Y = 46;
const SAYS = { 1: "true", 0: "false", "?": "depends on symbols that the answer leaves open" };

// A formula as a tree; truth(number) is "1", "0", "?" or undefined.
function tree(root, truth) {
  const nodes = postorder(root);
  let leaves = 2, depth = 0;
  const width = (node) => Math.max(26, 12 + 8.2 * node.token.length);
  for (const node of nodes) {
    if (node.operands.length) {
      const xs = node.operands.map((each) => each.x);
      node.x = (xs[0] + xs[xs.length - 1]) / 2;
    } else {
      node.x = leaves + width(node) / 2;
      leaves += Math.max(STEP_X, width(node) + 10);
    }
  }
  root.y = 0;
  const lines = [], shapes = [];
  for (const node of nodes.slice().reverse()) {
    depth = Math.max(depth, node.y);
    const y = node.y * STEP_Y + 16;
    for (const each of node.operands) {
      each.y = node.y + 1;
      lines.push(element("line", { x1: node.x, y1: y + 12, x2: each.x, y2: each.y * STEP_Y + 4 }));
    }
    const value = truth(node.number);
    const kind = { 1: "t", 0: "f" }[value] ?? "";
    shapes.push(element("g", { class: kind },
      element("title", {}, value === undefined ? node.text : `${node.text}: ${SAYS[value]}`),
      element("rect", { x: node.x - width(node) / 2, y: y - 12, width: width(node), height: 24, rx: 11 }),
      element("text", { x: node.x, y: y + 4.5, "text-anchor": "middle" }, node.token)));
  }
  const size = { width: leaves + 8, height: (depth + 1) * STEP_Y };
  return element("svg", { ...size, role: "img", "aria-label": `tree of ${root.text}` }, lines, shapes);
}

// The truth of symbols and subformulas at each position of a word; chosen(position) redraws the tree.
function timeline(root, truth, letters, loop, chosen) {
  const positions = letters.map((_, position) => position);
  const edge = (p) => (p === loop ? "first " : "") + (p === positions.length - 1 ? "last " : "");
  const cell = (value, p) => element("td", { class: edge(p) + (value === "1" ? "t" : "f") }, value === "1" ? "1" : "0");
  const head = positions.map((p) => element("th", { scope: "col", class: edge(p) },
    element("button", { type: "button", "aria-pressed": String(p === 0), "aria-label": `show position ${p} in the tree`,
      onclick: (event) => {
        for (const each of event.target.closest("tr").querySelectorAll("button")) each.setAttribute("aria-pressed", String(each === event.target));
        chosen(p);
      } }, String(p))));
  const seen = new Set();
  const rows = [];
  const inside = new Set();
  const parts = postorder(root).filter((node) => !seen.has(node.text) && seen.add(node.text));
  parts.sort((a, b) => (b === root) - (a === root) || (b.operands.length === 0) - (a.operands.length === 0) || a.text.length - b.text.length);
  for (const node of parts) {
    if (node.token === "1" || node.token === "0") continue;
    inside.add(node.token);
    rows.push(element("tr", { class: node === root ? "whole" : null },
      element("th", { scope: "row" }, formula(node.text)), positions.map((p) => cell(truth[node.number]?.[p], p))));
  }
  for (const name of new Set(letters.flat())) {
    if (!inside.has(name)) rows.push(element("tr", {}, element("th", { scope: "row" }, formula(`${name} (not in the formula)`)),
      positions.map((p) => cell(letters[p].includes(name) ? "1" : "0", p))));
  }
  return element("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Truth at each position" },
    element("table", { class: "timeline" }, element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "position"), head)),
      element("tbody", {}, rows)));
}

// A formula with its truth values under an answer.
function drawnFormula(tokens, arities, explained) {
  const root = parse(tokens, arities);
  if (!root) return [];
  write(root);
  const holder = element("div", { class: "drawing", tabindex: "0", role: "region", "aria-label": "Tree" });
  const middle = () => { holder.scrollLeft = root.x - holder.clientWidth / 2; };
  const draw = (position) => holder.replaceChildren(tree(root, (number) => explained?.truth[number]?.[position]));
  draw(0);
  requestAnimationFrame(middle);
  if (!explained || !explained.truth.length) return [element("div", { class: "drawn" }, holder)];
  const says = element("p", { class: "says" });
  const parts = [holder];
  if (explained.letters.length > 1 || explained.temporal) {
    const word = explained.letters.length - explained.loop;
    says.textContent = (explained.wrong ? "A word that the answer allows and that falsifies the formula. " : explained.witness ? "A word that satisfies the formula. " : "A word that the answer allows, which satisfies the formula. ")
      + `Between the double lines: ${many(word, "position")} that repeat${word === 1 ? "s" : ""} for ever. The tree shows the position that is pressed.`;
    parts.push(timeline(root, explained.truth, explained.letters, explained.loop, draw));
  } else if (explained.letters.length) {
    const names = explained.letters[0].join(", ");
    says.textContent = explained.wrong ? `A completion of the answer that falsifies the formula. True symbols: ${names || "none"}.` : `True symbols: ${names || "none"}.`;
  } else {
    says.textContent = "Values under the answer. Full: true; dashed: false; gray: depends on symbols that the answer leaves open.";
  }
  return [says, element("div", { class: "drawn" }, parts)];
}

// Which tokens of two texts belong together: a longest common subsequence.
function aligned(given, right) {
  const best = Array.from({ length: given.length + 1 }, () => new Uint16Array(right.length + 1));
  for (let i = given.length - 1; i >= 0; i--) {
    for (let j = right.length - 1; j >= 0; j--) {
      best[i][j] = given[i] === right[j] ? best[i + 1][j + 1] + 1 : Math.max(best[i + 1][j], best[i][j + 1]);
    }
  }
  const pairs = [];
  for (let i = 0, j = 0; i < given.length || j < right.length;) {
    if (i < given.length && j < right.length && given[i] === right[j]) pairs.push([given[i++], right[j++]]);
    else if (i < given.length && j < right.length && best[i + 1][j + 1] === best[i][j]) pairs.push([given[i++], right[j++]]);
    else if (j >= right.length || (i < given.length && best[i + 1][j] === best[i][j])) pairs.push([given[i++], null]);
    else pairs.push([null, right[j++]]);
  }
  return pairs;
}

// A problem of tokens; the tokens that decide a token of the right answer are marked when it is pressed.
function drawnTokens(problem, right, given, deciding) {
  const shown = problem.map((token) => element("span", { class: "token" }, token));
  const mark = (place) => {
    shown.forEach((each) => each.classList.remove("deciding"));
    for (const number of deciding[place] ?? []) shown[number]?.classList.add("deciding");
  };
  const buttons = right.map((token, place) => element("button", { type: "button", class: "token", onclick: () => press(place),
    "aria-label": `${token}: token ${place + 1} of the right answer` }, token));
  const press = (place) => {
    buttons.forEach((each, other) => each.setAttribute("aria-pressed", String(other === place)));
    mark(place);
  };
  if (!right.length) return [element("p", { class: "says" }, "The problem has no right answer.")];
  const rows = [element("dt", {}, "problem"), element("dd", { class: "tokens" }, shown), element("dt", {}, "right answer"), element("dd", { class: "tokens" }, buttons)];
  let first = 0;
  if (given) {
    const pairs = given.length * right.length > 4e6 ? (given.length > right.length ? given : right).map((_, i) => [given[i] ?? null, right[i] ?? null]) : aligned(given, right);
    const difference = pairs.map(([token, other]) => element("span", { class: `token ${token !== null && token === other ? "same" : "other"}` }, token ?? "(missing)"));
    rows.push(element("dt", {}, "prediction"), element("dd", { class: "tokens" }, difference));
    first = Math.max(0, right.findIndex((token, i) => given[i] !== token));
  }
  if (buttons.length) press(first);
  return [element("p", { class: "says" }, "Press a token of the right answer to mark the tokens of the problem that decide it."), element("dl", { class: "answers" }, rows)];
}

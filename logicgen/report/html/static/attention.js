// Where a language model looks while it writes an answer.

// looks: {tokens, places, heads: {name: [[place, percent, ...] by token of the answer]}};
// heads: names in the order in which they are offered.
function drawnAttention(looks, heads) {
  const from = looks.places.length;
  const head = element("select", { "data-key": "head", onchange: () => draw() }, heads.map((name) => element("option", { value: name }, name)));
  const shown = looks.tokens.map((token, place) => (place < from ? element("span", { class: "token" }, visible(token)) : null));
  const answer = looks.tokens.slice(from);
  const said = element("p", { class: "says", role: "status" });
  let pressed = 0;
  const buttons = answer.map((token, number) => element("button", { type: "button", class: "token", "aria-label": `${visible(token)}: token ${number + 1} of the prediction`,
    onclick: () => { pressed = number; draw(); } }, visible(token)));
  const draw = () => {
    const weights = new Map();
    const pairs = looks.heads[head.value][pressed];
    for (let i = 0; i < pairs.length; i += 2) weights.set(pairs[i], pairs[i + 1]);
    [...shown.slice(0, from), ...buttons].forEach((each, place) => {
      const percent = weights.get(place) ?? 0;
      each.style.backgroundColor = percent ? `rgba(86, 120, 230, ${(0.08 + (0.42 * percent) / 100).toFixed(3)})` : "";
      each.title = `token ${place + 1}: ${percent ? `${percent}%` : "less than 1%"}`;
    });
    buttons.forEach((each, number) => each.setAttribute("aria-pressed", String(number === pressed)));
    const most = [...weights].sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, 5).map(([place, percent]) => `${visible(looks.tokens[place])} (token ${place + 1}) ${percent}%`);
    said.textContent = `Most when token ${pressed + 1} of the prediction is to be written: ${most.join(", ") || "nowhere 1% or more"}.`;
  };
  draw();
  return [element("h3", {}, "Where the model attends"),
    element("p", { class: "says" }, "The bluer a token, the more the chosen head attends to it when the pressed token of the prediction is to be written."),
    element("label", { class: "tools" }, "head ", head),
    element("dl", { class: "answers" }, element("dt", {}, "as it is read"), element("dd", { class: "tokens" }, shown),
      element("dt", {}, "prediction"), element("dd", { class: "tokens" }, buttons)), said];
}

// A token of text that could not be seen.
const visible = (token) => ({ "\n": "⏎", " ": "␣", "": "∅" })[token] ?? token;

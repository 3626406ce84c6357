// Formulas in prefix notation as trees. Truth values come from the data of the page.

// The tree of tokens; `number` is the place of a node's token, by which its truth is stored.
function parse(tokens, arities) {
  let place = 0;
  const root = { operands: [] };
  const open = [{ node: root, missing: 1 }];
  while (open.length && place < tokens.length) {
    const last = open[open.length - 1];
    if (!last.missing) { open.pop(); continue; }
    last.missing -= 1;
    const token = tokens[place];
    const node = { token, number: place, operands: [] };
    place += 1;
    last.node.operands.push(node);
    open.push({ node, missing: Object.hasOwn(arities, token) ? arities[token] : 0 });
  }
  return root.operands[0] ?? null;
}

// Nodes with operands before operators.
function postorder(root) {
  const found = [];
  const todo = root ? [root] : [];
  while (todo.length) {
    const node = todo.pop();
    found.push(node);
    todo.push(...node.operands);
  }
  return found.reverse();
}

// Give each node the infix text of its subformula, with all parentheses.
function write(root) {
  for (const node of postorder(root)) {
    const inner = node.operands.map((each) => (each.operands.length > 1 ? `(${each.text})` : each.text));
    if (inner.length === 2) node.text = `${inner[0]} ${node.token} ${inner[1]}`;
    else if (inner.length === 1) node.text = node.token + (/^[A-Z]$/.test(node.token) && /^[\w]/.test(inner[0]) ? " " : "") + inner[0];
    else node.text = node.token;
  }
}

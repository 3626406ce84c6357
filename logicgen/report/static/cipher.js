// A cipher and its key as a probe of the model finds it.
//
// data.cipher   [{written, meant, guess, vote, truth, keyed}]

class CipherPage {
  constructor(data) {
    this.places = data.cipher;
    byId("readings").hidden = false;
    this.slider = element("input", { type: "range", min: "1", max: String(this.places.length), id: "place", oninput: () => this.show(Number(this.slider.value), true) });
    this.said = element("p", { role: "status" });
    this.key = element("div", { class: "tokens" });
    this.texts = element("div", {});
    byId("readings").replaceChildren(element("h2", {}, "One cipher, and its key as it is found"),
      element("p", { class: "says" }, "Green: the guess of the probe is right. Red and underlined: it is wrong. The key below contains each symbol that was read, with the majority of its guesses."),
      element("div", { class: "tools" }, element("label", { for: "place" }, "Tokens read "), this.slider,
        element("button", { type: "button", onclick: (event) => copy(location.href, event.target) }, "Copy link")),
      this.said, this.key, this.texts);
    addEventListener("popstate", () => this.show(this.asked()));
    this.show(this.asked());
  }

  // The address contains the number of tokens read: #read=200
  asked() {
    const asked = Number.parseInt(new URLSearchParams(location.hash.replace(/^#/, "")).get("read") ?? "", 10);
    return Math.min(Math.max(asked || this.places.length, 1), this.places.length);
  }

  show(read, moved = false) {
    if (moved) history.replaceState(null, "", `#read=${read}`);
    this.slider.value = String(read);
    const key = new Map();
    for (const place of this.places.slice(0, read)) if (place.keyed) key.set(place.written, place);
    const right = [...key.values()].filter((place) => place.vote === place.meant).length;
    this.said.textContent = `${many(read, "token")} read; the key is right for ${right} of ${many(key.size, "symbol")}.`;
    this.key.replaceChildren(...[...key.values()].map((place) => element("span", { class: `token ${place.vote === place.meant ? "same" : "other"}` }, `${place.written} → ${place.vote}` + (place.vote === place.meant ? "" : ` (${place.meant})`))));
    const line = (label, text, classed) => [element("h3", {}, label), element("div", { class: "reading", tabindex: "0", role: "region", "aria-label": label }, this.places.slice(0, read).map((place, number) => {
      const made = element("span", { class: classed ? (place.guess === place.meant ? "same" : "other") : null }, text(place));
      return classed ? tipped(made, `token ${number}: ${place.written} is written, ${place.meant} is meant\nguess: ${place.guess}; probability of the truth: ${place.truth}`) : made;
    }))];
    this.texts.replaceChildren(...line("The cipher", (place) => place.written), ...line("Guesses of the probe", (place) => place.guess, true), ...line("The plain text", (place) => place.meant));
  }
}

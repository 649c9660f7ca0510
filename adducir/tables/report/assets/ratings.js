"use strict";
/* Ratings by people: one item at a time, by keyboard; choices are kept in this browser, by judge. */
(() => {
  const $ = name => document.getElementById(name);
  const bytes = Uint8Array.from(atob($("data").textContent), one => one.charCodeAt(0));
  new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json().then(begin);

  function begin(D) {
    const store = `adducir ${D.digest}`;
    let judge = read(`${store} judge`) || "",
      choices = {},
      place = 0,
      said = "";

    function read(key) {
      try {
        return localStorage.getItem(key);
      } catch {
        return null;
      }
    }
    function write(key, value) {
      try {
        localStorage.setItem(key, value);
        return true;
      } catch {
        warn("This browser does not keep choices: save them as JSON before you close the page.");
        return false;
      }
    }
    function warn(text) {
      $("address").textContent = text;
    }
    function keep() {
      write(`${store} ${judge}`, JSON.stringify({ place, choices }));
    }
    function open(name) {
      judge = name;
      write(`${store} judge`, name);
      let kept = null;
      try {
        kept = JSON.parse(read(`${store} ${name}`));
      } catch {
        warn("What was kept under this name is not readable.");
      }
      choices = accepted((kept && kept.choices) || {});
      place = Math.min(Math.max((kept && kept.place) | 0, 0), D.items.length - 1);
      show();
    }
    function accepted(given) {
      const isChoice = (at, value) => D.items[at] && options(D.items[at]).some(one => one.value === value);
      return Object.fromEntries(Object.entries(given).filter(([at, value]) => isChoice(at, value)));
    }
    function options(item) {
      return item.options ? item.options.map((label, at) => ({ value: at + 1, label: "", text: label })) : D.choices;
    }
    const done = () => Object.keys(choices).length;

    function make(tag, text, attributes = {}) {
      const node = document.createElement(tag);
      node.textContent = text;
      Object.entries(attributes).forEach(([key, value]) => node.setAttribute(key, value));
      return node;
    }
    function keyOf(one, at) {
      const areDigits = D.choices.every(choice => /^\d$/.test(String(choice.value)));
      return areDigits ? String(one.value) : String(at + 1);
    }
    function show() {
      const item = D.items[place];
      $("item").hidden = $("choices").hidden = false;
      $("heading").textContent = item.heading;
      $("about").replaceChildren(
        ...item.about.flatMap(([name, text]) => [make("h3", name), make("p", text, { dir: "auto" })]),
      );
      $("text").hidden = !item.text && !item.options;
      $("text").replaceChildren(
        ...(item.options
          ? item.options.flatMap((text, at) => [make("h3", `${at + 1}`), make("p", text, { dir: "auto" })])
          : [make("p", item.text)]),
      );
      $("buttons").replaceChildren(
        ...options(item).map((one, at) => {
          const button = make("button", "", {
            type: "button",
            "aria-pressed": String(choices[place] === one.value),
          });
          button.append(make("kbd", keyOf(one, at)), ` ${one.label}`);
          button.addEventListener("click", () => choose(one.value));
          return button;
        }),
      );
      progress();
    }
    function progress() {
      $("progress").max = D.items.length;
      $("progress").value = done();
      $("count").textContent = `${done()} of ${D.items.length}`;
      const left = D.items.length - done();
      const state = place in choices ? "chosen" : "no choice yet";
      warn(left ? `${said}Text ${place + 1} of ${D.items.length}: ${state}.` : `${said}All ${D.items.length} have a choice: save them.`);
      said = "";
    }
    function choose(value) {
      choices[place] = value;
      said = "Kept. ";
      if (place + 1 < D.items.length) place += 1;
      else if (nextOpen() >= 0) place = nextOpen();
      go(place);
    }
    function go(to) {
      if (to < 0 || to >= D.items.length) return;
      place = to;
      keep();
      show();
      scrollTo(0, 0);
    }
    function nextOpen() {
      const order = D.items.map((_, at) => (place + 1 + at) % D.items.length);
      return order.find(at => !(at in choices)) ?? -1;
    }
    function takeBack() {
      delete choices[place];
      keep();
      show();
    }

    /* ---- keys ---- */
    addEventListener("keydown", event => {
      const field = event.target.closest && event.target.closest("input, select, textarea");
      if (event.ctrlKey || event.metaKey || event.altKey || (field && field.type !== "checkbox")) return;
      if (!$("shortcuts").checked || event.repeat) return;
      const at = options(D.items[place]).findIndex((one, number) => keyOf(one, number) === event.key);
      if (at >= 0) choose(options(D.items[place])[at].value);
      else if (event.key === "ArrowRight") go(place + 1);
      else if (event.key === "ArrowLeft") go(place - 1);
      else if (event.key === "u" || event.key === "U") nextOpen() >= 0 && go(nextOpen());
      else if (event.key === "Delete") takeBack();
      else return;
      event.preventDefault();
    });
    $("back").addEventListener("click", () => go(place - 1));
    $("forth").addEventListener("click", () => go(place + 1));
    $("open").addEventListener("click", () => nextOpen() >= 0 && go(nextOpen()));
    $("judge").addEventListener("keydown", event => event.key === "Enter" && $("judge").blur());
    $("judge").addEventListener("change", () => {
      const name = $("judge").value.trim();
      const isNew = !judge && done() && !read(`${store} ${name}`); // who began without a name
      if (isNew) write(`${store} ${name}`, JSON.stringify({ place, choices }));
      if (isNew) write(`${store} `, "{}");
      open(name);
    });
    addEventListener("storage", event => event.key === `${store} ${judge}` && open(judge));

    /* ---- saving ---- */
    function rows() {
      return D.items.map((item, at) => [item, choices[at]]).filter(([, value]) => value !== undefined);
    }
    const FORMS = {
      qrels: () => rows().map(([item, value]) => `${item.ids.qid} 0 ${item.ids.docno} ${value}\n`).join(""),
      csv: () => {
        const names = Object.keys(D.items[0].ids);
        const cell = text => (/^'*[=+\-@\t\r\n]/.test(text) && !/^[+-]?\d*\.?\d+$/.test(text) ? `'${text}` : String(text));
        const line = cells => `${cells.map(one => `"${cell(one).replaceAll('"', '""')}"`).join(",")}\n`;
        const body = rows().map(([item, value]) => line([...names.map(name => item.ids[name]), judge, value]));
        return line([...names, "rater", D.column]) + body.join("");
      },
      json: () => {
        const ratings = rows().map(([item, value]) => ({ ...item.ids, [D.column]: value, characters: item.text.length }));
        const facts = { format: D.format, page: D.digest, title: D.title, judge, items: D.items.length };
        return `${JSON.stringify({ ...facts, saved: new Date().toISOString(), ratings }, null, 1)}\n`;
      },
    };
    document.querySelectorAll("[data-save]").forEach(button =>
      button.addEventListener("click", () => {
        if (!judge) {
          warn("Enter your name first: it becomes part of the file's name.");
          $("judge").focus();
          return;
        }
        const form = button.dataset.save;
        const href = URL.createObjectURL(new Blob([FORMS[form]()], { type: "text/plain" }));
        const name = judge.replace(/[^\p{L}\p{N}_-]+/gu, "-");
        make("a", "", { href, download: `${D.stem}.${name}.${form}` }).click();
        warn(`Saved ${done()} of ${D.items.length}.`);
      }),
    );
    $("load").addEventListener("change", async () => {
      try {
        const saved = JSON.parse(await $("load").files[0].text());
        if (saved.page !== D.digest) throw new Error("other page");
        const name = ids => JSON.stringify(Object.keys(D.items[0].ids).map(key => ids[key]));
        const places = new Map(D.items.map((item, at) => [name(item.ids), at]));
        choices = accepted(Object.fromEntries(saved.ratings.map(one => [places.get(name(one)), one[D.column]])));
        judge = $("judge").value = saved.judge;
        write(`${store} judge`, judge);
        place = 0;
        go(Math.max(nextOpen(), 0));
      } catch {
        warn("This file does not hold choices of this page.");
      }
      $("load").value = "";
    });

    $("question").textContent = D.question;
    $("judge").value = judge;
    open(judge);
    document.documentElement.setAttribute("data-ready", "");
  }
})();

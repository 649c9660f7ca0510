"use strict";
(() => {
  const $ = (query, root = document) => root.querySelector(query);
  const $$ = (query, root = document) => [...root.querySelectorAll(query)];
  const on = (node, event, then) => node && node.addEventListener(event, then);
  const make = (tag, properties = {}, ...children) => {
    const node = Object.assign(document.createElement(tag), properties);
    node.append(...children);
    return node;
  };
  const minus = text => text.replace("-", "−");
  const sum = list => list.reduce((a, b) => a + b, 0),
    mean = list => sum(list) / list.length;
  const least = list => list.reduce((a, b) => Math.min(a, b)),
    most = list => list.reduce((a, b) => Math.max(a, b));
  const clamp = (value, low, high) => Math.max(low, Math.min(high, value));

  // Rounded half to even of the exact double, as Python does.
  function fixed(value, decimals) {
    let text = value.toFixed(decimals);
    const exact = value.toFixed(Math.min(100, decimals + 60)),
      cut = exact.length - 60;
    const kept = exact.slice(0, cut).replace(/\.$/, "");
    if (/^50*$/.test(exact.slice(cut)) && "02468".includes(kept.slice(-1))) text = kept;
    return /[1-9]/.test(text) ? text : text.replace("-", "");
  }

  /* ---- the table: needs no data but its own cells ---- */

  const table = $("table.results"),
    rows = table ? $$("tbody tr:not(.section)", table) : [];
  const heads = table ? $$("th[data-column]", table) : [];
  const cellOf = (row, place) => row.cells[place + 2];

  function sort(head, descending) {
    heads.forEach(one => one.setAttribute("aria-sort", "none"));
    head.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const value = row => +(cellOf(row, heads.indexOf(head)).dataset.value || -Infinity);
    const order = [...rows].sort((a, b) => (descending ? 1 : -1) * (value(b) - value(a)));
    order.forEach(row => row.parentNode.append(row));
    number(order, descending === (head.dataset.higher === "yes"));
  }
  function number(order, bestFirst) {
    const counts = new Map();
    (bestFirst ? order : [...order].reverse()).forEach(row => {
      counts.set(row.parentNode, (counts.get(row.parentNode) || 0) + 1);
      row.cells[0].textContent = counts.get(row.parentNode);
    });
  }
  function round(decimals) {
    rows.forEach(row =>
      heads.forEach((head, place) => {
        const cell = cellOf(row, place);
        if (cell.dataset.value === undefined || head.dataset.sum) return;
        let text = fixed(+cell.dataset.value, decimals);
        if (table.dataset.zero) text = text.replace(/^(-?)0\./, "$1.");
        ($("b", cell) || cell).firstChild.data = minus(text);
      }),
    );
  }
  function hide(place, shown) {
    heads[place].hidden = !shown;
    rows.forEach(row => {
      cellOf(row, place).hidden = !shown;
    });
    let at = 0;
    $$("thead tr:first-child > [data-span]", table).forEach(group => {
      const left = heads.slice(at, (at += +group.dataset.span)).filter(one => !one.hidden).length;
      group.hidden = !left;
      group.colSpan = left || 1;
    });
  }
  function prepareTable() {
    heads.forEach((head, place) => {
      on($("button", head), "click", () => {
        const now = head.getAttribute("aria-sort"),
          natural = head.dataset.higher === "yes";
        sort(head, now === "none" ? natural : now === "ascending");
      });
      const box = make("input", { type: "checkbox", checked: true });
      on(box, "change", () => hide(place, box.checked));
      $("#columns").append(make("label", {}, box, ` ${head.dataset.title}`));
    });
    for (let n = 0; n <= 6; n++) $("#decimals").append(new Option(n, n));
    $("#decimals").value = table.dataset.decimals;
    on($("#decimals"), "change", event => round(+event.target.value));
    on($("#find"), "input", event => {
      const wanted = event.target.value.toLowerCase();
      rows.forEach(row => {
        row.hidden = !row.cells[1].textContent.toLowerCase().includes(wanted);
      });
      $$("tbody", table).forEach(body => {
        body.hidden = !$$("tr:not(.section)", body).some(row => !row.hidden);
      });
    });
  }
  $$(".tools").forEach(tools => {
    tools.hidden = false;
  });
  if (table) prepareTable();

  // What is folded is printed as well.
  let folded = [];
  on(window, "beforeprint", () => {
    folded = $$("main details:not([open]):not(.menu)");
    folded.forEach(one => {
      one.open = true;
    });
  });
  on(window, "afterprint", () =>
    folded.forEach(one => {
      one.open = false;
    }),
  );

  /* ---- the data ---- */

  const block = $("#data");
  if (!block || !window.DecompressionStream) return;
  const bytes = Uint8Array.from(atob(block.textContent), one => one.charCodeAt(0));
  new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json().then(begin);

  function begin(D) {
    const measured = Object.keys(D.values).map(Number),
      rated = D.rated,
      system = D.names;
    const S = {
      place: measured.length ? measured[0] : rated[0],
      a: D.first[0] || 0,
      b: D.first[1] ?? D.first[0] ?? 0,
      topic: -1,
      from: 0,
      to: 1e9,
    };
    const column = place => D.columns[place],
      qids = () => D.topics[column(S.place).group] || [];
    const query = t => (D.queries[column(S.place).group] || [])[t] || "",
      topicName = t => `${qids()[t]}  ${query(t)}`.trim();
    const values = (place, row) => (D.values[place] || [])[row];
    const digits = (v, signed) => (signed && v > 0 ? "+" : "") + minus(fixed(v, D.decimals)),
      four = v => minus(String(+v.toPrecision(4)));
    const tip = make("div", { className: "tip", hidden: true, ariaHidden: "true" });
    document.body.append(tip);

    /* drawing */
    const pen = make("canvas").getContext("2d"),
      SVG = "http://www.w3.org/2000/svg";
    const FONT = getComputedStyle(document.body).fontFamily;
    function widthOf(text, size = 12) {
      pen.font = `${size}px ${FONT}`;
      return pen.measureText(text).width;
    }
    function fitted(text, room, size = 12) {
      if (widthOf(text, size) <= room) return text;
      let end = text.length;
      while (end > 1 && widthOf(text.slice(0, end) + "…", size) > room) end--;
      return text.slice(0, end) + "…";
    }
    function node(name, attributes, text) {
      const made = document.createElementNS(SVG, name);
      for (const key in attributes) made.setAttribute(key, attributes[key]);
      if (text !== undefined) made.textContent = text;
      return made;
    }
    class Drawing {
      constructor(id, width, height, caption) {
        this.svg = node("svg", {
          id,
          class: "fig",
          width: Math.round(width),
          height: Math.round(height),
          viewBox: `0 0 ${Math.round(width)} ${Math.round(height)}`,
          role: "img",
          "aria-label": caption,
        });
        this.caption = caption;
      }
      add(name, attributes, tipped, topic) {
        const made = node(name, attributes);
        if (tipped) Object.assign(made, { tipped, topic });
        this.svg.append(made);
      }
      line(x1, y1, x2, y2, role) {
        this.add("line", { x1, y1, x2, y2, class: role });
      }
      rect(x, y, width, height, role, tipped, topic) {
        this.add(
          "rect",
          { x, y, width: Math.max(width, 0.5), height: Math.max(height, 0.5), class: role },
          tipped,
          topic,
        );
      }
      dot(cx, cy, r, role, tipped, topic) {
        this.add("circle", { cx, cy, r, class: role }, tipped, topic);
      }
      path(d, role) {
        if (d) this.add("path", { d, class: role });
      }
      text(x, y, text, role = "tick", anchor = "start", turn = 0) {
        const more = turn ? { transform: `rotate(${turn} ${x} ${y})` } : {};
        this.svg.append(
          node("text", { x, y, class: role, "text-anchor": anchor, dy: ".35em", ...more }, text),
        );
      }
      // A scale along x between top and bottom: grid, numbers; returns the place of a value.
      scale(
        low,
        high,
        left,
        right,
        top,
        bottom,
        { signed = false, log = false, label = "", count = 5 } = {},
      ) {
        const f = log ? Math.log10 : v => v,
          at = v => left + ((f(v) - f(low)) / (f(high) - f(low) || 1)) * (right - left);
        (log ? powers(low, high) : ticks(low, high, count)).forEach(v => {
          this.line(at(v), top, at(v), bottom, v ? "grid" : "axis");
          this.text(at(v), bottom + 12, (signed && v > 0 ? "+" : "") + minus(String(v)), "tick", "middle");
        });
        if (label) this.text((left + right) / 2, bottom + 29, label, "tick", "middle");
        return at;
      }
      rise(low, high, left, right, top, bottom, { signed = false, label = "" } = {}) {
        const at = v => bottom - ((v - low) / (high - low || 1)) * (bottom - top);
        ticks(low, high, 5).forEach(v => {
          this.line(left, at(v), right, at(v), v ? "grid" : "axis");
          this.text(left - 6, at(v), (signed && v > 0 ? "+" : "") + minus(String(v)), "tick", "end");
        });
        if (label) this.text(12, (top + bottom) / 2, label, "tick", "middle", -90);
        return at;
      }
      put() {
        const figure = $("#" + this.svg.id).closest("figure");
        $("#" + this.svg.id).replaceWith(this.svg);
        $("figcaption", figure).textContent = this.caption;
        $(".scroll", figure).setAttribute("aria-label", this.caption);
        on(this.svg, "pointermove", event => {
          const text = event.target.tipped;
          tip.hidden = !text;
          if (!text) return;
          tip.textContent = text;
          tip.style.left = `${Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 8)}px`;
          tip.style.top = `${event.clientY + 16}px`;
        });
        on(this.svg, "pointerleave", () => {
          tip.hidden = true;
        });
        on(this.svg, "click", event => {
          if (event.target.topic !== undefined) choose({ topic: event.target.topic });
        });
      }
    }
    function ticks(low, high, count) {
      if (!(high > low)) return [low];
      const raw = (high - low) / Math.max(1, count - 1),
        power = 10 ** Math.floor(Math.log10(raw)),
        found = [];
      const step = [1, 2, 5, 10].map(n => n * power).find(n => n >= raw * (1 - 1e-9));
      for (let n = Math.ceil(low / step - 1e-9); n <= Math.floor(high / step + 1e-9); n++)
        found.push(+(n * step).toPrecision(12));
      return found;
    }
    function powers(low, high) {
      const found = [];
      for (let n = Math.floor(Math.log10(low)); n <= Math.log10(high); n++)
        [1, 2, 5].forEach(k => {
          const v = +(k * 10 ** n).toPrecision(3);
          if (v >= low && v <= high) found.push(v);
        });
      return found.length > 7 ? found.filter(v => /^(1|10+|0\.0*1)$/.test(String(v))) : found;
    }
    const brief = v => minus(fixed(v, 2).replace(/0\./, "."));
    const better = (place, difference) => difference > 0 === column(place).higher;
    const ranked = (place, among = system.keys()) =>
      [...among]
        .filter(r => D.means[place][r] !== null)
        .sort((x, y) => (column(place).higher ? 1 : -1) * (D.means[place][y] - D.means[place][x]) || x - y);
    const nameRoom = (list, most = 260) =>
      Math.min(most, 12 + Math.ceil(list.map(r => widthOf(system[r])).reduce((a, b) => Math.max(a, b), 0)));
    const ROW = 22,
      room = () => Math.max(280, $("main").clientWidth - 40),
      atMost = most => Math.min(most, room());

    /* differences from the baseline: one measure, or all of them side by side */
    function drawForest() {
      const chosen = $("#forest-measure").value,
        places = chosen === "all" ? D.tested : [+chosen],
        many = places.length > 1;
      const all = places.flatMap(place => D.tests[place]),
        order = ranked(places[0], new Set(all.map(test => test.row)));
      const reach = place =>
        most(
          D.tests[place].flatMap(t =>
            [t.low ?? t.difference, t.high ?? t.difference, D.bound[place] || 0].map(Math.abs),
          ),
        ) * 1.08 || 0.1;
      const left = nameRoom(order),
        panel = many ? 190 : atMost(380),
        gap = many ? 34 : 170,
        lines = order.flatMap(r =>
          [...new Set(D.tests[places[0]].filter(t => t.row === r).map(t => t.ref))].map(ref => [r, ref]),
        );
      const perLine = many ? Math.max(1, Math.floor((room() - left) / (panel + gap))) : 1,
        top = many ? 26 : 8,
        several = new Set(lines.map(one => one[1])).size > 1;
      const high = top + ROW * lines.length + 26,
        stacks = Math.ceil(places.length / perLine);
      const drawn = new Drawing(
        "forest",
        left + Math.min(perLine, places.length) * (panel + gap),
        high * stacks,
        many
          ? `Differences to ${D.reference}, each measure`
          : `Differences to ${D.reference}, ${column(places[0]).title}`,
      );
      places.forEach((place, n) => {
        const x0 = left + (n % perLine) * (panel + gap),
          y0 = top + high * Math.floor(n / perLine),
          y1 = y0 + ROW * lines.length,
          end = reach(place);
        if (many) drawn.text(x0 + panel / 2, y0 - 14, fitted(column(place).title, panel), "name", "middle");
        if (D.bound[place]) {
          const half = ((D.bound[place] / end) * panel) / 2;
          drawn.rect(x0 + panel / 2 - half, y0, 2 * half, y1 - y0, "band");
        }
        const x = drawn.scale(-end, end, x0, x0 + panel, y0, y1, { signed: true, count: 6 });
        lines.forEach(([r, ref], at) => {
          const y = y0 + ROW * (at + 0.5),
            test = D.tests[place].find(t => t.row === r && t.ref === ref);
          if (n % perLine === 0)
            drawn.text(
              left - 8,
              y,
              fitted(system[r] + (several ? ` – ${system[ref]}` : ""), left - 12),
              "name",
              "end",
            );
          if (!test) return;
          const role = !test.verdict ? "none" : test.verdict > 0 ? "better" : "worse",
            shown = `${digits(test.difference, true)}${test.low === null ? "" : ` [${digits(test.low, true)}, ${digits(test.high, true)}]`}`;
          const told = `${system[r]} less ${system[ref]}, ${column(place).title}: ${shown}${test.p === null ? "" : `, corrected p = ${four(test.p)}`}`;
          if (test.low !== null)
            drawn.line(
              x(clamp(test.low, -end, end)),
              y,
              x(clamp(test.high, -end, end)),
              y,
              test.verdict ? `line-${role}` : "whisker",
            );
          drawn.dot(x(test.difference), y, 4.5, role, told);
          if (test.equivalent) drawn.dot(x(test.difference), y, 8, "equal-ring");
          if (!many) drawn.text(x0 + panel + 10, y, shown);
        });
      });
      drawn.put();
    }

    /* the matrix of all pairs: the row less the column */
    function drawPairs() {
      const place = +$("#pairs-measure").value,
        order = ranked(place).slice(0, 60),
        R = order.length,
        cell = R <= 12 ? 58 : R <= 24 ? 40 : 20;
      const differences = order.map(r => order.map(c => D.means[place][r] - D.means[place][c])),
        end = most(differences.flat().map(Math.abs)) || 1;
      const left = nameRoom(order, 220),
        top = Math.min(150, left * 0.8 + 10),
        sure = new Map((D.pairs[place] || []).map(t => [`${t.row} ${t.ref}`, t]));
      const drawn = new Drawing(
        "pairs-map",
        left + cell * R + 60,
        top + ROW * R + 34,
        `Differences of all pairs, ${column(place).title}: row less column`,
      );
      order.forEach((r, i) => {
        drawn.text(left - 8, top + ROW * (i + 0.5), fitted(system[r], left - 12), "name", "end");
        drawn.text(left + cell * (i + 0.5), top - 8, fitted(system[r], top * 1.1), "name", "start", -55);
        order.forEach((c, j) => {
          const x = left + cell * j,
            y = top + ROW * i,
            v = differences[i][j],
            test = sure.get(`${r} ${c}`);
          if (r === c) return drawn.rect(x, y, cell - 1, ROW - 1, "blank");
          const step = Math.min(4, Math.floor((Math.abs(v) / end) * 5)),
            mine = values(place, r),
            theirs = values(place, c);
          let told = `${system[r]} less ${system[c]}: ${digits(v, true)}`;
          if (mine && theirs) {
            const signs = mine.map((m, t) => Math.sign(m - theirs[t]) * (column(place).higher ? 1 : -1)),
              count = k => signs.filter(s => s === k).length;
            told += `; topics won ${count(1)}, tied ${count(0)}, lost ${count(-1)}`;
          }
          if (test) told += `; corrected p = ${four(test.p)}`;
          drawn.rect(
            x,
            y,
            cell - 1,
            ROW - 1,
            `${v === 0 ? "blank" : (better(place, v) ? "plus" : "less") + step}`,
            told,
          );
          if (cell > 30)
            drawn.text(
              x + cell / 2,
              y + ROW / 2,
              brief(v) + (test && test.verdict ? "*" : ""),
              step > 2 ? "on" : "cell",
              "middle",
            );
          else if (test && test.verdict)
            drawn.dot(x + cell / 2, y + ROW / 2, 2.2, step > 2 ? "speck-on" : "speck");
        });
      });
      const foot = top + ROW * R + 20;
      for (let k = 0; k < 10; k++)
        drawn.rect(left + 16 * k, foot - 5, 16, 10, k < 5 ? `less${4 - k}` : `plus${k - 5}`);
      drawn.text(left - 6, foot, "worse", "tick", "end");
      drawn.text(left + 166, foot, `better, by up to ${digits(end)}`);
      drawn.put();
    }

    function drawRanks() {
      const place = +$("#ranks-measure").value,
        found = D.ranks[place],
        order = found.map(one => one[0]),
        left = nameRoom(order),
        bottom = 8 + ROW * order.length;
      const drawn = new Drawing(
        "ranks-map",
        left + 460,
        bottom + 40,
        `Rank intervals, ${column(place).title}`,
      );
      const x = drawn.scale(1, Math.max(2, order.length), left + 10, left + 400, 8, bottom, {
        label: "rank",
        count: 8,
      });
      found.forEach(([r, low, high], at) => {
        const y = 8 + ROW * (at + 0.5);
        drawn.text(left - 8, y, fitted(system[r], left - 12), "name", "end");
        drawn.rect(x(low) - 4, y - 4, x(high) - x(low) + 8, 8, "up", `${system[r]}: rank ${low} to ${high}`);
        drawn.text(left + 416, y, low === high ? `${low}` : `${low}–${high}`);
      });
      drawn.put();
    }

    /* topic by topic */
    function shownTopics(systems) {
      const all = qids().map((_, t) => systems.map(r => values(S.place, r)[t])),
        sign = column(S.place).higher ? 1 : -1;
      const means = all.map(mean),
        spread = all.map(list => most(list) - least(list));
      const order = [...all.keys()].sort((x, y) => sign * (means[x] - means[y]) || x - y);
      if (order.length <= 100) return order;
      const hard = order.slice(0, 50),
        kept = new Set(
          hard.concat(
            order
              .slice(50)
              .sort((x, y) => spread[y] - spread[x])
              .slice(0, 50),
          ),
        );
      return order.filter(t => kept.has(t));
    }
    function drawTopics() {
      const systems = ranked(S.place)
          .filter(r => values(S.place, r))
          .slice(0, 200),
        topics = shownTopics(systems),
        R = systems.length;
      const texts = topics.map(topicName),
        wide = R <= 8 ? 54 : R <= 30 ? 28 : 12,
        high = 19,
        left = Math.min(innerWidth < 600 ? 130 : 360, 14 + Math.ceil(most(texts.map(text => widthOf(text, 11)))));
      const top = Math.min(160, nameRoom(systems, 190) * 0.85 + 10),
        all = systems.flatMap(r => topics.map(t => values(S.place, r)[t])),
        low = Math.min(0, least(all)),
        up = Math.max(1, most(all));
      const drawn = new Drawing(
        "topics-map",
        left + wide * R + 100,
        top + high * topics.length + 36,
        `${topics.length} topics, ${column(S.place).title}`,
      );
      systems.forEach((r, j) =>
        drawn.text(
          left + wide * (j + 0.5),
          top - 8,
          fitted(system[r], top * 1.1),
          "name",
          "start",
          wide > 12 ? -55 : -90,
        ),
      );
      topics.forEach((t, i) => {
        drawn.text(left - 8, top + high * (i + 0.5), fitted(texts[i], left - 12, 11), "tick", "end");
        systems.forEach((r, j) => {
          const v = values(S.place, r)[t],
            step = clamp(Math.floor(((v - low) / (up - low)) * 9), 0, 8);
          drawn.rect(
            left + wide * j,
            top + high * i,
            wide - 1,
            high - 1,
            `heat${step}`,
            `${texts[i]} · ${system[r]}: ${four(v)}`,
            t,
          );
          if (wide > 40)
            drawn.text(
              left + wide * (j + 0.5),
              top + high * (i + 0.5),
              brief(v),
              step > 4 ? "on" : "cell",
              "middle",
            );
        });
        if (t === S.topic) drawn.rect(left - 1, top + high * i - 1, wide * R + 1, high + 1, "chosen");
      });
      const foot = top + high * topics.length + 20;
      for (let k = 0; k < 9; k++) drawn.rect(left + 16 * k, foot - 5, 16, 10, `heat${k}`);
      drawn.text(left - 6, foot, four(low), "tick", "end");
      drawn.text(left + 150, foot, four(up));
      drawn.put();
    }

    /* two systems */
    function drawPair() {
      const a = values(S.place, S.a),
        b = values(S.place, S.b),
        A = system[S.a],
        B = system[S.b],
        title = column(S.place).title;
      if (!a || !b) return;
      const T = a.length,
        differ = a.map((v, t) => b[t] - v),
        order = [...a.keys()].sort((x, y) => differ[y] - differ[x] || x - y);
      S.to = Math.min(S.to, T - 1);
      S.from = Math.min(S.from, S.to);
      ["from", "to"].forEach(end => Object.assign($("#" + end), { max: T - 1, value: S[end] }));
      const some = order.slice(S.from, S.to + 1),
        inside = new Set(some),
        role = (v, yes, no, same) => (v ? (better(S.place, v) ? yes : no) : same);
      const told = t => `${topicName(t)}: ${A} ${four(a[t])}, ${B} ${four(b[t])}`,
        faint = t => (inside.has(t) ? "" : " faint");

      const W = atMost(620),
        bars = new Drawing("pair-bars", W, 250, `${B} less ${A}, ${title}`),
        reach = most(differ.map(Math.abs)) || 0.1,
        slot = (W - 60) / T;
      const y = bars.rise(-reach, reach, 48, W - 12, 10, 230, { signed: true });
      order.forEach((t, n) => {
        const v = differ[t];
        bars.rect(
          48 + slot * n + slot * 0.1,
          Math.min(y(v), y(0)),
          slot * 0.8,
          Math.abs(y(v) - y(0)),
          role(v, "up", "down", "speck") + faint(t),
          told(t),
          t,
        );
        if (t === S.topic) bars.rect(48 + slot * n - 1, 10, slot + 2, 220, "chosen");
      });
      bars.put();

      const sample = T > 2000 ? order.filter((_, n) => n % Math.ceil(T / 2000) === 0) : order,
        both = a.concat(b),
        low = Math.min(0, least(both)),
        high = Math.max(low + 1e-9, most(both));
      const dots = new Drawing(
        "pair-dots",
        330,
        320,
        `${B} over ${A}, ${title}${sample.length < T ? ` (${sample.length} of ${T} topics)` : ""}`,
      );
      const up = dots.rise(low, high, 56, 316, 10, 270, { label: fitted(B, 240) }),
        x = dots.scale(low, high, 56, 316, 10, 270, { label: fitted(A, 240) });
      dots.line(x(low), up(low), x(high), up(high), "axis");
      sample.forEach(t => {
        dots.dot(x(a[t]), up(b[t]), 4, role(differ[t], "better", "worse", "none") + faint(t), told(t), t);
        if (t === S.topic) dots.dot(x(a[t]), up(b[t]), 9, "chosen");
      });
      dots.put();

      const which =
          some.length === T
            ? `All ${T} topics`
            : `${some.length} of ${T} topics, chosen after looking and not tested`,
        [p, q] = [a, b].map(list => mean(some.map(t => list[t])));
      $("#brushed").textContent =
        `${which}: mean ${title} ${digits(p)} with ${A}, ${digits(q)} with ${B} (${digits(q - p, true)}).`;
    }

    /* the hits of a topic */
    function quoted(text) {
      const words = new Set(
          query(S.topic)
            .toLowerCase()
            .match(/[\p{L}\p{N}]+/gu) || [],
        ),
        span = make("span", { className: "snippet" });
      for (const part of text.split(/([\p{L}\p{N}]+)/u)) {
        const is_asked = part.length > 3 && words.has(part.toLowerCase());
        span.append(is_asked ? make("mark", { textContent: part }) : part);
      }
      return span;
    }
    function list(row, mine, other, grades, second) {
      const value = values(S.place, row),
        filter = $("#filter").value;
      $(second ? "#score-b" : "#score-a").textContent = value
        ? `${column(S.place).title} ${digits(value[S.topic])}`
        : "";
      return make(
        "ol",
        {},
        ...mine.map((doc, at) => {
          const grade = grades[doc],
            there = other.indexOf(doc),
            moved = there < 0 ? null : there - at;
          const kind = grade === undefined ? "unjudged" : grade > 0 ? "relevant" : "irrelevant",
            single = there < 0;
          const shown =
            filter === "all" ||
            filter === kind ||
            (filter === "single" && single) ||
            (filter === "moved" && (moved || single));
          const item = make(
            "li",
            { className: kind + (shown ? "" : " hidden") },
            make("span", {
              className: "grade",
              textContent: grade === undefined ? "U" : grade > 0 ? `R${grade}` : "N",
            }),
            make("bdi", { className: "docno", textContent: D.hits.docnos[doc], title: D.hits.docnos[doc] }),
          );
          if (second)
            item.append(
              make("span", {
                className: "moved",
                textContent: single ? "new" : moved ? (moved > 0 ? `↑${moved}` : `↓${-moved}`) : "",
              }),
            );
          if (D.snippets[doc]) item.append(quoted(D.snippets[doc]));
          return item;
        }),
      );
    }
    function drawHits() {
      const group = column(S.place).group,
        lists = D.hits.lists[group];
      if (!lists || S.topic < 0) return;
      const grades = D.hits.grades[group][S.topic],
        of = row => (lists[row] ? lists[row][S.topic] : []),
        left = of(S.a),
        right = of(S.b);
      $("#query").replaceChildren(
        make("b", { textContent: `Topic ${qids()[S.topic]}` }),
        ` ${query(S.topic)}`,
      );
      $("#hits-a").replaceChildren(list(S.a, left, right, grades, false));
      if (!$("#hits-b")) return;
      $("#hits-b").replaceChildren(list(S.b, right, left, grades, true));
      const high = 34,
        lines = new Drawing(
          "hits-lines",
          90,
          high * Math.max(left.length, right.length, 1),
          "Lines between the same documents",
        );
      right.forEach((doc, at) => {
        const from = left.indexOf(doc);
        if (from >= 0)
          lines.line(
            4,
            high * (from + 0.5),
            86,
            high * (at + 0.5),
            from > at ? "join-up" : from < at ? "join-down" : "join",
          );
      });
      $("#hits-lines").replaceWith(lines.svg);
    }

    /* recall, bounds, cost, losses */
    function drawRecall() {
      const group = column(S.place).group,
        curves = D.recall[group] || {},
        known = Object.keys(curves).map(Number);
      const boxes = $("#recall-systems");
      if (boxes.dataset.group !== group) {
        boxes.dataset.group = group;
        const chosen = new Set(
          ranked(S.place, known)
            .slice(0, 3)
            .concat(known.includes(D.first[0]) ? [D.first[0]] : [])
            .slice(0, 4),
        );
        boxes.replaceChildren(
          ...known.map(r => {
            const box = make("input", { type: "checkbox", value: r, checked: chosen.has(r) });
            on(box, "change", drawRecall);
            return make("label", {}, box, " ", make("bdi", { textContent: system[r] }));
          }),
        );
      }
      const chosen = $$("input:checked", boxes).map(box => +box.value);
      $$("input", boxes).forEach(box => {
        box.disabled = !box.checked && chosen.length >= 4;
      });
      const drawn = new Drawing(
        "recall-curves",
        640,
        340,
        "Interpolated precision at eleven levels of recall",
      );
      const x = drawn.scale(0, 1, 56, 420, 12, 290, { label: "recall", count: 6 }),
        y = drawn.rise(0, 1, 56, 420, 12, 290, { label: "precision" });
      chosen.forEach((r, n) => {
        drawn.path(curves[r].map((v, k) => `${k ? "L" : "M"}${x(k / 10)} ${y(v)}`).join(""), `curve${n}`);
        curves[r].forEach((v, k) =>
          drawn.dot(
            x(k / 10),
            y(v),
            3,
            `point${n}`,
            `${system[r]}: precision ${digits(v)} at recall ${k / 10}`,
          ),
        );
        drawn.line(440, 24 + 20 * n, 464, 24 + 20 * n, `curve${n}`);
        drawn.text(470, 24 + 20 * n, fitted(system[r], 168), "name");
      });
      drawn.put();
    }
    function drawBounds() {
      const { title, rows: found } = D.bounds[+$("#bounds-measure").value],
        left = nameRoom(found.map(one => one[0])),
        bottom = 8 + ROW * found.length;
      const drawn = new Drawing(
        "bounds-map",
        left + 560,
        bottom + 30,
        `${title}: from the least to the greatest mean over all grades of unjudged documents`,
      );
      const x = drawn.scale(0, 1, left, left + 380, 8, bottom);
      found.forEach(([r, low, value, high], at) => {
        const y = 8 + ROW * (at + 0.5),
          told = `${digits(value)} [${digits(low)}, ${digits(high)}]`;
        drawn.text(left - 8, y, fitted(system[r], left - 12), "name", "end");
        drawn.rect(x(low), y - 5, x(high) - x(low), 10, "pale", `${system[r]}: ${told}`);
        drawn.dot(x(value), y, 4.5, "better");
        drawn.text(left + 392, y, told);
      });
      drawn.put();
    }
    function drawCosts() {
      const known = D.costs.filter(one => one[1] > 0 && D.means[S.place][one[0]] !== null),
        drawn = new Drawing("costs-map", 700, 360, `${column(S.place).title} and time per topic`);
      if (!known.length) return;
      const times = known.map(one => one[1]),
        means = known.map(one => D.means[S.place][one[0]]),
        pad = (most(means) - least(means)) * 0.1 || 0.05;
      const x = drawn.scale(least(times) / 1.6, most(times) * 1.6, 60, 520, 12, 310, {
          log: true,
          label: "milliseconds per topic",
        }),
        y = drawn.rise(least(means) - pad, most(means) + pad, 60, 520, 12, 310, {
          label: column(S.place).title,
        });
      const good = v => v * (column(S.place).higher ? 1 : -1),
        front = known.filter(
          one =>
            !known.some(
              other =>
                other !== one &&
                other[1] <= one[1] &&
                good(D.means[S.place][other[0]]) >= good(D.means[S.place][one[0]]) &&
                (other[1] < one[1] || good(D.means[S.place][other[0]]) > good(D.means[S.place][one[0]])),
            ),
        );
      front.sort((p, q) => p[1] - q[1]);
      drawn.path(
        front.map((one, n) => `${n ? "L" : "M"}${x(one[1])} ${y(D.means[S.place][one[0]])}`).join(""),
        "front",
      );
      const named = [];
      known.forEach(one => {
        const [r, time] = one,
          v = D.means[S.place][r],
          first = front.includes(one);
        drawn.dot(
          x(time),
          y(v),
          5,
          first ? "better" : "none",
          `${system[r]}: ${four(time)} ms per topic, ${digits(v)}`,
        );
        // Below the dot where the place above is another's, and nowhere if both are.
        const at = [-8, 10].map(by => y(v) + by).find(row => !named.some(
              ([left, line]) => Math.abs(line - row) < 14 && Math.abs(left - x(time)) < 190));
        if ((first || known.length <= 12) && at !== undefined) {
          drawn.text(x(time) + 9, at, fitted(system[r], 180), "tick");
          named.push([x(time), at]);
        }
      });
      drawn.put();
    }
    function drawLosses() {
      const curve = D.curves[+$("#losses-training").value],
        all = curve.training.concat(curve.validation),
        drawn = new Drawing("losses-curves", 640, 300, `Losses of ${curve.name}`);
      const losses = all.map(one => one[1]),
        x = drawn.scale(0, most(all.map(one => one[0])), 60, 470, 12, 250, { label: "step" }),
        y = drawn.rise(Math.min(...losses) * 0.95, Math.max(...losses) * 1.02, 60, 470, 12, 250, {
          label: "loss",
        });
      [
        ["training", "curve0"],
        ["validation", "curve1"],
      ].forEach(([what, role], n) => {
        drawn.path(curve[what].map((one, k) => `${k ? "L" : "M"}${x(one[0])} ${y(one[1])}`).join(""), role);
        if (curve[what].length) {
          drawn.line(490, 24 + 20 * n, 514, 24 + 20 * n, role);
          drawn.text(520, 24 + 20 * n, what, "name");
        }
      });
      if (curve.kept !== null) {
        drawn.line(x(curve.kept), 12, x(curve.kept), 250, "chosen");
        drawn.text(x(curve.kept) + 5, 20, "kept");
      }
      drawn.put();
    }

    /* choices, the address, saving */
    const DRAW = {
      forest: drawForest,
      "pairs-map": drawPairs,
      "ranks-map": drawRanks,
      "topics-map": drawTopics,
      "pair-bars": drawPair,
      "hits-a": drawHits,
      "recall-curves": drawRecall,
      "bounds-map": drawBounds,
      "costs-map": drawCosts,
      "losses-curves": drawLosses,
    };
    function draw() {
      if (S.topic >= qids().length) S.topic = -1;
      if (S.topic < 0 && qids().length) S.topic = defaultTopic();
      $$("[data-choice=place]").forEach(one => {
        one.value = S.place;
      });
      $$("[data-choice=a]").forEach(one => {
        one.value = S.a;
      });
      $$("[data-choice=b]").forEach(one => {
        one.value = S.b;
      });
      $$("[data-choice=topic]").forEach(one => {
        if (one.dataset.group !== column(S.place).group) {
          one.replaceChildren(...qids().map((_, t) => new Option(fitted(topicName(t), 420), t)));
          one.dataset.group = column(S.place).group;
        }
        one.value = S.topic;
      });
      for (const id in DRAW) if ($("#" + id)) DRAW[id]();
    }
    // Where the two systems differ most: what a reader wants to see first.
    function defaultTopic() {
      const a = values(S.place, S.a),
        b = values(S.place, S.b);
      if (!a || !b) return 0;
      return [...a.keys()].reduce(
        (best, t) => (Math.abs(a[t] - b[t]) > Math.abs(a[best] - b[best]) ? t : best),
        0,
      );
    }
    function choose(change) {
      if (change.place !== undefined) Object.assign(S, { from: 0, to: 1e9 });
      Object.assign(S, change);
      draw();
      const parts = new URLSearchParams({
        measure: column(S.place).title,
        a: system[S.a],
        b: system[S.b],
        topic: qids()[S.topic] ?? "",
      });
      history.replaceState(null, "", "#" + parts);
    }
    function follow() {
      if (!location.hash.includes("=")) return;
      const parts = new URLSearchParams(location.hash.slice(1)),
        unknown = [];
      const find = (list, key, old, what) => {
        if (!parts.get(key)) return old;
        const at = list.indexOf(parts.get(key));
        if (at < 0) unknown.push(`${what} ${parts.get(key)}`);
        return at < 0 ? old : at;
      };
      const place = find(
        D.columns.map(one => one.title),
        "measure",
        S.place,
        "measure",
      );
      if (measured.includes(place)) S.place = place;
      Object.assign(S, {
        a: find(system, "a", S.a, "system"),
        b: find(system, "b", S.b, "system"),
        topic: find(qids(), "topic", S.topic, "topic"),
      });
      $("#address").textContent = unknown.length
        ? `The address names what this report does not have: ${unknown.join(", ")}.`
        : "";
    }
    $$("[data-choice]").forEach(one => on(one, "input", () => choose({ [one.dataset.choice]: +one.value })));
    [
      ["#from", () => ({ from: +$("#from").value, to: Math.max(S.to, +$("#from").value) })],
      ["#to", () => ({ to: +$("#to").value, from: Math.min(S.from, +$("#to").value) })],
    ].forEach(([name, change]) =>
      on($(name), "input", () => {
        Object.assign(S, change());
        drawPair();
      }),
    );
    [
      ["#previous", -1],
      ["#next", 1],
    ].forEach(([name, step]) =>
      on($(name), "click", () => choose({ topic: (S.topic + step + qids().length) % qids().length })),
    );
    on($("#filter"), "input", drawHits);
    $$("[data-draw]").forEach(one => on(one, "input", () => DRAW[one.dataset.draw]()));

    function saveSvg(svg) {
      const copy = svg.cloneNode(true),
        from = $$("*", svg);
      $$("*", copy).forEach((one, at) => {
        const style = getComputedStyle(from[at]);
        ["fill", "stroke", "stroke-width", "stroke-dasharray", "font-size", "font-family"].forEach(name =>
          one.setAttribute(name, style.getPropertyValue(name)),
        );
      });
      copy.setAttribute("xmlns", SVG);
      const href = URL.createObjectURL(new Blob([copy.outerHTML], { type: "image/svg+xml" }));
      make("a", { href, download: `${svg.id}.svg` }).click();
    }
    function printFigure(svg) {
      const figure = svg.closest("figure");
      document.documentElement.classList.add("single");
      figure.classList.add("printed");
      print();
      figure.classList.remove("printed");
      document.documentElement.classList.remove("single");
    }
    function copyText(value, what) {
      const done = () => {
        $("#saved").textContent = `${what} copied`;
      };
      navigator.clipboard.writeText(value).then(done, () => {
        const area = make("textarea", { value });
        document.body.append(area);
        area.select();
        document.execCommand("copy");
        area.remove();
        done();
      });
    }
    function prepareMenu() {
      const menu = $("#save-items"),
        item = (text, then) => {
          const button = make("button", { type: "button", textContent: text });
          on(button, "click", then);
          return button;
        };
      menu.append(
        ...Object.entries({ latex: "LaTeX", markdown: "Markdown", csv: "CSV" }).map(([key, name]) =>
          item(`Copy the table as ${name}`, () => copyText(D.copies[key], name)),
        ),
      );
      $$("svg.fig")
        .filter(svg => svg.id !== "hits-lines")
        .forEach(({ id }) => {
          const caption = $("figcaption", $("#" + id).closest("figure")).textContent.split(",")[0];
          menu.append(
            make(
              "div",
              { className: "figure-item" },
              make("span", { textContent: caption }),
              item("SVG", () => saveSvg($("#" + id))),
              item("PDF", () => printFigure($("#" + id))),
            ),
          );
        });
    }

    on(window, "hashchange", () => {
      follow();
      draw();
    });
    follow();
    draw();
    prepareMenu();
    document.documentElement.dataset.ready = "yes";
    if (location.hash.includes("topic=") && $("#hits")) $("#hits").scrollIntoView();
  }
})();

"use strict";
(() => {
  const $ = (query, root = document) => root.querySelector(query), $$ = (query, root = document) => [...root.querySelectorAll(query)];
  const minus = text => text.replace("-", "−"), on = (one, event, then) => one && one.addEventListener(event, then);
  const make = (tag, properties) => Object.assign(document.createElement(tag), properties);
  const ROWS = "tbody tr:not(.section)", HEADS = "th[data-column]";

  /* ---- the table: it needs no data but its own cells ---- */

  // Half to even of the exact double, as Python writes it.
  function fixed(value, decimals) {
    let text = value.toFixed(decimals);
    const exact = value.toFixed(Math.min(100, decimals + 60)), cut = exact.length - 60, kept = exact.slice(0, cut).replace(/\.$/, "");
    if (/^50*$/.test(exact.slice(cut)) && "02468".includes(kept.slice(-1))) text = kept;
    return /[1-9]/.test(text) ? text : text.replace("-", "");
  }

  function sorting(head) {
    const down = head.getAttribute("aria-sort") !== "descending", place = +head.dataset.column + 1;
    $$("th[aria-sort]", head.closest("thead")).forEach(one => one.setAttribute("aria-sort", "none"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const value = row => +(row.cells[place].dataset.value || -Infinity);
    $$("tbody", head.closest("table")).forEach(body =>
      body.append(...$$("tr:not(.section)", body).sort((a, b) => (down ? 1 : -1) * (value(b) - value(a)))));
  }

  function rounding(table, decimals) {
    const heads = $$(HEADS, table);
    $$(ROWS, table).forEach(row => heads.forEach((head, place) => {
      const cell = row.cells[place + 1], value = cell.dataset.value;
      if (value === undefined || head.dataset.sum) return;
      let text = fixed(+value, decimals);
      if (table.dataset.zero) text = text.replace(/^(-?)0\./, "$1.");
      ($("b", cell) || cell).firstChild.data = minus(text);
    }));
  }

  function hiding(table, place, shown) {
    const heads = $$(HEADS, table);
    let at = 0;
    heads[place].hidden = !shown;
    $$(ROWS, table).forEach(row => { row.cells[place + 1].hidden = !shown; });
    $$("thead tr:first-child > [colspan]", table).forEach(group => {
      const span = +(group.dataset.span ||= group.colSpan), left = heads.slice(at, at += span).filter(one => !one.hidden).length;
      group.hidden = !left;
      group.colSpan = left || 1;
    });
  }

  function preparing(table) {
    const heads = $$(HEADS, table), grouped = $("thead th.group", table), list = $("#decimals");
    heads.forEach((head, place) => {
      const mark = make("input", { type: "checkbox", checked: true }), label = make("label");
      on($("button", head), "click", () => sorting(head));
      label.append(mark, ` ${head.textContent}${grouped ? " " + (place + 1) : ""}`);
      on(mark, "change", () => hiding(table, place, mark.checked));
      $("#columns").append(label);
    });
    for (let n = 0; n <= 6; n++) list.append(new Option(n, n));
    const first = heads.findIndex(one => !one.dataset.sum), some = first >= 0 && $("tbody td[data-value]", table);
    list.value = (/\.(\d*)/.exec(some ? $(ROWS, table).cells[first + 1].textContent : "0.000") || ["", "000"])[1].length;
    on(list, "change", () => rounding(table, +list.value));
  }

  const results = $("table.results");
  $$(".tools").forEach(one => { one.hidden = false; });
  if (results) preparing(results);
  $$("figure").forEach(one => {
    if (!$("svg", one)) return;
    const button = make("button", { type: "button", textContent: "Save SVG" });
    on(button, "click", () => saving($("svg", one)));
    $("figcaption", one).append(button);
  });

  // A figure by itself carries its colours, which the page has in its style sheet.
  function saving(svg) {
    const copy = svg.cloneNode(true), from = $$("*", svg);
    $$("*", copy).forEach((one, at) => {
      const style = getComputedStyle(from[at]);
      ["fill", "stroke", "stroke-width", "stroke-dasharray", "font-size", "font-family"].forEach(name => one.setAttribute(name, style.getPropertyValue(name)));
    });
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    const href = URL.createObjectURL(new Blob([copy.outerHTML], { type: "image/svg+xml" }));
    make("a", { href, download: svg.id + ".svg" }).click();
  }

  /* ---- the data ---- */

  const block = $("#data");
  if (!block || !window.DecompressionStream) return;
  const bytes = Uint8Array.from(atob(block.textContent), one => one.charCodeAt(0));
  new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json().then(begin);

  function begin(D) {
    const [a = 0, b] = D.first, alone = b === undefined, S = { place: +Object.keys(D.values)[0], a, b, topic: -1, from: 0, to: 1e9 };
    const tip = make("div", { className: "tip", hidden: true, ariaHidden: "true" });
    document.body.append(tip);

    const column = () => D.columns[S.place], qids = () => D.topics[column().group], values = row => D.values[S.place][row];
    const query = t => (D.queries[column().group] || [])[t] || "", named = t => `${qids()[t]}  ${query(t)}`.trim();
    const number = (v, signed) => (signed && v > 0 ? "+" : "") + minus(fixed(v, D.decimals)), four = v => minus(String(+v.toPrecision(4)));
    const least = list => list.reduce((x, y) => Math.min(x, y)), most = list => list.reduce((x, y) => Math.max(x, y));
    const mean = list => list.reduce((x, y) => x + y, 0) / list.length;

    /* drawing */
    function node(name, attributes, text) {
      const one = document.createElementNS("http://www.w3.org/2000/svg", name);
      for (const key in attributes) one.setAttribute(key, attributes[key]);
      if (text !== undefined) one.textContent = text;
      return one;
    }
    const add = (svg, name, attributes, text) => svg.append(node(name, attributes, text));
    const line = (svg, x1, y1, x2, y2, role) => add(svg, "line", { x1, y1, x2, y2, class: role });
    const label = (svg, x, y, text, anchor = "start", turn = 0) => add(svg, "text",
      { x, y, class: "tick", "text-anchor": anchor, dy: ".35em", transform: `rotate(${turn} ${x} ${y})` }, text);
    const cut = (text, most) => text.length <= most ? text : text.slice(0, most - 1) + "…";
    function empty(id, width, height, title) {
      const svg = node("svg", { id, class: "fig", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title });
      $("#" + id).replaceWith(svg);
      return svg;
    }
    function paths(svg, found) {
      for (const role in found) add(svg, "path", { d: found[role].join(""), class: role });
    }
    function ticks(low, high) {
      const raw = (high - low) / 4, power = Math.pow(10, Math.floor(Math.log10(raw))), found = [];
      const step = [1, 2, 5, 10].map(n => n * power).find(n => n >= raw * (1 - 1e-9));
      for (let n = Math.ceil(low / step - 1e-9); n <= Math.floor(high / step + 1e-9); n++) found.push(+(n * step).toPrecision(12));
      return found;
    }
    function pointing(svg, text, find) {
      on(svg, "pointermove", event => {
        const found = find(event);
        tip.hidden = !found;
        if (!found) return;
        tip.textContent = found.text;
        tip.style.left = Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 8) + "px";
        tip.style.top = event.clientY + 16 + "px";
      });
      on(svg, "pointerleave", () => { tip.hidden = true; });
      on(svg, "click", event => { const found = find(event); if (found) choose(found.topic); });
      const figure = svg.closest("figure");
      $("figcaption", figure).firstChild.data = text;
      $(".scroll", figure).setAttribute("aria-label", text);
    }

    /* topics and systems */
    function drawnTopics(rows) {
      const all = qids().map((_, t) => rows.map(r => values(r)[t])), sign = column().higher ? 1 : -1;
      const means = all.map(mean), spread = all.map(list => most(list) - least(list));
      const order = [...all.keys()].sort((x, y) => sign * (means[x] - means[y]) || x - y);
      if (order.length <= 100) return order;
      const hard = order.slice(0, 50), others = order.slice(50).sort((x, y) => spread[y] - spread[x]).slice(0, 50), drawn = new Set(hard.concat(others));
      return order.filter(t => drawn.has(t));
    }
    function drawMap() {
      if (!$("#topics-map")) return;
      const rows = [...D.names.keys()].filter(values).slice(0, 200), topics = drawnTopics(rows), R = rows.length, T = topics.length;
      const texts = topics.map(named), names = rows.map(r => D.names[r]), wide = R <= 8 ? 52 : R <= 30 ? 26 : 12, high = 18;
      const room = (list, n) => 7.1 * most(list.map(x => Math.min(x.length, n)));
      const left = room(texts, 56) * .92 + 14, top = Math.min(room(names, 22) * .95 + 22, 170), found = {};
      const all = rows.flatMap(r => topics.map(t => values(r)[t])), low = Math.min(0, least(all)), up = Math.max(1, most(all));
      const svg = empty("topics-map", Math.round(left + wide * R + 90), Math.round(top + high * T + 34), `Heat map of ${T} topics and ${R} systems on ${column().title}`);
      topics.forEach((t, i) => {
        rows.forEach((r, j) => {
          const step = "heat" + Math.min(8, Math.floor((values(r)[t] - low) / (up - low) * 9));
          (found[step] ||= []).push(`M${left + wide * j} ${top + high * i}h${wide - 1}v17h${1 - wide}z`);
        });
        label(svg, left - 8, top + high * (i + .5), cut(texts[i], 56), "end");
      });
      paths(svg, found);
      names.forEach((name, j) => label(svg, left + wide * (j + .5), top - 8, cut(name, 22), "start", wide > 12 ? -60 : -90));
      const foot = top + high * T + 20, chosen = topics.indexOf(S.topic);
      for (let k = 0; k < 9; k++) add(svg, "rect", { x: left + 14 * k, y: foot - 5, width: 14, height: 10, class: "heat" + k });
      label(svg, left - 6, foot, four(low), "end"); label(svg, left + 132, foot, four(up));
      if (chosen >= 0) add(svg, "rect", { x: left - 1, y: top + high * chosen - 1, width: wide * R + 1, height: high + 1, class: "chosen" });
      pointing(svg, column().title, event => {
        const box = svg.getBoundingClientRect(), i = Math.floor((event.clientY - box.top - top) / high), j = Math.floor((event.clientX - box.left - left) / wide);
        if (i < 0 || i >= T || j >= R) return null;
        const topic = topics[i], name = named(topic);
        return { topic, text: j < 0 ? name : `${name} · ${names[j]}: ${four(values(rows[j])[topic])}` };
      });
    }

    function drawPair() {
      const a = values(S.a), b = values(S.b), A = D.names[S.a], B = D.names[S.b];
      if (!$("#compare-bars") || !a || !b) return;
      const T = a.length, differ = a.map((v, t) => b[t] - v), order = [...a.keys()].sort((x, y) => differ[y] - differ[x] || x - y);
      S.to = Math.min(S.to, T - 1); S.from = Math.min(S.from, S.to);
      ["from", "to"].forEach(end => Object.assign($("#" + end), { max: T - 1, value: S[end] }));
      const some = order.slice(S.from, S.to + 1), inside = new Set(some), faint = t => inside.has(t) ? "" : " faint";
      const tipped = topic => ({ topic, text: `${named(topic)}: ${A} ${four(a[topic])}, ${B} ${four(b[topic])}` });
      const good = v => (v > 0) === column().higher, title = column().title;

      let svg = empty("compare-bars", 616, 246, `Differences of ${T} topics: ${B} less ${A}`);
      const reach = most(differ.map(Math.abs)) || .1, slot = 560 / T, gap = Math.min(1, slot * .2), found = {}, y = v => 120 - v / reach * 110;
      ticks(-reach, reach).forEach(v => {
        line(svg, 46, y(v), 606, y(v), v ? "grid" : "axis");
        label(svg, 40, y(v), (v > 0 ? "+" : "") + minus(String(v)), "end");
      });
      order.forEach((t, n) => {
        const v = differ[t], left = 46 + slot * n, high = Math.max(Math.abs(y(v) - 120), .6);
        (found[(v ? good(v) ? "up" : "down" : "axis") + faint(t)] ||= []).push(`M${(left + gap / 2).toFixed(2)} ${Math.min(y(v), 120).toFixed(1)}h${(slot - gap).toFixed(2)}v${high.toFixed(1)}h${(gap - slot).toFixed(2)}z`);
        if (t === S.topic) add(svg, "rect", { x: left - 1, y: 10, width: Math.max(slot, 2) + 2, height: 220, class: "chosen" });
      });
      paths(svg, found);
      pointing(svg, `${B} less ${A}, ${title}`, event => {
        const t = order[Math.floor((event.clientX - event.currentTarget.getBoundingClientRect().left - 46) / slot)];
        return t === undefined ? null : tipped(t);
      });

      const dots = D.dots[column().group], sampled = dots ? ` (${dots.length} of ${T}, at random)` : "";
      svg = empty("compare-dots", 320, 310, `${T} topics: ${B} over ${A}${sampled}`);
      const both = a.concat(b), low = Math.min(0, least(both)), high = Math.max(low + 1e-9, most(both)), at = v => (v - low) / (high - low) * 260;
      ticks(low, high).forEach(v => {
        line(svg, 46 + at(v), 10, 46 + at(v), 270, "grid"); line(svg, 46, 270 - at(v), 306, 270 - at(v), "grid");
        label(svg, 46 + at(v), 282, minus(String(v)), "middle"); label(svg, 40, 270 - at(v), minus(String(v)), "end");
      });
      line(svg, 46, 270, 306, 10, "axis");
      (dots || order).forEach(topic => {
        const place = { cx: 46 + at(a[topic]), cy: 270 - at(b[topic]) }, v = differ[topic];
        const dot = node("circle", { ...place, r: 4, class: (v ? good(v) ? "better" : "worse" : "none") + faint(topic) });
        svg.append(Object.assign(dot, { topic }));
        if (topic === S.topic) add(svg, "circle", { ...place, r: 9, class: "chosen" });
      });
      label(svg, 176, 298, cut(A, 40), "middle"); label(svg, 10, 140, cut(B, 40), "middle", -90);
      pointing(svg, `${B} over ${A}, ${title}${sampled}`, event => event.target.topic === undefined ? null : tipped(event.target.topic));

      const which = some.length === T ? `All ${T} topics` : `${some.length} of ${T} topics, chosen after looking and not tested`;
      const [first, second] = [a, b].map(list => mean(some.map(t => list[t])));
      $("#brushed").textContent = `${which}: mean ${title} ${number(first)} with ${A}, ${number(second)} with ${B} (${number(second - first, true)}).`;
    }

    /* the hits of a topic */
    function quoted(text, weights) {
      var words = new Set(query(S.topic).toLowerCase().match(/[\p{L}\p{N}]+/gu) || []);
      var span = document.createElement("span");
      span.className = "snippet";
      text.split(/([\p{L}\p{N}]+)/u).forEach(function (part, i) {
        var w = i % 2 && weights && weights[i >> 1], tag = part.length > 3 && words.has(part.toLowerCase()) ? "mark" : w ? "u" : "";
        var one = tag && document.createElement(tag);
        if (one) one.textContent = part;
        if (w) { one.className = "w" + Math.min(4, Math.ceil(w / 25)); one.title = w / 100; }
        span.append(one || part);
      });
      return span;
    }
    function hits(mine, other, grades, name, second) {
      var box = document.createElement("div"), head = document.createElement("h3"), list = document.createElement("ol"), filter = $("#filter").value;
      head.textContent = name;
      mine.forEach(function (d, at) {
        var grade = grades[d], there = other ? other.indexOf(d) : at, item = document.createElement("li");
        item.className = grade === undefined ? "unjudged" : grade > 0 ? "relevant" : "irrelevant";
        var moved = there < 0 ? "new" : there === at ? "" : (there > at ? "+" : "−") + Math.abs(there - at), told = second ? moved : "";
        var shown = { all: true, relevant: grade > 0, unjudged: grade === undefined, moved: moved && moved !== "new", single: moved === "new" };
        if (!shown[filter]) item.classList.add("hidden");
        [["grade", grade === undefined ? "U" : grade > 0 ? "R" + grade : "N"], ["docno", D.hits.docnos[d]], ["moved", told]].forEach(function (one) {
          var span = document.createElement("span");
          span.className = one[0]; span.textContent = one[1];
          if (one[0] === "moved" && told) span.title = told === "new" ? "not among the first " + D.hits.depth + " of " + D.names[S.a] : "moved " + told;
          if (one[0] === "docno") span.title = one[1];
          item.append(span);
        });
        if (D.snippets[d]) item.append(quoted(D.snippets[d], (D.weights[D.weighted[second ? S.b : S.a]] || {})[d]));
        list.append(item);
      });
      box.append(head, list);
      return box;
    }
    function drawHits() {
      var box = $("#diff"), lists = box && D.hits && D.hits.lists[column().group];
      if (!lists || S.topic < 0 || !lists[S.a] || !(alone || lists[S.b])) return;
      var left = lists[S.a][S.topic], grades = D.hits.grades[column().group][S.topic];
      $("#query b").textContent = ("Topic " + named(S.topic)).trim();
      if (alone) return box.replaceChildren(hits(left, null, grades, D.names[S.a]));
      var right = lists[S.b][S.topic];
      var tall = 34 * Math.max(left.length, right.length, 1);
      box.replaceChildren(hits(left, right, grades, D.names[S.a]), node("svg", { id: "hits-lines" }), hits(right, left, grades, D.names[S.b], true));
      var svg = empty("hits-lines", 90, tall, "Lines between the same documents of " + D.names[S.a] + " and " + D.names[S.b]);
      svg.setAttribute("preserveAspectRatio", "none");
      left.forEach(function (d, i) {
        var j = right.indexOf(d);
        if (j >= 0) line(svg, 0, 34 * (i + .5), 90, 34 * (j + .5), i === j ? "join" : j < i ? "join-up" : "join-down");
      });
    }

    /* topics by contrast */
    function overlap(x, y) {
      const seen = [new Set(), new Set()];
      let shared = 0, score = 0, whole = 0, weight = 1;
      for (let n = 0; n < D.hits.depth; n++) {
        [x, y].forEach((list, side) => {
          if (n < list.length) { if (seen[1 - side].has(list[n])) shared++; seen[side].add(list[n]); }
        });
        score += weight * shared / (n + 1); whole += weight; weight *= .9;
      }
      return score / whole;
    }
    function drawContrasts() {
      const body = $("#contrasts tbody"), lists = body && D.hits && D.hits.lists[column().group];
      if (!lists || !lists[S.a] || !lists[S.b] || !values(S.a) || !values(S.b)) return;
      const all = lists[S.a].map((x, t) => [overlap(x, lists[S.b][t]), t]).sort((x, y) => x[0] - y[0] || x[1] - y[1]);
      body.replaceChildren(...all.slice(0, 12).map(([shared, t]) => {
        const x = lists[S.a][t], y = lists[S.b][t];
        const row = make("tr"), head = make("th", { scope: "row" }), link = make("a", { textContent: named(t), href: "#hits" });
        on(link, "click", event => { event.preventDefault(); choose(t); $("#hits").scrollIntoView(); });
        head.append(link); row.append(head);
        [number(values(S.b)[t] - values(S.a)[t], true), fixed(shared, 2),
          x.filter(d => y.includes(d)).length].forEach(text => { row.insertCell().textContent = text; });
        return row;
      }));
    }

    /* choices, and the address that keeps them */
    function show() {
      const list = $("#topic"), { group } = column(), a = values(S.a), b = values(S.b);
      if (list && list.dataset.group !== group) {
        list.dataset.group = group;
        list.replaceChildren(...qids().map((_, t) => new Option(cut(named(t), 70), t)));
      }
      const telling = t => b ? Math.abs(b[t] - a[t]) : column().higher ? -a[t] : a[t];
      if (S.topic < 0 && a && (alone || b)) S.topic = a.reduce((best, _, t) => telling(t) > telling(best) ? t : best, 0);
      for (const [name, key] of choices) if ($(name)) $(name).value = S[key];
      drawMap(); drawPair(); drawHits(); drawContrasts();
    }
    function keep() {
      const parts = new URLSearchParams(S.topic >= 0 ? { topic: qids()[S.topic] } : {});
      parts.set("a", D.names[S.a]); if (!alone) parts.set("b", D.names[S.b]); parts.set("measure", column().title);
      history.replaceState(null, "", "#" + parts);
    }
    function choose(topic) { S.topic = topic; show(); keep(); }
    function follow() {
      if (!location.hash.includes("=")) return;
      const parts = new URLSearchParams(location.hash.slice(1));
      const find = (list, name, old) => { const at = list.indexOf(parts.get(name)); return at < 0 ? old : at; };
      const place = find(D.columns.map(one => one.title), "measure", S.place);
      if (place in D.values) S.place = place;
      S.a = find(D.names, "a", S.a); if (!alone) S.b = find(D.names, "b", S.b); S.topic = find(qids(), "topic", S.topic);
    }
    const measured = () => { if (S.topic >= qids().length) S.topic = -1; S.from = 0; S.to = 1e9; };
    const choices = [["#system-a", "a"], ["#system-b", "b"], ["#topic", "topic"], ["#heat-measure", "place", measured], ["#compare-measure", "place", measured]];
    const ends = [["#from", "from", () => { S.to = Math.max(S.from, S.to); }], ["#to", "to", () => { S.from = Math.min(S.from, S.to); }]];
    [...choices, ...ends].forEach(([name, key, then]) => on($(name), "input", event => {
      S[key] = +event.target.value;
      if (then) then();
      show(); keep();
    }));
    [["#previous", -1], ["#next", 1]].forEach(([name, step]) =>
      on($(name), "click", () => choose((S.topic + step + qids().length) % qids().length)));
    on($("#filter"), "input", drawHits);
    $$("[data-copy]").forEach(button => on(button, "click", () => {
      const value = D.copies[button.dataset.copy], done = () => { $("#copied").textContent = button.textContent.replace("Copy ", "") + " copied"; };
      navigator.clipboard.writeText(value).then(done, () => {
        const area = make("textarea", { value });
        document.body.append(area); area.select(); document.execCommand("copy"); area.remove(); done();
      });
    }));
    on(window, "hashchange", () => { follow(); show(); });
    if (Object.keys(D.values).length) { follow(); show(); }
    document.documentElement.dataset.ready = "yes";
    if (location.hash.includes("topic=") && $("#hits")) $("#hits").scrollIntoView();
  }
})();

"use strict";
(function () {
  var $ = function (query, root) { return (root || document).querySelector(query); };
  var $$ = function (query, root) { return Array.from((root || document).querySelectorAll(query)); };
  var minus = function (text) { return text.replace("-", "−"); };

  /* ---- the table: it needs no data but its own cells ---- */

  // Half to even of the exact double, as Python writes it.
  function fixed(value, decimals) {
    var text = value.toFixed(decimals), exact = value.toFixed(Math.min(100, decimals + 60));
    var cut = exact.length - 60, kept = exact.slice(0, cut).replace(/\.$/, "");
    if (/^50*$/.test(exact.slice(cut)) && "02468".includes(kept.slice(-1))) text = kept;
    return /[1-9]/.test(text) ? text : text.replace("-", "");
  }

  function sorting(head) {
    var down = head.getAttribute("aria-sort") !== "descending", place = +head.dataset.column;
    $$("th[aria-sort]", head.closest("thead")).forEach(function (one) { one.setAttribute("aria-sort", "none"); });
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    function value(row) { var v = row.cells[place + 1].dataset.value; return v ? +v : -Infinity; }
    $$("tbody", head.closest("table")).forEach(function (body) {
      $$("tr:not(.section)", body)
        .sort(function (a, b) { return (down ? 1 : -1) * (value(b) - value(a)); })
        .forEach(function (row) { body.appendChild(row); });
    });
  }

  function rounding(table, decimals) {
    var heads = $$("th[data-column]", table);
    $$("tbody tr:not(.section)", table).forEach(function (row) {
      heads.forEach(function (head, place) {
        var cell = row.cells[place + 1], value = cell.dataset.value;
        if (value === undefined || head.dataset.sum) return;
        var text = fixed(+value, decimals);
        if (table.dataset.zero) text = text.replace(/^(-?)0\./, "$1.");
        ($("b", cell) || cell).firstChild.data = minus(text);
      });
    });
  }

  function hiding(table, place, shown) {
    var head = $('th[data-column="' + place + '"]', table);
    head.hidden = !shown;
    $$("tbody tr:not(.section)", table).forEach(function (row) { row.cells[place + 1].hidden = !shown; });
    var groups = $$("thead tr:first-child > [colspan]", table), at = 0;
    groups.forEach(function (group) {
      var span = +(group.dataset.span || (group.dataset.span = group.colSpan));
      var left = $$("th[data-column]", table).slice(at, at + span).filter(function (one) { return !one.hidden; });
      group.hidden = !left.length;
      group.colSpan = left.length || 1;
      at += span;
    });
  }

  function preparing(table) {
    $$("th[data-column]", table).forEach(function (head) {
      $("button", head).addEventListener("click", function () { sorting(head); });
      var mark = document.createElement("input"), label = document.createElement("label");
      mark.type = "checkbox"; mark.checked = true;
      var group = $$("thead tr:first-child > th.group", table).length ? " " + (+head.dataset.column + 1) : "";
      label.append(mark, " " + head.textContent + group);
      mark.addEventListener("change", function () { hiding(table, +head.dataset.column, mark.checked); });
      $("#columns").append(label);
    });
    for (var n = 0; n <= 6; n++) $("#decimals").append(new Option(n, n));
    var some = $("tbody td[data-value]", table), first = $$("th[data-column]", table).find(function (h) { return !h.dataset.sum; });
    var text = some && first ? $("tbody tr:not(.section)", table).cells[+first.dataset.column + 1].textContent : "0.000";
    $("#decimals").value = (/\.(\d*)/.exec(text) || ["", "000"])[1].length;
    $("#decimals").addEventListener("change", function () { rounding(table, +this.value); });
  }

  var results = $("table.results");
  $$(".tools").forEach(function (one) { one.hidden = false; });
  if (results) preparing(results);
  $$("figure").forEach(function (one) {
    var button = document.createElement("button");
    button.type = "button"; button.textContent = "Save SVG";
    button.addEventListener("click", function () { saving($("svg", one)); });
    if ($("svg", one)) $("figcaption", one).append(button);
  });

  // A figure by itself carries its colours, which the page has in its style sheet.
  function saving(svg) {
    var copy = svg.cloneNode(true), from = $$("*", svg), keep = ["fill", "stroke", "stroke-width", "font-size", "font-family"];
    $$("*", copy).forEach(function (one, at) {
      var style = getComputedStyle(from[at]);
      keep.forEach(function (name) { one.setAttribute(name, style.getPropertyValue(name)); });
    });
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    var link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([copy.outerHTML], { type: "image/svg+xml" }));
    link.download = svg.id + ".svg";
    link.click();
  }

  /* ---- the data ---- */

  var block = $("#data");
  if (!block || !window.DecompressionStream) return;
  var packed = atob(block.textContent), bytes = new Uint8Array(packed.length);
  for (var at = 0; at < packed.length; at++) bytes[at] = packed.charCodeAt(at);
  new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json().then(begin);

  function begin(D) {
    var S = { place: +Object.keys(D.values)[0], a: (D.pair || [0, 0])[0], b: (D.pair || [0, 0])[1], topic: -1, from: 0, to: 1e9 };
    var tip = document.createElement("div");
    tip.className = "tip"; tip.hidden = true; tip.setAttribute("aria-hidden", "true");
    document.body.append(tip);

    function column() { return D.columns[S.place]; }
    function qids() { return D.topics[column().group]; }
    function query(t) { return (D.queries[column().group] || [])[t] || ""; }
    function values(row) { return D.values[S.place][row]; }
    function number(v, signed) { return (signed && v > 0 ? "+" : "") + minus(fixed(v, D.decimals)); }
    function four(v) { return minus(String(+v.toPrecision(4))); }

    /* drawing */
    function node(name, attributes, text) {
      var one = document.createElementNS("http://www.w3.org/2000/svg", name);
      for (var key in attributes) one.setAttribute(key, attributes[key]);
      if (text !== undefined) one.textContent = text;
      return one;
    }
    function line(svg, x1, y1, x2, y2, role) { svg.append(node("line", { x1: x1, y1: y1, x2: x2, y2: y2, "class": role })); }
    function label(svg, x, y, text, anchor, turn) {
      var a = { x: x, y: y, "class": "tick", "text-anchor": anchor || "start", dy: ".35em" };
      if (turn) a.transform = "rotate(" + turn + " " + x + " " + y + ")";
      svg.append(node("text", a, text));
    }
    function cut(text, most) { return text.length <= most ? text : text.slice(0, most - 1) + "…"; }
    function empty(id, width, height, title) {
      var old = document.getElementById(id), svg = node("svg", {
        id: id, "class": "fig", width: width, height: height, viewBox: "0 0 " + width + " " + height, role: "img", "aria-label": title });
      old.replaceWith(svg);
      return svg;
    }
    function ticks(low, high, most) {
      var raw = (high - low) / (most - 1), power = Math.pow(10, Math.floor(Math.log10(raw))), found = [];
      var step = [1, 2, 5, 10].map(function (n) { return n * power; }).find(function (n) { return n >= raw * (1 - 1e-9); });
      for (var n = Math.ceil(low / step - 1e-9); n <= Math.floor(high / step + 1e-9); n++) found.push(+(n * step).toPrecision(12));
      return found;
    }
    function pointing(svg, find, choose) {
      svg.addEventListener("pointermove", function (event) {
        var found = find(event);
        tip.hidden = !found;
        if (!found) return;
        tip.textContent = found.text;
        tip.style.left = Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 8) + "px";
        tip.style.top = event.clientY + 16 + "px";
      });
      svg.addEventListener("pointerleave", function () { tip.hidden = true; });
      svg.addEventListener("click", function (event) { var found = find(event); if (found) choose(found.topic); });
    }
    function caption(svg, text) {
      var head = $("figcaption", svg.closest("figure"));
      head.firstChild.data = text;
      $(".scroll", svg.closest("figure")).setAttribute("aria-label", text);
    }

    /* topics and systems */
    function drawnTopics(rows) {
      var T = qids().length, sign = column().higher ? 1 : -1, mean = [], spread = [], order = [];
      for (var t = 0; t < T; t++) {
        var all = rows.map(function (r) { return values(r)[t]; });
        mean.push(all.reduce(function (x, y) { return x + y; }, 0) / all.length);
        spread.push(Math.max.apply(null, all) - Math.min.apply(null, all));
        order.push(t);
      }
      order.sort(function (x, y) { return sign * (mean[x] - mean[y]) || x - y; });
      if (T <= 100) return order;
      var hard = new Set(order.slice(0, 50));
      order.filter(function (t) { return !hard.has(t); })
        .sort(function (x, y) { return spread[y] - spread[x]; }).slice(0, 50).forEach(function (t) { hard.add(t); });
      return order.filter(function (t) { return hard.has(t); });
    }
    function drawMap() {
      if (!$("#topics-map")) return;
      var rows = D.names.map(function (_, r) { return r; }).filter(function (r) { return values(r); }).slice(0, 200);
      var topics = drawnTopics(rows), wide = rows.length <= 8 ? 52 : rows.length <= 30 ? 26 : 12, high = 18;
      var texts = topics.map(function (t) { return (qids()[t] + "  " + query(t)).trim(); });
      var most = function (list, n) { return 7.1 * Math.max.apply(null, list.map(function (x) { return Math.min(x.length, n); })); };
      var names = rows.map(function (r) { return D.names[r]; });
      var left = most(texts, 56) * .92 + 14, top = Math.min(most(names, 22) * .87 + 22, 150), low = 0, up = 1;
      rows.forEach(function (r) { topics.forEach(function (t) { low = Math.min(low, values(r)[t]); up = Math.max(up, values(r)[t]); }); });
      var title = "Heat map of " + topics.length + " topics and " + rows.length + " systems on " + column().title;
      var svg = empty("topics-map", Math.round(left + wide * rows.length + 90), Math.round(top + high * topics.length + 34), title), paths = {};
      topics.forEach(function (t, i) {
        rows.forEach(function (r, j) {
          var step = Math.min(8, Math.floor((values(r)[t] - low) / (up - low) * 9));
          paths[step] = (paths[step] || "") + "M" + (left + wide * j) + " " + (top + high * i) + "h" + (wide - 1) + "v17h" + (1 - wide) + "z";
        });
        label(svg, left - 8, top + high * (i + .5), cut(texts[i], 56), "end");
      });
      for (var step in paths) svg.append(node("path", { d: paths[step], "class": "heat" + step }));
      names.forEach(function (name, j) { label(svg, left + wide * (j + .5), top - 8, cut(name, 22), "start", -60); });
      var foot = top + high * topics.length + 20;
      for (var k = 0; k < 9; k++) svg.append(node("rect", { x: left + 14 * k, y: foot - 5, width: 14, height: 10, "class": "heat" + k }));
      label(svg, left - 6, foot, four(low), "end"); label(svg, left + 132, foot, four(up));
      var chosen = topics.indexOf(S.topic);
      if (chosen >= 0) svg.append(node("rect", { x: left - 1, y: top + high * chosen - 1, width: wide * rows.length + 1, height: high + 1, "class": "chosen" }));
      pointing(svg, function (event) {
        var box = svg.getBoundingClientRect(), i = Math.floor((event.clientY - box.top - top) / high), j = Math.floor((event.clientX - box.left - left) / wide);
        if (i < 0 || i >= topics.length || j >= rows.length) return null;
        var t = topics[i], name = (qids()[t] + " " + query(t)).trim();
        return { topic: t, text: j < 0 ? name : name + " · " + names[j] + ": " + four(values(rows[j])[t]) };
      }, choose);
      caption(svg, column().title);
    }

    function drawPair() {
      if (!$("#compare-bars") || !values(S.a) || !values(S.b)) return;
      var a = values(S.a), b = values(S.b), A = D.names[S.a], B = D.names[S.b], T = a.length;
      var differ = a.map(function (v, t) { return b[t] - v; }), order = differ.map(function (_, t) { return t; });
      order.sort(function (x, y) { return differ[y] - differ[x] || x - y; });
      $("#from").max = $("#to").max = T - 1;
      S.to = Math.min(S.to, T - 1); S.from = Math.min(S.from, S.to);
      $("#from").value = S.from; $("#to").value = S.to;
      var inside = {};
      order.slice(S.from, S.to + 1).forEach(function (t) { inside[t] = true; });
      var faint = function (t) { return inside[t] ? "" : " faint"; };
      var told = function (t) { return { topic: t, text: (qids()[t] + " " + query(t)).trim() + ": " + A + " " + four(a[t]) + ", " + B + " " + four(b[t]) }; };
      var roles = column().higher ? ["up", "down"] : ["down", "up"];

      var svg = empty("compare-bars", 616, 246, "Differences of " + T + " topics: " + B + " less " + A);
      var reach = Math.max.apply(null, differ.map(Math.abs)) || .1, slot = 560 / T;
      var y = function (v) { return 120 - v / reach * 110; };
      ticks(-reach, reach, 5).forEach(function (v) {
        line(svg, 46, y(v), 606, y(v), v ? "grid" : "axis");
        label(svg, 40, y(v), (v > 0 ? "+" : "") + minus(String(v)), "end");
      });
      var all = {}, gap = Math.min(1, slot * .2);
      order.forEach(function (t, n) {
        var v = differ[t], role = (v > 0 ? roles[0] : v < 0 ? roles[1] : "axis") + faint(t), top = Math.min(y(v), 120);
        all[role] = (all[role] || "") + "M" + (46 + slot * n + gap / 2).toFixed(2) + " " + top.toFixed(1) + "h" + (slot - gap).toFixed(2) +
          "v" + Math.max(Math.abs(y(v) - 120), .6).toFixed(1) + "h" + (gap - slot).toFixed(2) + "z";
        if (t === S.topic) svg.append(node("rect", { x: 46 + slot * n - 1, y: 10, width: Math.max(slot, 2) + 2, height: 220, "class": "chosen" }));
      });
      for (var role in all) svg.append(node("path", { d: all[role], "class": role }));
      pointing(svg, function (event) {
        var n = Math.floor((event.clientX - svg.getBoundingClientRect().left - 46) / slot);
        return n >= 0 && n < T ? told(order[n]) : null;
      }, choose);
      caption(svg, B + " less " + A + ", " + column().title);

      svg = empty("compare-dots", 320, 310, T + " topics: " + B + " over " + A);
      var low = Math.min.apply(null, [0].concat(a, b)), high = Math.max.apply(null, [low + 1e-9].concat(a, b));
      var at = function (v) { return (v - low) / (high - low) * 260; };
      ticks(low, high, 5).forEach(function (v) {
        line(svg, 46 + at(v), 10, 46 + at(v), 270, "grid"); line(svg, 46, 270 - at(v), 306, 270 - at(v), "grid");
        label(svg, 46 + at(v), 282, minus(String(v)), "middle"); label(svg, 40, 270 - at(v), minus(String(v)), "end");
      });
      line(svg, 46, 270, 306, 10, "axis");
      order.slice(0, 2000).forEach(function (t) {
        var won = (b[t] > a[t]) === column().higher, role = a[t] === b[t] ? "none" : won ? "better" : "worse";
        var dot = node("circle", { cx: 46 + at(a[t]), cy: 270 - at(b[t]), r: 4, "class": role + faint(t) });
        dot.topic = t;
        svg.append(dot);
        if (t === S.topic) svg.append(node("circle", { cx: 46 + at(a[t]), cy: 270 - at(b[t]), r: 9, "class": "chosen" }));
      });
      label(svg, 176, 298, cut(A, 40), "middle"); label(svg, 10, 140, cut(B, 40), "middle", -90);
      pointing(svg, function (event) { return event.target.topic === undefined ? null : told(event.target.topic); }, choose);
      caption(svg, B + " over " + A + ", " + column().title);

      var some = order.slice(S.from, S.to + 1), mean = function (list) { return some.reduce(function (x, t) { return x + list[t]; }, 0) / some.length; };
      var which = some.length === T ? "All " + T + " topics" : some.length + " of " + T + " topics, chosen after looking and not tested";
      $("#brushed").textContent = which + ": mean " + column().title + " " + number(mean(a)) + " with " + A + ", " + number(mean(b)) + " with " + B +
        " (" + number(mean(b) - mean(a), true) + ").";
    }

    /* the hits of a topic */
    function quoted(text) {
      var words = new Set(query(S.topic).toLowerCase().match(/[\p{L}\p{N}]+/gu) || []);
      var span = document.createElement("span");
      span.className = "snippet";
      text.split(/([\p{L}\p{N}]+)/u).forEach(function (part) {
        var one = part.length > 3 && words.has(part.toLowerCase()) ? document.createElement("mark") : null;
        if (one) one.textContent = part;
        span.append(one || part);
      });
      return span;
    }
    function hits(mine, other, grades, name, second) {
      var box = document.createElement("div"), head = document.createElement("h3"), list = document.createElement("ol"), filter = $("#filter").value;
      head.textContent = name;
      mine.forEach(function (d, at) {
        var grade = grades[d], there = other.indexOf(d), item = document.createElement("li");
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
        if (D.snippets[d]) item.append(quoted(D.snippets[d]));
        list.append(item);
      });
      box.append(head, list);
      return box;
    }
    function drawHits() {
      var box = $("#diff"), lists = box && D.hits && D.hits.lists[column().group];
      if (!lists || S.topic < 0 || !lists[S.a] || !lists[S.b]) return;
      var left = lists[S.a][S.topic], right = lists[S.b][S.topic], grades = D.hits.grades[column().group][S.topic];
      var tall = 34 * Math.max(left.length, right.length, 1);
      box.replaceChildren(hits(left, right, grades, D.names[S.a]), node("svg", { id: "hits-lines" }), hits(right, left, grades, D.names[S.b], true));
      var svg = empty("hits-lines", 90, tall, "Lines between the same documents of " + D.names[S.a] + " and " + D.names[S.b]);
      svg.setAttribute("preserveAspectRatio", "none");
      left.forEach(function (d, i) {
        var j = right.indexOf(d);
        if (j >= 0) line(svg, 0, 34 * (i + .5), 90, 34 * (j + .5), i === j ? "join" : j < i ? "join-up" : "join-down");
      });
      $("#query b").textContent = ("Topic " + qids()[S.topic] + "  " + query(S.topic)).trim();
    }

    /* topics by contrast */
    function overlap(x, y) {
      var seen = [new Set(), new Set()], shared = 0, score = 0, most = 0, weight = 1;
      for (var n = 0; n < D.hits.depth; n++) {
        [x, y].forEach(function (list, side) {
          if (n < list.length) { if (seen[1 - side].has(list[n])) shared++; seen[side].add(list[n]); }
        });
        score += weight * shared / (n + 1); most += weight; weight *= .9;
      }
      return score / most;
    }
    function tauAP(x, y) {
      var order = y.map(function (d) { return x.indexOf(d); }).filter(function (at) { return at >= 0; }), right = 0;
      for (var i = 1; i < order.length; i++) right += order.slice(0, i).filter(function (above) { return above < order[i]; }).length / i;
      return order.length < 2 ? NaN : 2 * right / (order.length - 1) - 1;
    }
    function drawContrasts() {
      var body = $("#contrasts tbody"), lists = body && D.hits && D.hits.lists[column().group];
      if (!lists || !lists[S.a] || !lists[S.b] || !values(S.a) || !values(S.b)) return;
      var all = lists[S.a].map(function (x, t) { return [overlap(x, lists[S.b][t]), t]; });
      all.sort(function (x, y) { return x[0] - y[0] || x[1] - y[1]; });
      body.replaceChildren.apply(body, all.slice(0, 12).map(function (one) {
        var t = one[1], x = lists[S.a][t], y = lists[S.b][t], tau = tauAP(x, y), row = document.createElement("tr");
        var head = document.createElement("th"), link = document.createElement("a");
        head.scope = "row"; link.textContent = (qids()[t] + "  " + query(t)).trim(); link.href = "#hits";
        link.addEventListener("click", function (event) { event.preventDefault(); choose(t); $("#hits").scrollIntoView(); });
        head.append(link); row.append(head);
        [number(values(S.b)[t] - values(S.a)[t], true), fixed(one[0], 2), isNaN(tau) ? "–" : minus(fixed(tau, 2)),
          x.filter(function (d) { return y.indexOf(d) >= 0; }).length].forEach(function (text) { row.insertCell().textContent = text; });
        return row;
      }));
    }

    /* choices, and the address that keeps them */
    function topicChoices() {
      var list = $("#topic");
      if (!list || list.dataset.group === column().group) return;
      list.dataset.group = column().group;
      list.replaceChildren.apply(list, qids().map(function (q, t) { return new Option(cut((q + " " + query(t)).trim(), 70), t); }));
    }
    function show() {
      topicChoices();
      if (S.topic < 0 && values(S.a) && values(S.b)) {
        S.topic = 0;
        values(S.a).forEach(function (v, t) { if (Math.abs(values(S.b)[t] - v) > Math.abs(values(S.b)[S.topic] - values(S.a)[S.topic])) S.topic = t; });
      }
      [["#system-a", S.a], ["#system-b", S.b], ["#heat-measure", S.place], ["#compare-measure", S.place], ["#topic", S.topic]]
        .forEach(function (one) { if ($(one[0])) $(one[0]).value = one[1]; });
      drawMap(); drawPair(); drawHits(); drawContrasts();
    }
    function keep() {
      var parts = new URLSearchParams();
      if (S.topic >= 0) parts.set("topic", qids()[S.topic]);
      parts.set("a", D.names[S.a]); parts.set("b", D.names[S.b]); parts.set("measure", column().title);
      history.replaceState(null, "", "#" + parts);
    }
    function choose(topic) { S.topic = topic; show(); keep(); }
    function follow() {
      if (location.hash.indexOf("=") < 0) return;
      var parts = new URLSearchParams(location.hash.slice(1));
      var find = function (list, name, old) { var at = list.indexOf(name); return at < 0 ? old : at; };
      var place = find(D.columns.map(function (c) { return c.title; }), parts.get("measure"), S.place);
      if (place in D.values) S.place = place;
      S.a = find(D.names, parts.get("a"), S.a); S.b = find(D.names, parts.get("b"), S.b);
      S.topic = find(qids(), parts.get("topic"), S.topic);
    }
    function on(query, key, then) {
      var one = $(query);
      if (one) one.addEventListener("input", function () { S[key] = +one.value; if (then) then(); show(); keep(); });
    }
    function newMeasure() { if (S.topic >= qids().length) S.topic = -1; S.from = 0; S.to = 1e9; }
    on("#system-a", "a"); on("#system-b", "b"); on("#topic", "topic");
    on("#heat-measure", "place", newMeasure); on("#compare-measure", "place", newMeasure);
    on("#from", "from", function () { S.to = Math.max(S.from, S.to); });
    on("#to", "to", function () { S.from = Math.min(S.from, S.to); });
    [["#previous", -1], ["#next", 1]].forEach(function (one) {
      if ($(one[0])) $(one[0]).addEventListener("click", function () { choose((S.topic + one[1] + qids().length) % qids().length); });
    });
    if ($("#filter")) $("#filter").addEventListener("input", drawHits);
    $$("[data-copy]").forEach(function (button) {
      button.addEventListener("click", function () {
        var text = D.copies[button.dataset.copy], done = function () { $("#copied").textContent = button.textContent.replace("Copy ", "") + " copied"; };
        navigator.clipboard.writeText(text).then(done, function () {
          var area = document.createElement("textarea");
          area.value = text; document.body.append(area); area.select();
          document.execCommand("copy"); area.remove(); done();
        });
      });
    });
    addEventListener("hashchange", function () { follow(); show(); });
    if (Object.keys(D.values).length) { follow(); show(); }
    document.documentElement.dataset.ready = "yes";
    if (location.hash.indexOf("topic=") > 0 && $("#hits")) $("#hits").scrollIntoView();
  }
})();

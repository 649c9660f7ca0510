"""The style sheet and the few lines of script of the HTML page."""

CSS = """
:root { color-scheme: light dark; --ink: #1b1b1b; --soft: #5c5c5c; --line: #d5d5d5;
  --paper: #fff; --tint: #f4f5f7; --good: #1a7f4b; --bad: #b3372b; --same: #1f6f9f; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e6; --soft: #a3a3a3; --line: #3c3f44;
  --paper: #17191c; --tint: #212429; --good: #5bc98c; --bad: #ee8277; --same: #74bce6; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", "Liberation Sans", sans-serif; }
main { max-width: 72rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 1.25rem; }
h2 { font-size: 1.15rem; margin: 2.5rem 0 .75rem; }
h3 { font-size: 1rem; margin: 1.5rem 0 .5rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; }
table.results { border-block: 2px solid var(--ink); font-variant-numeric: tabular-nums; }
.results th, .results td { padding: .3rem .75rem; text-align: left; vertical-align: top;
  white-space: nowrap; }
.results thead th { vertical-align: bottom; text-align: center; font-weight: 600;
  white-space: normal; }
.results thead th:first-child { text-align: left; }
.results thead tr:last-child { border-bottom: 1px solid var(--ink); }
.results th.group { border-bottom: 1px solid var(--line); }
.results tbody th { font-weight: 400; }
.results tbody tr:hover { background: var(--tint); }
.results .section th { font-style: italic; padding-top: .8rem; color: var(--soft); }
.results .section:hover { background: none; }
.results thead th[data-column] { cursor: pointer; }
.results thead th[aria-sort=descending]::after { content: " ▾"; }
.results thead th[aria-sort=ascending]::after { content: " ▴"; }
sup { line-height: 0; font-size: .78em; font-weight: 600; }
.better { color: var(--good); } .worse { color: var(--bad); } .equivalent { color: var(--same); }
.detail { display: block; font-size: .8rem; color: var(--soft); }
.notes { color: var(--soft); font-size: .88rem; max-width: 60rem; margin: .75rem 0; }
.notes p { margin: .2rem 0; }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr));
  gap: 1rem 1.5rem; }
figure { margin: 0; break-inside: avoid; display: flex; flex-direction: column; }
figcaption { flex: 1; font-size: .88rem; overflow-wrap: anywhere; }
figcaption small { color: var(--soft); display: block; }
svg { width: 100%; height: auto; display: block; }
svg text { font-size: 8px; fill: var(--soft); text-anchor: end; dominant-baseline: middle; }
.axis { stroke: var(--ink); stroke-width: .6; } .grid { stroke: var(--line); stroke-width: .5; }
.up { fill: var(--good); } .down { fill: var(--bad); }
.turned .up { fill: var(--bad); } .turned .down { fill: var(--good); }
rect:hover { opacity: .6; }
.facts th, .facts td { text-align: left; vertical-align: top; padding: .2rem 1rem .2rem 0;
  border-bottom: 1px solid var(--line); font-size: .88rem; }
.facts th { font-weight: 400; color: var(--soft); white-space: nowrap; }
.facts td { overflow-wrap: anywhere; font-family: ui-monospace, "Liberation Mono", monospace;
  font-size: .8rem; white-space: pre-wrap; }
@page { size: A4; margin: 15mm; }
@media print {
  :root { color-scheme: light; --ink: #000; --soft: #444; --line: #bbb; --paper: #fff;
    --good: #1a7f4b; --bad: #b3372b; --same: #1f6f9f; }
  body { font-size: 9.5pt; } main { padding: 0; max-width: none; }
  .wide { overflow: visible; } .results th, .results td { padding: .15rem .35rem; }
  .results.many { font-size: 7pt; } .results tr { break-inside: avoid; }
  .charts { grid-template-columns: repeat(3, 1fr); gap: .5rem .75rem; }
  h2, h3 { break-after: avoid; } rect, polygon { print-color-adjust: exact; }
}
"""

SCRIPT = """
document.querySelectorAll("th[data-column]").forEach(function (head) {
  head.addEventListener("click", function () {
    var down = head.getAttribute("aria-sort") !== "descending";
    head.closest("thead").querySelectorAll("[aria-sort]").forEach(function (other) {
      other.removeAttribute("aria-sort");
    });
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    var place = Number(head.dataset.column);
    function value(row) { var v = row.cells[place + 1].dataset.value; return v ? +v : -Infinity; }
    head.closest("table").querySelectorAll("tbody").forEach(function (body) {
      Array.from(body.querySelectorAll("tr:not(.section)"))
        .sort(function (a, b) { return (down ? 1 : -1) * (value(b) - value(a)); })
        .forEach(function (row) { body.appendChild(row); });
    });
  });
});
"""

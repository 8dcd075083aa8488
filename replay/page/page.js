"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const policies = data.policies;
  // Okabe and Ito's colours: told apart by whoever sees fewer of them. Further policies repeat them with dashes.
  const palette = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a6d3b", "#7f7f7f"];
  const colour = i => palette[i % palette.length];
  const dash = i => ["", "6 3", "2 3", "8 3 2 3"][Math.floor(i / palette.length) % 4];
  const states = {
    Pending: "#c9d1d8", Launching: "#b8c4ce", Joining: "#8fa3b5", Starting: "#5d7fa3", Ready: "#009e73",
    Draining: "#e69f00", Releasing: "#d55e00", Failed: "#b3262a",
  };
  const $ = id => document.getElementById(id);
  const tip = $("tip");

  // ---- time ----
  const all = extent();
  let from = all[0], to = all[1];

  function extent() {
    let lo = Infinity, hi = -Infinity;
    for (const p of policies) {
      if (!p.moments.at) continue;
      lo = Math.min(lo, p.moments.at[0]);
      hi = Math.max(hi, p.moments.at[p.moments.at.length - 1]);
    }
    return lo < hi ? [lo, hi] : [0, 1];
  }

  function zoom(a, b) {
    const least = Math.max((all[1] - all[0]) / 1e6, 0.01);
    if (b - a < least) { const middle = (a + b) / 2; a = middle - least / 2; b = middle + least / 2; }
    from = Math.max(all[0], a);
    to = Math.min(all[1], b);
    draw();
  }

  function span(s) {
    const sign = s < 0 ? "-" : "";
    s = Math.abs(s);
    if (!s) return "0";
    if (s < 1) return sign + Math.round(s * 1000) + "ms";
    if (s < 60) return sign + +s.toFixed(s < 10 ? 2 : 1) + "s";
    const d = Math.floor(s / 86400), h = Math.floor(s / 3600) % 24, m = Math.floor(s / 60) % 60, r = Math.round(s % 60);
    const parts = d ? [d + "d", h && h + "h", m && m + "m"] : h ? [h + "h", m && m + "m", r && r + "s"] : [m + "m", r && r + "s"];
    return sign + parts.filter(Boolean).join("");
  }

  const steps = [0.001, 0.01, 0.1, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800,
    432000, 864000, 2592000, 8640000];

  function timeTicks(width) {
    const want = (to - from) / Math.max(2, width / 110);
    const step = steps.find(s => s >= want) || steps[steps.length - 1];
    const ticks = [];
    for (let t = Math.ceil((from - all[0]) / step) * step; t <= to - all[0] + 1e-9; t += step) ticks.push(all[0] + t);
    return ticks;
  }

  // ticksIn are about count round values between two.
  function ticksIn(lo, hi, count) {
    const raw = (hi - lo) / count || 1, power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map(f => f * power).find(s => s >= raw);
    const ticks = [];
    for (let n = Math.ceil(lo / step - 1e-9); n * step <= hi * (1 + 1e-9); n++) ticks.push(+(n * step).toPrecision(12));
    return ticks;
  }

  // ---- drawing ----
  const SVG = "http://www.w3.org/2000/svg";
  function node(parent, name, attributes, text) {
    const e = document.createElementNS(SVG, name);
    for (const k in attributes) e.setAttribute(k, attributes[k]);
    if (text !== undefined) e.textContent = text;
    parent.append(e);
    return e;
  }

  const left = 56, right = 16, top = 10, bottom = 22;

  function canvasOf(chart, height) {
    chart.replaceChildren();
    const width = Math.max(320, chart.clientWidth);
    const svg = node(chart, "svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img" });
    return { svg, width, height, x0: left, x1: width - right, y0: height - bottom, y1: top };
  }

  function yAxis(c, most, write) {
    for (const v of ticksIn(0, most, 4)) {
      const y = c.y0 - v / most * (c.y0 - c.y1);
      node(c.svg, "line", { class: "grid", x1: c.x0, x2: c.x1, y1: y, y2: y });
      node(c.svg, "text", { x: c.x0 - 7, y: y + 4, "text-anchor": "end" }, write ? write(v) : v.toLocaleString("en"));
    }
  }

  const timeX = c => t => c.x0 + (t - from) / (to - from) * (c.x1 - c.x0);

  function timeAxis(c) {
    const x = timeX(c);
    for (const t of timeTicks(c.x1 - c.x0)) {
      node(c.svg, "line", { class: "grid", x1: x(t), x2: x(t), y1: c.y1, y2: c.y0 });
      node(c.svg, "text", { x: x(t), y: c.y0 + 15, "text-anchor": "middle" }, span(t - all[0]));
    }
  }

  // at is the index of the last moment that is not after t; -1 before the first.
  function at(times, t) {
    let lo = 0, hi = times.length;
    while (lo < hi) {
      const mid = (lo + hi) >> 1;
      if (times[mid] <= t) lo = mid + 1; else hi = mid;
    }
    return lo - 1;
  }

  // steppath is a line that stays where it is until the next moment.
  function steppath(c, moments, values, most, closed) {
    const x = timeX(c), y = v => c.y0 - v / most * (c.y0 - c.y1);
    const first = Math.max(0, at(moments.at, from));
    let d = "", last = 0;
    for (let i = first; i < values.length && moments.at[i] <= to; i++) {
      const px = Math.max(c.x0, x(moments.at[i])).toFixed(2);
      d += d ? `H${px}V${y(values[i]).toFixed(2)}` : `M${px},${y(closed ? 0 : values[i]).toFixed(2)}V${y(values[i]).toFixed(2)}`;
      last = i;
    }
    if (!d) return "";
    const end = last === values.length - 1 ? Math.min(c.x1, x(moments.at[last])) : c.x1;
    d += `H${end.toFixed(2)}`;
    return closed ? d + `V${c.y0}Z` : d;
  }

  function mostIn(moments, values) {
    let most = 0;
    for (let i = Math.max(0, at(moments.at, from)); i < values.length && moments.at[i] <= to; i++) most = Math.max(most, values[i]);
    return most;
  }

  const drawn = () => policies.map((p, i) => [p, i]).filter(([p]) => p.moments.at);

  function timed(id, lines, read) {
    const chart = $(id), c = canvasOf(chart, 170);
    let most = 1;
    for (const [p] of drawn()) for (const l of lines) most = Math.max(most, mostIn(p.moments, p.moments[l.of]));
    yAxis(c, most);
    timeAxis(c);
    for (const l of lines) {
      for (const [p, i] of drawn()) {
        const d = steppath(c, p.moments, p.moments[l.of], most, l.area);
        if (!d) continue;
        node(c.svg, "path", l.area
          ? { d, fill: colour(i), "fill-opacity": drawn().length > 1 ? 0.12 : 0.2 }
          : { d, fill: "none", stroke: colour(i), "stroke-width": 1.6, "stroke-dasharray": dash(i) });
      }
    }
    follow(c, t => `${span(t - all[0])}\n` + drawn().map(([p]) => {
      const i = at(p.moments.at, t);
      return i < 0 ? "" : `${p.name}: ${read(p.moments, i)}`;
    }).filter(Boolean).join("\n"));
  }

  // follow zooms a chart by dragging and by the wheel, and tells what is under the pointer.
  function follow(c, tell) {
    const when = e => {
      const box = c.svg.getBoundingClientRect(), x = (e.clientX - box.left) / box.width * c.width;
      return from + Math.min(1, Math.max(0, (x - c.x0) / (c.x1 - c.x0))) * (to - from);
    };
    const cross = node(c.svg, "line", { class: "cross", y1: c.y1, y2: c.y0, visibility: "hidden" });
    const mark = node(c.svg, "rect", { class: "drag", y: c.y1, height: c.y0 - c.y1, visibility: "hidden" });
    node(c.svg, "rect", { x: c.x0, y: c.y1, width: c.x1 - c.x0, height: c.y0 - c.y1, fill: "transparent" });
    let start = null;
    c.svg.onpointerdown = e => { start = when(e); c.svg.setPointerCapture(e.pointerId); };
    c.svg.onpointermove = e => {
      const t = when(e), x = timeX(c)(t);
      cross.setAttribute("x1", x);
      cross.setAttribute("x2", x);
      cross.setAttribute("visibility", "visible");
      if (start !== null) {
        const x0 = timeX(c)(start);
        mark.setAttribute("x", Math.min(x, x0));
        mark.setAttribute("width", Math.abs(x - x0));
        mark.setAttribute("visibility", "visible");
      }
      show(e, tell(t));
    };
    c.svg.onpointerup = e => {
      const a = start, b = when(e);
      start = null;
      mark.setAttribute("visibility", "hidden");
      if (a !== null && Math.abs(timeX(c)(a) - timeX(c)(b)) > 4) zoom(Math.min(a, b), Math.max(a, b));
    };
    c.svg.onpointerleave = () => { cross.setAttribute("visibility", "hidden"); hide(); };
    c.svg.ondblclick = () => zoom(...all);
    c.svg.addEventListener("wheel", e => wheel(e, when(e)), { passive: false });
  }

  function wheel(e, t) {
    e.preventDefault();
    const f = Math.exp(Math.sign(e.deltaY) * 0.25);
    zoom(t - (t - from) * f, t + (to - t) * f);
  }

  function show(e, text) {
    tip.textContent = text;
    tip.hidden = !text;
    const w = tip.offsetWidth, h = tip.offsetHeight;
    tip.style.left = Math.min(e.clientX + 14, innerWidth - w - 8) + "px";
    tip.style.top = (e.clientY + 18 + h > innerHeight ? e.clientY - h - 10 : e.clientY + 18) + "px";
  }
  const hide = () => { tip.hidden = true; };

  // ---- waiting against cost ----
  function tradeoff() {
    if (policies.length < 2) return;
    $("tradeoff-section").hidden = false;
    const c = canvasOf($("tradeoff"), 300);
    const costs = policies.map(p => p.cost), waits = policies.map(p => p.wait);
    const lo = Math.min(...costs), hi = Math.max(...costs), pad = (hi - lo) * 0.08 || Math.abs(hi) * 0.05 || 1;
    const most = Math.max(...waits, 0.001) * 1.08;
    const x = v => c.x0 + (v - lo + pad) / (hi - lo + 2 * pad) * (c.x1 - c.x0), y = v => c.y0 - v / most * (c.y0 - c.y1);
    yAxis(c, most, span);
    for (const v of ticksIn(lo - pad, hi + pad, 8)) {
      node(c.svg, "line", { class: "grid", x1: x(v), x2: x(v), y1: c.y1, y2: c.y0 });
      node(c.svg, "text", { x: x(v), y: c.y0 + 15, "text-anchor": "middle" }, +v.toPrecision(6));
    }
    node(c.svg, "text", { x: c.x1, y: c.y0 - 6, "text-anchor": "end" }, "cost →");
    node(c.svg, "text", { x: c.x0 + 6, y: c.y1 + 10 }, `${data.tradeoff} wait ↑`);
    const front = data.front.map(name => policies.find(p => p.name === name));
    if (front.length > 1) {
      node(c.svg, "path", { d: "M" + front.map(p => `${x(p.cost)},${y(p.wait)}`).join("L"), fill: "none", stroke: "var(--soft)", "stroke-width": 1.5 });
    }
    const labelled = [];
    policies.forEach((p, i) => {
      if (p.name === data.knee) node(c.svg, "circle", { cx: x(p.cost), cy: y(p.wait), r: 11, fill: "none", stroke: "var(--ink)", "stroke-width": 2, class: "knee" });
      const dot = node(c.svg, "circle", { cx: x(p.cost), cy: y(p.wait), r: 6, fill: colour(i), class: "policy" });
      const end = x(p.cost) > c.x1 - 140, lx = x(p.cost) + (end ? -14 : 14);
      let ly = y(p.wait) - 6;
      while (labelled.some(l => Math.abs(l[0] - lx) < 130 && Math.abs(l[1] - ly) < 12)) ly += 13;
      labelled.push([lx, ly]);
      node(c.svg, "text", { x: lx, y: ly, "text-anchor": end ? "end" : "start" }, p.name);
      dot.onpointermove = e => show(e, `${p.name}${p.name === data.knee ? " (knee)" : ""}\ncost ${p.cost.toFixed(2)}\n${data.tradeoff} wait ${span(p.wait)}\n${p.unserved} pods unserved`);
      dot.onpointerleave = hide;
    });
  }

  // ---- waits ----
  function waits() {
    const some = policies.map((p, i) => [p, i]).filter(([p]) => p.waits && p.waits.length);
    const c = canvasOf($("waits"), 220);
    if (!some.length) { node(c.svg, "text", { x: c.x0, y: 30 }, "No pod had a node."); return; }
    const least = Math.max(0.01, Math.min(...some.map(([p]) => p.waits[0])));
    const most = Math.max(...some.map(([p]) => p.waits[p.waits.length - 1]), least * 1.01);
    const log = v => Math.log(Math.max(v, least)), wide = log(most) - log(least);
    const x = v => c.x0 + (log(v) - log(least)) / wide * (c.x1 - c.x0), y = q => c.y0 - q * (c.y0 - c.y1);
    for (const q of [0, 0.25, 0.5, 0.75, 0.9, 1]) {
      node(c.svg, "line", { class: "grid", x1: c.x0, x2: c.x1, y1: y(q), y2: y(q) });
      node(c.svg, "text", { x: c.x0 - 7, y: y(q) + 4, "text-anchor": "end" }, q * 100 + "%");
    }
    let edge = -Infinity;
    for (const v of [0.01, 0.1, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 10800, 43200, 86400, 259200, 864000, 8640000]) {
      if (v < least || v > most || x(v) < edge) continue;
      edge = x(v) + 46;
      node(c.svg, "line", { class: "grid", x1: x(v), x2: x(v), y1: c.y1, y2: c.y0 });
      node(c.svg, "text", { x: x(v), y: c.y0 + 15, "text-anchor": "middle" }, span(v));
    }
    for (const [p, i] of some) {
      const n = p.waits.length - 1, d = "M" + p.waits.map((w, q) => `${x(w).toFixed(2)},${y(q / n).toFixed(2)}`).join("L");
      node(c.svg, "path", { d, fill: "none", stroke: colour(i), "stroke-width": 1.8, "stroke-dasharray": dash(i) });
    }
    c.svg.onpointermove = e => {
      const box = c.svg.getBoundingClientRect(), px = (e.clientX - box.left) / box.width * c.width;
      const v = Math.exp(log(least) + Math.min(1, Math.max(0, (px - c.x0) / (c.x1 - c.x0))) * wide);
      show(e, `within ${span(v)}\n` + some.map(([p]) => `${p.name}: ${(Math.max(0, at(p.waits, v)) / (p.waits.length - 1) * 100).toFixed(1)}%`).join("\n"));
    };
    c.svg.onpointerleave = hide;
  }

  // ---- machines ----
  const box = $("lanes"), canvas = box.querySelector("canvas"), filler = box.querySelector("div"), choice = $("lane-policy");
  const labels = 150, bar = 9, thread = 5, gap = 8, mostThreads = 12;
  let rows = [];

  // threads gives each pod of a lane the first line that is free when it comes.
  function threads(pods) {
    const free = [];
    for (const p of pods) {
      let i = free.findIndex(end => end <= p[1]);
      if (i < 0) i = Math.min(free.length, mostThreads - 1);
      free[i] = p[2] < 0 ? Infinity : p[2];
      p[3] = i;
    }
    return free.length;
  }

  function choose() {
    const p = policies[+choice.value];
    rows = [];
    let y = 6;
    for (const l of (p && p.lanes) || []) {
      const h = bar + threads(l.pods || []) * thread + gap;
      rows.push({ lane: l, y, h });
      y += h;
    }
    const shown = Math.min(460, y + 18);
    box.style.height = shown + "px";
    filler.style.height = Math.max(0, y + 18 - shown) + "px";
    $("more").textContent = p && !p.hasLanes ? "Not drawn for this policy, for the size of the page."
      : p && (p.moreLanes || p.morePods) ? `${p.moreLanes} more machines and ${p.morePods} more stays of pods are not drawn.` : "";
    orders(p);
    drawLanes();
  }

  const laneX = t => labels + (t - from) / (to - from) * (box.clientWidth - labels - 4);
  const ends = s => s[2] < 0 ? all[1] : s[2];

  function drawLanes() {
    const ratio = devicePixelRatio || 1, width = box.clientWidth, height = box.clientHeight;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    canvas.style.width = width + "px";
    canvas.style.height = height + "px";
    const g = canvas.getContext("2d"), ink = getComputedStyle(document.body);
    g.scale(ratio, ratio);
    g.font = "11px system-ui, sans-serif";
    if (!rows.length) { g.fillStyle = ink.color; g.fillText("No machine.", 12, 24); return; }
    g.fillStyle = "#8884";
    for (const t of timeTicks(width - labels)) g.fillRect(laneX(t), 0, 1, height);
    for (const r of rows) {
      const y = r.y - box.scrollTop;
      if (y + r.h < 0 || y > height) continue;
      drawRow(g, r.lane, y, ink.color);
    }
  }

  function drawRow(g, l, y, ink) {
    for (const s of l.states || []) stripe(g, s, y, bar, states[s[0]] || "#888");
    for (const s of l.pods || []) stripe(g, s, y + bar + 1 + s[3] * thread, thread - 1, shade(s[0]));
    g.clearRect(0, y, labels - 4, bar + 4);
    g.fillStyle = ink;
    g.fillText(l.claim.length > 22 ? l.claim.slice(0, 21) + "…" : l.claim, 8, y + bar);
  }

  function stripe(g, s, y, h, fill) {
    const a = Math.max(labels, laneX(s[1])), b = Math.min(box.clientWidth, laneX(ends(s)));
    if (b < labels || a > box.clientWidth) return;
    g.fillStyle = fill;
    g.fillRect(a, y, Math.max(b - a, 0.8), h);
  }

  // shade gives the pods of one workload one colour: their names begin alike.
  function shade(name) {
    let n = 0;
    for (const ch of name.replace(/-[a-z0-9]+$/, "")) n = (n * 31 + ch.charCodeAt(0)) >>> 0;
    return `hsl(${n % 360} 45% 55%)`;
  }

  function told(e) {
    const place = box.getBoundingClientRect(), px = e.clientX - place.left, py = e.clientY - place.top + box.scrollTop;
    const r = rows.find(r => py >= r.y && py < r.y + r.h);
    if (!r) return "";
    const l = r.lane, t = from + (px - labels) / (box.clientWidth - labels - 4) * (to - from);
    const head = `${l.claim}: ${l.shape} of pool ${l.pool}\nordered for ${reason(l)}`;
    if (px < labels) return head;
    const slack = (to - from) / box.clientWidth * 2, hit = s => s[1] - slack <= t && t <= ends(s) + slack;
    const line = Math.floor((py - r.y - bar - 1) / thread);
    const s = py < r.y + bar ? (l.states || []).find(hit) : (l.pods || []).find(s => s[3] === line && hit(s));
    return s ? `${head}\n${s[0]}: ${span(ends(s) - s[1])}, from ${span(s[1] - all[0])}` : head;
  }

  const reason = l => !l.forCount ? "the pool's minimum or spare room"
    : `${l.forCount} pod${l.forCount > 1 ? "s" : ""}: ${(l.for || []).join(", ")}${l.forCount > (l.for || []).length ? ", …" : ""}`;

  function orders(p) {
    const body = $("orders").querySelector("tbody");
    body.replaceChildren();
    for (const l of ((p && p.lanes) || []).slice(0, 500)) {
      const ready = (l.states || []).find(s => s[0] === "Ready"), row = body.insertRow();
      [span(l.states[0][1] - all[0]), l.claim, l.pool, l.shape, ready ? span(ready[1] - l.states[0][1]) : "never", reason(l)]
        .forEach((text, i) => { const cell = row.insertCell(); cell.textContent = text; if ([1, 2, 3, 5].includes(i)) cell.className = "name"; });
    }
  }

  // ---- all of it ----
  function key(text, fill) {
    const s = document.createElement("span"), i = document.createElement("i");
    i.className = "swatch";
    i.style.background = fill;
    s.append(i, text);
    return s;
  }

  function draw() {
    timed("nodes", [{ of: "nodes" }], (m, i) => `${m.nodes[i]} nodes`);
    timed("waiting", [{ of: "waiting" }], (m, i) => `${m.waiting[i]} waiting, ${m.bound[i]} on nodes`);
    timed("cores", [{ of: "room", area: true }, { of: "wanted" }], (m, i) => `${m.wanted[i].toFixed(1)} wanted, ${m.room[i].toFixed(1)} offered`);
    drawLanes();
  }

  for (const s of document.querySelectorAll("#policies .swatch")) s.style.background = colour(+s.dataset.policy);
  policies.forEach((p, i) => {
    $("legend").append(key(p.name, colour(i)));
    choice.append(new Option(p.name, i));
  });
  for (const s in states) $("states").append(key(s, states[s]));
  choice.onchange = choose;
  $("reset").onclick = () => zoom(...all);
  box.onscroll = drawLanes;
  box.onpointermove = e => show(e, told(e));
  box.onpointerleave = hide;
  box.ondblclick = () => zoom(...all);
  box.addEventListener("wheel", e => {
    if (!e.ctrlKey && !e.shiftKey) return; // the plain wheel scrolls
    const place = box.getBoundingClientRect();
    wheel(e, from + (e.clientX - place.left - labels) / (box.clientWidth - labels - 4) * (to - from));
  }, { passive: false });
  addEventListener("resize", () => { tradeoff(); waits(); draw(); });
  matchMedia("(prefers-color-scheme: dark)").onchange = drawLanes;
  tradeoff();
  waits();
  choose();
  draw();
})();

'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const byId = id => document.getElementById(id);
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const whole = new Intl.NumberFormat('en');
const words = bytes => {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
  let n = bytes, unit = 0;
  while (n >= 1024 && unit < units.length - 1) { n /= 1024; unit++; }
  return unit ? `${n.toPrecision(n < 10 ? 3 : 4)} ${units[unit]}` : `${n} B`;
};
const stepName = step => data.steps[step] ?? String(step);

/** A plan with what drawing and searching need. */
function prepared(plan) {
  // Columns that are the first plan's too are left out of the data.
  for (const column of ['buffer', 'arena', 'lower', 'upper', 'size']) plan[column] ??= data.plans[0][column];
  const count = plan.lower.length;
  plan.base = plan.offset.map((offset, i) => offset + (plan.arenas[plan.arena[i]]?.base ?? 0));
  // Colours by size class, so that equals look alike; neighbours differ a little.
  plan.hue = new Float32Array(count);
  for (let i = 0; i < count; i++) {
    plan.hue[i] = (Math.log2(plan.size[i] + 1) * 47 + (plan.buffer[i] % 7) * 6) % 360;
  }
  // The live bytes over time, by a sweep, and where they are the most.
  const events = [];
  for (let i = 0; i < count; i++) {
    events.push([plan.lower[i], plan.size[i]], [plan.upper[i], -plan.size[i]]);
  }
  // What is written in place of something else is there with it for a step: those bytes count once.
  plan.giver = new Int32Array(count).fill(-1);
  const order = Uint32Array.from({ length: count }, (_, i) => i)
    .sort((a, b) => plan.base[a] - plan.base[b] || plan.lower[a] - plan.lower[b]);
  for (let at = 1; at < count; at++) {
    const before = order[at - 1], i = order[at];
    if (plan.base[before] !== plan.base[i] || plan.upper[before] <= plan.lower[i]) continue;
    const shared = Math.min(plan.size[before], plan.size[i]);
    plan.giver[i] = before;
    events.push([plan.lower[i], -shared], [Math.min(plan.upper[before], plan.upper[i]), shared]);
  }
  events.sort((a, b) => a[0] - b[0]);
  let live = 0, peak = 0;
  plan.peak = data.first;
  events.forEach(([time, change], at) => {
    live += change;
    const last = at + 1 === events.length || events[at + 1][0] !== time;
    if (last && live > peak) { peak = live; plan.peak = time; }
  });
  plan.live = peak;
  return plan;
}

const plans = data.plans.map(prepared);
const shown = { chosen: Math.max(0, plans.findIndex(plan => plan.winner)), other: 0, beside: false };
shown.other = plans.length > 1 ? (shown.chosen ? 0 : 1) : 0;
// One window on time and address for all maps, so that they can be compared.
const span = { left: data.first, right: Math.max(data.last, data.first + 1), bottom: 0, top: 1 };
const full = { ...span };
let marked = -1, found = null;

function fit() {
  const most = Math.max(1, ...visible().map(plan => plan.bytes));
  Object.assign(full, { left: data.first, right: Math.max(data.last, data.first + 1), bottom: 0, top: most * 1.03 });
  Object.assign(span, full);
}
function visible() {
  return shown.beside ? [plans[shown.chosen], plans[shown.other]] : [plans[shown.chosen]];
}

function draw(map) {
  const { canvas, plan } = map, ratio = devicePixelRatio || 1;
  const width = canvas.clientWidth, height = canvas.clientHeight;
  if (!width || !height) return;
  if (canvas.width !== Math.round(width * ratio)) canvas.width = Math.round(width * ratio);
  if (canvas.height !== Math.round(height * ratio)) canvas.height = Math.round(height * ratio);
  const pen = canvas.getContext('2d');
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  const x = time => (time - span.left) / (span.right - span.left) * width;
  const y = address => height - (address - span.bottom) / (span.top - span.bottom) * height;
  map.time = px => span.left + px / width * (span.right - span.left);
  map.address = py => span.bottom + (height - py) / height * (span.top - span.bottom);
  const dark = isDark(), light = dark ? 46 : 68, ink = dark ? '#0b0b0b' : '#20201e';
  pen.font = '11px system-ui, sans-serif';
  pen.textBaseline = 'middle';
  let drawn = 0;
  for (let i = 0; i < plan.lower.length; i++) {
    const a = x(plan.lower[i]), b = x(plan.upper[i]);
    const c = y(plan.base[i] + plan.size[i]), d = y(plan.base[i]);
    if (b < 0 || a > width || d < 0 || c > height) continue;
    drawn++;
    const w = Math.max(b - a, 0.6), h = Math.max(d - c, 0.6);
    const dim = found && !found.has(plan.buffer[i]);
    pen.fillStyle = `hsl(${plan.hue[i]} ${dim ? 8 : 52}% ${light}% / ${dim ? 0.35 : 1})`;
    pen.fillRect(a, c, w, h);
    if (w > 3 && h > 3) {
      pen.strokeStyle = dark ? 'rgb(0 0 0 / 55%)' : 'rgb(255 255 255 / 75%)';
      pen.lineWidth = 1;
      pen.strokeRect(a + 0.5, c + 0.5, w - 1, h - 1);
    }
    if (plan.buffer[i] === marked) {
      pen.strokeStyle = css('--ink'); pen.lineWidth = 2;
      pen.strokeRect(a, c, w, h);
    }
    if (h > 13 && w > 46 && !dim) {
      const from = Math.max(a, 0) + 5, room = Math.min(b, width) - from - 4;
      if (room > 34) {
        pen.save(); pen.beginPath(); pen.rect(from, c, room, h); pen.clip();
        pen.fillStyle = ink;
        pen.fillText(data.names[plan.buffer[i]], from, (Math.max(c, 0) + Math.min(d, height)) / 2);
        pen.restore();
      }
    }
  }
  map.count.textContent = `${whole.format(drawn)} of ${whole.format(plan.lower.length)} in view`;
  // Words over the map stand on ground of their own.
  const label = (text, left, middle, colour) => {
    pen.fillStyle = css('--panel');
    pen.globalAlpha = 0.85;
    pen.fillRect(left - 3, middle - 8, pen.measureText(text).width + 6, 16);
    pen.globalAlpha = 1;
    pen.fillStyle = colour;
    pen.fillText(text, left, middle);
  };
  const rule = (address, text, colour, above) => {
    const at = y(address);
    if (at < -1 || at > height + 1) return;
    pen.strokeStyle = colour; pen.lineWidth = 1; pen.setLineDash([5, 4]);
    pen.beginPath(); pen.moveTo(0, at); pen.lineTo(width, at); pen.stroke(); pen.setLineDash([]);
    if (text) label(text, 6, at + (above ? -10 : 11), colour);
  };
  for (const arena of plan.arenas) {
    if (arena.base > 0 && plan.arenas.length < 100) rule(arena.base, '', css('--line'), true);
    if (plan.arenas.length > 1 && arena.label) {
      label(arena.label, 6, y(arena.base) - 11, css('--soft'));
    }
  }
  rule(plan.bytes, `${words(plan.bytes)}`, css('--accent'), true);
  if (plan.bound < plan.bytes) rule(plan.bound, `bound ${words(plan.bound)}`, css('--soft'), false);
  // The peak: from the first step at which the most bytes are alive.
  const at = x(plan.peak);
  if (at > -200 && at < width + 1) {
    pen.fillStyle = css('--peak');
    pen.fillRect(at, 0, Math.max(1.5, Math.min(3, x(plan.peak + 1) - at)), height);
    const text = `peak at ${stepName(plan.peak)}`, room = pen.measureText(text).width + 10;
    label(text, at + room > width ? at - room + 2 : at + 7, height - 12, css('--peak'));
  }
}

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
}

let maps = [], waiting = false;
function redraw() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => { waiting = false; maps.forEach(draw); });
}

/** The tenant under a point of a map, the smallest if there are several. */
function tenantAt(map, px, py) {
  if (!map.time) return -1;
  const { plan } = map, time = map.time(px), address = map.address(py);
  let best = -1;
  for (let i = 0; i < plan.lower.length; i++) {
    if (plan.lower[i] <= time && time < plan.upper[i]
      && plan.base[i] <= address && address < plan.base[i] + plan.size[i]
      && (best < 0 || plan.size[i] < plan.size[best])) best = i;
  }
  return best;
}

function place(event, map) {
  const tip = byId('tip'), box = map.canvas.getBoundingClientRect();
  const i = tenantAt(map, event.clientX - box.left, event.clientY - box.top);
  const before = marked;
  marked = i < 0 ? -1 : map.plan.buffer[i];
  if (marked !== before) redraw();
  if (i < 0) { tip.style.display = 'none'; return; }
  const { plan } = map, steps = plan.upper[i] - plan.lower[i];
  tip.replaceChildren();
  const line = (label, text) => {
    const row = document.createElement('div'), name = document.createElement('span');
    name.textContent = `${label} `;
    row.append(name, text);
    tip.append(row);
  };
  const head = document.createElement('b');
  head.textContent = data.names[plan.buffer[i]];
  tip.append(head);
  line('size', `${words(plan.size[i])} (${whole.format(plan.size[i])})`);
  line('alive', `${stepName(plan.lower[i])} to ${stepName(plan.upper[i] - 1)}, ${whole.format(steps)} step${steps === 1 ? '' : 's'}`);
  line('offset', `${whole.format(plan.offset[i])}${plan.arenas.length > 1 ? ` in ${plan.arenas[plan.arena[i]].label || `allocation ${plan.arena[i]}`}` : ''}`);
  tip.style.display = 'block';
  const left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
  const top = Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 8);
  tip.style.left = `${Math.max(4, left)}px`; tip.style.top = `${Math.max(4, top)}px`;
}

function limited() {
  const wide = full.right - full.left, high = full.top - full.bottom;
  const w = Math.min(Math.max(span.right - span.left, Math.min(1, wide)), wide);
  const h = Math.min(Math.max(span.top - span.bottom, Math.min(16, high)), high);
  span.left = Math.min(Math.max(span.left, full.left), full.right - w); span.right = span.left + w;
  span.bottom = Math.min(Math.max(span.bottom, full.bottom), full.top - h); span.top = span.bottom + h;
}
function zoom(factor, fx, fy, onlyTime, onlySpace) {
  const w = span.right - span.left, h = span.top - span.bottom;
  if (!onlySpace) {
    const middle = span.left + fx * w;
    span.left = middle - fx * w * factor; span.right = middle + (1 - fx) * w * factor;
  }
  if (!onlyTime) {
    const middle = span.bottom + fy * h;
    span.bottom = middle - fy * h * factor; span.top = middle + (1 - fy) * h * factor;
  }
  limited(); redraw();
}
function move(dx, dy) {
  const w = span.right - span.left, h = span.top - span.bottom;
  span.left += dx * w; span.right += dx * w; span.bottom += dy * h; span.top += dy * h;
  limited(); redraw();
}

function listen(map) {
  const { canvas } = map;
  let held = null;
  canvas.addEventListener('wheel', event => {
    event.preventDefault();
    const box = canvas.getBoundingClientRect();
    zoom(Math.exp(event.deltaY * 0.0015), (event.clientX - box.left) / box.width,
      1 - (event.clientY - box.top) / box.height, event.shiftKey, event.altKey);
  }, { passive: false });
  canvas.addEventListener('pointerdown', event => {
    held = [event.clientX, event.clientY]; canvas.setPointerCapture(event.pointerId);
    canvas.style.cursor = 'grabbing';
  });
  canvas.addEventListener('pointermove', event => {
    if (!held) return place(event, map);
    move(-(event.clientX - held[0]) / canvas.clientWidth, (event.clientY - held[1]) / canvas.clientHeight);
    held = [event.clientX, event.clientY];
  });
  const release = () => { held = null; canvas.style.cursor = 'grab'; };
  canvas.addEventListener('pointerup', release);
  canvas.addEventListener('pointercancel', release);
  canvas.addEventListener('pointerleave', () => {
    byId('tip').style.display = 'none';
    if (marked >= 0) { marked = -1; redraw(); }
  });
  canvas.addEventListener('dblclick', () => { Object.assign(span, full); redraw(); });
  canvas.addEventListener('keydown', event => {
    const keys = {
      '+': () => zoom(0.7, 0.5, 0.5), '=': () => zoom(0.7, 0.5, 0.5), '-': () => zoom(1.4, 0.5, 0.5),
      '0': () => { Object.assign(span, full); redraw(); },
      ArrowLeft: () => move(-0.1, 0), ArrowRight: () => move(0.1, 0),
      ArrowUp: () => move(0, 0.1), ArrowDown: () => move(0, -0.1),
    };
    if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
  });
}

function summary(plan) {
  const line = document.createElement('p');
  const name = document.createElement('b');
  name.textContent = plan.label;
  const over = plan.bound ? plan.bytes / plan.bound : 1;
  const verdict = document.createElement('span');
  verdict.className = plan.optimal ? 'proven' : 'open';
  verdict.textContent = plan.optimal ? 'proven minimal' : `${((over - 1) * 100).toFixed(2)} % above the bound`;
  const peak = `; peak ${whole.format(plan.live)} at ${stepName(plan.peak)}; `;
  const count = document.createElement('span');
  count.className = 'count';
  line.append(name, ` ${words(plan.bytes)} (${whole.format(plan.bytes)} bytes), `, verdict, peak, count);
  return { line, count };
}

function build() {
  const nav = byId('plans');
  nav.replaceChildren(...plans.map((plan, index) => {
    const button = document.createElement('button');
    button.append(plan.label, ' ');
    const bytes = document.createElement('small');
    bytes.textContent = words(plan.bytes);
    button.append(bytes);
    if (plan.winner) {
      const star = document.createElement('span');
      star.className = 'star'; star.textContent = ' ★'; star.title = 'the one to take';
      button.append(star);
    }
    const on = index === shown.chosen || (shown.beside && index === shown.other);
    button.setAttribute('aria-pressed', on);
    button.addEventListener('click', () => {
      if (index !== shown.chosen) shown.other = shown.chosen;
      shown.chosen = index; fit(); build();
    });
    return button;
  }));
  byId('beside').setAttribute('aria-pressed', shown.beside);
  byId('beside').hidden = plans.length < 2;
  maps = visible().map(plan => {
    const box = document.createElement('section'), canvas = document.createElement('canvas');
    box.className = 'map';
    canvas.tabIndex = 0;
    canvas.setAttribute('role', 'img');
    canvas.setAttribute('aria-label',
      `${plan.label}: ${plan.lower.length} buffers in ${words(plan.bytes)}, address over steps. Arrow keys move, plus and minus zoom.`);
    const { line, count } = summary(plan);
    box.append(line, canvas);
    const map = { plan, canvas, box, count };
    listen(map);
    return map;
  });
  byId('maps').replaceChildren(...maps.map(map => map.box));
  largest(plans[shown.chosen]);
  redraw();
}

/** The ten largest of those that are alive at the peak. */
function largest(plan) {
  byId('heading').textContent = `Largest at the peak (${stepName(plan.peak)})`;
  const alive = [];
  for (let i = 0; i < plan.lower.length; i++) {
    if (plan.lower[i] <= plan.peak && plan.peak < plan.upper[i]) alive.push(i);
  }
  const taken = new Set(alive.map(i => plan.giver[i]));
  const most = alive.filter(i => !taken.has(i)).sort((a, b) => plan.size[b] - plan.size[a]);
  byId('tenants').replaceChildren(...most.slice(0, 10).map(i => {
    const row = document.createElement('li'), button = document.createElement('button');
    const name = document.createElement('span'), facts = document.createElement('span');
    name.className = 'name'; name.textContent = name.title = data.names[plan.buffer[i]];
    facts.className = 'facts';
    const share = plan.live ? plan.size[i] / plan.live * 100 : 0;
    facts.textContent = `${words(plan.size[i])}, ${share.toFixed(1)} %, ${whole.format(plan.upper[i] - plan.lower[i])} steps`;
    if (plan.giver[i] >= 0 && plan.peak < plan.upper[plan.giver[i]]) {
      facts.textContent += `, in place of ${data.names[plan.buffer[plan.giver[i]]]}`;
    }
    button.append(name, facts);
    button.addEventListener('pointerenter', () => { marked = plan.buffer[i]; redraw(); });
    button.addEventListener('pointerleave', () => { marked = -1; redraw(); });
    button.addEventListener('click', () => {
      const w = (plan.upper[i] - plan.lower[i]) * 1.6 + 1, h = plan.size[i] * 2 + 16;
      const time = (plan.lower[i] + plan.upper[i]) / 2, address = plan.base[i] + plan.size[i] / 2;
      Object.assign(span, { left: time - w / 2, right: time + w / 2, bottom: address - h / 2, top: address + h / 2 });
      marked = plan.buffer[i]; limited(); redraw();
    });
    row.append(button);
    return row;
  }));
}

byId('title').textContent = document.title = data.title;
byId('beside').addEventListener('click', () => { shown.beside = !shown.beside; fit(); build(); });
byId('whole').addEventListener('click', () => { Object.assign(span, full); redraw(); });
byId('theme').addEventListener('click', () => {
  document.documentElement.dataset.theme = isDark() ? 'light' : 'dark'; redraw();
});
byId('find').addEventListener('input', event => {
  const word = event.target.value.trim().toLowerCase();
  found = word ? new Set(data.names.flatMap((name, i) => name.toLowerCase().includes(word) ? [i] : [])) : null;
  redraw();
});
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
addEventListener('resize', redraw);
fit();
build();

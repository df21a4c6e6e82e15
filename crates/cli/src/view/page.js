'use strict';
// What follows the hash is the secret; browsers send it to nobody, so it is put into every request.
const token = location.hash.slice(1);
const byId = id => document.getElementById(id);
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const words = bytes => {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let n = bytes, unit = 0;
  while (n >= 1024 && unit < units.length - 1) { n /= 1024; unit++; }
  return unit ? `${n.toPrecision(n < 10 ? 3 : 4)} ${units[unit]}` : `${n} B`;
};
const short = number => number === null ? '–' : Number(number.toPrecision(4)).toString();
const time = seconds => seconds < 1e-3 ? `${(seconds * 1e6).toFixed(0)} µs`
  : seconds < 1 ? `${(seconds * 1e3).toFixed(1)} ms` : `${seconds.toFixed(1)} s`;
const ask = path => fetch(path, { headers: { 'Tenure-Token': token }, cache: 'no-store' });
const sleep = milliseconds => new Promise(done => setTimeout(done, milliseconds));
const colours = { shm: '--blue', dma: '--green', mem: '--open' };
const colour = kind => css(colours[kind] ?? '--red');

/** Cards by the name of their stream. */
const cards = new Map();
/** Bytes by kind of memory, for the last two minutes. */
const past = [];
const SPAN = 120e3;
let paused = false;

/** A canvas with as many pixels as the screen has there, cleared. */
function pen(canvas) {
  const ratio = devicePixelRatio || 1;
  const width = Math.max(1, Math.round(canvas.clientWidth * ratio));
  const height = Math.max(1, Math.round(canvas.clientHeight * ratio));
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
  const context = canvas.getContext('2d');
  context.clearRect(0, 0, width, height);
  return [context, width, height];
}

function drawMemory() {
  const [context, width, height] = pen(byId('history'));
  const now = performance.now();
  const kinds = [...new Set(past.flatMap(point => Object.keys(point.kinds)))].sort();
  const sum = point => Object.values(point.kinds).reduce((all, bytes) => all + bytes, 0);
  const most = Math.max(1, ...past.map(sum)) * 1.1;
  const x = point => width * (1 - (now - point.at) / SPAN);
  const floor = past.map(() => 0);
  for (const kind of kinds) {
    const top = past.map((point, i) => floor[i] + (point.kinds[kind] ?? 0));
    context.beginPath();
    past.forEach((point, i) => context.lineTo(x(point), height * (1 - top[i] / most)));
    for (let i = past.length - 1; i >= 0; i--) context.lineTo(x(past[i]), height * (1 - floor[i] / most));
    context.closePath();
    context.fillStyle = colour(kind);
    context.fill();
    floor.splice(0, floor.length, ...top);
  }
  context.fillStyle = css('--line');
  context.fillRect(0, height - 1, width, 1);
  const last = past.at(-1);
  byId('total').textContent = last ? `${words(sum(last))} in slots` : '';
  byId('kinds').replaceChildren(...kinds.map(kind => {
    const item = document.createElement('li'), box = document.createElement('i');
    box.style.background = colour(kind);
    item.append(box, `${kind} ${words(last?.kinds[kind] ?? 0)}`);
    return item;
  }));
}

function drawHistogram(canvas, histograms) {
  const [context, width, height] = pen(canvas);
  // The largest bars are often one colour alone; the second largest tell more.
  const sorted = histograms.flat().sort((a, b) => b - a);
  const most = Math.max(1, sorted[Math.min(3, sorted.length - 1)] ?? 1);
  const names = histograms.length === 3 ? ['--red', '--green', '--blue'] : ['--accent'];
  histograms.forEach((bars, channel) => {
    context.beginPath();
    context.moveTo(0, height);
    bars.forEach((bar, i) => {
      const y = height * (1 - Math.min(1, bar / most));
      context.lineTo(width * i / bars.length, y);
      context.lineTo(width * (i + 1) / bars.length, y);
    });
    context.lineTo(width, height);
    context.globalAlpha = histograms.length === 3 ? 0.45 : 0.8;
    context.fillStyle = css(names[channel]);
    context.fill();
  });
  context.globalAlpha = 1;
}

/** From dark blue over red to bright yellow. */
function heatColour(value) {
  const stops = [[13, 8, 60], [84, 15, 109], [187, 55, 84], [249, 142, 9], [252, 255, 164]];
  const at = value / 255 * (stops.length - 1), low = Math.min(stops.length - 2, Math.floor(at));
  return stops[low].map((part, i) => part + (stops[low + 1][i] - part) * (at - low));
}
const heatColours = Array.from({ length: 256 }, (_, value) => heatColour(value));

async function drawFrame(card, answer, about) {
  const canvas = card.look;
  const heat = about.columns > 0;
  canvas.classList.toggle('heat', heat);
  if (heat) {
    const cells = new Uint8Array(await answer.arrayBuffer());
    // A tensor without elements has no cells.
    canvas.width = about.columns; canvas.height = Math.max(1, about.rows);
    if (!cells.length) return;
    const image = new ImageData(about.columns, about.rows);
    cells.forEach((cell, i) => image.data.set([...heatColours[cell], 255], 4 * i));
    canvas.getContext('2d').putImageData(image, 0, 0);
  } else {
    const picture = await createImageBitmap(await answer.blob());
    if (canvas.width !== picture.width) canvas.width = picture.width;
    if (canvas.height !== picture.height) canvas.height = picture.height;
    canvas.getContext('2d').drawImage(picture, 0, 0);
    picture.close();
  }
}

function describe(card, about) {
  const { values } = about;
  const odd = values.odd ? `, ${values.odd} not finite` : '';
  const facts = [
    ['shape', `${about.dtype} [${about.shape.join(', ')}]`],
    ['strides', `[${about.strides.join(', ')}] elements`],
    ['format', [about.format, about.colour].filter(Boolean).join(', ') || 'none'],
    ['memory', `${about.memory}, ${about.guarded}, ${words(about.bytes)}`],
    ['values', `${short(values.low)} to ${short(values.high)}, mean ${short(values.mean)}${odd}`],
    ['frame', `${about.sequence} in slot ${about.slot}.${about.generation}, ${time(about.age)} old` +
      (about.blob ? `, ${about.blob} bytes besides` : '')],
  ];
  card.facts.replaceChildren(...facts.flatMap(([name, value]) => {
    const term = document.createElement('dt'), text = document.createElement('dd');
    term.textContent = name; text.textContent = value;
    return [term, text];
  }));
}

function makeCard(name) {
  const article = byId('card').content.firstElementChild.cloneNode(true);
  const find = selector => article.querySelector(selector);
  find('h2').textContent = name;
  article.dataset.stream = name;
  const card = {
    name, article, rates: find('.rates'), look: find('.look canvas'), error: find('.error'),
    slots: find('.slots'), histogram: find('.histogram'), facts: find('dl'), table: find('table'),
    consumers: find('tbody'), seen: null, visible: true, gone: false, frames: 0,
  };
  new IntersectionObserver(([entry]) => { card.visible = entry.isIntersecting; }).observe(article);
  cards.set(name, card);
  follow(card);
  return card;
}

/** Shows the frames of a stream, about fifteen a second, while somebody can see them. */
async function follow(card) {
  while (!card.gone) {
    const began = performance.now();
    if (!paused && card.visible && !document.hidden) {
      try {
        let path = `api/frame?stream=${encodeURIComponent(card.name)}`;
        if (card.seen) path += `&incarnation=${card.seen.incarnation}&after=${card.seen.sequence}`;
        const answer = await ask(path);
        const wrong = answer.ok ? '' : await answer.text();
        card.error.textContent = wrong;
        card.error.hidden = !wrong;
        card.look.hidden = Boolean(wrong);
        if (answer.status === 200) {
          const about = JSON.parse(answer.headers.get('Tenure-Frame'));
          await drawFrame(card, answer, about);
          describe(card, about);
          drawHistogram(card.histogram, about.histograms);
          card.seen = about;
          card.frames++;
        }
      } catch { await sleep(500); }
    }
    await sleep(Math.max(10, 66 - (performance.now() - began)));
  }
}

function showReport(card, one) {
  const { report, error } = one;
  if (!report) { card.rates.textContent = error ?? ''; return; }
  const count = report.consumers.length;
  const rate = document.createElement('b'), dropped = document.createElement('span');
  rate.textContent = `${report.rate.toFixed(1)} fps`;
  dropped.textContent = `${report.dropped} dropped`;
  dropped.className = report.dropped ? 'bad' : '';
  card.rates.replaceChildren(rate, ` · ${report.published} frames · ${report.memory} ` +
    `${words(report.slots.reduce((sum, slot) => sum + slot.bytes, 0))} · ` +
    `${count} consumer${count === 1 ? '' : 's'} · `, dropped, ` · process ${report.pid}`);
  card.slots.replaceChildren(...report.slots.map(slot => {
    const box = document.createElement('i');
    const state = typeof slot.state === 'string' ? slot.state : 'published';
    const frames = slot.state.published?.frames;
    box.className = state;
    box.title = `slot ${slot.index}.${slot.generation}: ${state}${frames ? ` to ${frames}` : ''}, ` +
      (slot.borrowed ? 'the camera\'s' : words(slot.bytes));
    return box;
  }));
  const states = report.slots.map(slot => typeof slot.state === 'string' ? slot.state : 'published');
  card.slots.setAttribute('aria-label', `slots: ${states.join(', ')}`);
  card.table.hidden = !count;
  card.consumers.replaceChildren(...report.consumers.map(consumer => {
    const row = document.createElement('tr');
    const cells = [consumer.id + (consumer.evicted ? ' (out)' : ''), consumer.pid,
      `${consumer.held} of ${consumer.credits}`, consumer.sent, consumer.dropped];
    row.append(...cells.map(text => Object.assign(document.createElement('td'), { textContent: text })));
    return row;
  }));
}

async function look() {
  const answer = await ask('api/streams');
  if (!answer.ok) throw new Error(await answer.text());
  const { directory, streams } = await answer.json();
  byId('directory').textContent = directory;
  const there = new Set(streams.map(one => one.name));
  for (const [name, card] of cards) {
    if (!there.has(name)) { card.gone = true; card.article.remove(); cards.delete(name); }
  }
  const kinds = {};
  for (const one of streams) {
    const card = cards.get(one.name) ?? makeCard(one.name);
    showReport(card, one);
    for (const slot of one.report?.slots ?? []) {
      kinds[one.report.memory] = (kinds[one.report.memory] ?? 0) + slot.bytes;
    }
  }
  // In the order of their names, touching only what is not in its place.
  [...cards.keys()].sort().forEach((name, i) => {
    const { article } = cards.get(name), place = byId('streams').children[i];
    if (place !== article) byId('streams').insertBefore(article, place ?? null);
  });
  byId('none').hidden = streams.length > 0;
  const now = performance.now();
  past.push({ at: now, kinds });
  while (past[0].at < now - SPAN) past.shift();
  drawMemory();
}

async function run() {
  for (;;) {
    if (!paused && !document.hidden) {
      try {
        await look();
        byId('trouble').hidden = true;
      } catch (error) {
        const gone = error instanceof TypeError;
        byId('trouble').textContent = gone ? 'The program that serves this page has ended.' : error.message;
        byId('trouble').hidden = false;
      }
    }
    await sleep(500);
  }
}

const isDark = () => {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
};
const redraw = () => {
  drawMemory();
  for (const card of cards.values()) if (card.seen) drawHistogram(card.histogram, card.seen.histograms);
};
byId('theme').addEventListener('click', () => {
  document.documentElement.dataset.theme = isDark() ? 'light' : 'dark';
  redraw();
});
byId('pause').addEventListener('click', () => {
  paused = !paused;
  byId('pause').setAttribute('aria-pressed', String(paused));
});
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
addEventListener('resize', redraw);
run();

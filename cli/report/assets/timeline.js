// The timeline: one row per device, zoomed and moved by mouse and keys.
'use strict';

const timeline = (() => {
  const canvas = document.getElementById('timeline');
  const tip = document.getElementById('tip');
  const left = 96;
  const head = 24;
  const axis = 26;
  const devices = report.devices;
  const rowHeight = Math.max(16, Math.min(64, Math.floor(560 / Math.max(devices.length, 1))));
  const gap = Math.max(2, Math.round(rowHeight / 5));
  const inset = Math.round(rowHeight / 7);
  const workNames = ['', 'forward', 'backward', 'optimizer', 'other'];

  const first = Math.min(...devices.map((d) => (d.iterations.length ? d.iterations[0].begin : Infinity)));
  const last = Math.max(...devices.map((d) => {
    const end = d.iterations[d.iterations.length - 1];
    return end ? end.begin + end.length : 0;
  }));
  const longest = {};
  for (const kind of ['work', 'bubbles', 'iterations']) {
    longest[kind] = devices.map((d) => d[kind].reduce((most, row) => Math.max(most, row.length), 0));
  }
  longest.units = devices.map((d) => d.units.reduce((most, row) => Math.max(most, row.length + row.after), 0));
  let begin = report.raw.view[0];
  let end = report.raw.view[1];
  const listeners = [];

  function set(newBegin, newEnd) {
    const length = Math.max(20, Math.min(newEnd - newBegin, last - first));
    begin = Math.max(first, Math.min(newBegin, last - length));
    end = begin + length;
    draw();
    listeners.forEach((listener) => listener());
  }

  function reset() { set(report.raw.view[0], report.raw.view[1]); }

  function zoom(factor, at) {
    const centre = at === undefined ? (begin + end) / 2 : at;
    set(centre - (centre - begin) * factor, centre + (end - centre) * factor);
  }

  // Calls `show` for each row of `kind` that touches the view.
  function visible(d, kind, show) {
    const list = devices[d][kind];
    for (let i = report.after(list, begin - longest[kind][d]); i < list.length; i++) {
      if (list[i].begin > end) break;
      show(list[i]);
    }
  }

  function hatch(context, colours) {
    const tile = document.createElement('canvas');
    tile.width = tile.height = 8;
    const ink = tile.getContext('2d');
    ink.fillStyle = colours.bubble;
    ink.fillRect(0, 0, 8, 8);
    ink.strokeStyle = colours.hatch;
    ink.lineWidth = 1.6;
    ink.beginPath();
    for (const offset of [-8, 0, 8]) {
      ink.moveTo(offset - 1, 9);
      ink.lineTo(offset + 9, -1);
    }
    ink.stroke();
    return context.createPattern(tile, 'repeat');
  }

  function colours() {
    const all = {};
    for (const name of ['ink', 'muted', 'line', 'bubble', 'hatch', 'holdout', 'holdink', 'overrun', 'forward',
      'backward', 'optimizer', 'other', 'card']) {
      all[name] = report.colour(name);
    }
    all.jobs = [];
    for (let i = 0; i < report.jobColours; i++) all.jobs.push(report.colour('job' + i));
    return all;
  }

  function top(d) { return head + d * (rowHeight + gap); }

  function draw() {
    if (!devices.length || !isFinite(first)) return;
    const height = top(devices.length) - gap + axis + 4;
    const {context, width} = report.prepare(canvas, height);
    const ink = colours();
    const x = (time) => left + (time - begin) / (end - begin) * (width - left);
    context.save();
    context.beginPath();
    context.rect(left, 0, width - left, height);
    context.clip();
    drawIterations(context, x, ink);
    const idle = hatch(context, ink);
    devices.forEach((device, d) => drawDevice(context, x, ink, idle, d));
    drawAxis(context, x, ink, height);
    context.restore();
    context.textAlign = 'left';
    devices.forEach((device, d) => {
      context.fillStyle = ink.ink;
      const middle = top(d) + rowHeight / 2;
      context.fillText(device.name, 0, rowHeight > 34 ? middle - 8 : middle, left - 8);
      context.fillStyle = ink.muted;
      if (rowHeight > 34) context.fillText('stage ' + device.stage, 0, middle + 9, left - 8);
    });
  }

  // Bands of hold-outs and borders of iterations: of each device in its row, as stages are out of step;
  // numbers, and what is above the rows, by the first device.
  function drawIterations(context, x, ink) {
    devices.forEach((device, d) => {
      const from = d === 0 ? 0 : top(d) - gap / 2;
      const until = top(d) + rowHeight + gap / 2;
      visible(d, 'iterations', (row) => {
        if (row.held) {
          context.fillStyle = ink.holdout;
          context.fillRect(x(row.begin), from, x(row.begin + row.length) - x(row.begin), until - from);
        }
        if (x(row.begin + row.length) - x(row.begin) < 4) return;
        context.fillStyle = ink.muted;
        context.fillRect(Math.round(x(row.begin)), from, 1, until - from);
      });
    });
    drawNumbers(context, x, ink);
  }

  function drawNumbers(context, x, ink) {
    let free = -Infinity;
    visible(0, 'iterations', (row) => {
      const from = x(row.begin);
      const to = x(row.begin + row.length);
      const text = row.held && to - from > 130 ? row.number + '  hold-out' : String(row.number);
      const at = Math.max(from, left);
      if (at < free || at + context.measureText(text).width + 10 > to) return;
      context.fillStyle = row.held ? ink.holdink : ink.muted;
      context.textAlign = 'left';
      context.fillText(text, at + 5, head / 2);
      free = at + context.measureText(text).width + 14;
    });
  }

  function drawDevice(context, x, ink, idle, d) {
    const y = top(d);
    visible(d, 'bubbles', (row) => {
      context.fillStyle = idle;
      context.fillRect(x(row.begin), y, Math.max(x(row.begin + row.length) - x(row.begin), 0.3), rowHeight);
    });
    visible(d, 'work', (row) => {
      const from = x(row.begin);
      const wide = x(row.begin + row.length) - from;
      context.fillStyle = ink[workNames[row.kind]] || ink.other;
      context.fillRect(from, y, Math.max(wide > 3 ? wide - 0.6 : wide, 0.3), rowHeight);
    });
    visible(d, 'units', (row) => {
      const from = x(row.begin);
      const to = x(row.begin + row.length);
      context.fillStyle = ink.jobs[row.job % report.jobColours];
      context.fillRect(from, y + inset, Math.max(to - from > 3 ? to - from - 0.8 : to - from, 0.3), rowHeight - 2 * inset);
      if (row.overrun <= 0) return;
      context.fillStyle = ink.overrun;
      // Its CPU time as a block; how long it hung around, preempted, as a thin line.
      context.fillRect(to, y + inset, Math.max(x(row.begin + row.length + row.overrun) - to, 1), rowHeight - 2 * inset);
      context.fillRect(to, y + rowHeight - inset - 1.5, x(row.begin + row.length + row.after) - to, 1.5);
    });
  }

  function drawAxis(context, x, ink, height) {
    const step = report.niceStep(end - begin, 9);
    context.strokeStyle = ink.muted;
    context.fillStyle = ink.muted;
    context.textAlign = 'center';
    for (let time = Math.ceil(begin / step) * step; time <= end; time += step) {
      context.fillRect(Math.round(x(time)), height - axis + 2, 1, 5);
      if (x(time) > left + 24) context.fillText(report.timeText(time, step), x(time), height - axis + 16);
    }
  }

  // What lies under the pointer, as text.
  function describe(d, time) {
    const device = devices[d];
    const found = {};
    for (const kind of ['iterations', 'bubbles', 'work', 'units']) {
      const slack = kind === 'units' ? (row) => row.length + row.overrun : (row) => row.length;
      const list = device[kind];
      for (let i = report.after(list, time) - 1; i >= 0; i--) {
        if (time - list[i].begin > longest[kind][d]) break;
        if (time <= list[i].begin + slack(list[i])) { found[kind] = list[i]; break; }
      }
    }
    const ms = (us) => (us / 1000).toFixed(3) + ' ms';
    const lines = [device.name + ', ' + report.timeText(time, 1)];
    if (found.iterations) lines.push('iteration ' + found.iterations.number + ': ' + ms(found.iterations.length) + (found.iterations.held ? ', hold-out' : ''));
    if (found.work) lines.push('main job, ' + workNames[found.work.kind] + ': ' + ms(found.work.length));
    if (found.bubbles) {
      const bubble = found.bubbles;
      lines.push('bubble ' + report.raw.names[bubble.name] + ': ' + ms(bubble.length) + ', ' +
        (100 * bubble.filled / Math.max(bubble.length, 1)).toFixed(0) + ' % filled');
    }
    if (found.units) {
      const job = report.raw.jobs[found.units.job];
      lines.push('unit of ' + job.name + ' (job ' + job.id + '): ' + ms(found.units.cpu) + ' of CPU, ' + ms(found.units.length) + ' long' +
        (found.units.overrun > 0 ? '; overrun: ' + ms(found.units.overrun) + ' of CPU' : ''));
    }
    return lines.join('\n');
  }

  function timeAt(event) {
    const box = canvas.getBoundingClientRect();
    return begin + (event.clientX - box.left - left) / (box.width - left) * (end - begin);
  }

  function hover(event) {
    const box = canvas.getBoundingClientRect();
    const d = Math.floor((event.clientY - box.top - head) / (rowHeight + gap));
    tip.hidden = d < 0 || d >= devices.length || event.clientX - box.left < left;
    if (tip.hidden) return;
    tip.textContent = describe(d, timeAt(event));
    tip.style.left = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8) + 'px';
    tip.style.top = Math.min(event.clientY + 16, window.innerHeight - tip.offsetHeight - 8) + 'px';
  }

  function nextHoldOut() {
    if (!devices.length) return;
    const middle = (begin + end) / 2;
    const held = devices[0].iterations.filter((row, i, all) => row.held && !(i > 0 && all[i - 1].held));
    const next = held.find((row) => row.begin > middle + 1) || held[0];
    if (next) set(next.begin - (end - begin) / 2, next.begin + (end - begin) / 2);
  }

  let grabbed = null;
  canvas.addEventListener('pointerdown', (event) => {
    canvas.focus({preventScroll: true});
    canvas.setPointerCapture(event.pointerId);
    canvas.classList.add('moving');
    grabbed = {x: event.clientX, begin, end};
  });
  canvas.addEventListener('pointermove', (event) => {
    if (!grabbed) { hover(event); return; }
    tip.hidden = true;
    const shift = (event.clientX - grabbed.x) / (canvas.clientWidth - left) * (grabbed.end - grabbed.begin);
    set(grabbed.begin - shift, grabbed.end - shift);
  });
  for (const name of ['pointerup', 'pointercancel']) {
    canvas.addEventListener(name, () => { grabbed = null; canvas.classList.remove('moving'); });
  }
  canvas.addEventListener('pointerleave', () => { tip.hidden = true; });
  canvas.addEventListener('dblclick', (event) => zoom(0.4, timeAt(event)));
  canvas.addEventListener('wheel', (event) => {
    if (!event.ctrlKey && document.activeElement !== canvas) return;
    event.preventDefault();
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      const shift = (event.deltaX || event.deltaY) / 800 * (end - begin);
      set(begin + shift, end + shift);
    } else {
      zoom(Math.exp(event.deltaY / 400), timeAt(event));
    }
  }, {passive: false});
  canvas.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = (end - begin) / 5;
    const actions = {
      ArrowLeft: () => set(begin - step, end - step),
      ArrowRight: () => set(begin + step, end + step),
      '+': () => zoom(0.6),
      '=': () => zoom(0.6),
      '-': () => zoom(1 / 0.6),
      0: reset,
      h: nextHoldOut,
      Home: () => set(first, first + end - begin),
      End: () => set(last - (end - begin), last),
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  });

  report.drawings.push(draw);
  return {set, view: () => [begin, end], limits: () => [first, last], onChange: (listener) => listeners.push(listener)};
})();

// Decodes the page's numbers (see page_data.h) and holds what all drawings share.
'use strict';

const report = (() => {
  const raw = JSON.parse(document.getElementById('data').textContent);

  // Rows of `width` integers; those at `timeAt` are distances and become times.
  function rowsOf(flat, width, timeAt, fields) {
    const rows = [];
    let time = 0;
    for (let i = 0; i + width <= flat.length; i += width) {
      time += flat[i + timeAt];
      const row = {begin: time};
      fields.forEach((name, k) => { if (name) row[name] = flat[i + k]; });
      rows.push(row);
    }
    return rows;
  }

  const devices = raw.devices.map((device) => ({
    name: device.name,
    rank: device.rank,
    stage: device.stage,
    iterations: rowsOf(device.iterations, 4, 1, ['number', '', 'length', 'held']),
    work: rowsOf(device.work, 3, 0, ['', 'length', 'kind']),
    bubbles: rowsOf(device.bubbles, 4, 0, ['', 'length', 'name', 'filled']),
    units: rowsOf(device.units, 6, 0, ['', 'length', 'after', 'overrun', 'cpu', 'job']),
  }));

  const rows = [];
  for (let i = 0; i + raw.row_width <= raw.rows.length; i += raw.row_width) {
    const flags = raw.rows[i + 3];
    rows.push({
      number: raw.rows[i],
      begin: raw.rows[i + 1],
      time: raw.rows[i + 2],
      held: (flags & 1) !== 0,
      counted: (flags & 2) !== 0,
      filled: raw.rows.slice(i + 4, i + raw.row_width),
    });
  }

  // Colours of the scheme in use.
  function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
  }

  // Sets the canvas to `height` pixels and returns its context in CSS pixels.
  function prepare(canvas, height) {
    const scale = window.devicePixelRatio || 1;
    const width = canvas.clientWidth;
    canvas.style.height = height + 'px';
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    const context = canvas.getContext('2d');
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = '12px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", Arial, sans-serif';
    context.textBaseline = 'middle';
    return {context, width};
  }

  // A step of 1, 2 or 5 times a power of ten, so that about `count` of them make `span`.
  function niceStep(span, count) {
    const least = span / count;
    const power = Math.pow(10, Math.floor(Math.log10(least)));
    return power * [1, 2, 5, 10].find((factor) => power * factor >= least * 0.999);
  }

  // Microseconds as text, with the digits that a step of `step` needs.
  function timeText(us, step) {
    if (step >= 1e6) return (us / 1e6).toFixed(0) + ' s';
    if (Math.abs(us) >= 1e7 && step >= 1e4) return (us / 1e6).toFixed(2) + ' s';
    return (us / 1e3).toFixed(step >= 1e3 ? 0 : step >= 100 ? 1 : 3) + ' ms';
  }

  // Index of the first row whose begin is greater than `time`.
  function after(list, time) {
    let low = 0;
    let high = list.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (list[middle].begin > time) high = middle; else low = middle + 1;
    }
    return low;
  }

  const drawings = [];
  function redraw() { drawings.forEach((draw) => draw()); }
  window.addEventListener('resize', redraw);
  window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);

  return {raw, devices, rows, colour, prepare, niceStep, timeText, after, drawings, redraw, jobColours: 8};
})();

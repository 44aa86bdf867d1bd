// The whole run: one strip per device, the darker the more of its bubbles was filled; hold-outs below.
// Dragging chooses what the timeline shows.
'use strict';

(() => {
  const canvas = document.getElementById('overview');
  const left = 96;
  const rows = report.rows;
  const devices = report.devices;
  if (!rows.length) return;
  const strip = Math.max(6, Math.min(22, Math.floor(220 / Math.max(devices.length, 1))));
  const band = devices.length * (strip + 3);
  const marks = 8;
  const axis = 24;
  const first = rows[0].begin;
  const lastRow = rows[rows.length - 1];
  const last = lastRow.begin + Math.max(lastRow.time, 1);

  function x(time, width) { return left + (time - first) / (last - first) * (width - left); }

  function draw() {
    const height = band + marks + axis + 2;
    const {context, width} = report.prepare(canvas, height);
    const full = report.colour('job0');
    const none = report.colour('bubble');
    const holdout = report.colour('job1');
    rows.forEach((row, i) => {
      const from = x(row.begin, width);
      const to = i + 1 < rows.length ? x(rows[i + 1].begin, width) : width;
      devices.forEach((device, d) => {
        context.globalAlpha = 1;
        context.fillStyle = none;
        context.fillRect(from, d * (strip + 3), to - from + 0.5, strip);
        context.globalAlpha = Math.max(0, Math.min(1, row.filled[d] / 1000));
        context.fillStyle = full;
        context.fillRect(from, d * (strip + 3), to - from + 0.5, strip);
      });
      context.globalAlpha = 1;
      if (!row.held) return;
      context.fillStyle = holdout;
      context.fillRect(from, band, Math.max(to - from, 1), 4);
    });
    drawLabels(context, width, height);
    drawView(context, width);
  }

  function drawLabels(context, width, height) {
    context.fillStyle = report.colour('muted');
    context.textAlign = 'left';
    if (strip > 10) devices.forEach((device, d) => context.fillText(device.name, 0, d * (strip + 3) + strip / 2, left - 8));
    context.fillText('hold-outs', 0, band + 3, left - 8);
    const step = report.niceStep(last - first, 9);
    context.textAlign = 'center';
    for (let time = Math.ceil(first / step) * step; time <= last; time += step) {
      context.fillRect(Math.round(x(time, width)), height - axis + 1, 1, 4);
      context.fillText(report.timeText(time, step), Math.max(x(time, width), left + 8), height - axis + 14);
    }
  }

  function drawView(context, width) {
    const [begin, end] = timeline.view();
    const from = x(begin, width);
    const wide = Math.max(x(end, width) - from, 3);
    context.strokeStyle = report.colour('ink');
    context.lineWidth = 2;
    context.strokeRect(from, 1, wide, band + marks - 3);
  }

  let grabbed = null;
  function timeAt(event) {
    const box = canvas.getBoundingClientRect();
    return first + (event.clientX - box.left - left) / (box.width - left) * (last - first);
  }
  canvas.addEventListener('pointerdown', (event) => {
    canvas.setPointerCapture(event.pointerId);
    grabbed = timeAt(event);
    const [begin, end] = timeline.view();
    timeline.set(grabbed - (end - begin) / 2, grabbed + (end - begin) / 2);
  });
  canvas.addEventListener('pointermove', (event) => {
    if (grabbed === null) return;
    const time = timeAt(event);
    const pixels = Math.abs(time - grabbed) / (last - first) * (canvas.clientWidth - left);
    if (pixels > 4) timeline.set(Math.min(grabbed, time), Math.max(grabbed, time));
  });
  for (const name of ['pointerup', 'pointercancel']) {
    canvas.addEventListener(name, () => { grabbed = null; });
  }

  timeline.onChange(draw);
  report.drawings.push(draw);
})();

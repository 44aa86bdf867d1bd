// Iteration time over the run: filled against hold-out.
'use strict';

(() => {
  const canvas = document.getElementById('iterations');
  const rows = report.rows.filter((row) => row.time > 0);
  if (!rows.length) { canvas.style.height = '0'; return; }
  const left = 96;
  const height = 240;
  const foot = 26;

  function quantile(values, q) {
    const sorted = [...values].sort((a, b) => a - b);
    return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))];
  }

  // Running median over 15 neighbours of the same kind.
  function smooth(list) {
    return list.map((row, i) => {
      const near = list.slice(Math.max(0, i - 7), i + 8).map((other) => other.time);
      return {number: row.number, time: quantile(near, 0.5)};
    });
  }

  function draw() {
    const {context, width} = report.prepare(canvas, height);
    const counted = rows.filter((row) => row.counted);
    const shown = (counted.length > 10 ? counted : rows).map((row) => row.time);
    const middle = quantile(shown, 0.5);
    // From the data, not from zero: the question is a difference of about one percent.
    const low = Math.min(quantile(shown, 0.01), middle * 0.985) * 0.995;
    const high = Math.max(quantile(shown, 0.98), middle * 1.015) * 1.005;
    const firstNumber = rows[0].number;
    const lastNumber = Math.max(rows[rows.length - 1].number, firstNumber + 1);
    const x = (number) => left + 6 + (number - firstNumber) / (lastNumber - firstNumber) * (width - left - 12);
    const y = (time) => 8 + (1 - (Math.min(Math.max(time, low), high) - low) / (high - low)) * (height - foot - 16);
    drawGrid(context, width, x, y, {low, high, firstNumber, lastNumber});
    for (const row of rows) {
      context.globalAlpha = row.counted ? 0.75 : 0.22;
      context.fillStyle = report.colour(row.held ? 'job1' : 'job0');
      context.beginPath();
      context.arc(x(row.number), y(row.time), row.held ? 2.6 : 2.1, 0, 7);
      context.fill();
    }
    context.globalAlpha = 1;
    for (const held of [false, true]) drawLine(context, x, y, held, counted);
  }

  function drawLine(context, x, y, held, counted) {
    const line = smooth(counted.filter((row) => row.held === held));
    context.lineJoin = 'round';
    for (const [name, wide] of [['card', 4.5], [held ? 'job1' : 'job0', 2.2]]) {
      context.strokeStyle = report.colour(name);
      context.lineWidth = wide;
      context.beginPath();
      line.forEach((point, i) => {
        if (i === 0) context.moveTo(x(point.number), y(point.time));
        else context.lineTo(x(point.number), y(point.time));
      });
      context.stroke();
    }
  }

  function drawGrid(context, width, x, y, range) {
    context.fillStyle = report.colour('muted');
    context.textAlign = 'right';
    const step = report.niceStep(range.high - range.low, 5);
    for (let time = Math.ceil(range.low / step) * step; time <= range.high; time += step) {
      context.fillStyle = report.colour('line');
      context.fillRect(left, Math.round(y(time)), width - left, 1);
      context.fillStyle = report.colour('muted');
      context.fillText((time / 1000).toFixed(step >= 1000 ? 0 : step >= 100 ? 1 : 2) + ' ms', left - 8, y(time));
    }
    context.textAlign = 'center';
    const numbers = Math.max(1, report.niceStep(range.lastNumber - range.firstNumber, 10));
    for (let n = Math.ceil(range.firstNumber / numbers) * numbers; n <= range.lastNumber; n += numbers) {
      context.fillText(String(n), x(n), height - foot + 10);
    }
    context.textAlign = 'left';
    context.fillText('iteration', 0, height - foot + 10);
  }

  report.drawings.push(draw);
})();

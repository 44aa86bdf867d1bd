// Last script: says what is shown, and draws everything for the first time.
'use strict';

(() => {
  const shown = report.raw.shown;
  const parts = [];
  if (shown.is_all) {
    parts.push('All iterations are in this page.');
  } else {
    parts.push('This page holds iterations ' + shown.first + ' to ' + shown.last + ' in full; the overview shows the whole run.');
  }
  if (report.raw.row_stride > 1) {
    parts.push('The overview and the iteration times show every ' + report.raw.row_stride + 'th of ' + report.raw.row_count + ' iterations.');
  }
  document.getElementById('shown-note').textContent = parts.join(' ');
  report.redraw();
})();

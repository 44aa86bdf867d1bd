"""How the cost of each decision of schedulerd grows with jobs and devices: ./run bench growth

Runs growth_bench for 1,000 to a million jobs with 64, 512 and 8,192 devices (--short: up to 100,000 jobs with
64 and 512). Prints a table in Markdown and says of each decision whether it grows more than the logarithm of
the size, and why; the last line on stdout is one JSON object. --svg FILE also draws it, both axes logarithmic.
"""

import argparse
import html
import json
import math
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BENCH = os.path.join(ROOT, "bazel-bin/tests/benchmarks/growth_bench")
JOBS, DEVICES = (1_000, 10_000, 100_000, 1_000_000), (64, 512, 8_192)
SHORT_JOBS, SHORT_DEVICES = JOBS[:3], DEVICES[:2]

# In the order of a job's life, with its colour in the plot.
DECISIONS = {
    "submit": "#2563a8", "tick": "#c2410c", "place": "#15803d", "complete": "#7c3aed", "cancel": "#be185d",
    "list": "#0e7490", "why": "#a16207", "snapshot_pause": "#475569", "snapshot": "#94a3b8", "restart": "#111827",
}
# What has to be looked at whole.
REASONS = {
    "snapshot": "all jobs are written, beside the loop",
    "restart": "all jobs are read",
    "snapshot_pause": "the list of the job tree's branches is copied, one for 4,096 jobs",
    "why": "who holds the place is searched for among all devices, only when somebody asks",
    "submit": "each publication copies the list of the job tree's branches, one for 4,096 jobs",
}
REASONS.update(dict.fromkeys(("place", "complete", "cancel"), REASONS["submit"]))
# A cost that grows with the logarithm is this much larger at most, apart from caches that are too small.
CACHE_ALLOWANCE = 2.0


def say(text):
    print(f"growth: {text}", file=sys.stderr, flush=True)


def measure(jobs, devices):
    result = subprocess.run([BENCH, str(jobs), str(devices)], stdout=subprocess.PIPE, check=True)
    say(f"{jobs:,} jobs, {devices:,} devices: done")
    return {name: times["p50"] for name, times in json.loads(result.stdout)["us"].items()}


def growth(figures, name, axis):
    """The largest growth along an axis (0 jobs, 1 devices), and what the logarithm would give there."""
    worst = (0.0, 1.0)
    ends = sorted({size[axis] for size in figures})
    for size, times in figures.items():
        if size[axis] != ends[0]:
            continue
        other = list(size)
        other[axis] = ends[-1]
        factor = figures[tuple(other)][name] / max(times[name], 0.01)
        worst = max(worst, (factor, math.log(ends[-1]) / math.log(ends[0])))
    return worst


def verdicts(figures):
    """Per decision: growth with jobs, with devices, and whether one is more than the logarithm's."""
    lines = {}
    for name in DECISIONS:
        by_axis = [growth(figures, name, axis) for axis in (0, 1)]
        is_more = any(factor > CACHE_ALLOWANCE * expected for factor, expected in by_axis)
        lines[name] = {"jobs": round(by_axis[0][0], 2), "devices": round(by_axis[1][0], 2), "is_more": is_more}
    return lines


def text_of(us):
    return f"{us / 1e6:.2f} s" if us >= 1e6 else f"{us / 1e3:.1f} ms" if us >= 1e3 else f"{us:.1f} us"


def table(figures, lines):
    sizes = sorted(figures, key=lambda size: (size[1], size[0]))
    head = ["decision"] + [f"{jobs:,} x {devices:,}" for jobs, devices in sizes]
    head += ["x jobs", "x devices", "more than log"]
    rows = [head, ["---"] * len(head)]
    for name, line in lines.items():
        rows.append([name] + [text_of(figures[size][name]) for size in sizes] +
                    [f"{line['jobs']:.1f}", f"{line['devices']:.1f}",
                     REASONS.get(name, "not known why") if line["is_more"] else "no"])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


class Plot:
    """Lines over both logarithmic axes, in one panel per number of devices."""

    PANEL, HEIGHT, LEFT, TOP, BOTTOM, LEGEND = 360, 420, 60, 50, 50, 150

    def __init__(self, figures):
        self.figures = figures
        self.jobs = sorted({jobs for jobs, _ in figures})
        self.devices = sorted({devices for _, devices in figures})
        values = [us for times in figures.values() for us in times.values()]
        self.low = math.floor(math.log10(max(min(values), 0.01)))
        self.high = math.ceil(math.log10(max(values)))
        self.parts = []

    def x(self, panel, jobs):
        low, high = math.log10(self.jobs[0]), math.log10(self.jobs[-1])
        return self.LEFT + panel * self.PANEL + (math.log10(jobs) - low) / (high - low) * (self.PANEL - 70)

    def y(self, us):
        share = (math.log10(max(us, 0.01)) - self.low) / (self.high - self.low)
        return self.HEIGHT - self.BOTTOM - share * (self.HEIGHT - self.TOP - self.BOTTOM)

    def text(self, x, y, text, anchor="middle", kind="muted"):
        self.parts.append(f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(text)}</text>')

    def draw_panel(self, panel, devices):
        begin, end = self.x(panel, self.jobs[0]), self.x(panel, self.jobs[-1])
        self.text((begin + end) / 2, self.TOP - 14, f"{devices:,} devices", kind="ink")
        for power in range(self.low, self.high + 1):
            y = self.y(10**power)
            self.parts.append(f'<line class="grid" x1="{begin:.1f}" y1="{y:.1f}" x2="{end:.1f}" y2="{y:.1f}"/>')
            if panel == 0:
                self.text(begin - 8, y + 4, text_of(10.0**power).replace(".0 ", " ").replace(".00 ", " "), "end")
        for jobs in self.jobs:
            self.text(self.x(panel, jobs), self.HEIGHT - self.BOTTOM + 18, f"{jobs:,}")
        for name, colour in DECISIONS.items():
            points = " ".join(f"{self.x(panel, jobs):.1f},{self.y(self.figures[jobs, devices][name]):.1f}"
                              for jobs in self.jobs)
            self.parts.append(f'<polyline points="{points}" stroke="{colour}"/>')

    def svg(self):
        width = self.LEFT + len(self.devices) * self.PANEL + self.LEGEND
        for panel, devices in enumerate(self.devices):
            self.draw_panel(panel, devices)
        # From the slowest down, as the lines end.
        last = self.figures[self.jobs[-1], self.devices[-1]]
        for row, name in enumerate(sorted(DECISIONS, key=lambda name: -last[name])):
            x, y = width - self.LEGEND, self.TOP + 10 + row * 22
            self.parts.append(f'<polyline points="{x},{y} {x + 22},{y}" stroke="{DECISIONS[name]}"/>')
            self.text(x + 30, y + 4, name.replace("_", " "), "start", "ink")
        self.text(self.LEFT + len(self.devices) * self.PANEL / 2, self.HEIGHT - 10, "jobs in the store")
        style = ("text{font-family:-apple-system,'Segoe UI','DejaVu Sans',Arial,sans-serif;font-size:12px}"
                 ".ink{fill:#1b2530}.muted{fill:#667382}.grid{stroke:#dfe4ea}"
                 "polyline{fill:none;stroke-width:2}")
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {self.HEIGHT}" role="img">\n'
                f"<title>CPU time per decision over the number of jobs</title>\n<style>{style}</style>\n"
                f'<rect width="{width}" height="{self.HEIGHT}" fill="#ffffff"/>\n' + "\n".join(self.parts) +
                "\n</svg>\n")


def main():
    parser = argparse.ArgumentParser(prog="growth", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--short", action="store_true", help="within a minute")
    parser.add_argument("--svg", metavar="FILE", help="draw it, too")
    options = parser.parse_args()
    all_jobs, all_devices = (SHORT_JOBS, SHORT_DEVICES) if options.short else (JOBS, DEVICES)
    figures = {(jobs, devices): measure(jobs, devices) for devices in all_devices for jobs in all_jobs}
    lines = verdicts(figures)
    print(table(figures, lines))
    if options.svg:
        with open(options.svg, "w", encoding="utf-8") as file:
            file.write(Plot(figures).svg())
        say(f"drawn in {options.svg}")
    print(json.dumps({
        "p50_us": {f"{jobs}x{devices}": times for (jobs, devices), times in figures.items()},
        "growth": lines,
        "more_than_log": [name for name, line in lines.items() if line["is_more"]],
    }))


if __name__ == "__main__":
    main()

// Chart.js, with the page's colours: series differ in colour, in point shape and in dash, so that no one of these is needed alone.
import {
  CategoryScale, Chart, Filler, Legend, LinearScale, LineController, LineElement, LogarithmicScale, PointElement,
  ScatterController, Tooltip,
} from "chart.js";
import { el } from "../dom.js";
import { percent, short } from "../numbers.js";
import { calm, token } from "../theme.js";

Chart.register(CategoryScale, Filler, Legend, LinearScale, LineController, LineElement, LogarithmicScale, PointElement,
  ScatterController, Tooltip);

Chart.defaults.font.family = token("--sans");

const SHAPES = ["circle", "rect", "triangle", "rectRot", "star", "crossRot"];
export const SERIES = 6;
export const noPoints = { pointRadius: 0, pointHitRadius: 8 };

// A series: `tone` 0..5 picks colour and shape.
export const line = (label, data, tone = 0, more = {}) => (
  { label, data, tone: tone % SERIES, showLine: true, ...more });
export const dots = (label, data, tone = 0, more = {}) => (
  { label, data, tone: tone % SERIES, showLine: false, ...more });

function dressed(set) {
  const colour = token(`--series-${set.tone}`);
  return {
    borderColor: colour, backgroundColor: set.faint ? `${colour}26` : set.hollow ? "transparent" : colour,
    pointStyle: SHAPES[set.tone], pointRadius: 4.5, pointHoverRadius: 7, pointBorderWidth: 1.75, borderWidth: 2,
    tension: 0, clip: 12, ...set,
  };
}

const powers = (value) => {
  const power = Math.log10(value);
  return Math.abs(power - Math.round(power)) < 1e-9 ? short(value) : "";
};
const powersOfTwo = (value) => (Math.abs(Math.log2(value) - Math.round(Math.log2(value))) < 1e-9 ? short(value) : "");

// On a phone a long name would push the drawing aside.
const fitted = (name, width) => (width < 480 && name.length > 16 ? `${name.slice(0, 15)}…` : name);

// A name in the legend wider than the drawing would be cut at its edge.
const LETTER = 7.2; // pixels, about
function legendItems(chart) {
  const most = Math.max(12, Math.floor(chart.width / LETTER) - 6);
  return Chart.defaults.plugins.legend.labels.generateLabels(chart).map(
    (item) => (item.text?.length > most ? { ...item, text: `${item.text.slice(0, most - 1)}…` } : item));
}

// Whole powers of the base between the ends of a scale, at most about `most` of them.
function powerTicks(base, { min, max }, most) {
  const exponent = (value) => Math.log(value) / Math.log(base);
  const low = Math.ceil(exponent(min) - 1e-9), high = Math.floor(exponent(max) + 1e-9);
  const step = Math.max(1, Math.ceil((high - low) / most));
  return Array.from({ length: Math.max(0, Math.floor((high - low) / step) + 1) },
    (_, i) => ({ value: base ** (low + i * step) }));
}

function axis(want, vertical) {
  const ticks = { color: token("--muted"), font: { size: 12 }, maxRotation: 0, autoSkipPadding: 12 };
  if (want.percent) ticks.callback = (value) => percent(value);
  else if (want.names) ticks.callback = function (value) { return fitted(want.names[value] ?? "", this.chart.width); };
  else if (want.base === 2) ticks.callback = powersOfTwo;
  else if (want.log) ticks.callback = powers;
  else ticks.callback = (value) => short(value, 2);
  if (want.whole) ticks.precision = 0;
  if (want.step) ticks.stepSize = want.step;
  const scale = { type: want.log ? "logarithmic" : "linear", min: want.min, max: want.max, suggestedMax: want.suggestedMax, reverse: want.reverse, ticks, offset: false,
    title: { display: Boolean(want.title), text: want.title, color: token("--muted"), font: { size: 12.5 } },
    grid: { color: token("--line"), borderColor: token("--line"), drawTicks: false }, beginAtZero: want.beginAtZero };
  if (want.base === 2) scale.afterBuildTicks = (built) => (built.ticks = powerTicks(2, built, 8));
  else if (want.log) scale.afterBuildTicks = (built) => (built.ticks = powerTicks(10, built, 7));
  if (want.names) {
    scale.afterBuildTicks = (built) => (built.ticks = want.names.map((_, value) => ({ value })));
    ticks.autoSkip = false;
    if (vertical) ticks.color = token("--ink");
    else ticks.maxRotation = 90;
  }
  return scale;
}

// want: {label, x, y, sets, tooltip(raw, set)?, legendFilter(name)?, legend?}. Returns a function that takes the chart away.
export function drawChart(box, want) {
  if (want.x.base === 2 && want.x.min === undefined) {
    const xs = want.sets.flatMap((set) => set.data.map((point) => point.x));
    want = { ...want, x: { ...want.x, min: Math.min(...xs) / 1.15, max: Math.max(...xs) * 1.15 } };
  }
  const canvas = el("canvas", { role: "img", "aria-label": want.label });
  box.replaceChildren(canvas);
  let chart = null;
  const build = () => {
    chart?.destroy();
    chart = new Chart(canvas, {
      type: "scatter",
      data: { datasets: want.sets.map(dressed) },
      options: {
        responsive: true, maintainAspectRatio: false, animation: false, parsing: false, normalized: true, devicePixelRatio: Math.max(
          2,
          devicePixelRatio || 1),
        interaction: { mode: "nearest", intersect: false, axis: "xy" }, layout: { padding: { right: 8 } },
        scales: { x: axis(want.x, false), y: axis(want.y, true) },
        plugins: {
          legend: {
            display: want.legend !== false, position: "bottom", align: "start",
            labels: {
              usePointStyle: true, color: token("--ink"), boxHeight: 7, padding: 14, font: { size: 12.5 }, generateLabels: legendItems,
              filter: (item) => !want.legendFilter || want.legendFilter(item.text),
            },
          },
          tooltip: {
            backgroundColor: token("--ink"), titleColor: token("--paper"), bodyColor: token("--paper"), padding: 10,
            cornerRadius: 6, displayColors: false,
            callbacks: {
              label: (item) => (
                want.tooltip ? want.tooltip(item.raw, item.dataset) : `${item.dataset.label}: ${short(item.raw.x, 2)}, ${want.y.percent ? percent(item.raw.y) : short(item.raw.y, 2)}`),
            },
          },
        },
      },
      plugins: [whiskers],
    });
    canvas.dataset.drawn = "yes";
  };
  // After the box is in the page, so that its width is known.
  requestAnimationFrame(() => { if (canvas.isConnected) build(); });
  const redraw = () => chart && build();
  const resize = () => chart?.resize();
  document.addEventListener("themechange", redraw);
  addEventListener("beforeprint", resize);
  return () => {
    document.removeEventListener("themechange", redraw);
    removeEventListener("beforeprint", resize);
    chart?.destroy();
  };
}

// Vertical bars from `low` to `high` of a point: intervals.
const whiskers = {
  id: "whiskers",
  beforeDatasetsDraw(chart) {
    const { ctx, scales: { x, y } } = chart;
    ctx.save();
    for (const [i, set] of chart.data.datasets.entries()) {
      if (!chart.isDatasetVisible(i)) continue;
      for (const point of set.data) {
        if (typeof point.low !== "number" || typeof point.high !== "number") continue;
        const at = x.getPixelForValue(point.x), top = y.getPixelForValue(point.high), bottom = y.getPixelForValue(point.low);
        ctx.strokeStyle = set.borderColor;
        ctx.globalAlpha = 0.55;
        ctx.lineWidth = 1.5;
        ctx.beginPath();
        ctx.moveTo(at, top); ctx.lineTo(at, bottom);
        ctx.moveTo(at - 4, top); ctx.lineTo(at + 4, top);
        ctx.moveTo(at - 4, bottom); ctx.lineTo(at + 4, bottom);
        ctx.stroke();
      }
    }
    ctx.restore();
  },
};

export const motion = () => (calm() ? "auto" : "smooth");

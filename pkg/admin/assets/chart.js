// Charts tell their figures where the pointer is. The points of their lines are seconds and figures, so that nothing
// else need be known.
const tip = document.createElement("div");
tip.className = "tip";
tip.setAttribute("aria-hidden", "true"); // the tables have the same figures
tip.hidden = true;

export function tellCharts() {
  document.body.append(tip);
  document.addEventListener("pointermove", show);
  document.addEventListener("pointerdown", show);
  document.addEventListener("scroll", hide, { passive: true });
}

function hide() {
  tip.hidden = true;
}

function show(event) {
  const chart = event.target instanceof Element && event.target.closest("svg.chart");
  if (!chart) return hide();
  const box = chart.getBoundingClientRect();
  const seconds = chart.viewBox.baseVal.width;
  const second = Math.max(0, Math.min(seconds, Math.round(((event.clientX - box.left) / box.width) * seconds)));
  const said = [...chart.querySelectorAll("g[data-title]")].map((line) => {
    const figure = figureAt(line, second);
    return `${line.dataset.title} ${figure ?? line.dataset.blank} ${chart.dataset.unit}`;
  });
  const at = new Date((Number(chart.dataset.from) + second) * 1000);
  tip.textContent = `${at.toLocaleTimeString()}: ${said.join(", ")}`;
  tip.hidden = false;
  const left = box.left + (second / seconds) * box.width;
  tip.style.left = `${Math.max(4, Math.min(left, document.documentElement.clientWidth - tip.offsetWidth - 4))}px`;
  tip.style.top = `${Math.max(4, box.top - tip.offsetHeight - 4)}px`;
}

// figureAt returns what a line has in a second; undefined where it is interrupted.
function figureAt(line, second) {
  for (const piece of line.querySelectorAll("polyline")) {
    const points = piece.getAttribute("points").split(" ").map((point) => point.split(",").map(Number));
    if (second < points[0][0] || second > points.at(-1)[0]) continue;
    return points.findLast(([x]) => x <= second)[1];
  }
}

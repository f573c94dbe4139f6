// The page is complete as it was served. This fetches it again, every other second while somebody can see it, and puts
// what has changed in place.
import { morph } from "./morph.js";
import { tellCharts } from "./chart.js";

const pace = 2000; // milliseconds from one answer to the next question, at least
const burden = 10; // times that an answer took: a daemon with very many rules is left alone for as long
const slowest = 15000; // while there are no answers
const patience = 10000; // for one answer

const pause = document.getElementById("pause");
const lost = document.getElementById("lost");
const freshness = document.getElementById("freshness");

let paused = false;
let timer = 0;
let failures = 0;
let fetchedAt = Date.now();
let took = 0;
let underway = null;

// refresh fetches the page anew, in place of a fetch that is still under way. It returns whether that went well.
async function refresh() {
  clearTimeout(timer);
  underway?.abort();
  const mine = (underway = new AbortController());
  const began = performance.now();
  const limit = setTimeout(() => mine.abort(), patience);
  try {
    const response = await fetch(location.pathname + location.search, { signal: mine.signal, cache: "no-store" });
    const text = await response.text();
    if (underway !== mine) return false;
    const next = new DOMParser().parseFromString(text, "text/html");
    const assets = next.documentElement.dataset.assets;
    if (!response.ok || !assets) throw new Error(`it answers with status ${response.status}`);
    if (assets !== document.documentElement.dataset.assets) {
      location.reload(); // another program answers now
      return false;
    }
    document.title = next.title;
    for (const part of document.querySelectorAll("[data-live]")) {
      const wanted = next.getElementById(part.id);
      if (wanted) morph(part, wanted);
    }
    failures = 0;
    took = performance.now() - began;
    fetchedAt = Date.now();
    lost.hidden = true;
    return true;
  } catch (error) {
    if (underway !== mine) return false;
    failures++;
    lost.textContent =
      `The daemon does not answer (${error.name === "AbortError" ? "too slow" : error.message}). ` +
      `What you see is of ${new Date(fetchedAt).toLocaleTimeString()}; it is tried again.`;
    lost.hidden = false;
    return false;
  } finally {
    clearTimeout(limit);
    if (underway === mine) {
      underway = null;
      schedule();
    }
    tellAge();
  }
}

function schedule() {
  clearTimeout(timer);
  if (!paused && !document.hidden) timer = setTimeout(refresh, Math.min(Math.max(pace * 2 ** failures, burden * took), slowest));
}

function tellAge() {
  const seconds = Math.round((Date.now() - fetchedAt) / 1000);
  const age = seconds < 3 ? "live" : `${seconds} s old`;
  freshness.textContent = paused ? `paused, ${age === "live" ? "just now" : age}` : age;
}

// visit shows another view of the page, and keeps the browser's history.
async function visit(url) {
  history.pushState(null, "", url);
  return refresh();
}

pause.addEventListener("click", () => {
  paused = !paused;
  pause.setAttribute("aria-pressed", String(paused));
  if (paused) {
    clearTimeout(timer);
    tellAge();
  } else refresh();
});

document.addEventListener("visibilitychange", () => {
  if (document.hidden) clearTimeout(timer);
  else if (!paused) refresh();
});

document.addEventListener("click", (event) => {
  const link = event.target instanceof Element && event.target.closest("a[data-live-link]");
  if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  visit(link.href);
});

document.addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.target;
  const url = new URL(location.href);
  for (const [name, value] of new FormData(form)) {
    if (value) url.searchParams.set(name, value);
    else url.searchParams.delete(name);
  }
  url.hash = new URL(form.action).hash;
  if (!(await visit(url)) || form.id !== "ask") return;
  const answer = document.getElementById("explained");
  answer.focus({ preventScroll: true });
  answer.scrollIntoView({ block: "nearest" });
});

addEventListener("popstate", refresh);
pause.hidden = false;
tellCharts();
tellAge();
setInterval(tellAge, 1000);
schedule();

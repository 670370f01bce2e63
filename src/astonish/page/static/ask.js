// Questions to the server. One of a kind is under way at a time, and of those that wait only the newest is asked.
const problem = document.getElementById("problem"), notice = document.getElementById("notice");
const AGAIN = 1500, SOON = 300; // milliseconds: until the server is tried again, and until waiting is mentioned
const BEFORE = "These are results for earlier settings";
const SILENT = "astonish does not answer; is it still running? Start it again with: astonish explore.";

export function say(sentence) { // what went wrong
  problem.hidden = !sentence;
  problem.textContent = sentence || "";
}

export function mention(sentence) { // what was assumed or dropped
  notice.hidden = !sentence;
  notice.textContent = sentence || "";
}

let underWay = 0;

function waits(more) { // for something that takes its time, such as a learner that is compiled for the first time
  underWay += more;
  const working = document.getElementById("working");
  if (underWay === 0) working.textContent = "";
  else setTimeout(() => { if (underWay > 0) working.textContent = "working ..."; }, SOON);
}

export async function fetched(path, options) {
  let answer;
  waits(1);
  try {
    answer = await fetch(path, options);
  } catch {
    throw Object.assign(new Error(SILENT), { silent: true });
  } finally {
    waits(-1);
  }
  if (answer.ok) return answer;
  const refusal = await answer.json().catch(() => null);
  throw new Error(refusal?.error ?? `astonish could not answer (${answer.status})`);
}

export async function json(path, options) {
  return (await fetched(path, options)).json();
}

export async function attempt(work) { // what goes wrong is shown as a sentence
  try {
    await work();
    say("");
  } catch (trouble) {
    say(trouble.message);
  }
}

// Tries until the server answers, as long as it is wanted. silent: called each time that it does not.
export async function persist(work, wanted = () => true, silent = () => {}) {
  while (true) {
    try {
      return await work();
    } catch (trouble) {
      if (!trouble.silent || !wanted()) throw trouble;
      say(`${trouble.message} Trying again ...`);
      silent();
      await new Promise((done) => { setTimeout(done, AGAIN); });
      if (!wanted()) throw trouble;
    }
  }
}

const onScreen = new Map(); // by the place where it is shown

export function showAgain() {
  for (const each of onScreen.values()) each();
}

function timed(draw) { // from the answer to the next picture on the screen
  const start = performance.now();
  draw();
  requestAnimationFrame(() => setTimeout(() => {
    performance.clearMeasures("redrawn");
    performance.measure("redrawn", { start });
  }));
}

function freshness(views) { // whether what is shown belongs to the present settings
  if (!views) return () => {};
  const word = document.createElement("p");
  let timer = null;
  word.className = "outdated";
  word.hidden = true;
  views.prepend(word);
  function mark(text) {
    word.hidden = !text;
    word.textContent = text;
    views.classList.toggle("stale", Boolean(text));
  }
  return (state) => { // "waiting", "silent" (the server is), "failed" or "fresh"
    clearTimeout(timer);
    views.setAttribute("aria-busy", state === "waiting" || state === "silent");
    if (state !== "fresh" && !onScreen.has(views)) return; // nothing was shown yet
    if (state === "waiting") timer = setTimeout(() => mark(`${BEFORE}; new ones are being computed.`), SOON);
    else mark(state !== "fresh" ? `${BEFORE}; there are none for the present ones.` : "");
  };
}

export function asker(send, show, views = null) { // views: the place where answers are shown
  const now = freshness(views), place = views ?? {};
  let busy = false, next = null;
  onScreen.delete(place);
  return async (body) => {
    next = body;
    now("waiting");
    if (busy) return;
    busy = true;
    while (next) {
      const asked = next;
      next = null;
      try {
        const answer = await persist(() => send(asked), () => next === null, () => now("silent"));
        const draw = () => show(answer, asked);
        onScreen.set(place, draw);
        timed(draw);
        if (next === null) now("fresh");
        say("");
      } catch (trouble) {
        if (next !== null) continue;
        say(trouble.message);
        now("failed");
      }
    }
    busy = false;
  };
}

export function question(path, show, views) {
  return asker((body) => json(path, { method: "POST", body: JSON.stringify(body) }), show, views);
}

// Questions to the server. One of a kind is under way at a time, and of those that wait only the newest is asked.
const problem = document.getElementById("problem");

export function say(sentence) {
  problem.hidden = !sentence;
  problem.textContent = sentence || "";
}

let underWay = 0;

function waits(more) { // for something that takes its time, such as a learner that is compiled for the first time
  underWay += more;
  const working = document.getElementById("working");
  if (underWay === 0) working.textContent = "";
  else setTimeout(() => { if (underWay > 0) working.textContent = "working ..."; }, 300);
}

export async function fetched(path, options) {
  let answer;
  waits(1);
  try {
    answer = await fetch(path, options);
  } catch {
    throw new Error("astonish does not answer; is it still running? Start it again with: astonish explore");
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

const onScreen = [];

export function showAgain() {
  for (const each of onScreen) each();
}

function timed(draw) { // from the answer to the next picture on the screen
  const start = performance.now();
  draw();
  requestAnimationFrame(() => setTimeout(() => {
    performance.clearMeasures("redrawn");
    performance.measure("redrawn", { start });
  }));
}

export function asker(send, show) {
  let busy = false, next = null, again = null;
  onScreen.push(() => again?.());
  return async (body) => {
    next = body;
    if (busy) return;
    busy = true;
    while (next) {
      const asked = next;
      next = null;
      await attempt(async () => {
        const answer = await send(asked);
        again = () => show(answer, asked);
        timed(again);
      });
    }
    busy = false;
  };
}

export function question(path, show) {
  return asker((body) => json(path, { method: "POST", body: JSON.stringify(body) }), show);
}

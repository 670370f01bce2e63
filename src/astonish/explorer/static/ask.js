// Questions to the server. One of a kind is under way at a time, and of those that wait only the newest is asked.
const problem = document.getElementById("problem");

export function say(sentence) {
  problem.hidden = !sentence;
  problem.textContent = sentence || "";
}

let underWay = 0;

function waits(more) { // what takes its time is said, such as a learner that is compiled for the first time
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
  const told = await answer.json().catch(() => null);
  throw new Error(told?.error ?? `astonish could not answer (${answer.status})`);
}

export async function json(path, options) {
  return (await fetched(path, options)).json();
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
  let asked = 0, shown = 0, busy = false, next = null, again = null;
  onScreen.push(() => again?.());
  async function go(number, body) {
    busy = true;
    try {
      const answer = await send(body);
      if (number > shown) { // an answer older than what is on screen is dropped
        shown = number;
        say("");
        again = () => show(answer, body);
        timed(again);
      }
    } catch (trouble) {
      if (number > shown) say(trouble.message);
    }
    busy = false;
    if (next) {
      const [later, words] = next;
      next = null;
      go(later, words);
    }
  }
  return (body) => {
    asked += 1;
    if (busy) next = [asked, body];
    else go(asked, body);
  };
}

export function question(path, show) {
  const send = (body) => json(path, {
    method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body),
  });
  return asker(send, show);
}

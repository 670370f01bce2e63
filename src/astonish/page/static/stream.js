// A stream that `astonish watch` follows: asked for news while it is in sight, and drawn.
import { element, slider } from "./controls.js";
import { colour, figure, look, narrow, unpack, written } from "./plot.js";
import { json, say } from "./ask.js";

const PAUSE = 200, AFTER_TROUBLE = 2000; // milliseconds between questions
const COLUMNS = ["sample", "x", "estimate", "low", "high", "surprise", "alarm"];

export function start(host, views, spec, python) {
  const rows = Object.fromEntries(COLUMNS.map((name) => [name, []]));
  const status = element("p", { className: "now" }), about = element("p", { className: "quiet" });
  const heard = element("p", { className: "hidden-text", role: "status" }); // alarms alone, lest everything be read out
  const most = { label: "samples shown", low: 50, high: spec.kept, default: 300, step: 50, whole: true };
  const length = slider(host, "stream.shown", most, show);
  host.append(status, heard, about);
  const plot = figure(views, "stream", "Belief, surprise and alarms", { height: narrow() ? 460 : 560 });
  let news = null, drawn = "", troubled = false;

  async function ask() {
    if (!plot.frame.isConnected) return; // another link was opened here
    try {
      if (plot.frame.offsetParent && !document.hidden) {
        news = await json("/api/stream", { method: "POST", body: JSON.stringify({ after: rows.sample.at(-1) ?? 0 }) });
        if (troubled) say("");
        troubled = false;
        take();
      }
    } catch (trouble) {
      say(trouble.message);
      troubled = true;
    }
    if (!news?.is_over) setTimeout(ask, troubled ? AFTER_TROUBLE : PAUSE);
  }

  function take() {
    const anew = news.samples < (rows.sample.at(-1) ?? 0); // another stream has begun where this one was
    for (const name of COLUMNS) {
      if (anew) rows[name].length = 0;
      rows[name].push(...unpack(news.rows[name]));
      rows[name].splice(0, Math.max(rows[name].length - spec.kept, 0));
    }
    const last = `${news.samples} ${news.is_over} ${news.about}`;
    if (last === drawn) return;
    drawn = last;
    python(news.python);
    show();
  }

  function show() {
    if (!news) return;
    const from = Math.max(rows.sample.length - length.value, 0), part = (name) => rows[name].slice(from);
    const [x, alarm] = [part("sample"), part("alarm")], places = x.filter((_, k) => alarm[k]);
    const alarms = () => ({ kind: "rules", name: "alarms", x: places, color: colour("series-1"), dash: "solid" });
    about.textContent = news.about;
    const latest = rows.sample[rows.alarm.lastIndexOf(1)];
    if (latest) heard.textContent = `Alarm at sample ${latest}`;
    status.textContent = sentence();
    const color = look(0).color, whole = [x[0] ?? 0, Math.max(x.at(-1) ?? 0, (x[0] ?? 0) + 1)];
    plot.draw({
      words: status.textContent, x: { label: "sample", range: whole }, panels: [
        { label: "value", share: 0.62, marks: [
          { kind: "dots", name: "samples", x, y: part("x"), color: colour("quiet"), size: 4, opacity: 0.7 },
          { kind: "band", x, low: part("low"), high: part("high"), color, opacity: 0.2 },
          { kind: "line", name: "estimate", x, y: part("estimate"), color }, alarms()] },
        { label: "surprise", share: 0.38, marks: [
          { kind: "line", name: "surprise", x, y: part("surprise"), ...look(2) }, alarms()] },
      ],
    });
  }

  function sentence() {
    if (!rows.sample.length) return news.is_over ? "The input has ended without a sample." : "Waiting for samples.";
    const last = (name) => rows[name].at(-1), many = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;
    const sure = Number.isNaN(last("low")) ? "" : ` (between ${written(last("low"))} and ${written(last("high"))})`;
    const counts = `${many(news.samples, "sample")}, ${many(news.alarms, "alarm")}.`;
    const end = news.is_over ? " The input has ended." : "";
    return `${counts} Estimate ${written(last("estimate"))}${sure}; last surprise ${written(last("surprise"))}.${end}`;
  }

  ask();
}

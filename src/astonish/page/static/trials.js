// Trials of one participant: outcomes, surprise and learning rate, one of which can be picked.
import { figure, look, unpack } from "./plot.js";

export function trials(host) {
  const picture = figure(host, "data", "Outcomes, surprise and learning rate, trial by trial", { height: 560 });
  picture.frame.hidden = true;

  function draw(answer, picked, pick) {
    const count = answer.surprise.shape[0];
    const marks = (name, packed, at, ...kinds) => (
      packed ? kinds.map((kind) => ({ kind, name, y: unpack(packed), ...look(at) })) : []);
    const upper = [
      ...marks("outcome", answer.outcome, 6, "dots"), ...marks("prediction", answer.prediction, 0, "line")];
    picture.frame.hidden = false;
    picture.draw({
      words: `Participant ${answer.who}, ${count} trials.`,
      x: { label: "trial", range: [0, count + 1] },
      panels: [
        ...(upper.length ? [{ label: "outcome", share: 0.5, marks: upper }] : []),
        { label: "surprise", share: 0.25, zero: true, marks: marks("surprise", answer.surprise, 2, "line", "dots") },
        { label: "learning rate", share: 0.25, range: [-0.03, 1.03],
          marks: marks("learning rate", answer.learning_rate, 3, "line", "dots") },
      ],
      legend: true,
      picked: picked < count ? picked : undefined, // not of another participant, who had more
      pick,
    });
  }

  return { draw };
}

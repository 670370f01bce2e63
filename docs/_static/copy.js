// A button on each block of code that copies what one would type: without prompts, and without what was printed.

/** The lines that a reader types: of a session with prompts those behind them, else all. */
function typed(text) {
  const lines = text.replace(/\s+$/, "").split("\n");
  const prompt = [/^(>>>|\.\.\.)( |$)/, /^\$ /].find((one) => one.test(lines[0]));
  if (!prompt) return lines.join("\n");
  return lines
    .filter((line) => prompt.test(line))
    .map((line) => line.replace(prompt, ""))
    .join("\n");
}

async function copy(text) {
  if (navigator.clipboard && window.isSecureContext) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea"); // pages that are read from a disk have no clipboard of their own
  area.value = text;
  area.className = "copied-from";
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  if (!done) throw new Error("the browser does not copy");
}

function offer(block) {
  const button = document.createElement("button");
  const say = (word) => {
    button.textContent = word;
    setTimeout(() => (button.textContent = "Copy"), 2000);
  };
  button.type = "button";
  button.className = "copy-code";
  button.textContent = "Copy";
  button.setAttribute("aria-live", "polite");
  button.addEventListener("click", () =>
    copy(typed(block.querySelector("pre").textContent)).then(
      () => say("Copied"),
      () => say("Select the text, and press Ctrl+C"),
    ),
  );
  block.append(button);
}

document.addEventListener("DOMContentLoaded", () => {
  // what a cell printed is no code
  const blocks = document.querySelectorAll(".bd-article div.highlight:not(.cell_output *)");
  blocks.forEach(offer);
});

// A table that is dropped anywhere on the page goes to the tab that reads it, which is opened if it is not.
let taker = null, waiting = null;

export function takes(take) { // called by the tab once it is there
  taker = take;
  if (waiting) taker(waiting);
  waiting = null;
}

const isFile = (event) => event.dataTransfer?.types.includes("Files");

document.addEventListener("dragover", (event) => {
  if (!isFile(event)) return;
  event.preventDefault();
  document.body.classList.add("over");
});
document.addEventListener("dragleave", (event) => {
  if (!event.relatedTarget) document.body.classList.remove("over");
});
document.addEventListener("drop", (event) => {
  document.body.classList.remove("over");
  const file = event.dataTransfer?.files[0];
  if (!file) return;
  event.preventDefault();
  const tab = document.getElementById("tab-data");
  if (tab.getAttribute("aria-selected") !== "true") tab.click();
  if (taker) taker(file); else waiting = file;
});

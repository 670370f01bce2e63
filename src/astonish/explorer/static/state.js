// The whole state of the page is in the address after #, which never leaves the browser.
const words = new URLSearchParams(location.hash.slice(1));
let waiting = null;

export function get(name, otherwise) {
  return words.has(name) ? words.get(name) : otherwise;
}

export function set(name, value) {
  if (value === null || value === "" || value === undefined) words.delete(name);
  else words.set(name, String(value));
  waiting ??= setTimeout(write, 200); // browsers refuse to do it more often
}

export function forget(start) {
  for (const name of [...words.keys()].filter((each) => each.startsWith(start))) set(name, null);
}

export function write() {
  clearTimeout(waiting);
  waiting = null;
  history.replaceState(null, "", `${location.pathname}#${words}`); // without the token of the first visit
}

window.addEventListener("hashchange", () => location.reload()); // another link was opened here

// The whole state of the page is in the address after #, which never leaves the browser.
let words = new URLSearchParams(location.hash.slice(1));
let waiting = null;
const known = new Set(); // what some part of the page asked for

export function get(name, otherwise) {
  known.add(name);
  return words.has(name) ? words.get(name) : otherwise;
}

export function set(name, value) {
  known.add(name);
  if (value === null || value === "" || value === undefined) words.delete(name);
  else words.set(name, String(value));
  waiting ??= setTimeout(write, 200); // browsers refuse to do it more often
}

export function names(start) { // of all that is set and begins like this
  return [...words.keys()].filter((each) => each.startsWith(start));
}

export function forget(start) { // what was set, as "name = value"
  return names(start).map((name) => {
    const text = `${name.slice(name.lastIndexOf(".") + 1)} = ${words.get(name)}`;
    set(name, null);
    return text;
  });
}

export function unknown(start) { // what the address sets but nothing on the page has; it is forgotten
  return names(start).filter((name) => !known.has(name)).flatMap((name) => forget(name));
}

export function write(push = false) {
  clearTimeout(waiting);
  waiting = null;
  const address = `${location.pathname}#${words}`; // without the token of the first visit
  if (push) history.pushState({ ours: true }, "", address);
  else history.replaceState({ ours: true }, "", address);
}

export function adopt() { // a link that was opened here: what it says counts; gives the beginnings of what changed
  const before = words;
  clearTimeout(waiting);
  waiting = null;
  known.clear();
  words = new URLSearchParams(location.hash.slice(1));
  const changed = [...before.keys(), ...words.keys()].filter((name) => before.get(name) !== words.get(name));
  return new Set(changed.map((name) => name.split(".")[0]));
}

export function linked(name) { // what the present address says, whatever else is set
  return new URLSearchParams(location.hash.slice(1)).get(name);
}

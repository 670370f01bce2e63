// Before anything is drawn: light or dark, if the link says so.
const said = new URLSearchParams(location.hash.slice(1)).get("theme");
if (said === "light" || said === "dark") document.documentElement.dataset.theme = said;

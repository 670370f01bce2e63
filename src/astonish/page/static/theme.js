// Before anything is drawn: light or dark, as the link says, or else the system.
const asked = new URLSearchParams(location.hash.slice(1)).get("theme");
const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
document.documentElement.dataset.theme = ["light", "dark"].includes(asked) ? asked : system;

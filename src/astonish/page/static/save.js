// A plot as a file, made in the browser: nothing is asked of anybody.
import { button } from "./controls.js";
import { colour } from "./look.js";

export function savers(tools, title, name, drawing) { // buttons that save what drawing() gives, if there is anything
  for (const format of ["png", "svg"]) {
    const made = button(tools, format.toUpperCase(), () => drawing() && save(drawing(), `astonish-${name}`, format));
    made.setAttribute("aria-label", `Save "${title}" as ${format.toUpperCase()}`);
  }
}

export function download(blob, name) {
  const href = URL.createObjectURL(blob), link = document.createElement("a");
  link.href = href;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(href), 10000);
}

function whole(drawing) { // with its background, and all that a file of its own needs
  const copy = drawing.cloneNode(true), ground = document.createElementNS(drawing.namespaceURI, "rect");
  copy.setAttribute("xmlns", drawing.namespaceURI);
  for (const [name, value] of [["width", "100%"], ["height", "100%"], ["fill", colour("back")]]) {
    ground.setAttribute(name, value);
  }
  copy.prepend(ground);
  return new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" });
}

async function save(drawing, name, format) {
  const blob = whole(drawing);
  if (format === "svg") return download(blob, `${name}.svg`);
  const href = URL.createObjectURL(blob), image = new Image(), sharp = 2;
  image.src = href;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = sharp * drawing.width.baseVal.value;
  canvas.height = sharp * drawing.height.baseVal.value;
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(href);
  return canvas.toBlob((png) => download(png, `${name}.png`));
}

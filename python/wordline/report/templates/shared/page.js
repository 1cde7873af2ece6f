// The page as scripts see it: its colours, which follow light and dark, and new elements.
const ink = (name) => (name.startsWith("--") ? getComputedStyle(document.documentElement).getPropertyValue(name).trim() : name);

function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

const DARK = matchMedia("(prefers-color-scheme: dark)");

// A word that a search led to may lie in a folded section. The theme opens those with the anchor of the address; a result of the
// search has the heading above as its anchor, and its words as ?h=.
document.addEventListener("DOMContentLoaded", () => {
  if (new URLSearchParams(location.search).has("h")) {
    for (const folded of document.querySelectorAll("article details")) folded.open = true;
  }
});

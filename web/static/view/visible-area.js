/** Fits the page into what is visible of it: a software keyboard covers the rest. */

/** Writes the visible area into --page-top and --page-height, now and whenever it changes. */
export function followVisibleArea(viewport = window.visualViewport) {
  if (!viewport) return; // the style sheet's values stay
  const fit = () => {
    if (viewport.scale > 1.01) return; // enlarged by the user: the layout stays
    const { style } = document.documentElement;
    style.setProperty("--page-top", `${viewport.offsetTop}px`);
    style.setProperty("--page-height", `${viewport.height}px`);
  };
  viewport.addEventListener("resize", fit);
  viewport.addEventListener("scroll", fit);
  fit();
}

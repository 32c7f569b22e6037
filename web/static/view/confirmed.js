/** Makes a button act at its second press; it returns to its first text when it loses the focus. */
export function confirmed(button, label, question, act) {
  let asked = false;
  const draw = (now) => {
    asked = now;
    button.textContent = now ? question : label;
  };
  button.onclick = () => {
    if (!asked) return draw(true);
    draw(false);
    act();
  };
  button.onblur = () => draw(false);
  draw(false);
}

/* A tick box with data-tick-all ticks all boxes of its fieldset, and shows whether all, some or none are ticked. */
"use strict";

for (const all of document.querySelectorAll("input[data-tick-all]")) {
  const boxes = [...all.closest("fieldset").querySelectorAll("input[name=change]")];
  const follow = () => {
    const ticked = boxes.filter((box) => box.checked).length;
    all.checked = ticked === boxes.length;
    all.indeterminate = ticked > 0 && ticked < boxes.length;
  };
  all.addEventListener("change", () => {
    for (const box of boxes) box.checked = all.checked;
  });
  for (const box of boxes) box.addEventListener("change", follow);
  follow();
}

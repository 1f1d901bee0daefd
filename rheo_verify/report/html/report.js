"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];

  /* The stepper of one class: it shows one step and dresses the tree for it. */
  function stepper(walk) {
    const steps = all(".steps > li", walk);
    const marks = all(".rv-tree [data-n]", walk);
    const controls = walk.querySelector(".controls");
    const slider = controls.querySelector("input");
    const announced = walk.querySelector(".announced");
    const buttons = Object.fromEntries(all("button", controls).map((button) => [button.dataset.go, button]));
    let place = -1;
    const show = (wanted, aloud) => {
      const next = Math.max(0, Math.min(steps.length - 1, wanted));
      if (next === place) return;
      if (place >= 0) steps[place].classList.remove("is-now");
      place = next;
      const step = steps[place];
      step.classList.add("is-now");
      const revealed = Number(step.dataset.k);
      const now = new Set((step.dataset.now || "").split(" "));
      for (const mark of marks) {
        mark.classList.toggle("later", Number(mark.dataset.n) > revealed);
        mark.classList.toggle("now", now.has(mark.dataset.n));
        mark.classList.toggle("at", step.dataset.at === mark.dataset.n && mark.matches(".n"));
      }
      slider.value = place + 1;
      slider.setAttribute("aria-valuetext", step.querySelector("h4").textContent);
      for (const go of ["first", "back"]) buttons[go].disabled = place === 0;
      for (const go of ["on", "last"]) buttons[go].disabled = place === steps.length - 1;
      if (aloud) announced.textContent = step.textContent.replace(/\s+/g, " ").trim();
      reveal(step, walk.querySelector(".figure"));
    };
    const move = {
      first: () => show(0, true),
      back: () => show(place - 1, true),
      on: () => show(place + 1, true),
      last: () => show(steps.length - 1, true),
    };
    for (const [go, button] of Object.entries(buttons)) button.addEventListener("click", move[go]);
    slider.addEventListener("input", () => show(Number(slider.value) - 1, false));
    controls.hidden = false;
    show(Number(walk.dataset.start), false);
    return move;
  }

  /* Scroll the picture, never the page, to the nodes of a step. */
  function reveal(step, figure) {
    const wanted = (step.dataset.now || step.dataset.at || "").split(" ")[0];
    const node = figure.querySelector(`g[data-n="${wanted}"]`);
    if (!node) return;
    const box = node.getBoundingClientRect();
    const frame = figure.getBoundingClientRect();
    if (box.left < frame.left || box.right > frame.right) figure.scrollLeft += box.left - frame.left - 40;
    if (box.top < frame.top || box.bottom > frame.bottom) figure.scrollTop += box.top - frame.top - 80;
  }

  /* One class at a time; its stepper is made when it is first looked at. */
  const walks = all(".walk");
  const steppers = new Map();
  const choose = (id) => {
    walks.forEach((walk) => walk.classList.toggle("is-picked", walk.id === id));
    const walk = document.getElementById(id);
    if (!steppers.has(walk)) steppers.set(walk, stepper(walk));
  };
  const pick = document.getElementById("pick");
  if (walks.length) choose(walks[0].id);
  if (pick) {
    pick.closest("label").hidden = false;
    pick.value = walks[0].id;
    pick.addEventListener("change", () => choose(pick.value));
  }

  /* Arrow keys step, wherever the focus is, unless what has it needs them. */
  const keys = { ArrowRight: "on", ArrowLeft: "back", Home: "first", End: "last" };
  document.addEventListener("keydown", (event) => {
    const go = keys[event.key];
    const walk = walks.find((each) => each.classList.contains("is-picked"));
    if (!go || !walk || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (event.target.closest("input, select, textarea, .scroll")) return;
    if ((go === "first" || go === "last") && !walk.contains(event.target)) return;
    event.preventDefault();
    steppers.get(walk)[go]();
  });

  /* Sort a table by a column. */
  for (const table of all("table.sortable")) {
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    const value = (row, column) => row.cells[column].dataset.value ?? row.cells[column].textContent.trim();
    heads.forEach((head, column) => {
      head.querySelector("button").addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = [...body.rows].map((row) => [value(row, column), row]);
        const numbers = rows.every(([text]) => text === "" || !Number.isNaN(Number(text)));
        const order = numbers
          ? (a, b) => (a === "") - (b === "") || Number(a) - Number(b)
          : (a, b) => a.localeCompare(b, "en");
        rows.sort(([a], [b]) => (down ? -order(a, b) : order(a, b)));
        body.append(...rows.map(([, row]) => row));
      });
    });
  }

  /* What scrolls sideways can be reached by the keyboard, and only then. */
  const seen = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
      else target.removeAttribute("tabindex");
    }
  });
  for (const table of all("div.scroll:not(.figure)")) seen.observe(table);

  /* Copy a command, where the browser lets pages do so. */
  if (navigator.clipboard) {
    for (const button of all("button.copy")) {
      button.hidden = false;
      button.addEventListener("click", async () => {
        try {
          await navigator.clipboard.writeText(button.parentElement.querySelector("code").textContent);
          button.textContent = "Copied";
        } catch {
          button.textContent = "Select and copy";
        }
      });
    }
  }
})();

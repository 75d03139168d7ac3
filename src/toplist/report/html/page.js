// Tables that sort and filter, and a switch for the colours. The page is whole without it.
(() => {
  "use strict";
  const announce = document.getElementById("announce");

  // Sorting: numbers by data-value, infinite ones after finite ones, blanks last whatever the direction.
  const place = (cell) => {
    const key = cell.dataset.value;
    if (key === undefined) return [2, 0];
    if (key === "inf") return [1, 1];
    if (key === "-inf") return [1, -1];
    return [0, Number(key)];
  };
  const words = new Intl.Collator("en", { numeric: true });

  const sort = (table, column, descending) => {
    const body = table.tBodies[0];
    const textual = table.tHead.rows[0].cells[column].classList.contains("t");
    const sign = descending ? -1 : 1;
    const keyed = Array.from(body.rows, (row, i) => {
      const cell = row.cells[column];
      return { row, i, key: textual ? cell.textContent : place(cell) };
    });
    keyed.sort((a, b) => {
      const by = textual
        ? sign * words.compare(a.key, b.key)
        : a.key[0] - b.key[0] || sign * (a.key[1] - b.key[1]);
      return by || a.i - b.i;
    });
    body.append(...keyed.map((one) => one.row));
  };

  for (const table of document.querySelectorAll("table[data-sorts]")) {
    const heads = Array.from(table.tHead.rows[0].cells);
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const descending = head.getAttribute("aria-sort") === "ascending";
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", descending ? "descending" : "ascending");
        sort(table, column, descending);
        announce.textContent =
          `${table.caption.textContent}: sorted by ${button.textContent}, ${descending ? "descending" : "ascending"}.`;
      });
    });
  }

  // Filtering: every word must occur somewhere in the row.
  for (const input of document.querySelectorAll("input[data-table]")) {
    const rows = Array.from(document.getElementById(input.dataset.table).tBodies[0].rows);
    const texts = rows.map((row) => Array.from(row.cells, (cell) => cell.textContent).join(" ").toLowerCase());
    const output = input.parentElement.querySelector("output");
    const format = (n) => n.toLocaleString("en");
    const filter = () => {
      const wanted = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      rows.forEach((row, i) => {
        row.hidden = !wanted.every((word) => texts[i].includes(word));
        shown += !row.hidden;
      });
      output.textContent = wanted.length
        ? `${format(shown)} of ${format(rows.length)} rows`
        : `${format(rows.length)} rows`;
      input.parentElement.classList.toggle("filtered", wanted.length > 0);
    };
    filter();
    input.parentElement.hidden = false;
    input.addEventListener("input", filter);
  }

  // Colours: as the system has them, until the button is pressed; nothing is stored.
  const theme = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (document.documentElement.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
  const label = () => {
    theme.textContent = dark() ? "Light colours" : "Dark colours";
  };
  theme.addEventListener("click", () => {
    document.documentElement.dataset.theme = dark() ? "light" : "dark";
    label();
  });
  system.addEventListener("change", label);
  theme.hidden = false;
  label();

  // What is wider than its frame says so, and fades where there is more to the right.
  const frames = Array.from(document.querySelectorAll(".frame"));
  const measure = (frame) => {
    const inner = frame.firstElementChild;
    const rest = inner.scrollWidth - inner.clientWidth;
    frame.classList.toggle("over", rest > 1);
    frame.classList.toggle("more", rest - inner.scrollLeft > 1);
  };
  const watch = new ResizeObserver((seen) => {
    for (const one of seen) measure(one.target);
  });
  for (const frame of frames) {
    watch.observe(frame);
    frame.firstElementChild.addEventListener("scroll", () => measure(frame), { passive: true });
  }

  // Paper has no switches: what is folded is opened for printing, and folded again.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = Array.from(document.querySelectorAll("details:not([open]):not(.unprinted)"));
    for (const one of opened) one.open = true;
  });
  addEventListener("afterprint", () => {
    for (const one of opened) one.open = false;
    opened = [];
  });
})();

// Sorting, filters, highlighting, downloads, copying and printing. The page is complete without it.
(() => {
  "use strict";
  const root = document.documentElement;
  const byId = (id) => document.getElementById(id);
  const every = (selector, within = document) => Array.from(within.querySelectorAll(selector));
  const say = (text) => { byId("announce").textContent = text; };
  for (const one of every(".buttons, .tools, .copy, .mark")) one.hidden = false;

  const data = JSON.parse(byId("data").textContent);

  // Sorting: best first by the kind of the column, then the other way round; blanks last.
  const words = new Intl.Collator("en", { numeric: true });
  const place = (cell) => (cell.dataset.value === undefined ? null : Number(cell.dataset.value.replace("inf", "Infinity")));
  const sort = (table, column, descending, textual) => {
    const body = table.tBodies[0];
    const sign = descending ? -1 : 1;
    const keyed = Array.from(body.rows, (row, i) => {
      const cell = row.cells[column];
      return { row, i, key: textual ? cell.textContent : place(cell) };
    });
    keyed.sort((a, b) => {
      if (textual) return sign * words.compare(a.key, b.key) || a.i - b.i;
      if (a.key === null || b.key === null) return (a.key === null) - (b.key === null) || a.i - b.i;
      return (a.key === b.key ? 0 : sign * (a.key < b.key ? -1 : 1)) || a.i - b.i;
    });
    body.append(...keyed.map((one) => one.row));
  };
  for (const table of every("table[data-sorts]")) {
    const heads = Array.from(table.tHead.rows[0].cells);
    const order = Array.from(table.tBodies[0].rows);
    heads.forEach((head, column) => {
      if (head.classList.contains("ties") || head.classList.contains("whisker")) return;
      const textual = head.classList.contains("t");
      const first = textual || head.dataset.best === "low" ? "ascending" : "descending";
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const before = head.getAttribute("aria-sort");
        const now = before === null ? first : before === "ascending" ? "descending" : "ascending";
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", now);
        sort(table, column, now === "descending", textual);
        table.classList.toggle("resorted", Array.from(table.tBodies[0].rows).some((row, i) => row !== order[i]));
        say(`${table.caption.textContent}: sorted by ${button.textContent}, ${now}.`);
      });
    });
  }

  // Filters: every word must occur somewhere in the row.
  for (const input of every("input[data-table]")) {
    const rows = Array.from(byId(input.dataset.table).tBodies[0].rows);
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
      output.textContent = wanted.length ? `${format(shown)} of ${format(rows.length)} rows` : `${format(rows.length)} rows`;
    };
    filter();
    input.addEventListener("input", filter);
  }

  // One model highlighted everywhere: by a click on its name, or by the list.
  const mark = byId("mark");
  const highlight = (which) => {
    for (const one of every(".lit")) one.classList.remove("lit");
    mark.value = which;
    if (which !== "") for (const one of every(`[data-model="${CSS.escape(which)}"]`)) one.classList.add("lit");
    root.classList.toggle("marking", which !== "");
  };
  mark.addEventListener("change", () => highlight(mark.value));
  document.addEventListener("click", (event) => {
    const at = event.target.closest?.("[data-model]");
    if (at !== null && at !== undefined && !event.target.closest("a, button, summary")) {
      highlight(mark.value === at.dataset.model ? "" : at.dataset.model);
    }
  });

  // Copies and files.
  const copy = async (text, button) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
      button.focus();
    }
    const label = button.textContent;
    if (label !== "Copied") {
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = label; }, 1500);
    }
    say("Copied.");
  };
  const save = (text, name, type) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  for (const button of every(".copy")) {
    button.addEventListener("click", () => copy(button.parentElement.querySelector("code").textContent, button));
  }
  const cellText = (cell) => {
    const small = cell.querySelector("small")?.textContent.trim();
    const all = cell.textContent.trim().replace(/\s+/g, " ");
    const own = small ? `${all.slice(0, all.length - small.length).trim()} (${small})` : all;
    return own.replaceAll("|", "\\|") + (cell.querySelector(".significant") || cell.matches("td.significant") ? " *" : "");
  };
  const summary = () => {
    const table = byId("table-leaderboard");
    const line = (row) => {
      const cells = Array.from(row.cells).filter((cell) => !cell.matches(".ties, .whisker"));
      return `| ${cells.map(cellText).join(" | ")} |`;
    };
    const head = line(table.tHead.rows[0]);
    const rows = Array.from(table.tBodies[0].rows, line);
    const rule = head.replace(/[^|]+/g, " --- ");
    return [
      document.querySelector("h1").textContent, "",
      document.querySelector(".verdict").textContent, "",
      document.querySelector(".kind").textContent, "",
      head, rule, ...rows, "",
      ...(rows.some((row) => row.includes(" *")) ? ["\\* significant (Holm)", ""] : []),
    ].join("\n");
  };
  byId("copy-summary").addEventListener("click", (event) => copy(summary(), event.currentTarget));
  byId("save-csv").addEventListener("click", () => save(data.csv, "leaderboard.csv", "text/csv"));
  byId("save-json").addEventListener("click", () => {
    save(`${JSON.stringify(data.board, null, 2)}\n`, "leaderboard.json", "application/json");
  });
  byId("save-pairs")?.addEventListener("click", () => {
    const quoted = (x) => {
      const text = x === null ? "" : String(x);
      const safe = typeof x === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
      return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
    };
    const rows = data.board.pairs.map((pair) => [
      pair.rule, pair.a, pair.b, pair.cases, pair.difference.value, pair.difference.low, pair.difference.high,
      pair.difference.p, pair.adjusted_p, pair.simultaneous.low, pair.simultaneous.high, pair.extra_units,
    ]);
    const head = ["rule", "a", "b", "cases", "difference", "low", "high", "p", "adjusted_p", "simultaneous_low",
      "simultaneous_high", "extra_units"];
    save([head, ...rows].map((row) => row.map(quoted).join(",")).join("\n") + "\n", "pairs.csv", "text/csv");
  });

  // One model against all others, from the embedded pairs.
  const versus = byId("versus");
  if (versus !== null) {
    const list = byId("versus-items");
    const digits = Number(list.dataset.digits);
    const number = (x) => {
      if (x === null) return "\u2013";
      const text = Math.abs(x).toFixed(digits);
      return Number(text) === 0 ? text : (x < 0 ? "\u2212" : "+") + text;
    };
    const element = (tag, classes, text) => {
      const made = document.createElement(tag);
      made.className = classes;
      made.textContent = text;
      return made;
    };
    const short = Array.from(versus.options, (one) => one.text);
    const keys = Array.from(mark.options, (one) => one.value).slice(1);
    const show = () => {
      const found = data.board;
      const names = found.overall.rows.map((row) => row.name);
      const chosen = names[Number(versus.value)];
      const items = [];
      for (const pair of found.pairs) {
        if (pair.rule !== found.rules[0] || (pair.a !== chosen && pair.b !== chosen)) continue;
        const other = names.indexOf(pair.a === chosen ? pair.b : pair.a);
        const d = pair.simultaneous;
        const [value, low, high] = pair.b === chosen ? [d.value, d.low, d.high] : [d.value, d.high, d.low].map((x) => (x === null ? null : -x));
        const significant = pair.adjusted_p !== null && pair.adjusted_p <= 1 - found.level && d.value !== 0;
        const item = document.createElement("li");
        const name = element("bdi", "n", short[other]);
        name.dataset.model = keys[other];
        name.classList.toggle("lit", mark.value === keys[other]);
        const interval = low === null ? "" : `${number(low)} to ${number(high)}`;
        item.append(name, " ", element("span", significant ? "num significant" : "num", number(value)), " ",
          element("small", "num", interval));
        items.push([other, item]);
      }
      items.sort((a, b) => a[0] - b[0]);
      list.replaceChildren(...items.map(([, item]) => item));
      for (const one of every("#versus-words bdi")) one.textContent = short[Number(versus.value)];
      say(`${short[Number(versus.value)]} compared with ${items.length} models.`);
    };
    versus.addEventListener("change", show);
  }

  // Colours: as the system has them, until the button is pressed; nothing is stored.
  const theme = byId("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
  const label = () => { theme.textContent = dark() ? "Light" : "Dark"; };
  theme.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    label();
  });
  system.addEventListener("change", label);
  label();

  // A region takes part in the tab order only where it can scroll.
  const regions = every(".scroll");
  const watch = new ResizeObserver((seen) => {
    for (const { target } of seen) {
      if (target.scrollWidth > target.clientWidth + 1 && getComputedStyle(target).overflowX !== "visible") {
        target.tabIndex = 0;
      } else {
        target.removeAttribute("tabindex");
      }
    }
  });
  for (const one of regions) watch.observe(one);

  // Contents: the section in view is marked.
  const links = every(".contents a");
  const heads = every("main section > h2");
  const spy = () => {
    let now = heads[0]?.id;
    for (const head of heads) if (head.getBoundingClientRect().top < innerHeight / 3) now = head.id;
    for (const link of links) {
      if (link.hash === `#${now}` && scrollY > 0) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  };
  let waiting = false;
  addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      spy();
    });
  }, { passive: true });
  spy();
  for (const link of every(".contents details a")) {
    link.addEventListener("click", () => { link.closest("details").open = false; });
  }

  // Paper has what is open; this prints what is folded as well.
  byId("print-all").addEventListener("click", () => {
    const opened = every("main details:not([open]):not(.unprinted)").filter((one) => one.closest(".unprinted") === null);
    for (const one of opened) one.open = true;
    addEventListener("afterprint", () => {
      for (const one of opened) one.open = false;
    }, { once: true });
    print();
  });
})();

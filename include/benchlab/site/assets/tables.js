// What a script adds to every table of a page: its columns sort it, a long one is searched, and it is
// copied as Markdown or CSV, as it is shown; so is an answer, with the table below it. The words for it are in data-... of the script's own element; without a script
// nothing is lost but that.
"use strict";

{
  const words = document.currentScript.dataset;
  const FEW = 10; // rows that are read without a search
  // The parts of a cell that are no text of the table.
  const BESIDE = "form, svg, button:not(.sorts), details, [aria-hidden=true]";

  // What a cell says in one line; a time in UTC, whatever zone it is shown in.
  function said(cell) {
    const copy = cell.cloneNode(true);
    copy.querySelectorAll(BESIDE).forEach((part) => part.remove());
    copy.querySelectorAll("time[datetime]").forEach((time) => { time.textContent = time.dateTime; });
    copy.querySelectorAll("br").forEach((line) => line.replaceWith("; "));
    return copy.textContent.replace(/\s+/g, " ").replace(/^[; ]+|[; ]+$/g, "").trim();
  }

  // Rows as arrays of texts, one for each column. A cell of several rows is repeated in each of them,
  // one of several columns only where it heads them.
  function grid(rows, isHead) {
    const made = rows.map(() => []);
    rows.forEach((row, down) => {
      let across = 0;
      for (const cell of row.cells) {
        while (made[down][across] !== undefined) {
          across += 1;
        }
        for (let below = 0; below < cell.rowSpan && down + below < made.length; below += 1) {
          for (let beside = 0; beside < cell.colSpan; beside += 1) {
            made[down + below][across + beside] = beside && !isHead ? "" : said(cell);
          }
        }
        across += cell.colSpan;
      }
    });
    return made;
  }

  // Headings in one row, each below what spans it, then the rows that are shown.
  function content(table) {
    const above = grid(table.tHead ? [...table.tHead.rows] : [], true);
    const width = Math.max(0, ...above.map((row) => row.length));
    const headings = Array.from({ length: width }, (_, column) => (
      [...new Set(above.map((row) => row[column] || ""))].filter(Boolean).join(", ")
    ));
    const bodies = [...table.tBodies].flatMap((body) => [...body.rows]);
    const rows = grid(bodies.filter((row) => !row.hidden), false);
    const all = [headings, ...rows];
    // A column of charts has neither a heading nor a text.
    const columns = Math.max(...all.map((row) => row.length));
    const kept = Array.from({ length: columns }, (_, column) => column)
      .filter((column) => all.some((row) => row[column]));
    return all.map((row) => kept.map((column) => row[column] || ""));
  }

  const WRITTEN = {
    markdown: (rows) => {
      const line = (cells) => `| ${cells.map((cell) => cell.replace(/([|\\])/g, "\\$1")).join(" | ")} |`;
      const [head, ...body] = rows;
      return [line(head), line(head.map(() => "---")), ...body.map(line)].join("\n") + "\n";
    },
    csv: (rows) => {
      // A spreadsheet takes a text for a formula that begins as one does; a number is none.
      const cell = (text) => {
        const safe = /^[=@\t]|^[+-](?!\d)|^[+-].*[|(!=]/.test(text) ? `'${text}` : text;
        return /[",\n;]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
      };
      return rows.map((row) => row.map(cell).join(",")).join("\n") + "\n";
    },
  };

  const SAID = {
    markdown: (sentences) => sentences.map((sentence) => `${sentence}\n\n`).join(""),
    csv: (sentences) => WRITTEN.csv(sentences.map((sentence) => [sentence])).trimStart(),
  };

  async function copy(text) {
    if (navigator.clipboard) {
      await navigator.clipboard.writeText(text);
      return;
    }
    // Without TLS a browser has no other way.
    const field = document.createElement("textarea");
    field.value = text;
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    if (!done) {
      throw new Error("refused");
    }
  }

  // Buttons after an element; ``read``: its sentences and its rows, as they are then.
  function copying(element, read) {
    const bar = document.createElement("p");
    bar.className = "copying";
    const status = document.createElement("span");
    status.setAttribute("role", "status");
    for (const form of Object.keys(WRITTEN)) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = words[form];
      button.addEventListener("click", async () => {
        try {
          const [sentences, rows] = read();
          await copy(SAID[form](sentences) + (rows.length ? WRITTEN[form](rows) : ""));
          status.textContent = words.copied;
        } catch (error) {
          status.textContent = words.refused;
          console.warn("not copied:", error);
        }
        window.setTimeout(() => { status.textContent = ""; }, 3000);
      });
      bar.append(button, " ");
    }
    bar.append(status);
    (element.closest(".scroll") || element).after(bar);
  }

  // The number that a text begins with, as Benchlab writes it; NaN where it begins with none.
  function number(text) {
    const found = /^[+\u2212-]?\d[\d,]*(\.\d+)?/.exec(text);
    return found ? Number(found[0].replace(/,/g, "").replace("\u2212", "-")) : NaN;
  }

  function compared(one, other) {
    const [first, second] = [number(one), number(other)];
    if (!Number.isNaN(first) && !Number.isNaN(second) && first !== second) {
      return first - second;
    }
    return one.localeCompare(other, document.documentElement.lang, { numeric: true });
  }

  function sort(table, column, isDescending) {
    const body = table.tBodies[0];
    const keyed = [...body.rows].map((row) => [row.cells[column].dataset.sort ?? said(row.cells[column]), row]);
    // What is missing is last, whatever the direction.
    const isMissing = (text) => text === "" || text === words.missing;
    keyed.sort(([one], [other]) => (
      isMissing(one) - isMissing(other)
      || (isDescending ? compared(other, one) : compared(one, other))
    ));
    body.append(...keyed.map(([, row]) => row));
  }

  // Whether its rows can be moved and hidden one by one, and are all there are. The headings of a
  // table that the server sorts are links; only where it is whole are they not needed.
  function isPlain(table) {
    const rows = table.tBodies.length === 1 ? [...table.tBodies[0].rows] : [];
    const isWhole = table.dataset.whole !== undefined || !table.tHead?.querySelector("a");
    return isWhole && rows.length > 1 && table.tHead?.rows.length === 1
      && [table.tHead.rows[0], ...rows].every((row) => (
        [...row.cells].every((cell) => cell.colSpan === 1 && cell.rowSpan === 1)
      ));
  }

  // The address keeps the order that the server knows, so that the page can be passed on.
  function keepOrder(link, isDescending) {
    if (link) {
      const address = new URL(link.href);
      const column = address.searchParams.get("order").replace("-", "");
      address.searchParams.set("order", (isDescending ? "-" : "") + column);
      window.history.replaceState(null, "", address);
    }
  }

  function sorting(table) {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      if (!head.textContent.trim()) {
        return;
      }
      const button = document.createElement("button");
      const link = head.querySelector("a");
      button.type = "button";
      button.className = "sorts";
      link?.querySelectorAll("[aria-hidden]").forEach((arrow) => arrow.remove());
      button.append(...(link || head).childNodes);
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const isDescending = head.ariaSort === "ascending";
        table.tHead.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
        head.ariaSort = isDescending ? "descending" : "ascending";
        sort(table, column, isDescending);
        keepOrder(link, isDescending);
      });
    });
  }

  // Shows the rows that have every word of what is typed.
  function searching(table) {
    const rows = [...table.tBodies[0].rows];
    const text = (cell) => [said(cell), ...[...cell.querySelectorAll("time")].map((one) => one.textContent)];
    const label = document.createElement("label");
    const field = document.createElement("input");
    const status = document.createElement("span");
    field.type = "search";
    status.setAttribute("role", "status");
    label.className = "searching";
    label.append(`${words.search} `, field, " ", status);
    field.addEventListener("input", () => {
      const wanted = field.value.toLowerCase().split(/\s+/);
      for (const row of rows) {
        const there = [...row.cells].flatMap(text).join(" ").toLowerCase();
        row.hidden = !wanted.every((word) => there.includes(word));
        row.querySelectorAll("input").forEach((tick) => { tick.disabled = row.hidden; });
      }
      status.textContent = `${rows.filter((row) => !row.hidden).length} / ${rows.length}`;
    });
    (table.closest(".scroll") || table).before(label);
  }

  const tables = [...document.querySelectorAll("main table")].filter((table) => table.tBodies.length);
  for (const table of tables) {
    if (isPlain(table)) {
      sorting(table);
      if (table.tBodies[0].rows.length > FEW) {
        searching(table);
      }
    }
    copying(table, () => [[], content(table)]);
  }

  for (const answer of document.querySelectorAll("[data-copy=answer]")) {
    const below = tables.find((table) => answer.contains(table)
      || answer.compareDocumentPosition(table) & Node.DOCUMENT_POSITION_FOLLOWING);
    const parts = answer.querySelectorAll("p, li");
    copying(answer, () => [[...(parts.length ? parts : [answer])].map(said), below ? content(below) : []]);
  }
}

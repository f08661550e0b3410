// The little that the pages cannot do without a script: times in the reader's zone, and parts of a
// page that are asked for again. Everything can be read without it. The theme is in theme.js.
"use strict";

// Airflow's UI keeps the zone that was chosen there under this key, as JSON; else the browser's counts.
function zone() {
  try {
    const name = JSON.parse(window.localStorage.getItem("timezone")) || undefined;
    return new Intl.DateTimeFormat(undefined, { timeZone: name }).resolvedOptions().timeZone;
  } catch (error) {
    return undefined; // a zone that this browser does not know, or no access to what is kept
  }
}

function showLocalTimes(root) {
  const wanted = { dateStyle: "medium", timeStyle: "short", timeZone: zone() };
  const format = new Intl.DateTimeFormat(document.documentElement.lang, wanted);
  for (const time of root.querySelectorAll("time[datetime]")) {
    const at = new Date(time.dateTime);
    if (!Number.isNaN(at.getTime())) {
      time.title ||= time.textContent;
      time.textContent = format.format(at);
    }
  }
}

// <div data-refresh="ADDRESS" data-seconds="5" data-first="0">: its content is replaced by what
// ADDRESS answers, at first after data-first seconds, until that has no data-refresh any more, or has data-reload: then the whole page is read again. A hidden page asks nothing. While there is no answer, what
// is shown is marked as old; where it has data-failed, that is said and nothing is asked any more.
async function refresh(part) {
  if (!document.hidden) {
    try {
      const answer = await fetch(part.dataset.refresh, { credentials: "same-origin" });
      if (!answer.ok && part.dataset.failed) {
        part.append(part.dataset.failed);
        return;
      }
      part.classList.toggle("stale", !answer.ok);
      if (answer.redirected) {
        window.location.replace(answer.url); // what the page waits for is there
        return;
      }
      if (answer.ok) {
        const made = document.createElement("template");
        made.innerHTML = await answer.text();
        const next = made.content.getElementById(part.id) || made.content.firstElementChild;
        if ("reload" in next.dataset) {
          window.location.reload(); // it has ended: the rest of the page says so as well
          return;
        }
        part.replaceWith(next);
        showLocalTimes(next);
        next.querySelectorAll(".scroll, pre").forEach((wide) => scrolled.observe(wide));
        part = next;
      }
    } catch (error) {
      part.classList.add("stale");
      console.warn("not refreshed:", error);
    }
  }
  if (part.dataset.refresh) {
    window.setTimeout(() => refresh(part), 1000 * Number(part.dataset.seconds || 5));
  }
}

// What is wider than the window is scrolled; with the keyboard only if it can have the focus.
const scrolled = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    if (target.scrollWidth > target.clientWidth) {
      target.tabIndex = 0;
    } else {
      target.removeAttribute("tabindex");
    }
  }
});
document.querySelectorAll(".scroll, pre").forEach((part) => scrolled.observe(part));

// A link to something in a folded part opens it, also where the address has it already.
function unfold({ hash }) {
  const target = document.getElementById(hash.slice(1));
  let isFolded = false;
  for (let part = target?.closest("details"); part; part = part.parentElement.closest("details")) {
    isFolded ||= !part.open;
    part.open = true;
  }
  if (isFolded) {
    target.scrollIntoView();
  }
}
window.addEventListener("hashchange", () => unfold(window.location));
document.addEventListener("click", (event) => {
  const link = event.target.closest('a[href^="#"]');
  if (link) {
    unfold(link);
  }
});
unfold(window.location);

// Printed, every chapter is open.
let printed = [];
window.addEventListener("beforeprint", () => {
  printed = [...document.querySelectorAll("details.chapter:not([open])")];
  printed.forEach((part) => { part.open = true; });
});
window.addEventListener("afterprint", () => printed.forEach((part) => { part.open = false; }));

// Airflow's UI shows the pages in a frame whose sandbox forbids them to replace the UI. A link of the
// UI's own document may, as it is of the same origin.
function leaveFrame(address) {
  const link = window.top.document.createElement("a");
  link.href = address;
  link.click();
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[target=_top]");
  const isPlain = !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
  if (link && isPlain && window.top !== window) {
    event.preventDefault();
    leaveFrame(link.href);
  }
});

showLocalTimes(document);
for (const part of document.querySelectorAll("[data-refresh]")) {
  window.setTimeout(() => refresh(part), 1000 * Number(part.dataset.first || part.dataset.seconds || 5));
}

// <form data-figures="ADDRESS" data-part="ID" data-status="ID">: while it is filled in, the part with
// this id is what ADDRESS answers for the form's values. An older answer never replaces a newer one.
// Until there is an answer, the part is marked, nothing in it can be started, and the status says why.
// A part with data-again="3" is asked for again after 3 s.
for (const form of document.querySelectorAll("form[data-figures]")) {
  const part = document.getElementById(form.dataset.part);
  const status = document.getElementById(form.dataset.status);
  let newest = 0;
  let waiting = 0;
  const mark = (said) => {
    const isOld = said !== "";
    part.classList.toggle("old", isOld);
    part.setAttribute("aria-busy", String(said === form.dataset.asking));
    part.querySelectorAll("button").forEach((button) => { button.disabled = isOld; });
    status.textContent = said;
  };
  const askAgain = () => {
    const due = part.querySelector("[data-again]");
    if (due) {
      waiting = window.setTimeout(ask, 1000 * Number(due.dataset.again));
    }
  };
  const ask = async () => {
    const turn = ++newest;
    const query = new URLSearchParams(new FormData(form));
    let made = null;
    try {
      const answer = await fetch(`${form.dataset.figures}?${query}`, { credentials: "same-origin" });
      if (answer.ok) {
        made = document.createElement("template");
        made.innerHTML = await answer.text();
      }
    } catch (error) {
      made = null;
      console.warn("not asked:", error);
    }
    if (turn !== newest) {
      return;
    }
    if (made) {
      part.replaceChildren(...made.content.firstElementChild.childNodes);
    }
    mark(made ? "" : form.dataset.stale);
    askAgain();
  };
  askAgain();
  form.addEventListener("input", (event) => {
    if (event.target.dataset.submits !== undefined) {
      // Another report type has other values: begin with its own.
      window.location.search = new URLSearchParams({ report: event.target.value }).toString();
      return;
    }
    window.clearTimeout(waiting);
    newest += 1; // what is under way is of earlier values
    mark(form.dataset.asking);
    waiting = window.setTimeout(ask, 300);
  });
}

// <form data-start="ADDRESS" data-conf="JSON">: asks Airflow's API for a run, as the person whose
// browser this is, and goes to the run's page.
document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (form.dataset.start === undefined) {
    return;
  }
  event.preventDefault();
  const button = form.querySelector("button");
  const status = form.querySelector("[role=status]");
  button.disabled = true;
  try {
    const answer = await fetch(form.dataset.start, {
      method: "POST",
      credentials: "same-origin",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ conf: JSON.parse(form.dataset.conf), logical_date: null }),
    });
    const said = await answer.json();
    if (!answer.ok) {
      throw new Error(typeof said.detail === "string" ? said.detail : answer.statusText);
    }
    const page = new URL(form.dataset.start, document.baseURI);
    page.pathname = page.pathname.replace(/api\/v2\/dags\/[^/]+\/dagRuns$/,
      `dags/${encodeURIComponent(said.dag_id)}/runs/${encodeURIComponent(said.dag_run_id)}`);
    leaveFrame(page.href);
  } catch (error) {
    status.textContent = `${form.dataset.failed} ${error.message}`;
    button.disabled = false;
  }
});

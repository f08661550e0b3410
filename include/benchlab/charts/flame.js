// Flame graphs can be zoomed and searched, in a page as in an SVG file of their own: a click on a frame
// or Enter zooms in, the outermost frame or Escape out, arrows go from frame to frame. Without a
// script they show as much, and each frame's figures are its tooltip.
"use strict";

(() => {
  const HTML = "http://www.w3.org/1999/xhtml", SVG = "http://www.w3.org/2000/svg";
  const MARGIN = 3, LETTER = 7, FEWEST_LETTERS = 4;
  const ROUNDED = 0.02; // of places in the file

  function element(name, space = HTML, attributes = {}) {
    const made = document.createElementNS(space, name);
    Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
    return made;
  }

  function frameOf(group) {
    const box = group.querySelector("rect");
    const number = (name) => Number(box.getAttribute(name));
    const [x, y, width, height] = ["x", "y", "width", "height"].map(number);
    const [name, sides] = group.querySelector("title").textContent.split("\n");
    group.setAttribute("role", "button");
    group.setAttribute("aria-label", `${name}: ${sides}`);
    group.tabIndex = -1;
    const share = group.dataset.share.split(" ").map(Number);
    const text = group.querySelector("text");
    return { group, box, x, y, width, row: height + 1, name, sides, share, text };
  }

  const short = ({ name }) => name.slice(name.lastIndexOf("/") + 1);
  const covers = (outer, inner) =>
    outer.x <= inner.x + ROUNDED && outer.x + outer.width >= inner.x + inner.width - ROUNDED;

  function place(frame, x, width) {
    frame.box.setAttribute("x", x);
    frame.box.setAttribute("width", width);
    const room = Math.floor((width - 2 * MARGIN) / LETTER);
    const name = short(frame);
    frame.text ||= frame.group.appendChild(element("text", SVG, { y: frame.y + 12 }));
    frame.text.setAttribute("x", x + MARGIN);
    frame.text.textContent =
      room < FEWEST_LETTERS ? "" : name.length <= room ? name : `${name.slice(0, room - 1)}…`;
  }

  function use(svg) {
    const frames = [...svg.querySelectorAll("g[data-share]")].map(frameOf);
    const whole = frames[0];
    const byGroup = new Map(frames.map((frame) => [frame.group, frame]));
    const isShown = (frame) => frame.group.style.display !== "none";
    let current = whole;

    function choose(frame) {
      current.group.tabIndex = -1;
      current = frame;
      current.group.tabIndex = 0;
    }

    function zoom(to) {
      const scale = whole.width / to.width;
      for (const frame of frames) {
        const isAbove = frame.y < to.y && covers(frame, to);
        const isBelow = frame.y >= to.y && covers(to, frame);
        frame.group.style.display = isAbove || isBelow ? "" : "none";
        frame.group.classList.toggle("above", isAbove);
        if (isAbove) {
          place(frame, whole.x, whole.width);
        } else if (isBelow) {
          place(frame, whole.x + (frame.x - to.x) * scale, frame.width * scale);
        }
      }
      choose(to);
    }

    // The frame beside another one, in the direction of an arrow.
    function beside(frame, key) {
      const rows = { ArrowUp: -1, ArrowDown: 1 }[key] || 0;
      const row = frames.filter((one) => isShown(one) && one.y === frame.y + rows * frame.row);
      row.sort((a, b) => a.x - b.x);
      return rows
        ? row.find((one) => covers(one, frame) || covers(frame, one))
        : row[row.indexOf(frame) + (key === "ArrowRight" ? 1 : -1)];
    }

    // What was found below something else that was found is counted once.
    function find(text) {
      const outermost = [];
      let count = 0;
      for (const frame of [...frames].sort((a, b) => a.y - b.y)) {
        const isFunction = frame !== whole && !frame.box.classList.contains("merged");
        const isMatch = isFunction && text !== "" && frame.name.toLowerCase().includes(text);
        frame.group.classList.toggle("match", isMatch);
        count += isMatch;
        if (isMatch && !outermost.some((one) => covers(one, frame))) {
          outermost.push(frame);
        }
      }
      const sum = (side) => `${outermost.reduce((all, one) => all + one.share[side], 0).toFixed(2)}%`;
      const found = { count, baseline: sum(0), candidate: sum(1) };
      said.textContent = text && svg.dataset.found.replace(/\{(\w+)\}/g, (_, name) => found[name]);
    }

    const tools = element("div", HTML, { class: "flame-tools" });
    const label = element("label"), said = element("output");
    const field = element("input", HTML, { type: "search" });
    label.append(`${svg.dataset.find} `, field);
    tools.append(label, " ", said);
    field.addEventListener("input", () => find(field.value.trim().toLowerCase()));
    if (document.documentElement === svg) {
      const corner = { x: 560, y: 8, width: 630, height: 28 };
      svg.appendChild(element("foreignObject", SVG, corner)).append(tools);
    } else {
      svg.before(tools);
    }
    svg.setAttribute("role", "group");
    svg.classList.add("live");
    const frameAt = (event) => byGroup.get(event.target.closest("g[data-share]"));
    svg.addEventListener("click", (event) => frameAt(event) && zoom(frameAt(event)));
    svg.addEventListener("focusin", (event) => {
      if (frameAt(event)) {
        said.textContent = `${short(frameAt(event))}: ${frameAt(event).sides}`;
      }
    });
    svg.addEventListener("keydown", (event) => {
      const frame = frameAt(event);
      const next = frame && event.key.startsWith("Arrow") ? beside(frame, event.key) : null;
      if (frame && ["Enter", " ", "Escape"].includes(event.key)) {
        zoom(event.key === "Escape" ? whole : frame);
        current.group.focus();
      } else if (next) {
        choose(next);
        next.group.focus();
      } else {
        return;
      }
      event.preventDefault();
    });
    choose(whole);
  }

  document.querySelectorAll("svg.flame").forEach(use);
})();

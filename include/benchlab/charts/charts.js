// What a script adds to charts: what a mark says, under the pointer or with the focus, the values of
// series at one time, and zooming into time. Without it the browser shows what each mark says. The
// words are in data-... of the script's own element.
"use strict";

(() => {
  const words = document.currentScript.dataset;
  const NEAR = 24, LEAST_DRAG = 8, FINEST = 64, APART = 17, FEW = 10, DAY = 86_400;
  const WAYS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
  const ZOOMS = { "+": 2, "-": 0.5, 0: 0 };
  const format = new Intl.NumberFormat("en", { maximumSignificantDigits: 5 });
  const numbers = (text) => text.split(" ").map(Number);
  const within = (value, low, high) => Math.max(low, Math.min(value, high));
  const least = (all, of) => all.reduce((best, one) => (of(one) < of(best) ? one : best));

  function drawn(parent, name, attributes = {}) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
    return parent.appendChild(made);
  }

  const tip = document.createElement("div");
  tip.className = "chart-tip";
  tip.setAttribute("role", "status");
  (document.querySelector("main") || document.body).append(tip);

  // Above or below a mark, or beside the line at a time; read out where no name with the focus is.
  function tell(text, box = null, isTime = false, isRead = false) {
    tip.setAttribute("aria-live", isRead ? "polite" : "off");
    tip.textContent = text;
    if (text) {
      const { clientWidth, clientHeight } = document.documentElement;
      const { width, height } = tip.getBoundingClientRect();
      const after = box.right + 8, above = box.top - height - 8;
      const across = isTime ? (after + width < clientWidth ? after : box.left - width - 8) : (box.left + box.right - width) / 2;
      const down = isTime ? box.top + 8 : above > 4 ? above : box.bottom + 8;
      tip.style.left = `${within(across, 4, Math.max(4, clientWidth - width - 4))}px`;
      tip.style.top = `${within(down, 4, Math.max(4, clientHeight - height - 4))}px`;
    }
  }

  // A stop is what the pointer or the arrows come to: its place across, as drawn, and what it says.
  function stopOf(title) {
    const element = title.parentNode, circle = element.querySelector("circle");
    const said = title.textContent;
    element.setAttribute("aria-label", said);
    if (element.localName === "g") {
      element.setAttribute("role", "img");
    }
    element.tabIndex = -1;
    title.remove();
    return { element, x: circle && Number(circle.getAttribute("cx")), said: () => said };
  }

  // The stops of series: the points of the longest line, which say the values of all of them there.
  function stopsOf(strips, when) {
    const read = strips.map((group) => {
      const [low, high, start, end] = numbers(group.dataset.strip);
      const lines = [...group.children].map((line) => {
        const points = line.querySelector("path").getAttribute("d").matchAll(/[ML]([\d.]+) ([\d.]+)/g);
        const name = line.querySelector("title").textContent;
        line.querySelector("title").remove();
        return { name, points: [...points].map(([, x, y]) => [Number(x), Number(y)]) };
      });
      // No finer than it is drawn, which is to hundredths of a pixel.
      const fine = 10 ** Math.ceil(Math.log10((high - low) / Math.abs(end - start) / 100));
      const value = (y) => format.format(Math.round((low + ((y - start) / (end - start)) * (high - low)) / fine) * fine);
      return { name: group.dataset.name, lines, value };
    });
    const points = read.flatMap(({ lines }) => lines.map((line) => line.points));
    const longest = least(points, (line) => -line.length);
    const gap = Math.abs(longest.at(-1)[0] - longest[0][0]) / longest.length + 1;
    const said = (x) => read.flatMap(({ name, lines, value }) => {
      const there = lines.flatMap((line) => {
        const near = least(line.points, (point) => Math.abs(point[0] - x));
        return Math.abs(near[0] - x) <= gap ? [`  ${line.name}: ${value(near[1])}`] : [];
      });
      return there.length ? [name, ...there] : [];
    });
    return longest.map(([x]) => ({ element: null, x, said: () => [...when(x), ...said(x)].join("\n") }));
  }

  // Time: what lies in .zooms is moved; lines and boxes are stretched, texts and points are not.
  function zoomOf(svg) {
    const [low, high, left, right] = numbers(svg.dataset.across);
    const unit = svg.dataset.unit === "day" ? DAY : 1;
    const height = svg.viewBox.baseVal.height;
    let scale = 1, from = left, own = null;
    const seen = () => (right - left) / scale;
    const place = (x) => left + (x - from) * scale;
    const back = (x) => from + (within(x, left, right) - left) / scale;
    const time = (x) => (low + ((x - left) / (right - left)) * (high - low)) / unit;
    const said = (at) => (unit === DAY ? new Date(at * DAY * 1000).toISOString().slice(0, 10) : format.format(at));
    const leaves = [...svg.querySelectorAll(".zooms :is(path, rect, text, circle)")].map((leaf) => {
      const of = (!leaf.parentNode.matches(".zooms") && leaf.parentNode.querySelector("circle")) || leaf;
      const x = of.getAttribute("cx") || (of.localName === "text" && of.getAttribute("x"));
      return { leaf, was: leaf.getAttribute("transform") || "", x: x ? Number(x) : null };
    });
    const ticks = svg.querySelector(".ticks");
    const id = `seen-${[...document.querySelectorAll("svg")].indexOf(svg)}`;
    const edge = { x: left - 8, y: 0, width: right - left + 16, height };
    drawn(drawn(svg, "clipPath", { id }), "rect", edge);
    svg.querySelectorAll(".zooms").forEach((group) => group.setAttribute("clip-path", `url(#${id})`));

    function tick() {
      own?.remove();
      own = drawn(svg, "g");
      ticks.classList.toggle("crowded", scale > 1);
      const [first, last] = [time(from), time(from + seen())];
      const power = 10 ** Math.floor(Math.log10((last - first) / 6));
      const fits = [1, 2, 5, 10].map((n) => n * power).find((step) => step >= (last - first) / 6);
      const step = unit === DAY ? Math.max(1, Math.round(fits)) : fits;
      for (let at = Math.ceil(first / step) * step; scale > 1 && at <= last; at += step) {
        const x = left + ((at - first) / (last - first)) * (right - left);
        const y = ticks.querySelector("text").getAttribute("y");
        drawn(own, "text", { class: "tick middle", x, y }).textContent = said(at);
      }
    }

    function to(wanted, start) {
      scale = within(wanted, 1, FINEST);
      from = within(start, left, right - seen());
      svg.classList.toggle("zoomed", scale > 1);
      for (const { leaf, was, x } of leaves) {
        const stretched = `matrix(${scale} 0 0 1 ${left - from * scale} 0)`;
        leaf.setAttribute("transform", x === null ? stretched : `translate(${place(x) - x} 0) ${was}`);
      }
      let free = left;
      for (const text of svg.querySelectorAll(".sparse")) {
        const x = place(Number(text.getAttribute("x")));
        text.classList.toggle("crowded", x < free);
        free = x < free ? free : x + APART;
      }
      tick();
      tell("");
      svg.querySelector(".cursor")?.removeAttribute("d");
    }

    const isSeen = (x) => place(x) >= left - 1 && place(x) <= right + 1;
    const show = (x) => isSeen(x) || to(scale, x - seen() / 2);
    // By a factor about the middle, and by a share of what is seen.
    const step = (factor, shift) => {
      const middle = from + seen() * (0.5 + shift);
      to(scale * factor, middle - (right - left) / within(scale * factor, 1, FINEST) / 2);
    };
    const over = (...ends) => to((right - left) / Math.abs(ends[0] - ends[1]), Math.min(...ends));
    const when = (x) => (unit === DAY ? [] : [`${said(time(x))} s`]);
    return { place, back, when, isSeen, show, step, over };
  }

  function addTools(svg, zoom) {
    const bar = document.createElement("p");
    bar.className = "zooming";
    bar.setAttribute("role", "group");
    bar.setAttribute("aria-label", svg.getAttribute("aria-label"));
    for (const [word, ...by] of [["zoomIn", 2, 0], ["zoomOut", 0.5, 0], ["earlier", 1, -0.5], ["later", 1, 0.5], ["whole", 0, 0]]) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = words[word];
      button.addEventListener("click", () => zoom.step(...by));
      bar.append(button, " ");
    }
    (svg.closest(".scroll") || svg).after(bar);
  }

  // Dragging over a part zooms into it, a double click out of it; a link that was dragged is not followed.
  function addDragging(svg, zoom, across) {
    let begun = null, box = null, isDragged = false;
    svg.addEventListener("dragstart", (event) => event.preventDefault());
    svg.addEventListener("dblclick", () => zoom.step(0, 0));
    svg.addEventListener("click", (event) => isDragged && event.preventDefault(), true);
    svg.addEventListener("pointerdown", (event) => {
      begun = event.pointerType === "mouse" && event.button === 0 ? across(event) : null;
    });
    svg.addEventListener("pointermove", (event) => {
      const x = across(event);
      if (begun !== null && (box || Math.abs(x - begun) > LEAST_DRAG)) {
        box ||= drawn(svg, "rect", { class: "chosen", y: 0, height: svg.viewBox.baseVal.height });
        box.setAttribute("x", Math.min(x, begun));
        box.setAttribute("width", Math.abs(x - begun));
      }
    });
    window.addEventListener("pointerup", (event) => {
      if (box) {
        isDragged = true; // for the click that follows at once, if any
        window.setTimeout(() => { isDragged = false; });
        box.remove();
        zoom.over(zoom.back(begun), zoom.back(across(event)));
      }
      begun = box = null;
    });
  }

  function use(svg) {
    const zoom = svg.dataset.across ? zoomOf(svg) : null;
    const strips = [...svg.querySelectorAll("[data-strip]")].filter((group) => group.children.length);
    const isSeries = strips.length > 0;
    const stops = isSeries ? stopsOf(strips, zoom ? zoom.when : () => [])
      : [...svg.querySelectorAll(":is(g, a) > title")].map(stopOf);
    if (!stops.length) {
      return;
    }
    const cursor = isSeries && drawn(svg, "path", { class: "cursor" });
    const matrix = () => svg.getScreenCTM().inverse();
    const across = (event) => new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix()).x;
    let now = stops[0];

    function show(stop, isFocused) {
      if (isFocused && zoom && stop.x !== null) {
        zoom.show(stop.x);
      }
      now.element?.setAttribute("tabindex", -1);
      now = stop;
      now.element?.setAttribute("tabindex", 0);
      const x = zoom ? zoom.place(now.x) : now.x;
      cursor && cursor.setAttribute("d", `M${x} 0V${svg.viewBox.baseVal.height}`);
      tell(now.said(), (now.element || cursor).getBoundingClientRect(), isSeries, isSeries && isFocused);
    }

    function away({ element, x }, event) {
      if (zoom && x !== null && !zoom.isSeen(x)) {
        return Infinity;
      }
      if (!element) {
        return Math.abs((zoom ? zoom.place(x) : x) - across(event)) / 1e3;
      }
      const { left, right, top, bottom } = element.getBoundingClientRect();
      const beside = Math.max(left - event.clientX, 0, event.clientX - right);
      const below = Math.max(top - event.clientY, 0, event.clientY - bottom);
      const middle = Math.hypot((left + right) / 2 - event.clientX, (top + bottom) / 2 - event.clientY);
      return Math.hypot(beside, below) + middle / 1e4;
    }

    const leave = () => { tell(""); cursor && cursor.removeAttribute("d"); };
    svg.addEventListener("pointermove", (event) => {
      const near = stops.map((stop) => ({ stop, at: away(stop, event) })).reduce((a, b) => (b.at < a.at ? b : a));
      near.at < NEAR ? show(near.stop, false) : leave();
    });
    svg.addEventListener("pointerleave", leave);
    svg.addEventListener("focusout", leave);
    svg.addEventListener("focusin", (event) => {
      if (event.target.matches(":focus-visible")) {
        show(stops.find(({ element }) => element === event.target) || now, true);
      }
    });
    svg.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) {
        return; // a shortcut of the browser
      }
      if (event.key === "Escape") {
        leave();
      } else if (event.key in WAYS) {
        const next = stops[within(stops.indexOf(now) + WAYS[event.key], 0, stops.length - 1)];
        next.element ? next.element.focus() : show(next, true);
      } else if (zoom && event.key in ZOOMS) {
        zoom.step(ZOOMS[event.key], 0);
      } else {
        return;
      }
      event.preventDefault();
    });
    if (isSeries) {
      svg.tabIndex = 0;
    } else {
      svg.setAttribute("role", "group");
      now.element.tabIndex = 0;
    }
    if (zoom && stops.length > FEW) {
      addTools(svg, zoom);
      addDragging(svg, zoom, across);
    }
  }

  document.querySelectorAll("svg.chart:not(.flame, .key)").forEach(use);
})();

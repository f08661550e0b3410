// Light or dark as Airflow's UI has it. Loaded before the page is drawn, so that it never flashes.
"use strict";

(() => {
  // Airflow keeps its theme under this key; the pages have the same origin. Anything else, such as
  // `system`, leaves the choice to the browser.
  const KEY = "theme";
  const apply = () => {
    let theme = null;
    try {
      theme = window.localStorage.getItem(KEY);
    } catch (error) {
      return; // a browser that keeps nothing for this page
    }
    if (theme === "light" || theme === "dark") {
      document.documentElement.dataset.theme = theme;
    } else {
      delete document.documentElement.dataset.theme;
    }
  };
  apply();
  // Another document of this origin, such as Airflow around this page, has changed it.
  window.addEventListener("storage", (event) => {
    if (event.key === KEY || event.key === null) {
      apply();
    }
  });
})();

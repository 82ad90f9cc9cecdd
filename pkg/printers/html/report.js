// The document is complete without this script. The script adds the filters, the theme, copying, and folds what is well.
(() => {
  "use strict";
  const root = document.documentElement;
  const one = (id) => document.getElementById(id);
  root.classList.add("scripted");

  // The theme: as the system has it, light or dark.
  const themes = ["system", "light", "dark"];
  let theme = 0;
  one("theme").addEventListener("click", () => {
    theme = (theme + 1) % themes.length;
    root.dataset.theme = themes[theme];
    one("theme-name").textContent = themes[theme];
  });

  // Folding: long reports begin folded, and a report is printed unfolded.
  const findings = [...document.querySelectorAll("details.finding")];
  const folds = [...document.querySelectorAll("details[data-fold]")];
  for (const d of folds) {
    d.open = d.classList.contains("finding") && findings.length <= 20;
  }
  let folded = [];
  window.addEventListener("beforeprint", () => {
    folded = folds.filter((d) => !d.open);
    folded.forEach((d) => { d.open = true; });
  });
  window.addEventListener("afterprint", () => {
    folded.forEach((d) => { d.open = false; });
    folded = [];
  });
  const openTarget = () => {
    const d = location.hash && one(decodeURIComponent(location.hash.slice(1)));
    if (d && d.matches("details")) {
      d.hidden = false;
      d.open = true;
      d.scrollIntoView();
    }
  };
  window.addEventListener("hashchange", openTarget);

  // Copying: of the command beside the button.
  const copied = (button, done) => {
    button.textContent = done ? "Copied" : "Press Ctrl+C";
    button.addEventListener("blur", () => { button.textContent = "Copy"; }, { once: true });
  };
  const select = (node) => {
    const range = document.createRange();
    range.selectNodeContents(node);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button.copy");
    if (!button) {
      return;
    }
    const command = button.parentElement.querySelector("code");
    if (!navigator.clipboard) { // not for every page that is a file
      select(command);
      copied(button, false);
      return;
    }
    navigator.clipboard.writeText(command.textContent).then(() => copied(button, true), () => {
      select(command);
      copied(button, false);
    });
  });

  // Filtering.
  const form = one("filters");
  if (!form) {
    return;
  }
  const groups = [...document.querySelectorAll("section.group")];
  const texts = new Map();
  const textOf = (d) => {
    if (!texts.has(d)) {
      texts.set(d, d.textContent.toLowerCase());
    }
    return texts.get(d);
  };
  const onCluster = (d, cluster) => {
    if (cluster === "-") {
      return d.dataset.clusters === "";
    }
    return cluster === "" || d.dataset.clusters.split(" ").includes(cluster);
  };
  const apply = () => {
    const severities = new Set([...form.elements.severity].filter((box) => box.checked).map((box) => box.value));
    const code = one("code").value;
    const cluster = one("cluster").value;
    const words = one("text").value.toLowerCase().split(/\s+/).filter((word) => word);
    let shown = 0;
    for (const d of findings) {
      d.hidden = !(severities.has(d.dataset.severity) && (code === "" || d.dataset.code === code) && onCluster(d, cluster) &&
        words.every((word) => textOf(d).includes(word)));
      shown += d.hidden ? 0 : 1;
    }
    for (const g of groups) {
      g.hidden = !g.querySelector("details.finding:not([hidden])");
    }
    const all = shown === findings.length;
    one("shown").textContent = all ? `${findings.length} findings` : `${shown} of ${findings.length} findings shown: the filters hide the others`;
    one("shown").classList.toggle("filtered", !all);
  };
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  one("clear").addEventListener("click", () => {
    form.reset();
    apply();
  });
  const setAll = (open) => findings.forEach((d) => { d.open = open && !d.hidden; });
  one("expand").addEventListener("click", () => setAll(true));
  one("collapse").addEventListener("click", () => setAll(false));
  apply(); // browsers restore the values of a form
  openTarget();
})();

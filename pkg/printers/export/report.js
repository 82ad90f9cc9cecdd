// The document is complete without this script. The script adds the filters, the theme and copying.
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

  // The address of a finding opens it and everything around it, also if a filter hides it.
  const openTarget = () => {
    const target = location.hash && one(decodeURIComponent(location.hash.slice(1)));
    if (!target) {
      return;
    }
    for (let e = target; e; e = e.parentElement) {
      e.hidden = false;
      if (e.matches("details")) {
        e.open = true;
      }
    }
    target.scrollIntoView();
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
  const problems = [...document.querySelectorAll("details.problem")].map((d) => ({
    d,
    bundle: d.querySelector(".bundle")?.textContent.toLowerCase() ?? "",
    findings: [...d.querySelectorAll(".finding")],
    lists: [...d.querySelectorAll(".others")],
  }));
  const rest = document.querySelector(".rest"); // problems that are folded until a filter selects some
  const texts = new Map();
  const textOf = (f) => {
    if (!texts.has(f)) {
      texts.set(f, f.textContent.toLowerCase());
    }
    return texts.get(f);
  };
  const onCluster = (f, cluster) => {
    if (cluster === "-") {
      return f.dataset.clusters === "";
    }
    return cluster === "" || f.dataset.clusters.split(" ").includes(cluster);
  };
  const apply = () => {
    const severities = new Set([...form.elements.severity].filter((box) => box.checked).map((box) => box.value));
    const code = one("code").value;
    const cluster = one("cluster").value;
    const words = one("text").value.toLowerCase().split(/\s+/).filter((word) => word);
    const matches = (f, bundle) => severities.has(f.dataset.severity) && (code === "" || f.dataset.code === code) &&
      onCluster(f, cluster) && words.every((word) => bundle.includes(word) || textOf(f).includes(word));
    let shown = 0;
    let left = 0;
    for (const p of problems) {
      const matching = p.findings.filter((f) => {
        f.hidden = !matches(f, p.bundle);
        return !f.hidden;
      });
      for (const list of p.lists) {
        list.hidden = !matching.some((f) => list.contains(f));
      }
      p.d.hidden = matching.length === 0;
      shown += p.d.hidden ? 0 : 1;
      left += p.findings.length - matching.length;
    }
    if (rest) {
      rest.hidden = !rest.querySelector(".problem:not([hidden])");
      rest.open = left > 0 || rest.open;
    }
    one("shown").textContent = left === 0 ? "" : `${shown} of ${problems.length} problems shown: the filters hide ${left} findings`;
    one("shown").classList.toggle("filtered", left > 0);
  };
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  one("clear").addEventListener("click", () => {
    form.reset();
    apply();
  });
  // A tile with a severity selects it.
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-select]");
    if (link) {
      form.reset();
      form.elements.severity.forEach((box) => { box.checked = box.value === link.dataset.select; });
      apply();
    }
  });
  const setAll = (open) => problems.forEach((p) => { p.d.open = open && !p.d.hidden; });
  one("expand").addEventListener("click", () => {
    if (rest) {
      rest.open = true;
    }
    setAll(true);
  });
  one("collapse").addEventListener("click", () => setAll(false));
  apply(); // browsers restore the values of a form
  openTarget();
})();

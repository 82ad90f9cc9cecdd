// Returns the texts with a contrast below 4.5 to 1, by the formula of WCAG 2.
(() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return canvas.getImageData(0, 0, 1, 1).data;
  };
  const luminance = (color) => {
    const [r, g, b] = [...rgba(color)].slice(0, 3).map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (e) => {
    while (e && rgba(getComputedStyle(e).backgroundColor)[3] < 255) {
      e = e.parentElement;
    }
    return e ? getComputedStyle(e).backgroundColor : "white";
  };
  document.querySelectorAll("details").forEach((d) => { d.open = true; });
  const low = new Set();
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let checked = 0;
  while (texts.nextNode()) {
    const e = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !e.checkVisibility() || e.matches("script, option")) {
      continue;
    }
    checked++;
    const [a, b] = [luminance(getComputedStyle(e).color), luminance(ground(e))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) {
      low.add(`${e.tagName} ${e.className}: ${ratio.toFixed(2)}`);
    }
  }
  if (checked < 50) {
    low.add(`only ${checked} texts were checked`);
  }
  return [...low];
})()

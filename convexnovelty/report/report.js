(() => {
  const root = document.documentElement;
  document.getElementById("theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
  const filter = document.getElementById("filter"), only = document.getElementById("only"), count = document.getElementById("count");
  const rows = [...document.querySelectorAll(".matrix tbody tr")];
  const show = () => {
    const wanted = filter.value.trim().toLowerCase();
    let shown = 0, group = null, inside = 0;
    const close = () => { if (group) group.hidden = inside === 0; };
    for (const row of rows) {
      if (row.classList.contains("group")) { close(); group = row; inside = 0; continue; }
      row.hidden = !row.dataset.name.toLowerCase().includes(wanted) || (only.checked && !row.querySelector("a"));
      if (!row.hidden) { shown += 1; inside += 1; }
    }
    close();
    count.textContent = shown + " problems";
  };
  filter.addEventListener("input", show);
  only.addEventListener("change", show);
  show();
  const reach = () => { const row = location.hash && document.getElementById(location.hash.slice(1)); if (row && row.tabIndex === -1) row.focus(); };
  addEventListener("hashchange", reach);
  reach();
  for (const button of document.querySelectorAll(".copy")) button.addEventListener("click", async () => {
    const text = button.parentElement.querySelector("code").textContent;
    try { await navigator.clipboard.writeText(text); button.textContent = "Copied"; }
    catch { const range = document.createRange(); range.selectNodeContents(button.parentElement.querySelector("code")); getSelection().removeAllRanges(); getSelection().addRange(range); }
  });
  // The matrix by arrow keys: from link to link in reading order, or up and down a column.
  document.querySelector(".matrix").addEventListener("keydown", (event) => {
    const cell = event.target.closest("td");
    if (!cell || !event.key.startsWith("Arrow")) return;
    const column = cell.cellIndex, line = rows.indexOf(cell.parentElement), step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    let next = null;
    if (step) for (let i = line + step; i >= 0 && i < rows.length && !next; i += step) next = !rows[i].hidden && rows[i].cells[column] && rows[i].cells[column].querySelector("a");
    else for (let j = column + (event.key === "ArrowRight" ? 1 : -1); j > 0 && j < cell.parentElement.cells.length && !next; j += event.key === "ArrowRight" ? 1 : -1) next = cell.parentElement.cells[j].querySelector("a");
    if (next) { event.preventDefault(); next.focus(); }
  });
})();

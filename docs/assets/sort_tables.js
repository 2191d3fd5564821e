// A click on the title of a column sorts its table, a second one the other way round.
document$.subscribe(() => {
  for (const table of document.querySelectorAll("article table:not([class])")) {
    const body = table.tBodies[0];
    if (!body || body.rows.length < 4) continue;
    [...table.tHead.rows[0].cells].forEach((title, column) => {
      const button = document.createElement("button");
      button.append(...title.childNodes);
      button.className = "sort";
      title.append(button);
      button.addEventListener("click", () => {
        const direction = title.ariaSort === "ascending" ? -1 : 1;
        const order = new Intl.Collator("en", { numeric: true });
        const text = (row) => row.cells[column].textContent.trim();
        const compare = (one, other) => {
          const texts = [text(one), text(other)];
          const [a, b] = texts.map((cell) => parseFloat(cell.replace(/,(?=\d{3}\b)/g, "")));
          if (isNaN(a) !== isNaN(b)) return isNaN(a) - isNaN(b); // numbers come first
          return direction * (isNaN(a) ? order.compare(...texts) : a - b);
        };
        for (const cell of table.tHead.rows[0].cells) cell.removeAttribute("aria-sort");
        title.ariaSort = direction === 1 ? "ascending" : "descending";
        body.append(...[...body.rows].sort(compare));
      });
    });
  }
});

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
          const [a, b] = [text(one), text(other)];
          const numbers = [parseFloat(a), parseFloat(b)];
          if (!numbers.some(isNaN)) return numbers[0] - numbers[1];
          return isNaN(numbers[0]) - isNaN(numbers[1]) || order.compare(a, b);
        };
        for (const cell of table.tHead.rows[0].cells) cell.removeAttribute("aria-sort");
        title.ariaSort = direction === 1 ? "ascending" : "descending";
        body.append(...[...body.rows].sort((one, other) => direction * compare(one, other)));
      });
    });
  }
});

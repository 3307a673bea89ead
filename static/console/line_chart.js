/* Draws the line charts of a page with Chart.js, which unfold has loaded. Their data is JSON next to each. */
"use strict";

(() => {
  const FONT_SIZE = 11;
  const charts = [];

  function readColors(figure) {
    const style = getComputedStyle(figure);
    const read = (name) => style.getPropertyValue(`--chart-${name}`).trim();
    return { line: read, text: read("text"), grid: read("grid"), font: style.fontFamily };
  }

  /* Vertical lines at the days on which something happened, with labels at two heights so that neighbours can be read. */
  const markers = {
    id: "markers",
    afterDatasetsDraw(chart, _, { list, colors }) {
      const { ctx, chartArea: area, scales } = chart;
      const ends = [-Infinity, -Infinity]; // of the last label at each height
      ctx.save();
      ctx.font = `${FONT_SIZE - 1}px ${colors.font}`;
      ctx.strokeStyle = ctx.fillStyle = colors.text;
      for (const { index, labels } of list) {
        const x = scales.x.getPixelForValue(index);
        ctx.globalAlpha = 0.65;
        ctx.setLineDash([2, 3]);
        ctx.beginPath();
        ctx.moveTo(x, area.top - 2);
        ctx.lineTo(x, area.bottom);
        ctx.stroke();
        ctx.globalAlpha = 1;
        const text = labels.length > 1 ? `${labels[0]} +${labels.length - 1}` : labels[0];
        const width = ctx.measureText(text).width;
        const start = Math.max(area.left, Math.min(x - width / 2, area.right - width));
        const height = ends.findIndex((end) => start > end + 4);
        if (height < 0) continue; // its line and the table show it
        ends[height] = start + width;
        ctx.fillText(text, start, area.top - 6 - height * (FONT_SIZE + 1));
      }
      ctx.restore();
    },
  };

  function buildDataset(line, place, colors, today) {
    const color = colors.line(line.color);
    const isFaint = line.color === "faint";
    return {
      label: line.name,
      data: line.values,
      texts: line.texts,
      borderColor: color,
      backgroundColor: color,
      borderWidth: isFaint ? 1.5 : 2,
      order: place,
      pointStyle: place === 1 && !isFaint ? "triangle" : "circle",
      // A day between two days without a value has no line, so it needs a point to be seen.
      pointRadius: ({ dataIndex: index }) =>
        (line.values[index - 1] ?? null) === null && (line.values[index + 1] ?? null) === null ? 2.5 : index === today && !isFaint ? 3 : 0,
      pointHoverRadius: 4,
      pointHitRadius: 12,
      pointBackgroundColor: ({ dataIndex: index }) => (index === today ? colors.line("page") : color),
      segment: { borderDash: ({ p1DataIndex: index }) => (index === today && !isFaint ? [4, 4] : undefined) },
    };
  }

  function buildOptions(data, colors) {
    const isPercent = data.unit === "percent";
    const style = isPercent ? { style: "percent", maximumFractionDigits: 1 } : { notation: "compact" };
    const numbers = new Intl.NumberFormat("en", style);
    const axis = (text) => ({ display: Boolean(text), text, color: colors.text, font: { size: FONT_SIZE } });
    const findLink = ({ datasetIndex, index }) => data.lines[datasetIndex].links[index];
    const eventTexts = new Map(data.markers.map(({ index, texts }) => [index, texts]));
    return {
      animation: false,
      responsive: true,
      maintainAspectRatio: false,
      interaction: { mode: "index", intersect: false },
      onHover: (_, [item], { canvas }) => (canvas.style.cursor = item && findLink(item) ? "pointer" : ""),
      onClick: (event, _, chart) => {
        const [item] = chart.getElementsAtEventForMode(event, "nearest", { intersect: false }, true);
        if (item && findLink(item)) location.assign(findLink(item));
      },
      layout: { padding: { top: data.markers.length ? 26 : 6, right: 6 } },
      font: { family: colors.font },
      scales: {
        x: {
          title: axis(data.dayAxis),
          grid: { display: false },
          border: { color: colors.grid },
          ticks: { color: colors.text, maxRotation: 0, autoSkipPadding: 16, font: { size: FONT_SIZE } },
        },
        y: {
          title: axis(data.axis),
          beginAtZero: true,
          suggestedMax: isPercent ? 0.05 : 1,
          border: { display: false },
          grid: { color: colors.grid },
          ticks: { color: colors.text, maxTicksLimit: 5, precision: isPercent ? undefined : 0, font: { size: FONT_SIZE }, callback: (value) => numbers.format(value) },
        },
      },
      plugins: {
        legend: { display: false },
        markers: { list: data.markers, colors },
        tooltip: {
          callbacks: {
            title: ([item]) => data.days[item.dataIndex] + (item.dataIndex === data.today ? " (not over)" : ""),
            label: ({ dataset, dataIndex }) => `${dataset.label}: ${dataset.texts[dataIndex]}`,
            footer: ([item]) => [...(eventTexts.get(item.dataIndex) ?? []), ...(findLink(item) ? ["Click to open the rows"] : [])],
          },
        },
      },
    };
  }

  function draw(figure) {
    const data = JSON.parse(document.getElementById(figure.dataset.lineChart).textContent);
    data.today = data.isOver ? -1 : data.days.length - 1;
    const canvas = figure.querySelector("canvas");
    const configure = () => {
      const colors = readColors(figure);
      return {
        data: { labels: data.days, datasets: data.lines.map((line, place) => buildDataset(line, place, colors, data.today)) },
        options: buildOptions(data, colors),
      };
    };
    const chart = new Chart(canvas, { type: "line", plugins: [markers], ...configure() });
    charts.push(() => {
      Object.assign(chart, configure());
      chart.update();
    });
  }

  for (const figure of document.querySelectorAll("[data-line-chart]")) {
    if (figure.querySelector("canvas")) draw(figure);
  }
  // The theme is a class of the root element.
  new MutationObserver(() => charts.forEach((redraw) => redraw())).observe(document.documentElement, { attributeFilter: ["class"] });
})();

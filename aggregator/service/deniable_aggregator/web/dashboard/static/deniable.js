// All the dashboard's own script: theme, charts, files of charts, tidy addresses. No framework.
"use strict";
(() => {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");

  // ── theme: stored in this browser only, set before anything is painted
  const stored = () => {
    try { return localStorage.getItem("deniable-theme") || "auto"; } catch { return "auto"; }
  };
  const applyTheme = (choice) => {
    root.dataset.theme = choice === "auto" ? (system.matches ? "dark" : "light") : choice;
    for (const button of document.querySelectorAll("[data-theme-choice]"))
      button.setAttribute("aria-pressed", String(button.dataset.themeChoice === choice));
  };
  applyTheme(stored());
  system.addEventListener("change", () => { applyTheme(stored()); redraw(); });

  // ── numbers, as the server writes them
  const grouped = (text) => text.replaceAll(",", "\u202f").replace("-", "−");
  const inHundred = (chart) => chart.unit === "share" || chart.unit === "points";
  const isCount = (chart) => chart.digits === 0 && !inHundred(chart);
  const written = (value, chart) => {
    if (value === null || value === undefined) return "–";
    const digits = { minimumFractionDigits: chart.digits, maximumFractionDigits: chart.digits };
    const number = (inHundred(chart) ? 100 * value : value).toLocaleString("en-US", digits);
    const text = /[1-9]/.test(number) ? number : number.replace("-", "");
    const sign = chart.signed && value > 0 && text === number && /[1-9]/.test(number) ? "+" : "";
    return sign + grouped(text) + (chart.unit === "share" ? "\u202f%" : chart.unit.trim() && chart.unit !== "points" ? ` ${chart.unit}` : "");
  };
  const onAxis = (chart) => (value) =>
    inHundred(chart) ? `${grouped(String(+(100 * value).toPrecision(6)))}${chart.unit === "share" ? "\u202f%" : ""}` : grouped(value.toLocaleString("en-US"));
  const spoken = (value, lower, upper, chart) =>
    `${written(value, chart)}\n${written(lower, chart)} to ${written(upper, chart)}`;

  // ── charts
  const colour = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const shorter = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
  // a long label of several attributes: the first in one line, the rest in the next
  const inLines = (text, most) => (text.length > most ? text.replace(", ", ",\n") : text).split("\n").map((line) => shorter(line, most)).join("\n");

  const base = (ink) => ({
    animation: false,
    textStyle: { fontFamily: "system-ui, sans-serif", color: ink.text, fontSize: 13 },
    tooltip: {
      renderMode: "richText", confine: true, backgroundColor: ink.card, borderColor: ink.line,
      textStyle: { color: ink.text, fontSize: 13, lineHeight: 19 }, padding: [8, 12],
    },
  });
  const valueAxis = (chart, ink, parts = 4) => ({
    type: "value", splitNumber: parts, ...(isCount(chart) ? { minInterval: 1 } : {}),
    axisLabel: { color: ink.muted, formatter: onAxis(chart), hideOverlap: true },
    splitLine: { lineStyle: { color: ink.line } }, axisLine: { show: false }, axisTick: { show: false },
  });
  // the largest value of an axis, in equal parts that have two digits at most
  const parted = (most) => (!most ? {} : { max: most, interval: most / ([4, 5, 3, 2].find((parts) => +(most / parts).toPrecision(2) === most / parts) || 4) });
  const whisker = (ink, across, shift = 0) => ({
    type: "custom", silent: true, z: 3, clip: true,
    encode: across ? { x: [0, 1], y: 2 } : { x: 2, y: [0, 1] },
    renderItem: (_, api) => {
      const low = api.value(0), high = api.value(1), place = api.value(2);
      if (Number.isNaN(low) || Number.isNaN(high)) return null;
      const aside = shift * Math.abs(api.size([1, 1])[1]), moved = ([x, y]) => [x, y + aside];
      const [a, b] = across ? [moved(api.coord([low, place])), moved(api.coord([high, place]))] : [api.coord([place, low]), api.coord([place, high])];
      const cap = Math.min(5, Math.abs(api.size([1, 1])[across ? 1 : 0]) / 4), style = { stroke: ink.whisker, lineWidth: 1.5 };
      const line = (x1, y1, x2, y2) => ({ type: "line", shape: { x1, y1, x2, y2 }, style });
      return {
        type: "group",
        children: [
          line(...a, ...b),
          across ? line(a[0], a[1] - cap, a[0], a[1] + cap) : line(a[0] - cap, a[1], a[0] + cap, a[1]),
          across ? line(b[0], b[1] - cap, b[0], b[1] + cap) : line(b[0] - cap, b[1], b[0] + cap, b[1]),
        ],
      };
    },
  });
  // what people noted on the time axis
  const noteLines = (chart, ink, width) => !chart.notes ? [] : [{
    type: "custom", silent: true, z: 6, tooltip: { show: false }, encode: { x: 0 },
    data: chart.notes.map((note) => [note.place]),
    renderItem: ({ dataIndex, coordSys: area }, api) => {
      const [x] = api.coord([api.value(0), 0]), left = x > area.x + area.width / 2;
      const text = shorter(chart.notes[dataIndex].text, width < 560 ? 16 : 32);
      return {
        type: "group",
        children: [
          { type: "line", shape: { x1: x, y1: area.y, x2: x, y2: area.y + area.height }, style: { stroke: ink.muted, lineWidth: 1, lineDash: [4, 3] } },
          { type: "text", style: { text, x: x + (left ? -5 : 5), y: area.y + 2 + 15 * (dataIndex % 3), textAlign: left ? "right" : "left", fill: ink.text, fontSize: 12, stroke: ink.card, lineWidth: 3 } },
        ],
      };
    },
  }];
  // where a demo knows the truth, a tick shows it
  const knows = (values) => values.some((value) => value !== null && value !== undefined);
  const truthTick = (ink, across, rows) => !knows(rows.map((row) => row.truth)) ? [] : [{
    type: "custom", silent: true, z: 5, encode: across ? { x: 0, y: 1 } : { x: 1, y: 0 },
    data: rows.map((row, place) => [row.truth ?? NaN, place]),
    renderItem: (_, api) => {
      const value = api.value(0), place = api.value(1);
      if (Number.isNaN(value)) return null;
      const [x, y] = api.coord(across ? [value, place] : [place, value]);
      const half = 0.4 * Math.abs(api.size([1, 1])[across ? 1 : 0]);
      const shape = across ? { x: x - 1.5, y: y - half, width: 3, height: 2 * half } : { x: x - half, y: y - 1.5, width: 2 * half, height: 3 };
      return { type: "rect", shape, style: { fill: ink.truth } };
    },
  }];
  const truthText = (value, chart) => (value === null || value === undefined ? "" : `\ntruth ${written(value, chart)}`);
  const marginText = (chart, down, across) => {
    const lower = chart.lower[down][across], upper = chart.upper[down][across];
    if (lower === null || upper === null) return "";
    // an interval that ends at 0 or at 1 is cut there: half of its width is no margin
    if (lower <= 0 || upper >= 1) return lower > 0 ? `\nfrom ${written(lower, chart)}` : `\nup to ${written(upper, chart)}`;
    return `\n± ${written((upper - lower) / 2, chart)}`;
  };
  const tooltipText = (chart, rows) => ({ dataIndex }) => {
    const row = rows[dataIndex];
    return `${row.label}\n${spoken(row.value, row.lower, row.upper, chart)}${row.sure === false ? (chart.signed ? "\nno evidence of change" : "\nnot significant") : ""}${truthText(row.truth, chart)}`;
  };
  const barColour = (ink, row) => ({ value: row.value, itemStyle: { color: row.sure === false ? ink.unsure : ink.bar } });
  const ends = (rows) => rows.map((row, place) => [row.lower ?? NaN, row.upper ?? NaN, place]);
  // the interval of each column, as wide as its place
  const intervalBand = (ink, rows) => ({
    type: "custom", silent: true, z: 3, clip: true, encode: { x: 2, y: [0, 1] }, data: ends(rows),
    renderItem: (_, api) => {
      const low = api.value(0), high = api.value(1), place = api.value(2);
      if (Number.isNaN(low) || Number.isNaN(high)) return null;
      const [x, top] = api.coord([place, high]), [, bottom] = api.coord([place, low]), width = api.size([1, 1])[0];
      return { type: "rect", shape: { x: x - width / 2, y: top, width, height: bottom - top }, style: { fill: ink.whisker, opacity: 0.28 } };
    },
  });
  const named = (axis, name, ink, upright) => (!name ? axis : {
    ...axis, name, nameLocation: upright ? "end" : "middle", nameGap: upright ? 10 : 24,
    nameTextStyle: { color: ink.muted, fontSize: 12, ...(upright ? { align: "left" } : {}) },
  });

  const drawings = {
    bars: (chart, ink, width) => {
      const narrow = width < 560, rows = chart.rows;
      return {
        height: rows.length * (narrow ? 30 : 32) + 34,
        option: {
          ...base(ink),
          grid: { left: 4, right: narrow ? 62 : 84, top: 4, bottom: 4, containLabel: true },
          xAxis: { ...valueAxis(chart, ink, narrow ? 2 : 4), ...parted(chart.most) },
          yAxis: {
            type: "category", inverse: true, data: rows.map((row) => row.label),
            axisLabel: { color: ink.text, formatter: (text) => inLines(text, narrow ? 16 : 34), lineHeight: 14, interval: 0 },
            axisLine: { lineStyle: { color: ink.axis } }, axisTick: { show: false },
          },
          series: [
            { type: "bar", barWidth: "58%", data: rows.map((row) => barColour(ink, row)), tooltip: { formatter: tooltipText(chart, rows) },
              itemStyle: { borderRadius: 2 } },
            { ...whisker(ink, true), data: ends(rows) }, ...truthTick(ink, true, rows),
            { type: "custom", silent: true, z: 4, encode: { x: 0, y: 1 }, data: rows.map((row, place) => [Math.max(row.upper ?? 0, row.value ?? 0, 0), place]),
              renderItem: (_, api) => {
                const [x, y] = api.coord([api.value(0), api.value(1)]);
                return { type: "text", x: x + 9, y, style: { text: written(rows[api.value(1)].value, chart), fill: ink.text, verticalAlign: "middle", font: "600 13px system-ui, sans-serif" } };
              } },
          ],
        },
      };
    },
    pairs: (chart, ink, width) => {
      const narrow = width < 560, rows = chart.rows, of = (row, name) => ({ label: `${row.label}, ${name}`, ...row[name] });
      const bar = (name, color) => ({ name, type: "bar", barWidth: "34%", barGap: "8%", data: rows.map((row) => row[name].value), itemStyle: { color, borderRadius: 2 }, tooltip: { formatter: tooltipText(chart, rows.map((row) => of(row, name))) } });
      // a bar is 0.34 of its row high: its middle is 0.184 of the row from the row's
      const beside = (name, shift) => ({ ...whisker(ink, true, shift), data: ends(rows.map((row) => row[name])) });
      return {
        height: rows.length * 52 + 34,
        option: {
          ...base(ink),
          grid: { left: 4, right: narrow ? 24 : 40, top: 4, bottom: 4, containLabel: true },
          xAxis: valueAxis(chart, ink, narrow ? 2 : 4),
          yAxis: {
            type: "category", inverse: true, data: rows.map((row) => row.label),
            axisLabel: { color: ink.text, formatter: (text) => inLines(text, narrow ? 16 : 34), lineHeight: 14, interval: 0 },
            axisLine: { lineStyle: { color: ink.axis } }, axisTick: { show: false },
          },
          series: [bar("before", ink.unsure), bar("after", ink.bar), beside("before", -0.184), beside("after", 0.184)],
        },
      };
    },
    columns: (chart, ink) => ({
      height: 300,
      option: {
        ...base(ink),
        grid: { left: 4, right: 12, top: chart.names ? 28 : 12, bottom: chart.names ? 20 : 4, containLabel: true },
        xAxis: named({ type: "category", data: chart.rows.map((row) => row.label), axisLabel: { color: ink.muted, hideOverlap: true }, axisTick: { show: false }, axisLine: { lineStyle: { color: ink.axis } } }, chart.names?.[0], ink, false),
        yAxis: named({ ...valueAxis(chart, ink), ...parted(chart.most) }, chart.names?.[1], ink, true),
        series: [
          { type: "bar", barMaxWidth: 48, barCategoryGap: chart.rows.length > 60 ? "0%" : "18%", data: chart.rows.map((row) => barColour(ink, row)), tooltip: { formatter: tooltipText(chart, chart.rows) } },
          intervalBand(ink, chart.rows),
          ...truthTick(ink, false, chart.rows),
        ],
      },
    }),
    lines: (chart, ink, width, top = Math.max(...chart.lines.flatMap((line) => line.upper)), low = Math.min(0, ...chart.lines.flatMap((line) => line.value))) => ({
      height: 320,
      option: {
        ...base(ink),
        tooltip: {
          ...base(ink).tooltip, trigger: "axis", axisPointer: { type: "line", lineStyle: { color: ink.axis } },
          formatter: (points) => {
            const place = points[0].dataIndex;
            const lines = chart.lines.map((line) => `${shorter(line.label, 30)}  ${written(line.value[place], chart)}  (${written(line.lower[place], chart)} to ${written(line.upper[place], chart)})${truthText(line.truth?.[place], chart).replace("\n", "  ")}`);
            const notes = (chart.notes || []).filter((note) => note.place === place).map((note) => note.text);
            return [`${chart.ticks[place]}${chart.open[place] ? ", so far" : ""}`, ...notes, ...lines].join("\n");
          },
        },
        grid: { left: 4, right: 16, top: 30, bottom: 4, containLabel: true },
        xAxis: { type: "category", boundaryGap: false, data: chart.ticks, axisLabel: { color: ink.muted, hideOverlap: true, showMinLabel: true, showMaxLabel: true, alignMinLabel: "left", alignMaxLabel: "right", fontSize: width < 560 ? 11 : 13 }, axisTick: { show: false }, axisLine: { lineStyle: { color: ink.axis }, onZero: false } },
        yAxis: named({ ...valueAxis(chart, ink), scale: !isCount(chart), ...(chart.unit === "share" && top > 0.8 && top <= 1 ? { max: 1, ...(low < 0 ? { min: 0.25 * Math.floor(4 * low) } : {}), interval: 0.25 } : {}) }, chart.name, ink, true),
        series: chart.lines.flatMap((line, number) => {
          const color = ink.lines[number % ink.lines.length], hidden = { lineStyle: { opacity: 0 }, symbol: "none", silent: true, tooltip: { show: false } };
          const band = { type: "line", stack: `band ${number}`, stackStrategy: "all", ...hidden };
          // what is not over is dotted, from the last that is
          const open = (place) => chart.open[place], joins = (place) => open(place) || open(place + 1);
          const sofar = line.value.map((value, place) => !joins(place) ? null : number || !open(place) ? value
            : { value, label: { show: true, formatter: "so far", position: "top", align: "right", color: ink.muted, fontSize: 12, textBorderColor: ink.card, textBorderWidth: 3 } });
          const drawn = { type: "line", symbol: "circle", symbolSize: 5, showSymbol: chart.ticks.length <= 60, itemStyle: { color }, connectNulls: false };
          return [
            { ...band, data: line.lower },
            { ...band, data: line.upper.map((upper, place) => (upper === null ? null : upper - line.lower[place])), areaStyle: { color, opacity: 0.18 } },
            { ...drawn, data: line.value.map((value, place) => (open(place) ? null : value)), lineStyle: { color, width: 2, type: ["solid", "dashed", [6, 2, 2, 2]][number % 3] } },
            ...(chart.open.some(Boolean) ? [{ ...drawn, data: sofar, showSymbol: true, symbol: "emptyCircle", silent: true, z: 5, lineStyle: { color, width: 2, type: [2, 4] } }] : []),
            ...(line.truth ? [{ type: "line", data: line.truth, symbol: "rect", symbolSize: [Math.min(9, Math.max(3, 0.6 * (width - 60) / chart.ticks.length)), 3], lineStyle: { opacity: 0 }, itemStyle: { color }, silent: true, z: 4, showAllSymbol: true }] : []),
          ];
        }).concat(noteLines(chart, ink, width)),
      },
    }),
    heat: (chart, ink, width) => {
      const cells = chart.values.flatMap((row, down) => row.map((value, across) => [across, down, value]));
      const known = cells.map((cell) => cell[2]).filter((value) => value !== null);
      const most = Math.max(...known, 0), roomy = width / chart.across.length > 58;
      return {
        height: chart.down.length * (chart.truth ? 62 : 48) + 70,
        option: {
          ...base(ink),
          grid: { left: 4, right: 8, top: 4, bottom: 4, containLabel: true },
          tooltip: { ...base(ink).tooltip, formatter: ({ data: [across, down, value] }) =>
            `${chart.down[down]}, ${chart.across[across]}\n${spoken(value, chart.lower[down][across], chart.upper[down][across], chart)}${truthText(chart.truth?.[down][across], chart)}` },
          xAxis: { type: "category", data: chart.across, axisLabel: { color: ink.muted, interval: 0, formatter: (text) => shorter(text, roomy ? 14 : 5) }, axisTick: { show: false }, axisLine: { show: false } },
          yAxis: { type: "category", inverse: true, data: chart.down, axisLabel: { color: ink.text, formatter: (text) => shorter(text, width < 560 ? 12 : 24) }, axisTick: { show: false }, axisLine: { show: false } },
          visualMap: { show: false, min: 0, max: most || 1, inRange: { color: [ink.cold, ink.hot] } },
          series: [{ type: "heatmap", data: cells, itemStyle: { borderColor: ink.card, borderWidth: 2 }, emphasis: { disabled: true },
            label: { show: roomy, formatter: ({ data: [across, down, value] }) => `${written(value, chart)}${marginText(chart, down, across)}${truthText(chart.truth?.[down][across], chart)}`, lineHeight: 15, color: ink.text } }],
        },
      };
    },
  };

  const inks = () => {
    const names = ["text", "muted", "line", "axis", "card", "bar", "unsure", "whisker", "truth", "cold", "hot"];
    const ink = Object.fromEntries(names.map((name) => [name, colour(`--ink-${name}`)]));
    return { ...ink, lines: [1, 2, 3, 4, 5].map((number) => colour(`--line-${number}`)) };
  };
  const drawn = new Map();
  const draw = (place) => {
    const chart = JSON.parse(place.nextElementSibling.textContent);
    const { height, option } = drawings[chart.kind](chart, inks(), place.clientWidth);
    place.style.height = `${height}px`;
    const instance = drawn.get(place) || globalThis.echarts.init(place, null, { renderer: "svg" });
    drawn.set(place, instance);
    instance.resize();
    instance.setOption(option, true);
    place.dataset.drawn = String(place.clientWidth);
  };
  const drawAll = () => {
    for (const [place, instance] of drawn)
      if (!place.isConnected) { instance.dispose(); drawn.delete(place); }
    if (globalThis.echarts) document.querySelectorAll("[data-chart]:not([data-drawn])").forEach(draw);
  };
  function redraw() { for (const place of drawn.keys()) if (place.isConnected) draw(place); }

  let waiting = 0;
  addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => { for (const place of drawn.keys()) if (place.dataset.drawn !== String(place.clientWidth)) draw(place); }, 120);
  });
  addEventListener("beforeprint", () => { for (const twin of document.querySelectorAll("details.twin")) twin.open = true; });

  // ── files of a chart
  const save = (blob, name) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  const saveChart = (figure, kind) => {
    const svg = figure.querySelector(".drawing svg").cloneNode(true);
    svg.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    const text = new XMLSerializer().serializeToString(svg), name = `${"simulated" in root.dataset ? "simulated-" : ""}${figure.dataset.name}.${kind}`;
    if (kind === "svg") return save(new Blob([text], { type: "image/svg+xml" }), name);
    const image = new Image(), canvas = document.createElement("canvas");
    image.onload = () => {
      canvas.width = 2 * image.width;
      canvas.height = 2 * image.height;
      const pen = canvas.getContext("2d");
      pen.fillStyle = colour("--ink-card");
      pen.fillRect(0, 0, canvas.width, canvas.height);
      pen.drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => save(blob, name), "image/png");
    };
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  };

  // ── what people press
  document.addEventListener("click", ({ target }) => {
    const theme = target.closest("[data-theme-choice]"), kind = target.closest("[data-save]");
    if (theme) {
      try { localStorage.setItem("deniable-theme", theme.dataset.themeChoice); } catch { /* it holds for this page */ }
      applyTheme(theme.dataset.themeChoice);
      redraw();
    }
    if (kind) saveChart(kind.closest("figure"), kind.dataset.save);
    const copied = target.closest("[data-copy]");
    if (copied) copy(copied);
    if (target.closest("[data-opens]")) showKeys();
  });
  const showKeys = () => { const keys = document.getElementById("shortcuts"); if (!keys.open) keys.showModal(); };
  // "?" and "/" need Shift on some keyboards: what was meant counts, not how it was typed
  const keyActs = { "?": showKeys, "/": () => document.querySelector("main [type=search]")?.focus() };
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target.closest("input, select, textarea, dialog")) return;
    if (event.key in keyActs) { event.preventDefault(); keyActs[event.key](); }
    else if (!event.shiftKey && !event.target.closest("[role=region]")) document.querySelector(`a[data-key="${event.key}"]`)?.click();
  });
  const copy = (button) => {
    const from = document.getElementById(button.dataset.copy);
    const done = () => { button.dataset.done = ""; announce("Copied"); };
    getSelection().selectAllChildren(from);
    if (navigator.clipboard) navigator.clipboard.writeText(from.textContent).then(done, () => announce("Selected: copy it now"));
    else announce("Selected: copy it now");
  };
  const markWrong = () => {
    for (const said of document.querySelectorAll(".wrong")) {
      const field = document.getElementById(said.id.slice("wrong-".length));
      if (said.textContent.trim()) field?.setAttribute("aria-invalid", "true");
      else field?.removeAttribute("aria-invalid");
    }
  };
  const announce = (text) => { document.getElementById("announce").textContent = text; };

  // ── an address says only what differs from a page's own choice
  document.addEventListener("htmx:configRequest", ({ detail, target }) => {
    for (const [name, value] of [...detail.formData.entries()]) {
      const field = target.closest("form")?.elements[name];
      const usual = field?.dataset?.usual ?? field?.[0]?.closest?.("[data-usual]")?.dataset.usual ?? "";
      if (value === usual) detail.formData.delete(name);
    }
  });
  document.addEventListener("htmx:afterSettle", ({ detail }) => {
    applyTheme(stored());
    drawAll();
    markWrong();
    if (!detail.requestConfig?.elt?.matches("[data-unsaid]")) announce("The page shows what you asked for");
  });
  // a narrow screen shows where one is in a line that is longer
  const showCurrent = () => {
    for (const current of document.querySelectorAll(".spans [aria-current], header.bar nav [aria-current]")) {
      const line = current.closest("nav"), end = current.getBoundingClientRect().right - line.getBoundingClientRect().right;
      if (end > 0) line.scrollLeft += end + 16;
    }
  };
  // ── a read-only link: its secret is behind the #, goes into the form and out of the address
  const openShared = () => {
    const form = document.querySelector("form[data-fragment]");
    const secret = location.hash.slice(1);
    if (!form || !secret || secret === "main") return;
    history.replaceState(null, "", location.pathname);
    form.elements[form.dataset.fragment].value = secret;
    form.submit();
  };
  addEventListener("hashchange", openShared);

  document.addEventListener("DOMContentLoaded", openShared);
  document.addEventListener("DOMContentLoaded", () => { applyTheme(stored()); showCurrent(); });
  addEventListener("load", () => { drawAll(); root.dataset.ready = "true"; });
})();

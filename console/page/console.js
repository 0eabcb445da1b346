"use strict";
// All text is set by textContent: what peers send is never markup.
const at = (id) => document.getElementById(id);
const make = (tag, text, className) => {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  if (className) e.className = className;
  return e;
};
const count = (n) => Number(n).toLocaleString("en");
const millis = (n) => (n < 0 ? "" : n >= 1000 ? (n / 1000).toFixed(2) + " s" : n.toFixed(1) + " ms");

// A column: title, key of the row, number or not, and how its value is written.
const text = (title, key) => ({ title, key });
const number = (title, key, write = count) => ({ title, key, number: true, write });
const tables = {
  workers: { columns: [number("Worker", "worker"), text("State", "state"), text("Handler", "handler"), text("Peer", "peer"),
    number("For", "ms", millis), number("Queued", "queued"), number("Runs", "runs"), number("Mean µs", "meanUs", (n) => n.toFixed(1)),
    number("Steals", "steals"), number("Parks", "parks"), number("Rescues", "rescues")], slow: (r) => r.ms >= 10 && r.state.endsWith("runs") },
  handlers: { columns: [text("Handler", "handler"), number("Slow runs", "runs"), number("Total", "totalMs", millis),
    number("Longest", "maxMs", millis), text("Last peer", "peer"), { title: "Stack of the longest", key: "stack", stack: true }], sort: "totalMs", down: true },
  conns: { columns: [text("Peer", "peer"), text("Handler", "handler"), number("Received", "received"), number("Sent", "sent"),
    number("Unsent", "unsent"), { title: "", key: "id", close: true }], filtered: true },
  pools: { columns: [text("Pool", "name"), number("Goroutines", "threads"), number("Idle", "idle"), number("Waiting calls", "pending")] },
  warnings: { columns: [text("Time", "time"), text("Level", "level"), text("Text", "text")] },
};

let now = null;
const open = new Set(); // handlers whose stack is shown

function sorted(name, rows) {
  const t = tables[name];
  rows = [...rows];
  if (t.filtered) {
    const words = at("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
    rows = rows.filter((r) => words.every((w) => (r.peer + " " + r.handler).toLowerCase().includes(w)));
    at("shown").textContent = `${count(rows.length)} shown of ${count(now.connections)}`;
  }
  if (t.sort) {
    const sign = t.down ? -1 : 1, key = t.sort;
    rows.sort((a, b) => sign * (typeof a[key] === "string" ? a[key].localeCompare(b[key]) : a[key] - b[key]));
  }
  return rows;
}

function cell(column, row) {
  const value = row[column.key];
  const td = make("td", undefined, column.number ? "number" : "");
  if (column.close) {
    for (const [how, label] of [["close", "Close"], ["reset", "Reset"]]) {
      const b = make("button", label);
      b.addEventListener("click", () => act("close", { id: value, how }));
      td.append(b);
    }
  } else if (column.stack) {
    if (value) {
      const d = make("details"), s = make("summary", "show");
      d.open = open.has(row.handler);
      d.addEventListener("toggle", () => (d.open ? open.add(row.handler) : open.delete(row.handler)));
      d.append(s, make("pre", value));
      td.append(d);
    }
  } else {
    td.textContent = column.write ? column.write(value) : value;
  }
  return td;
}

function head(name) {
  const t = tables[name], tr = make("tr");
  for (const column of t.columns) {
    const th = make("th", undefined, column.number ? "number" : "");
    const b = make("button", column.title + (t.sort === column.key ? (t.down ? " ▼" : " ▲") : ""));
    b.addEventListener("click", () => {
      t.down = t.sort === column.key ? !t.down : Boolean(column.number);
      t.sort = column.key;
      drawTable(name);
    });
    if (!column.close) th.append(b);
    tr.append(th);
  }
  return tr;
}

function drawTable(name) {
  const t = tables[name], rows = sorted(name, now[name] || []);
  const body = rows.map((row) => {
    const tr = make("tr", undefined, t.slow && t.slow(row) ? "slow" : "");
    tr.append(...t.columns.map((c) => cell(c, row)));
    return tr;
  });
  at(name).replaceChildren(head(name), ...body);
}

function draw(snapshot) {
  now = snapshot;
  at("state").textContent = `${now.state}, ${now.backend}, for ${Math.round(now.uptime)} s`;
  at("state").className = "";
  at("flight").hidden = !now.recorder;
  at("timeline").hidden = !now.events;
  const figures = [["Connections", count(now.connections)], ["Tasks", count(now.tasks)], ["Goroutines", count(now.goroutines)],
    ["Timers", count(now.timers)], ["Next timer", millis(now.nextTimer)], ["Global queue", count(now.globalQueue)],
    ["Long tasks", count(now.longTasks)], ["All were stuck", count(now.exhausted)], ["Handler errors", count(now.handlerErrors)],
    ["Handler panics", count(now.handlerPanics)], ["Buffered bytes", count(now.buffered)]];
  at("figures").replaceChildren(...figures.map(([k, v]) => {
    const d = make("div");
    d.append(make("dt", k), make("dd", v));
    return d;
  }));
  at("listeners").replaceChildren(...(now.listeners || []).map((l) => make("li", l)));
  const pressed = document.activeElement && document.activeElement.closest("td, th") !== null;
  if (!pressed || !document.activeElement.matches(":active")) Object.keys(tables).forEach(drawTable);
}

function complain(what) {
  at("state").textContent = what;
  at("state").className = "bad";
}

async function act(path, fields) {
  const answer = await fetch(path, { method: "POST", headers: { "Suiro-Console": "1" }, body: new URLSearchParams(fields) });
  if (!answer.ok) complain((await answer.text()).trim());
  return answer;
}

at("filter").addEventListener("input", () => now && drawTable("conns"));
at("flight").addEventListener("click", async () => {
  const answer = await act("flight", {});
  if (!answer.ok) return;
  const a = make("a");
  a.href = URL.createObjectURL(await answer.blob());
  a.download = "flight.trace";
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 1000);
});

// The timeline: a line for each worker, a bar for each run.
at("load").addEventListener("click", async () => {
  const answer = await fetch("events.json");
  if (!answer.ok) return complain((await answer.text()).trim());
  const all = (await answer.json()).traceEvents.filter((e) => e.ph !== "M");
  if (all.length === 0) return void (at("span").textContent = "no events");
  const end = all.reduce((m, e) => Math.max(m, e.ts + (e.dur || 0)), 0);
  const begin = Math.max(end - 100000, all.reduce((m, e) => Math.min(m, e.ts), end));
  const canvas = at("lines"), line = 22, workers = 1 + all.reduce((m, e) => Math.max(m, e.tid), 0);
  canvas.height = workers * line;
  const g = canvas.getContext("2d"), scale = canvas.width / Math.max(1, end - begin);
  let drawn = 0;
  for (const e of all) {
    const x = (e.ts - begin) * scale, y = e.tid * line + 2;
    if (x < 0 && (e.ts + (e.dur || 0) - begin) < 0) continue;
    drawn++;
    g.fillStyle = { run: "#1a6fb0", park: "#8883", steal: "#d28b00", rescue: "#b3261e", wake: "#4a8f3c", poll: "#7a4fb0" }[e.cat] || "#888";
    if (e.ph === "X") g.fillRect(x, y, Math.max(1, e.dur * scale), line - 8);
    else g.fillRect(x, y + line - 7, 1, 4);
  }
  at("span").textContent = `${count(drawn)} events in ${millis((end - begin) / 1000)}`;
});

const stream = new EventSource("stream");
stream.onmessage = (m) => draw(JSON.parse(m.data));
stream.onerror = () => complain("no connection to the server; trying again");

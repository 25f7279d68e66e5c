"use strict";
(() => {
  const BATCH = 100;
  const LETTER = { passed: "P", failed: "F", error: "E", skipped: "S", xfailed: "x", xpassed: "X", crashed: "C", timeout: "T", not_run: "–", missing: "?" };
  const find = (selector, root = document) => root.querySelector(selector);
  const lists = JSON.parse(find("#lists").textContent);
  const lost = lists.lost.rows.map(([item, repo, stage, kind, code, message, evidence, note]) =>
    ({ item, repo, stage, kind, code, message, evidence, note }));
  const number = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, "\u202f");
  const share = (part) => `${Math.round(100 * part)}\u202f%`;
  const plural = (n, one, many = one + "s") => `${number(n)} ${n === 1 ? one : many}`;

  // Builds an element. Text always goes in as text, never as markup.
  function make(tag, options = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(options)) {
      if (value === undefined || value === null || value === false) continue;
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else if (name === "open" || name === "value" || name === "selected") node[name] = value;
      else node.setAttribute(name === "cls" ? "class" : name, value === true ? "" : value);
    }
    node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
    return node;
  }

  const box = (label, ...children) => make("div", { cls: "scroll", tabindex: "0", role: "region", "aria-label": label }, ...children);
  const pre = (text, label, cls) => make("pre", { tabindex: "0", role: "region", "aria-label": label, cls }, text);

  // --- lists that are searched, filtered and rendered as they are scrolled to ---------------------------
  function listing(host, { rows, text, row, filters, noun, sorts }) {
    const texts = new Map();
    const haystack = (entry) => {
      if (!texts.has(entry)) texts.set(entry, text(entry).toLowerCase());
      return texts.get(entry);
    };
    const search = make("input", { type: "search", placeholder: `Search ${noun}s — press /`, "aria-label": `Search ${noun}s`, autocomplete: "off", spellcheck: "false" });
    const picks = filters.map((filter) => {
      const counts = new Map();
      for (const entry of rows) for (const value of filter.of(entry)) counts.set(value, (counts.get(value) ?? 0) + 1);
      const values = [...counts].sort((a, b) => (filter.byCount ? b[1] - a[1] : 0) || (a[0] < b[0] ? -1 : 1));
      const select = make("select", { "aria-label": filter.label },
        make("option", { value: "" }, filter.all),
        values.map(([value, count]) => make("option", { value }, `${filter.say?.[value] ?? value} (${number(count)})`)));
      return { ...filter, select };
    });
    const order = sorts && make("select", { "aria-label": "Sort by" }, Object.keys(sorts).map((name) => make("option", { value: name }, `by ${name}`)));
    const clear = make("button", { type: "button", hidden: true, onclick: () => { set({}); changed(); search.focus(); } }, "Clear");
    const found = make("p", { cls: "found", "aria-live": "polite" });
    const list = make("ul", { cls: "list" });
    const more = make("button", { type: "button", cls: "more", hidden: true, onclick: () => grow() });
    host.append(make("div", { cls: "tools", role: "search" }, search, picks.map((pick) => pick.select), order, clear), found, list, more);

    let hits = [], shown = 0, timer = 0;
    function grow() {
      const next = hits.slice(shown, shown + BATCH);
      list.append(...next.map((entry) => make("li", {}, row(entry))));
      shown += next.length;
      more.hidden = shown >= hits.length;
      more.textContent = `Show more (${number(hits.length - shown)} left)`;
    }
    function apply() {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      hits = rows.filter((entry) =>
        picks.every((pick) => !pick.select.value || pick.of(entry).includes(pick.select.value)) &&
        words.every((word) => haystack(entry).includes(word)));
      if (order) hits.sort(sorts[order.value]);
      const narrowed = words.length > 0 || picks.some((pick) => pick.select.value);
      clear.hidden = !narrowed;
      found.textContent = narrowed ? `${number(hits.length)} of ${plural(rows.length, noun)}` : plural(rows.length, noun);
      list.replaceChildren();
      list.hidden = hits.length === 0;
      shown = 0;
      grow();
    }
    function state() {
      const query = new URLSearchParams();
      if (search.value) query.set("q", search.value);
      for (const pick of picks) if (pick.select.value) query.set(pick.name, pick.select.value);
      return query.toString();
    }
    function changed() {
      apply();
      const query = state();
      history.replaceState(null, "", location.hash.split("?")[0] + (query ? "?" + query : ""));
    }
    function set(query) {
      search.value = query.q ?? "";
      for (const pick of picks) {
        pick.select.value = query[pick.name] ?? "";
        if (pick.select.selectedIndex < 0) pick.select.value = "";
      }
    }
    search.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(changed, 80); });
    for (const select of [...picks.map((pick) => pick.select), order]) select?.addEventListener("change", changed);
    if ("IntersectionObserver" in window) {
      new IntersectionObserver((seen) => { if (seen[0].isIntersecting && !more.hidden) grow(); }, { rootMargin: "600px" }).observe(more);
    }
    return { show(query) { set(query); apply(); }, search, ids: () => hits };
  }

  const badges = (task) => [
    task.fromCommits && make("span", { cls: "badge" }, "statement from commits"),
    task.blocked && make("span", { cls: "badge rejected", title: "measured to be a task; a finding of the review blocks it" }, "review blocks"),
    task.leftOut && make("span", { cls: "badge open", title: "verified, and not a row of the dataset" }, `not a row: ${task.leftOut}`),
  ];

  function taskCard(task) {
    return make("a", { cls: "card", href: "#/task/" + encodeURIComponent(task.id) },
      make("span", { cls: "t", dir: "auto" }, task.title),
      make("span", { cls: "meta" }, make("code", {}, task.id),
        make("span", {}, make("b", {}, number(task.f2p)), " fail to pass"), make("span", {}, make("b", {}, number(task.p2p)), " pass to pass"),
        task.quarantined > 0 && make("span", {}, make("b", {}, number(task.quarantined)), " quarantined"),
        task.strength !== null && make("span", { title: "share of wrong fixes that the hidden tests reject" }, "strength ", make("b", {}, share(task.strength))),
        task.survivors > 0 && make("span", {}, make("b", {}, number(task.survivors)), task.survivors === 1 ? " wrong fix passes" : " wrong fixes pass"),
        make("span", {}, task.licence ?? "licence unknown"), badges(task)));
  }

  function lostCard(entry) {
    const details = make("details", {}, make("summary", { cls: "card" },
      make("span", { cls: "t mono" }, entry.item),
      make("span", { cls: "meta" }, make("span", { cls: `badge ${entry.kind}` }, entry.code), make("span", {}, entry.message))));
    details.addEventListener("toggle", () => {
      if (!details.open || details.children.length > 1) return;
      details.append(make("div", { cls: "detail" },
        make("p", { cls: "muted" }, `${entry.kind === "failed" ? "Failed" : "Rejected"} at “${entry.stage}” in ${entry.repo}: ${lists.lost.meaning[entry.kind][entry.code] ?? entry.code}.`, entry.note && ` ${entry.note}.`),
        entry.evidence.length ? pre(entry.evidence.join("\n"), "Evidence", "wrap") : make("p", { cls: "muted" }, "No further evidence was recorded.")));
    });
    return details;
  }

  const repos = { name: "repo", label: "Repository", all: "All repositories", of: (entry) => [entry.repo] };
  const built = {};
  const pages = {
    tasks: () => listing(find("#task-list"), {
      rows: lists.tasks, noun: "task", text: (task) => `${task.id} ${task.title} ${task.licence ?? ""}`, row: taskCard,
      filters: [repos, {
        name: "show", label: "Kind", all: "All kinds", say: { issue: "statement from issue", commits: "statement from commits", quarantined: "with quarantined tests", survivors: "with wrong fixes that pass", blocked: "blocked by the review", doubts: "with doubts of the review", "left-out": "not a row of the dataset" },
        of: (task) => [task.fromCommits ? "commits" : "issue", ...(task.quarantined ? ["quarantined"] : []), ...(task.survivors ? ["survivors"] : []), ...(task.blocked ? ["blocked"] : []), ...(task.doubts ? ["doubts"] : []), ...(task.leftOut ? ["left-out"] : [])],
      }],
      sorts: {
        "weakest tests": (a, b) => (a.strength ?? 2) - (b.strength ?? 2) || a.id.localeCompare(b.id, "en", { numeric: true }),
        id: (a, b) => a.id.localeCompare(b.id, "en", { numeric: true }), "fail to pass": (a, b) => b.f2p - a.f2p,
        "pass to pass": (a, b) => b.p2p - a.p2p, quarantined: (a, b) => b.quarantined - a.quarantined,
      },
    }),
    rejects: () => listing(find("#reject-list"), {
      rows: lost, noun: "item", text: (entry) => [entry.item, entry.code, entry.message, entry.note, ...entry.evidence].join(" "), row: lostCard,
      filters: [
        { name: "kind", label: "Ending", all: "Rejected and failed", of: (entry) => [entry.kind] },
        { name: "code", label: "Reason", all: "All reasons", byCount: true, of: (entry) => [entry.code] },
        { name: "stage", label: "Stage", all: "All stages", of: (entry) => [entry.stage] }, repos,
      ],
    }),
  };

  // --- diffs ----------------------------------------------------------------------------------------------
  // Header lines count only outside hunks; hunk lengths come from their own header (a removed "-- x" isn't one).
  function splitDiff(text) {
    const files = [];
    let file = null, left = 0, right = 0, old = 0, fresh = 0, binary = false;
    for (const line of text.replace(/\n$/, "").split("\n")) {
      if ((left > 0 || right > 0) && /^[-+ \\]|^$/.test(line)) {
        const sign = line[0];
        if (sign === "+") { file.lines.push(["a", "", fresh++, line]); right--; file.plus++; }
        else if (sign === "-") { file.lines.push(["d", old++, "", line]); left--; file.minus++; }
        else if (sign === "\\") file.lines.push(["m", "", "", line]);
        else { file.lines.push(["", old++, fresh++, line]); left--; right--; }
        continue;
      }
      if (line.startsWith("diff --git ") || !file) {
        file = { name: line.replace(/^diff --git /, "").replace(/^"?a\/.* "?b\//, "").replace(/"$/, ""), lines: [], plus: 0, minus: 0, binary: false, notes: [] };
        files.push(file);
        binary = false;
        if (line.startsWith("diff --git ")) continue;
      }
      [left, right] = [0, 0];
      const hunk = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(line);
      if (hunk && !binary) {
        [old, left, fresh, right] = [Number(hunk[1]), Number(hunk[2] ?? 1), Number(hunk[3]), Number(hunk[4] ?? 1)];
        file.lines.push(["h", "", "", line]);
      } else if (line.startsWith("GIT binary patch") || line.startsWith("Binary files ")) {
        binary = file.binary = true;
        file.lines.push(["m", "", "", line]);
      } else if (binary) file.lines.push(["m", "", "", line]);
      else if (line.startsWith("\\")) file.lines.push(["m", "", "", line]);
      else if (/^(new file|deleted file|rename from|rename to|copy from|copy to|old mode|new mode)/.test(line)) file.notes.push(line);
    }
    return files;
  }

  function diffFile(file, open) {
    const details = make("details", { cls: "file" }, make("summary", {}, make("code", {}, file.name),
      file.binary ? make("span", { cls: "muted" }, "binary") : make("span", {}, make("span", { cls: "plus" }, `+${number(file.plus)}`), " ", make("span", { cls: "minus" }, `−${number(file.minus)}`)),
      file.notes.length > 0 && make("span", { cls: "muted" }, file.notes.join(" · "))));
    const fill = () => {
      if (!details.open || details.children.length > 1) return;
      details.append(make("div", { cls: "code", tabindex: "0", role: "region", "aria-label": `Changes of ${file.name}` }, make("div", {},
        file.lines.map(([kind, old, fresh, line]) => make("div", { cls: `l ${kind}` },
          make("span", { cls: "no", "aria-hidden": "true" }, String(old)), make("span", { cls: "no", "aria-hidden": "true" }, String(fresh)), make("span", { cls: "x" }, line || " "))))));
    };
    details.addEventListener("toggle", fill);
    details.open = open;
    fill();
    return details;
  }

  function diff(blob) {
    if (blob.problem) return [make("p", { cls: "problem" }, blob.problem)];
    const files = splitDiff(blob.text);
    let lines = 0;
    const shown = files.map((file) => diffFile(file, !file.binary && (lines += file.lines.length) < 1500));
    return [...shown, blob.gone > 0 && make("p", { cls: "note" }, `${number(blob.gone)} more characters aren't shown here; the dataset has the whole patch.`)];
  }

  // --- the page of one task -------------------------------------------------------------------------------
  function grouped(tests) {
    const groups = new Map();
    for (const [id, cause] of tests) {
      const at = id.indexOf("::");
      const file = at < 0 ? "" : id.slice(0, at);
      if (!groups.has(file)) groups.set(file, []);
      groups.get(file).push([at < 0 ? id : id.slice(at + 2), cause]);
    }
    return [...groups].map(([file, names]) => make("div", { cls: "group" }, file && make("h4", {}, make("code", {}, file)),
      make("ul", {}, names.map(([name, cause]) => make("li", {}, make("code", {}, name), cause && make("span", { cls: "cause" }, cause))))));
  }

  function facts(pairs) {
    const wide = (pair) => pair[1].length > 24;
    return make("dl", { cls: "facts" }, [...pairs.filter((pair) => !wide(pair)), ...pairs.filter(wide)].map((pair) =>
      make("div", { cls: wide(pair) ? "wide" : null }, make("dt", {}, pair[0]), make("dd", {}, wide(pair) ? make("code", {}, pair[1]) : pair[1]))));
  }
  const pips = (outcomes) => make("span", { cls: "pips" }, outcomes.map((outcome) => make("span", { cls: `pip ${outcome}`, title: outcome, role: "img", "aria-label": outcome }, LETTER[outcome] ?? "?")));
  const block = (title, open, ...children) => make("details", { cls: "block", open }, make("summary", {}, title), ...children);

  function panel(id, title, side, ...children) {
    return make("div", { cls: "panel", id }, make("div", { cls: "section-head" }, make("h2", { tabindex: "-1" }, title), side && make("div", { cls: "side" }, side)), ...children);
  }

  function statement(task) {
    const raw = pre(task.statement, "Problem statement, raw", "wrap");
    raw.dir = "auto";
    const parts = [];
    let side = null;
    if (task.statementHtml === null) parts.push(raw);
    else {
      // Rendered by the program from Markdown without raw HTML; the page's policy lets no script in it run.
      const prose = make("div", { cls: "prose", dir: "auto" });
      prose.innerHTML = task.statementHtml;
      for (const node of prose.querySelectorAll("pre")) node.tabIndex = 0;
      raw.hidden = true;
      const buttons = ["Rendered", "Raw"].map((label, index) => make("button", { type: "button", cls: "seg", "aria-pressed": String(index === 0), onclick: () => {
        prose.hidden = index === 1;
        raw.hidden = index === 0;
        buttons.forEach((button, at) => button.setAttribute("aria-pressed", String(at === index)));
      } }, label));
      side = buttons;
      parts.push(prose, raw);
    }
    if (task.hints) parts.push(block("Hints", false, pre(task.hints, "Hints", "wrap")));
    return panel("statement", "Problem statement", side, ...parts);
  }

  function tests(task) {
    const { f2p, p2p, f2pCount, p2pCount, quarantined } = task.tests;
    const cutNote = (list, count) => count > list.length && make("p", { cls: "note" }, `${number(count - list.length)} more aren't shown here.`);
    return panel("tests", "Hidden tests", null, make("div", { cls: "tests" },
      make("div", { cls: "block f2p" }, make("h3", {}, `Fail to pass · ${number(f2pCount)}`), grouped(f2p), cutNote(f2p, f2pCount)),
      block(`Pass to pass · ${number(p2pCount)}`, p2pCount > 0 && p2pCount <= 12, p2pCount ? grouped(p2p) : make("p", { cls: "muted" }, "None."), cutNote(p2p, p2pCount)),
      quarantined.length > 0 && make("div", { cls: "block" }, make("h3", {}, `Quarantined · ${number(quarantined.length)}`),
        make("p", { cls: "muted" }, "Not stable, so in no list."),
        box("Quarantined tests", make("table", {},
          make("thead", {}, make("tr", {}, ["test", "reason", "before", "after"].map((name) => make("th", { scope: "col", cls: "left" }, name)))),
          make("tbody", {}, quarantined.map(([id, reason, before, after]) => make("tr", {},
            make("td", { cls: "left wrap" }, make("code", {}, id)), make("td", { cls: "left wrap" }, reason), make("td", { cls: "left" }, pips(before)), make("td", { cls: "left" }, pips(after)))))))),
      block("Command", false, pre(task.command, "Test command", "wrap"))));
  }

  const testTable = (label, names, rows) => box(label, make("table", {},
    make("thead", {}, make("tr", {}, names.map((name) => make("th", { scope: "col", cls: "left" }, name)))), make("tbody", {}, rows)));

  function stability(task) {
    const found = task.stability;
    if (!found) return panel("stability", "Stability", null, make("p", { cls: "muted" }, "Not measured."));
    return panel("stability", "Stability", null, make("p", {}, found.said + "."),
      found.unstable.length > 0 && testTable("Unstable tests", ["test", "state", "depends on", "passed", "under"], found.unstable.map(([id, state, reason, passes, runs, outcomes]) => make("tr", {},
        make("td", { cls: "left wrap" }, make("code", {}, id)), make("td", { cls: "left" }, state), make("td", { cls: "left" }, reason), make("td", { cls: "left" }, `${passes} of ${runs}`),
        make("td", { cls: "left wrap" }, outcomes.map(([label, each]) => make("span", { cls: "under" }, label.replaceAll("_", " "), " ", pips(each), " ")))))),
      found.more > 0 && make("p", { cls: "note" }, `${number(found.more)} more aren't shown here.`),
      found.spoilt.length > 0 && make("p", { cls: "note" }, `Nothing could be seen under ${found.spoilt.join(", ")}.`),
      block("What was tried", false, make("dl", { cls: "hashes" }, found.tried.flatMap(([state, labels]) => [make("dt", {}, state), make("dd", {}, labels.map((label) => label.replaceAll("_", " ")).join(", "))])),
        make("p", { cls: "muted" }, found.stable.map(([state, count]) => `${plural(count, "stable test")} ${state} the fix`).join(", ") + ".")));
  }

  function strength(task) {
    const found = task.wrongFixes;
    if (!found) return panel("strength", "Strength", null, make("p", { cls: "muted" }, "Not measured."));
    return panel("strength", "Strength", task.strength !== null && make("b", {}, share(task.strength)), make("p", {}, found.said + "."),
      testTable("Wrong fixes by kind", ["wrong fix", "rejected", "passed"], found.kinds.map(([kind, rejected, passed]) => make("tr", {},
        make("td", { cls: "left" }, kind), make("td", { cls: "left" }, number(rejected)), make("td", { cls: "left" }, number(passed))))),
      found.uncovered.length > 0 && block(`Changed lines that no hidden test runs · ${number(found.uncovered.length)}`, false, pre(found.uncovered.join("\n"), "Lines that no test runs", "wrap")),
      found.survivors.length > 0 && make("div", { cls: "block" }, make("h3", {}, `Wrong fixes that pass · ${number(found.survivors.length)}`), make("p", { cls: "muted" }, "Each patch is from the right fix to the wrong one."),
        found.survivors.map(([what, place, fate, patch]) => block(`${what} · ${place} · ${fate}`, found.survivors.length <= 3, diff(patch)))));
  }

  function review(task) {
    const found = task.review;
    if (!found) return panel("review", "Review", null, make("p", { cls: "muted" }, "Not reviewed."));
    const kind = { block: "rejected", warn: "open", note: "" };
    return panel("review", "Review", null, make("p", {}, found.said + "."),
      make("p", { cls: "muted" }, "What rules say of statement, tests and fix. Nothing here was run, and nothing changes what was measured."),
      found.findings.length > 0 && testTable("Findings", ["severity", "rule", "place", "what", "evidence"], found.findings.map(([severity, rule, place, message, evidence]) => make("tr", {},
        make("td", { cls: "left" }, make("span", { cls: `badge ${kind[severity]}` }, severity)), make("td", { cls: "left" }, make("code", {}, rule)),
        make("td", { cls: "left wrap" }, make("code", {}, place)), make("td", { cls: "left wrap" }, message), make("td", { cls: "left wrap" }, evidence && make("code", {}, evidence))))),
      found.more > 0 && make("p", { cls: "note" }, `${number(found.more)} more aren't shown here.`));
  }

  function environment(env) {
    const lines = env.lock.text.split("\n").filter((line) => /^[A-Za-z0-9]/.test(line)).length;
    return panel("environment", "Environment", null, facts(env.facts),
      env.tries.length > 0 && block(plural(env.tries.length, "try", "tries"), env.tries.length > 1, make("ol", { cls: "tries" }, env.tries.map(([result, rule, decisive]) =>
        make("li", {}, make("b", {}, result), rule && make("span", { cls: "muted" }, ` → ${rule}`), decisive.length > 0 && pre(decisive.join("\n"), "Decisive lines", "wrap"))))),
      env.evidence.length > 0 && block(`Evidence · ${number(env.evidence.length)}`, false, box("Evidence", make("table", {}, make("tbody", {}, env.evidence.map(([key, value, place]) =>
        make("tr", {}, make("th", { scope: "row" }, key), make("td", { cls: "left wrap" }, make("code", {}, value)), make("td", { cls: "left" }, make("code", {}, place)))))))),
      block(env.lock.problem ? "Lock" : `Lock · ${plural(lines, "package")}`, false, env.lock.problem ? make("p", { cls: "problem" }, env.lock.problem) : pre(env.lock.text, "Locked requirements"),
        env.lock.gone > 0 && make("p", { cls: "note" }, `${number(env.lock.gone)} more characters aren't shown here.`)));
  }

  function proof(task) {
    const audit = task.audit;
    return panel("proof", "Proof", null,
      audit && make("div", { cls: "block" }, make("h3", {}, audit.findings.length ? "Snapshot: findings" : "Snapshot is sealed"),
        audit.findings.length > 0 && pre(audit.findings.join("\n"), "Findings", "wrap"),
        make("p", { cls: "muted" }, `History ${audit.history}, ${plural(audit.objects, "object")}, ${plural(audit.tags, "tag")}. Checked: ${audit.checks.join(", ") || "nothing"}.`),
        audit.missing.length > 0 && block(`Missing from the mirror · ${audit.missing.length}`, false, pre(audit.missing.join("\n"), "Missing blobs", "wrap"))),
      make("div", { cls: "block" }, make("h3", {}, "Parents by hash"), make("dl", { cls: "hashes" }, task.provenance.flatMap(([name, value]) => [make("dt", {}, name.replaceAll("_", " ")), make("dd", {}, make("code", {}, value))]))),
      task.durations.length > 0 && make("div", { cls: "block" }, make("h3", {}, "Observed durations"), make("dl", { cls: "hashes" }, task.durations.flatMap(([name, seconds]) => [make("dt", {}, name), make("dd", {}, `${seconds} s`)]))));
  }

  function showTask(id) {
    const host = find("#page-task");
    const at = lists.tasks.findIndex((task) => task.id === id);
    host.replaceChildren();
    if (at < 0) {
      host.append(make("h1", { tabindex: "-1" }, "No such task"), make("p", { cls: "lead" }, `This report has no task ${id}. `, make("a", { href: "#/rejects?q=" + encodeURIComponent(id) }, "Look among those that aren't tasks.")));
      return "No such task";
    }
    const task = JSON.parse(document.querySelectorAll("script.task-data")[at].textContent);
    const near = built.tasks?.ids().length ? built.tasks.ids() : lists.tasks;
    const here = near.findIndex((other) => other.id === id);
    const turn = (other, label) => other && make("a", { href: "#/task/" + encodeURIComponent(other.id), title: other.id }, label);
    const sections = [["statement", "Statement"], ["gold", "Gold patch"], ["test", "Test patch"], ["tests", "Tests"], ["strength", "Strength"], ["stability", "Stability"], ["review", "Review"], ["environment", "Environment"], ["proof", "Proof"]];
    host.append(
      make("div", { cls: "crumbs" }, make("a", { href: "#/tasks" }, "Tasks"), make("span", {}, task.repo), make("span", { cls: "turn" }, turn(here > 0 && near[here - 1], "← previous"), turn(here >= 0 && near[here + 1], "next →"))),
      make("h1", { tabindex: "-1", dir: "auto" }, task.title),
      make("p", { cls: "chips" }, make("span", { cls: "badge accepted" }, "verified"), make("code", {}, task.id), badges(task), task.flags.map((flag) => make("span", { cls: "badge" }, flag))),
      make("div", { cls: "jump", role: "navigation", "aria-label": "Sections" }, sections.map(([name, label]) => make("button", { type: "button", onclick: () => { const head = find(`#${name}`, host); head.scrollIntoView(); find("h2", head).focus({ preventScroll: true }); } }, label))),
      make("div", { cls: "panel" }, facts(task.facts)), statement(task),
      panel("gold", "Gold patch", null, diff(task.gold)), panel("test", "Test patch", null, diff(task.test)),
      tests(task), strength(task), stability(task), review(task), environment(task.environment), proof(task));
    return task.id;
  }

  // --- routing, colour scheme, keys -------------------------------------------------------------------------
  let first = true;
  function route() {
    const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
    const [name, ...rest] = path.split("/");
    const page = ["tasks", "task", "rejects", "run"].includes(name) ? name : "overview";
    for (const section of document.querySelectorAll(".page")) section.hidden = section.id !== `page-${page}`;
    let title = { tasks: "Tasks", rejects: "Rejects", run: "Run" }[page];
    if (pages[page]) {
      built[page] ??= pages[page]();
      built[page].show(Object.fromEntries(new URLSearchParams(query)));
    }
    if (page === "task") {
      let id = rest.join("/");
      try { id = decodeURIComponent(id); } catch { /* a broken escape is shown as it is */ }
      title = showTask(id);
    }
    const current = { task: "tasks", overview: "" }[page] ?? page;
    for (const link of document.querySelectorAll(".bar nav a")) {
      if (link.getAttribute("href") === `#/${current}`) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    document.title = `${title ? title + " · " : ""}SWEQuarry report`;
    scrollTo(0, 0);
    if (!first) find(`#page-${page} h1`)?.focus({ preventScroll: true });
    first = false;
  }

  const themes = ["automatic", "light", "dark"];
  const signs = { automatic: "◐", light: "☀", dark: "☾" };
  const stored = { get: () => { try { return localStorage.getItem("swequarry-theme"); } catch { return null; } }, set: (value) => { try { localStorage.setItem("swequarry-theme", value); } catch { /* private windows */ } } };
  function paint(theme) {
    if (theme === "automatic") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    const button = find("#theme");
    button.firstElementChild.textContent = signs[theme];
    button.setAttribute("aria-label", `Colour scheme: ${theme}`);
    button.title = `Colour scheme: ${theme}`;
    button.dataset.theme = theme;
  }
  find("#theme").addEventListener("click", () => {
    const theme = themes[(themes.indexOf(find("#theme").dataset.theme) + 1) % themes.length];
    stored.set(theme);
    paint(theme);
  });
  paint(themes.includes(stored.get()) ? stored.get() : "automatic");

  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    const search = find(".page:not([hidden]) input[type=search]");
    event.preventDefault();
    if (search) search.focus();
    else { location.hash = "#/tasks"; setTimeout(() => built.tasks?.search.focus(), 0); }
  });
  find(".skip").addEventListener("click", (event) => { event.preventDefault(); find("#main").focus(); });
  addEventListener("hashchange", route);
  route();
})();

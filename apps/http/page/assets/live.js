// What makes the pages live. Each of them is whole without it.
"use strict";

(() => {
  const list = document.querySelector("[data-live]");
  const one = document.querySelector("[data-follow]");
  if (!list && !one || one && one.dataset.finished === "true") {
    return;
  }
  const told = document.getElementById("told");
  const link = document.getElementById("link");

  // tell has a screen reader say what changed, the newest alone.
  const tell = (text) => {
    told.textContent = text;
  };

  // fetched is a page of this server, parsed; scripts in it would not run.
  const fetched = async (path) => {
    const answer = await fetch(path, { headers: { Accept: "text/html" }, credentials: "same-origin" });
    if (!answer.ok) {
      return null;
    }
    return new DOMParser().parseFromString(await answer.text(), "text/html");
  };

  const pending = new Map();
  // soon calls f for a key, once for all that is asked within a moment.
  const soon = (key, f) => {
    if (pending.has(key)) {
      return;
    }
    pending.set(key, setTimeout(async () => {
      pending.delete(key);
      await f();
    }, 150));
  };

  const refreshRow = async (event) => {
    const old = document.getElementById("test-" + event.test);
    if (event.gone) {
      old?.remove();
      return;
    }
    if (!old && list.dataset.live !== "all") {
      return;
    }
    const page = await fetched("/tests/" + event.test + "?fragment=row");
    const row = page?.querySelector("tr[data-test]");
    if (!row) {
      return;
    }
    const body = list.querySelector("tbody");
    if (!body) {
      location.reload(); // the first test of all
      return;
    }
    row.classList.add("fresh");
    if (old) {
      if (old.contains(document.activeElement)) {
        old.replaceWith(row);
        row.querySelector("a")?.focus();
      } else {
        old.replaceWith(row);
      }
    } else {
      body.prepend(row);
    }
    tell(row.querySelector("th").textContent + ": " + row.querySelector("td").textContent);
  };

  const refreshTest = async (event) => {
    if (event.gone) {
      tell("The test's record is gone.");
      document.querySelector(".acts")?.remove();
      return;
    }
    const page = await fetched(location.pathname);
    const fresh = page?.querySelector("[data-follow]");
    const old = document.querySelector("[data-follow]");
    if (!fresh || !old) {
      return;
    }
    // Somebody who is about to press a button keeps it.
    if (old.querySelector(".acts")?.contains(document.activeElement)) {
      for (const part of ["h1", ".reason", ".words"]) {
        const from = fresh.querySelector(part);
        if (from) {
          old.querySelector(part)?.replaceWith(from);
        }
      }
    } else {
      old.replaceWith(fresh);
    }
    tell(document.querySelector("h1").textContent + ". " + (document.querySelector(".reason")?.textContent ?? ""));
  };

  const events = new EventSource(one ? "/api/v1/tests/" + one.dataset.follow + "/events" : "/api/v1/events");
  events.addEventListener("transition", (message) => {
    const event = JSON.parse(message.data);
    soon(event.test, () => one ? refreshTest(event) : refreshRow(event));
  });
  events.addEventListener("gone", () => events.close());
  events.addEventListener("open", () => {
    link.hidden = true;
  });
  events.addEventListener("error", () => {
    link.textContent = "Offline: what is shown may be old. It is tried again.";
    link.hidden = false;
  });
  addEventListener("pagehide", () => events.close());
})();

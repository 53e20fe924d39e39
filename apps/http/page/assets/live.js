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

  // fetched is a page of this server, parsed; scripts in it would not run. It is null where
  // the server does not give it, and "gone" where there is none.
  const fetched = async (path) => {
    let answer;
    try {
      answer = await fetch(path, { headers: { Accept: "text/html" }, credentials: "same-origin" });
    } catch {
      return null;
    }
    if (!answer.ok) {
      return answer.status === 404 ? "gone" : null;
    }
    return new DOMParser().parseFromString(await answer.text(), "text/html");
  };

  const pending = new Map();
  // soon calls f with the newest event of a test, once for all that come within a moment.
  const soon = (event, f) => {
    const known = pending.has(event.test);
    pending.set(event.test, event);
    if (!known) {
      setTimeout(() => {
        const newest = pending.get(event.test);
        pending.delete(event.test);
        f(newest);
      }, 150);
    }
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
    if (page === "gone") {
      document.getElementById("test-" + event.test)?.remove();
      return;
    }
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
    const fresh = page === "gone" ? null : page?.querySelector("[data-follow]");
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
      const closed = [...old.querySelectorAll("details:not([open]) summary")].map((summary) => summary.textContent);
      for (const log of fresh.querySelectorAll("details")) {
        log.open = !closed.includes(log.querySelector("summary").textContent);
      }
      old.replaceWith(fresh);
    }
    tell(document.querySelector("h1").textContent + ". " + (document.querySelector(".reason")?.textContent ?? ""));
  };

  // refreshList shows the newest list, for what was missed while there was no stream.
  const refreshList = async () => {
    const page = await fetched(location.href);
    const fresh = page === "gone" ? null : page?.querySelector("[data-live]");
    if (fresh && !list.contains(document.activeElement)) {
      list.replaceChildren(...fresh.childNodes);
    }
  };

  let events;
  let refused = 0;
  // Set when the server ends a stream that lasted long enough: the browser asks again.
  let ending = false;
  const watch = () => {
    events = new EventSource(one ? "/api/v1/tests/" + one.dataset.follow + "/events" : "/api/v1/events");
    events.addEventListener("transition", (message) => soon(JSON.parse(message.data), one ? refreshTest : refreshRow));
    events.addEventListener("gone", () => events.close());
    events.addEventListener("end", () => {
      ending = true;
    });
    events.addEventListener("open", () => {
      if (refused > 0 && list) {
        refreshList();
      }
      refused = 0;
      ending = false;
      link.hidden = true;
    });
    events.addEventListener("error", () => {
      if (!ending) {
        link.textContent = "Offline: what is shown may be old. It is tried again.";
        link.hidden = false;
      }
      ending = false;
      // A browser does not ask again after a refusal, such as one of too many requests.
      if (events.readyState === EventSource.CLOSED) {
        refused++;
        setTimeout(watch, Math.min(60, 2 ** refused) * 1000);
      }
    });
  };
  watch();
  addEventListener("pagehide", () => events.close());
})();

// Signs in with the code behind "#", and shows what has changed. The page works without it: the code
// can be typed, and pages can be loaded again.

const form = document.querySelector("#sign-in");
if (form && location.hash.length > 1) {
  form.elements.code.value = location.hash.slice(1);
  history.replaceState(null, "", location.pathname);
  form.requestSubmit();
}

const main = document.querySelector("main[data-live]");
if (main) {
  let busy = false;
  let again = false;
  const refresh = async () => {
    // What a person types stays.
    const typed = [...main.querySelectorAll("input:not([type=hidden])")].some((input) => input.value);
    if (typed || main.contains(document.activeElement)) {
      document.querySelector("#stale").hidden = false;
      return;
    }
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    const answer = await fetch(location.href);
    if (answer.redirected) location.reload();
    const next = new DOMParser().parseFromString(await answer.text(), "text/html");
    const open = new Set([...main.querySelectorAll("details[open][id]")].map((part) => part.id));
    const fresh = next.querySelector("main");
    fresh.querySelectorAll("details[id]").forEach((part) => (part.open = open.has(part.id)));
    main.replaceChildren(...fresh.childNodes);
    document.querySelector("nav").replaceWith(next.querySelector("nav"));
    busy = false;
    if (again) {
      again = false;
      refresh();
    }
  };
  new EventSource("/live").addEventListener("changed", refresh);
}

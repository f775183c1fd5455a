// Signs in with the code behind "#", and shows what has changed. The page works without it: the code
// can be typed, and pages can be loaded again.

const form = document.querySelector("#sign-in");
if (form && location.hash.length > 1) {
  form.elements.code.value = location.hash.slice(1);
  history.replaceState(null, "", location.pathname);
  form.requestSubmit();
}

// Sends the fields of a form, and returns the options for a passkey.
const ask = async (address, fields) => {
  const answer = await fetch(address, { method: "POST", body: new URLSearchParams(fields) });
  if (!answer.ok || answer.redirected) throw new Error(await answer.text());
  return answer.json();
};

const enroll = document.querySelector("#enroll");
if (enroll) {
  if (location.hash.length > 1) {
    enroll.elements.code.value = location.hash.slice(1);
    history.replaceState(null, "", location.pathname);
  }
  enroll.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const options = await ask("/enroll/begin", { code: enroll.elements.code.value });
      const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
      const created = await navigator.credentials.create({ publicKey });
      enroll.elements.created.value = JSON.stringify(created);
      enroll.elements.code.value = "-";
      enroll.submit();
    } catch {
      location.assign("/enroll?said=failed");
    }
  });
}

// Acts with a passkey, which signs this very form, where no code or password was typed. Denying and
// aborting need no proof, except where each answer is signed. A form that makes a passkey lets the new
// one sign, too.
document.addEventListener("submit", async (event) => {
  const form = event.target;
  const signed = form.elements.signed;
  const fields = new FormData(form, event.submitter);
  if (!signed || form.elements.proof?.value || signed.value) return;
  const letsNothingRun = fields.get("answer") === "deny" || fields.get("option") === "abort";
  if (letsNothingRun && !("each" in signed.dataset)) return;
  event.preventDefault();
  try {
    // A page that follows changes leaves the form alone meanwhile.
    form.dataset.busy = "";
    if (form.dataset.begin) {
      const making = await ask(form.dataset.begin, fields);
      const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(making);
      fields.set("created", JSON.stringify(await navigator.credentials.create({ publicKey })));
    }
    const options = await ask(signed.dataset.ask, fields);
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
    signed.value = JSON.stringify(await navigator.credentials.get({ publicKey }));
    // The text comes back as it was signed.
    if (form.elements.text) form.elements.text.value = options.text;
  } catch {
    // The page says that the proof was missing.
    signed.value = "none";
  }
  form.requestSubmit(event.submitter);
});

const main = document.querySelector("main[data-live]");
if (main) {
  let busy = false;
  let again = false;
  const stale = document.querySelector("#stale");
  const isChanged = (field) =>
    field.checked !== field.defaultChecked || field.value !== field.defaultValue;
  // What a person types stays, and so does the place of the keyboard. No other form comes under the
  // pointer of somebody who is about to press a button.
  const isInUse = (part) =>
    part.contains(document.activeElement) ||
    part.querySelector("form[data-busy], form:hover") ||
    [...part.querySelectorAll("input:not([type=hidden]), textarea")].some(isChanged);
  const update = async () => {
    const answer = await fetch(location.href);
    if (answer.redirected) location.reload();
    const next = new DOMParser().parseFromString(await answer.text(), "text/html");
    // Somebody may have begun while the answer was on its way.
    if (isInUse(main)) {
      stale.hidden = false;
      return;
    }
    stale.hidden = true;
    const open = new Set([...main.querySelectorAll("details[open][id]")].map((part) => part.id));
    const fresh = next.querySelector("main");
    fresh.querySelectorAll("details[id]").forEach((part) => (part.open = open.has(part.id)));
    main.replaceChildren(...fresh.childNodes);
    const nav = document.querySelector("nav");
    if (!isInUse(nav)) nav.replaceWith(next.querySelector("nav"));
  };
  const refresh = async () => {
    if (isInUse(main)) {
      stale.hidden = false;
      return;
    }
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    try {
      await update();
    } finally {
      busy = false;
    }
    if (again) {
      again = false;
      refresh();
    }
  };
  // Whoever leaves a form as it was sees what has happened meanwhile.
  for (const leaving of ["focusout", "pointerout"]) {
    main.addEventListener(leaving, () => setTimeout(() => stale.hidden || refresh()));
  }
  new EventSource(main.dataset.live).addEventListener("changed", refresh);
}

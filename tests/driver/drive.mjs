// Drives a real browser through a scenario of the page. Prints a line for each point that it has come
// to; where the test has to act before it goes on, it waits for a line.

import { createRequire } from "node:module";
import { readFileSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { join } from "node:path";

const task = JSON.parse(process.argv[2]);
const require = createRequire(join(task.modules, "none.js"));
const { chromium } = require("playwright-core");
const axe = readFileSync(join(task.modules, "axe-core/axe.min.js"), "utf8");
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

const reach = (point) => process.stdout.write(`${point}\n`);
const held = () => lines.next();
const fail = (what) => {
  throw new Error(what);
};

let shown;
// What the page's policy refuses, and what fails in its script.
const complaints = [];

async function launch(options = {}) {
  const context = await chromium.launchPersistentContext(task.profile, {
    executablePath: task.browser,
    headless: true,
    args: [
      "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
      "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
    ],
    ...options,
  });
  const page = context.pages()[0] ?? (await context.newPage());
  shown = page;
  page.setDefaultTimeout(60_000);
  // Another site that the person passes is not ours to complain about.
  const isOurs = (url) => !task.host || new URL(url).host === task.host;
  page.on("console", (message) => {
    if (message.type() === "error" && isOurs(message.location().url)) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  return { context, page };
}

async function open(options = {}) {
  const { context, page } = await launch(options);
  await page.goto(task.link);
  if (options.javaScriptEnabled === false) {
    // Nothing reads the code behind `#`, so the person types it.
    await page.locator("input[name=code]").fill(new URL(task.link).hash.slice(1));
    await page.locator("form button").click();
  }
  await page.waitForURL((url) => url.pathname === "/");
  return { context, page };
}

// Presses Tab until an element has the focus.
async function tabTo(page, selector) {
  for (let step = 0; step < 60; step++) {
    await page.keyboard.press("Tab");
    if (await page.evaluate((wanted) => document.activeElement?.matches(wanted), selector)) return;
  }
  fail(`the keyboard does not reach ${selector}`);
}

// Adds a device that keeps passkeys, and whose person is there.
async function addDevice(context, page) {
    const device = await context.newCDPSession(page);
    await device.send("WebAuthn.enable");
    await device.send("WebAuthn.addVirtualAuthenticator", {
      options: {
        protocol: "ctap2", transport: "internal", hasResidentKey: true, hasUserVerification: true,
        isUserVerified: true, automaticPresenceSimulation: true,
      },
    });
}

// Draws a page for the book, if the test asks for it: light, dark, and on a phone.
async function drawForBook(context, page, name, scheme, size) {
  const kinds = { "light wide": "light", "dark wide": "dark", "light phone": "phone" };
  const kind = kinds[`${scheme} ${size}`];
  if (!task.book || !kind) return;
  const session = await context.newCDPSession(page);
  const drawn = await session.send("Page.captureScreenshot", { format: "webp", quality: 55 });
  writeFileSync(join(task.book, `${name}-${kind}.webp`), Buffer.from(drawn.data, "base64"));
  await session.detach();
}

// Fails if a page is wider than its window, or if somebody cannot read it.
async function judge(page, what, width) {
  const across = await page.evaluate(() => document.documentElement.scrollWidth);
  if (across > width) fail(`${what} is ${across} wide on a window of ${width}`);
  await page.evaluate(axe);
  const found = await page.evaluate(() => window.axe.run());
  const grave = found.violations.filter((rule) => ["serious", "critical"].includes(rule.impact));
  for (const rule of grave) {
    const places = rule.nodes.map((node) => `${node.html}: ${node.failureSummary}`);
    fail(`${what}: ${rule.id}, ${rule.help}: ${places.join("; ")}`);
  }
}

// Draws and judges each page: light and dark, on a wide window and on a phone.
async function judgeAll(context, page) {
  for (const scheme of ["light", "dark"]) {
    for (const [size, width] of [["wide", 1200], ["phone", 390]]) {
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme: scheme });
      for (const path of task.pages) {
        await page.goto(new URL(path, task.link).href);
        const first = task.prefix ? "machines" : "sessions";
        const name = path.replace(/[?].*/, "").replace(/[^a-z]+/g, " ").trim().replace(" ", "-") || first;
        await page.screenshot({ path: join(task.pictures, `${task.prefix ?? ""}${name}-${scheme}-${size}.png`) });
        // Of a hub, the book has the pages that are named.
        const isDrawn = !task.prefix || task.drawn?.includes(name);
        if (isDrawn) await drawForBook(context, page, `${task.prefix ?? ""}${name}`, scheme, size);
        await judge(page, `${path} (${scheme}, ${size})`, width);
      }
    }
  }
}

const scenarios = {
  async answers() {
    const { context, page } = await open();
    if ((await page.evaluate(() => location.hash)) !== "") fail("the code stays in the address");
    const cookies = await context.cookies();
    if (!cookies.every((cookie) => cookie.httpOnly && cookie.sameSite === "Strict")) {
      fail(`cookies: ${JSON.stringify(cookies)}`);
    }
    reach("signed in");
    await tabTo(page, "nav a[href='/approvals']");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/approvals");
    await page.getByText("Nothing waits").waitFor();
    // The service looks for open pages a few times a second.
    await page.waitForTimeout(1500);
    reach("watching");
    await page.locator("form.answer").waitFor();
    await page.screenshot({ path: join(task.pictures, "approval.png"), fullPage: true });
    await tabTo(page, "form.answer input[name=proof]");
    await page.keyboard.type(task.password);
    await tabTo(page, "form.answer button[value=allow]");
    await page.keyboard.press("Enter");
    await page.getByText("Allowed: it runs now.").waitFor();
    reach("allowed");
    await held();
    await page.waitForTimeout(1500);
    reach("watching");
    await page.locator("form.answer").waitFor();
    await tabTo(page, "form.answer input[name=words]");
    await page.keyboard.type("use the staging host");
    await tabTo(page, "form.answer button[value=deny]");
    await page.keyboard.press("Enter");
    await page.getByText("Denied: the agent is told.").waitFor();
    reach("denied");
    await held();
    await context.close();
  },

  // A real client works, and its action waits for this page.
  async client() {
    const { context, page } = await open();
    await page.goto(new URL("/approvals", task.link).href);
    await page.getByText("Nothing waits").waitFor();
    await page.waitForTimeout(1500);
    reach("watching");
    await page.locator("form.answer").waitFor();
    await page.screenshot({ path: join(task.pictures, "client-waits.png"), fullPage: true });
    await tabTo(page, "form.answer input[name=proof]");
    await page.keyboard.type(task.password);
    await tabTo(page, "form.answer button[value=allow]");
    await page.keyboard.press("Enter");
    await page.getByText("Allowed: it runs now.").waitFor();
    await page.goto(new URL("/", task.link).href);
    await page.locator("tbody a").first().click();
    await page.locator("code.what", { hasText: "npm publish" }).first().waitFor();
    await page.screenshot({ path: join(task.pictures, "client-session.png"), fullPage: true });
    await context.close();
  },

  // An approver makes a passkey on the hub's page, and answers a machine's questions with it.
  async hubPasskey() {
    const { context, page } = await open();
    await addDevice(context, page);
    await tabTo(page, "nav a[href='/approvals']");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/approvals");
    await tabTo(page, "main a[href='/passkeys']");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/passkeys");
    await tabTo(page, "#passkey button");
    await page.keyboard.press("Enter");
    await page.getByText("The hub has it.").waitFor();
    await page.screenshot({ path: join(task.pictures, "hub-passkeys.png"), fullPage: true });
    reach("enrolled");
    const answer = async (button, words, said) => {
      await held();
      const place = new URL("/approvals", task.link).href;
      await page.goto(place);
      await page.locator("section[id^='q-'] form.answer").waitFor();
      for (const [scheme, size, width] of [["light", "wide", 1200], ["dark", "wide", 1200], ["light", "phone", 390]]) {
        await page.setViewportSize({ width, height: 900 });
        await page.emulateMedia({ colorScheme: scheme });
        await page.screenshot({ path: join(task.pictures, `hub-approval-${scheme}-${size}.png`) });
        await drawForBook(context, page, "hub-approvals", scheme, size);
        await judge(page, `an action that waits (${scheme}, ${size})`, width);
      }
      await page.setViewportSize({ width: 1200, height: 900 });
      await tabTo(page, "form.answer input[name=words]");
      await page.keyboard.type(words);
      await tabTo(page, `form.answer button[value=${button}]`);
      await page.keyboard.press("Enter");
      await page.getByText(said).waitFor();
      reach(button);
    };
    await answer("allow", "the jobs are old", "Signed: the machine checks it, and lets it run.");
    await answer("deny", "use the staging host", "Signed: the machine checks it, and tells the agent.");
    await held();
    await context.close();
  },

  // Two people: one has a password, the other sets up a passkey on a device that the browser plays.
  async passkey() {
    const { context, page } = await open();
    await addDevice(context, page);
    await page.goto(task.enroll);
    if ((await page.evaluate(() => location.hash)) !== "") fail("the code stays in the address");
    await page.screenshot({ path: join(task.pictures, "enroll.png") });
    await tabTo(page, "#enroll button");
    await page.keyboard.press("Enter");
    await page.getByText("The passkey is set up").waitFor();
    // The link worked once.
    await page.goto(task.enroll);
    await page.locator("#enroll button").click();
    await page.getByText("No passkey was set up").waitFor();
    complaints.splice(0);
    await page.goto(new URL("/approvals", task.link).href);
    await page.getByText("Nothing waits").waitFor();
    await page.waitForTimeout(1500);
    reach("watching");
    await page.locator("form.answer").nth(1).waitFor();
    await page.screenshot({ path: join(task.pictures, "approval-two.png"), fullPage: true });
    const first = page.locator("form.answer").first();
    const allow = () => first.locator("button[value=allow]").click();
    const give = async (words) => {
      await allow();
      await page.getByText(words).waitFor();
    };
    const password = () => first.locator("input[name=proof]").fill(task.password);
    await password();
    await give("another person has to allow it, too");
    await password();
    await give("you have allowed it already");
    // What a device signed for one action, or for another answer, allows nothing else.
    const misuse = await page.evaluate(async () => {
      const [one, two] = [...document.querySelectorAll("form.answer")];
      const fields = (form, more) => {
        const all = new URLSearchParams(new FormData(form));
        Object.entries(more).forEach(([name, value]) => all.set(name, value));
        return all;
      };
      const send = (address, body) => fetch(address, { method: "POST", body });
      const sign = async (form, answer) => {
        const asked = await send("/approvals/passkey", fields(form, { answer }));
        const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(await asked.json());
        return JSON.stringify(await navigator.credentials.get({ publicKey }));
      };
      const said = async (form, answer, signed) => {
        const given = await send("/approvals/answer", fields(form, { answer, signed }));
        return new URL(given.url).searchParams.get("said");
      };
      const forOther = await said(one, "allow", await sign(two, "allow"));
      const forDenial = await said(one, "allow", await sign(one, "deny"));
      const signed = JSON.parse(await sign(one, "allow"));
      const bytes = signed.response.signature;
      signed.response.signature = (bytes[0] === "M" ? "N" : "M") + bytes.slice(1);
      const forged = await said(one, "allow", JSON.stringify(signed));
      return [forOther, forDenial, forged];
    });
    if (misuse.some((said) => said !== "unproved")) fail(`misused: ${misuse}`);
    await page.goto(new URL("/approvals", task.link).href);
    await give("Allowed: it runs now.");
    reach("allowed");
    await held();
    await context.close();
  },

  // An operator lets a stopped session go on.
  async incident() {
    const { context, page } = await open();
    await tabTo(page, "nav a[href='/incidents']");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/incidents");
    await tabTo(page, "main a[href^='/incident?']");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/incident?*");
    await tabTo(page, "input[name=option]");
    // The arrows choose among the ways.
    await page.keyboard.press("Space");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowUp");
    await tabTo(page, "input[name=words]");
    await page.keyboard.type("it was me");
    await tabTo(page, "input[name=proof]");
    await page.keyboard.type(task.password);
    await page.screenshot({ path: join(task.pictures, "decision.png"), fullPage: true });
    await tabTo(page, "form.answer button");
    await page.keyboard.press("Enter");
    await page.getByText("The session goes on with half of each limit.").waitFor();
    await page.getByText("it was me").waitFor();
    reach("resumed");
    await context.close();
  },

  // Without scripts the pages load again by themselves, and forms work as they are.
  async scriptless() {
    const { context, page } = await open({ javaScriptEnabled: false });
    for (const path of task.pages) {
      await page.goto(new URL(path, task.link).href);
      if ((await page.locator("h1").count()) !== 1) fail(`${path} has no heading`);
      // Each search is for something that an agent did.
      const isSearch = path.startsWith("/search");
      if (isSearch && (await page.locator("tbody tr").count()) === 0) fail(`${path} finds nothing`);
    }
    await page.goto(new URL("/approvals", task.link).href);
    await page.getByText("Nothing waits").waitFor();
    reach("watching");
    await page.locator("form.answer").waitFor();
    await page.screenshot({ path: join(task.pictures, "scriptless.png"), fullPage: true });
    await page.locator("form.answer input[name=proof]").fill(task.password);
    await page.locator("form.answer button[value=allow]").click();
    await page.getByText("Allowed: it runs now.").waitFor();
    await context.close();
  },

  async live() {
    const { context, page } = await open();
    await page.getByText("No agent has acted yet").waitFor();
    await page.waitForTimeout(1000);
    await tabTo(page, "nav a[href='/search']");
    reach("empty");
    const row = page.locator("tbody tr", { hasText: "first" });
    await row.waitFor();
    const place = await page.evaluate(() => document.activeElement?.getAttribute("href"));
    if (place !== "/search") fail("what has changed takes the keyboard's place away");
    await row.locator(".dot.on").waitFor();
    reach("one");
    await row.locator("td.number").nth(2).filter({ hasText: "1" }).waitFor();
    reach("blocked");
    await context.close();
  },

  // Somebody looks for what happened on a fleet, and settles an incident.
  async hub() {
    const { context, page } = await open();
    if ((await page.evaluate(() => location.hash)) !== "") fail("the code stays in the address");
    const cookies = await context.cookies();
    if (!cookies.every((cookie) => cookie.httpOnly && cookie.sameSite === "Strict")) {
      fail(`cookies: ${JSON.stringify(cookies)}`);
    }
    await tabTo(page, "nav a[href='/search']");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/search");
    await tabTo(page, "form.search input[name=text]");
    await page.keyboard.type("evil.example");
    await page.keyboard.press("Enter");
    await page.locator("tbody th", { hasText: "evil.example" }).waitFor();
    await page.screenshot({ path: join(task.pictures, "hub-found.png"), fullPage: true });
    await tabTo(page, "tbody a[href^='/session?']");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/session?*");
    await page.locator("h1").waitFor();
    await tabTo(page, "nav a[href='/incidents']");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/incidents");
    await tabTo(page, "input[name=reason]");
    await page.keyboard.type("restored from a backup");
    await page.keyboard.press("Enter");
    await page.getByText("It is settled").waitFor();
    await page.getByText("restored from a backup").waitFor();
    await tabTo(page, ".sign-out button");
    await page.keyboard.press("Enter");
    await page.getByText("You are signed out.").waitFor();
    await context.close();
  },

  // Pages follow what happens; an operator invites somebody.
  async hubLive() {
    const { context, page } = await open();
    await page.getByText("No machine has joined").waitFor();
    // The page has to be watched before something happens.
    await page.waitForTimeout(2500);
    reach("empty");
    await page.locator("tbody th a", { hasText: "a machine" }).waitFor();
    reach("joined");
    await page.locator("nav .count").waitFor();
    reach("incident");
    await tabTo(page, "nav a[href='/people']");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/people");
    await tabTo(page, "form.answer input[name=name]");
    await page.keyboard.type("ben@example.org");
    await page.keyboard.press("Enter");
    await page.locator("#link", { hasText: "/sign-in#" }).waitFor();
    await context.close();
  },

  // Without scripts the code is typed, and every page has its heading.
  async hubScriptless() {
    const { context, page } = await open({ javaScriptEnabled: false });
    for (const path of task.pages) {
      await page.goto(new URL(path, task.link).href);
      if ((await page.locator("h1").count()) !== 1) fail(`${path} has no heading`);
    }
    await context.close();
  },

  // A provider vouches for the person: there and back again, over two sites.
  async hubProvider() {
    const { context, page } = await launch();
    // The provider's page would load a font from elsewhere.
    const isLocal = (url) => ["hub.localhost", "127.0.0.1"].includes(url.hostname);
    await context.route((url) => !isLocal(url), (route) => route.fulfill({ body: "" }));
    await page.goto(task.link);
    await page.locator("a[href='/oidc/begin']").click();
    await page.locator("input[name=login]").fill(task.login);
    await page.locator("input[name=password]").fill("any");
    await page.locator("button[type=submit]").click();
    await page.waitForURL((url) => url.pathname === "/" && url.hostname === "hub.localhost");
    await page.getByText(`Sign out (oidc:${task.login}@example.org`).waitFor();
    const cookies = await context.cookies(task.link);
    if (cookies.length !== 1) fail(`cookies: ${JSON.stringify(cookies)}`);
    await context.close();
  },

  // Somebody fills a form in while an update of the page is on its way: what was typed and the place
  // of the keyboard stay, and the update is shown when the form is left.
  async typing() {
    const { context, page } = await open();
    await page.goto(new URL("/approvals", task.link).href);
    await page.getByText("Nothing waits").waitFor();
    await page.waitForTimeout(1500);
    reach("watching");
    const words = page.locator("form.answer input[name=words]");
    await words.waitFor();
    // What is read already, so that only the next change is on its way.
    await page.waitForTimeout(1500);
    let arrives, release;
    const underway = new Promise((resolve) => (arrives = resolve));
    const released = new Promise((resolve) => (release = resolve));
    await page.route("**/approvals", async (route) => {
      if (route.request().resourceType() !== "fetch") return route.continue();
      arrives();
      await released;
      return route.continue();
    });
    await page.evaluate(() => (document.querySelector("#main").firstElementChild.id = "earlier"));
    reach("shown");
    await underway;
    await tabTo(page, "form.answer input[name=words]");
    await page.keyboard.type("use the staging");
    const answered = page.waitForResponse((answer) => answer.url().endsWith("/approvals"));
    release();
    await (await answered).finished();
    await page.locator("#stale").waitFor();
    await page.keyboard.type(" host");
    if ((await words.inputValue()) !== "use the staging host") fail("what was typed is gone");
    const place = () => page.evaluate(() => document.activeElement?.getAttribute("name"));
    if ((await place()) !== "words") fail(`the keyboard is at ${await place()}`);
    if ((await page.locator("#earlier").count()) !== 1) fail("the form was replaced");
    // Another change while it is filled in.
    reach("typed");
    await page.waitForTimeout(1500);
    if ((await words.inputValue()) !== "use the staging host") fail("what was typed is gone");
    // Whoever takes back what was typed, and leaves the form, sees what has happened.
    await words.fill("");
    await page.evaluate(() => document.activeElement.blur());
    await page.locator("#earlier").waitFor({ state: "detached" });
    await page.locator("#stale").waitFor({ state: "hidden" });
    // Nor does anything move under a pointer that is on the form.
    await page.evaluate(() => (document.querySelector("#main").firstElementChild.id = "pointed"));
    await page.locator("form.answer button[value=deny]").hover();
    reach("pointed");
    await page.locator("#stale").waitFor();
    if ((await page.locator("#pointed").count()) !== 1) fail("the form was replaced under the pointer");
    await page.mouse.move(0, 0);
    await page.locator("#pointed").waitFor({ state: "detached" });
    await words.fill("not today");
    await tabTo(page, "form.answer button[value=deny]");
    await page.keyboard.press("Enter");
    await page.getByText("Denied: the agent is told.").waitFor();
    await context.close();
  },

  async readable() {
    const { context, page } = await open();
    await judgeAll(context, page);
    await context.close();
  },

  // The pages that a browser sees before it has a cookie.
  async doors() {
    const { context, page } = await launch();
    await judgeAll(context, page);
    await context.close();
  },
};

try {
  await scenarios[task.scenario]();
  if (complaints.length > 0) fail(`the browser complains: ${complaints.join("; ")}`);
  reach("end");
  process.exit(0);
} catch (error) {
  console.error(error);
  // What the person would see.
  if (shown) console.error(shown.url(), await shown.locator("body").innerText(), complaints);
  process.exit(1);
}

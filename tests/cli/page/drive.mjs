// Drives a real browser through a scenario of the page. Prints a line for each point that it has come
// to; where the test has to act before it goes on, it waits for a line.

import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
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

// What the page's policy refuses, and what fails in its script.
const complaints = [];

async function open(options = {}) {
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
  page.setDefaultTimeout(60_000);
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  await page.goto(task.link);
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
    await page.getByText("Allowed: it runs now, once.").waitFor();
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

  async live() {
    const { context, page } = await open();
    await page.getByText("No agent has acted yet").waitFor();
    await page.waitForTimeout(1000);
    reach("empty");
    const row = page.locator("tbody tr", { hasText: "first" });
    await row.waitFor();
    await row.locator(".dot.on").waitFor();
    reach("one");
    await row.locator("td.number").nth(2).filter({ hasText: "1" }).waitFor();
    reach("blocked");
    await context.close();
  },

  async readable() {
    const { context, page } = await open();
    for (const scheme of ["light", "dark"]) {
      for (const [size, width] of [["wide", 1200], ["phone", 390]]) {
        await page.setViewportSize({ width, height: 900 });
        await page.emulateMedia({ colorScheme: scheme });
        for (const path of task.pages) {
          await page.goto(new URL(path, task.link).href);
          const name = path.replace(/[^a-z]+/g, " ").trim().replace(/ .*/, "") || "sessions";
          await page.screenshot({ path: join(task.pictures, `${name}-${scheme}-${size}.png`) });
          const across = await page.evaluate(() => document.documentElement.scrollWidth);
          if (across > width) fail(`${path} is ${across} wide on a window of ${width}`);
          await page.evaluate(axe);
          const found = await page.evaluate(() => window.axe.run());
          const grave = found.violations.filter((rule) => ["serious", "critical"].includes(rule.impact));
          for (const rule of grave) {
            const places = rule.nodes.map((node) => `${node.html}: ${node.failureSummary}`);
            fail(`${path} (${scheme}, ${size}): ${rule.id}, ${rule.help}: ${places.join("; ")}`);
          }
        }
      }
    }
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
  process.exit(1);
}

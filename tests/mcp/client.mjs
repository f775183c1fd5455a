// A client of the protocol's own library: uses a server in many ways and prints what came of it.
//
// The arguments are the command of the server.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";

const [command, ...args] = process.argv.slice(2);
const client = new Client(
  { name: "test", version: "1" },
  { capabilities: { sampling: {}, elicitation: {}, roots: { listChanged: true } } },
);
const asked = [];
client.setRequestHandler(CreateMessageRequestSchema, (request) => {
  asked.push(request.method);
  return { model: "m", role: "assistant", content: { type: "text", text: "sampled" } };
});
client.setRequestHandler(ElicitRequestSchema, (request) => {
  asked.push(request.method);
  return { action: "decline" };
});
client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: "file:///srv" }] }));

await client.connect(new StdioClientTransport({ command, args, stderr: "ignore", env: process.env }));
const results = {};
const { tools } = await client.listTools();
const names = tools.map((tool) => tool.name);
results.tools = tools;
results.server = client.getServerVersion();
results.capabilities = client.getServerCapabilities();
results.ping = await client.ping();
const call = (name, input, options) => client.callTool({ name, arguments: input }, undefined, options);
results.echo = await call("echo", { message: "hällo \u2028 <&> \"x\"" });
results.sum = await call("get-sum", { a: 2, b: 40.5 });
results.image = await call("get-tiny-image", {});
results.structured = await call("get-structured-content", { location: "New York" });
results.annotated = await call("get-annotated-message", { messageType: "debug", includeImage: true });
results.wrong = await call("get-sum", { a: "no number" }).catch((error) => error.message);
const steps = [];
results.long = await call(
  "trigger-long-running-operation",
  { duration: 0.3, steps: 3 },
  { onprogress: (progress) => steps.push(progress) },
);
// The last one may come after the result, and then the library drops it.
results.steps = steps.slice(0, 2);
if (names.includes("trigger-sampling-request")) {
  results.sampling = await call("trigger-sampling-request", { prompt: "hi", maxTokens: 5 });
}
if (names.includes("trigger-elicitation-request")) {
  results.elicitation = await call("trigger-elicitation-request", {});
}
const controller = new AbortController();
setTimeout(() => controller.abort("enough"), 200);
results.cancelled = await call(
  "trigger-long-running-operation",
  { duration: 30, steps: 2 },
  { signal: controller.signal },
).catch((error) => String(error.message ?? error));
const { resources } = await client.listResources();
results.resources = resources.length;
results.resource = await client.readResource({ uri: resources[0].uri });
const { prompts } = await client.listPrompts();
results.prompts = prompts;
results.prompt = await client.getPrompt({ name: prompts[0].name });
results.level = await client.setLoggingLevel("error");
results.asked = asked;
// The server made an answer for nobody of its own: names say nothing about this process.
await client.close();
console.log(JSON.stringify(results));
process.exit(0);

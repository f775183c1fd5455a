// A server with the tools, resources and prompts that the conformance suite asks for in version
// 2026-07-28.
//
// The argument is `stdio` for standard input and output, or `http` for an address, which is then the
// first line of output.

import { createServer } from "node:http";
import {
  acceptedContent,
  createMcpHandler,
  fromJsonSchema,
  inputRequired,
  McpServer,
  ResourceTemplate,
} from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { toNodeHandler } from "@modelcontextprotocol/node";

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
const SOUND = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";
const text = (value) => ({ type: "text", text: value });
const image = { type: "image", data: PIXEL, mimeType: "image/png" };
const embedded = (uri, value) => ({
  type: "resource",
  resource: { uri, mimeType: "text/plain", text: value },
});
const pause = () => new Promise((resume) => setTimeout(resume, 30));

function addTools(server) {
  const tool = (name, content) =>
    server.registerTool(name, { description: "A tool" }, async () => ({ content }));
  tool("test_simple_text", [text("This is a simple text response for testing.")]);
  tool("test_image_content", [image]);
  tool("test_audio_content", [{ type: "audio", data: SOUND, mimeType: "audio/wav" }]);
  tool("test_embedded_resource", [
    embedded("test://embedded-resource", "This is an embedded resource content."),
  ]);
  tool("test_multiple_content_types", [
    text("Multiple content types test:"),
    image,
    embedded("test://mixed-content-resource", "{}"),
  ]);
  server.registerTool("test_error_handling", { description: "Fails" }, async () => {
    throw new Error("This tool intentionally returns an error for testing");
  });
  server.registerTool("test_tool_with_progress", { description: "Advances" }, async (context) => {
    const progressToken = context.mcpReq._meta?.progressToken ?? 0;
    for (const progress of [0, 50, 100]) {
      const params = { progressToken, progress, total: 100 };
      await context.mcpReq.notify({ method: "notifications/progress", params });
      await pause();
    }
    return { content: [text(String(progressToken))] };
  });
  const region = { type: "string", "x-mcp-header": "Region" };
  server.registerTool(
    "test_custom_headers",
    {
      description: "Has an argument that is a header too",
      inputSchema: fromJsonSchema({ type: "object", properties: { region } }),
    },
    async ({ region }) => ({ content: [text(String(region))] }),
  );
}

// Tools that ask the person before they answer. The suite calls more of them than there are here:
// those are listed and answer at once, since a call of a tool without a definition does not run.
function addQuestions(server) {
  const name = "test_input_required_result";
  const requestedSchema = {
    type: "object",
    properties: { name: { type: "string" } },
    required: ["name"],
  };
  server.registerTool(`${name}_elicitation`, { description: "Asks" }, async (context) => {
    const answer = acceptedContent(context.mcpReq.inputResponses, "user_name");
    if (typeof answer?.name === "string") return { content: [text(`Hello, ${answer.name}!`)] };
    const question = inputRequired.elicit({ message: "What is your name?", requestedSchema });
    return inputRequired({ inputRequests: { user_name: question } });
  });
  const others = ["sampling", "list_roots", "request_state", "multiple_inputs", "multi_round", "tampered_state", "capabilities"];
  for (const other of others) {
    server.registerTool(`${name}_${other}`, { description: "Answers" }, async () => ({
      content: [text("at once")],
    }));
  }
}

function addResources(server) {
  const add = (name, uri, mimeType, content) =>
    server.registerResource(name, uri, { mimeType }, async (found) => ({
      contents: [{ uri: found.href, mimeType, ...content }],
    }));
  add("static-text", "test://static-text", "text/plain", {
    text: "This is the content of the static text resource.",
  });
  add("static-binary", "test://static-binary", "image/png", { blob: PIXEL });
  server.registerResource(
    "template",
    new ResourceTemplate("test://template/{id}/data", { list: undefined }),
    { mimeType: "application/json" },
    async (uri, { id }) => ({
      contents: [
        { uri: uri.href, mimeType: "application/json", text: JSON.stringify({ id, templateTest: true }) },
      ],
    }),
  );
}

function addPrompts(server) {
  const user = (content) => ({ messages: [{ role: "user", content }] });
  const required = (...names) => {
    const properties = Object.fromEntries(names.map((name) => [name, { type: "string" }]));
    return fromJsonSchema({ type: "object", properties, required: names });
  };
  server.registerPrompt("test_simple_prompt", { description: "Plain" }, async () =>
    user(text("This is a simple prompt for testing.")),
  );
  server.registerPrompt(
    "test_prompt_with_arguments",
    { description: "With arguments", argsSchema: required("arg1", "arg2") },
    async ({ arg1, arg2 }) => user(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)),
  );
  server.registerPrompt(
    "test_prompt_with_embedded_resource",
    { description: "With a resource", argsSchema: required("resourceUri") },
    async ({ resourceUri }) => user(embedded(resourceUri, "Embedded resource content for testing.")),
  );
  server.registerPrompt("test_prompt_with_image", { description: "With a picture" }, async () =>
    user(image),
  );
}

function create() {
  const capabilities = { tools: {}, resources: {}, prompts: {} };
  const server = new McpServer({ name: "conformance", version: "1" }, { capabilities });
  addTools(server);
  addQuestions(server);
  addResources(server);
  addPrompts(server);
  return server;
}

if (process.argv[2] === "http") {
  const handler = toNodeHandler(createMcpHandler(create));
  const http = createServer((request, response) => handler(request, response));
  http.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${http.address().port}/mcp`));
} else {
  serveStdio(create);
}

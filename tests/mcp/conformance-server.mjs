// A server with the tools, resources and prompts that the conformance suite asks for, on standard
// input and output.

import { McpServer, ResourceTemplate } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import {
  CompleteRequestSchema,
  SetLevelRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
const SOUND = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";
const text = (value) => ({ type: "text", text: value });
const image = { type: "image", data: PIXEL, mimeType: "image/png" };
const embedded = (uri, value) => ({
  type: "resource",
  resource: { uri, mimeType: "text/plain", text: value },
});

const server = new McpServer(
  { name: "conformance", version: "1" },
  {
    capabilities: {
      logging: {},
      completions: {},
      resources: { subscribe: true, listChanged: true },
      tools: { listChanged: true },
      prompts: { listChanged: true },
    },
  },
);
const tool = (name, description, content) =>
  server.registerTool(name, { description }, async () => ({ content }));
tool("test_simple_text", "Returns a text", [text("This is a simple text response for testing.")]);
tool("test_image_content", "Returns a picture", [image]);
tool("test_audio_content", "Returns a sound", [{ type: "audio", data: SOUND, mimeType: "audio/wav" }]);
tool("test_embedded_resource", "Returns a resource", [
  embedded("test://embedded-resource", "This is an embedded resource content."),
]);
tool("test_multiple_content_types", "Returns several blocks", [
  text("Multiple content types test:"),
  image,
  embedded("test://mixed-content-resource", "{}"),
]);
const log = (extra, data) =>
  extra.sendNotification({ method: "notifications/message", params: { level: "info", data } });
const pause = () => new Promise((resume) => setTimeout(resume, 50));
server.registerTool("test_tool_with_logging", { description: "Logs", inputSchema: {} }, async (_, extra) => {
  for (const data of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
    await log(extra, data);
    await pause();
  }
  return { content: [text("done")] };
});
server.registerTool("test_tool_with_progress", { description: "Advances", inputSchema: {} }, async (_, extra) => {
  const progressToken = extra._meta?.progressToken ?? 0;
  for (const progress of [0, 50, 100]) {
    await extra.sendNotification({
      method: "notifications/progress",
      params: { progressToken, progress, total: 100 },
    });
    await pause();
  }
  return { content: [text(String(progressToken))] };
});
server.registerTool("test_error_handling", { description: "Fails" }, async () => {
  throw new Error("This tool intentionally returns an error for testing");
});
server.registerTool(
  "test_sampling",
  { description: "Samples", inputSchema: { prompt: z.string() } },
  async ({ prompt }) => {
    const answer = await server.server.createMessage({
      messages: [{ role: "user", content: text(prompt) }],
      maxTokens: 100,
    });
    return { content: [text(`LLM response: ${answer.content.text}`)] };
  },
);
const elicit = (name, description, input, requestedSchema) =>
  server.registerTool(name, { description, inputSchema: input }, async ({ message }) => {
    const answer = await server.server.elicitInput({ message: message ?? description, requestedSchema });
    return { content: [text(`action=${answer.action}, content=${JSON.stringify(answer.content ?? {})}`)] };
  });
elicit("test_elicitation", "Asks", { message: z.string() }, {
  type: "object",
  properties: { username: { type: "string", description: "A name" }, email: { type: "string", description: "An address" } },
  required: ["username", "email"],
});
elicit("test_elicitation_sep1034_defaults", "Asks with defaults", {}, {
  type: "object",
  properties: {
    name: { type: "string", default: "John Doe" },
    age: { type: "integer", default: 30 },
    score: { type: "number", default: 95.5 },
    status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
    verified: { type: "boolean", default: true },
  },
  required: [],
});
server.registerTool(
  "json_schema_2020_12_tool",
  { description: "Has a schema", inputSchema: { name: z.string().optional() } },
  async () => ({ content: [text("ok")] }),
);

server.registerResource("static-text", "test://static-text", { mimeType: "text/plain" }, async (uri) => ({
  contents: [{ uri: uri.href, mimeType: "text/plain", text: "This is the content of the static text resource." }],
}));
server.registerResource("static-binary", "test://static-binary", { mimeType: "image/png" }, async (uri) => ({
  contents: [{ uri: uri.href, mimeType: "image/png", blob: PIXEL }],
}));
server.registerResource(
  "template",
  new ResourceTemplate("test://template/{id}/data", { list: undefined }),
  { mimeType: "application/json" },
  async (uri, { id }) => ({
    contents: [{ uri: uri.href, mimeType: "application/json", text: JSON.stringify({ id, templateTest: true }) }],
  }),
);
server.registerResource("watched", "test://watched-resource", {}, async (uri) => ({
  contents: [{ uri: uri.href, text: "watched" }],
}));

const user = (content) => ({ messages: [{ role: "user", content }] });
server.registerPrompt("test_simple_prompt", { description: "Plain" }, async () =>
  user(text("This is a simple prompt for testing.")),
);
server.registerPrompt(
  "test_prompt_with_arguments",
  { description: "With arguments", argsSchema: { arg1: z.string(), arg2: z.string() } },
  async ({ arg1, arg2 }) => user(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)),
);
server.registerPrompt(
  "test_prompt_with_embedded_resource",
  { description: "With a resource", argsSchema: { resourceUri: z.string() } },
  async ({ resourceUri }) => user(embedded(resourceUri, "Embedded resource content for testing.")),
);
server.registerPrompt("test_prompt_with_image", { description: "With a picture" }, async () => user(image));

server.server.setRequestHandler(SetLevelRequestSchema, async () => ({}));
server.server.setRequestHandler(SubscribeRequestSchema, async () => ({}));
server.server.setRequestHandler(UnsubscribeRequestSchema, async () => ({}));
server.server.setRequestHandler(CompleteRequestSchema, async () => ({
  completion: { values: ["paris", "park"], total: 2, hasMore: false },
}));
await server.connect(new StdioServerTransport());

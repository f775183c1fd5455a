// A bridge from streamable HTTP, on the loopback interface, to a server on standard input and
// output: one server for each session. It passes messages as they are.
//
// The arguments are the command of the server. The first line of output is the address.

import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";

const [command, ...args] = process.argv.slice(2);
const sessions = new Map();

async function open() {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  // Progress and logs of a request belong to the stream of that request.
  const requests = new Map();
  const latest = { id: undefined };
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    onsessioninitialized: (id) => sessions.set(id, transport),
    enableDnsRebindingProtection: true,
    allowedHosts: [`127.0.0.1:${port}`, `localhost:${port}`],
  });
  transport.onmessage = (message) => {
    if (message.method !== undefined && message.id !== undefined) {
      latest.id = message.id;
      const token = message.params?._meta?.progressToken;
      if (token !== undefined) requests.set(token, message.id);
    }
    child.stdin.write(`${JSON.stringify(message)}\n`);
  };
  transport.onclose = () => child.stdin.end();
  createInterface({ input: child.stdout }).on("line", (line) => {
    const message = JSON.parse(line);
    const token = message.params?.progressToken;
    const relatedRequestId = message.method === undefined ? undefined : (requests.get(token) ?? latest.id);
    transport.send(message, { relatedRequestId }).catch(() => {});
  });
  await transport.start();
  return transport;
}

async function handle(request, response) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString();
  const body = text === "" ? undefined : JSON.parse(text);
  const known = sessions.get(request.headers["mcp-session-id"]);
  if (known === undefined && body?.method !== "initialize") {
    response.writeHead(400).end();
    return;
  }
  await (known ?? (await open())).handleRequest(request, response, body);
}

const server = createServer((request, response) => {
  handle(request, response).catch(() => response.writeHead(400).end());
});
let port = 0;
server.listen(0, "127.0.0.1", () => {
  port = server.address().port;
  console.log(`http://127.0.0.1:${port}/mcp`);
});

// A bridge from HTTP in the form of version 2026-07-28, on the loopback interface, to a server on
// standard input and output. It passes messages as they are, but for their ids: those of all posts
// share one pipe. The words of the pipe's answers decide, no header is looked at.
//
// The arguments are the command of the server. The first line of output is the address.

import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { createInterface } from "node:readline";

const [command, ...args] = process.argv.slice(2);
const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
const open = new Map();
let count = 0;

createInterface({ input: child.stdout }).on("line", (line) => {
  const message = JSON.parse(line);
  if (message.method === undefined) {
    open.get(message.id)?.answer(message);
    return;
  }
  // A notification belongs to the post whose token it names, or to the newest one.
  const token = message.params?.progressToken;
  const posts = [...open.values()];
  const post = posts.find((one) => token !== undefined && one.token === token) ?? posts.at(-1);
  post?.pass(message);
});

function write(response, message) {
  if (!response.headersSent) response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(`data: ${JSON.stringify(message)}\n\n`);
}

async function handle(request, response) {
  if (request.method !== "POST") return response.writeHead(405).end();
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const message = JSON.parse(Buffer.concat(chunks).toString());
  if (message.id === undefined || message.method === undefined) {
    child.stdin.write(`${JSON.stringify(message)}\n`);
    return response.writeHead(202).end();
  }
  const id = `post-${++count}`;
  open.set(id, {
    token: message.params?._meta?.progressToken,
    pass: (notice) => write(response, notice),
    answer: (answer) => {
      open.delete(id);
      const own = { ...answer, id: message.id };
      if (response.headersSent) {
        write(response, own);
        return response.end();
      }
      const status = answer.error === undefined ? 200 : answer.error.code === -32601 ? 404 : 400;
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(own));
    },
  });
  response.on("close", () => {
    if (!open.delete(id)) return;
    const params = { requestId: id };
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", method: "notifications/cancelled", params })}\n`);
  });
  child.stdin.write(`${JSON.stringify({ ...message, id })}\n`);
}

const server = createServer((request, response) => {
  handle(request, response).catch(() => response.writeHead(400).end());
});
server.listen(0, "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${server.address().port}/mcp`);
});

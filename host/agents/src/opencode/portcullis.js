// Portcullis: every tool call of this client is reviewed before it runs, and its result afterwards.
// `portcullis install` wrote this file, `portcullis uninstall` removes it, and `portcullis doctor`
// compares its text: do not edit it.
//
// One review is one start of the program below, with an event on its standard input and an answer
// on its standard output. A call without a readable answer is refused.
import { spawn, spawnSync } from "node:child_process"

const HOOK = {"command":"portcullis","args":["hook","opencode"]}
const TIMEOUT_MS = 30000
// Before an action a person may have to answer; the program is told how long it may wait for them.
const ANSWER_TIMEOUT_S = 300
const MOST_BYTES = 64 * 1024 * 1024

// Starts the program and returns its answer. The client waits: in its last moments it would not
// wait for a promise.
function review(event) {
  const run = spawnSync(HOOK.command, HOOK.args, {
    input: JSON.stringify(event),
    timeout: TIMEOUT_MS,
    killSignal: "SIGKILL",
    maxBuffer: MOST_BYTES,
    encoding: "utf8",
    env: process.env,
  })
  return answerOf(run)
}

// Does the same for an action that has not run yet, and lets the client go on meanwhile.
async function reviewBefore(event) {
  const run = await new Promise((resolve) => {
    const args = [...HOOK.args, "--timeout", String(ANSWER_TIMEOUT_S)]
    const child = spawn(HOOK.command, args, { stdio: ["pipe", "pipe", "ignore"], env: process.env })
    const parts = []
    let bytes = 0
    let ended
    const end = (result) => {
      clearTimeout(timer)
      resolve({ ...result, ...ended, stdout: Buffer.concat(parts).toString("utf8") })
    }
    const kill = (message) => {
      ended = { error: new Error(message) }
      child.kill("SIGKILL")
    }
    const timer = setTimeout(() => kill("it took too long"), ANSWER_TIMEOUT_S * 1000)
    child.on("error", (error) => end({ error }))
    child.on("close", (status, signal) => end({ status, signal }))
    child.stdout.on("data", (part) => {
      bytes += part.length
      if (bytes > MOST_BYTES) kill("its answer is too long")
      else parts.push(part)
    })
    // A program that ends without reading answers with its code.
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify(event))
  })
  return answerOf(run)
}

// Returns the answer of the program that ran. Throws on anything but a complete answer.
function answerOf(run) {
  let answer
  try {
    answer = JSON.parse(run.stdout)
  } catch {}
  const decision = answer?.decision
  const known = decision === "allow" || decision === "modify" || decision === "deny"
  if (run.error || !known || run.status !== (decision === "deny" ? 2 : 0)) {
    const cause = run.error?.message ?? run.signal ?? `it ended with code ${run.status}`
    throw new Error(`Portcullis gave no answer (${cause}), so this is refused. ` +
      "A person can find out why with `portcullis doctor`.")
  }
  if (decision === "deny") throw new Error(answer.reason)
  return answer
}

// The reviewer reads a patch as the command of its tool.
function parametersOf(tool, args) {
  if (tool !== "apply_patch") return args
  const { patchText, ...others } = args
  return { ...others, command: patchText }
}

function argumentsOf(tool, parameters) {
  if (tool !== "apply_patch") return parameters
  const { command, ...others } = parameters
  return { ...others, patchText: command }
}

// Puts other parameters into the object that the client passes on: it ignores another object.
function replaceIn(object, parameters) {
  for (const name of Object.keys(object)) if (!(name in parameters)) delete object[name]
  Object.assign(object, parameters)
}

// The text of a result: a tool of the client has one text, a tool of a server a list of parts.
function textOf(output) {
  if (typeof output.output === "string") return output.output
  const parts = Array.isArray(output.content) ? output.content : []
  return parts.map((part) => part?.text ?? part?.resource?.text).filter((text) => typeof text === "string").join("\n")
}

function replaceText(output, text) {
  if (typeof output.output === "string") output.output = text
  if (typeof output.metadata?.output === "string") output.metadata.output = text
  if (typeof output.metadata?.preview === "string") output.metadata.preview = ""
  if (typeof output.metadata?.display?.text === "string") output.metadata.display.text = text
  if (Array.isArray(output.content)) {
    const others = output.content.filter((part) => typeof (part?.text ?? part?.resource?.text) !== "string")
    output.content = [{ type: "text", text }, ...others]
  }
  delete output.structuredContent
}

function appendText(output, text) {
  if (typeof output.output === "string") output.output += `\n\n${text}`
  else if (Array.isArray(output.content)) output.content.push({ type: "text", text })
}

export const Portcullis = async ({ client, directory }) => {
  // The session that started each session: a subagent has a session of its own.
  const parents = new Map()
  // The tokens of each session, and the last step that is among them: a step is told several times.
  const spent = new Map()
  // Texts for the agent that wait for its next result, by session.
  const notes = new Map()

  async function parentOf(session) {
    if (!parents.has(session)) {
      let parent
      try {
        parent = (await client.session.get({ path: { id: session } })).data?.parentID
      } catch {}
      parents.set(session, parent)
    }
    return parents.get(session)
  }

  // The parts that all events have: a subagent acts in the session of the person.
  async function eventOf(name, session) {
    let root = session
    for (let depth = 0; depth < 16; depth++) {
      const parent = await parentOf(root)
      if (!parent) break
      root = parent
    }
    const tokens = spent.get(session)?.tokens ?? 0
    const event = { hook_event_name: name, session_id: root, cwd: directory, tokens }
    if (root !== session) event.agent_id = session
    return event
  }

  // Counts the tokens of a step, without those that were read from a cache.
  function countTokens({ id, sessionID, tokens }) {
    const known = spent.get(sessionID) ?? { tokens: 0 }
    if (known.step === id) return
    const parts = [tokens?.input, tokens?.output, tokens?.reasoning, tokens?.cache?.write]
    const sum = parts.reduce((sum, part) => sum + (Number.isFinite(part) ? part : 0), 0)
    spent.set(sessionID, { tokens: known.tokens + Math.round(sum), step: id })
  }

  function keepNote(session, answer) {
    if (answer.context) notes.set(session, [...(notes.get(session) ?? []), answer.context])
  }

  // Reports what no answer can hold back: a failure here refuses the next call, not this.
  async function report(name, session, parts) {
    try {
      keepNote(session, review({ ...(await eventOf(name, session)), ...parts }))
    } catch {}
  }

  return {
    "tool.execute.before": async (input, output) => {
      const answer = await reviewBefore({
        ...(await eventOf("PreToolUse", input.sessionID)),
        tool_name: input.tool,
        tool_use_id: input.callID,
        tool_input: parametersOf(input.tool, output.args),
      })
      keepNote(input.sessionID, answer)
      if (answer.decision === "modify") replaceIn(output.args, argumentsOf(input.tool, answer.input))
    },

    "tool.execute.after": async (input, output) => {
      const answer = review({
        ...(await eventOf("PostToolUse", input.sessionID)),
        tool_name: input.tool,
        tool_use_id: input.callID,
        tool_input: parametersOf(input.tool, input.args),
        tool_result: textOf(output),
        tool_failed: output.isError === true || (output.metadata?.exit ?? 0) !== 0,
      })
      keepNote(input.sessionID, answer)
      if (typeof answer.result === "string") replaceText(output, answer.result)
      const waiting = notes.get(input.sessionID) ?? []
      notes.delete(input.sessionID)
      if (waiting.length > 0) appendText(output, waiting.join("\n\n"))
    },

    "chat.message": async (input, output) => {
      // What one agent tells another is not a request of a person.
      if (await parentOf(input.sessionID)) return
      const own = output.parts.filter((part) => part.type === "text" && !part.synthetic)
      await report("UserPromptSubmit", input.sessionID, { prompt: own.map((part) => part.text).join("\n") })
    },

    event: async ({ event }) => {
      if (event.type === "message.part.updated") {
        const part = event.properties.part
        if (part?.type === "step-finish") countTokens(part)
      } else if (event.type === "session.created") {
        const { id, parentID } = event.properties.info
        parents.set(id, parentID)
        if (parentID) await report("SubagentStart", id, {})
        else await report("SessionStart", id, { source: "startup" })
      } else if (event.type === "session.idle") {
        const id = event.properties.sessionID
        await report((await parentOf(id)) ? "SubagentStop" : "Stop", id, {})
      }
    },
  }
}

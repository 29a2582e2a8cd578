// moai-ralph for OpenCode, written by `moai-ralph init --host opencode`; `--remove` deletes it.
// It passes each event to the program as JSON and hands back what the program says. No failure of it
// reaches the session: a hook that does not answer in time says nothing.
import { spawn } from "node:child_process"

const PROGRAM = process.env.MOAI_RALPH_BIN || "@PROGRAM@"
const MARK = "[moai-ralph]"
const ANSWER_BYTES_MAX = 256 * 1024
// Time for an answer by event, in milliseconds; the program's own limits are shorter.
const WAIT_MS: Record<string, number> = { SessionStart: 10_000, UserPromptSubmit: 5_000, UserPromptExpansion: 10_000,
  PreToolUse: 5_000, PostToolUse: 15_000, Stop: 600_000, SessionEnd: 2_000 }
// Tools that write.
const TOOLS = ["edit", "write", "apply_patch", "patch", "multiedit", "bash"]
// Tools of the client that write nothing. Others are those of servers and plugins, whose names say nothing.
const READERS = ["codesearch", "glob", "grep", "invalid", "list", "lsp", "question", "read", "skill", "task",
  "todoread", "todowrite", "webfetch", "websearch"]

type Answer = { additionalContext?: string; decision?: string; reason?: string; hookSpecificOutput?: any }
type Session = { started: boolean; commanded: boolean; idle: boolean; held: boolean; aborted: boolean; parent?: string }

const shared = globalThis as any
// Of several registrations in one client the first acts: they all get the same objects of an event.
const acted: WeakSet<object> = (shared[Symbol.for("moai-ralph")] ??= new WeakSet())
const sessions: Map<string, Session> = (shared[Symbol.for("moai-ralph.sessions")] ??= new Map())

// A one-shot run quotes what has spaces.
const unquoted = (text: string): string => /^"([\s\S]*)"$/.exec(text.trim())?.[1] ?? text

export default async ({ client, directory }: any) => {
  const session = (id: string): Session => {
    let known = sessions.get(id)
    if (!known) {
      known = { started: false, commanded: false, idle: false, held: false, aborted: false }
      sessions.set(id, known)
    }
    return known
  }

  // A subagent has a session of its own, below that of its main agent.
  const ask = (event: string, id: string, fields: object): Promise<Answer> =>
    new Promise((resolve) => {
      const parent = sessions.get(id)?.parent
      const own = { hook_event_name: event, session_id: parent ?? id, cwd: directory, ...(parent ? { agent_id: id } : {}) }
      let answer = ""
      try {
        const child = spawn(PROGRAM, ["hook", "--host", "opencode"], { cwd: directory, stdio: ["pipe", "pipe", "ignore"] })
        const timer = setTimeout(() => child.kill("SIGKILL"), WAIT_MS[event] ?? 5_000)
        const end = () => {
          clearTimeout(timer)
          try {
            resolve(answer ? JSON.parse(answer) : {})
          } catch {
            resolve({})
          }
        }
        child.stdout.on("data", (part: any) => {
          if (answer.length < ANSWER_BYTES_MAX) answer += part
        })
        child.stdin.on("error", () => {})
        child.on("error", end)
        child.on("close", end)
        child.stdin.end(JSON.stringify({ ...own, ...fields }))
      } catch {
        resolve({})
      }
    })

  // No exception leaves a handler, except the refusal of a tool.
  const guarded = (handler: (...args: any[]) => Promise<void>) => async (...args: any[]) => {
    const call = args[1] ?? args[0]?.event
    if (call && acted.has(call)) return
    if (call) acted.add(call)
    try {
      await handler(...args)
    } catch (error) {
      if (error instanceof Refusal) throw error
    }
  }

  const textOf = (parts: any[]): string =>
    parts.filter((part) => part.type === "text" && !part.synthetic).map((part) => part.text).join("\n")

  // What the start of a session tells, with its first prompt or command.
  const startText = async (id: string): Promise<string> => {
    const known = session(id)
    if (known.started || known.parent) return ""
    known.started = true
    return (await ask("SessionStart", id, { source: "startup" })).additionalContext ?? ""
  }

  const lastWords = async (id: string): Promise<string> => {
    const messages = (await client.session.messages({ path: { id } }))?.data ?? []
    const last = messages.filter((message: any) => message.info?.role === "assistant").pop()
    return last ? textOf(last.parts ?? []) : ""
  }

  const stop = async (id: string) => {
    const known = session(id)
    if (known.parent || known.aborted) {
      known.aborted = false
      return
    }
    // The client may report twice that a turn has ended.
    if (known.idle) return
    known.idle = true
    const answer = await ask("Stop", id, { stop_hook_active: known.held, last_assistant_message: await lastWords(id) })
    known.held = answer.decision === "block"
    if (!known.held || !answer.reason) return
    const text = answer.reason.startsWith(MARK) ? answer.reason : `${MARK} ${answer.reason}`
    // A one-shot run ends before this prompt; a long-lived session goes on with it.
    await client.session.promptAsync({ path: { id }, body: { parts: [{ type: "text", text }] } })
  }

  return {
    event: guarded(async ({ event }: any) => {
      const properties = event.properties ?? {}
      const id = properties.sessionID ?? properties.info?.id
      if (!id) return
      if (event.type === "session.created" && properties.info?.parentID) session(id).parent = properties.info.parentID
      if (event.type === "session.error") session(id).aborted = /abort/i.test(properties.error?.name ?? "")
      if (event.type === "session.idle") await stop(id)
      if (event.type === "session.deleted") {
        await ask("SessionEnd", id, {})
        sessions.delete(id)
      }
    }),

    "chat.message": guarded(async (input: any, output: any) => {
      const id = input.sessionID
      const known = session(id)
      known.idle = false
      // The text of a command is no prompt of the user.
      if (known.commanded) {
        known.commanded = false
        return
      }
      const texts = [await startText(id)]
      const typed = textOf(output.parts)
      const prompt = unquoted(typed).trimStart().startsWith("/") ? unquoted(typed) : typed
      if (!prompt.startsWith(MARK)) known.held = false
      if (!known.parent) texts.push((await ask("UserPromptSubmit", id, { prompt })).additionalContext ?? "")
      const text = texts.filter(Boolean).join("\n\n")
      if (!text) return
      const part = "prt_" + Math.random().toString(36).slice(2, 14)
      output.parts.push({ id: part, messageID: output.message.id, sessionID: id, type: "text", text, synthetic: true })
    }),

    "command.execute.before": guarded(async (input: any, output: any) => {
      const fields = { command_name: input.command, command_args: unquoted(input.arguments ?? "") }
      const start = await startText(input.sessionID)
      const answer = await ask("UserPromptExpansion", input.sessionID, fields)
      const text = answer.additionalContext ?? answer.reason
      const known = session(input.sessionID)
      known.held = false
      known.commanded = Boolean(text)
      const told = [start, text].filter(Boolean).join("\n\n")
      if (told) output.parts.push({ type: "text", text: told })
    }),

    "tool.execute.before": guarded(async (input: any, output: any) => {
      if (READERS.includes(input.tool)) return
      const answer = await ask("PreToolUse", input.sessionID,
        { tool_name: input.tool, tool_input: output.args, tool_use_id: input.callID })
      const told = answer.hookSpecificOutput
      if (told?.permissionDecision === "deny") throw new Refusal(told.permissionDecisionReason)
    }),

    "tool.execute.after": guarded(async (input: any, output: any) => {
      if (!TOOLS.includes(input.tool)) return
      const isNew = input.tool === "write" && output.metadata?.exists === false
      const answer = await ask("PostToolUse", input.sessionID, { tool_name: input.tool, tool_input: input.args,
        tool_use_id: input.callID, tool_response: isNew ? { type: "create" } : null })
      if (answer.additionalContext) output.output = `${output.output ?? ""}\n${answer.additionalContext}`
    }),
  }
}

class Refusal extends Error {}

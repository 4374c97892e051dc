import type { DemoMessage, DemoRequest, DemoTool } from './demo-request.ts'

/** What the demo says, in the pieces it says it in: each piece counts as one token. */
export interface DemoReply {
  readonly reasoning: readonly string[]
  readonly words: readonly string[]
  readonly call: { readonly name: string; readonly arguments: string } | undefined
  readonly finish: 'stop' | 'length' | 'tool_calls'
  readonly promptTokens: number
  readonly completionTokens: number
}

const BYTES_PER_TOKEN = 4
const COUNT_MAX = 100_000
const QUOTED_MAX = 200

/** Harder thinking is more of it: enough to see the effort arrive in the usage. */
const THOUGHT_PIECES: Readonly<Record<string, number>> = {
  minimal: 4,
  low: 8,
  medium: 16,
  high: 32,
  xhigh: 48,
  max: 64,
}

/** The same question gives the same answer, so that tests and first steps are repeatable. */
export function composeReply(request: DemoRequest): DemoReply {
  const promptTokens = Math.ceil(
    request.messages.reduce((bytes, message) => bytes + Buffer.byteLength(message.text) + BYTES_PER_TOKEN, 0) /
      BYTES_PER_TOKEN,
  )
  const reasoning = thoughts(request)
  const room = request.outputCap - reasoning.length
  if (room <= 0) {
    const cut = reasoning.slice(0, request.outputCap)
    return { reasoning: cut, words: [], call: undefined, finish: 'length', promptTokens, completionTokens: cut.length }
  }
  const said = request.tool ? callOf(request.tool, room) : wordsOf(request, room)
  return { reasoning, promptTokens, ...said, completionTokens: reasoning.length + said.tokens }
}

function thoughts(request: DemoRequest): string[] {
  const pieces = THOUGHT_PIECES[request.effort ?? ''] ?? 0
  return Array.from({ length: pieces }, (_, index) => (index === 0 ? 'Thinking' : index % 8 === 0 ? ' further' : '.'))
}

type Said = Pick<DemoReply, 'words' | 'call' | 'finish'> & { readonly tokens: number }

function callOf(tool: DemoTool, room: number): Said {
  const written = JSON.stringify(exampleOf(tool.parameters, 0))
  const tokens = Math.ceil(written.length / BYTES_PER_TOKEN) + 1
  if (tokens > room) {
    return {
      words: [],
      call: { name: tool.name, arguments: written.slice(0, (room - 1) * BYTES_PER_TOKEN) },
      finish: 'length',
      tokens: room,
    }
  }
  return { words: [], call: { name: tool.name, arguments: written }, finish: 'tool_calls', tokens }
}

function wordsOf(request: DemoRequest, room: number): Said {
  const [text, stopped] = cutAtStop(answerTo(request.messages), request.stop)
  const pieces = text.match(/\s*\S+/g) ?? []
  if (pieces.length > room) return { words: pieces.slice(0, room), call: undefined, finish: 'length', tokens: room }
  // A stop word may leave white space behind the last word: it was produced, so it is said.
  const rest = stopped ? text.slice(pieces.join('').length) : ''
  const words = rest === '' ? pieces : [...pieces, rest]
  return { words, call: undefined, finish: 'stop', tokens: words.length }
}

function answerTo(messages: readonly DemoMessage[]): string {
  const last = messages.at(-1)
  if (last?.role === 'tool') return `The tool said: ${quoted(last.text)}. This is Millrace's built-in demo model.`
  const said = messages.findLast((message) => message.role === 'user')?.text ?? ''
  const count = /\bcount to (\d{1,6})\b/i.exec(said)?.[1]
  if (count) return Array.from({ length: Math.min(Number(count), COUNT_MAX) }, (_, index) => index + 1).join(' ')
  const heard = said.trim() === '' ? 'You said nothing.' : `You said: ${quoted(said)}.`
  return `Hello from Millrace's built-in demo model. ${heard} No provider was asked; connect one in millrace.yaml to talk to a real model.`
}

const quoted = (text: string): string => {
  const whole = text.trim().replace(/\s+/g, ' ')
  return `"${whole.length > QUOTED_MAX ? `${whole.slice(0, QUOTED_MAX)}…` : whole}"`
}

function cutAtStop(text: string, stops: readonly string[]): [string, boolean] {
  const places = stops.map((stop) => text.indexOf(stop)).filter((at) => at !== -1)
  return places.length === 0 ? [text, false] : [text.slice(0, Math.min(...places)), true]
}

const DEPTH_MAX = 4

/** Arguments that fit the tool's schema, as far as a schema says it plainly. */
function exampleOf(schema: Record<string, unknown>, depth: number): unknown {
  const options = schema.enum
  if (Array.isArray(options) && options.length > 0) return options[0]
  switch (schema.type) {
    case 'string':
      return 'demo'
    case 'number':
    case 'integer':
      return 1
    case 'boolean':
      return true
    case 'array':
      return []
    default:
      return depth < DEPTH_MAX ? exampleObject(schema, depth) : {}
  }
}

function exampleObject(schema: Record<string, unknown>, depth: number): Record<string, unknown> {
  const { properties } = schema
  if (typeof properties !== 'object' || properties === null) return {}
  return Object.fromEntries(
    Object.entries(properties).map(([name, inner]) => [
      name,
      exampleOf((inner ?? {}) as Record<string, unknown>, depth + 1),
    ]),
  )
}

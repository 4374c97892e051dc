import { isObject } from '../../lib/types.ts'

/** What the demo understands of a Chat request. It was checked at the door; what is missing or odd simply counts as absent. */
export interface DemoRequest {
  readonly model: string
  readonly promptTokens: number
  readonly heard: ParsedDemoRequest
  readonly stream: boolean
  readonly effort: string | undefined
  readonly outputCap: number
  readonly choices: number
  readonly stop: readonly string[]
  readonly tool: DemoTool | undefined
  /** Where the answer has to be JSON, what it has to be like; any object will do where nothing is said of it. */
  readonly schema: Record<string, unknown> | undefined
}

/** What the demo answers to: the last thing that the user or a tool said, as far as the demo listens. */
export interface ParsedDemoRequest {
  readonly from: 'user' | 'tool'
  readonly start: string
  readonly end: string
}

export interface DemoTool {
  readonly name: string
  readonly parameters: Record<string, unknown>
}

interface DemoMessage {
  readonly role: string
  readonly text: string
}

type Fields = Record<string, unknown>

const BYTES_PER_TOKEN = 4
/** The demo runs in the server's own thread: however long a message is, it looks at this much of either end. */
const HEARD_MAX = 2048

const listOf = (value: unknown): Fields[] => (Array.isArray(value) ? value.filter(isObject) : [])

export function readDemoRequest(body: Buffer): DemoRequest {
  const fields = JSON.parse(body.toString('utf8')) as Fields
  const messages = listOf(fields.messages).map((message) => ({
    role: String(message.role),
    text: textOf(message.content),
  }))
  const heard = heardIn(messages)
  return {
    model: String(fields.model),
    promptTokens: tokensOf(messages),
    heard,
    stream: fields.stream === true,
    effort: typeof fields.reasoning_effort === 'string' ? fields.reasoning_effort : undefined,
    outputCap: Number(fields.max_completion_tokens),
    choices: typeof fields.n === 'number' ? fields.n : 1,
    stop: [fields.stop].flat().filter((word): word is string => typeof word === 'string' && word !== ''),
    tool: toolToCall(fields, messages.at(-1), heard),
    schema: schemaOf(fields.response_format),
  }
}

function schemaOf(format: unknown): Fields | undefined {
  if (!isObject(format) || (format.type !== 'json_schema' && format.type !== 'json_object')) return undefined
  return isObject(format.json_schema) && isObject(format.json_schema.schema) ? format.json_schema.schema : {}
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  return listOf(content)
    .map((part) => (typeof part.text === 'string' ? part.text : ''))
    .join('')
}

const tokensOf = (messages: readonly DemoMessage[]): number =>
  Math.ceil(
    messages.reduce((bytes, { text }) => bytes + Buffer.byteLength(text) + BYTES_PER_TOKEN, 0) / BYTES_PER_TOKEN,
  )

/** The last message of the user or a tool. Instructions after it are not part of the conversation. */
function heardIn(messages: readonly DemoMessage[]): ParsedDemoRequest {
  const last = messages.findLast(({ role }) => role === 'user' || role === 'tool')
  const text = last?.text ?? ''
  return { from: last?.role === 'tool' ? 'tool' : 'user', start: text.slice(0, HEARD_MAX), end: text.slice(-HEARD_MAX) }
}

/**
 * Which tool the demo calls: the one that the client forces, else, when the user spoke last, the one whose name has most
 * words in common with the message. After a tool's result it answers in words, so that a tool loop ends.
 */
function toolToCall(fields: Fields, last: DemoMessage | undefined, heard: ParsedDemoRequest): DemoTool | undefined {
  const choice = fields.tool_choice
  if (choice === 'none' || heard.from === 'tool') return undefined
  const tools = listOf(fields.tools)
    .map((tool) => tool.function)
    .filter(isObject)
  if (isObject(choice) && isObject(choice.function)) {
    const forced = choice.function.name
    return toolOf(tools.find((tool) => tool.name === forced))
  }
  const mustCall = choice === 'required' || fields.model === 'demo-tools'
  const named = mustCall || last?.role === 'user' ? namedTool(tools, heard.end) : undefined
  return toolOf(named ?? (mustCall ? tools[0] : undefined))
}

const toolOf = (definition: Fields | undefined): DemoTool | undefined =>
  definition && {
    name: String(definition.name),
    parameters: isObject(definition.parameters) ? definition.parameters : {},
  }

/** The tool whose name shares most words with the text, the first one in a tie. */
function namedTool(tools: readonly Fields[], text: string): Fields | undefined {
  const said = new Set(text.toLowerCase().match(/[\w-]+/g))
  const words = new Set([...said].flatMap(wordsOfName))
  let best: { readonly tool: Fields; readonly score: number } | undefined
  for (const tool of tools) {
    const name = String(tool.name)
    const score = said.has(name.toLowerCase())
      ? Number.POSITIVE_INFINITY
      : wordsOfName(name).filter((word) => words.has(word)).length
    if (score > (best?.score ?? 0)) best = { tool, score }
  }
  return best?.tool
}

/** Common words in tool names that do not say what the tool is for. */
const STOP_WORDS: ReadonlySet<string> = new Set([
  ...['get', 'set', 'use', 'call', 'tool', 'tools', 'function', 'the', 'and', 'for', 'with', 'from', 'has', 'are'],
  ...['all', 'new', 'out', 'can', 'you', 'this', 'that', 'what', 'how', 'not', 'mcp', 'fetch', 'make', 'give'],
])

/** The words of `getWeather`, `get_weather` or `get-weather`, in the singular. */
const wordsOfName = (name: string): string[] =>
  name
    .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}]+/u)
    .filter((word) => word.length > 2 && !STOP_WORDS.has(word))
    .map((word) => (word.length > 3 && word.endsWith('s') ? word.slice(0, -1) : word))

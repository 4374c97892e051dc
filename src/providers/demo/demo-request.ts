import { isObject } from '../../lib/types.ts'

/** What the demo uses of a Chat request. The request is valid; an odd field counts as absent. */
export interface DemoRequest {
  readonly model: string
  readonly promptTokens: number
  readonly question: DemoQuestion
  readonly stream: boolean
  readonly effort: string | undefined
  readonly outputCap: number
  readonly choices: number
  readonly stop: readonly string[]
  readonly tool: DemoTool | undefined
  /** Set for a JSON answer; empty for any object. */
  readonly schema: Record<string, unknown> | undefined
}

/** The beginning and the end of the last message of the user or a tool. */
export interface DemoQuestion {
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
/** The demo runs in the server's own thread, so it reads only this much of either end of a message. */
const QUESTION_MAX = 2048

const listOf = (value: unknown): Fields[] => (Array.isArray(value) ? value.filter(isObject) : [])

export function readDemoRequest(body: Buffer): DemoRequest {
  const fields = JSON.parse(body.toString('utf8')) as Fields
  const messages = listOf(fields.messages).map((message) => ({
    role: String(message.role),
    text: textOf(message.content),
  }))
  const question = questionIn(messages)
  return {
    model: String(fields.model),
    promptTokens: tokensOf(messages),
    question,
    stream: fields.stream === true,
    effort: typeof fields.reasoning_effort === 'string' ? fields.reasoning_effort : undefined,
    outputCap: Number(fields.max_completion_tokens),
    choices: typeof fields.n === 'number' ? fields.n : 1,
    stop: [fields.stop].flat().filter((word): word is string => typeof word === 'string' && word !== ''),
    tool: toolToCall(fields, messages.at(-1), question),
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
function questionIn(messages: readonly DemoMessage[]): DemoQuestion {
  const last = messages.findLast(({ role }) => role === 'user' || role === 'tool')
  const text = last?.text ?? ''
  return {
    from: last?.role === 'tool' ? 'tool' : 'user',
    start: text.slice(0, QUESTION_MAX),
    end: text.slice(-QUESTION_MAX),
  }
}

/**
 * The tool that the demo calls: the one that the client forces, else, after a message of the user, the one whose name shares most
 * words with it. After a tool result it answers with text, so that a tool loop ends.
 */
function toolToCall(fields: Fields, last: DemoMessage | undefined, question: DemoQuestion): DemoTool | undefined {
  const choice = fields.tool_choice
  if (choice === 'none' || question.from === 'tool') return undefined
  const tools = listOf(fields.tools)
    .map((tool) => tool.function)
    .filter(isObject)
  if (isObject(choice) && isObject(choice.function)) {
    const forced = choice.function.name
    return toolOf(tools.find((tool) => tool.name === forced))
  }
  const mustCall = choice === 'required' || fields.model === 'demo-tools'
  const named = mustCall || last?.role === 'user' ? namedTool(tools, question.end) : undefined
  return toolOf(named ?? (mustCall ? tools[0] : undefined))
}

const toolOf = (definition: Fields | undefined): DemoTool | undefined =>
  definition && {
    name: String(definition.name),
    parameters: isObject(definition.parameters) ? definition.parameters : {},
  }

/** The tool whose name shares most words with the text, the first one in a tie. */
function namedTool(tools: readonly Fields[], text: string): Fields | undefined {
  const spelled = new Set(text.toLowerCase().match(/[\w-]+/g))
  const words = new Set([...spelled].flatMap(wordsOfName))
  let best: { readonly tool: Fields; readonly score: number } | undefined
  for (const tool of tools) {
    const name = String(tool.name)
    const score = spelled.has(name.toLowerCase())
      ? Number.POSITIVE_INFINITY
      : wordsOfName(name).filter((word) => words.has(word)).length
    if (score > (best?.score ?? 0)) best = { tool, score }
  }
  return best?.tool
}

/** Common words in tool names that do not tell the tools apart. */
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

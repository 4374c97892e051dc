import { createHash } from 'node:crypto'
import { type Fields, isObject } from '../../lib/types.ts'
import type {
  CallItem,
  Conversation,
  ConversationItem,
  ResultItem,
  SchemaFormat,
  ToolDefinition,
  ToolName,
} from '../../model/conversation.ts'
import { type Problem, problem } from '../../model/problem.ts'
import type { RequestBody } from '../../model/turn.ts'
import { arrayElements, memberBytes, tryParse } from '../json/bytes.ts'
import { markNumbers } from '../json/exact-numbers.ts'
import { scanJson } from '../json/scan-json.ts'
import { joinTexts } from '../shared/texts.ts'

/**
 * The names of a request's tools on a lane that lacks namespaces or custom tools: namespaces become part of the name, a custom
 * tool may go as a function. The names are unique in the request, and the same request gives the same ones.
 */
export interface ToolNames {
  /** A tool of past calls that is no longer declared gets a name too. */
  upstreamName(tool: ToolName): string
  /** Undefined for a name that the model invented. The namespace is the lane's own, if it has any. */
  clientName(upstreamName: string, namespace?: string): ToolName | undefined
}

interface ToolStyle {
  readonly custom: 'native' | 'as-function'
  readonly namespace: 'native' | 'flat'
  /** A name must begin with a letter. */
  readonly begins?: 'letter'
}

/** The longest name that every provider takes. */
const LENGTH_MAX = 64
const FOREIGN = /[^A-Za-z0-9_-]/g
const NO_LETTER = /^[^A-Za-z_]/
const SEPARATOR = '__'
const HASH_LENGTH = 8

export function createToolNames(tools: readonly ToolDefinition[], style: ToolStyle): ToolNames {
  const upstreamNames = new Map<string, string>()
  const clientNames = new Map<string, ToolName>()

  const scopeOf = (tool: ToolName) => (style.namespace === 'native' ? tool.namespace : undefined)
  const take = (tool: ToolName, name: string): string => {
    upstreamNames.set(keyOfTool(tool), name)
    clientNames.set(scoped(name, scopeOf(tool)), tool)
    return name
  }
  const upstreamName = (tool: ToolName): string => {
    const known = upstreamNames.get(keyOfTool(tool))
    if (known !== undefined) return known
    const isTaken = (name: string) => clientNames.has(scoped(name, scopeOf(tool)))
    return take(tool, freeName(tool, spelled(tool, style), isTaken))
  }

  const named = tools.map(toolNameOf)
  // A valid name stays as it is, even where an earlier tool would be renamed to the same.
  for (const tool of named) if (spelled(tool, style) === tool.name) upstreamName(tool)
  for (const tool of named) upstreamName(tool)
  return { upstreamName, clientName: (name, namespace) => clientNames.get(scoped(name, namespace)) }
}

export const toolNameOf = ({ type, name, namespace }: ToolDefinition): ToolName => ({ tool: type, name, namespace })

const keyOfTool = ({ tool, name, namespace }: ToolName): string => JSON.stringify([tool, namespace ?? null, name])
const scoped = (name: string, namespace: string | undefined): string => JSON.stringify([namespace ?? null, name])

function spelled({ name, namespace }: ToolName, style: ToolStyle): string {
  const full = namespace === undefined || style.namespace === 'native' ? name : `${namespace}${SEPARATOR}${name}`
  const plain = full.replace(FOREIGN, '_')
  return style.begins === 'letter' && NO_LETTER.test(plain) ? `_${plain}` : plain
}

function freeName(tool: ToolName, name: string, isTaken: (name: string) => boolean): string {
  if (name !== '' && name.length <= LENGTH_MAX && !isTaken(name)) return name
  const start = (name === '' ? 'tool' : name).slice(0, LENGTH_MAX - HASH_LENGTH - 1)
  for (let attempt = 0; ; attempt++) {
    const hash = createHash('sha256')
      .update(`${attempt}${keyOfTool(tool)}`)
      .digest('hex')
      .slice(0, HASH_LENGTH)
    const candidate = `${start}_${hash}`
    if (!isTaken(candidate)) return candidate
  }
}

/** The tools that may be called, for a server without a list of allowed tools; all where the client names none. */
export function allowedTools({ tools, toolChoice }: Conversation): readonly ToolDefinition[] {
  if (toolChoice?.type !== 'allowed') return tools
  const allowed = new Set(toolChoice.tools.map(keyOfTool))
  return tools.filter((tool) => allowed.has(keyOfTool(toolNameOf(tool))))
}

/** Faults of an answer. The error message quotes them. */
export const BROKEN_ARGUMENTS = 'the arguments of a tool call are not JSON'
export const TOO_MANY_CALLS = 'too many calls'
export const NAMELESS_CALL = 'a tool call without a name'
export const NO_CALLS = 'it ended with tool calls but contains none'
export const CONTENT_AFTER_END = 'content after the end of the answer'

export interface PairedResults {
  readonly byCall: ReadonlyMap<CallItem, ResultItem>
  /** Results without a call. */
  readonly orphans: ReadonlySet<ResultItem>
}

/**
 * Finds each call's result, wherever it stands. The last of several counts: clients send a result again when they retry.
 * Some providers give the same id to calls of different turns; a result then belongs to the last of them before it.
 */
export function pairResults(items: readonly ConversationItem[]): PairedResults {
  const byCall = new Map<CallItem, ResultItem>()
  const lastCall = new Map<string, CallItem>()
  const early = new Map<string, ResultItem>()
  for (const item of items) {
    if (item.type === 'tool-call') {
      lastCall.set(item.callId, item)
      const result = early.get(item.callId)
      if (result) byCall.set(item, result)
      early.delete(item.callId)
    } else if (item.type === 'tool-result') {
      const call = lastCall.get(item.callId)
      if (call) byCall.set(call, item)
      else early.set(item.callId, item)
    }
  }
  return { byCall, orphans: new Set(early.values()) }
}

/** The ids of a request's calls as its server takes them. The same request gives the same ids, and so does a longer one. */
export interface CallIds {
  /** The id of the next call. Ids are unique here, though some providers give the same id to calls of different turns. */
  take(callId: string): string
}

const CALL_ID_LENGTH_MAX = 64
const CALL_ID_HASH_LENGTH = 12

/** Characters that match `foreign` are replaced. */
export function mapCallIds(foreign?: RegExp): CallIds {
  const taken = new Set<string>()
  /** How often an id occurred, so that ten thousand equal ids do not try ten thousand names each. */
  const counts = new Map<string, number>()
  return {
    take(callId) {
      let again = counts.get(callId) ?? 1
      let id = isUsable(callId) ? (foreign === undefined ? callId : callId.replace(foreign, '_')) : hashedId(callId)
      while (taken.has(id)) id = hashedId(`${++again} ${callId}`)
      counts.set(callId, again)
      taken.add(id)
      return id
    },
  }
}

const isUsable = (callId: string): boolean => callId !== '' && callId.length <= CALL_ID_LENGTH_MAX

const hashedId = (text: string): string =>
  `call_${createHash('sha256').update(text).digest('hex').slice(0, CALL_ID_HASH_LENGTH)}`

/**
 * Reads the arguments of past calls, their numbers marked, for a server that takes only an object. Anything else goes as `_raw`,
 * because refusing it would end the conversation; the input of a custom tool is put where `protocols/tools/custom-tools.ts` has it.
 * The values of all calls of a request are bounded together, because they were one string each when the request was.
 */
export function createArgumentsReader(): (call: Pick<CallItem, 'tool' | 'text'>) => Fields {
  let bytesLeft = VALUE_BYTES_MAX
  const parse = (json: Buffer): unknown => {
    const scanned = scanJson(json, { depthMax: DEPTH_MAX, valuesMax: Math.ceil(bytesLeft / VALUE_BYTES_MIN) })
    if (scanned.kind !== 'scanned' || scanned.valueBytes > bytesLeft) return undefined
    bytesLeft -= scanned.valueBytes
    return tryParse(markNumbers(json).toString('utf8'))
  }
  return ({ tool, text }) => {
    if (tool === 'custom') return { input: text }
    if (text.trim() === '') return {}
    const value = parse(Buffer.from(text))
    return isObject(value) ? value : { _raw: text }
  }
}

/** Deeper than any real arguments, and shallow enough for a recursive writer. */
const DEPTH_MAX = 500
/** Of parsed values: those of an agent's longest conversations come to a tenth. */
const VALUE_BYTES_MAX = 16 * 1024 * 1024
/** A scalar: no value takes less. */
const VALUE_BYTES_MIN = 16

/** The tool whose input is the answer, on a lane that enforces a schema only on the input of a tool. */
export const answerToolFor = (
  { name, description }: Pick<SchemaFormat, 'name' | 'description'>,
  names: ToolNames,
): { readonly name: string; readonly description: string } => ({
  // The name is the client's; the namespace keeps it apart from the client's own tools.
  name: names.upstreamName({ name, namespace: 'answer', tool: 'function' }),
  description: joinTexts(['Takes the whole answer: call it once, and say nothing besides.', description]),
})

// Tools are the client's own to run. Coding agents declare tools that only a provider could run, whether they use them or not:
// these are left out and named. Forcing one is refused.

/** The fields that only make sense beside tools: servers refuse them without any. */
export const WITHOUT_TOOLS: ReadonlyMap<string, null> = new Map([
  ['tools', null],
  ['tool_choice', null],
  ['parallel_tool_calls', null],
])

/** A tool keeps its own bytes, is left out, or is rewritten. */
export type ToolFate = 'kept' | 'left-out' | Buffer

/** The value of `tools` with the client's own tools only. */
export function rewriteTools(body: RequestBody, fates: readonly ToolFate[]): Buffer {
  const tools = memberBytes(body, 'tools')
  if (!tools) throw new Error('A field that was parsed is not among the members')
  const written = arrayElements(tools).flatMap((element, index) => {
    const fate = fates[index]!
    return fate === 'left-out' ? [] : [String(fate === 'kept' ? element : fate)]
  })
  return Buffer.from(`[${written.join(',')}]`)
}

/** `tool_choice` requires a tool that was left out. */
export function hostedChoice(choice: unknown): Problem {
  const named = isObject(choice) ? choice.type : choice
  const message = `\`tool_choice\` asks for ${JSON.stringify(String(named).slice(0, 40))}, and tools that a provider runs are not provided. Define a function and run it yourself, or leave tool_choice out.`
  return problem('unsupported_tool', message, { param: 'tool_choice' })
}

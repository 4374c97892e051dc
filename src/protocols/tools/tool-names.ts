import { createHash } from 'node:crypto'
import { type Fields, isObject } from '../../lib/types.ts'
import type {
  CallItem,
  Conversation,
  ConversationItem,
  ResultItem,
  ToolDefinition,
  ToolName,
} from '../../model/conversation.ts'
import { tryParse } from '../json/bytes.ts'
import { markNumbers } from '../json/exact-numbers.ts'
import { scanJson } from '../json/scan-json.ts'

/**
 * What a request's tools are called on a lane that does not know everything a client can say: namespaces become part of the
 * name, a custom tool may go as a function. The names are unique in the request, and the same request gives the same ones.
 */
export interface ToolNames {
  /** A tool that was only called in the past, and is declared no more, gets a name too. */
  upstreamName(tool: ToolName): string
  /** Undefined for a name that the model has invented. The namespace is the one that the lane itself gave, if it knows any. */
  clientName(upstreamName: string, namespace?: string): ToolName | undefined
}

/** What the lane takes as it is. */
interface ToolStyle {
  readonly custom: 'native' | 'as-function'
  readonly namespace: 'native' | 'flat'
  /** What a name may begin with; left out: with anything that may be in it. */
  readonly begins?: 'letter'
}

/** What every provider takes for a name. */
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
  // A name that is fine stays as it is, whatever comes before it that would have to be changed into the same.
  for (const tool of named) if (spelled(tool, style) === tool.name) upstreamName(tool)
  for (const tool of named) upstreamName(tool)
  return { upstreamName, clientName: (name, namespace) => clientNames.get(scoped(name, namespace)) }
}

export const toolNameOf = ({ type, name, namespace }: ToolDefinition): ToolName => ({ tool: type, name, namespace })

/** One word for a tool: two that share it are one. */
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

/** The tools that may be called, for a server that cannot be told so in other words: all where none are named. */
export function allowedTools({ tools, toolChoice }: Conversation): readonly ToolDefinition[] {
  if (toolChoice?.type !== 'allowed') return tools
  const allowed = new Set(toolChoice.tools.map(keyOfTool))
  return tools.filter((tool) => allowed.has(keyOfTool(toolNameOf(tool))))
}

/** What may be wrong with an answer, and above all with its tool calls. The error message quotes it. */
export const BROKEN_ARGUMENTS = 'the arguments of a tool call are not JSON'
export const NAMELESS_CALL = 'a tool call without a name'
export const NO_CALLS = 'it ended with tool calls but contains none'
export const CONTENT_AFTER_END = 'content after the end of the answer'

export interface PairedResults {
  /** Which result belongs to which call. */
  readonly byCall: ReadonlyMap<CallItem, ResultItem>
  /** Results that no call asked for. */
  readonly orphans: ReadonlySet<ResultItem>
}

/**
 * Finds each call's result, wherever it stands. Of several the last one counts: clients send a result again when they retry.
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

/** The ids of a request's calls as its server takes them. The same request gives the same ones, and so does a longer one. */
export interface CallIds {
  /** Of one more call: no two have the same, though some providers give the same to calls of different turns. */
  take(callId: string): string
}

const CALL_ID_LENGTH_MAX = 64
const CALL_ID_HASH_LENGTH = 12

/** Characters that match `foreign` are none of the server's. */
export function mapCallIds(foreign?: RegExp): CallIds {
  const taken = new Set<string>()
  /** How often an id was met: whoever sends the same one ten thousand times shall not have us try ten thousand names each time. */
  const met = new Map<string, number>()
  return {
    take(callId) {
      let again = met.get(callId) ?? 1
      let id = isUsable(callId) ? (foreign === undefined ? callId : callId.replace(foreign, '_')) : hashedId(callId)
      while (taken.has(id)) id = hashedId(`${++again} ${callId}`)
      met.set(callId, again)
      taken.add(id)
      return id
    },
  }
}

const isUsable = (callId: string): boolean => callId !== '' && callId.length <= CALL_ID_LENGTH_MAX

const hashedId = (text: string): string =>
  `call_${createHash('sha256').update(text).digest('hex').slice(0, CALL_ID_HASH_LENGTH)}`

/**
 * The arguments of a past call, their numbers marked, for a server that takes only an object. Anything else goes as `_raw`,
 * because refusing it would end the conversation; the input of a custom tool is put where `protocols/tools/custom-tools.ts` has it.
 */
export function argumentsObject({ tool, text }: Pick<CallItem, 'tool' | 'text'>): Fields {
  if (tool === 'custom') return { input: text }
  if (text.trim() === '') return {}
  const json = Buffer.from(text)
  const value = canBeWritten(json) ? tryParse(markNumbers(json).toString('utf8')) : undefined
  return isObject(value) ? value : { _raw: text }
}

/** As deep as nobody writes by hand, and as what is written again by a function that calls itself still can be. */
const BOUNDS = { depthMax: 500, valuesMax: 10_000_000 }

const canBeWritten = (json: Buffer): boolean => scanJson(json, BOUNDS).kind === 'scanned'

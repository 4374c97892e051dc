import { createHash } from 'node:crypto'
import type { Conversation, ToolDefinition, ToolName } from '../../model/conversation.ts'

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
export const WORDS_BEHIND_END = 'content after the end of the answer'

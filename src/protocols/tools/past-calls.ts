import { createHash } from 'node:crypto'
import { type Fields, isObject } from '../../lib/types.ts'
import type { CallItem, ConversationItem, ResultItem } from '../../model/conversation.ts'
import { markNumbers } from '../json/exact-numbers.ts'
import { scanJson } from '../json/scan-json.ts'
import { tryParse } from '../json/strings.ts'

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

const LENGTH_MAX = 64
const HASH_LENGTH = 12

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

const isUsable = (callId: string): boolean => callId !== '' && callId.length <= LENGTH_MAX

const hashedId = (text: string): string =>
  `call_${createHash('sha256').update(text).digest('hex').slice(0, HASH_LENGTH)}`

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

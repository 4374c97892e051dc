import { createHash } from 'node:crypto'
import type { Lane, Model } from '../../catalog/catalog.ts'
import { isObject } from '../../lib/is-object.ts'
import type { Caller } from '../../model/caller.ts'
import { memberBytes, type TurnRequest } from '../../model/turn.ts'
import { elementsWithin } from '../../wire/json/array-elements.ts'
import { tryParse } from '../../wire/json/try-parse.ts'

/** In front of what a user says first stand instructions, of which no client sends more than a few. */
const ITEMS_MAX = 12
/** Whoever begins with more than this is known by the name that its client gives it, or not at all. */
const BYTES_MAX = 256 * 1024

/**
 * The names by which a conversation is known again when its next turn comes, the surest first: what its client calls it,
 * then how it begins, with and without the first thing that was answered. Two conversations that begin with the same words
 * are told apart by what was answered, from their third turn on. Nobody meets another account's conversations. An operator
 * who changes the lanes of a model means it: then all are drawn anew.
 */
export function conversationNames(caller: Caller, { inputField, body }: TurnRequest, model: Model): string[] {
  const cacheKey = memberBytes(body, 'prompt_cache_key')
  const { opening, answered } = beginningOf(memberBytes(body, inputField))
  const owner = `${caller.account} ${model.id} ${model.lanes.map(placeOf).join()}`
  return [
    ...(isText(cacheKey) ? [nameOf(owner, 'key', cacheKey)] : []),
    ...(opening === undefined || answered === undefined ? [] : [nameOf(owner, 'answered', opening, answered)]),
    ...(opening === undefined ? [] : [nameOf(owner, 'opening', opening)]),
  ]
}

const placeOf = ({ origin, priority, weight }: Lane): string => `${origin}:${priority}:${weight}`

interface Beginning {
  /** What the user says first; what stands before it may be renewed with each turn, as a date is. */
  readonly opening?: string | undefined
  readonly answered?: Buffer | undefined
}

function beginningOf(list: Buffer | undefined): Beginning {
  if (list === undefined) return {}
  // The next turn has it as an item, which says the same.
  if (isText(list)) return { opening: String(tryParse(list.toString())) }
  let opening: string | undefined
  let before = 0
  for (const item of elementsWithin(list, BYTES_MAX)) {
    if (opening !== undefined) return { opening, answered: item }
    opening = wordsOfUser(tryParse(item.toString()))
    if (opening === undefined && ++before === ITEMS_MAX) break
  }
  return { opening }
}

/** A text, or the texts of parts; what shows something else is as good a beginning as its texts are. */
function wordsOfUser(item: unknown): string | undefined {
  if (!isObject(item) || item.role !== 'user') return undefined
  const parts = Array.isArray(item.content) ? item.content : [{ text: item.content }]
  return parts.flatMap((part) => (isObject(part) && typeof part.text === 'string' ? [part.text] : [])).join('\n')
}

const QUOTE = 0x22
const isText = (value: Buffer | undefined): value is Buffer => value?.[0] === QUOTE

const NAME_LENGTH = 22

function nameOf(owner: string, kind: string, ...parts: readonly (string | Buffer)[]): string {
  const hash = createHash('sha256').update(`${owner} ${kind}`)
  for (const part of parts) hash.update('\n').update(part)
  return hash.digest('base64url').slice(0, NAME_LENGTH)
}

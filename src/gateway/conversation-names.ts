import { createHash } from 'node:crypto'
import type { Lane, Model } from '../catalog/catalog.ts'
import { isObject } from '../lib/types.ts'
import type { Caller } from '../model/caller.ts'
import { memberBytes, type TurnRequest } from '../model/turn.ts'
import { CACHED_BYTES_MIN } from '../pricing/seen-prefixes.ts'
import { elementsWithin } from '../protocols/json/elements.ts'
import { tryParse } from '../protocols/json/strings.ts'
import type { ConversationNames } from '../routing/plan-lanes.ts'

/** Of what stands before the first answer: instructions and words of the user, of which no client sends more than a few. */
const ITEMS_MAX = 12
/** Of whoever begins with more than this only what ends before it is looked at. */
const BYTES_MAX = 256 * 1024

/**
 * The names by which a conversation is known again when its next turn comes, the surest first: what its client calls it,
 * then how it begins, with and without the first thing that was answered. Two conversations that begin with the same words
 * are told apart by what was answered, from their third turn on. Nobody meets another account's conversations. An operator
 * who changes the lanes of a model means it: then all are drawn anew.
 */
export function conversationNames(caller: Caller, { inputField, body }: TurnRequest, model: Model): ConversationNames {
  const cacheKey = memberBytes(body, 'prompt_cache_key')
  const list = memberBytes(body, inputField)
  const { opening, answered } = beginningOf(list)
  const owner = `${caller.account} ${model.id} ${model.lanes.map(placeOf).join()}`
  const sure = isText(cacheKey) ? [nameOf(owner, 'key', cacheKey)] : []
  if (opening === undefined) return { findBy: sure, rememberAs: sure }
  if (answered !== undefined) sure.push(nameOf(owner, 'answered', opening, answered))
  const rememberAs = [...sure, nameOf(owner, 'opening', opening)]
  // Nobody has a greeting in its cache: who found a lane by it would send everybody there who greets alike.
  const isLong = Buffer.byteLength(opening) >= CACHED_BYTES_MIN || (list?.length ?? 0) > BYTES_MAX
  const isWorthFinding = answered !== undefined || isLong
  return { findBy: isWorthFinding ? rememberAs : sure, rememberAs }
}

const placeOf = ({ origin, priority, weight }: Lane): string => `${origin}:${priority}:${weight}`

interface Beginning {
  /** What the user says before anything is answered; instructions may be renewed with each turn, as a date is. */
  readonly opening?: string | undefined
  readonly answered?: Buffer | undefined
}

function beginningOf(list: Buffer | undefined): Beginning {
  if (list === undefined) return {}
  // The next turn has it as an item, which says the same.
  if (isText(list)) return { opening: String(tryParse(list.toString())) }
  const said: string[] = []
  let before = 0
  for (const bytes of elementsWithin(list, BYTES_MAX)) {
    const item = tryParse(bytes.toString())
    const isLast = ++before > ITEMS_MAX
    if (said.length > 0 && (isLast || isAnswer(item))) return { opening: said.join('\n'), answered: bytes }
    if (isLast) return {}
    const words = wordsOfUser(item)
    if (words !== undefined) said.push(words)
  }
  return said.length === 0 ? {} : { opening: said.join('\n') }
}

const ASKING_ROLES: readonly unknown[] = ['system', 'developer', 'user']
const isAnswer = (item: unknown): boolean => !isObject(item) || !ASKING_ROLES.includes(item.role)

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

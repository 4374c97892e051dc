import { createHash } from 'node:crypto'
import type { Lane, Model } from '../catalog/catalog.ts'
import { createLruMap } from '../lib/collections.ts'
import { isObject } from '../lib/types.ts'
import type { Caller } from '../model/caller.ts'
import type { TurnRequest } from '../model/turn.ts'
import { CACHED_BYTES_MIN } from '../pricing/seen-prefixes.ts'
import { elementsWithin, memberBytes, tryParse } from '../protocols/json/bytes.ts'

/** The share that a lane gets of the calls that its weight would give it. */
type ShareOf = (lane: Lane) => number

export interface LaneOrder {
  readonly random: () => number
  readonly shareOf: ShareOf
  /** The origin of the lane that the conversation is on. */
  readonly origin: string | undefined
}

/**
 * The order in which lanes are called: the lane that the conversation is on, then lower priority numbers first, and among equals
 * a draw by weight.
 */
export function planLanes(lanes: readonly Lane[], { random, shareOf, origin }: LaneOrder): readonly Lane[] {
  if (lanes.length === 1) return lanes
  const isFirst = (lane: Lane): number => (lane.origin === origin ? 0 : 1)
  // Exponential keys: sorting by them is drawing without replacement in proportion to the weights.
  const drawn = lanes.map((lane) => ({ lane, key: -Math.log(1 - random()) / (lane.weight * shareOf(lane)) }))
  drawn.sort((a, b) => isFirst(a.lane) - isFirst(b.lane) || a.lane.priority - b.lane.priority || a.key - b.key)
  return drawn.map(({ lane }) => lane)
}

/** The probability of each lane to come first for a new conversation. */
export function firstShares(lanes: readonly Lane[], shareOf: ShareOf): ReadonlyMap<Lane, number> {
  const priority = Math.min(...lanes.map((lane) => lane.priority))
  const first = lanes.filter((lane) => lane.priority === priority)
  const whole = first.reduce((sum, lane) => sum + lane.weight * shareOf(lane), 0)
  return new Map(first.map((lane) => [lane, (lane.weight * shareOf(lane)) / whole]))
}

/**
 * Sticky lanes: a conversation stays on the lane whose provider has its beginning in a cache and can read what it has signed,
 * until it was silent for some time, even when a lane with a higher priority recovers.
 */
export interface StickyLanes {
  /** The origin of the lane, by the first key that is known. */
  find(keys: ConversationKeys): string | undefined
  /** If another turn has moved the conversation meanwhile, it stays there: two turns would move it back and forth. */
  remember(keys: ConversationKeys, move: LaneMove): void
}

interface LaneMove {
  readonly origin: string
  /** The lane on which this turn found the conversation. */
  readonly previousOrigin: string | undefined
}

/** The keys of a conversation, the most certain one first. */
export interface ConversationKeys {
  readonly findBy: readonly string[]
  /** The keys under which the next turn may find it: those above, and perhaps a less certain one. */
  readonly rememberAs: readonly string[]
}

/** Longer than any provider keeps an unused prompt: most say five minutes, some an hour. */
const LIFE_MICROS = 3_700_000_000
/** About twenty megabytes. */
const KEYS_MAX = 100_000

interface Stay {
  readonly origin: string
  readonly at: number
}

export function createStickyLanes({ nowMicros }: { readonly nowMicros: () => number }): StickyLanes {
  const stays = createLruMap<string, Stay>(KEYS_MAX)
  const originAt = (key: string): string | undefined => {
    const stay = stays.get(key)
    return stay !== undefined && nowMicros() - stay.at < LIFE_MICROS ? stay.origin : undefined
  }
  return {
    find({ findBy }) {
      for (const key of findBy) {
        const origin = originAt(key)
        if (origin !== undefined) return origin
      }
      return undefined
    },
    remember({ findBy: [surest], rememberAs }, { origin, previousOrigin }) {
      const now = surest === undefined ? undefined : originAt(surest)
      if (now !== undefined && now !== origin && now !== previousOrigin) return
      for (const key of rememberAs) {
        const isKnown = originAt(key) === origin
        stays.set(key, { origin, at: nowMicros() })
        // By now a less certain key may belong to another conversation with the same beginning.
        if (isKnown) return
      }
    },
  }
}

/** Items before the first answer: instructions and messages of the user. No client sends more than a few. */
const ITEMS_MAX = 12
/** Of a longer beginning only the items that end before this are read. */
const BYTES_MAX = 256 * 1024

/**
 * The keys by which the next turn of a conversation is recognized: the client's own cache key, then its beginning with and
 * without the first answer. The answer tells apart conversations that begin with the same text, from their third turn on. Keys
 * contain the account, and the lanes of the model: when the operator changes them, conversations are placed again.
 */
export function conversationKeysOf(caller: Caller, { inputField, body }: TurnRequest, model: Model): ConversationKeys {
  const cacheKey = memberBytes(body, 'prompt_cache_key')
  const list = memberBytes(body, inputField)
  const { opening, answered } = beginningOf(list)
  const lanes = model.lanes.map(({ origin, priority, weight }) => `${origin}:${priority}:${weight}`)
  const owner = `${caller.account} ${model.id} ${lanes.join()}`
  const sure = isText(cacheKey) ? [keyOf(owner, 'key', cacheKey)] : []
  if (opening === undefined) return { findBy: sure, rememberAs: sure }
  if (answered !== undefined) sure.push(keyOf(owner, 'answered', opening, answered))
  const rememberAs = [...sure, keyOf(owner, 'opening', opening)]
  // A greeting is in no cache, and would send every conversation with the same greeting to one lane.
  const isLong = Buffer.byteLength(opening) >= CACHED_BYTES_MIN || (list?.length ?? 0) > BYTES_MAX
  return { findBy: answered !== undefined || isLong ? rememberAs : sure, rememberAs }
}

/**
 * The name of a conversation whose turns share a budget. It stays the same from its first turn on: by the client's own cache key, else by
 * its beginning. Conversations that begin with the same text share one, which costs less than to miss one.
 */
export function conversationName(owner: string, { inputField, body }: TurnRequest): string {
  const cacheKey = memberBytes(body, 'prompt_cache_key')
  if (isText(cacheKey)) return keyOf(owner, 'key', cacheKey)
  const list = memberBytes(body, inputField)
  const { opening } = beginningOf(list)
  if (opening !== undefined) return keyOf(owner, 'opening', opening)
  const [first] = list === undefined ? [] : elementsWithin(list, BYTES_MAX)
  return keyOf(owner, 'first', first ?? list?.subarray(0, BYTES_MAX) ?? '')
}

interface Beginning {
  /** What the user writes before the first answer; instructions may change with each turn, as a date does. */
  readonly opening?: string | undefined
  readonly answered?: Buffer | undefined
}

function beginningOf(list: Buffer | undefined): Beginning {
  if (list === undefined) return {}
  // The next turn sends the same text as an item.
  if (isText(list)) return { opening: String(tryParse(list.toString())) }
  const texts: string[] = []
  let count = 0
  for (const bytes of elementsWithin(list, BYTES_MAX)) {
    const item = tryParse(bytes.toString())
    const isLast = ++count > ITEMS_MAX
    const isAnswer = !isObject(item) || !INPUT_ROLES.includes(item.role)
    if (texts.length > 0 && (isLast || isAnswer)) return { opening: texts.join('\n'), answered: bytes }
    if (isLast) return {}
    if (isObject(item) && item.role === 'user') texts.push(textOf(item.content))
  }
  return texts.length === 0 ? {} : { opening: texts.join('\n') }
}

const INPUT_ROLES: readonly unknown[] = ['system', 'developer', 'user']

/** The text of a message, without its other parts. */
function textOf(content: unknown): string {
  const parts = Array.isArray(content) ? content : [{ text: content }]
  return parts.flatMap((part) => (isObject(part) && typeof part.text === 'string' ? [part.text] : [])).join('\n')
}

const QUOTE = 0x22
const isText = (value: Buffer | undefined): value is Buffer => value?.[0] === QUOTE

const KEY_LENGTH = 22

function keyOf(owner: string, kind: string, ...parts: readonly (string | Buffer)[]): string {
  const hash = createHash('sha256').update(`${owner} ${kind}`)
  for (const part of parts) hash.update('\n').update(part)
  return hash.digest('base64url').slice(0, KEY_LENGTH)
}

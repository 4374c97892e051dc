import { createHash } from 'node:crypto'
import type { Lane, Model } from '../catalog/catalog.ts'
import { createLruMap } from '../lib/lru-map.ts'
import { isObject } from '../lib/types.ts'
import type { Caller } from '../model/caller.ts'
import { type TurnRequest, memberBytes } from '../model/turn.ts'
import { CACHED_BYTES_MIN } from '../pricing/seen-prefixes.ts'
import { elementsWithin, tryParse } from '../protocols/json/bytes.ts'

/** Of the calls that its weight would give a lane. */
type ShareOf = (lane: Lane) => number

export interface LaneOrder {
  readonly random: () => number
  readonly shareOf: ShareOf
  /** Of the lane that the conversation is on. */
  readonly origin: string | undefined
}

/**
 * The order in which lanes are tried: the one that the conversation is on, then lower priority numbers first, and among
 * equals a draw by weight, so that the load spreads as the operator asked.
 */
export function planLanes(lanes: readonly Lane[], { random, shareOf, origin }: LaneOrder): readonly Lane[] {
  if (lanes.length === 1) return lanes
  const isFirst = (lane: Lane): number => (lane.origin === origin ? 0 : 1)
  const drawn = lanes.map((lane) => ({ lane, key: drawKey(weightOf(lane, shareOf), random()) }))
  drawn.sort((a, b) => isFirst(a.lane) - isFirst(b.lane) || a.lane.priority - b.lane.priority || a.key - b.key)
  return drawn.map(({ lane }) => lane)
}

/** The same draw in numbers: which of these lanes come first where no conversation is on one, and how often, of 1 in all. */
export function firstShares(lanes: readonly Lane[], shareOf: ShareOf): ReadonlyMap<Lane, number> {
  const priority = Math.min(...lanes.map((lane) => lane.priority))
  const first = lanes.filter((lane) => lane.priority === priority)
  const whole = first.reduce((sum, lane) => sum + weightOf(lane, shareOf), 0)
  return new Map(first.map((lane) => [lane, weightOf(lane, shareOf) / whole]))
}

const weightOf = (lane: Lane, shareOf: ShareOf): number => lane.weight * shareOf(lane)

/** Exponential keys: sorting by them is drawing without replacement in proportion to the weights. */
const drawKey = (weight: number, uniform: number): number => -Math.log(1 - uniform) / weight

/**
 * Which lane a conversation is on: the one whose provider has its beginning in a cache, and can read what it has signed.
 * It stays there until it was silent for so long, even where a lane that is tried before it has recovered meanwhile: going
 * back would cost the cache a second time.
 */
export interface StickyLanes {
  /** The origin of the lane, by the first of its names that is known. */
  find(names: ConversationNames): string | undefined
  /** Under its names, from now on. Where another turn has taken it meanwhile it stays: two would pull it back and forth. */
  remember(names: ConversationNames, move: LaneMove): void
}

interface LaneMove {
  readonly origin: string
  /** Where this turn has found it, and perhaps could not stay. */
  readonly cameFrom: string | undefined
}

/** What a conversation is known by, the surest name first. */
export interface ConversationNames {
  /** By these it is found. */
  readonly findBy: readonly string[]
  /** By these its next turn can be found: those above, and perhaps one that is not sure enough yet. */
  readonly rememberAs: readonly string[]
}

/** Longer than any provider keeps a prompt that nobody uses: most say five minutes, some an hour. */
const LIFE_MICROS = 3_700_000_000
/** Some twenty megabytes. */
const NAMES_MAX = 100_000

interface Stay {
  readonly origin: string
  readonly at: number
}

export function createStickyLanes({ nowMicros }: { readonly nowMicros: () => number }): StickyLanes {
  const stays = createLruMap<string, Stay>(NAMES_MAX)
  const originAt = (name: string): string | undefined => {
    const stay = stays.get(name)
    return stay !== undefined && nowMicros() - stay.at < LIFE_MICROS ? stay.origin : undefined
  }
  return {
    find({ findBy }) {
      for (const name of findBy) {
        const origin = originAt(name)
        if (origin !== undefined) return origin
      }
      return undefined
    },
    remember({ findBy: [surest], rememberAs }, { origin, cameFrom }) {
      const now = surest === undefined ? undefined : originAt(surest)
      if (now !== undefined && now !== origin && now !== cameFrom) return
      for (const name of rememberAs) {
        const isKnown = originAt(name) === origin
        stays.set(name, { origin, at: nowMicros() })
        // A less sure name may be another conversation's by now, which begins alike.
        if (isKnown) return
      }
    },
  }
}

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

import { createLruMap } from '../lib/collections.ts'
import { isObject } from '../lib/types.ts'
import type { PrefixBreak, PrefixBreaker } from '../model/prefix-break.ts'
import { tryParse } from '../protocols/json/bytes.ts'
import { type Fingerprint, firstDifference, type Prompt, type PromptPlace } from '../protocols/prompt-fingerprint.ts'
import type { ConversationKeys } from './plan-lanes.ts'

/**
 * Finds where the prompt of a turn does not begin as that of the turn before it: from there on its provider has nothing in its
 * cache, and may reject or forget what it has reasoned. Known per node, by checksums.
 */
export interface PrefixGuard {
  /** Called before each call of a lane; what it finds of the last one counts. */
  compare(turn: GuardedTurn, sent: SentTurn): void
  /** A provider has read the prompt. */
  remember(turn: GuardedTurn, cache: CacheCount): void
}

/** What the guard keeps with a turn. */
export interface GuardedTurn {
  readonly keys: ConversationKeys
  sent?: Conversation | undefined
  /** What the turn continues. */
  continued?: Conversation | undefined
  /** The conversation that it continues may also go on without this turn. */
  isBranch?: boolean
  broken?: PrefixBreak | undefined
}

interface SentTurn {
  /** The origin of the lane. */
  readonly origin: string
  /** The prompts of the client and for the lane; `known` are those that they may go on from. Undefined: there is none. */
  readAsked(known: readonly Fingerprint[]): Prompt | undefined
  readRendered(known: readonly Fingerprint[], asked: Prompt | undefined): Prompt | undefined
  /** The client sends a compaction in the place of what was compacted. */
  readonly isCompacted: boolean
  /** How many pieces of sealed reasoning the lane does not get. */
  readonly reasoningLeftOut: number
  /** The provider is told to leave thinking out that is bound to another prefix. */
  readonly dropsUnbound: boolean
}

/** As its provider has counted it. */
interface CacheCount {
  readonly cachedInput: number
  readonly cacheWrite: number
}

/** A conversation as of its last turn. */
interface Conversation {
  readonly origin: string
  /** Undefined once it is forgotten. */
  prompts: { readonly asked: Fingerprint; readonly rendered: Fingerprint } | undefined
  readonly isCompacted: boolean
  readonly opening: string | undefined
  at: number
  /** What was in the provider's cache after the turn, by its own count. */
  cachedTokens: number
}

/** The conversations that were found by one key; more than one where their beginning is the same. */
interface Known {
  readonly conversations: readonly Conversation[]
  /** Conversations with other beginnings have the same key: it does not tell that a beginning has changed. */
  readonly isShared: boolean
}

/** As long as a conversation stays on its lane. */
const LIFE_MICROS = 3_700_000_000
/** Agents run a few branches of one conversation at a time. */
const BRANCHES_MAX = 4
const KEYS_MAX = 20_000
/** Checksums of messages of all conversations together, of four bytes each: 8 MB. */
const SUMS_MAX = 2_000_000

export function createPrefixGuard({ nowMicros }: { readonly nowMicros: () => number }): PrefixGuard {
  const byKey = createLruMap<string, Known>(KEYS_MAX)
  /** The oldest first. */
  const kept = new Set<Conversation>()
  let sums = 0
  const isAlive = ({ prompts, at }: Conversation) => prompts !== undefined && nowMicros() - at < LIFE_MICROS
  const drop = (conversation: Conversation) => {
    if (!kept.delete(conversation)) return
    sums -= sumsOf(conversation)
    conversation.prompts = undefined
  }
  return {
    compare(turn, { origin, readAsked, readRendered, isCompacted, reasoningLeftOut, dropsUnbound }) {
      const { keys } = turn
      turn.sent = undefined
      turn.broken = undefined
      turn.continued = undefined
      turn.isBranch = false
      // Without an answer in it a conversation begins.
      const begins = !keys.isAnswered && !isCompacted
      const candidates = begins ? [] : candidatesOf(keys, (key) => byKey.get(key), isCompacted).filter(isAlive)
      const known = candidates.flatMap(({ prompts }) => prompts ?? [])
      const asked = readAsked(known.map((prompts) => prompts.asked))
      const rendered = readRendered(
        known.map((prompts) => prompts.rendered),
        asked,
      )
      if (asked === undefined || rendered === undefined) return
      turn.sent = {
        ...{ origin, prompts: { asked: asked.fingerprint, rendered: rendered.fingerprint }, isCompacted },
        ...{ opening: keys.opening, at: nowMicros(), cachedTokens: 0 },
      }
      const found = closest(candidates, { origin, asked, rendered })
      if (found === undefined) return
      const { conversation, place } = found
      if (place === undefined) {
        // A shorter one goes back, or is another branch.
        if (asked.fingerprint.messages.length >= lengthOf(conversation)) turn.continued = conversation
        return
      }
      turn.continued = conversation
      const wasCompacted = isCompacted && !(conversation.isCompacted && conversation.opening === keys.opening)
      const reasoning = reasoningLeftOut + (dropsUnbound ? thinkingBehind(rendered, place) : 0)
      turn.broken = {
        ...describe(conversation, { asked, rendered }, { place, wasCompacted }),
        ...(reasoning > 0 && { reasoning }),
      }
      turn.isBranch = turn.broken.by === 'client'
    },
    remember({ keys, sent, continued, isBranch }, { cachedInput, cacheWrite }) {
      if (sent === undefined) return
      if (continued !== undefined && !isBranch) drop(continued)
      sent.at = nowMicros()
      sent.cachedTokens = cachedInput + cacheWrite
      for (const key of new Set([...keys.findBy, ...keys.rememberAs])) {
        const { conversations, isShared } = byKey.get(key) ?? { conversations: [], isShared: false }
        const others = conversations.filter((each) => each !== sent && isAlive(each))
        const isOther = !keys.isAnswered && others.some(({ opening }) => opening !== sent.opening)
        byKey.set(key, {
          conversations: [sent, ...others].slice(0, BRANCHES_MAX),
          isShared: isShared || (isOther && !sent.isCompacted),
        })
      }
      kept.add(sent)
      sums += sumsOf(sent)
      for (const oldest of kept) {
        if (sums <= SUMS_MAX) break
        drop(oldest)
      }
    },
  }
}

/** A conversation weighs something even without messages. */
const sumsOf = ({ prompts }: Conversation): number =>
  64 + (prompts === undefined ? 0 : prompts.asked.messages.length + prompts.rendered.messages.length)

const lengthOf = ({ prompts }: Conversation): number => prompts?.asked.messages.length ?? 0

function candidatesOf(
  keys: ConversationKeys,
  find: (key: string) => Known | undefined,
  isCompacted: boolean,
): readonly Conversation[] {
  for (const key of keys.findBy) {
    const known = find(key)
    if (known === undefined) continue
    const { conversations, isShared } = known
    const candidates = conversations.filter(({ opening }) => opening === keys.opening || isCompacted || !isShared)
    if (candidates.length > 0) return candidates
  }
  return []
}

interface Prompts {
  readonly asked: Prompt
  readonly rendered: Prompt
}

interface Found {
  readonly conversation: Conversation
  readonly place: PromptPlace | 'lane' | undefined
}

/** The conversation that the turn most likely continues: one that its prompt only adds to, else one with a long common beginning. */
function closest(
  candidates: readonly Conversation[],
  { origin, asked, rendered }: Prompts & { readonly origin: string },
): Found | undefined {
  let best: (Found & { readonly likeness: number }) | undefined
  for (const conversation of candidates) {
    const { prompts } = conversation
    if (prompts === undefined) continue
    const isSameLane = conversation.origin === origin
    const difference = isSameLane ? firstDifference(prompts.rendered, rendered) : firstDifference(prompts.asked, asked)
    const likeness = likenessOf(difference, lengthOf(conversation), isSameLane)
    if (best === undefined || likeness > best.likeness)
      best = { conversation, place: isSameLane ? difference : 'lane', likeness }
  }
  return best
}

const UNBROKEN = 1_000_000

function likenessOf(difference: PromptPlace | undefined, messages: number, isSameLane: boolean): number {
  const lane = isSameLane ? 0.5 : 0
  if (difference === undefined) return UNBROKEN + messages + lane
  return (typeof difference === 'number' ? difference : -1) + lane
}

interface Difference {
  readonly place: PromptPlace | 'lane'
  readonly wasCompacted: boolean
}

/** Where the client has changed something, its own place is told; else that in what was written for the provider. */
function describe(
  { prompts: before }: Conversation,
  { asked, rendered }: Prompts,
  { place, wasCompacted }: Difference,
): Pick<PrefixBreak, 'at' | 'by'> {
  if (place === 'lane' || before === undefined) return { at: 'lane', by: 'lane_change' }
  const own = firstDifference(before.asked, asked)
  if (own !== undefined)
    return { at: spell(own, asked), by: wasCompacted ? 'compaction' : causeOf(own, before.asked, asked) }
  // The client has taken back the last messages, of which its provider has read some as one.
  const isShorter = asked.fingerprint.messages.length < before.asked.messages.length
  return { at: spell(place, rendered), by: isShorter ? 'client' : 'gateway' }
}

/** Blocks of thinking that are bound to what has changed. Inside a string, their quotes would be escaped. */
function thinkingBehind({ fingerprint: { messages }, messageAt }: Prompt, place: PromptPlace | 'lane'): number {
  let count = 0
  for (let at = typeof place === 'number' ? place : 0; at < messages.length; at++)
    count += String(messageAt(at)).match(THINKING)?.length ?? 0
  return count
}

const THINKING = /\{"type":"(?:redacted_)?thinking"/g

const causeOf = (own: PromptPlace, before: Fingerprint, { fingerprint }: Prompt): PrefixBreaker =>
  own === 'tools' && before.toolSet === fingerprint.toolSet ? 'tool_order' : 'client'

function spell(place: PromptPlace, { messageAt, list }: Prompt): string {
  if (typeof place !== 'number') return place
  const message = tryParse(String(messageAt(place)))
  const isSystem = isObject(message) && (message.role === 'system' || message.role === 'developer')
  return isSystem && place === 0 ? 'system' : `${list}[${place}]`
}

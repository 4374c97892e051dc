import { createHash, type Hash } from 'node:crypto'
import { createLruMap } from '../lib/collections.ts'

/**
 * Digests of what conversations have sent to a provider lately. When a provider breaks off without counts, the part of the input
 * that it saw shortly before, byte for byte, is charged at the price of cached input.
 */
export interface SeenPrefixes {
  /** How many tokens at the beginning of its messages an earlier turn of the same conversation has sent. */
  seenTokens(prompt: SentPrompt): number
  remember(prompt: SentPrompt): void
  /** Releases its bytes, and keeps its digest if it will be remembered. */
  digest(prompt: SentPrompt, remembered: { readonly isWanted: boolean }): void
}

/** The prompt of a conversation that is long enough to be cached. */
export interface SentPrompt {
  /** The key and the model: a key does not profit from what another key has sent. */
  readonly owner: string
  /** What precedes the messages in the prompt, such as tools. */
  preamble: readonly Buffer[]
  /** The messages, from the first byte of the first to the last byte of the last. */
  messages: Buffer
  /** The estimated tokens of the messages. */
  readonly tokens: number
  /** The hash of its beginning, as far as it was compared with earlier turns. */
  hashed?: { readonly hash: Hash; readonly bytes: number } | undefined
  /** Set once the bytes are released. */
  digested?: Digested | undefined
}

interface Digested {
  readonly bytes: number
  readonly digest: string
}

/** Providers begin to cache at about 1,024 tokens. */
export const CACHED_BYTES_MIN = 4096
/** How long a provider's cache lives at least after its last use. */
const LIFE_MICROS = 300_000_000
const OWNERS_MAX = 10_000
/** Conversations of one key with one model at the same time. */
const TURNS_AN_OWNER_MAX = 16

interface SeenTurn extends Digested {
  readonly tokens: number
  readonly at: number
}

export function createSeenPrefixes({ nowMicros }: { nowMicros(): number }): SeenPrefixes {
  const owners = createLruMap<string, readonly SeenTurn[]>(OWNERS_MAX)
  const livingOf = (owner: string) => (owners.get(owner) ?? []).filter(({ at }) => nowMicros() - at < LIFE_MICROS)
  return {
    seenTokens(prompt) {
      const candidates = livingOf(prompt.owner).filter(({ bytes }) => bytes <= prompt.messages.length)
      return candidates.length === 0 ? 0 : tokensOfLongest(candidates, prompt)
    },
    remember(prompt) {
      const { owner, tokens } = prompt
      prompt.digested ??= digestOf(prompt)
      const { digested } = prompt
      const others = livingOf(owner).filter((turn) => turn.digest !== digested.digest)
      owners.set(owner, [{ ...digested, tokens, at: nowMicros() }, ...others].slice(0, TURNS_AN_OWNER_MAX))
    },
    digest(prompt, { isWanted }) {
      if (isWanted) prompt.digested ??= digestOf(prompt)
      prompt.hashed = undefined
      prompt.preamble = []
      prompt.messages = NOTHING
    },
  }
}

const NOTHING = Buffer.alloc(0)

function digestOf({ preamble, messages, hashed }: SentPrompt): Digested {
  const hash = hashed?.hash ?? beginHash(preamble)
  return { bytes: messages.length, digest: hash.update(messages.subarray(hashed?.bytes ?? 0)).digest('base64') }
}

function beginHash(preamble: readonly Buffer[]): Hash {
  const hash = createHash('sha256')
  for (const part of preamble) hash.update(part)
  return hash
}

/** One pass over the bytes, however many lengths are asked for; the digest of the whole goes on from there. */
function tokensOfLongest(candidates: SeenTurn[], prompt: SentPrompt): number {
  const { messages, preamble } = prompt
  const hash = beginHash(preamble)
  let longest = 0
  let hashedBytes = 0
  for (const { bytes, tokens, digest } of candidates.sort((one, other) => one.bytes - other.bytes)) {
    hash.update(messages.subarray(hashedBytes, bytes))
    hashedBytes = bytes
    if (hash.copy().digest('base64') === digest) longest = tokens
  }
  prompt.hashed = { hash, bytes: hashedBytes }
  return longest
}

import { createCipheriv, randomBytes } from 'node:crypto'
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
  /** Set once the bytes are released. */
  digested?: Digested | undefined
}

interface Digested {
  readonly bytes: number
  /** Of what precedes the messages. */
  readonly preambleBytes: number
  /** The last bytes, by which most other conversations are told apart. */
  readonly tail: string
  readonly digest: string
}

/** Providers begin to cache at about 1,024 tokens. */
export const CACHED_BYTES_MIN = 4096
/** How long a provider's cache lives at least after its last use. */
const LIFE_MICROS = 300_000_000
const OWNERS_MAX = 10_000
/** Conversations of one key with one model at the same time. */
const TURNS_AN_OWNER_MAX = 16

const TAIL_BYTES = 64
/** So many beginnings of a prompt are compared as a whole. */
const COMPARED_MAX = 4

interface SeenTurn extends Digested {
  readonly tokens: number
  readonly at: number
}

export function createSeenPrefixes({ nowMicros }: { nowMicros(): number }): SeenPrefixes {
  const owners = createLruMap<string, readonly SeenTurn[]>(OWNERS_MAX)
  const key = randomBytes(16)
  const livingOf = (owner: string) => (owners.get(owner) ?? []).filter(({ at }) => nowMicros() - at < LIFE_MICROS)
  return {
    seenTokens({ owner, preamble, messages }) {
      const candidates = livingOf(owner).filter(
        ({ bytes, preambleBytes, tail }) =>
          bytes <= messages.length &&
          preambleBytes === lengthOf(preamble) &&
          tailOf(messages.subarray(0, bytes)) === tail,
      )
      const longestFirst = candidates.sort((one, other) => other.bytes - one.bytes).slice(0, COMPARED_MAX)
      const same = longestFirst.find(
        ({ bytes, digest }) => digestOf(key, preamble, messages.subarray(0, bytes)) === digest,
      )
      return same?.tokens ?? 0
    },
    remember(prompt) {
      const { owner, tokens } = prompt
      prompt.digested ??= digested(key, prompt)
      const { digest } = prompt.digested
      const others = livingOf(owner).filter((turn) => turn.digest !== digest)
      owners.set(owner, [{ ...prompt.digested, tokens, at: nowMicros() }, ...others].slice(0, TURNS_AN_OWNER_MAX))
    },
    digest(prompt, { isWanted }) {
      if (isWanted) prompt.digested ??= digested(key, prompt)
      prompt.preamble = []
      prompt.messages = NOTHING
    },
  }
}

const NOTHING = Buffer.alloc(0)

const digested = (key: Buffer, { preamble, messages }: SentPrompt): Digested => ({
  bytes: messages.length,
  preambleBytes: lengthOf(preamble),
  tail: tailOf(messages),
  digest: digestOf(key, preamble, messages),
})

const lengthOf = (parts: readonly Buffer[]): number => parts.reduce((sum, { length }) => sum + length, 0)

const tailOf = (messages: Buffer): string => messages.toString('latin1', Math.max(0, messages.length - TAIL_BYTES))

/**
 * The tag of AES-GCM, of which a server reads five times as many bytes in the same time as of SHA-256. Its nonce may repeat, since
 * nothing is encrypted and no tag leaves the process: without the key, no other text with the same tag can be made.
 */
function digestOf(key: Buffer, preamble: readonly Buffer[], messages: Buffer): string {
  const cipher = createCipheriv('aes-128-gcm', key, NONCE).setAAD(messages)
  for (const part of preamble) cipher.update(part)
  cipher.final()
  return cipher.getAuthTag().toString('latin1')
}

const NONCE = Buffer.alloc(12)

import { beforeEach, describe, expect, it } from 'vitest'
import { CACHED_BYTES_MIN, createSeenPrefixes, type SeenPrefixes } from './seen-prefixes.ts'

let now = 0
let seen: SeenPrefixes

beforeEach(() => {
  now = 0
  seen = createSeenPrefixes({ nowMicros: () => now })
})

const long = (letter: string, times = 1): string => letter.repeat(CACHED_BYTES_MIN * times)
const talk = (messages: string, over: { owner?: string; tools?: string } = {}) => ({
  owner: over.owner ?? 'key model',
  preamble: [Buffer.from(over.tools ?? '')],
  messages: Buffer.from(messages),
  tokens: messages.length / 4,
})

describe('what a provider has seen of a conversation', () => {
  it('is the whole of an earlier turn that the next one goes on from', () => {
    seen.remember(talk(long('a')))
    seen.remember(talk(long('a') + long('b')))
    expect(seen.seenTokens(talk(long('a') + long('b') + long('c')))).toBe((2 * CACHED_BYTES_MIN) / 4)
    expect(seen.seenTokens(talk(long('a') + long('x') + long('c')))).toBe(CACHED_BYTES_MIN / 4)
    expect(seen.seenTokens(talk(long('a')))).toBe(CACHED_BYTES_MIN / 4)
  })

  it('is remembered the same, whether it was compared with earlier turns before or not', () => {
    const first = talk(long('a'))
    seen.seenTokens(first)
    seen.remember(first)
    const second = talk(long('a') + long('b'))
    expect(seen.seenTokens(second)).toBe(CACHED_BYTES_MIN / 4)
    seen.digest(second, { isWanted: true })
    seen.remember(second)
    expect(seen.seenTokens(talk(long('a') + long('b') + long('c')))).toBe((2 * CACHED_BYTES_MIN) / 4)
    const same = talk(long('a') + long('b'))
    expect(seen.seenTokens(same)).toBe((2 * CACHED_BYTES_MIN) / 4)
    seen.remember(same)
    expect(seen.seenTokens(talk(long('a') + long('b')))).toBe((2 * CACHED_BYTES_MIN) / 4)
  })

  it('is as many tokens as that turn was taken for: the data of a picture is not as many as it has bytes', () => {
    seen.remember({ ...talk(long('a', 100)), tokens: 1500 })
    expect(seen.seenTokens(talk(long('a', 100) + long('b')))).toBe(1500)
  })

  it('is nothing for another prompt: priming a cache makes nothing else cheaper', () => {
    seen.remember(talk(long('a', 4)))
    expect(seen.seenTokens(talk(`x${long('a', 4)}`))).toBe(0)
    expect(seen.seenTokens(talk(`${long('a', 3)}x${long('a', 2)}`))).toBe(0)
    expect(seen.seenTokens(talk(long('a', 2)))).toBe(0)
    expect(seen.seenTokens(talk(long('a', 4), { tools: '[{}]' }))).toBe(0)
    expect(seen.seenTokens(talk(long('a', 4), { owner: 'other model' }))).toBe(0)
  })

  it('is found among conversations with the same messages and other tools', () => {
    seen.remember(talk(long('a')))
    for (let turn = 0; turn < 6; turn++) seen.remember(talk(long('a', 2), { tools: `[${turn}]` }))
    expect(seen.seenTokens(talk(long('a', 3)))).toBe(CACHED_BYTES_MIN / 4)
  })

  it('is nothing that was longer ago than a cache lives', () => {
    seen.remember(talk(long('a')))
    now = 299_999_999
    expect(seen.seenTokens(talk(long('a')))).toBe(CACHED_BYTES_MIN / 4)
    now = 300_000_000
    expect(seen.seenTokens(talk(long('a')))).toBe(0)
  })

  it('knows the last conversations of a key, not all it ever had', () => {
    for (let turn = 0; turn < 20; turn++) seen.remember(talk(`${turn} ${long('a')}`))
    expect(seen.seenTokens(talk(`19 ${long('a')} more`))).toBeGreaterThan(0)
    expect(seen.seenTokens(talk(`0 ${long('a')} more`))).toBe(0)
  })
})

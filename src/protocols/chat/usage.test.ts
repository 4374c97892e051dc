import { describe, expect, it } from 'vitest'
import { randomFrom } from '../../../test/fixtures/lib/seeded-random.ts'
import { chunk, frame } from '../../../test/fixtures/protocols/chat/translate.ts'
import { USAGE_ROWS, type UsagePlace, type UsageRow } from '../../../test/fixtures/protocols/chat/usage-rows.ts'
import { countedIds } from '../../../test/fixtures/protocols/mint-ids.ts'
import type { Fields } from '../../lib/types.ts'
import { inputTokensOf, type Usage } from '../../model/price.ts'
import { CHAT_DIALECTS, chatDialect } from './dialects.ts'
import { createEventReader } from './read-events.ts'
import { readReply } from './read-reply.ts'
import { ChatTap } from './tap.ts'

const CHOICE = { index: 0, delta: {}, finish_reason: 'stop' }

/** The stream of a server that tells it there. */
const STREAMS: Record<UsagePlace, (delivered: Fields) => Fields[]> = {
  'a chunk of its own': (usage) => [
    chunk({ content: 'a' }, 'stop', { usage: null }),
    chunk({}, null, { choices: [], usage }),
  ],
  'the last chunk': (usage) => [chunk({ content: 'a' }), chunk({}, 'stop', { usage })],
  'every chunk': (usage) => [
    chunk({ content: 'a' }, null, { usage: { ...usage, completion_tokens: 1, total_tokens: undefined } }),
    chunk({}, 'stop', { usage }),
  ],
  x_groq: (usage) => [chunk({ content: 'a' }, null, { x_groq: { id: 'x' } }), chunk({}, 'stop', { x_groq: { usage } })],
  'the choice': (usage) => [chunk({ content: 'a' }), { ...chunk({}), choices: [{ ...CHOICE, usage }] }],
  timings: (timings) => [
    chunk({ content: 'a' }, null, { timings: { ...timings, predicted_n: 1 } }),
    chunk({}, 'stop', { timings }),
  ],
}

function relayed(row: UsageRow): { usage: Usage | undefined; sent: string } {
  const mint = countedIds()
  const tap = new ChatTap({
    publicModel: 'p',
    dialect: chatDialect(row.dialect),
    mint,
    request: { model: 'm', choices: 1, functionForm: false, wantsUsage: false },
    now: () => 7000,
  })
  const sent = STREAMS[row.place](row.delivered).map((each) => String(tap.read(frame(each)).bytes ?? ''))
  return { usage: tap.state.usage, sent: sent.join('') }
}

function translated({ dialect, place, delivered }: UsageRow): Usage | undefined {
  const reader = createEventReader({ dialect: chatDialect(dialect), origin: 'lane', mint: countedIds() })
  for (const each of STREAMS[place](delivered)) reader.read(frame(each))
  return reader.state.usage
}

function inJson({ dialect, place, delivered }: UsageRow): Usage | undefined {
  const last = STREAMS[place](delivered).at(-1)
  const choices = [{ ...CHOICE, ...(place === 'the choice' ? { usage: delivered } : {}), message: { content: 'a' } }]
  const reply = readReply(
    { body: { bytes: Buffer.alloc(0), members: [] }, value: { ...last, choices } },
    {
      dialect: chatDialect(dialect),
      mint: countedIds(),
      request: { model: 'm', choices: 1, functionForm: false, wantsUsage: false },
    },
  )
  return reply.kind === 'reply' ? reply.usage : undefined
}

const classesOf = (usage: Usage | undefined) =>
  usage && [inputTokensOf(usage), usage.cachedInput, usage.cacheWrite, usage.output, usage.reasoning]

describe('the usage of every server', () => {
  it.each(USAGE_ROWS)('$dialect, in $place: $source', (row) => {
    const relay = relayed(row)
    expect(classesOf(relay.usage)).toEqual(row.means)
    expect(relay.usage?.doubtful).toBe(row.doubtful)
    expect([translated(row), inJson(row)]).toEqual([relay.usage, relay.usage])
    // What it has cost is said at the end, in our own numbers.
    expect(relay.sent).not.toMatch(/prompt_tokens/)
  })

  it.each(USAGE_ROWS.filter(({ delivered, doubtful }) => delivered.total_tokens !== undefined && !doubtful))(
    'of $dialect sums up to its own total: $means',
    ({ delivered, means: [input, , , output] }) => {
      expect(input + output).toBe(delivered.total_tokens)
    },
  )

  it('is known of every dialect', () => {
    const known = new Set(USAGE_ROWS.map(({ dialect }) => dialect))
    expect(CHAT_DIALECTS.map(({ name }) => name).filter((name) => name !== 'demo' && !known.has(name))).toEqual([])
  })

  it('that is reported wins over timings, whichever comes last', () => {
    const usage = { prompt_tokens: 1, completion_tokens: 2 }
    const timings = { prompt_n: 5, predicted_n: 6 }
    for (const chunks of [
      [{ usage }, { timings }],
      [{ timings }, { usage, timings }],
    ]) {
      const reader = createEventReader({ dialect: chatDialect('llamacpp'), origin: 'lane', mint: countedIds() })
      for (const each of chunks) reader.read(frame(each))
      expect(classesOf(reader.state.usage)).toEqual([1, 0, 0, 2, 0])
    }
  })

  it('is not replaced by one of zeros behind it', () => {
    const reader = createEventReader({ dialect: chatDialect('generic'), origin: 'lane', mint: countedIds() })
    const zeros = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }
    for (const usage of [zeros, { prompt_tokens: 3, completion_tokens: 0 }, zeros]) reader.read(frame({ usage }))
    expect(classesOf(reader.state.usage)).toEqual([3, 0, 0, 0, 0])
  })

  it('leaves timings for the client to see', () => {
    const [row] = USAGE_ROWS.filter(({ place }) => place === 'timings')
    expect(relayed(row!).sent).toContain('"predicted_ms":661')
  })

  it('that is missing, or is no numbers, is none: an estimate takes its place', () => {
    for (const delivered of [
      undefined,
      null,
      7,
      'many',
      [],
      {},
      { prompt_tokens: 1 },
      { prompt_tokens: '1.5e3', completion_tokens: 1 },
      { prompt_tokens: 2, total_tokens: 1 },
      { output_tokens: 1, total_tokens: 3 },
    ]) {
      for (const place of Object.keys(STREAMS) as UsagePlace[]) {
        if (place === 'every chunk') continue
        const row = {
          dialect: 'generic',
          place,
          delivered: delivered as Fields,
          means: [0, 0, 0, 0, 0],
          source: '',
        } as const
        expect([relayed(row).usage, translated(row), inJson(row)]).toEqual([undefined, undefined, undefined])
      }
    }
  })

  it('never has classes that overlap or are below zero, whatever a server reports', () => {
    const seed = 11
    const random = randomFrom(seed)
    const oddity = () => [0, 1, 7, 100, -3, 1.5, 1e300, null, 'x', undefined, [], {}][random(12)]
    let read = 0
    for (let round = 0; round < 20_000; round++) {
      const delivered = {
        ...{ prompt_tokens: oddity(), completion_tokens: oddity(), total_tokens: oddity(), cached_tokens: oddity() },
        prompt_tokens_details: { cached_tokens: oddity(), cache_write_tokens: oddity() },
        completion_tokens_details: { reasoning_tokens: oddity() },
      }
      const dialect = CHAT_DIALECTS[random(CHAT_DIALECTS.length)]!.name
      const usage = translated({ dialect, place: 'the last chunk', delivered, means: [0, 0, 0, 0, 0], source: '' })
      if (usage === undefined) continue
      read++
      const { doubtful: _inDoubt, ...classes } = usage
      for (const tokens of Object.values(classes)) expect(tokens).toBeGreaterThanOrEqual(0)
      expect(usage.reasoning).toBeLessThanOrEqual(usage.output)
    }
    console.log(`usages: seed ${seed}, ${read} of 20000 read`)
    expect(read).toBeGreaterThan(3000)
  })
})

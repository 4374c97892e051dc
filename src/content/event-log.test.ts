import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { randomFrom } from '../lib/seeded-random.fixture.ts'
import { EVENT_LOG_BYTES_MAX, segmentsOf } from './event-log.ts'
import { ACCOUNT, ended, openStoreBench, type StoreBench, started } from './stored-responses.fixture.ts'

let bench: StoreBench

beforeEach(async () => {
  bench = await openStoreBench()
})
afterEach(async () => {
  await bench.close()
})

const frame = (sequence: number, delta: string): string =>
  `event: response.output_text.delta\ndata: ${JSON.stringify({ type: 'response.output_text.delta', sequence_number: sequence, delta })}\n\n`

const eventsOf = async (name: string, after: number): Promise<string> => {
  const found = await bench.responses.events(ACCOUNT, `resp_${name}`, after)
  if (found.kind !== 'found') return found.kind === 'no-log' ? `no-log ${found.reason}` : found.kind
  const pieces: Buffer[] = []
  for await (const piece of found.frames) pieces.push(piece)
  return Buffer.concat(pieces).toString()
}

const stored = (name: string, events: Buffer) => bench.responses.finish(ended(name, { events }))

describe('the log of a stream', () => {
  it('read behind any number is the rest of the stream', async () => {
    const seed = 3
    const random = randomFrom(seed)
    const frames = Array.from({ length: 400 }, (_, at) =>
      frame(at, `"sequence_number":${at + 7} \\n `.repeat(random(90))),
    )
    expect(await stored('a', Buffer.from(frames.join('')))).toBe(true)
    const segments = await bench.count('events')
    console.info(`seed ${seed}: ${frames.length} frames in ${segments} segments`)
    expect(segments).toBeGreaterThan(2)
    for (let after = -1; after <= 400; after++) {
      expect((await eventsOf('a', after)) === frames.slice(after + 1).join(''), `after ${after}`).toBe(true)
    }
  })

  it('has numbered frames only: comments and the last word belong to one delivery', async () => {
    const parts = [frame(0, 'a'), ': keep-alive\n\n', frame(1, 'b'), 'data: [DONE]\n\n', 'event: cut']
    await stored('a', Buffer.from(parts.join('')))
    expect(await eventsOf('a', -1)).toBe(frame(0, 'a') + frame(1, 'b'))
  })

  it('is not there for what was not streamed, is too large, or is no such stream', async () => {
    await bench.responses.finish(ended('json'))
    expect(await eventsOf('json', 0)).toBe('no-log not-kept')
    await stored('strange', Buffer.from(frame(0, 'a') + frame(2, 'b')))
    expect(await eventsOf('strange', 0)).toBe('no-log not-kept')
    await stored('late', Buffer.from(frame(1, 'a') + frame(2, 'b')))
    expect(await eventsOf('late', 0)).toBe('no-log not-kept')
    expect(await segmentsOf(Buffer.from('data: {"sequence_number":1}\n\n'))).toBe(undefined)
    const long = Buffer.from(frame(0, 'x'.repeat(1000)).repeat(EVENT_LOG_BYTES_MAX / 1000))
    expect(await stored('long', long)).toBe(true)
    expect(await eventsOf('long', 0)).toBe('no-log too-large')
    expect((await bench.responses.find(ACCOUNT, 'resp_long'))?.status).toBe('completed')
    await bench.responses.begin(started('running'))
    expect(await eventsOf('running', 0)).toBe('not-finished')
    expect(await eventsOf('none', 0)).toBe('not-found')
  })

  it('that is damaged, or goes while it is read, breaks off instead of leaving something out', async () => {
    const frames = Array.from({ length: 400 }, (_, at) => frame(at, `${at}`.repeat(400)))
    await stored('a', Buffer.from(frames.join('')))
    await bench.file.atomic([{ sql: 'UPDATE events SET sealed = zeroblob(90) WHERE event = 2', rows: [[]] }])
    await expect(eventsOf('a', 0)).rejects.toThrow('cannot be read')
    await bench.file.atomic([{ sql: 'DELETE FROM events WHERE event = 2', rows: [[]] }])
    await expect(eventsOf('a', 0)).rejects.toThrow('went while they were read')
    await bench.file.atomic([{ sql: 'DELETE FROM events WHERE event = 1', rows: [[]] }])
    await expect(eventsOf('a', -1)).rejects.toThrow('went while they were read')
  })

  it('goes with its response', async () => {
    await bench.responses.finish(ended('a', { events: Buffer.from(frame(0, 'a')), expiresAt: 2000 }))
    bench.time = 3000
    await bench.responses.sweep()
    expect(await bench.count('events')).toBe(0)
  })
})

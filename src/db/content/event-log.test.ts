import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  ACCOUNT,
  ended,
  openStoreBench,
  STRANGER,
  type StoreBench,
  started,
} from '../../../test/fixtures/db/content/stored-responses.ts'
import { randomFrom } from '../../../test/fixtures/lib/seeded-random.ts'
import type { RequestId } from '../../model/ids.ts'
import { EVENT_LOG_BYTES_MAX, isLogAsSent, segmentsOf } from './event-log.ts'
import type { EndedResponse } from './stored-responses.ts'

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
  const found = await bench.responses.events({ account: ACCOUNT }, `resp_${name}`, after)
  if (found.kind !== 'found') return found.kind === 'no-log' ? `no-log ${found.reason}` : found.kind
  const pieces: Buffer[] = []
  for await (const piece of found.frames) pieces.push(piece)
  return Buffer.concat(pieces).toString()
}

const stored = (name: string, events: Buffer) => bench.responses.finish(ended(name, { events }))

describe('a stream that came with a key', () => {
  const whole = (frames: readonly string[]) => Buffer.from(`${frames.join('')}data: [DONE]\n\n`)
  const frames = Array.from({ length: 300 }, (_, at) => frame(at, `word ${at} `.repeat(80)))
  const keep = (name: string, events: Buffer, over: Partial<EndedResponse> = {}) =>
    bench.responses.finish(ended(name, { events, isAsSent: true, ...over }))
  const sent = (name: string, account = ACCOUNT) => bench.responses.sent(account, `req_${name}` as RequestId)

  it('is given again from its log, byte for byte, to its own account, until it is deleted or expires', async () => {
    const stream = whole(frames)
    expect(await isLogAsSent(stream)).toBe(true)
    await keep('a', stream)
    await keep('b', stream, { expiresAt: 2000 })
    const found = await sent('a')
    expect(found?.rawBytes).toBe(stream.length)
    expect((await found?.read())?.equals(stream)).toBe(true)
    expect(await sent('a', STRANGER)).toBe(undefined)
    expect(await sent('none')).toBe(undefined)
    expect(await bench.responses.factsOf(['req_a' as RequestId])).toEqual(
      new Map([['req_a', { facts: 'facts of a', isAsSent: true }]]),
    )
    bench.time = 3000
    expect(await sent('b')).toBe(undefined)
    await bench.responses.remove({ account: ACCOUNT }, 'resp_a')
    expect(await sent('a')).toBe(undefined)
  })

  it('is gone where its log is damaged: to ask again does not help', async () => {
    await keep('a', whole(frames))
    const found = await sent('a')
    await bench.file.atomic([{ sql: 'UPDATE events SET sealed = zeroblob(90) WHERE event = 1', rows: [[]] }])
    expect(await found?.read()).toBe(undefined)
  })

  it('does not exist if other bytes were sent between its frames, nor if it was not requested', async () => {
    const [first = '', ...rest] = frames
    for (const stream of [
      whole([first, ': comment\n\n', ...rest]),
      whole([first, 'data: {"type":"error"}\n\n', ...rest]),
      whole(rest),
      Buffer.from(frames.join('')),
      Buffer.concat([whole(frames), Buffer.from(first)]),
      Buffer.from('data: [DONE]\n\n'),
      whole([frame(0, 'x'.repeat(EVENT_LOG_BYTES_MAX))]),
    ])
      expect(await isLogAsSent(stream)).toBe(false)
    await stored('plain', whole(frames))
    expect(await sent('plain')).toBe(undefined)
  })
})

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

  it('is whole where its last events are added in one commit with its end', async () => {
    const whole = [0, 1, 2].map((sequence) => frame(sequence, 'a')).join('')
    for (const name of ['a', 'b', 'c']) {
      await bench.responses.begin(started(name))
      const others = [1, 2, 3].map((other) => bench.responses.begin(started(`${name}${other}`)))
      const response = { id: `resp_${name}`, account: ACCOUNT }
      const added = bench.responses.addEvents(response, Buffer.from(whole.slice(0, whole.lastIndexOf('data:'))))
      const finished = bench.responses.finish(ended(name, { events: Buffer.from(whole), hasEvents: true }))
      expect(await Promise.all([...others, added, finished])).toEqual([true, true, true, true, true])
      expect(await eventsOf(name, -1)).toBe(whole)
    }
    expect(await bench.count('events')).toBe(3)
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
    expect((await bench.responses.find({ account: ACCOUNT }, 'resp_long'))?.status).toBe('completed')
    expect(await eventsOf('none', 0)).toBe('not-found')
  })

  it('that is damaged, or goes while it is read, breaks off instead of leaving something out', async () => {
    const frames = Array.from({ length: 400 }, (_, at) => frame(at, `${at}`.repeat(400)))
    await stored('a', Buffer.from(frames.join('')))
    await bench.file.atomic([{ sql: 'UPDATE events SET sealed = zeroblob(90) WHERE event = 2', rows: [[]] }])
    await expect(eventsOf('a', 0)).rejects.toThrow('cannot be read')
    await bench.file.atomic([{ sql: 'DELETE FROM events WHERE event = 2', rows: [[]] }])
    await expect(eventsOf('a', 0)).rejects.toThrow('were deleted while they were read')
    await bench.file.atomic([{ sql: 'DELETE FROM events WHERE event = 1', rows: [[]] }])
    await expect(eventsOf('a', -1)).rejects.toThrow('were deleted while they were read')
  })

  it('goes with its response', async () => {
    await bench.responses.finish(ended('a', { events: Buffer.from(frame(0, 'a')), expiresAt: 2000 }))
    bench.time = 3000
    await bench.responses.sweep()
    expect(await bench.count('events')).toBe(0)
  })
})

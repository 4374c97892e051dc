import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import {
  ACCOUNT,
  answered,
  ended,
  json,
  openStoreBench,
  type StoreBench,
  started,
  userMessage,
} from '../../../test/fixtures/db/content/stored-responses.ts'
import { openContent } from './open-content.ts'

let bench: StoreBench

beforeEach(async () => {
  bench = await openStoreBench()
})
afterEach(async () => {
  await bench.close()
})

const frame = 'data: {"type":"response.created","sequence_number":0,"canary":"canary-event"}\n\n'

async function useEverything(): Promise<void> {
  const { responses } = bench
  await responses.begin(started('canary1'))
  await responses.finish(
    ended('canary1', {
      object: json({ id: 'resp_canary1', status: 'completed', instructions: 'canary-object' }),
      input: [userMessage('canary-question'), userMessage('canary-question')],
      output: [answered('msg_canary', 'canary-answer'.repeat(1000))],
      events: Buffer.from(frame),
    }),
  )
  await responses.finish(ended('canary2', { parent: 'resp_canary1', input: [userMessage('canary-question')] }))
  await responses.begin(started('canary3', { parent: 'resp_canary2' }))
  await responses.end('resp_canary3', ACCOUNT, 'failed', json({ status: 'failed' }))
  await responses.begin(started('canary4'))
  await responses.find({ account: ACCOUNT }, 'resp_canary1')
  await responses.context({ account: ACCOUNT }, 'resp_canary2', 1_000_000)
  await responses.items({ account: ACCOUNT }, ['msg_canary'], 1_000_000)
  const events = await responses.events({ account: ACCOUNT }, 'resp_canary1', -1)
  if (events.kind === 'found') for await (const _ of events.frames);
  await responses.factsOf([ended('canary1').requestId])
}

it('has nothing in it that was said, and no id of what was said', async () => {
  await useEverything()
  const words = ['canary-question', 'canary-answer', 'canary-object', 'canary-event', 'resp_canary', 'msg_canary']
  const inFile = () => words.filter((word) => bench.rawBytes().includes(word))
  expect(inFile()).toEqual([])
  await bench.reopen()
  expect(inFile()).toEqual([])
  // The search would find what is there.
  expect(bench.rawBytes().includes('req_canary1')).toBe(true)
})

/** The values of a list, and a subquery that has a bound. */
const KNOWN_SCANS = [
  /VIRTUAL TABLE INDEX/,
  /^SCAN (going|leaves)$/,
  /^SCAN chain$/,
  /^SCAN (CONSTANT ROW|\(subquery-\d+\))$/,
]

it('is asked nothing that has to be searched for', async () => {
  await useEverything()
  await bench.responses.remove({ account: ACCOUNT }, 'resp_canary2')
  await bench.responses.recover()
  bench.time = 5_000_000
  await bench.responses.sweep()
  await bench.responses.finish(ended('last', { expiresAt: 9_000_000 }))
  await bench.responses.forgetAccount(ACCOUNT)
  const folder = mkdtempSync(join(tmpdir(), 'millrace-plans-'))
  const empty = await openContent({ path: join(folder, 'content.db'), clock: { now: () => 0, nowMicros: () => 0 } })
  const searched: string[] = []
  try {
    for (const [sql, parameters] of bench.sent) {
      if (sql.startsWith('PRAGMA')) continue
      for (const { detail } of await empty.all(`EXPLAIN QUERY PLAN ${sql}`, parameters)) {
        const step = String(detail)
        const isScan = /\bSCAN\b|\bAUTOMATIC\b/.test(step) && !KNOWN_SCANS.some((known) => known.test(step))
        if (isScan || /TEMP B-TREE.*DISTINCT/.test(step)) searched.push(`${step} in ${sql}`)
      }
    }
  } finally {
    await empty.close()
    rmSync(folder, { recursive: true })
  }
  expect(bench.sent.size).toBeGreaterThan(25)
  expect(searched).toEqual([])
})

it('that was written before responses were stored is taken further', async () => {
  await bench.file.atomic([
    ...[
      ...['response_items', 'items', 'events', 'response_objects', 'responses', 'account_keys', 'state_size'],
      ...['usage', 'usage_series', 'usage_upto', 'refused_turns', 'refused_series', 'lockouts'],
      ...['served', 'served_latency', 'served_lanes', 'served_lane_latency', 'served_models', 'served_upto'],
      ...['conversations'],
      ...['owners', 'of_ledger'],
    ].map((table) => ({ sql: `DROP TABLE ${table}`, rows: [[]] })),
    { sql: "DELETE FROM migrations WHERE name >= '0002'", rows: [[]] },
  ])
  await bench.reopen()
  expect(await bench.responses.finish(ended('a'))).toBe(true)
})

it('that cannot be written or read is reported, and blocks nothing', async () => {
  await bench.file.close()
  expect(await bench.responses.begin(started('a'))).toBe(false)
  expect(await bench.responses.finish(ended('a'))).toBe(false)
  await bench.responses.end('resp_a', ACCOUNT, 'failed', json({}))
  await bench.responses.forget('resp_a', ACCOUNT)
  expect(await bench.responses.factsOf([ended('a').requestId])).toEqual(new Map())
  expect(bench.failures).toHaveLength(5)
  await expect(bench.responses.find({ account: ACCOUNT }, 'resp_a')).rejects.toThrow(/closed/)
})

import { randomInt } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { ReceiptsTable } from '../../../src/db/tables.ts'
import { isRequestId } from '../../../src/model/ids.ts'
import { PROBLEMS } from '../../../src/model/problem.ts'
import { WHOLE_TEXT } from '../../fakes/chat-frames.ts'
import { CALM, storm } from '../../fakes/network-faults.ts'
import { fractionsFrom } from '../../fixtures/lib/seeded-random.ts'
import { openAccount } from '../../support/test-account.ts'
import { until } from '../../support/until.ts'
import { expectBalancedLedger } from '../../support/use-server.ts'
import { askFaulty, type Heard } from './send-to-faulty.ts'
import { chargeOf } from './charge-of.ts'
import { CASES, type Case } from './fault-cases.ts'
import type { Cell } from './fault-row.ts'
import { type FaultServer, faultyLane, HEALTHY_LANE, modelOf, startFaultServer } from './fault-server.ts'
import { documentedRows, rowsOnPage } from './faults-page.ts'

let house: FaultServer
beforeAll(async () => {
  house = await startFaultServer()
})
afterEach(async () => {
  house.faulty.weather = CALM
  house.faulty.forget()
  house.healthy.forget()
  await expectBalancedLedger(house.server)
})
afterAll(() => house?.close())

const isStream = ({ column }: Case): boolean => column.startsWith('stream')

async function ask(subject: Case, lanes: 'alone' | 'backed') {
  const account = await openAccount(house.server, { credit: '1.00' })
  const before = (await account.wallet()).balance
  const heard = await askFaulty(house, {
    key: account.key,
    model: modelOf(subject, lanes),
    stream: isStream(subject),
    ...(subject.row.asks ? { asks: subject.row.asks } : {}),
  })
  const receipts = await until(async () => {
    const rows = await account.receipts()
    return rows.every(({ state }) => state !== 'open') && rows
  })
  expect(receipts).toHaveLength(1)
  const [receipt] = receipts as [ReceiptsTable]
  const { balance, held } = await account.wallet()
  expect([before - balance, held]).toEqual([receipt.charge_nano, 0n])
  expect(receipt.request_id).toBe(heard.requestId)
  return { heard, receipt }
}

/** One envelope, one id, the word on coming back; nothing that looks like somebody's key. */
function expectError(error: Record<string, unknown>, code: keyof typeof PROBLEMS, { requestId }: Heard, type: string) {
  expect(error).toMatchObject({ code, type, source: 'upstream', request_id: requestId })
  expect(isRequestId(requestId)).toBe(true)
  expect(JSON.stringify(error)).not.toMatch(/sk-[a-z]{8}|127\.0\.0\.1/)
}

/** Inside a stream no status says that a failure passes: the type does. */
function typeInStream(code: keyof typeof PROBLEMS): string {
  const { type } = PROBLEMS[code]
  return type === 'service_unavailable_error' ? 'server_error' : type
}

function expectCell(subject: Case, cell: Cell, heard: Heard) {
  switch (cell.kind) {
    case 'refused':
      expect(heard.json?.error, JSON.stringify(heard)).toBeDefined()
      expectError(heard.json.error, cell.code, heard, PROBLEMS[cell.code].type)
      expect(heard.status).toBe(PROBLEMS[cell.code].status)
      expect(Object.keys(heard.json)).toEqual(['error'])
      expect(heard.headers.get('retry-after') ?? '').toBe(cell.retryAfter ?? '')
      return
    case 'broken':
      expect([heard.status, heard.dones]).toEqual([200, 0])
      expectError(heard.chunks.at(-1).error, cell.code, heard, typeInStream(cell.code))
      expect(heard.chunks.at(-1).error.message).toContain('is charged')
      expect(
        heard.chunks
          .slice(0, -1)
          .flatMap(({ choices }) => choices)
          .filter(hasFinished),
      ).toEqual([])
      expect(heard.text).toMatch(/^Good /)
      expect(heard.text).not.toContain('too late')
      return
    case 'whole':
      expectWhole(heard, subject.row.text ?? WHOLE_TEXT, isStream(subject))
  }
}

const hasFinished = (choice: { finish_reason?: unknown }): boolean => typeof choice.finish_reason === 'string'

function expectWhole(heard: Heard, text: string, stream: boolean) {
  expect(heard.status, JSON.stringify(heard.json)).toBe(200)
  expect(heard.text).toBe(text)
  if (!stream) {
    expect(hasFinished(heard.json.choices[0])).toBe(true)
    return
  }
  expect(heard.dones).toBe(1)
  expect(heard.chunks.flatMap(({ choices }) => choices).filter(hasFinished)).toHaveLength(1)
  const withUsage = heard.chunks.filter(({ usage }) => usage)
  expect(withUsage).toEqual([heard.chunks.at(-1)])
  expect(heard.chunks.at(-1).choices).toEqual([])
}

const attemptsOf = ({ attempts }: ReceiptsTable): string[] =>
  (JSON.parse(attempts ?? '[]') as { lane: string }[]).map(({ lane }) => lane)

async function expectAlone(subject: Case) {
  const { cell } = subject
  const { heard, receipt } = await ask(subject, 'alone')
  expectCell(subject, cell, heard)
  const outcome = cell.kind === 'whole' ? 'completed' : 'upstream_failed'
  const state = cell.kind === 'refused' ? 'released' : 'settled'
  expect(receipt).toMatchObject({ outcome, state, charge_nano: chargeOf(cell, subject.row, heard) })
  // One for each time that it was asked; nobody hears of a connection that failed.
  const times = Math.max(1, house.faulty.talks.length)
  expect(attemptsOf(receipt)).toEqual(Array.from({ length: times }, () => faultyLane(subject)))
}

describe.each(CASES)('$title', (subject) => {
  const { cell } = subject

  it('one lane alone', () => expectAlone(subject))

  it('with a healthy lane behind it', async () => {
    const { heard, receipt } = await ask(subject, 'backed')
    const moves = cell.kind === 'refused' && cell.another === 'next lane'
    expect(attemptsOf(receipt)).toEqual(moves ? [faultyLane(subject), HEALTHY_LANE] : [faultyLane(subject)])
    expect(house.healthy.talks).toHaveLength(moves ? 1 : 0)
    if (moves) {
      expectWhole(heard, WHOLE_TEXT, isStream(subject))
      const charge = chargeOf({ kind: 'whole', charge: 'reported' }, { ...subject.row, fault: 'healthy' }, heard)
      expect(receipt).toMatchObject({ outcome: 'completed', charge_nano: charge })
      expect(receipt.lane).toBe(HEALTHY_LANE)
    } else {
      expectCell(subject, cell, heard)
      expect(receipt.charge_nano).toBe(chargeOf(cell, subject.row, heard))
    }
  })
})

/** A provider that says nothing has no weather; a JSON answer that only takes too long is the same in any. */
const STORMY = CASES.filter(({ row, column }) => {
  return row.fault !== 'silence' && (column.startsWith('stream') || row.upstream === undefined)
})

describe.each(STORMY)('$title', (subject) => {
  it('is the same with bytes cut anywhere, CRLF, and comments between', async () => {
    const seed = randomInt(2 ** 32)
    house.faulty.weather = storm(fractionsFrom(seed))
    try {
      await expectAlone(subject)
    } catch (error) {
      console.log(`seed ${seed}: ${subject.title}`)
      throw error
    }
  })
})

describe('docs/operate/faults.md', () => {
  const page = readFileSync(new URL('../../../docs/operate/faults.md', import.meta.url), 'utf8')

  it('has exactly the rows of the table that is tested here', () => {
    expect(rowsOnPage(page.slice(0, page.indexOf('## The client')))).toEqual(documentedRows())
  })

  it('would be noticed with a row too many or different', () => {
    expect(rowsOnPage('| Head | b |\n| --- | --- |\n| one | 1 |\n| two | 2 |\n\ntext')).toEqual([
      '| one | 1 |',
      '| two | 2 |',
    ])
  })
})

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
import { chargeOf } from './charge-of.ts'
import { CASES, type Case } from './fault-cases.ts'
import type { Cell } from './fault-row.ts'
import { type FaultServer, faultyLane, HEALTHY_LANE, modelOf, startFaultServer } from './fault-server.ts'
import { documentedRows, rowsOnPage } from './faults-page.ts'
import { type Parsed, sendToFaulty } from './send-to-faulty.ts'

let setup: FaultServer
beforeAll(async () => {
  setup = await startFaultServer()
})
afterEach(async () => {
  setup.faulty.networkFaults = CALM
  setup.faulty.forget()
  setup.healthy.forget()
  await expectBalancedLedger(setup.server)
})
afterAll(() => setup?.close())

const isStream = ({ column }: Case): boolean => column.startsWith('stream')

async function sendTurn(subject: Case, lanes: 'alone' | 'backed') {
  const account = await openAccount(setup.server, { credit: '1.00' })
  const before = (await account.wallet()).balance
  const parsedOutput = await sendToFaulty(setup, {
    key: account.key,
    model: modelOf(subject, lanes),
    stream: isStream(subject),
    ...(subject.row.sends ? { sends: subject.row.sends } : {}),
  })
  const receipts = await until(async () => {
    const rows = await account.receipts()
    return rows.every(({ state }) => state !== 'open') && rows
  })
  expect(receipts).toHaveLength(1)
  const [receipt] = receipts as [ReceiptsTable]
  const { balance, held } = await account.wallet()
  expect([before - balance, held]).toEqual([receipt.charge_nano, 0n])
  expect(receipt.request_id).toBe(parsedOutput.requestId)
  return { parsedOutput, receipt }
}

/** One envelope, one id, the word on coming back; nothing that looks like a key. */
function expectError(error: Record<string, unknown>, code: keyof typeof PROBLEMS, { requestId }: Parsed, type: string) {
  expect(error).toMatchObject({ code, type, source: 'upstream', request_id: requestId })
  expect(isRequestId(requestId)).toBe(true)
  expect(JSON.stringify(error)).not.toMatch(/sk-[a-z]{8}|127\.0\.0\.1/)
}

/** Inside a stream no status says that a failure passes: the type does. */
function typeInStream(code: keyof typeof PROBLEMS): string {
  const { type } = PROBLEMS[code]
  return type === 'service_unavailable_error' ? 'server_error' : type
}

function expectCell(subject: Case, cell: Cell, parsedOutput: Parsed) {
  switch (cell.kind) {
    case 'refused':
      expect(parsedOutput.json?.error, JSON.stringify(parsedOutput)).toBeDefined()
      expectError(parsedOutput.json.error, cell.code, parsedOutput, PROBLEMS[cell.code].type)
      expect(parsedOutput.status).toBe(PROBLEMS[cell.code].status)
      expect(Object.keys(parsedOutput.json)).toEqual(['error'])
      expect(parsedOutput.headers.get('retry-after') ?? '').toBe(cell.retryAfter ?? '')
      return
    case 'broken':
      expect([parsedOutput.status, parsedOutput.dones]).toEqual([200, 0])
      expectError(parsedOutput.chunks.at(-1).error, cell.code, parsedOutput, typeInStream(cell.code))
      expect(parsedOutput.chunks.at(-1).error.message).toContain('are charged')
      expect(
        parsedOutput.chunks
          .slice(0, -1)
          .flatMap(({ choices }) => choices)
          .filter(hasFinished),
      ).toEqual([])
      expect(parsedOutput.text).toMatch(/^Good /)
      expect(parsedOutput.text).not.toContain('too late')
      return
    case 'whole':
      expectWhole(parsedOutput, subject.row.text ?? WHOLE_TEXT, isStream(subject))
  }
}

const hasFinished = (choice: { finish_reason?: unknown }): boolean => typeof choice.finish_reason === 'string'

function expectWhole(parsedOutput: Parsed, text: string, stream: boolean) {
  expect(parsedOutput.status, JSON.stringify(parsedOutput.json)).toBe(200)
  expect(parsedOutput.text).toBe(text)
  if (!stream) {
    expect(hasFinished(parsedOutput.json.choices[0])).toBe(true)
    return
  }
  expect(parsedOutput.dones).toBe(1)
  expect(parsedOutput.chunks.flatMap(({ choices }) => choices).filter(hasFinished)).toHaveLength(1)
  const withUsage = parsedOutput.chunks.filter(({ usage }) => usage)
  expect(withUsage).toEqual([parsedOutput.chunks.at(-1)])
  expect(parsedOutput.chunks.at(-1).choices).toEqual([])
}

const attemptsOf = ({ attempts }: ReceiptsTable): string[] =>
  (JSON.parse(attempts ?? '[]') as { lane: string }[]).map(({ lane }) => lane)

async function expectAlone(subject: Case) {
  const { cell } = subject
  const { parsedOutput, receipt } = await sendTurn(subject, 'alone')
  expectCell(subject, cell, parsedOutput)
  const outcome = cell.kind === 'whole' ? 'completed' : 'upstream_failed'
  const state = cell.kind === 'refused' ? 'released' : 'settled'
  expect(receipt).toMatchObject({ outcome, state, charge_nano: chargeOf(cell, subject.row, parsedOutput) })
  // One for each time that it was asked; the client hears nothing of a connection that failed.
  const times = Math.max(1, setup.faulty.providerAnswers.length)
  expect(attemptsOf(receipt)).toEqual(Array.from({ length: times }, () => faultyLane(subject)))
}

describe.each(CASES)('$title', (subject) => {
  const { cell } = subject

  it('one lane alone', () => expectAlone(subject))

  it('with a healthy lane to fail over to', async () => {
    const { parsedOutput, receipt } = await sendTurn(subject, 'backed')
    const moves = cell.kind === 'refused' && cell.another === 'next lane'
    expect(attemptsOf(receipt)).toEqual(moves ? [faultyLane(subject), HEALTHY_LANE] : [faultyLane(subject)])
    expect(setup.healthy.providerAnswers).toHaveLength(moves ? 1 : 0)
    if (moves) {
      expectWhole(parsedOutput, WHOLE_TEXT, isStream(subject))
      const charge = chargeOf({ kind: 'whole', charge: 'reported' }, { ...subject.row, fault: 'healthy' }, parsedOutput)
      expect(receipt).toMatchObject({ outcome: 'completed', charge_nano: charge })
      expect(receipt.lane).toBe(HEALTHY_LANE)
    } else {
      expectCell(subject, cell, parsedOutput)
      expect(receipt.charge_nano).toBe(chargeOf(cell, subject.row, parsedOutput))
    }
  })
})

/** A provider that says nothing has no weather; a JSON answer that only takes too long is the same in any. */
const STORMY = CASES.filter(({ row, column }) => {
  return row.fault !== 'silence' && (column.startsWith('stream') || row.upstream === undefined)
})

describe.each(STORMY)('$title', (subject) => {
  it('is the same with bytes split anywhere, CRLF and comments', async () => {
    const seed = randomInt(2 ** 32)
    setup.faulty.networkFaults = storm(fractionsFrom(seed))
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

  it('has exactly the rows tested here', () => {
    expect(rowsOnPage(page.slice(0, page.indexOf('## The client')))).toEqual(documentedRows())
  })

  it('an extra or different row is noticed', () => {
    expect(rowsOnPage('| Head | b |\n| --- | --- |\n| one | 1 |\n| two | 2 |\n\ntext')).toEqual([
      '| one | 1 |',
      '| two | 2 |',
    ])
  })
})

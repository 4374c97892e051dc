import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import type { StoredProof } from '../../src/db/verify.ts'
import type { VerifyReport } from '../../src/ledger/ledger.ts'
import { NOTHING_PROVED, verifyLedgerState } from '../../src/ledger/verify.ts'
import { onPostgres } from './server-on-postgres.ts'
import { type StartOptions, startServer, type TestServer } from './start-server.ts'
import { until } from './until.ts'

/**
 * One server for the tests of a file. After each of them the books are closed as an auditor would: no turn is left, no
 * money is held, and the rows add up.
 */
export function useServer(options: StartOptions = {}): () => TestServer {
  let server: TestServer | undefined
  const current = () => {
    if (!server) throw new Error('the server has not been started yet')
    return server
  }
  beforeAll(async () => {
    server = await startServer(options)
  })
  afterEach(() => expectBalancedLedger(current()))
  afterAll(async () => {
    if (server) await expectEveryLedgerBalanced(server)
    await server?.close()
  })
  return current
}

/** Between whole proofs. A whole one costs what has ever happened on the server, and most tests add very little to it. */
const PROOFS_BETWEEN = 50

interface Proved {
  readonly proofs: number
  readonly last: StoredProof
}

const provedOf = new WeakMap<TestServer, Proved>()

/** Nothing runs, nothing is held, and the rows add up: those since the last time, and every so often all of them. */
export async function expectBalancedLedger(server: TestServer): Promise<void> {
  const { proofs, last } = provedOf.get(server) ?? { proofs: 0, last: NOTHING_PROVED }
  await until(() => server.serving.turnsRunning === 0)
  if (proofs % PROOFS_BETWEEN === PROOFS_BETWEEN - 1) await expectEveryLedgerBalanced(server)
  const { db } = server.app.operations
  if (onPostgres) expectNoViolation(await server.app.operations.ledger.audit({ whole: true }))
  else {
    const { report, proved } = await verifyLedgerState({ db, since: last })
    expectNoViolation(report)
    provedOf.set(server, { proofs: proofs + 1, last: proved })
  }
  const held = await db.selectFrom('buckets').select('row').where('held_nano', '!=', 0n).execute()
  expect(held, 'buckets on which money is still held').toEqual([])
}

/** From the first row on, as an operator asks for it. */
const expectEveryLedgerBalanced = async ({ operate }: TestServer): Promise<void> =>
  expectNoViolation(await operate('db.verify', {}))

function expectNoViolation(report: Pick<VerifyReport, 'ok' | 'checks'>): void {
  expect(report.checks.filter((check) => check.violations > 0)).toEqual([])
  expect(report.ok).toBe(true)
}

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Change } from '../ledger/state/state.ts'
import { type Database, openDatabase } from './open-database.ts'
import { forgetExpiredClaims } from './receipts.ts'
import { recordChanges } from './record-changes.ts'
import { UnexpectedChanges } from './sql-store.ts'

let folder: string
let database: Database

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-claims-'))
  database = await openDatabase({ path: join(folder, 'ledger.db'), clock: { now: () => 1, nowMicros: () => 0 } })
})

afterEach(async () => {
  await database.close()
  rmSync(folder, { recursive: true })
})

const EXPIRY = 100
const taken = (receipt: number, at: number): Change => ({
  ...{ kind: 'claim-opened', receipt, scope: 'scope', fingerprint: `body ${receipt}`, at, expiresAt: at + EXPIRY },
})
const ended = (receipt: number, state: 'kept' | 'not-kept' | 'dropped'): Change => ({
  ...{ kind: 'claim-ended', receipt, scope: 'scope', state },
})

/** Whether the file took these changes; each is a batch of its own. */
async function takes(...changes: Change[]): Promise<boolean> {
  try {
    for (const change of changes) await database.file.atomic(recordChanges([{ changes: [change] }], undefined))
    return true
  } catch (error) {
    if (error instanceof UnexpectedChanges) return false
    throw error
  }
}

const holder = async () => (await database.db.selectFrom('claims').select(['receipt', 'state']).execute())[0]

describe('an idempotency key in the file', () => {
  it('is not taken from a running request, even if memory is wrong and for however long it runs', async () => {
    expect(await takes(taken(1, 0))).toBe(true)
    expect(await takes(taken(2, 10 * EXPIRY))).toBe(false)
    expect(await forgetExpiredClaims(database.file, 10 * EXPIRY, 10)).toBe(0)
    expect(await holder()).toEqual({ receipt: 1, state: 'running' })
  })

  it.each(['kept', 'not-kept'] as const)(
    'that was charged (%s) is not taken before its time is over',
    async (state) => {
      expect(await takes(taken(1, 0), ended(1, state))).toBe(true)
      expect(await takes(taken(2, EXPIRY - 1))).toBe(false)
      expect(await holder()).toEqual({ receipt: 1, state })
      expect(await takes(taken(3, EXPIRY))).toBe(true)
      expect(await holder()).toEqual({ receipt: 3, state: 'running' })
    },
  )

  it('ends once, and by the request that has it', async () => {
    expect(await takes(taken(1, 0))).toBe(true)
    expect(await takes(ended(2, 'dropped'))).toBe(false)
    expect(await takes(ended(1, 'kept'))).toBe(true)
    expect([await takes(ended(1, 'not-kept')), await takes(ended(1, 'dropped'))]).toEqual([false, false])
    expect(await holder()).toEqual({ receipt: 1, state: 'kept' })
  })
})

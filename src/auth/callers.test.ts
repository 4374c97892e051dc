import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Kysely } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { insertAccount, insertKey, updateAccountStatus, updateKey } from '../../test/fixtures/db/set-up.ts'
import type { NewKey } from '../db/keys.ts'
import { createStoreDialect } from '../db/kysely-dialect.ts'
import { type Database, openDatabase } from '../db/open-database.ts'
import type { SqlStore } from '../db/sql-store.ts'
import type { LedgerTables } from '../db/tables.ts'
import { secureRandom } from '../lib/random-id.ts'
import type { AccountRow, KeyId } from '../model/ids.ts'
import { type Callers, createCallers } from './callers.ts'
import { mintJobKey, mintKey } from './secrets.ts'

const pepper = Buffer.alloc(32, 3)
const jobSecret = Buffer.alloc(32, 4)
const KEY = 'key_1' as KeyId
const ACCOUNT = 1 as AccountRow

let folder: string
let database: Database
let callers: Callers
let time: number
let lookUps: number
/** Holds the answers of the database back, so that something can happen in between. */
let gate: (() => Promise<void>) | undefined

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-keys-'))
  time = 1_000_000
  lookUps = 0
  gate = undefined
  const clock = { now: () => time, nowMicros: () => time * 1000 }
  database = await openDatabase({ path: join(folder, 'ledger.db'), clock })
  const counted: SqlStore = {
    ...database.file,
    async all(sql, parameters) {
      if (sql.includes('digest')) lookUps++
      try {
        return await database.file.all(sql, parameters)
      } finally {
        await gate?.()
      }
    },
  }
  const db = new Kysely<LedgerTables>({ dialect: createStoreDialect(counted) })
  callers = createCallers({ db, pepper, jobSecret, clock })
  await insertAccount(database.file, { id: 'acct_1', email: 'a@example.com', createdAt: 1 })
})

afterEach(async () => {
  await database.close()
  rmSync(folder, { recursive: true })
})

async function makeKey(fields: Partial<NewKey> = {}): Promise<string> {
  const { key, digest, shown } = mintKey({ pepper, random: secureRandom }, 'wallet')
  const plain = {
    id: KEY,
    account: 1,
    kind: 'wallet',
    name: 'ci',
    models: null,
    limits: null,
    expires_at: null,
  } as const
  await insertKey(database.db, { ...plain, created_at: 1, digest, shown, ...fields })
  return key
}

const refused = (reason: string) => ({ kind: 'refused', reason })

describe('finding the caller', () => {
  it('finds the account and the rights of a key', async () => {
    const token = await makeKey({ models: '["demo","fast-*"]', limits: '{"requestsPerMinute":5}' })
    expect(await callers.find(token)).toEqual({
      kind: 'caller',
      caller: {
        accountId: 'acct_1',
        account: 1,
        keyId: 'key_1',
        key: 1,
        keyName: 'ci',
        kind: 'wallet',
        models: ['demo', 'fast-*'],
        limits: { requestsPerMinute: 5 },
        caps: [],
        plan: undefined,
        person: undefined,
        readsOwnOnly: false,
        job: undefined,
      },
    })
    const other = await makeKey({ id: 'key_2' })
    expect(await callers.find(other)).toMatchObject({ caller: { models: undefined, limits: {} } })
  })

  it('answers at once and without a look-up when the key was seen before', async () => {
    const token = await makeKey()
    const first = await callers.find(token)
    expect(callers.find(token)).toBe(first)
    expect(lookUps).toBe(1)
  })

  it('asks once when many requests bring the same new key', async () => {
    const token = await makeKey()
    await Promise.all(Array.from({ length: 50 }, () => callers.find(token)))
    expect(lookUps).toBe(1)
  })

  it('looks nothing up for a text that cannot be a key', () => {
    for (const token of ['', 'sk-1', 'mr_wallet_x', '\0'.repeat(1_000_000), 'mr_wallet_'.repeat(100_000)]) {
      expect(callers.find(token)).toEqual(refused('malformed'))
    }
    expect(lookUps).toBe(0)
  })

  it('remembers for five seconds that a key does not exist', async () => {
    const { key } = mintKey({ pepper, random: secureRandom }, 'builder')
    expect(await callers.find(key)).toEqual(refused('unknown'))
    expect(callers.find(key)).toEqual(refused('unknown'))
    expect(lookUps).toBe(1)
    time += 5001
    await callers.find(key)
    expect(lookUps).toBe(2)
  })

  it('does not know a key that was made under another pepper', async () => {
    const { key } = mintKey({ pepper: Buffer.alloc(32, 4), random: secureRandom }, 'wallet')
    await makeKey()
    expect(await callers.find(key)).toEqual(refused('unknown'))
  })

  it('remembers nothing about a look-up that failed', async () => {
    const token = await makeKey()
    gate = () => Promise.reject(new Error('the disk is gone'))
    await expect(callers.find(token)).rejects.toThrow('the disk is gone')
    gate = undefined
    expect(await callers.find(token)).toMatchObject({ kind: 'caller' })
  })
})

describe('a key that ends', () => {
  it('carries its spend caps, each counted on a state of its own', async () => {
    const token = await makeKey({ cap_day_nano: 5n, cap_month_nano: 50n })
    expect(await callers.find(token)).toMatchObject({
      caller: {
        caps: [
          { subject: 'cap:1:day', unit: 'cap', holder: 'key', name: 'day', cycle: { kind: 'day' }, amount: 5n },
          {
            subject: 'cap:1:month',
            unit: 'cap',
            holder: 'key',
            name: 'month',
            cycle: { kind: 'month', day: 1 },
            amount: 50n,
          },
        ],
      },
    })
  })

  describe('of a builder key', () => {
    const subscribe = (plan: string, ends_at: number | null, row: number) =>
      database.db
        .insertInto('subscriptions')
        .values({ row, account: ACCOUNT, plan, billing_day: 1, started_at: 1, ends_at })
        .execute()
    const planOf = async (token: string) => {
      const found = await callers.find(token)
      return found.kind === 'caller' ? found.caller.plan : found
    }

    it("carries the newest subscription's plan, which a wallet key of the account does not", async () => {
      const wallet = await makeKey()
      const builder = await makeKey({ kind: 'builder', id: 'key_2' })
      expect(await planOf(builder)).toBeUndefined()
      await subscribe('basic', 5, 1)
      await subscribe('pro', null, 2)
      callers.forgetAccount(ACCOUNT)
      expect(await planOf(builder)).toEqual({ id: 'pro', endsAt: undefined })
      expect(await planOf(wallet)).toBeUndefined()
    })

    it('loses it to the millisecond, although it is remembered', async () => {
      const token = await makeKey({ kind: 'builder' })
      await subscribe('pro', time + 100, 1)
      expect(await planOf(token)).toMatchObject({ id: 'pro' })
      time += 99
      expect(await planOf(token)).toMatchObject({ id: 'pro' })
      time += 1
      expect(await planOf(token)).toBeUndefined()
      expect(lookUps).toBe(1)
    })
  })

  it('expires to the millisecond, although it is remembered', async () => {
    const token = await makeKey({ expires_at: time + 100 })
    expect(await callers.find(token)).toMatchObject({ kind: 'caller' })
    time += 99
    expect(callers.find(token)).toMatchObject({ kind: 'caller' })
    time += 1
    expect(callers.find(token)).toEqual(refused('expired'))
  })

  it('is refused from the moment its revocation is told', async () => {
    const token = await makeKey()
    await callers.find(token)
    await updateKey(database.db, 1, { revoked_at: time })
    callers.forget(KEY)
    expect(await callers.find(token)).toEqual(refused('revoked'))
  })

  describe('that was found before', () => {
    const found = async (fields: Partial<NewKey> = {}) => {
      const token = await makeKey(fields)
      const outcome = await callers.find(token)
      if (outcome.kind !== 'caller') throw new Error(outcome.reason)
      return { token, caller: outcome.caller }
    }

    it('is judged again at once, as the same caller, while nothing has changed', async () => {
      const { caller } = await found()
      const again = callers.findAgain(caller)
      expect(again).toMatchObject({ kind: 'caller' })
      expect('caller' in again && again.caller).toBe(caller)
      expect(lookUps).toBe(1)
    })

    it('is refused after it was revoked, and counts the change', async () => {
      const { caller } = await found()
      const before = callers.changes
      await updateKey(database.db, 1, { revoked_at: time })
      callers.forget(KEY)
      expect(callers.changes).toBeGreaterThan(before)
      expect(await callers.findAgain(caller)).toEqual(refused('revoked'))
    })

    it('is refused after its account was suspended', async () => {
      const { caller } = await found()
      await updateAccountStatus(database.db, 1, 'suspended')
      callers.forgetAccount(ACCOUNT)
      expect(await callers.findAgain(caller)).toEqual(refused('account-suspended'))
    })

    it('is refused when it expires, without an event', async () => {
      const { caller } = await found({ expires_at: time + 100 })
      time += 100
      expect(callers.findAgain(caller)).toEqual(refused('expired'))
    })

    it('is not found by its id: a replaced secret has no caller', async () => {
      const { caller } = await found()
      const { digest } = mintKey({ pepper, random: secureRandom }, 'wallet')
      await database.db.updateTable('keys').set({ digest }).where('row', '=', 1).execute()
      callers.forget(KEY)
      expect(await callers.findAgain(caller)).toEqual(refused('unknown'))
    })

    it('is judged by its row if it has no secret', async () => {
      const { caller } = await found()
      const player = { ...caller }
      expect(await callers.findAgain(player)).toMatchObject({ kind: 'caller', caller: { keyId: KEY } })
      await updateKey(database.db, 1, { disabled_at: time })
      expect(await callers.findAgain(player)).toEqual(refused('disabled'))
    })
  })

  describe('while it is just being looked up', () => {
    /** The look-up has read the key, and is held back; then it is revoked. */
    async function revokedMeanwhile() {
      const token = await makeKey()
      let open = () => {}
      const opened = new Promise<void>((resolve) => {
        open = resolve
      })
      gate = () => opened
      const during = callers.find(token)
      while (lookUps === 0) await new Promise((resolve) => setImmediate(resolve))
      await database.file.all('SELECT 1 AS behind_the_look_up', [])
      await updateKey(database.db, 1, { revoked_at: time })
      callers.forget(KEY)
      return { token, during, open }
    }

    it('is refused to the next request: what was looked up is not remembered', async () => {
      const { token, during, open } = await revokedMeanwhile()
      open()
      // This request was on its way before; the next one must not profit from it.
      expect(await during).toMatchObject({ kind: 'caller' })
      expect(await callers.find(token)).toEqual(refused('revoked'))
    })

    it('is refused to a request that comes before the look-up is over: it has one of its own', async () => {
      const { token, during, open } = await revokedMeanwhile()
      const next = callers.find(token)
      open()
      expect(await during).toMatchObject({ kind: 'caller' })
      expect(await next).toEqual(refused('revoked'))
    })
  })

  it('comes back when it was only disabled', async () => {
    const token = await makeKey()
    await updateKey(database.db, 1, { disabled_at: time })
    expect(await callers.find(token)).toEqual(refused('disabled'))
    await updateKey(database.db, 1, { disabled_at: null })
    callers.forget(KEY)
    expect(await callers.find(token)).toMatchObject({ kind: 'caller' })
  })

  it('says the most final reason', async () => {
    const token = await makeKey({ expires_at: time - 1 })
    await updateKey(database.db, 1, { disabled_at: time })
    expect(await callers.find(token)).toEqual(refused('expired'))
    await updateKey(database.db, 1, { revoked_at: time })
    callers.forget(KEY)
    expect(await callers.find(token)).toEqual(refused('revoked'))
  })

  it('goes with its account, and comes back with it', async () => {
    const token = await makeKey()
    await callers.find(token)
    for (const [status, outcome] of [
      ['suspended', refused('account-suspended')],
      ['active', { kind: 'caller' }],
      ['closed', refused('account-closed')],
    ] as const) {
      await updateAccountStatus(database.db, ACCOUNT, status)
      callers.forgetAccount(ACCOUNT)
      expect(await callers.find(token)).toMatchObject(outcome)
    }
  })
})

describe('the key of a CI job', () => {
  const RUN = { account: 1, id: 'job:main:1.1', key: 1 }
  const END = 2_000_000

  /** Of a run that another statement has stored. */
  async function makeJobKey(fields: Partial<NewKey> = {}, run: object = {}): Promise<string> {
    await makeKey(fields)
    const row = { ...RUN, tags: '["branch:main"]', opened_at: 1, ends_at: 9_000_000, ...run }
    await database.db.insertInto('runs').values(row).execute()
    return mintJobKey(jobSecret, { run: 1, expiresAt: END }, RUN)
  }

  it('is the key of its rule, in its run and with its tags, also when it is judged again', async () => {
    const token = await makeJobKey({ models: '["m"]' })
    const first = await callers.find(token)
    if (first.kind !== 'caller') throw new Error(first.reason)
    const job = { run: RUN.id, tags: '["branch:main"]' }
    expect(first.caller).toMatchObject({ keyId: KEY, models: ['m'], job })
    expect(callers.findAgain(first.caller)).toBe(callers.find(token))
    await updateKey(database.db, 1, { models: '["n"]' })
    callers.forget(KEY)
    expect(await callers.findAgain(first.caller)).toMatchObject({ caller: { models: ['n'], job } })
  })

  it('ends at its own end, or with the key of its rule', async () => {
    const token = await makeJobKey()
    const found = await callers.find(token)
    time = END
    expect(callers.find(token)).toEqual(refused('expired'))
    expect(found.kind === 'caller' && callers.findAgain(found.caller)).toEqual(refused('expired'))
    time = 1_000_000
    await updateKey(database.db, 1, { expires_at: 1_500_000 })
    callers.forget(KEY)
    expect(await callers.find(token)).toMatchObject({ kind: 'caller' })
    time = 1_500_000
    expect(callers.find(token)).toEqual(refused('expired'))
    await updateKey(database.db, 1, { revoked_at: 1 })
    callers.forget(KEY)
    expect(await callers.find(token)).toEqual(refused('revoked'))
  })

  it('is unknown without its run, with another secret, or for a run that no job has begun', async () => {
    const token = await makeJobKey({}, { key: null })
    expect(await callers.find(token)).toEqual(refused('unknown'))
    await database.db.updateTable('runs').set({ key: 1 }).where('row', '=', 1).execute()
    callers.forgetAll()
    expect(await callers.find(token)).toMatchObject({ kind: 'caller' })
    for (const [secret, run] of [
      [pepper, 1],
      [jobSecret, 2],
    ] as const)
      expect(await callers.find(mintJobKey(secret, { run, expiresAt: END }, RUN))).toEqual(refused('unknown'))
  })
})

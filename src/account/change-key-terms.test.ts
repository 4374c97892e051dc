import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { AccountRow } from '../model/ids.ts'
import { openTestBooks, type TestBooks } from './books.fixture.ts'
import { changeKey } from './change-key.ts'
import { changeKeyTerms } from './change-key-terms.ts'
import { createAccount } from './create-account.ts'
import { type CreatedKey, createKey } from './create-key.ts'

const BEN = 2 as AccountRow

let folder: string
let books: TestBooks
let made: CreatedKey

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-terms-'))
  books = await openTestBooks(folder)
  for (const name of ['ada', 'ben']) await createAccount(books.deps, { email: `${name}@example.com` })
  const terms = { caps: { day: '5.00' }, limits: { concurrent: 3, requests_per_minute: 60 }, models: ['demo'] }
  const outcome = await createKey(books.deps, { account: 'ada@example.com', kind: 'wallet', name: 'ci', ...terms })
  if (outcome.kind === 'refused') throw new Error(outcome.message)
  made = outcome.value
})

afterEach(async () => {
  await books.close()
  await rm(folder, { recursive: true })
})

const change = (terms: object, of?: AccountRow) => changeKeyTerms(books.deps, { key: made.id, ...terms }, of)

describe('changing the terms of a key', () => {
  it('changes all of them in one act, from the next request on', async () => {
    await books.finder.find(made.key)
    const terms = { name: 'build', models: null, limits: { concurrent: 9 }, caps: { month: '50.00' }, expires: '30d' }
    expect(await change(terms)).toMatchObject({
      value: {
        ...{ name: 'build', models: null, limits: { concurrent: 9, requests_per_minute: 60 } },
        ...{ caps: { day: '5.00', month: '50.00' }, expires_at: expect.stringMatching(/^20/), state: 'active' },
      },
    })
    expect(await books.finder.find(made.key)).toMatchObject({
      caller: {
        ...{ keyName: 'build', models: undefined, limits: { concurrent: 9, requestsPerMinute: 60 } },
        caps: [{ name: 'day' }, { name: 'month' }],
      },
    })
  })

  it('leaves what is absent, and takes away what is null', async () => {
    const { key: _, ...before } = made
    expect(await change({})).toEqual({ kind: 'done', value: before })
    const none = { limits: { concurrent: null, requests_per_minute: null }, caps: { day: null }, models: null }
    expect(await change(none)).toMatchObject({ value: { name: 'ci', limits: {}, caps: {}, models: null } })
    await change({ expires: '1h' })
    expect(await change({ name: 'still' })).toMatchObject({ value: { expires_at: expect.any(String) } })
    expect(await change({ expires: null })).toMatchObject({ value: { expires_at: null } })
  })

  it('disables and enables', async () => {
    expect(await change({ disabled: true, name: 'asleep' })).toMatchObject({ value: { state: 'disabled' } })
    expect(await books.finder.find(made.key)).toMatchObject({ reason: 'disabled' })
    expect(await change({ disabled: false })).toMatchObject({ value: { state: 'active', name: 'asleep' } })
    expect(await books.finder.find(made.key)).toMatchObject({ kind: 'caller' })
  })

  it('keeps what two who change different limits in the same moment have set', async () => {
    await Promise.all([change({ limits: { concurrent: 1 } }), change({ limits: { tokens_per_minute: 7 } })])
    expect(await change({})).toMatchObject({
      value: { limits: { concurrent: 1, requests_per_minute: 60, tokens_per_minute: 7 } },
    })
  })

  it.each([
    [{ models: ['demo', 'plan-only'] }, 'model_not_found'],
    [{ expires: '2001-01-01' }, 'invalid_expiry'],
    [{ expires: '' }, 'invalid_expiry'],
    [{ caps: { day: '0' } }, 'invalid_amount'],
    [{ caps: { month: '1e3' } }, 'invalid_amount'],
  ])('changes nothing when one of them cannot be: %j', async (wrong, reason) => {
    expect(await change({ name: 'half', disabled: true, ...wrong })).toMatchObject({ kind: 'refused', reason })
    expect(await change({})).toMatchObject({ value: { name: 'ci', state: 'active', caps: { day: '5.00' } } })
  })

  it('is refused by a revoked key, and for the key of another account told like none', async () => {
    expect(await change({ name: 'mine' }, BEN)).toMatchObject({ reason: 'key_not_found' })
    expect(await changeKey(books.deps, made.id, { revoked_at: 1 }, BEN)).toMatchObject({ reason: 'key_not_found' })
    await changeKey(books.deps, made.id, { revoked_at: 1 })
    expect(await change({ name: 'x' })).toMatchObject({ reason: 'key_revoked' })
    expect(await change({ disabled: false })).toMatchObject({ reason: 'key_revoked' })
  })
})

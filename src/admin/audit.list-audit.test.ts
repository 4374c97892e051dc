import { afterEach, beforeEach, expect, it } from 'vitest'
import { given, openTestPeople, refusalOf, type TestPeople } from '../../test/fixtures/admin/people.ts'
import type { AccountRow } from '../model/ids.ts'
import { listAudit, listWholeAudit } from './audit.ts'

let people: TestPeople
beforeEach(async () => {
  people = await openTestPeople()
  for (const email of ['ann@example.com', 'ben@example.com']) await people.makeAccount(email)
  for (let act = 1; act <= 9; act++) {
    const account = act % 3 === 0 ? null : ((act % 3) as AccountRow)
    await people.services.audit.record({ actor: 'operator', action: 'key_created', target: `key_${act}`, account })
  }
})
afterEach(() => people.close())

const ANN = 1 as AccountRow

it('lists entries newest first in pages, each once', async () => {
  const seen: number[] = []
  let after: string | undefined
  do {
    const page = given(await listWholeAudit(people.services, { after, limit: 4 }))
    seen.push(...page.items.map(({ seq }) => seq))
    after = page.next ?? undefined
    await people.services.audit.record({ actor: 'system', action: 'signed_in', detail: 'concurrent' })
  } while (after !== undefined)
  expect(seen).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1])
})

it('shows an account only its own entries', async () => {
  const { items, next } = given(await listAudit(people.services, { account: ANN, limit: 50 }))
  expect(items.map(({ target }) => target)).toEqual(['key_7', 'key_4', 'key_1'])
  expect(next).toBeNull()
  expect(items[2]).toEqual({
    seq: 1,
    at: '2026-11-22T00:00:00.000Z',
    actor: 'operator',
    action: 'key_created',
    target: 'key_1',
    target_name: null,
    actor_name: null,
    detail: '',
  })
})

it('shows the entries of one key, without those of other accounts', async () => {
  for (const [action, account] of [
    ['key_rotated', 1],
    ['key_revoked', 2],
  ] as const) {
    await people.services.audit.record({ actor: 'operator', action, target: 'key_4', account: account as AccountRow })
  }
  const { items } = given(await listAudit(people.services, { account: ANN, target: 'key_4', limit: 50 }))
  expect(items.map(({ action }) => action)).toEqual(['key_rotated', 'key_created'])
  expect(given(await listAudit(people.services, { account: ANN, target: 'key_none', limit: 50 })).items).toEqual([])
})

it.each(['', '-1', '1.5', 'Z', '9'.repeat(30), ' 5'])('refuses the invalid cursor %j', async (after) => {
  expect(refusalOf(await listWholeAudit(people.services, { after, limit: 50 })).reason).toBe('invalid_cursor')
})

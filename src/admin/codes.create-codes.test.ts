import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { useTestLedger } from '../../test/fixtures/admin/use-test-ledger.ts'
import { codesPage, createCodesBody, madeCodes } from '../contract/operate.ts'
import type { AccountRow } from '../model/ids.ts'
import { createAccount } from './accounts.ts'
import { createCodes, listCodes, redeemCode, withdrawCode } from './codes.ts'

const fixture = useTestLedger()

async function make(terms = {}) {
  const args = createCodesBody.parse({ amount: '5.00', count: 3, note: 'workshop', ...terms })
  const outcome = await createCodes(fixture.services, args, 'person_1')
  if (outcome.kind === 'refused') throw new Error(outcome.message)
  return madeCodes.parse(outcome.value).items
}

async function list(args: { after?: string; limit: number }) {
  const outcome = await listCodes(fixture.services, args)
  if (outcome.kind === 'refused') throw new Error(outcome.message)
  return codesPage.parse(outcome.value)
}

describe('codes', () => {
  it('are created together, each with a text that is returned once and stored nowhere', async () => {
    const items = await make({ count: 100, expires: '90d' })
    expect(new Set(items.map(({ secret }) => secret)).size).toBe(100)
    const rows = await fixture.services.db.selectFrom('codes').selectAll().execute()
    expect(new Set(rows.map(({ batch }) => batch)).size).toBe(1)
    expect(rows[0]).toMatchObject({ created_by: 'person_1', note: 'workshop', amount_nano: 5_000_000_000n })
    const dump = inspect(rows, { maxArrayLength: null })
    for (const { secret } of items) expect(dump).not.toContain(secret.slice(9, 20))
    for (const { code } of items) expect(code).toMatchObject({ state: 'open', amount: '5.00', redeemed_by: null })
  })

  it.each([
    { amount: '0' },
    { amount: '-5.00' },
    { amount: '1000000.01' },
    { amount: '1e3' },
    { amount: '' },
    { expires: '2001-01-01' },
    { expires: 'soon' },
  ])('are refused for %j', async (wrong) => {
    const outcome = await createCodes(fixture.services, { amount: '5.00', count: 1, note: '', ...wrong })
    expect(outcome).toMatchObject({ kind: 'refused', reason: /^invalid_/ })
    expect(await list({ limit: 10 })).toEqual({ items: [], next: null })
  })

  it.each([{ count: 0 }, { count: 101 }, { count: 1.5 }, { note: 'a\nb' }, { note: 'x'.repeat(201) }])(
    'are not ordered as %j',
    (wrong) => {
      expect(createCodesBody.safeParse({ amount: '5.00', count: 1, note: '', ...wrong }).success).toBe(false)
    },
  )

  it('are listed newest first in pages, with their state', async () => {
    await createAccount(fixture.services, { email: 'ada@example.com' })
    const items = [...(await make()), ...(await make({ expires: '1m' })), ...(await make({ note: '' }))]
    await redeemCode(fixture.services, 1 as AccountRow, { code: items[0]!.secret })
    await withdrawCode(fixture.services, { code: items[1]!.code.id })
    const pages = [await list({ limit: 4 })]
    while (pages.at(-1)!.next !== null) pages.push(await list({ limit: 4, after: pages.at(-1)!.next! }))
    expect(pages.map((page) => page.items.length)).toEqual([4, 4, 1])
    const listed = pages.flatMap((page) => page.items)
    expect(listed.map(({ id }) => id)).toEqual(items.map(({ code }) => code.id).reverse())
    expect(listed.at(-1)).toMatchObject({ state: 'redeemed', redeemed_by: expect.stringMatching(/^acct_/) })
    expect(listed.at(-2)).toMatchObject({ state: 'withdrawn', redeemed_at: null })
    const later = {
      ...fixture.services,
      clock: { ...fixture.services.clock, now: () => fixture.services.clock.now() + 60_001 },
    }
    expect(await listCodes(later, { after: items[6]!.code.id, limit: 1 })).toMatchObject({
      value: { items: [{ state: 'expired' }] },
    })
    expect(await listCodes(fixture.services, { after: 'code_nobody', limit: 1 })).toMatchObject({
      reason: 'code_not_found',
    })
  })

  it('are withdrawn by id or text, also twice, without repeating the text', async () => {
    const [first, second, third] = await make()
    expect(await withdrawCode(fixture.services, { code: first!.code.id })).toMatchObject({
      value: { state: 'withdrawn' },
    })
    expect(await withdrawCode(fixture.services, { code: first!.code.id })).toMatchObject({
      value: { state: 'withdrawn' },
    })
    const byText = await withdrawCode(fixture.services, { code: second!.secret.toLowerCase() })
    expect(byText).toMatchObject({ value: { id: second!.code.id, state: 'withdrawn' } })
    const mistyped = third!.secret.replace(/.$/, (letter) => (letter === 'A' ? 'B' : 'A'))
    const refused = await withdrawCode(fixture.services, { code: mistyped })
    expect(refused).toMatchObject({ kind: 'refused', reason: 'code_not_found' })
    expect(JSON.stringify(refused)).not.toContain(mistyped.slice(4, 20))
    expect(await withdrawCode(fixture.services, { code: 'code_nobody' })).toMatchObject({ message: /code_nobody/ })
  })
})

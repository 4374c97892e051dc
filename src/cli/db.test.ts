import { expect, it } from 'vitest'
import { commandLine, done } from '../../test/fixtures/cli/run-cli.ts'
import type { ClockReport } from '../admin/ledger-maintenance.ts'
import type { MoveOutcome, MoveReport } from './cli-services.ts'

const report = (over: Partial<ClockReport>) =>
  done({
    ...{ state: 'together', ledger_time: '2026-11-23T10:00:00.000Z', wall_time: '2026-11-23T10:00:00.000Z' },
    ...{ ahead_seconds: 0, follows_in_seconds: null, did: 'show', ahead: [], to_look_at: [], ...over },
  })

it('shows how the clocks differ, the affected rows, and the repair command', async () => {
  const ahead = report({
    ...{ state: 'ahead', ahead_seconds: 34_560_000 },
    ahead: [
      { what: 'windows', count: 3 },
      { what: 'kept_answers', count: 2 },
      { what: 'sessions', count: 0 },
    ],
    to_look_at: [{ what: 'keys', count: 22, ids: ['key_1', 'key_2'] }],
  })
  const { emitted, run, asked } = commandLine({ operations: { 'db.clock': ahead } })
  expect(await run('db clock')).toBe(0)
  expect(asked.map(({ name }) => name)).toEqual(['db.clock'])
  expect(emitted.out).toMatch(
    /ledger time is 400 days ahead of the wall clock; to repair: millrace db clock --set-back/,
  )
  expect(emitted.err).toMatch(/windows +3\nkept answers +2\n/)
  expect(emitted.err).not.toContain('sessions')
  expect(emitted.err).toContain('Check when these keys end, which only you can know: key_1, key_2 and 20 more')
})

it('shows when a step is followed, and how a clock that is behind catches up', async () => {
  const step = report({ state: 'step', ahead_seconds: -7200, follows_in_seconds: 240 })
  const stepped = commandLine({ operations: { 'db.clock': step } })
  await stepped.run('db clock')
  expect(stepped.emitted.out).toMatch(/stepped 2 h forward; ledger time follows in 4 min, or now with: .*--follow/)
  const behind = commandLine({ operations: { 'db.clock': report({ state: 'catching-up', ahead_seconds: 90 }) } })
  await behind.run('db clock')
  expect(behind.emitted.out).toMatch(/90 s behind; ledger time runs at half speed/)
})

it('sets back or follows, but not both', async () => {
  const operations = {
    'db.clock.set-back': report({ did: 'set-back', ahead: [{ what: 'caps', count: 4 }] }),
    'db.clock.follow': report({ did: 'nothing' }),
  }
  const { emitted, run, asked } = commandLine({ operations })
  expect(await run('db clock --set-back')).toBe(0)
  expect(emitted.err).toMatch(/Ledger time was set back.*\nSpend caps count .*\n.*repaired +rows\ncaps +4\n/)
  expect(await run('db clock --follow')).toBe(0)
  expect(emitted.err).toMatch(/Nothing to do/)
  expect(asked.map(({ name }) => name)).toEqual(['db.clock.set-back', 'db.clock.follow'])
  expect(await run('db clock --follow --set-back')).toBe(2)
})

const moveReport = (over: Partial<MoveReport> = {}): MoveOutcome => ({
  kind: 'done',
  report: {
    ...{ ok: true, from: 'sqlite', to: 'postgres', next: ['Set storage.database.'] },
    tables: [
      { table: 'accounts', rows: 3, equal: true },
      { table: 'receipts', rows: 1_000_000, equal: over.ok !== false },
    ],
    checks: [{ name: 'held is the sum of open holds', violations: over.ok === false ? 2 : 0 }],
    ...over,
  },
})

it('shows each table that moved, whether it is equal, and what to do next', async () => {
  const { emitted, run, moves } = commandLine({ moved: moveReport() })
  expect(await run('db move --to postgres://db/millrace')).toBe(0)
  expect(moves).toEqual(['postgres://db/millrace'])
  expect(emitted.out).toMatch(/table +rows +equal\naccounts +3 +yes\nreceipts +1000000 +yes\n/)
  expect(emitted.err).toMatch(/Copying …\n.*All rows are equal.*\nSet storage\.database\./s)
  const json = commandLine({ moved: moveReport() })
  await json.run('db move --to postgres://db/millrace --json')
  expect(JSON.parse(json.emitted.out)).toMatchObject({
    ok: true,
    tables: [{ table: 'accounts', rows: 3, equal: true }, {}],
  })
  expect(json.emitted.err).toBe('')
})

it('ends with 1 when a table differs or the ledger does not balance, and with its reason when the move is refused', async () => {
  const { emitted, run } = commandLine({ moved: moveReport({ ok: false }) })
  expect(await run('db move --to folder')).toBe(1)
  expect(emitted.out).toMatch(/receipts +1000000 +no/)
  expect(emitted.err).toMatch(/Not moved: .*nothing starts on it.*\nheld is the sum of open holds: 2 violations/s)
  const refused = commandLine({ moved: { kind: 'refused', exit: 4, message: 'It is in use.' } })
  expect(await refused.run('db move --to folder')).toBe(4)
  expect(refused.emitted.err).toContain('It is in use.')
  expect(await refused.run('db move')).toBe(2)
})

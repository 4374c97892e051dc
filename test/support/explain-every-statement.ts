import { afterAll, expect, vi } from 'vitest'
import { KNOWN_SCANS } from './known-scans.ts'
import { type ExplainedStatement, explainSent, watchStatements } from './query-plans.ts'

/** Every walk is also a walk over the statements of the server: whatever they send has to be found, not searched for. */
type Module = typeof import('../../src/store/open-database.ts')
const MODULE = '../../src/store/open-database.ts'

vi.mock('../../src/store/open-database.ts', async (importActual) => {
  const actual = await importActual<Module>()
  const openDatabase: Module['openDatabase'] = async (options) => watchStatements(await actual.openDatabase(options))
  return { ...actual, openDatabase }
})

afterAll(async () => {
  const { openDatabase } = await vi.importActual<Module>(MODULE)
  const searched = (await explainSent(openDatabase)).filter((statement) => scansOf(statement).length > 0)
  const words = searched.map((statement) => `${scansOf(statement).join('; ')}\n  in ${statement.sql}`)
  expect(words, 'statements that read a whole table: give them an index, or a reason in known-scans.ts').toEqual([])
})

/** An automatic index is made anew each time, out of everything that is there. */
const isScan = (step: string): boolean => /\bSCAN\b|\bAUTOMATIC\b/.test(step)

const scansOf = ({ sql, steps }: ExplainedStatement): string[] =>
  steps
    .filter(isScan)
    .filter((step) => !KNOWN_SCANS.some((known) => known.step.test(step) && (known.of?.test(sql) ?? true)))

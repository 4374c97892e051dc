import { afterAll, expect } from 'vitest'
import { KNOWN_SCANS } from './known-scans.ts'
import { type ExplainedStatement, explainSent } from './query-plans.ts'

/** Every walk is also a walk over the statements of the server: whatever they send has to be found, not searched for. */
afterAll(async () => {
  const searched = (await explainSent()).filter((statement) => scansOf(statement).length > 0)
  const words = searched.map((statement) => `${scansOf(statement).join('; ')}\n  in ${statement.sql}`)
  expect(words, 'statements that read a whole table: give them an index, or a reason in known-scans.ts').toEqual([])
})

/** SQLite builds an automatic index each time, from the whole table. */
const isScan = (step: string): boolean => /\bSCAN\b|\bAUTOMATIC\b/.test(step)

const scansOf = ({ sql, steps }: ExplainedStatement): string[] =>
  steps
    .filter(isScan)
    .filter((step) => !KNOWN_SCANS.some((known) => known.step.test(step) && (known.of?.test(sql) ?? true)))

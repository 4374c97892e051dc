import { appendFileSync } from 'node:fs'
import { afterAll, vi } from 'vitest'
import { explainSent, watchStatements } from './query-plans.ts'

vi.mock('../../src/store/open-database.ts', async (importActual) => {
  const actual = await importActual<typeof import('../../src/store/open-database.ts')>()
  return {
    ...actual,
    openDatabase: async (options: Parameters<typeof actual.openDatabase>[0]) =>
      watchStatements(await actual.openDatabase(options)),
  }
})

afterAll(async () => {
  const { openDatabase } = await vi.importActual<typeof import('../../src/store/open-database.ts')>(
    '../../src/store/open-database.ts',
  )
  for (const s of await explainSent(openDatabase))
    if (s.steps.some((x) => /SCAN|AUTOMATIC/.test(x))) appendFileSync('/tmp/scans.jsonl', `${JSON.stringify(s)}\n`)
})

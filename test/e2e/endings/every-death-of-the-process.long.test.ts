import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { COLUMNS } from './columns.ts'
import { DEATHS } from './deaths.ts'
import { type DyingProgram, prepareDyingProgram } from './dying-program.ts'
import { callersOf } from './participants.ts'
import { playDeath } from './run-death.ts'

const cells = DEATHS.flatMap((death) => COLUMNS.flatMap(() => callersOf(death)))
/** A process is started, and the books are opened twice. */
const TIMEOUT_MS = 60_000

describe(`kill -9 at every point, in every column: ${cells.length} cells`, { timeout: TIMEOUT_MS }, () => {
  let program: DyingProgram
  beforeAll(() => {
    program = prepareDyingProgram()
  })
  afterAll(() => program?.close())

  it.each(DEATHS.map((death) => ({ title: death.name, death })))('$title', async ({ death }) => {
    const judged = await playDeath(program, death)
    const byColumn = (side: 'found' | 'expected') =>
      Object.fromEntries([...judged].map(([{ name }, { [side]: verdicts }]) => [name, verdicts]))
    expect(byColumn('found')).toEqual(byColumn('expected'))
  })
})

console.log(`endings matrix, deaths: ${DEATHS.length} endings, ${cells.length} cells`)

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { COLUMNS, type Column, columnNamed } from './columns.ts'
import type { Ending } from './ending.ts'
import { ENDINGS } from './endings.ts'
import { callersOf } from './participants.ts'
import { playEnding } from './run-ending.ts'
import { openStage, playedIn, type Stage } from './stage.ts'

/** `WHOLE_MATRIX=1` plays every ending in every column, as `npm run test:all` does. */
const isWhole = process.env.WHOLE_MATRIX === '1'

/** What of a column an ending can depend on. */
export const traitsOf = ({ path, delivery, variant, wire }: Column): readonly string[] => [
  `client ${path} ${delivery}${variant === 'compacted' ? ' compacted' : ''}`,
  `wire ${wire}`,
  `variant ${variant}`,
]

/**
 * The columns of each ending: together they have each client, wire and kind of delivery that it can have. Of columns that would do
 * equally well, the one is chosen that has been chosen least.
 */
export function chooseColumns(): readonly (readonly Column[])[] {
  const times = new Map(COLUMNS.map((column) => [column, 0]))
  return ENDINGS.map((ending) => {
    const possible = COLUMNS.filter((column) => playedIn(column, [ending]).length > 0)
    const missing = new Set(possible.flatMap(traitsOf))
    const gain = (column: Column) => traitsOf(column).filter((trait) => missing.has(trait)).length
    const chosen: Column[] = []
    while (missing.size > 0) {
      const [best] = [...possible].sort((a, b) => gain(b) - gain(a) || times.get(a)! - times.get(b)!)
      for (const trait of traitsOf(best!)) missing.delete(trait)
      times.set(best!, times.get(best!)! + 1)
      chosen.push(best!)
    }
    return chosen
  })
}

/** The endings of one column, or those of them that are chosen. */
export function describeColumn(name: string, chosen?: (ending: Ending) => boolean): void {
  const column = columnNamed(name)
  const columns = chooseColumns()
  const endings = ENDINGS.filter((ending, index) =>
    chosen ? chosen(ending) : isWhole || columns[index]!.includes(column),
  )
  const played = playedIn(column, endings)
  const cells = played.flatMap(({ ending }) => callersOf(ending))

  describe(`endings, ${name}: ${cells.length} cells`, () => {
    let stage: Stage
    beforeAll(async () => {
      stage = await openStage(played)
    })
    afterAll(() => stage?.close())

    it.each(played.map((each) => ({ title: each.ending.name, each })))('$title', async ({ each }) => {
      const { expected, found } = await playEnding(stage, column, each)
      expect(found).toEqual(expected)
    })
  })
  console.log(`endings matrix, ${name}: ${played.length} endings, ${cells.length} cells`)
}

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { columnNamed } from './columns.ts'
import { ENDINGS } from './endings.ts'
import { callersOf } from './participants.ts'
import { playEnding } from './run-ending.ts'
import { openStage, playedIn, type Stage } from './stage.ts'

/** Every ending in one column. */
export function describeColumn(name: string): void {
  const column = columnNamed(name)
  const played = playedIn(column, ENDINGS)
  const cells = played.flatMap(({ ending }) => callersOf(ending))

  describe(`every ending, ${name}: ${cells.length} cells`, () => {
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

import { describe, expect, it } from 'vitest'
import { readChargesPage } from './charges-page.ts'
import { COLUMNS } from './columns.ts'
import { DEATHS } from './deaths.ts'
import { chooseColumns, traitsOf } from './describe-column.ts'
import type { Course, Ending } from './ending.ts'
import { ENDINGS } from './endings.ts'
import { ROWS } from './rows.ts'
import { playedIn } from './stage.ts'

const all: readonly Ending[] = [...ENDINGS, ...DEATHS]
const courses = all.flatMap(({ json, stream, collected, compacted }) =>
  [json, stream, collected, compacted].flatMap((each) => each ?? []),
)
const rowsOf = ({ row, withKey, asBuilder, whenStored, whenStreamed }: Course): string[] =>
  [row, withKey?.row, asBuilder?.row, whenStored?.row, whenStreamed?.row].flatMap((each) => each ?? [])

describe('docs/operate/charges.md', () => {
  it('lists exactly the endings tested here', () => {
    const published = readChargesPage().map(({ ending }) => ending)
    expect([...published].sort()).toEqual(Object.values(ROWS).sort())
    expect(new Set(courses.flatMap(rowsOf))).toEqual(new Set(published))
    expect(new Set(published).size).toBe(published.length)
  })

  it('every ending has a unique name', () => {
    const names = all.map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
  })
})

describe('the columns in which an ending is played', () => {
  const columns = chooseColumns()

  it('have each client, wire and kind of delivery that the ending can have', () => {
    for (const [index, ending] of ENDINGS.entries()) {
      const possible = COLUMNS.filter((column) => playedIn(column, [ending]).length > 0)
      expect(new Set(columns[index]!.flatMap(traitsOf)), ending.name).toEqual(new Set(possible.flatMap(traitsOf)))
    }
  })

  it('are each of them, for many endings', () => {
    for (const column of COLUMNS) {
      expect(columns.filter((each) => each.includes(column)).length, column.name).toBeGreaterThan(10)
    }
  })
})

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { filesBelow, ROOT, textOf } from './source-files.ts'

const FOLDER = 'test/e2e/lessons'
const LESSONS = Array.from({ length: 32 }, (_, index) => `A${index + 1}`)

interface Row {
  readonly lesson: string
  readonly file: string
  readonly test: string
}

const ROW = /^\| (A\d+) \| [^|]+ \| `([^`|]+)` \| `([^`|]+)` \|$/
const rowsOf = (page: string): Row[] =>
  page.split('\n').flatMap((line) => {
    const [, lesson = '', file = '', test = ''] = ROW.exec(line) ?? []
    return lesson === '' ? [] : [{ lesson, file: file.includes('/') ? file : `${FOLDER}/${file}`, test }]
  })

/** The name stands in the file as a text of its own: behind its quote and before the next one. */
const hasTest = (text: string, name: string): boolean =>
  ["'", '"', '`'].some((quote) => text.includes(quote + name + quote))

/** The lessons that titles of tests begin with, such as `'A9, A13: …`. */
const titlesIn = (text: string): string[] =>
  [...text.matchAll(/['"`]((?:A\d+(?:, )?)+: .+?)['"`](?=, (?:async )?\()/g)].map(([, title = '']) => title)

describe('the table of lessons', () => {
  const page = textOf(`${FOLDER}/README.md`)
  const rows = rowsOf(page)

  it('has every lesson, and no other', () => {
    const named = new Set(rows.map(({ lesson }) => lesson))
    expect(LESSONS.filter((lesson) => !named.has(lesson))).toEqual([])
    expect([...named].filter((lesson) => !LESSONS.includes(lesson))).toEqual([])
  })

  it('names tests that are there', () => {
    const missing = rows.filter(({ file, test }) => !existsSync(join(ROOT, file)) || !hasTest(textOf(file), test))
    expect(missing).toEqual([])
  })

  it('leaves out no test that is named after a lesson', () => {
    const files = filesBelow(FOLDER).filter((path) => path.endsWith('.test.ts'))
    const titles = files.flatMap((path) => titlesIn(textOf(path)))
    expect(titles.length).toBeGreaterThan(LESSONS.length / 2)
    expect(titles.filter((title) => !rows.some(({ test }) => test === title))).toEqual([])
  })

  it('says of what is to come which part brings it', () => {
    const later = page
      .slice(page.indexOf('## What of them'))
      .split('\n')
      .filter((line) => /^\| A\d+ \|/.test(line))
    expect(later.length).toBeGreaterThan(0)
    expect(later.filter((line) => !/^\| A\d+ \| [^|]{5,} \| [^|]{5,} \|$/.test(line))).toEqual([])
  })

  it('would be noticed with a row that is wrong', () => {
    expect(rowsOf('| A1 | words | `a.test.ts` | `A1: a name` |')).toEqual([
      { lesson: 'A1', file: `${FOLDER}/a.test.ts`, test: 'A1: a name' },
    ])
    expect(hasTest("it('A1: a name', () => {})", 'A1: a name')).toBe(true)
    expect(hasTest("it('A1: a name that is longer', () => {})", 'A1: a name')).toBe(false)
    expect(titlesIn("it('A1, A2: a name', async () => {})")).toEqual(['A1, A2: a name'])
  })
})

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { judgeFile } from './judge-file.mjs'
import { sumRuns } from './sum-runs.mjs'

const TEXT = `const kind = given ?? 'none'
if (kind === 'a') sayA()
else if (kind === 'b') {
  sayB()
} else assertNever(kind)
const twice = (number) => number * 2
function never() {
  return twice(1)
}
`

let dist
let path
beforeEach(() => {
  dist = join(mkdtempSync(join(tmpdir(), 'millrace-count-')), 'dist')
  path = `${dist}.js`
  writeFileSync(path, TEXT)
  // The build keeps line numbers.
  const mappings = TEXT.split('\n').map((_, line) => (line === 0 ? 'AAAA' : 'AACA'))
  writeFileSync(
    `${path}.map`,
    JSON.stringify({ version: 3, sources: ['x.ts'], names: [], mappings: mappings.join(';') }),
  )
})
afterEach(() => rmSync(join(dist, '..'), { recursive: true }))

/** In V8's form: the whole ran, except these ranges. */
const taken = (...notRun) => {
  const range = (text, count) => ({
    startOffset: TEXT.indexOf(text),
    endOffset: TEXT.indexOf(text) + text.length,
    count,
  })
  const [outer, ...inner] = [range(TEXT, 1), ...notRun.map((text) => range(text, 0))]
  return [{ url: pathToFileURL(path).href, functions: [{ ranges: [outer, ...inner] }] }]
}
const judge = (...coverageResults) => {
  const folder = join(dist, '..')
  return judgeFile(path, sumRuns(coverageResults, folder).get('dist.js'))
}

describe('coverage of a file', () => {
  it('counts lines where statements begin, and branches except unreachable ones', () => {
    const { lines, branches } = judge(taken("'none'", 'sayA()', 'return twice(1)'))
    expect(lines).toEqual({ all: 6, run: 5, missing: [8] })
    // The default, two arms of one decision and one of the other: `assertNever` is none.
    expect(branches).toEqual({ all: 4, run: 2, missing: [1, 2] })
  })

  it('combines all processes', () => {
    const both = judge(taken("'none'", 'sayA()'), taken("'none'", 'return twice(1)'))
    expect([both.lines.missing, both.branches.missing]).toEqual([[], [1]])
  })

  it('is empty for a file that was never loaded', () => {
    const { lines, branches } = judge()
    expect([lines.run, branches.run]).toEqual([0, 0])
  })
})

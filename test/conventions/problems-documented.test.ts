import { describe, expect, it } from 'vitest'
import { PROBLEMS } from '../../src/model/problem.ts'
import { textOf } from './source-files.ts'

/** What the retry column says for each way in which `model/problem.ts` decides it. */
const RETRY_WORDS = {
  no: '–',
  never: '`x-should-retry: false`',
  after: '`retry-after`',
  reset: '`retry-after`, `x-should-retry: false`',
} as const

const ROW = /^\| `([a-z_]+)` \| (\d{3}) \| `([a-z_]+)` \| ([^|]*?) \| (.+) \|$/

const documentedRows = (page: string) =>
  page.split('\n').flatMap((line) => {
    const [, code, status, type, retry, when] = ROW.exec(line) ?? []
    return code === undefined ? [] : [{ row: `${code} ${status} ${type} ${retry}`, when: when ?? '' }]
  })

const decidedRows = Object.entries(PROBLEMS).map(
  ([code, { status, type, retry }]) => `${code} ${status} ${type} ${RETRY_WORDS[retry]}`,
)

describe('docs/api/errors.md', () => {
  const rows = documentedRows(textOf('docs/api/errors.md'))

  it('lists exactly the problems of model/problem.ts, with their status, type and retry', () => {
    expect(rows.map(({ row }) => row).sort()).toEqual([...decidedRows].sort())
  })

  it('says of each when it is sent and what helps', () => {
    expect(rows.filter(({ when }) => when.length < 20)).toEqual([])
  })

  it('would be noticed with a row too many, too few or different', () => {
    expect(documentedRows('| `a_code` | 418 | `a_type` | – | Sent when the pot is short and stout. |')).toEqual([
      { row: 'a_code 418 a_type –', when: 'Sent when the pot is short and stout.' },
    ])
  })
})

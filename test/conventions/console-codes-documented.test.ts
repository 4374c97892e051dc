import { expect, it } from 'vitest'
import { REFUSAL_STATUSES } from '../../src/server/route-replies.ts'
import { textOf } from './source-files.ts'

/** A row may name several codes that have one status. */
const documented = (page: string): string[] =>
  page.split('\n').flatMap((line) => {
    const [, codes, status] = /^\| ((?:`[a-z_]+`(?:, )?)+) \| (\d{3}) \| .{10,} \|$/.exec(line) ?? []
    return (codes ?? '').split(', ').flatMap((code) => (code === '' ? [] : [`${code.replaceAll('`', '')} ${status}`]))
  })

it('docs/operate/console.md lists exactly the codes that the console is told, with their status', () => {
  const decided = Object.entries(REFUSAL_STATUSES).map(([code, status]) => `${code} ${status}`)
  expect(documented(textOf('docs/operate/console.md')).toSorted()).toEqual(decided.toSorted())
})

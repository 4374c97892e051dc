import { expect, it } from 'vitest'
import { CONSOLE_CODES } from '../../src/server/console/errors.ts'
import { textOf } from './source-files.ts'

/** A row may name several codes that have one status. */
const documented = (page: string): string[] =>
  page.split('\n').flatMap((line) => {
    const [, codes, status] = /^\| ((?:`[a-z_]+`(?:, )?)+) \| (\d{3}) \| .{10,} \|$/.exec(line) ?? []
    return (codes ?? '').split(', ').flatMap((code) => (code === '' ? [] : [`${code.replaceAll('`', '')} ${status}`]))
  })

it('docs/operate/console.md lists exactly the codes that the console is told, with their status', () => {
  const decided = Object.entries(CONSOLE_CODES).map(([code, status]) => `${code} ${status}`)
  expect(documented(textOf('docs/operate/console.md')).toSorted()).toEqual(decided.toSorted())
})

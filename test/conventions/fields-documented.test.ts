import { expect, it } from 'vitest'
import { CHAT_FIELDS } from '../../src/protocols/chat/parse-request.ts'
import { RESPONSES_FIELDS } from '../../src/protocols/responses/fields.ts'
import { textOf } from './source-files.ts'

const ROW = /^\| `([a-z_]+)` \| ([a-z-]+) \|/

const documented = (page: string): string[] =>
  page.split('\n').flatMap((line) => {
    const [, field, policy] = ROW.exec(line) ?? []
    return field === undefined ? [] : [`${field} ${policy}`]
  })

it.each([
  ['chat', CHAT_FIELDS],
  ['responses', RESPONSES_FIELDS],
])('docs/protocols/%s-fields.md says of each field what the fields.ts of that protocol decides', (protocol, table) => {
  const decided = Object.entries(table).map(([field, { policy }]) => `${field} ${policy}`)
  expect(documented(textOf(`docs/protocols/${protocol}-fields.md`))).toEqual(decided)
})

it('a row with another policy would be noticed', () => {
  expect(documented('| `model` | passed | an id |')).toEqual(['model passed'])
})

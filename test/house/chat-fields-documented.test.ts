import { expect, it } from 'vitest'
import { CHAT_FIELDS } from '../../src/wire/chat/fields.ts'
import { textOf } from './source-files.ts'

const ROW = /^\| `([a-z_]+)` \| ([a-z-]+) \|/

const documented = (page: string): string[] =>
  page.split('\n').flatMap((line) => {
    const [, field, policy] = ROW.exec(line) ?? []
    return field === undefined ? [] : [`${field} ${policy}`]
  })

it('docs/protocols/chat-fields.md says of each field what wire/chat/fields.ts decides', () => {
  const decided = Object.entries(CHAT_FIELDS).map(([field, { policy }]) => `${field} ${policy}`)
  expect(documented(textOf('docs/protocols/chat-fields.md'))).toEqual(decided)
})

it('a row with another policy would be noticed', () => {
  expect(documented('| `model` | passed | an id |')).toEqual(['model passed'])
})

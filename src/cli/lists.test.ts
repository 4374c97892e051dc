import { expect, it } from 'vitest'
import { columnsOf, styleFor } from './format.ts'
import { showList } from './lists.ts'

it.each([
  [50, "millrace keys list --account 'two words; it'\\''s' --after key_1"],
  [3, "millrace keys list --account 'two words; it'\\''s' --limit 3 --after key_1"],
])('prints a command for the next page that a shell takes as it is, %d on a page', (limit, command) => {
  const shown = showList(styleFor(false), {
    ...{ columns: columnsOf('id'), rows: [['key_2']], next: 'key_1', none: 'None' },
    ...{ command: ['keys', 'list', '--account', "two words; it's"], page: { limit } },
  })
  expect(shown).toEqual({ data: 'id\nkey_2\n', aside: `There are more:  ${command}\n` })
})

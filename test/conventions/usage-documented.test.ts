import { expect, it } from 'vitest'
import { USAGE_ROWS } from '../fixtures/protocols/chat/usage-rows.ts'
import { RESPONSES_USAGE_ROWS } from '../fixtures/protocols/responses/usage-rows.ts'
import { textOf } from './source-files.ts'

const [, CHAT = '', RESPONSES = ''] = textOf('docs/protocols/usage.md').split(/^## .+$/m)
const rowsOf = (section: string): string[] => section.split('\n').filter((line) => line.startsWith('| `'))

it('docs/protocols/usage.md has a row for each way of counting that is understood, with what it rests on', () => {
  expect(rowsOf(CHAT)).toEqual(
    USAGE_ROWS.map(
      ({ dialect, place, means, source }) => `| \`${dialect}\` | ${place} | ${means.join(', ')} | ${source} |`,
    ),
  )
  expect(rowsOf(RESPONSES)).toEqual(
    RESPONSES_USAGE_ROWS.map(({ dialect, means, source }) => `| \`${dialect}\` | ${means.join(', ')} | ${source} |`),
  )
})

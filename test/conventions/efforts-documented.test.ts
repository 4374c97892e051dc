import { expect, it } from 'vitest'
import { CHAT_DIALECTS, type ChatDialect } from '../../src/protocols/chat/dialects.ts'
import { textOf } from './source-files.ts'

const PAGE = textOf('docs/protocols/efforts.md')
const NAMES = new Set(CHAT_DIALECTS.map(({ name }) => name))

const cellsOf = (line: string): string[] => line.split('|').map((cell) => cell.trim())

const documented = (page: string): string[][] =>
  page
    .split('\n')
    .map(cellsOf)
    .filter(([, name = '']) => NAMES.has(name.replaceAll('`', '')))
    .map((cells) => cells.slice(1, -1))

const decided = ({ name, effort, effortSwitches, traits }: ChatDialect): string[] => [
  `\`${name}\``,
  effort,
  Object.entries(traits.efforts ?? {})
    .map((spelling) => spelling.join(': '))
    .join(', '),
  effortSwitches.map((field) => `\`${field}\``).join(', '),
]

it('docs/protocols/efforts.md says of each server that speaks Chat where it reads an effort, and in which words', () => {
  expect(documented(PAGE)).toEqual(CHAT_DIALECTS.map(decided))
})

it('has a row for every place that a row names', () => {
  const [, places = ''] = PAGE.split('| Where | A word |')
  const named = places.split('\n').map((line) => cellsOf(line)[1])
  for (const { effort } of CHAT_DIALECTS) expect(named).toContain(effort)
})

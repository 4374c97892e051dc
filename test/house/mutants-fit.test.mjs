import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { MUTANTS } from '../mutants/lib/mutations.mjs'

const ROOT = new URL('../../', import.meta.url)

const placesOf = ({ file, find }) => readFileSync(new URL(file, ROOT), 'utf8').split(find).length - 1

it('every mutant of the source finds the one place that it spoils: a stale one would prove nothing, and says so only in the long suites', () => {
  const stale = MUTANTS.flatMap(({ name, replacements }) =>
    replacements.filter((replacement) => placesOf(replacement) !== 1).map(({ file }) => `${name}: ${file}`),
  )
  expect(stale).toEqual([])
})

it('a mutant whose place has changed would be noticed', () => {
  expect(placesOf({ file: 'src/ledger/state/admit-turn.ts', find: 'no such line' })).toBe(0)
})

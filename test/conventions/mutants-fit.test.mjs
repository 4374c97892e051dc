import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { chooseMutants } from '../chaos/lib/mutations.mjs'
import { MUTANTS } from '../mutants/lib/mutations.mjs'
import { MUTANTS as DURABILITY_MUTANTS } from '../power/lib/mutations.mjs'

const ROOT = new URL('../../', import.meta.url)

const placesOf = ({ file, find }, root = ROOT) => readFileSync(new URL(file, root), 'utf8').split(find).length - 1

const staleIn = (mutants, root) =>
  mutants.flatMap(({ name, replacements, control = [] }) =>
    [...replacements, ...control].filter((patch) => placesOf(patch, root) !== 1).map(({ file }) => `${name}: ${file}`),
  )

it('every mutant of the source matches exactly one place', () => {
  expect(staleIn(MUTANTS)).toEqual([])
})

it('every mutant of the built program matches exactly one place', () => {
  const mutants = [...chooseMutants(''), ...DURABILITY_MUTANTS]
  expect(mutants.length).toBeGreaterThan(10)
  expect(staleIn(mutants, new URL('dist/', ROOT))).toEqual([])
})

it('a mutant that matches nothing is noticed', () => {
  expect(placesOf({ file: 'src/ledger/state/turns.ts', find: 'no such line' })).toBe(0)
})

it('files of the built program that test programs load exist', () => {
  const folders = readdirSync(new URL('src/', ROOT)).join('|')
  const loaded = new RegExp(`'((?:${folders})/[\\w/-]+\\.js)'`, 'g')
  const named = ['power', 'chaos', 'soak', 'program', 'fuzz', 'recordings', 'clients'].flatMap((suite) =>
    readdirSync(new URL(`test/${suite}/`, ROOT), { recursive: true })
      .filter((file) => file.endsWith('.mjs'))
      .flatMap((file) => [...readFileSync(new URL(`test/${suite}/${file}`, ROOT), 'utf8').matchAll(loaded)])
      .map(([, file]) => file),
  )
  expect(named.length).toBeGreaterThan(10)
  expect(named.filter((file) => !existsSync(new URL(`src/${file.replace(/\.js$/, '.ts')}`, ROOT)))).toEqual([])
})

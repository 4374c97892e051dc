import { describe, expect, it } from 'vitest'
import { importsOf, programFiles, resolveImport, textOf } from './source-files.ts'

/** Protocols that only providers speak: a folder each. Clients speak the others too, and more of the program knows those. */
const LANES_ONLY = ['anthropic', 'gemini']
const GATHERS = 'src/wire/codecs.ts'
const CALLS = 'src/upstream/provider-kinds.ts'
/** Where every wire has to be known by its name: as a word of a type, or of the configuration. */
const NAMES_WIRES = new Set([
  ...['src/catalog/catalog.ts', 'src/model/event.ts'],
  ...['src/app/config/schema/upstream-schema.ts', 'src/app/config/resolve-config.ts'],
])

const isThere = (wire: string): boolean => programFiles().some(({ path }) => path.startsWith(`src/wire/${wire}/`))

describe.each(LANES_ONLY.filter(isThere))('the wire %s', (wire) => {
  const outside = programFiles().filter(({ path }) => !path.startsWith(`src/wire/${wire}/`))

  it('is imported by nobody but the table of codecs', () => {
    const importers = outside.filter((file) =>
      importsOf(file).some(
        ({ from }) => from.startsWith('.') && resolveImport(file, from).startsWith(`src/wire/${wire}/`),
      ),
    )
    expect(importers.map(({ path }) => path)).toEqual([GATHERS])
  })

  it('is one row where lanes are asked and one where providers are called', () => {
    const row = new RegExp(`^ {2}${wire}: \\{`, 'gm')
    for (const table of [GATHERS, CALLS]) expect(textOf(table).match(row)?.length, table).toBe(1)
  })

  it('is decided on by its name nowhere else', () => {
    const word = new RegExp(`'${wire}'`)
    const named = outside.filter(({ path, text }) => word.test(text) && !NAMES_WIRES.has(path))
    expect(named.map(({ path }) => path)).toEqual([])
  })
})

it('there is at least one that only providers speak', () => {
  expect(LANES_ONLY.filter(isThere)).not.toEqual([])
})

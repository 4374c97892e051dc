import { describe, expect, it } from 'vitest'
import { importsOf, programFiles, resolveImport, textOf } from './source-files.ts'

const GATHERS = 'src/protocols/wires.ts'
/** Where every wire has to be known by its name: as a word of a type, or of the configuration. */
const NAMES_WIRES = new Set([
  GATHERS,
  'src/model/wire.ts',
  'src/config/upstream-schema.ts',
  'src/config/from-litellm.ts',
])

/** What stands in the folder of every wire, because lanes speak it; and in those of clients' languages besides. */
const OF_LANES = ['dialects', 'read-events', 'write-request']
const OF_CLIENTS = ['parse-request', 'parse-conversation', 'encoder']

const filesIn = (folder: string): string[] =>
  programFiles().flatMap(({ path }) => {
    const [src, wire, own, name] = path.split('/')
    return src === 'src' && wire === 'protocols' && own === folder && name !== undefined
      ? [name.replace(/\.ts$/, '')]
      : []
  })
const FOLDERS = new Set(programFiles().flatMap(({ path }) => /^src\/protocols\/([^/]+)\//.exec(path)?.[1] ?? []))
const WIRES = [...FOLDERS].filter((folder) => filesIn(folder).includes('write-request'))
const CLIENTS = WIRES.filter((wire) => filesIn(wire).includes('parse-request'))
/** Protocols that only providers speak. Clients speak the others too, and more of the program knows those. */
const LANES_ONLY = WIRES.filter((wire) => !CLIENTS.includes(wire))

it('there are two that clients speak, and some that only providers do', () => {
  expect(CLIENTS).toEqual(['chat', 'responses'])
  expect(LANES_ONLY).not.toEqual([])
})

it.each(WIRES)('the wire %s has the same idea under the same name as the others', (wire) => {
  expect(filesIn(wire)).toEqual(expect.arrayContaining(OF_LANES))
})

it.each(CLIENTS)('the wire %s has what it takes to speak with a client', (wire) => {
  expect(filesIn(wire)).toEqual(expect.arrayContaining(OF_CLIENTS))
})

describe.each(LANES_ONLY)('the wire %s', (wire) => {
  const outside = programFiles().filter(({ path }) => !path.startsWith(`src/protocols/${wire}/`))

  it('is imported by the registry only', () => {
    const importers = outside.filter((file) =>
      importsOf(file).some(
        ({ from }) => from.startsWith('.') && resolveImport(file, from).startsWith(`src/protocols/${wire}/`),
      ),
    )
    expect(importers.map(({ path }) => path)).toEqual([GATHERS])
  })

  it('is one row of the registry', () => {
    const row = new RegExp(`^ {2}${wire}: \\{`, 'gm')
    expect(textOf(GATHERS).match(row)?.length).toBe(1)
  })

  it('is decided on by its name nowhere else', () => {
    const word = new RegExp(`'${wire}'`)
    const named = outside.filter(({ path, text }) => word.test(text) && !NAMES_WIRES.has(path))
    expect(named.map(({ path }) => path)).toEqual([])
  })

  it('has a page that says what becomes of a request on the way to it', () => {
    expect(textOf(`docs/protocols/to-${wire}.md`)).toMatch(/^# /)
  })
})

import { describe, expect, it } from 'vitest'
import { importsOf, parseSource, programFiles, resolveImport, type SourceFile, textOf } from './source-files.ts'

/** A file imports from its own folder and from lower ranks; neighbours of one rank do not know each other. */
const RANKS: Readonly<Record<string, number>> = {
  ...{ app: 7 },
  ...{ http: 6, cli: 6 },
  ...{ turn: 5, account: 5 },
  ...{ keys: 4, ledger: 4, routing: 4 },
  ...{ store: 3, content: 3, upstream: 3 },
  ...{
    wire: 2,
    catalog: 2,
    contract: 2,
    telemetry: 2,
    books: 2,
    limits: 2,
    idempotency: 2,
    metering: 2,
    sqlite: 2,
    seals: 2,
  },
  ...{ model: 1 },
  ...{ lib: 0 },
}

/** What the protocols share; they do not know each other. */
const SHARED_IN_WIRE = new Set(['sse', 'json', 'fields', 'tools', 'seals', 'refusals'])

const folderOf = (path: string): string => path.split('/')[1] ?? ''

function wrongImports(file: SourceFile): string[] {
  return importsOf(file)
    .filter(({ from }) => from.startsWith('.'))
    .flatMap(({ from }) => {
      const complaint = complain(file.path, resolveImport(file, from))
      return complaint === undefined ? [] : [`${file.path} imports ${from}: ${complaint}`]
    })
}

function complain(importer: string, imported: string): string | undefined {
  if (!imported.startsWith('src/')) return 'outside the program'
  if (/\.(test|fixture)\.ts$/.test(imported)) return 'a test is no part of the program'
  if (!/\.(ts|json)$/.test(imported)) return 'name the file with its extension'
  const [from, to] = [folderOf(importer), folderOf(imported)]
  if (from === 'wire' && to === 'wire') return complainInWire(importer, imported)
  if (from === to) return undefined
  const [own, other] = [RANKS[from], RANKS[to]]
  if (own === undefined || other === undefined) return 'a folder without a rank'
  if (other === own) return `${from} and ${to} are neighbours`
  return other > own ? `${to} stands above ${from}` : undefined
}

/** `wire/<protocol>/…` may use its own folder, what is shared, and files of `wire` itself, which do not look down. */
function complainInWire(importer: string, imported: string): string | undefined {
  const [from, to] = [protocolOf(importer), protocolOf(imported)]
  if (from === to || SHARED_IN_WIRE.has(to ?? '')) return undefined
  if (importer === 'src/wire/codecs.ts') return undefined
  if (imported === 'src/wire/codecs.ts') return 'codecs.ts gathers the protocols'
  if (to === undefined) return undefined
  return from === undefined ? `only codecs.ts gathers protocols` : `${from} and ${to} are neighbours`
}

const protocolOf = (path: string): string | undefined => {
  const parts = path.split('/')
  return parts.length > 3 ? parts[2] : undefined
}

describe('the ranks', () => {
  it('are kept by every import of the program', () => {
    expect(programFiles().flatMap(wrongImports)).toEqual([])
  })

  it('know every folder', () => {
    const folders = new Set(programFiles().map(({ path }) => folderOf(path)))
    expect([...folders].filter((folder) => !(folder in RANKS))).toEqual([])
  })

  it('are those that docs/architecture.md shows', () => {
    const rows = textOf('docs/architecture.md').matchAll(/^\| (\d) \| `([a-z]+)` \|/gm)
    expect(Object.fromEntries([...rows].map(([, rank, folder]) => [folder, Number(rank)]))).toEqual(RANKS)
  })

  it('would notice: an upward look, a neighbour, a protocol that knows another, a test in the program', () => {
    const wrong = (path: string, from: string) =>
      wrongImports(parseSource(path, `import { x } from '${from}'\nexport { x }`)).length
    expect(wrong('src/ledger/a.ts', '../turn/sink.ts')).toBe(1)
    expect(wrong('src/ledger/a.ts', '../routing/plan-lanes.ts')).toBe(1)
    expect(wrong('src/wire/chat/a.ts', '../gemini/read-events.ts')).toBe(1)
    expect(wrong('src/wire/sse/a.ts', '../chat/tap.ts')).toBe(1)
    expect(wrong('src/wire/voice.ts', './chat/tap.ts')).toBe(1)
    expect(wrong('src/ledger/a.ts', './a.fixture.ts')).toBe(1)
    expect(wrong('src/ledger/a.ts', '../../test/fakes/a.ts')).toBe(1)
    expect(wrong('src/ledger/a.ts', '../lib/clock')).toBe(1)
    expect(wrong('src/wire/chat/a.ts', '../sse/split-frames.ts')).toBe(0)
    expect(wrong('src/wire/codecs.ts', './chat/tap.ts')).toBe(0)
    expect(wrong('src/turn/a.ts', '../ledger/ledger.ts')).toBe(0)
    const inType = parseSource('src/lib/a.ts', `export type A = import('../model/ids.ts').KeyId`)
    expect(wrongImports(inType).length).toBe(1)
    const dynamic = parseSource('src/lib/a.ts', `export const load = () => import('../model/ids.ts')`)
    expect(wrongImports(dynamic).length).toBe(1)
  })
})

it('the program uses no package that package.json does not name for it', () => {
  const manifest = JSON.parse(textOf('package.json'))
  const named = new Set(Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies }))
  const packageOf = (from: string) =>
    from
      .split('/')
      .slice(0, from.startsWith('@') ? 2 : 1)
      .join('/')
  const strangers = programFiles().flatMap((file) =>
    importsOf(file)
      .filter(({ from }) => !from.startsWith('.') && !from.startsWith('node:') && !named.has(packageOf(from)))
      .map(({ from }) => `${file.path} imports ${from}`),
  )
  expect(strangers).toEqual([])
})

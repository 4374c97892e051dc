import { describe, expect, it } from 'vitest'
import { importsOf, parseSource, programFiles, resolveImport, type SourceFile, textOf } from './source-files.ts'

/** A file imports from its own folder and from lower ranks; neighbours of one rank do not know each other. */
const RANKS: Readonly<Record<string, number>> = {
  ...{ app: 8 },
  ...{ config: 7 },
  ...{ server: 6, cli: 6 },
  ...{ gateway: 5, admin: 5 },
  ...{ auth: 4, ledger: 4, notices: 4, routing: 4 },
  ...{ db: 3, providers: 3, payments: 3 },
  ...{ protocols: 2, catalog: 2, contract: 2, 'ledger/state': 2, limits: 2, pricing: 2, telemetry: 2 },
  ...{ model: 1 },
  ...{ lib: 0 },
}

/** What the protocols share; they do not know each other. */
const SHARED_BY_PROTOCOLS = new Set(['shared', 'sse', 'json', 'fields', 'tools', 'seals', 'refusals'])

/** The rules of money stand below the database, the ledger above it. */
const folderOf = (path: string): string =>
  path.startsWith('src/ledger/state/') ? 'ledger/state' : (path.split('/')[1] ?? '')

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
  if (/\.test\.ts$/.test(imported)) return 'a test is no part of the program'
  if (!/\.(ts|json)$/.test(imported)) return 'name the file with its extension'
  const [from, to] = [folderOf(importer), folderOf(imported)]
  if (from === 'protocols' && to === 'protocols') return complainInProtocols(importer, imported)
  if (from === to) return undefined
  const [own, other] = [RANKS[from], RANKS[to]]
  if (own === undefined || other === undefined) return 'a folder without a rank'
  if (other === own) return `${from} and ${to} are neighbours`
  return other > own ? `${to} stands above ${from}` : undefined
}

/** `protocols/<protocol>/…` may use its own folder and what is shared. */
function complainInProtocols(importer: string, imported: string): string | undefined {
  const [from, to] = [protocolOf(importer), protocolOf(imported)]
  if (from === to || SHARED_BY_PROTOCOLS.has(to ?? '')) return undefined
  if (importer === 'src/protocols/wires.ts') return undefined
  if (imported === 'src/protocols/wires.ts') return 'wires.ts gathers the protocols'
  if (to === undefined) return undefined
  return from === undefined ? `only wires.ts gathers protocols` : `${from} and ${to} are neighbours`
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
    const rows = textOf('docs/architecture.md').matchAll(/^\| (\d) \| `([a-z/]+)` \|/gm)
    expect(Object.fromEntries([...rows].map(([, rank, folder]) => [folder, Number(rank)]))).toEqual(RANKS)
  })

  it('would notice: an upward look, a neighbour, a protocol that knows another, a test in the program', () => {
    const wrong = (path: string, from: string) =>
      wrongImports(parseSource(path, `import { x } from '${from}'\nexport { x }`)).length
    expect(wrong('src/ledger/a.ts', '../gateway/sink.ts')).toBe(1)
    expect(wrong('src/ledger/a.ts', '../routing/plan-lanes.ts')).toBe(1)
    expect(wrong('src/protocols/chat/a.ts', '../gemini/read-events.ts')).toBe(1)
    expect(wrong('src/protocols/sse/a.ts', '../chat/tap.ts')).toBe(1)
    expect(wrong('src/protocols/shared/codec-types.ts', '../chat/tap.ts')).toBe(1)
    expect(wrong('src/ledger/state/a.ts', '../ledger.ts')).toBe(1)
    expect(wrong('src/ledger/a.ts', './a.test.ts')).toBe(1)
    expect(wrong('src/ledger/a.ts', '../fakes/a.ts')).toBe(1)
    expect(wrong('src/ledger/a.ts', '../lib/clock')).toBe(1)
    expect(wrong('src/protocols/chat/a.ts', '../sse/split-frames.ts')).toBe(0)
    expect(wrong('src/protocols/wires.ts', './chat/tap.ts')).toBe(0)
    expect(wrong('src/gateway/a.ts', '../ledger/ledger.ts')).toBe(0)
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

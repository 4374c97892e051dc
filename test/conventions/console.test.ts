import { describe, expect, it } from 'vitest'
import {
  consoleFiles,
  importsOf,
  isNode,
  parseSource,
  programFiles,
  resolveImport,
  type SourceFile,
  textOf,
  walk,
} from './source-files.ts'

/** A file imports from its own folder and from lower ones. Pages of one area do not import those of another. */
const RANKS: Readonly<Record<string, number>> = { pages: 5, shell: 4, queries: 3, ui: 2, messages: 1, lib: 0 }

/** Requests, audit entries and caps are shown on pages of other areas: a key, a team, the overview, the operator's pages. */
const SHOWN_ANYWHERE: ReadonlySet<string> = new Set(['requests', 'audit', 'caps', 'cap-forms'])

const folderOf = (path: string): string => path.split('/')[1] ?? ''
const areaOf = (path: string): string => path.split('/')[2] ?? ''
const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1).replace(/\.tsx?$/, '')

function complaints(file: SourceFile): string[] {
  return importsOf(file)
    .filter(({ from }) => from.startsWith('.') && !/\.(css|svg)$/.test(from))
    .flatMap(({ from }) => {
      const imported = resolveImport(file, from)
      const complaint = complain(file, imported)
      return complaint === undefined ? [] : [`${file.path} imports ${imported}: ${complaint}`]
    })
}

/** Functions that run both in a browser and in the server. */
const ANYWHERE = 'src/lib/anywhere/'

function complain(file: SourceFile, imported: string): string | undefined {
  if (imported.startsWith(ANYWHERE)) return undefined
  if (imported.startsWith('src/')) {
    if (!imported.startsWith('src/contract/')) return 'the console imports only the contract and src/lib/anywhere'
    return isTypeOnly(file, imported) ? undefined : 'import only its types: schemas would end up in the bundle'
  }
  const [own, other] = [RANKS[folderOf(file.path)], RANKS[folderOf(imported)]]
  if (own === undefined) return undefined
  if (other === undefined || other > own) return `${folderOf(imported)} ranks above ${folderOf(file.path)}`
  const isForeign = folderOf(file.path) === 'pages' && other === own && areaOf(imported) !== areaOf(file.path)
  return isForeign && !SHOWN_ANYWHERE.has(areaOf(imported)) ? 'another area' : undefined
}

function isTypeOnly(file: SourceFile, imported: string): boolean {
  let typeOnly = true
  walk(file.syntax, (node) => {
    if (!isNode(node.source) || typeof node.source.value !== 'string') return
    if (resolveImport(file, node.source.value) !== imported || node.type === 'TSImportType') return
    if (node.importKind !== 'type' && node.exportKind !== 'type') typeOnly = false
  })
  return typeOnly
}

describe('imports of the console', () => {
  it('point to lower folders, and in src only to contract types and src/lib/anywhere', () => {
    expect(consoleFiles().flatMap(complaints)).toEqual([])
  })

  it('bring no other server code along: src/lib/anywhere imports nothing', () => {
    const tools = programFiles().filter(({ path }) => path.startsWith(ANYWHERE))
    expect(tools).not.toEqual([])
    expect(tools.filter((tool) => importsOf(tool).length > 0).map(({ path }) => path)).toEqual([])
  })

  it('are reported when they break these rules', () => {
    const wrong = (path: string, code: string) => complaints(parseSource(path, code)).length
    expect(wrong('console/ui/A.tsx', `import { x } from '../pages/keys/X.tsx'`)).toBe(1)
    expect(wrong('console/pages/keys/A.tsx', `import { x } from '../wallet/X.tsx'`)).toBe(1)
    expect(wrong('console/pages/keys/A.tsx', `import { x } from '../requests/X.tsx'`)).toBe(0)
    expect(wrong('console/pages/requests/A.tsx', `import { x } from '../keys/X.tsx'`)).toBe(1)
    expect(wrong('console/lib/a.ts', `import type { x } from '../../src/model/money.ts'`)).toBe(1)
    expect(wrong('console/lib/a.ts', `import { x } from '../../src/contract/owner.ts'`)).toBe(1)
    expect(wrong('console/lib/a.ts', `import { x } from '../../src/lib/clock.ts'`)).toBe(1)
    expect(wrong('console/lib/a.ts', `import { x } from '../../src/lib/anywhere/text.ts'`)).toBe(0)
    expect(wrong('console/lib/a.ts', `import type { x } from '../../src/contract/owner.ts'`)).toBe(0)
    expect(wrong('console/pages/keys/A.tsx', `import { x } from '../../ui/X.tsx'`)).toBe(0)
  })

  it('name only packages of devDependencies', () => {
    const { devDependencies } = JSON.parse(textOf('package.json'))
    const packageOf = (from: string) =>
      from
        .split('/')
        .slice(0, from.startsWith('@') ? 2 : 1)
        .join('/')
    const undeclared = consoleFiles().flatMap((file) =>
      importsOf(file)
        .filter(({ from }) => !from.startsWith('.') && !(packageOf(from) in devDependencies))
        .map(({ from }) => `${file.path} imports ${from}`),
    )
    expect(undeclared).toEqual([])
  })
})

describe('files of the console', () => {
  it('are named after their component or hook, or in kebab-case', () => {
    const NAMES = /^([A-Z]\w+\.tsx|use[A-Z]\w*\.tsx?|[a-z0-9]+(-[a-z0-9]+)*\.tsx?)$/
    expect(consoleFiles().filter(({ path }) => !NAMES.test(path.slice(path.lastIndexOf('/') + 1)))).toEqual([])
    const nameless = consoleFiles().filter(
      ({ path, text }) =>
        /^([A-Z]|use[A-Z])/.test(nameOf(path)) && !new RegExp(`export (const|function) ${nameOf(path)}\\b`).test(text),
    )
    expect(nameless.map(({ path }) => path)).toEqual([])
  })

  it('read the time in lib/clock.ts only', () => {
    const CLOCK = /\bDate\.now\(|\bnew Date\(\)|\bperformance\.now\(/
    const readers = consoleFiles().filter(({ path, text }) => path !== 'console/lib/clock.ts' && CLOCK.test(text))
    expect(readers.map(({ path }) => path)).toEqual([])
  })

  it('fetch in lib/api-client.ts only', () => {
    const readers = consoleFiles().filter(({ text }) => /\bfetch\(/.test(text))
    expect(readers.map(({ path }) => path)).toEqual(['console/lib/api-client.ts'])
  })

  it('put no text for people into JSX', () => {
    const found = consoleFiles().flatMap((file) => textIn(file))
    expect(found).toEqual([])
  })
})

/** Finds text between tags and in attributes that are shown or read aloud. */
function textIn(file: SourceFile): string[] {
  const SHOWN = new Set(['title', 'label', 'alt', 'placeholder', 'aria-label', 'text', 'about', 'hint', 'caption'])
  const found: string[] = []
  walk(file.syntax, (node) => {
    if (node.type === 'JSXText' && /[a-z]{2}/i.test(String(node.value)))
      found.push(`${file.path}: ${String(node.value).trim()}`)
    if (node.type !== 'JSXAttribute' || !isNode(node.name) || !isNode(node.value)) return
    const name = String(node.name.name)
    if (SHOWN.has(name) && typeof node.value.value === 'string')
      found.push(`${file.path}: ${name}="${node.value.value}"`)
  })
  return found
}

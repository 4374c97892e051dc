import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseAst } from 'vitest/node'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** As the parser gives it: what a house test asks of a node it names. */
export interface SyntaxNode {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [property: string]: unknown
}

export interface SourceFile {
  /** From the root of the checkout, with forward slashes. */
  readonly path: string
  readonly text: string
  /** Beside or below the code, but no part of the program. */
  readonly isTest: boolean
  readonly syntax: SyntaxNode
}

const NOT_OURS = new Set(['node_modules', 'dist', '.git', '.cache', 'data', 'coverage'])

/** Every file below the given folders (or a file itself), whether or not there is a git that knows it. */
export function filesBelow(...places: string[]): string[] {
  return places.flatMap((place) => {
    const entries = readdirSync(join(ROOT, place), { withFileTypes: true, recursive: false })
    return entries
      .filter((entry) => !NOT_OURS.has(entry.name))
      .flatMap((entry) => {
        const path = place === '' ? entry.name : `${place}/${entry.name}`
        return entry.isDirectory() ? filesBelow(path) : [path]
      })
  })
}

export const textOf = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

/** What is written for people who use, run or build this. */
export const pages = (): string[] => [
  ...['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'bench/README.md'],
  ...filesBelow('docs').filter((path) => path.endsWith('.md')),
]

export const parseSource = (path: string, text: string): SourceFile => ({
  path,
  text,
  isTest: /\.test\.tsx?$/.test(path) || path.startsWith('test/'),
  syntax: parseAst(text, { lang: path.endsWith('x') ? 'tsx' : 'ts' }) as unknown as SyntaxNode,
})

let sources: SourceFile[] | undefined
/** The TypeScript of the server and of the console, with its tests. Parsed once for all house tests of a process. */
export function sourceFiles(): SourceFile[] {
  sources ??= filesBelow('src', 'console', 'test')
    .filter((path) => /\.tsx?$/.test(path))
    .map((path) => parseSource(path, textOf(path)))
  return sources
}

export const programFiles = (): SourceFile[] =>
  sourceFiles().filter(({ path, isTest }) => path.startsWith('src/') && !isTest)

/** What runs in the browser. */
export const consoleFiles = (): SourceFile[] =>
  sourceFiles().filter(
    ({ path, isTest }) => path.startsWith('console/') && !isTest && path !== 'console/vite.config.ts',
  )

/** Calls back for a node and everything below it, with its ancestors, outermost first. */
export function walk(
  node: SyntaxNode,
  visit: (node: SyntaxNode, ancestors: readonly SyntaxNode[]) => void,
  ancestors: readonly SyntaxNode[] = [],
): void {
  visit(node, ancestors)
  const inside = [...ancestors, node]
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) walk(child, visit, inside)
  }
}

export const isNode = (value: unknown): value is SyntaxNode =>
  typeof value === 'object' && value !== null && typeof (value as SyntaxNode).type === 'string'

export interface Import {
  readonly from: string
  readonly names: readonly string[]
  /** Nothing of it is there when the program runs. */
  readonly onlyTypes: boolean
}

/** Everything a file imports: statements, re-exports, `import()` in code and in types. */
export function importsOf(file: SourceFile): Import[] {
  const found: Import[] = []
  walk(file.syntax, (node) => {
    const from = isNode(node.source) && typeof node.source.value === 'string' ? node.source.value : undefined
    if (from === undefined) return
    found.push({ from, names: namesIn(node), onlyTypes: isOfTypes(node) })
  })
  return found
}

function isOfTypes(node: SyntaxNode): boolean {
  if (node.type === 'TSImportType' || node.importKind === 'type' || node.exportKind === 'type') return true
  const specifiers = Array.isArray(node.specifiers) ? node.specifiers.filter(isNode) : []
  return (
    specifiers.length > 0 && specifiers.every(({ importKind, exportKind }) => (importKind ?? exportKind) === 'type')
  )
}

function namesIn(node: SyntaxNode): string[] {
  const specifiers = Array.isArray(node.specifiers) ? node.specifiers.filter(isNode) : []
  return specifiers.map((specifier) => (isNode(specifier.imported) ? String(specifier.imported.name) : '*'))
}

/** Where a relative import leads, from the root of the checkout. */
export const resolveImport = (file: SourceFile, from: string): string =>
  join(dirname(file.path), from).replaceAll('\\', '/')

export const lineOf = (file: SourceFile, node: SyntaxNode): number => file.text.slice(0, node.start).split('\n').length

export const at = (file: SourceFile, node: SyntaxNode): string => `${file.path}:${lineOf(file, node)}`

import { describe, expect, it } from 'vitest'
import {
  at,
  consoleFiles,
  filesBelow,
  importsOf,
  isNode,
  lineOf,
  parseSource,
  programFiles,
  resolveImport,
  type SourceFile,
  type SyntaxNode,
  sourceFiles,
  textOf,
  walk,
} from './source-files.ts'

const FILE_LINES_MAX = 600
const TEST_LINES_MAX = 500
/** A function fits a screen; a few may be longer, none by far. Functions inside it count for themselves, text does not. */
const FUNCTION_LINES = 50
const FUNCTION_LINES_MAX = 80
const LONG_FUNCTIONS_MAX = 0.02

const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1)

describe('files', () => {
  it('are kebab-case, and folders have no index', () => {
    const KEBAB = /^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+(-[a-z0-9]+)*)*\.(ts|mjs|d\.mts)$/
    const paths = filesBelow('src', 'test', 'scripts', 'bench').filter((path) =>
      /\.(ts|mts|js|mjs|cjs|tsx)$/.test(path),
    )
    expect(paths.filter((path) => !KEBAB.test(nameOf(path)))).toEqual([])
    expect(paths.filter((path) => /^index\./.test(nameOf(path)))).toEqual([])
  })

  it('are short enough to read from top to bottom', () => {
    const tooLong = sourceFiles()
      .map((file) => ({ path: file.path, lines: file.text.split('\n').length - 1, isTest: file.isTest }))
      .filter(({ lines, isTest }) => lines > (isTest ? TEST_LINES_MAX : FILE_LINES_MAX))
    expect(tooLong).toEqual([])
  })

  it('of e2e tests that start the program in processes of its own are named .long.test.ts', () => {
    const files = new Map(sourceFiles().map((file) => [file.path, file]))
    const known = new Map([['test/program/program.mjs', true]])
    const startsProcesses = (path: string): boolean => {
      const file = files.get(path)
      if (!known.has(path) && file !== undefined && path.startsWith('test/')) {
        known.set(path, false)
        const imports = importsOf(file).filter(({ onlyTypes }) => !onlyTypes)
        known.set(
          path,
          imports.some(({ from }) => startsProcesses(resolveImport(file, from))),
        )
      }
      return known.get(path) === true
    }
    const starting = [...files.keys()].filter((path) => /^test\/e2e\/.*\.test\.ts$/.test(path)).filter(startsProcesses)
    expect(starting.length).toBeGreaterThan(0)
    expect(starting.filter((path) => !path.endsWith('.long.test.ts'))).toEqual([])
  })
})

interface ExportedNames {
  readonly functions: string[]
  readonly others: string[]
  /** What of them is there when the program runs: everything but types. */
  readonly values: string[]
}

function exportedNames(file: SourceFile): ExportedNames {
  const names: ExportedNames = { functions: [], others: [], values: [] }
  const body = Array.isArray(file.syntax.body) ? file.syntax.body.filter(isNode) : []
  for (const statement of body) {
    const { declaration } = statement
    if (!statement.type.startsWith('Export') || !isNode(declaration)) continue
    const declared = Array.isArray(declaration.declarations) ? declaration.declarations.filter(isNode) : [declaration]
    for (const each of declared) {
      if (!isNode(each.id) || typeof each.id.name !== 'string') continue
      const isFunction = [each, each.init].some((node) => isNode(node) && FUNCTION.test(node.type))
      names[isFunction ? 'functions' : 'others'].push(each.id.name)
      if (!declaration.type.startsWith('TS')) names.values.push(each.id.name)
    }
  }
  return names
}

describe('what a file exports', () => {
  /** It stands in for a package, whose name its importers say. */
  const AWAITED = ['console/ui/no-scroll-lock.ts']

  it('is used by another file, of the program or of its tests; types are a part of what uses them', () => {
    const unused = unusedExports(sourceFiles()).filter(({ path }) => !AWAITED.includes(path))
    expect(unused).toEqual([])
  })

  it('is awaited only as long as nothing uses it', () => {
    const unused = new Set(unusedExports(sourceFiles()).map(({ path }) => path))
    expect(AWAITED.filter((path) => !unused.has(path))).toEqual([])
  })

  it('would be noticed when no file imports it', () => {
    const unusedBeside = (text: string) =>
      unusedExports([
        parseSource('src/lib/add.ts', 'export const add = 1\nexport const less = 2\nexport type Sum = number'),
        parseSource('src/lib/user.ts', `import { add } from './add.ts'`),
        parseSource('src/lib/other.ts', text),
      ])
    expect(unusedBeside(`import { less } from '../model/add.ts'`)).toEqual([{ path: 'src/lib/add.ts', name: 'less' }])
    expect(unusedBeside(`import { less as fewer } from './add.ts'`)).toEqual([])
    expect(unusedBeside(`import * as all from './add.ts'`)).toEqual([])
    expect(unusedBeside(`const { less } = await import('./add.ts')`)).toEqual([])
  })
})

function unusedExports(files: readonly SourceFile[]): { path: string; name: string }[] {
  const used = new Set(files.flatMap((file) => namesUsedBy(file)))
  return files
    .filter(({ path, isTest }) => /^(src|console)\//.test(path) && !/\.config\.ts$/.test(path) && !isTest)
    .flatMap((file) => exportedNames(file).values.map((name) => ({ path: file.path, name })))
    .filter(({ path, name }) => !used.has(`${path} ${name}`) && !used.has(`${path} *`))
}

function namesUsedBy(file: SourceFile): string[] {
  return importsOf(file).flatMap(({ from, names }) => {
    const path = resolveImport(file, from)
    return names.length === 0 ? [`${path} *`] : names.map((name) => `${path} ${name}`)
  })
}

describe('functions', () => {
  it('fit a screen, but for a few', () => {
    const all = [...programFiles(), ...consoleFiles()].flatMap(functionsOf)
    const long = all.filter(({ lines }) => lines > FUNCTION_LINES)
    const shown = long.map(({ place, lines }) => `${place} ${lines} lines`)
    expect(shown.length / all.length, shown.join('\n')).toBeLessThan(LONG_FUNCTIONS_MAX)
    expect(long.filter(({ lines }) => lines > FUNCTION_LINES_MAX)).toEqual([])
  })

  it('are measured without the functions inside them', () => {
    const body = (lines: number) => 'x\n'.repeat(lines)
    const code = `function outer() {\n${body(10)}const inner = () => {\n${body(20)}}\n}`
    const lines = functionsOf(parseSource('src/lib/a.ts', code)).map((each) => each.lines)
    expect(lines).toEqual([13, 22])
  })
})

const FUNCTION = /^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/

function functionsOf(file: SourceFile): { place: string; lines: number }[] {
  const spans = new Map<SyntaxNode, number>()
  walk(file.syntax, (node, ancestors) => {
    const isText = node.type === 'TemplateLiteral'
    if (!isText && !FUNCTION.test(node.type)) return
    const height = linesBetween(file, node)
    if (!isText) spans.set(node, (spans.get(node) ?? 0) + height)
    const outer = ancestors.findLast(({ type }) => FUNCTION.test(type))
    if (outer !== undefined) spans.set(outer, (spans.get(outer) ?? 0) - Math.max(0, height - 1))
  })
  return [...spans].map(([node, lines]) => ({ place: at(file, node), lines: Math.max(1, lines) }))
}

const linesBetween = (file: SourceFile, node: SyntaxNode): number =>
  file.text.slice(node.start, node.end).split('\n').length

describe('words that do not belong here', () => {
  /** Home folders of a developer's machine (`op` is the operator of the examples), and notes to oneself. */
  const FOREIGN = [
    /(?<![\w.:/-])\/(?:home|Users|root|work|mnt)\/(?!op\b)[\w.-]+/,
    new RegExp(`\\b(?:${['TO' + 'DO', 'FIX' + 'ME', 'XX' + 'X', 'HA' + 'CK'].join('|')})\\b`),
  ]
  const foreignIn = (path: string, text: string) =>
    text
      .split('\n')
      .flatMap((line, index) =>
        FOREIGN.some((word) => word.test(line)) ? [`${path}:${index + 1}: ${line.trim()}`] : [],
      )

  it('are in no file', () => {
    const paths = filesBelow('').filter(
      (path) => /\.(ts|mjs|md|json|ya?ml|sh)$|^\.ci\//.test(path) && path !== 'package-lock.json',
    )
    expect(paths.flatMap((path) => foreignIn(path, textOf(path)))).toEqual([])
  })

  it('would be noticed', () => {
    expect(foreignIn('a.md', `see ${'/ho'}me/me/notes`).length).toBe(1)
    expect(foreignIn('a.ts', `// ${'TO'}DO later`).length).toBe(1)
    expect(foreignIn('a.ts', `get('/v1/models') // https://example.com${'/ho'}me/x`).length).toBe(0)
  })
})

it('no test is left out or singled out', () => {
  const LEFT = new RegExp(`\\b(?:it|test|describe)\\.(?:${['on' + 'ly', 'to' + 'do'].join('|')})\\b`)
  const found = sourceFiles().filter((file) => file.isTest && LEFT.test(file.text))
  expect(found.map(({ path }) => path)).toEqual([])
})

it('lines are counted from one', () => {
  const file = parseSource('src/lib/a.ts', '\n\nexport const a = 1')
  const [statement] = file.syntax.body as SyntaxNode[]
  expect(lineOf(file, statement!)).toBe(3)
})

import { describe, expect, it } from 'vitest'
import {
  at,
  importsOf,
  isNode,
  parseSource,
  programFiles,
  type SourceFile,
  type SyntaxNode,
  sourceFiles,
  walk,
} from './source-files.ts'

/** `object.property`, also when it is written with brackets or optional. */
function isMember(node: SyntaxNode, object: string, property: string): boolean {
  if (node.type !== 'MemberExpression' || !isNode(node.object) || !isNode(node.property)) return false
  const name = node.computed === true ? node.property.value : node.property.name
  return name === property && endsWith(node.object, object)
}

/** The name itself, or the same behind `globalThis`. */
const endsWith = (node: SyntaxNode, name: string): boolean =>
  (node.type === 'Identifier' && node.name === name) || isMember(node, 'globalThis', name)

/** `const { env } = process` reads as much as `process.env`. */
function unpacks(node: SyntaxNode, object: string, property: string): boolean {
  if (node.type !== 'VariableDeclarator' || !isNode(node.init) || !isNode(node.id)) return false
  if (!endsWith(node.init, object) || !Array.isArray(node.id.properties)) return false
  return node.id.properties.some((each) => isNode(each) && isNode(each.key) && each.key.name === property)
}

const reads = (node: SyntaxNode, object: string, property: string): boolean =>
  isMember(node, object, property) || unpacks(node, object, property)

const isEnvironment = (node: SyntaxNode): boolean => reads(node, 'process', 'env')

const isWallClock = (node: SyntaxNode): boolean =>
  reads(node, 'Date', 'now') ||
  reads(node, 'performance', 'now') ||
  reads(node, 'process', 'hrtime') ||
  (node.type === 'CallExpression' && isNode(node.callee) && endsWith(node.callee, 'Date')) ||
  (node.type === 'NewExpression' && isNode(node.callee) && endsWith(node.callee, 'Date') && isEmpty(node.arguments))

const isEmpty = (list: unknown): boolean => Array.isArray(list) && list.length === 0

const isMathRandom = (node: SyntaxNode): boolean => reads(node, 'Math', 'random')

function places(file: SourceFile, matches: (node: SyntaxNode) => boolean): string[] {
  const found: string[] = []
  walk(file.syntax, (node) => {
    if (matches(node)) found.push(at(file, node))
  })
  return found
}

const imports = (file: SourceFile, ...modules: string[]): string[] =>
  importsOf(file)
    .filter(({ from }) => modules.includes(from))
    .map(({ from }) => `${file.path} imports ${from}`)

const importsName = (file: SourceFile, module: string, name: string): string[] =>
  importsOf(file)
    .filter(({ from, names }) => from === module && (names.includes(name) || names.includes('*')))
    .map(() => `${file.path} imports ${name} from ${module}`)

const outside = (...places: string[]) =>
  programFiles().filter(({ path }) => !places.some((place) => path === place || path.startsWith(`${place}/`)))

describe('in the program', () => {
  it('only config reads the environment', () => {
    const files = outside('src/config')
    expect(files.flatMap((file) => places(file, isEnvironment))).toEqual([])
    expect(files.flatMap((file) => importsName(file, 'node:process', 'env'))).toEqual([])
  })

  it('only lib/clock.ts reads the time', () => {
    const files = outside('src/lib/clock.ts')
    expect(files.flatMap((file) => places(file, isWallClock))).toEqual([])
    expect(files.flatMap((file) => importsName(file, 'node:perf_hooks', 'performance'))).toEqual([])
  })

  it('only server and providers speak HTTP', () => {
    const modules = ['node:http', 'node:https', 'node:http2', 'undici']
    expect(outside('src/server', 'src/providers').flatMap((file) => imports(file, ...modules))).toEqual([])
  })

  it('no file writes to the console', () => {
    const isConsole = (node: SyntaxNode) =>
      node.type === 'MemberExpression' && isNode(node.object) && endsWith(node.object, 'console')
    expect(programFiles().flatMap((file) => places(file, isConsole))).toEqual([])
  })
})

it('Math.random is used nowhere: what is secret needs better, what is simulated needs a seed', () => {
  expect(sourceFiles().flatMap((file) => places(file, isMathRandom))).toEqual([])
})

describe('these tests would notice', () => {
  const caught = (code: string, matches: (node: SyntaxNode) => boolean) =>
    places(parseSource('src/gateway/a.ts', code), matches).length > 0

  it.each(['process.env.HOME', `process['env']`, 'const { env } = process', 'globalThis.process.env'])('%s', (code) => {
    expect(caught(code, isEnvironment)).toBe(true)
  })

  it.each([
    'Date.now()',
    'new Date()',
    'Date()',
    'performance.now()',
    'process.hrtime.bigint()',
    'const { now } = Date',
  ])('%s', (code) => {
    expect(caught(code, isWallClock)).toBe(true)
  })

  it('and let pass what only looks like it', () => {
    expect(caught('// process.env\nconst text = "process.env"', isEnvironment)).toBe(false)
    expect(caught('new Date(clock.now())', isWallClock)).toBe(false)
    expect(caught('deps.clock.now()', isWallClock)).toBe(false)
    expect(caught('Math.random()', isMathRandom)).toBe(true)
  })
})

import { readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { parseAst } from 'vitest/node'

/** Statements that execute where they begin. Function declarations do not; their bodies are counted separately. */
const STATEMENTS = new Set([
  'ExpressionStatement',
  'VariableDeclaration',
  'ReturnStatement',
  'ThrowStatement',
  'IfStatement',
  'SwitchStatement',
  'ForStatement',
  'ForOfStatement',
  'ForInStatement',
  'WhileStatement',
  'DoWhileStatement',
  'BreakStatement',
  'ContinueStatement',
])

/**
 * For a built file: the source lines on which a statement or an expression body begins, and the branches of its decisions, each with
 * whether it ran. `ran` says so per character; without it nothing ran. An `if` without `else` has one branch. `assertNever` branches are
 * not counted, because the compiler proves that they are unreachable.
 */
export function judgeFile(path, ran) {
  const text = readFileSync(path, 'utf8')
  const map = new SourceMap(JSON.parse(readFileSync(`${path}.map`, 'utf8')))
  const lineAt = lineFinder(text, map)
  const isRun = (offset) => ran?.[offset] === 1
  const lines = new Map()
  const branches = []
  walk(parseAst(text), (node) => {
    if (beginsLine(node) && !cannotBe(text, node)) {
      const at = STATEMENTS.has(node.type) ? node.start : node.body.start
      const line = lineAt(at)
      if (line !== undefined) lines.set(line, (lines.get(line) ?? false) || isRun(at))
    }
    for (const arm of armsOf(node)) {
      if (cannotBe(text, arm)) continue
      branches.push({ line: lineAt(arm.start), run: isRun(arm.start) })
    }
  })
  return {
    path: sourceOf(path),
    lines: count([...lines].map(([line, run]) => ({ line, run }))),
    branches: count(branches),
  }
}

const cannotBe = (text, { start }) => /^(?:return )?assertNever\(/.test(text.slice(start, start + 20))

const beginsLine = (node) =>
  STATEMENTS.has(node.type) || (node.type === 'ArrowFunctionExpression' && node.body.type !== 'BlockStatement')

function armsOf(node) {
  switch (node.type) {
    case 'IfStatement':
    case 'ConditionalExpression':
      return [node.consequent, node.alternate].filter(Boolean)
    case 'LogicalExpression':
      return [node.right]
    case 'SwitchCase':
      return node.consequent.slice(0, 1)
    default:
      return []
  }
}

function walk(node, visit) {
  if (typeof node?.type !== 'string') return
  visit(node)
  for (const value of Object.values(node)) {
    if (Array.isArray(value)) for (const each of value) walk(each, visit)
    else if (typeof value === 'object') walk(value, visit)
  }
}

/** The source line, counted from 1. */
function lineFinder(text, map) {
  const starts = [0]
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return (offset) => {
    const line = starts.findLastIndex((start) => start <= offset)
    const { originalLine } = map.findEntry(line, offset - starts[line])
    return originalLine === undefined ? undefined : originalLine + 1
  }
}

const sourceOf = (path) =>
  path
    .replaceAll('\\', '/')
    .replace(/^.*\/dist\//, 'src/')
    .replace(/\.js$/, '.ts')

const count = (places) => ({
  all: places.length,
  run: places.filter(({ run }) => run).length,
  missing: [...new Set(places.filter(({ run }) => !run).map(({ line }) => line))].sort((one, other) => one - other),
})

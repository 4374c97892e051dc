import { readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { parseAst } from 'vitest/node'

/** Statements that do something where they begin. A declaration of a function does not: its body is judged by itself. */
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
 * Of a built file: on which lines of its source a statement, or a body that is an expression, begins, and which arms its decisions
 * have, each with whether somebody ran it. `ran` says so of each character; without it nothing was. An `if` without `else` has
 * one arm. The arm of a union that cannot be (`assertNever`) is none: the compiler has proved that nobody gets there.
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

/** The line of the source, counted from 1. */
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

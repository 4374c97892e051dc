import { describe, expect, it } from 'vitest'
import { at, isNode, parseSource, type SourceFile, type SyntaxNode, sourceFiles, walk } from './source-files.ts'

/** Each replaces one of our modules, or has one loaded again. */
const EXCHANGES = new Set(['mock', 'doMock', 'unmock', 'doUnmock', 'hoisted', 'resetModules'])

function isExchange(node: SyntaxNode): boolean {
  const { callee } = node
  if (node.type !== 'CallExpression' || !isNode(callee) || callee.type !== 'MemberExpression') return false
  const { object, property } = callee
  if (!isNode(object) || !isNode(property)) return false
  const name = callee.computed === true ? property.value : property.name
  return (object.name === 'vi' || object.name === 'vitest') && EXCHANGES.has(String(name))
}

function exchangesIn(file: SourceFile): string[] {
  const found: string[] = []
  walk(file.syntax, (node) => {
    if (isExchange(node)) found.push(at(file, node))
  })
  return found
}

describe('modules', () => {
  it('are exchanged by no test: files of one process share them, and what differs in a test is handed in', () => {
    expect(sourceFiles().flatMap(exchangesIn)).toEqual([])
  })

  it('would be noticed', () => {
    const count = (code: string) => exchangesIn(parseSource('test/e2e/a.test.ts', code)).length
    expect(count(`vi.mock('../src/a.ts', () => ({}))`)).toBe(1)
    expect(count(`vi['doMock'](import('../src/a.ts'))`)).toBe(1)
    expect(count('const told = vi.fn()\nvi.spyOn(log, "error")')).toBe(0)
    expect(count('// vi.mock("a")\nconst text = "vi.mock(a)"')).toBe(0)
  })
})

import { describe, expect, it } from 'vitest'
import { at, lineOf, parseSource, type SourceFile, sourceFiles, walk } from './source-files.ts'

const REASON_LENGTH_MIN = 12
const EXCUSE = /biome-ignore lint\/suspicious\/noExplicitAny: (.+)/
/** Built from parts, so that this file does not find itself. */
const SILENCERS = new RegExp(`@ts-(${['ignore', 'expect-error', 'nocheck'].join('|')})(.*)`)

/** An `any` passes with a reason on the line above it; a suppressed compiler error with one behind it. */
function unexplained(file: SourceFile): string[] {
  const lines = file.text.split('\n')
  const found: string[] = []
  walk(file.syntax, (node) => {
    if (node.type !== 'TSAnyKeyword') return
    const reason = EXCUSE.exec(lines[lineOf(file, node) - 2] ?? '')?.[1] ?? ''
    if (reason.trim().length < REASON_LENGTH_MIN) found.push(`${at(file, node)}: any`)
  })
  for (const [index, line] of lines.entries()) {
    const silenced = SILENCERS.exec(line)
    if (silenced && (silenced[2] ?? '').trim().length < REASON_LENGTH_MIN)
      found.push(`${file.path}:${index + 1}: ${silenced[0]}`)
  }
  return found
}

describe('any', () => {
  it('stands nowhere without a reason', () => {
    expect(sourceFiles().flatMap(unexplained)).toEqual([])
  })

  it('would be noticed wherever a type may stand, and not in words', () => {
    const count = (code: string) => unexplained(parseSource('src/lib/a.ts', code)).length
    expect(count('export const a: any = 1')).toBe(1)
    expect(count('export const a = b as any')).toBe(1)
    expect(count('export type A = Record<string, any[]>')).toBe(1)
    expect(count('// any\nexport const any = "any"')).toBe(0)
    const excuse = '// biome-ignore lint/suspicious/noExplicitAny: '
    expect(count(`${excuse}the driver types its rows so\nexport const a: any = 1`)).toBe(0)
    expect(count(`${excuse}ok\nexport const a: any = 1`)).toBe(1)
    expect(count(`// ${'@ts'}-ignore\nexport const a = 1`)).toBe(1)
  })
})

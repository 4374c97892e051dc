import { describe, expect, it } from 'vitest'
import {
  consoleFiles,
  type Import,
  importsOf,
  parseSource,
  programFiles,
  resolveImport,
  type SourceFile,
} from './source-files.ts'

/**
 * Removes files that import no remaining file or that no remaining file imports, until nothing changes. The rest are the files
 * in import cycles and those between two cycles.
 */
function filesInCycles(files: readonly SourceFile[], counts: (imported: Import) => boolean): string[] {
  const left = new Map(
    files.map((file) => [
      file.path,
      new Set(
        importsOf(file)
          .filter(counts)
          .map(({ from }) => resolveImport(file, from)),
      ),
    ]),
  )
  for (let before = -1; before !== left.size; ) {
    before = left.size
    const imported = new Set([...left.values()].flatMap((imports) => [...imports]))
    for (const [path, imports] of left) {
      if (!imported.has(path) || ![...imports].some((each) => left.has(each))) left.delete(path)
    }
  }
  return [...left.keys()].toSorted()
}

const ofValues = ({ onlyTypes }: Import): boolean => !onlyTypes
const ofAnything = (): boolean => true

describe.each([
  ['src', programFiles],
  ['console', consoleFiles],
])('import cycles in %s', (_, files) => {
  it('do not exist at run time', () => {
    expect(filesInCycles(files(), ofValues)).toEqual([])
  })

  it('do not exist between types either', () => {
    expect(filesInCycles(files(), ofAnything)).toEqual([])
  })
})

describe('the cycle search', () => {
  it('finds a cycle and not the files that lead to it or away from it', () => {
    const file = (path: string, code: string) => parseSource(`src/lib/${path}.ts`, code)
    const files = [
      file('to', `import { a } from './a.ts'`),
      file('a', `import { type B, b } from './b.ts'`),
      file('b', `export { c } from './c.ts'`),
      file('c', `import { a } from './a.ts'\nimport { from } from './from.ts'`),
      file('from', ''),
    ]
    const cycle = ['src/lib/a.ts', 'src/lib/b.ts', 'src/lib/c.ts']
    expect(filesInCycles(files, ofValues)).toEqual(cycle)
    for (const typesOnly of [`import type { A } from './a.ts'`, `import { type A } from './a.ts'`]) {
      const inTypes = files.map((each) => (each.path === 'src/lib/c.ts' ? file('c', typesOnly) : each))
      expect(filesInCycles(inTypes, ofAnything)).toEqual(cycle)
      expect(filesInCycles(inTypes, ofValues)).toEqual([])
    }
  })
})

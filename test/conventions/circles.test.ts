import { describe, expect, it } from 'vitest'
import { type Import, importsOf, parseSource, programFiles, resolveImport, type SourceFile } from './source-files.ts'

/**
 * What is left when everything is taken away that imports nothing which is left, or that nothing imports: files that need each
 * other in a circle, and those between two circles.
 */
function filesInCircles(files: readonly SourceFile[], counts: (imported: Import) => boolean): string[] {
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

describe('circles of files', () => {
  it('are not there when the program runs: what is loaded first would find the other half empty', () => {
    expect(filesInCircles(programFiles(), ofValues)).toEqual([])
  })

  it('are not there in types either: of two files that name each other neither is read alone', () => {
    expect(filesInCircles(programFiles(), ofAnything)).toEqual([])
  })

  it('would be noticed, and what only leads to one or away from it is not blamed', () => {
    const file = (path: string, code: string) => parseSource(`src/lib/${path}.ts`, code)
    const files = [
      file('to', `import { a } from './a.ts'`),
      file('a', `import { type B, b } from './b.ts'`),
      file('b', `export { c } from './c.ts'`),
      file('c', `import { a } from './a.ts'\nimport { from } from './from.ts'`),
      file('from', ''),
    ]
    const circle = ['src/lib/a.ts', 'src/lib/b.ts', 'src/lib/c.ts']
    expect(filesInCircles(files, ofValues)).toEqual(circle)
    for (const typesOnly of [`import type { A } from './a.ts'`, `import { type A } from './a.ts'`]) {
      const inTypes = files.map((each) => (each.path === 'src/lib/c.ts' ? file('c', typesOnly) : each))
      expect(filesInCircles(inTypes, ofAnything)).toEqual(circle)
      expect(filesInCircles(inTypes, ofValues)).toEqual([])
    }
  })
})

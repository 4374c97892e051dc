import { expect, it } from 'vitest'
import { textOf } from './source-files.ts'

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

interface LockEntry {
  readonly dev?: boolean
  readonly devOptional?: boolean
  readonly optional?: boolean
}

const PAGE = 'docs/decisions/2026-11-22-what-we-depend-on.md'

const sectionOf = (page: string, heading: string): string =>
  page.split('\n## ').find((section) => section.startsWith(heading)) ?? ''

/** In the table of the program a package is its row's first cell; in that for building it is any name. */
const inFirstCells = (section: string): string[] =>
  [...section.matchAll(/^\| `([^`]+)`/gm)].map(([, name]) => name ?? '').sort()
const inSecondCells = (section: string): string[] =>
  [...section.matchAll(/^\| [^|]+ \| (.+) \|$/gm)]
    .flatMap(([, cell]) => [...(cell ?? '').matchAll(/`([^`]+)`/g)].map(([, name]) => name ?? ''))
    .sort()

/** Everything that is installed with the program, on any machine but for what is one machine's own. */
function installedWithProgram(packages: Readonly<Record<string, LockEntry>>): string[] {
  return Object.entries(packages)
    .filter(([path, { dev, devOptional, optional }]) => path !== '' && !dev && !devOptional && !optional)
    .map(([path]) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length))
}

const manifest: Manifest = JSON.parse(textOf('package.json'))
const page = textOf(PAGE)

it('the page of dependencies has a row for each package that comes with the program, and for no other', () => {
  const installed = installedWithProgram(JSON.parse(textOf('package-lock.json')).packages)
  const optional = Object.keys(manifest.optionalDependencies ?? {})
  expect(Object.keys(manifest.dependencies ?? {}).filter((name) => !installed.includes(name))).toEqual([])
  expect(inFirstCells(sectionOf(page, 'The program'))).toEqual([...installed, ...optional].sort())
})

it('the page of dependencies says what each package for building and testing is for', () => {
  expect(inSecondCells(sectionOf(page, 'For building and testing'))).toEqual(
    Object.keys(manifest.devDependencies ?? {}).sort(),
  )
})

it('a package without a row would be noticed, one that came along too', () => {
  const packages = {
    '': {},
    'node_modules/a': {},
    'node_modules/a/node_modules/@b/c': {},
    'node_modules/d': { dev: true },
  }
  expect(installedWithProgram(packages)).toEqual(['a', '@b/c'])
  expect(inFirstCells('| `a` | what `b` does |\n| c | `d` |')).toEqual(['a'])
  expect(inSecondCells('| tests | `a`, `b` (c) |')).toEqual(['a', 'b'])
})

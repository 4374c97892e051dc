import { expect, it } from 'vitest'
import { textOf } from './source-files.ts'

interface LockEntry {
  readonly version?: string
  readonly resolved?: string
  readonly hasInstallScript?: boolean
  readonly dev?: boolean
  readonly optional?: boolean
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}
type Lock = { readonly packages: Readonly<Record<string, LockEntry>> }

const lock: Lock = JSON.parse(textOf('package-lock.json'))
const manifest: LockEntry = JSON.parse(textOf('package.json'))

const entriesWhere = ({ packages }: Lock, matches: (entry: LockEntry) => boolean): string[] =>
  Object.entries(packages)
    .filter(([path, entry]) => path !== '' && matches(entry))
    .map(([path]) => path)

const namesHost = ({ resolved }: LockEntry) => resolved !== undefined
const needsScript = ({ hasInstallScript, dev }: LockEntry) => hasInstallScript === true && dev !== true

/** Packages that an entry asks for and that stand nowhere where Node would look: `npm ci` refuses such a lockfile. */
function absentPackages({ packages }: Lock): string[] {
  return Object.entries(packages).flatMap(([path, entry]) =>
    Object.keys({ ...entry.dependencies, ...entry.optionalDependencies })
      .filter((name) => !foldersAbove(path).some((folder) => `${folder}node_modules/${name}` in packages))
      .map((name) => `${path} asks for ${name}`),
  )
}

/** `node_modules/a/node_modules/b` is looked up below itself, below a, and at the root. */
function foldersAbove(path: string): string[] {
  const names = path.split(/(?:^|\/)node_modules\//).slice(1)
  return [
    '',
    ...names.map(
      (_, depth) =>
        `${names
          .slice(0, depth + 1)
          .map((name) => `node_modules/${name}`)
          .join('/')}/`,
    ),
  ]
}

it('the lockfile names no registry host, so that every mirror can serve it', () => {
  expect(entriesWhere(lock, namesHost)).toEqual([])
})

it('no package of the published program needs an install script, which package managers block', () => {
  expect(entriesWhere(lock, needsScript)).toEqual([])
})

it('every package that is asked for is there, those of other machines too', () => {
  expect(absentPackages(lock)).toEqual([])
})

it('the lockfile and package.json ask for the same', () => {
  const root = lock.packages['']
  expect(root?.dependencies).toEqual(manifest.dependencies)
  expect(root?.devDependencies).toEqual(manifest.devDependencies)
  expect(root?.optionalDependencies).toEqual(manifest.optionalDependencies)
})

it('a host, an install script and an absent package would be noticed', () => {
  const bad: Lock = {
    packages: {
      '': { dependencies: { a: '1' } },
      'node_modules/a': {
        resolved: 'https://registry.example/a.tgz',
        hasInstallScript: true,
        dependencies: { b: '1' },
      },
      'node_modules/a/node_modules/b': { optionalDependencies: { c: '1', a: '1' } },
      'node_modules/d': { hasInstallScript: true, dev: true },
    },
  }
  expect(entriesWhere(bad, namesHost)).toEqual(['node_modules/a'])
  expect(entriesWhere(bad, needsScript)).toEqual(['node_modules/a'])
  expect(absentPackages(bad)).toEqual(['node_modules/a/node_modules/b asks for c'])
})

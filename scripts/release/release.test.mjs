import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { git, otherVersions, refusalsOf, refusalsOfChangelog, tablesByVersion } from './refusals.mjs'

const CHECKOUT = fileURLToPath(new URL('../..', import.meta.url))

const CHANGELOG =
  '# Changelog\n\n## [Unreleased]\n\n## [1.2.0] - 2026-11-28\n\n### Added\n\n- A.\n\n## [1.1.0] - 2026-11-01\n'
const TABLES = '| Version | Tables of PostgreSQL |\n| --- | --- |\n| 1.1.0 | 6 |\n| 1.2.0 | 7 |\n\nThe rest.\n'
const lockOf = (version) => JSON.stringify({ version, packages: { '': { version } } })

let root
const write = (path, text) => {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), text)
}
const commit = () => {
  git(root, 'add', '--all')
  git(root, '-c', 'user.name=A', '-c', 'user.email=a@localhost', 'commit', '--quiet', '--message', 'Change')
}

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'millrace release '))
  git(root, 'init', '--quiet')
  write('package.json', JSON.stringify({ name: 'millrace', version: '1.2.0' }))
  write('package-lock.json', lockOf('1.2.0'))
  write('CHANGELOG.md', CHANGELOG)
  write('docs/operate/upgrade.md', TABLES)
  write('docs/operate/deploy.md', '`millrace-1.2.0.tgz` and millrace_1.2.0_amd64.deb\n')
  write('deploy/compose/one-node.yaml', 'image: millrace:1.2.0\n')
  write('deploy/helm/millrace/Chart.yaml', 'version: 1.2.0\nappVersion: 1.2.0\n')
  cpSync(join(CHECKOUT, 'scripts'), join(root, 'scripts'), { recursive: true })
  commit()
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

describe('a commit is released', () => {
  it('if everything agrees', () => {
    expect(refusalsOf(root)).toEqual([])
  })

  it.each([
    [
      'with changes that no commit has',
      () => write('new.txt', ''),
      'There are changes that no commit has: ?? new.txt.',
    ],
    ['with a tag that exists', () => git(root, 'tag', 'v1.2.0'), 'The tag v1.2.0 exists.'],
  ])('not %s', (_, change, refusal) => {
    change()
    expect(refusalsOf(root)).toEqual([refusal])
  })

  it.each([
    ['another version in the lock', 'package-lock.json', lockOf('1.1.0'), /package-lock\.json has version 1\.1\.0/],
    [
      'no entry of the version',
      'CHANGELOG.md',
      CHANGELOG.replace('[1.2.0]', '[1.2.1]'),
      /no entry "## \[1\.2\.0\] - DATE"/,
    ],
    [
      'a page of another version',
      'docs/a.md',
      'npm install ./millrace-1.1.0.tgz\n',
      /docs\/a\.md names version 1\.1\.0/,
    ],
    [
      'an image of another version',
      'deploy/a.yaml',
      '  image: millrace:1.1.0\n',
      /deploy\/a\.yaml names version 1\.1\.0/,
    ],
    [
      'a chart of another version',
      'deploy/helm/millrace/Chart.yaml',
      'version: 1.1.0\n',
      /Chart\.yaml names version 1\.1\.0/,
    ],
    [
      'no tables of the version',
      'docs/operate/upgrade.md',
      TABLES.replace('| 1.2.0 | 7 |\n', ''),
      /no tables of version 1\.2\.0/,
    ],
    [
      'two changes of the tables',
      'docs/operate/upgrade.md',
      TABLES.replace('7', '8'),
      /changes the tables more than once/,
    ],
  ])('not with %s', (_, path, text, refusal) => {
    write(path, text)
    commit()
    expect([...new Set(refusalsOf(root))]).toEqual([expect.stringMatching(refusal)])
  })

  it('and the command says all that is wrong, with exit code 1, and changes nothing', () => {
    write('CHANGELOG.md', CHANGELOG.replace('[1.2.0]', '[1.2.1]'))
    const before = git(root, 'status', '--porcelain')
    const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/release.mjs', '--dry-run'], {
      cwd: root,
      encoding: 'utf8',
    })
    expect([status, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(
      /Version 1\.2\.0 cannot be released:\n- There are changes[^\n]+\n- CHANGELOG\.md has no entry/,
    )
    expect(git(root, 'status', '--porcelain')).toBe(before)
    expect(git(root, 'tag', '--list')).toBe('')
  })
})

describe('the changelog', () => {
  it.each([
    ['without a date', CHANGELOG.replace(' - 2026-11-28', ''), /no entry/],
    ['empty', CHANGELOG.replace('### Added\n\n- A.\n', ''), /is empty/],
    ['with two sections of a kind', CHANGELOG.replace('- A.\n', '- A.\n\n### Added\n\n- B.\n'), /two sections Added/],
    [
      'with changes beside it that are not released',
      CHANGELOG.replace('[Unreleased]\n', '[Unreleased]\n\n- C.\n'),
      /\[Unreleased\]/,
    ],
  ])('refuses an entry %s', (_, text, refusal) => {
    expect(refusalsOfChangelog(text, '1.2.0')).toEqual([expect.stringMatching(refusal)])
  })
})

describe('this checkout', () => {
  const { version } = JSON.parse(readFileSync(join(CHECKOUT, 'package.json'), 'utf8'))

  it('names one version in its pages, manifests and charts', () => {
    expect(otherVersions(CHECKOUT, version)).toEqual([])
  })

  it('lists the tables of its version', () => {
    expect(tablesByVersion(CHECKOUT).map((row) => row.version)).toContain(version)
  })

  it('has a dated entry of its version in the changelog', () => {
    const text = readFileSync(join(CHECKOUT, 'CHANGELOG.md'), 'utf8')
    expect(refusalsOfChangelog(text, version).filter((line) => !/\[Unreleased\]/.test(line))).toEqual([])
  })
})

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { filesBelow } from '../bootstrap/fingerprint.mjs'

/** Where a page or a file of `deploy/` names a version. */
const NAMED = [
  /millrace[-:_](\d+\.\d+\.\d+[\w.-]*?)(?=\.tgz|\.cdx\.json|_|\s|`|$)/gm,
  /^(?:version|appVersion): (\d+\.\d+\.\d+\S*)$/gm,
]
const HEADING = /^## \[(.+?)\](?: - (\d{4}-\d\d-\d\d))?$/gm

/** Why this checkout cannot be released, in sentences. */
export function refusalsOf(root) {
  const { version } = readJson(root, 'package.json')
  return [
    ...refusalsOfGit(root, version),
    ...refusalsOfLock(root, version),
    ...refusalsOfChangelog(readText(root, 'CHANGELOG.md'), version),
    ...otherVersions(root, version),
    ...refusalsOfTables(root, version),
  ]
}

export const tagOf = (version) => `v${version}`

function refusalsOfGit(root, version) {
  const changed = git(root, 'status', '--porcelain').split('\n').filter(Boolean)
  const tag = tagOf(version)
  return [
    ...(changed.length === 0 ? [] : [`There are changes that no commit has: ${changed.slice(0, 5).join(', ')}.`]),
    ...(git(root, 'tag', '--list', tag) === '' ? [] : [`The tag ${tag} exists.`]),
  ]
}

function refusalsOfLock(root, version) {
  const lock = readJson(root, 'package-lock.json')
  return [lock.version, lock.packages[''].version]
    .filter((each) => each !== version)
    .map((each) => `package-lock.json has version ${each}, package.json ${version}.`)
}

export function refusalsOfChangelog(text, version) {
  const entries = [...text.matchAll(HEADING)].map(({ 0: line, 1: name, 2: date, index }) => ({
    ...{ name, date },
    text: text.slice(index + line.length).split(/^## /m)[0],
  }))
  const entry = entries.find(({ name }) => name === version)
  const unreleased = entries.find(({ name }) => name === 'Unreleased')
  const kinds = entry === undefined ? [] : [...entry.text.matchAll(/^### (.+)$/gm)].map(([, kind]) => kind)
  const doubled = kinds.find((kind, at) => kinds.indexOf(kind) !== at)
  return [
    ...(entry?.date === undefined ? [`CHANGELOG.md has no entry "## [${version}] - DATE".`] : []),
    ...(entry !== undefined && kinds.length === 0 ? [`The entry of ${version} in CHANGELOG.md is empty.`] : []),
    ...(doubled === undefined ? [] : [`The entry of ${version} in CHANGELOG.md has two sections ${doubled}.`]),
    ...(unreleased === undefined || unreleased.text.trim() === ''
      ? []
      : [`[Unreleased] in CHANGELOG.md is not empty: move it into the entry of ${version}.`]),
  ]
}

/** Pages and files of `deploy/` that name another version. */
export function otherVersions(root, version) {
  return ['docs', 'deploy'].flatMap((folder) =>
    filesBelow(join(root, folder))
      .map((path) => `${folder}/${path}`)
      .filter((path) => /\.(?:md|ya?ml)$|Containerfile$/.test(path))
      .flatMap((path) => {
        const text = readText(root, path)
        const found = NAMED.flatMap((pattern) => [...text.matchAll(pattern)].map(([, named]) => named))
        return [...new Set(found)]
          .filter((named) => named !== version)
          .map((named) => `${path} names version ${named}.`)
      }),
  )
}

/** The versions of PostgreSQL's tables by release, as docs/operate/upgrade.md lists them. */
export function tablesByVersion(root) {
  const [, table = ''] = readText(root, 'docs/operate/upgrade.md').split('| Version | Tables of PostgreSQL |\n')
  const rows = [...table.split('\n\n')[0].matchAll(/^\| (\d\S*) \| (\d+) \|$/gm)]
  return rows.map(([, version, tables]) => ({ version, tables: Number(tables) }))
}

/** Nodes of a version serve beside those of the one before, whose program knows one change of the tables less. */
function refusalsOfTables(root, version) {
  const rows = tablesByVersion(root)
  const jump = rows.find(({ tables }, at) => at > 0 && tables - rows[at - 1].tables > 1)
  return [
    ...(rows.at(-1)?.version === version ? [] : [`docs/operate/upgrade.md has no tables of version ${version}.`]),
    ...(jump === undefined ? [] : [`Version ${jump.version} changes the tables more than once.`]),
  ]
}

/** What only the build can tell: whether schema and tables are those of the code. */
export async function refusalsOfBuild(root) {
  const load = (path) => import(pathToFileURL(join(root, 'dist', path)).href)
  const { configJsonSchema } = await load('config/init-template.js')
  const { TABLE_CHANGES } = await load('db/postgres/schema.js')
  const documented = tablesByVersion(root).at(-1)?.tables
  return [
    ...(configJsonSchema() === readText(root, 'schema/millrace.schema.json')
      ? []
      : ['schema/millrace.schema.json differs from the code.']),
    ...(documented === TABLE_CHANGES.length
      ? []
      : [`docs/operate/upgrade.md names ${documented} versions of the tables, the code has ${TABLE_CHANGES.length}.`]),
  ]
}

export function git(root, ...args) {
  const { status, stdout, stderr } = spawnSync('git', args, { cwd: root, encoding: 'utf8' })
  if (status !== 0) throw new Error(`git ${args.join(' ')} failed: ${stderr}`)
  return stdout.trim()
}

const readText = (root, path) => readFileSync(join(root, path), 'utf8')
const readJson = (root, path) => JSON.parse(readText(root, path))

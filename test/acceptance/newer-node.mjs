import { existsSync, mkdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runToEnd } from './own-processes.mjs'

const MAJOR_MIN = 22
const CACHE = fileURLToPath(new URL('../../.cache/node24/', import.meta.url))
const PACKAGE = `node-${process.platform}-${process.arch}`
const CACHED = join(CACHE, 'node_modules', PACKAGE, 'bin', 'node')

/**
 * A Node that today's SDKs accept; Millrace itself goes on running under the Node of this process. The first that is new
 * enough of: this one, those on the PATH, the one kept in .cache; else one comes from the package registry.
 */
export async function findNewerNode() {
  if (isNewEnough(process.version)) return process.execPath
  const folders = (process.env.PATH ?? '').split(delimiter)
  const named = folders.flatMap((folder) => ['node', 'node24', 'node22'].map((name) => join(folder, name)))
  for (const path of [...named, CACHED]) {
    if (existsSync(path) && isNewEnough(await versionOf(path))) return path
  }
  mkdirSync(CACHE, { recursive: true })
  const wanted = ['install', '--prefix', CACHE, '--ignore-scripts', '--no-audit', '--no-fund', `${PACKAGE}@24`]
  const { code, stderr } = await runToEnd('npm', wanted, { cwd: CACHE, withinMs: 180_000 })
  if (code === 0 && isNewEnough(await versionOf(CACHED))) return CACHED
  console.log(`Not run: this needs Node ${MAJOR_MIN} or newer, and none could be found or installed.\n${stderr.trim()}`)
  return undefined
}

const isNewEnough = (version) => Number(/^v(\d+)\./.exec(version)?.[1] ?? 0) >= MAJOR_MIN

const versionOf = async (path) => (await runToEnd(path, ['--version'], { withinMs: 10_000 })).stdout
